"""Reviewing: a person's rounds, the worklist, and the case page with its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import push_url

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, ReviewDraft, ReviewRound, User
from annotation.review.answering import mark_opened
from annotation.review.due import due_text
from annotation.review.kernels.form import FormProblem
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.showing import named_assignment, own_assignment, show_case
from annotation.review.viewing import size_text, viewing_of
from annotation.review.worklist import counts_by_state, next_assignment, own_assignments, rounds_of
from annotation.views.review.case_form import case_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required

FILTERS = {
    "": (),
    "unfinished": UNFINISHED,
    "skipped": (AssignmentState.SKIPPED,),
    "submitted": (AssignmentState.SUBMITTED,),
}


@person_required
@require_GET
def review_rounds(request: AuthenticatedRequest) -> HttpResponse:
    """The rounds in which this person reviews."""
    return render(request, "annotation/review/rounds.html", {"rounds": rounds_of(request.user)})


@person_required
@require_GET
def review_worklist(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The person's own questions in one round, with where each stands."""
    review_round = own_round_or_404(request, slug)
    counts = counts_by_state(request.user, review_round)
    chosen = request.GET.get("show", "")
    rows = own_assignments(request.user, review_round).select_related("revision__question")
    rows = rows.annotate(has_draft=Exists(ReviewDraft.objects.filter(assignment=OuterRef("pk"))))
    if FILTERS.get(chosen):
        rows = rows.filter(state__in=FILTERS[chosen])
    n_all = sum(counts.values())
    n_submitted = counts.get(AssignmentState.SUBMITTED, 0)
    n_skipped = counts.get(AssignmentState.SKIPPED, 0)
    context = {
        "round": review_round,
        "is_open": review_round.state == RoundState.OPEN,
        "rows": rows,
        "chosen": chosen if chosen in FILTERS else "",
        "filters": [
            ("", n_all),
            ("unfinished", n_all - n_submitted),
            ("skipped", n_skipped),
            ("submitted", n_submitted),
        ],
        "n_all": n_all,
        "n_submitted": n_submitted,
        "n_left": n_all - n_submitted,
        "least_window": size_text(viewing_of(review_round).least_window),
        "due": due_text(review_round, request.user),
        "is_overdue": bool(review_round.due_at and review_round.due_at <= timezone.now() and n_submitted < n_all),
    }
    return render(request, "annotation/review/worklist.html", context)


@person_required
@require_GET
def review_continue(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """To the next unfinished question, or to the worklist when there is none."""
    review_round = own_round_or_404(request, slug)
    following = next_assignment(request.user, review_round) if review_round.state == RoundState.OPEN else None
    if following is None or ("begin" not in request.GET and _has_to_read(request.user, review_round)):
        return redirect("review-worklist", slug=slug)
    return redirect("review-case", public_id=following.public_id)


def _has_to_read(person: User, review_round: ReviewRound) -> bool:
    """Whether the round has instructions that this reviewer has not come past: no question of it was opened yet."""
    opened = own_assignments(person, review_round).filter(opened_at__isnull=False)
    return bool(review_round.instructions) and not opened.exists()


@person_required
@require_http_methods(["GET", "HEAD"])
@never_cache
@vary_on_headers("HX-Request")
def review_case(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One question beside its exam, at the step where this reviewer stands."""
    assignment = own_assignment_or_404(request, public_id)
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
    response = render(request, template, context, status=status)
    if is_fragment:
        push_url(response, reverse("review-case", args=[assignment.public_id]))
    return response


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


def own_round_or_404(request: AuthenticatedRequest, slug: str) -> ReviewRound:
    return get_object_or_404(rounds_of(request.user), slug=slug)
