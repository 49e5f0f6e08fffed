"""The reading page: a shell without any text or image of a case, the JSON in which its script asks for these, and what
it sends: JSON in answer to forms. See docs/reading.md for the protocol.

Every address of the script answers "no-store". What cannot be shown is 404, what cannot be taken is 409 with the
reason, nonsense is 422.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods
from msgspec.structs import asdict

from annotation.case.kernels.display import checked_screen
from annotation.case.kernels.traces import CaseRefused, Trace, parse_events, parse_object, readable_trace
from annotation.refusals import Refused
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from annotation.views.site.errors import problem
from readerstudy.design.kernels.documents import CHANCES, Rules
from readerstudy.enrolment.inviting import has_keys_at_hand
from readerstudy.enums import Refusal, RemarkKind
from readerstudy.models import Enrolment, Reading, Response
from readerstudy.reading.case_opening import Feedback, feedback_of, open_case, still_asked
from readerstudy.reading.committing import CommittedAnswer, SentRemark, commit_answer, make_remark, save_choice
from readerstudy.reading.kernels.visibility import seconds_left
from readerstudy.reading.prefetched import (
    ReadingRefused,
    last_presented,
    malformed,
    may_read,
    own_enrolment,
    position_of,
    reading_of,
    rules_of,
)
from readerstudy.reading.sessions import MOST_DEVICE, pause, resume, take_write_lease
from readerstudy.reading.showing import ShownCase, ShownState, show_state
from readerstudy.reading.timing_events import record_events

ACTS = ("open", "choice", "events", "commit", "remark")
RULES = (
    "time_limit_s",
    "confidence",
    "slips",
    "cannot_tell",
    "may_pause",
    "n_ready",
    "quiet_ms",
)  # that the page of a reader knows
PAGES = ("room", "session", "state", "pause", "resume")
Json = dict[str, Any]


def state_json(shown: ShownState) -> Json:
    study, rules, position = shown.enrolment.study, shown.rules, shown.position
    return {
        "study": {
            "name": study.name,
            "slug": study.slug,
            "protocol": study.protocol_sha256,
            "simulated": study.simulated,
        },
        "block": str(position.block),
        "n": position.n,
        "done": position.done,
        "session": shown.session,
        "writer": shown.writer,
        "paused": shown.paused,
        "finished": shown.finished,
        "ended": shown.ended,
        "next": reverse("reading-room" if position.is_undecided else "reading", args=[study.slug]),
        "rules": {
            **{name: getattr(rules, name) for name in RULES},
            "hidden_tools": list(rules.hidden_tools),
            "least_window": [rules.least_width, rules.least_height] if rules.least_width is not None else None,
        },
        "cases": [_case(study.slug, case) for case in shown.cases],
        "last": _last(study.slug, shown),
    }


def opened_json(reading: Reading, left: float | None) -> Json:
    return {
        "opened": True,
        "closed": reading.closed_at is not None,
        "seconds_left": left,
        "choice": reading.choice if reading.closed_at is None else "",
        "choice_sequence": reading.choice_sequence,
    }


def stored_json(place: str, response: Response) -> Json:
    return {
        "place": place,
        "option": response.option,
        "state": response.state,
        "key": response.key,
        "delivered_late": response.delivered_late,
    }


def feedback_json(feedback: Feedback | None) -> Json | None:
    return None if feedback is None else asdict(feedback)


def _case(slug: str, case: ShownCase) -> Json:
    urls = {act: reverse(f"reading-{act}", args=[slug, case.id]) for act in ACTS}
    return {**asdict(case), "options": _options(case.options), "urls": urls}


def _options(options: list[tuple[str, str]]) -> list[Json]:
    return [{"id": letter, "text": text} for letter, text in options]


def _last(slug: str, shown: ShownState) -> Json | None:
    if shown.last is None:
        return None
    return {
        "id": shown.last.id,
        "needs_guess": shown.last.asked == RemarkKind.GUESS,
        "needs_confidence": shown.last.asked == RemarkKind.CONFIDENCE,
        "may_slip": shown.last.may_slip,
        "option": shown.last.option,
        "stem": shown.last.stem,
        "options": _options(shown.last.options),
        "urls": {"remark": reverse("reading-remark", args=[slug, shown.last.id])},
    }


# --- the page -------------------------------------------------------------------------------------
@person_required
@require_GET
@never_cache
@ensure_csrf_cookie
def reading_room(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Practice and main block on one page; elsewhere when a step before is missing or nothing is left to do."""
    enrolment = own_enrolment(request.user, slug)
    at = timezone.now()
    rules = rules_of(enrolment)
    position = position_of(enrolment, rules, at=at)
    if not may_read(enrolment, at) or (position.is_finished and not _is_asked(enrolment, rules)):
        return redirect("reading", slug=slug)
    context = {
        "enrolment": enrolment,
        "study": enrolment.study,
        "rules": rules,
        "chances": CHANCES,
        "checked_on": checked_screen(enrolment.display),
        "urls": {
            "entry": reverse("reading", args=[slug]),
            "display": reverse("reading-display", args=[slug]),
            **{name: reverse(f"reading-{name}", args=[slug]) for name in PAGES},
        },
    }
    if has_keys_at_hand(request.user, enrolment.study):
        return render(request, "readerstudy/reading/keys_at_hand.html", context, status=403)
    if position.is_undecided:
        return render(request, "readerstudy/reading/practice_not_passed.html", context)
    return render(request, "readerstudy/reading/room.html", context)


