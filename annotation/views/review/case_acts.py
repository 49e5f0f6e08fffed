"""What a reviewer does on the case page: answer, open the report, save a draft, submit, skip, hide an image.

A page that is already there (HTMX) gets the parts that change, or the problems as JSON; a plain form gets a
page. Success is answered after the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation.case.kernels.parsing import Trace, TraceRefused, parse_events, readable_trace
from annotation.case.kernels.traces import NoSuchImage, NotSeen
from annotation.enums import AssignmentState, ReturnReason, RoundState
from annotation.models import Assignment
from annotation.review.answering import (
    BlindAnswerIsFinal,
    KeyKnown,
    KeyNotShownYet,
    StepNotAsked,
    answer_blind,
    open_report,
)
from annotation.review.drafting import (
    MANY,
    STEP_ONE_FIELDS,
    STEP_TWO_FIELDS,
    DraftOutdated,
    DraftOvertaken,
    DraftRefused,
    save_draft,
)
from annotation.review.kernels.form import FormProblem, parse_blind, parse_judgement
from annotation.review.kernels.transitions import TransitionRefused
from annotation.review.locking import NotTheReviewer, RoundNotOpen
from annotation.review.next_cases import NextCases, return_and_next, skip_and_next, submit_and_next
from annotation.review.showing import show_case
from annotation.review.skipping import NothingToHandBack, ReasonNeeded
from annotation.review.submitting import BlindAnswerMissing, JudgementRefused, hide_identifying_images
from annotation.review.trace_events import NoImages, TooManyEvents, record_events
from annotation.review.worklist import categories_of, counts_by_state
from annotation.views.review.cases import case_page, named_or_404, own_assignment_or_404
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required

Act = Callable[..., HttpResponse]


def answers_refusals(view: Act) -> Act:
    """Turn what an act refuses into 409, or 422 for nonsense, and the sentence that the reviewer reads."""

    @wraps(view)
    def answering(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
        try:
            return view(request, public_id)
        except RoundNotOpen:
            return ended(request, public_id, _("The round is closed. What you had submitted stays as it is."))
        except NotTheReviewer:
            return ended(request, public_id, _("This question has been removed from your list in the meantime."))
        except BlindAnswerIsFinal:
            return conflict(request, public_id, _("Your blind answer is already stored and final."))
        except (BlindAnswerMissing, KeyNotShownYet):
            return conflict(request, public_id, _("Answer the question blind first."))
        except KeyKnown:
            return conflict(request, public_id, _("You have seen the key of this question: hand it back."))
        except (TransitionRefused, StepNotAsked):
            return conflict(request, public_id, _("This question has changed. Reload the page."))
        except NotSeen as unseen:
            return conflict(request, public_id, unseen_sentence(len(unseen.images)))
        except NoImages:
            return conflict(request, public_id, _("No image can be shown, so nothing can be answered. Skip it (K)."))
        except NoSuchImage:
            return conflict(request, public_id, _("This case has no such image."), status=422)
        except TooManyEvents:
            sentence = _("Too many timing events were sent for this case; further ones are not stored.")
            return conflict(request, public_id, sentence, status=422)
        except TraceRefused as refusal:
            return conflict(request, public_id, _(str(refusal)), status=422)

    return answering


@person_required
@require_POST
@never_cache
@answers_refusals
def review_answer(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Store the blind answer and show step 2."""
    blind, problems = parse_blind(lists(request))
    if problems:
        return refused(request, public_id, problems)
    stored = answer_blind(
        named_or_404(request, public_id),
        best=blind.best,
        defensible=blind.defensible,
        difficulty=blind.difficulty,
        actor=request.user,
        at=timezone.now(),
        trace=trace_of(request),
    )
    return stay(request, stored.assignment)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_report(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Store the moment of step 3 and show the report."""
    open_report(named_or_404(request, public_id), actor=request.user, at=timezone.now())
    if asks_for_part(request):
        case = show_case(own_assignment_or_404(request, public_id), viewer=request.user)
        return render(request, "annotation/review/_report.html", {"case": case})
    return redirect("review-case", public_id=public_id)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_draft(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Keep what the form holds now. 204 when it is stored."""
    assignment = named_or_404(request, public_id)
    try:
        save_draft(
            assignment,
            form_values(request),
            actor=request.user,
            at=timezone.now(),
            based_on=count_in(request, "based_on"),
            sequence=count_in(request, "sequence") or 0,
            trace=trace_of(request),
        )
    except DraftRefused:
        return JsonResponse({"message": _("The draft could not be read and was not saved.")}, status=400)
    except DraftOvertaken as newer:
        return JsonResponse({"sequence": newer.sequence}, status=409)
    except DraftOutdated:
        return JsonResponse({"message": _("This step is already stored.")}, status=409)
    return HttpResponse(status=204)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_events(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Store what the clock of the page tells. 204 when it is stored; the same events again change nothing."""
    assignment = named_or_404(request, public_id)
    page = request.POST.get("page", "")
    told = Trace(page=page, events=parse_events(page, request.POST.get("events", "")))
    record_events(assignment, told, actor=request.user, at=timezone.now())
    return HttpResponse(status=204)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_submit(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Store the judgement and show the next case."""
    assignment = named_or_404(request, public_id)
    try:
        judgement = parse_judgement(lists(request))
        following = submit_and_next(
            assignment, judgement, actor=request.user, at=timezone.now(), trace=trace_of(request)
        )
    except JudgementRefused as refusal:
        return refused(request, public_id, refusal.problems)
    return turn(request, assignment, following)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_skip(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Put the question aside and show the next case."""
    assignment = named_or_404(request, public_id)
    try:
        reason = request.POST.get("reason", "")
        following = skip_and_next(assignment, reason, actor=request.user, at=timezone.now(), trace=trace_of(request))
    except ReasonNeeded:
        sentence = _("Give a reason, of at most 300 characters.")
        return refused(request, public_id, [FormProblem("reason", "missing", sentence)])
    return turn(request, assignment, following)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_return(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Give the question up for good and show the next case."""
    assignment = named_or_404(request, public_id)
    reason = next((one for one in ReturnReason if one == request.POST.get("reason", "")), ReturnReason.NONE)
    try:
        following = return_and_next(assignment, reason, actor=request.user, at=timezone.now(), trace=trace_of(request))
    except NothingToHandBack:
        return conflict(request, public_id, _("Give a reason for handing the question back."), status=422)
    return turn(request, assignment, following)


@person_required
@require_POST
@never_cache
@answers_refusals
def review_identifies(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Send the named images to quarantine at once and answer with the images that are left."""
    assignment = named_or_404(request, public_id)
    named = request.POST.getlist("images")
    if not named:
        return JsonResponse({"message": _("Choose the image that shows the text.")}, status=400)
    hide_identifying_images(assignment, named, actor=request.user, at=timezone.now())
    if not asks_for_part(request):
        return redirect("review-case", public_id=public_id)
    return stay(request, own_assignment_or_404(request, public_id))


@person_required
@require_GET
def review_categories(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The categories of the bank, once this reviewer may see any."""
    assignment = own_assignment_or_404(request, public_id)
    case = show_case(assignment, viewer=request.user)
    return JsonResponse({"categories": [] if case.is_blind else categories_of(assignment.revision.bank_id)})


# --- answers --------------------------------------------------------------------------------------
def lists(request: HttpRequest) -> dict[str, list[str]]:
    return {name: [str(value) for value in values] for name, values in request.POST.lists()}


def count_in(request: HttpRequest, name: str) -> int | None:
    """A whole number that a script sent; None when there is none."""
    sent = request.POST.get(name, "")
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < 10 else None


def trace_of(request: HttpRequest) -> Trace:
    """What the page tells beside the form; what cannot be read of it never costs the form."""
    return readable_trace(
        request.POST.get("page", ""),
        request.POST.get("events", ""),
        viewport=request.POST.get("viewport", ""),
        unreadable=request.POST.getlist("unreadable"),
    )


def unseen_sentence(n: int) -> str:
    return ngettext(
        "An image of this case has not been on screen yet. Wait for it, try it again, or mark it as unreadable.",
        "Images of this case have not been on screen yet. Wait for them, try again, or mark them as unreadable.",
        n,
    )


def form_values(request: HttpRequest) -> dict[str, str | list[str]]:
    """The fields of the form as sent: lists where the form has several values, else the last value."""
    leave_out = {"csrfmiddlewaretoken", "based_on", "sequence", "page", "events", "unreadable", "viewport"}
    return {
        name: values if name in MANY else values[-1] for name, values in lists(request).items() if name not in leave_out
    }


def stay(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """The same case as it stands now."""
    if not asks_for_part(request):
        return redirect("review-case", public_id=assignment.public_id)
    return case_page(request, assignment)


def turn(request: AuthenticatedRequest, left: Assignment, following: NextCases) -> HttpResponse:
    """The next case, or the worklist when there is none."""
    if following.opened is None:
        worklist = reverse("review-worklist", args=[left.round.slug])
        return HttpResponseClientRedirect(worklist) if asks_for_part(request) else redirect(worklist)
    if not asks_for_part(request):
        return redirect("review-case", public_id=following.opened.public_id)
    return case_page(request, following.opened, ahead=following.ahead)


def refused(request: AuthenticatedRequest, public_id: str, problems: list[FormProblem]) -> HttpResponse:
    """422 with what is wrong, field by field; nothing was stored."""
    named_or_404(request, public_id)
    if asks_for_part(request):
        found: list[dict[str, Any]] = [
            {"field": problem.field, "code": problem.code, "message": _(problem.message)} for problem in problems
        ]
        return JsonResponse({"problems": found}, status=422)
    known = {n: v for n, v in form_values(request).items() if n in STEP_ONE_FIELDS | STEP_TWO_FIELDS}
    return case_page(request, own_assignment_or_404(request, public_id), problems=problems, sent=known, status=422)


def ended(request: AuthenticatedRequest, public_id: str, sentence: str) -> HttpResponse:
    """409; a page that was left open also gets what it then shows in place of the question."""
    if not asks_for_part(request):
        return conflict(request, public_id, sentence)
    assignment = named_or_404(request, public_id)
    counts = counts_by_state(request.user, assignment.round)
    n_submitted = counts.get(AssignmentState.SUBMITTED, 0)
    context = {
        "assignment": assignment,
        "round": assignment.round,
        "is_closed": assignment.round.state == RoundState.CLOSED,
        "n_submitted": n_submitted,
        "n_left": sum(counts.values()) - n_submitted,
    }
    panel = render_to_string("annotation/review/_ended.html", context, request)
    return JsonResponse({"message": sentence, "ended": panel}, status=409)


def conflict(request: HttpRequest, public_id: str, sentence: str, *, status: int = 409) -> HttpResponse:
    """409 or 422 with the sentence; nothing was stored."""
    if asks_for_part(request):
        return JsonResponse({"message": sentence}, status=status)
    context = {"title": _("Not stored"), "message": sentence}
    return render(request, "annotation/error.html", context, status=status)
