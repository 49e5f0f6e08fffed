"""Reviewing: a person's rounds, and the worklist of one."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotation.enums import AssignmentState, RoundState
from annotation.models import ReviewDraft, ReviewRound, User
from annotation.review.assignments import counts_by_state, next_assignment, own_assignments, rounds_of
from annotation.review.calibrating import must_calibrate
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.reviewer_progress import due_text
from annotation.review.viewing import size_text, viewing_of
from annotation.views.site.decorators import AuthenticatedRequest, person_required

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
    """The person's own questions in one round, with the state of each; adjudication and calibration have pages."""
    if (elsewhere := _page_of_part(slug)) is not None:
        return elsewhere
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
        "must_calibrate": must_calibrate(review_round, request.user.pk),
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


def _page_of_part(slug: str) -> HttpResponse | None:
    """To the page of the adjudication or calibration whose cases these are; None for a round."""
    parts = ReviewRound.everywhere.filter(Q(adjudicates__isnull=False) | Q(calibrates__isnull=False), slug=slug)
    part = parts.select_related("adjudicates", "calibrates").first()
    if part is None:
        return None
    if part.adjudicates is not None:
        return redirect("adjudication", part.adjudicates.slug)
    assert part.calibrates is not None
    return redirect("calibration", part.calibrates.slug)


@person_required
@require_GET
def review_continue(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """To the next unfinished question, or to the worklist when there is none."""
    review_round = own_round_or_404(request, slug)
    may_begin = review_round.state == RoundState.OPEN and not must_calibrate(review_round, request.user.pk)
    following = next_assignment(request.user, review_round) if may_begin else None
    if following is None or ("begin" not in request.GET and _has_to_read(request.user, review_round)):
        return redirect("review-worklist", slug=slug)
    return redirect("review-case", public_id=following.public_id)


def _has_to_read(person: User, review_round: ReviewRound) -> bool:
    """Whether the round has instructions that this reviewer has not come past: no question of it was opened yet."""
    opened = own_assignments(person, review_round).filter(opened_at__isnull=False)
    return bool(review_round.instructions) and not opened.exists()


def own_round_or_404(request: AuthenticatedRequest, slug: str) -> ReviewRound:
    return get_object_or_404(rounds_of(request.user), slug=slug)
