"""The case page, with all that a reviewer does on it.

A page that is already there (HTMX) gets the parts that change, or the problems as JSON; a plain form gets a
page. Success is answered after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect, push_url

from annotation.case.kernels.traces import Trace, parse_events, readable_trace
from annotation.enums import FINAL_STATES, AssignmentState, ReturnReason
from annotation.forms.images import DisplayForm, shown_check
from annotation.models import Assignment
from annotation.questionbank.filters import categories_of
from annotation.review.answering import (
    MANY,
    STEP_ONE_FIELDS,
    STEP_TWO_FIELDS,
    Basis,
    answer_blind,
    mark_opened,
    open_report,
    record_events,
    report_slip,
    save_draft,
)
from annotation.review.assignments import counts_by_state, named_assignment, own_assignment
from annotation.review.kernels.form import FormProblem, incomplete, parse_blind, parse_judgement
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.showing import show_case
from annotation.review.submitting import hand_back, hide_identifying_images, leave_for_next, skip, submit_review
from annotation.review.viewing import asked_screen, check_display, newest_check, pattern_now
from annotation.views.review.case_form import case_form
from annotation.views.site.confirming import number_sent
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required
from annotation.views.site.errors import problem

ENDED = {"round_not_open", "not_the_reviewer"}  # refusals after which nothing can be done at this case
NOT_OF_THE_FORM = {"csrfmiddlewaretoken", "based_on", "known", "sequence", "page", "events", "unreadable", "viewport"}


@person_required
@require_http_methods(["GET", "HEAD"])
@never_cache
@vary_on_headers("HX-Request")
def review_case(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One question beside its exam, at the step that this reviewer has reached; first the check of the display."""
    assignment = own_assignment_or_404(request, public_id)
    if asked_screen(assignment.round, request.user) == "null" and not asks_for_part(request):
        return redirect("review-display", public_id)
    mark_opened(assignment, at=timezone.now())
    return case_page(request, assignment)