def _is_asked(enrolment: Enrolment, rules: Rules) -> bool:
    """Whether a remark on the last answer of all is still asked for."""
    last = last_presented(enrolment)
    return last is not None and still_asked(reading_of(last), rules) is not None


# --- What the reading page sends and asks for: JSON in answer to forms; see -----------------------
View = Callable[..., Json | None]
MOST_SEQUENCE = 2**31 - 1


def of_reader(method: str) -> Callable[[View], Callable[..., HttpResponse]]:
    """An address of the reading page: asked by this method, by the reader of the study, and kept by no cache.

    The view gets the reader's own enrolment, and the page what the view returns: 204 for None. What an act refuses is
    its code and its sentence, with the status of the refusal. Why no framework does this: docs/decisions/0014.
    """

    def decorate(view: View) -> Callable[..., HttpResponse]:
        @person_required
        @require_http_methods([method])
        @never_cache
        @wraps(view)
        def answering(request: AuthenticatedRequest, slug: str, **named: str) -> HttpResponse:
            try:
                answer = view(request, own_enrolment(request.user, slug), **named)
            except Refused as refusal:
                if refusal.status == 404:
                    raise Http404 from None
                return JsonResponse(problem(refusal), status=refusal.status)
            return HttpResponse(status=204) if answer is None else JsonResponse(answer)

        return answering

    return decorate


@of_reader("POST")
def reading_session(request: AuthenticatedRequest, enrolment: Enrolment) -> Json:
    """Ask for the write lease; the state of the reading comes with the answer."""
    lease = take_write_lease(
        enrolment,
        token=request.POST.get("session", ""),
        take_over=request.POST.get("take") == "yes",
        device=_device(request),
        **by(request),
    )
    state = _state(request, enrolment, token=lease.session or "")
    if lease.session is None:
        return {"writer": False, "since": lease.since.isoformat() if lease.since else None, "state": state}
    return {"writer": True, "session": lease.session, "state": state}


@of_reader("GET")
def reading_state(request: AuthenticatedRequest, enrolment: Enrolment) -> Json:
    """Where the reader is; cases only for the page that holds the write lease."""
    return _state(request, enrolment, token=request.GET.get("session", ""))


@of_reader("POST")
def reading_open(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> Json:
    """Open the next case. With a time limit its text comes with the state that follows."""
    session, at = _session(request), timezone.now()
    reading = open_case(enrolment, place, session=session, actor=request.user, at=at)
    opened = opened_json(reading, seconds_left(reading.deadline_at, at))
    if rules_of(enrolment).time_limit_s is None:
        return opened
    return {**opened, "state": _state(request, enrolment, token=session)}


@of_reader("POST")
def reading_choice(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> None:
    """Save the choice that is not confirmed yet. 204, also when a newer one is stored already."""
    option, sequence = request.POST.get("option", ""), _sequence(request)
    trace = readable_trace(request.POST.get("page", ""), request.POST.get("events", ""))
    session, at = _session(request), timezone.now()
    save_choice(enrolment, place, option, sequence, trace=trace, session=session, actor=request.user, at=at)


@of_reader("POST")
def reading_events(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> None:
    """Store what the clock of the page tells. 204; the same events again change nothing."""
    record_events(enrolment, place, _trace(request), session=_session(request), **by(request))


@of_reader("POST")
def reading_commit(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> Json:
    """Store the answer for good; acknowledged after the commit of its transaction, with the state that follows."""
    session = _session(request)
    answer, at = _answer(request), timezone.now()
    try:
        response = commit_answer(enrolment, place, answer, session=session, actor=request.user, at=at)
    except ReadingRefused as refusal:
        if refusal.code == Refusal.OTHER_ANSWER:
            refusal.facts["stored"] = stored_json(place, refusal.facts["stored"])
        raise
    return {
        "stored": stored_json(place, response),
        "feedback": feedback_json(feedback_of(response)),
        "state": _state(request, enrolment, token=session),
    }


@of_reader("POST")
def reading_remark(request: AuthenticatedRequest, enrolment: Enrolment, place: str) -> Json:
    """Store a best guess, how sure the reader was, a slip, or that the case is faulty."""
    remark = SentRemark(**{name: request.POST.get(name, "") for name in ("key", "kind", "value", "text")})
    at = timezone.now()
    made = make_remark(enrolment, place, remark, session=_session(request), actor=request.user, at=at)
    return {"stored": {"key": made.key, "kind": made.kind, "value": made.value}}


@of_reader("POST")
def reading_pause(request: AuthenticatedRequest, enrolment: Enrolment) -> Json:
    """Begin a break; the case that is open can still be answered."""
    pause(enrolment, session=_session(request), **by(request))
    return _state(request, enrolment, token=_session(request))


@of_reader("POST")
def reading_resume(request: AuthenticatedRequest, enrolment: Enrolment) -> Json:
    """End a break."""
    resume(enrolment, session=_session(request), **by(request))
    return _state(request, enrolment, token=_session(request))


# --- what was sent --------------------------------------------------------------------------------
def _session(request: AuthenticatedRequest) -> str:
    return request.POST.get("session", "")


def _sequence(request: AuthenticatedRequest) -> int:
    """The number that the page counted."""
    sent = request.POST.get("sequence", "")
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 11 and int(sent) <= MOST_SEQUENCE):
        raise malformed(_("A choice has no number."))
    return int(sent)


def _trace(request: AuthenticatedRequest) -> Trace:
    """What the clock of the page reports on its own."""
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
    now = own_enrolment(request.user, enrolment.study.slug)
    return state_json(show_state(now, token=token, at=timezone.now()))
