"""What the reading page sends and asks for: JSON in answer to forms; see docs/reading.md for the protocol.

Every address answers "no-store". What cannot be shown is 404, what cannot be taken is 409 with the reason, nonsense is
422.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotation.case.kernels.parsing import CaseRefused, Trace, parse_events, parse_object, readable_trace
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.models import Enrolment
from readerstudy.reading.case_opening import ConfidenceMissing, GuessMissing, ReadingPaused, open_place
from readerstudy.reading.committing import CommittedAnswer, OtherAnswer, commit_answer
from readerstudy.reading.kernels.limits import seconds_left
from readerstudy.reading.practice import feedback_of
from readerstudy.reading.remarks import RemarkRefused, RemarkTooLate, SentRemark, make_remark
from readerstudy.reading.selecting import NoSuchOption, save_choice
from readerstudy.reading.sessions import MOST_DEVICE, NoPauseHere, pause, resume, take_write_lease
from readerstudy.reading.showing import show_state
from readerstudy.reading.timing_events import TooManyEvents, record_events
from readerstudy.reading.write_checks import (
    KeyMissing,
    NotOpened,
    NotPrefetched,
    NotTheReader,
    NotYet,
    ReadingRefused,
    own_enrolment,
)
from readerstudy.views.reading.page_json import (
    Json,
    feedback_json,
    lease_json,
    opened_json,
    refusal,
    remark_json,
    state_json,
    stored_json,
)

View = Callable[..., HttpResponse]
MOST_SEQUENCE = 2**31 - 1


def answers_refusals(view: View) -> View:
    """Turn what an act refuses into 404, 409 or 422 with the word that the script knows and a sentence."""

    @wraps(view)
    def answering(request: AuthenticatedRequest, slug: str, **place: str) -> HttpResponse:
        try:
            return view(request, own_enrolment_or_404(request, slug), **place)
        except (NotPrefetched, NotTheReader):
            raise Http404 from None
        except OtherAnswer as other:
            sentence = _("The answer to this case is already stored and final.")
            return refusal(other.reason, sentence, stored=stored_json(place["place"], other.stored))
        except ReadingRefused as refused:
            return refusal(refused.reason, _(refused.reason.label))
        except NotYet:
            return refusal("not_yet", _("A case before this one is not answered yet."))
        except NotOpened:
            return refusal("not_opened", _("This case was not opened."))
        except ReadingPaused:
            return refusal("paused", _("You are on a break. End it to continue."))
        except GuessMissing:
            return refusal("guess_missing", _("First choose your best guess for the last case."))
        except ConfidenceMissing:
            return refusal("confidence_missing", _("First rate how likely your last answer is to be correct."))
        except NoPauseHere:
            return refusal("no_pause", _("This study has no breaks."))
        except RemarkTooLate:
            return refusal("too_late", _("You have already moved on to the next case."))
        except (RemarkRefused, NoSuchOption, KeyMissing):
            return refusal("malformed", _("The data sent do not match this case."), status=422)
        except TooManyEvents:
            sentence = _("Too many timing events were sent for this case; further ones are not stored.")
            return refusal("too_many_events", sentence, status=422)
        except CaseRefused as of_case:
            if of_case.code == "not_seen":
                return refusal(of_case.code, _(of_case.sentence), **of_case.facts)
            if of_case.code == "no_such_image":
                return refusal("malformed", _("The data sent do not match this case."), status=422)
            return refusal("malformed", _(of_case.sentence), status=422)

    return answering


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_session(request: AuthenticatedRequest, enrolment: Enrolment) -> HttpResponse:
    """Ask for the write lease; the state of the reading comes with the answer."""
    lease = take_write_lease(
        enrolment,
        token=request.POST.get("session", ""),
        take_over=request.POST.get("take") == "yes",
        device=_device(request),
        actor=request.user,
        at=timezone.now(),
    )
    return JsonResponse(lease_json(lease, _state(request, enrolment, token=lease.session or "")))


@person_required
@require_GET
@never_cache
@answers_refusals
def reading_state(request: AuthenticatedRequest, enrolment: Enrolment) -> HttpResponse:
    """Where the reader is; cases only for the page that holds the write lease."""
    return JsonResponse(_state(request, enrolment, token=request.GET.get("session", "")))


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_open(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> HttpResponse:
    """Open the next case."""
    at = timezone.now()
    reading = open_place(enrolment, place, session=_session(request), actor=request.user, at=at)
    return JsonResponse(opened_json(reading, seconds_left(reading.deadline_at, at)))


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_choice(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> HttpResponse:
    """Save the choice that is not confirmed yet. 204, also when a newer one is stored already."""
    option, sequence = request.POST.get("option", ""), _sequence(request)
    trace = readable_trace(request.POST.get("page", ""), request.POST.get("events", ""))
    session, at = _session(request), timezone.now()
    save_choice(enrolment, place, option, sequence, trace=trace, session=session, actor=request.user, at=at)
    return HttpResponse(status=204)


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_events(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> HttpResponse:
    """Store what the clock of the page tells. 204; the same events again change nothing."""
    record_events(enrolment, place, _trace(request), session=_session(request), actor=request.user, at=timezone.now())
    return HttpResponse(status=204)


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_commit(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> HttpResponse:
    """Store the answer for good; acknowledged after the commit of its transaction, with the state that follows."""
    session = _session(request)
    response = commit_answer(enrolment, place, _answer(request), session=session, actor=request.user, at=timezone.now())
    return JsonResponse(
        {
            "stored": stored_json(place, response),
            "feedback": feedback_json(feedback_of(response)),
            "state": _state(request, enrolment, token=session),
        }
    )


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_remark(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> HttpResponse:
    """Store a best guess, how sure the reader was, a slip, or that the case is faulty."""
    said = SentRemark(**{name: request.POST.get(name, "") for name in ("key", "kind", "value", "text")})
    remark = make_remark(enrolment, place, said, session=_session(request), actor=request.user, at=timezone.now())
    return JsonResponse(remark_json(remark))


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_pause(request: AuthenticatedRequest, enrolment: Enrolment) -> HttpResponse:
    """Begin a break; the case that is open can still be answered."""
    pause(enrolment, session=_session(request), actor=request.user, at=timezone.now())
    return JsonResponse(_state(request, enrolment, token=_session(request)))


@person_required
@require_POST
@never_cache
@answers_refusals
def reading_resume(request: AuthenticatedRequest, enrolment: Enrolment) -> HttpResponse:
    """End a break."""
    resume(enrolment, session=_session(request), actor=request.user, at=timezone.now())
    return JsonResponse(_state(request, enrolment, token=_session(request)))


# --- what was sent --------------------------------------------------------------------------------
def own_enrolment_or_404(request: AuthenticatedRequest, slug: str) -> Enrolment:
    try:
        return own_enrolment(request.user, slug)
    except Enrolment.DoesNotExist:
        raise Http404 from None


def _session(request: AuthenticatedRequest) -> str:
    return request.POST.get("session", "")


def _sequence(request: AuthenticatedRequest) -> int:
    """The number that the page counted; raises CaseRefused."""
    sent = request.POST.get("sequence", "")
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 11 and int(sent) <= MOST_SEQUENCE):
        raise CaseRefused("malformed", "A choice has no number.", status=422)
    return int(sent)


def _trace(request: AuthenticatedRequest) -> Trace:
    """What the clock of the page tells on its own; raises CaseRefused."""
    page = request.POST.get("page", "")
    return Trace(page=page, events=parse_events(page, request.POST.get("events", "")))


def _answer(request: AuthenticatedRequest) -> CommittedAnswer:
    """The answer as sent, with what can be read of its clock."""
    return CommittedAnswer(
        key=request.POST.get("key", ""),
        option=request.POST.get("option", ""),
        declined=request.POST.get("declined") == "yes",
        trace=readable_trace(
            request.POST.get("page", ""),
            request.POST.get("events", ""),
            viewport=request.POST.get("viewport", ""),
            unreadable=request.POST.getlist("unreadable"),
        ),
    )


def _device(request: AuthenticatedRequest) -> dict[str, Any]:
    """What a page says about its device: an object of reasonable size, or nothing."""
    try:
        return parse_object(request.POST.get("device", ""), MOST_DEVICE)
    except CaseRefused:
        return {}


def _state(request: AuthenticatedRequest, enrolment: Enrolment, *, token: str) -> Json:
    """The state as stored now: the enrolment is read again after the act."""
    now = own_enrolment_or_404(request, enrolment.study.slug)
    return state_json(show_state(now, token=token, at=timezone.now()))