def case_page(
    request: AuthenticatedRequest,
    assignment: Assignment,
    *,
    ahead: Sequence[Assignment] | None = None,
    problems: Sequence[FormProblem] = (),
    sent: Mapping[str, object] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The case as a whole page, or its changing parts alone for a page that is already there."""
    case = show_case(assignment, viewer=request.user, ahead=ahead)
    is_fragment = asks_for_part(request)
    template = "annotation/review/_case.html" if is_fragment else "annotation/review/case.html"
    context = {"case": case, **case_form(case, problems=problems, sent=sent)}
    context["checked_on"] = asked_screen(assignment.round, request.user)
    response = render(request, template, context, status=status)
    if is_fragment:
        push_url(response, reverse("review-case", args=[assignment.public_id]))
    return response


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def review_display(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The check of the display before the first case; over a case on another screen, its page sends it and gets 204."""
    assignment = own_assignment_or_404(request, public_id)
    if not asked_screen(assignment.round, request.user):
        return redirect("review-case", public_id)
    form, problem = DisplayForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST":
        problem = form.check(partial(check_display, assignment.round, **by(request)))
        if not problem:
            return HttpResponse(status=204) if asks_for_part(request) else redirect("review-case", public_id)
    before = newest_check(assignment.round, request.user)
    check = shown_check(form, before, pattern_now(assignment.round, request.user, before), problem)
    context = {"round": assignment.round, **check}
    return render(request, "annotation/review/display.html", context, status=422 if problem else 200)


# --- acts -----------------------------------------------------------------------------------------
def case_act(act: Callable[[AuthenticatedRequest, Assignment], HttpResponse]) -> Callable[..., HttpResponse]:
    """A view of an act at a case of the reviewer's own. Problems of the form are shown beside its fields; an open page
    of a case that has ended gets what it shows instead. Every other refusal is answered as everywhere.
    """

    @wraps(act)
    def view(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
        assignment = named_or_404(request, public_id)
        try:
            return act(request, assignment)
        except ReviewRefused as refusal:
            if refusal.code == "incomplete":
                return incomplete_form(request, public_id, refusal)
            if refusal.code not in ENDED or not asks_for_part(request):
                raise
            ended = ended_panel(request, named_or_404(request, public_id))
            return JsonResponse({**problem(refusal), "ended": ended}, status=refusal.status)

    return person_required(require_POST(never_cache(view)))


@case_act
def review_answer(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store the blind answer and show step 2."""
    blind, problems = parse_blind(lists(request))
    if problems:
        raise incomplete(problems)
    stored = answer_blind(
        assignment,
        best=blind.best,
        defensible=blind.defensible,
        difficulty=blind.difficulty,
        **by(request),
        trace=trace_of(request),
    )
    return same_case(request, stored.assignment)


@case_act
def review_slip(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store which option was meant in place of the blind answer. 204 when it is stored."""
    report_slip(assignment, request.POST.get("meant", ""), **by(request))
    if asks_for_part(request):
        return HttpResponse(status=204)
    return redirect("review-case", public_id=assignment.public_id)


@case_act
def review_report(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store the moment of step 3 and show the report."""
    open_report(assignment, **by(request))
    if asks_for_part(request):
        case = show_case(own_assignment_or_404(request, assignment.public_id), viewer=request.user)
        return render(request, "annotation/review/_report.html", {"case": case})
    return redirect("review-case", public_id=assignment.public_id)


@case_act
def review_draft(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store what the form holds now. 204 when it is stored."""
    save_draft(
        assignment,
        form_values(request),
        **by(request),
        basis=basis_of(request),
        sequence=number_sent(request, "sequence") or 0,
        trace=trace_of(request),
    )
    return HttpResponse(status=204)


@case_act
def review_events(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store the timing events of the page. 204 when it is stored; the same events again change nothing."""
    page = request.POST.get("page", "")
    trace = Trace(page=page, events=parse_events(page, request.POST.get("events", "")))
    record_events(assignment, trace, **by(request))
    return HttpResponse(status=204)


@case_act
def review_submit(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Store the judgement and show the next case."""
    judgement = parse_judgement(lists(request))
    return next_case(request, assignment, partial(submit_review, basis=basis_of(request)), judgement)


@case_act
def review_skip(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Put the question aside and show the next case."""
    return next_case(request, assignment, skip, request.POST.get("reason", ""))


@case_act
def review_return(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Give the question up for good and show the next case."""
    reason = next((one for one in ReturnReason if one == request.POST.get("reason", "")), ReturnReason.NONE)
    return next_case(request, assignment, hand_back, reason)


@case_act
def review_identifies(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """Send the named images to quarantine at once and answer with the images that are left."""
    images = request.POST.getlist("images")
    if not images:
        raise ReviewRefused("no_images_named", _("Choose the image that shows the text."), status=400)
    hide_identifying_images(assignment, images, **by(request))
    if not asks_for_part(request):
        return redirect("review-case", public_id=assignment.public_id)
    return same_case(request, own_assignment_or_404(request, assignment.public_id))


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


def basis_of(request: HttpRequest) -> Basis:
    page = request.POST.get("page", "")[:36]
    return Basis(n_stored=number_sent(request, "based_on"), draft=number_sent(request, "known"), page=page)


def trace_of(request: HttpRequest) -> Trace:
    """What the page sent beside the form; what cannot be read of it never costs the form."""
    return readable_trace(
        request.POST.get("page", ""),
        request.POST.get("events", ""),
        viewport=request.POST.get("viewport", ""),
        unreadable=request.POST.getlist("unreadable"),
    )


def form_values(request: HttpRequest) -> dict[str, str | list[str]]:
    """The fields of the form as sent: lists where the form has several values, else the last value."""
    sent = lists(request).items()
    return {name: values if name in MANY else values[-1] for name, values in sent if name not in NOT_OF_THE_FORM}


def same_case(request: AuthenticatedRequest, assignment: Assignment) -> HttpResponse:
    """The same case in its new state."""
    if not asks_for_part(request):
        return redirect("review-case", public_id=assignment.public_id)
    return case_page(request, assignment)


def next_case(
    request: AuthenticatedRequest, assignment: Assignment, step: Callable[..., object], sent: object
) -> HttpResponse:
    """Take a step that leaves the case and show the next one, or the worklist when there is none."""
    who, trace = by(request), trace_of(request)
    following = leave_for_next(assignment, lambda: step(assignment, sent, **who, trace=trace), **who)
    if assignment.round.adjudicates_id is not None:  # there the case goes on with the reviews of the others
        decision = reverse("adjudication-question", args=[assignment.public_id])
        return HttpResponseClientRedirect(decision) if asks_for_part(request) else redirect(decision)
    if following.opened is None:
        worklist = reverse("review-worklist", args=[assignment.round.slug])
        return HttpResponseClientRedirect(worklist) if asks_for_part(request) else redirect(worklist)
    if not asks_for_part(request):
        return redirect("review-case", public_id=following.opened.public_id)
    return case_page(request, following.opened, ahead=following.ahead)


def incomplete_form(request: AuthenticatedRequest, public_id: str, refusal: ReviewRefused) -> HttpResponse:
    """422 with what is wrong, field by field; nothing was stored."""
    problems: list[FormProblem] = refusal.facts["problems"]
    if asks_for_part(request):
        found = [{"field": one.field, "code": one.code, "message": _(one.message)} for one in problems]
        return JsonResponse({**problem(refusal), "problems": found}, status=refusal.status)
    known = {n: v for n, v in form_values(request).items() if n in STEP_ONE_FIELDS | STEP_TWO_FIELDS}
    assignment = own_assignment_or_404(request, public_id)
    return case_page(request, assignment, problems=problems, sent=known, status=refusal.status)


def ended_panel(request: AuthenticatedRequest, assignment: Assignment) -> str:
    """What a page that was left open shows in place of the question."""
    counts = counts_by_state(request.user, assignment.round)
    n_submitted = counts.get(AssignmentState.SUBMITTED, 0)
    context = {
        "assignment": assignment,
        "round": assignment.round,
        "is_closed": assignment.round.state in FINAL_STATES,
        "n_submitted": n_submitted,
        "n_left": sum(counts.values()) - n_submitted,
    }
    return render_to_string("annotation/review/_ended.html", context, request)


def own_assignment_or_404(request: AuthenticatedRequest, public_id: str) -> Assignment:
    """Somebody else's question is not there; neither is one that was withdrawn or whose round is a draft."""
    try:
        return own_assignment(request.user, public_id)
    except Assignment.DoesNotExist as error:
        raise Http404 from error


def named_or_404(request: AuthenticatedRequest, public_id: str) -> Assignment:
    """The same rule for an act, which loads the rest itself and refuses what was taken away with a sentence."""
    try:
        return named_assignment(request.user, public_id)
    except Assignment.DoesNotExist as error:
        raise Http404 from error
