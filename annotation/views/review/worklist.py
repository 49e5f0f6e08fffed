"""Reviewing: a person's rounds, and the worklist of one.

Calibration before a round: begun, its result beside the shared answers, and leave without it.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.acts.rounds import coordinated_round
from annotation.enums import AssignmentState, RoundState, Verdict
from annotation.models import Assignment, CalibrationResult, ReviewDraft, ReviewRound, User
from annotation.review.assignments import counts_by_state, next_assignment, own_assignments, rounds_of
from annotation.review.calibrating import (
    FIELD_LABELS,
    ComparedQuestion,
    begin_calibration,
    compared_with_shared,
    let_in,
    must_calibrate,
)
from annotation.review.kernels.settling import BEST, VERDICT, Compared
from annotation.review.kernels.transitions import GONE, UNFINISHED
from annotation.review.onlookers import own_decisions, own_minutes, sees_decisions
from annotation.review.reviewer_progress import due_text
from annotation.review.viewing import size_text, viewing_of
from annotation.statistics.kernels.intervals import share
from annotation.views.site.confirming import flashed
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required

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
    context = {"rounds": rounds_of(request.user), "minutes": own_minutes(request.user)}
    return render(request, "annotation/review/rounds.html", context)


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
        "sees_decisions": sees_decisions(review_round),
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
def review_decisions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What the questions that this person reviewed came to be; not there where the round does not show it."""
    review_round = own_round_or_404(request, slug)
    if not sees_decisions(review_round):
        raise Http404
    context = {"round": review_round, "rows": own_decisions(review_round, request.user)}
    return render(request, "annotation/review/decisions.html", context)


@person_required
@require_GET
def review_continue(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """To the next unfinished question, or to the worklist when there is none; parts of a round have pages."""
    if (elsewhere := _page_of_part(slug)) is not None:
        return elsewhere
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


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def calibration(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A reviewer's own calibration: what there is to do, or how it compares; sending begins it or goes on."""
    review_round = own_round_or_404(request, slug)
    if review_round.shared_answers_id is None:
        raise Http404
    if request.method == "POST":
        return _to_next_case(request, review_round)
    result = CalibrationResult.objects.filter(round=review_round, reviewer=request.user).first()
    is_compared = result is not None and result.finished_at is not None
    cases = Assignment.objects.filter(round__calibrates=review_round, reviewer=request.user).exclude(state__in=GONE)
    compared = compared_with_shared(review_round, request.user) if is_compared else []
    context: dict[str, Any] = {
        "round": review_round,
        "is_open": review_round.state == RoundState.OPEN,
        "result": result,
        "is_compared": is_compared,
        "must": must_calibrate(review_round, request.user.pk),
        "share": share(result.n_agreed, result.n_compared) if result is not None and result.n_compared else None,
        "questions": [_shown(one) for one in compared],
        "n_cases": cases.count(),
        "n_done": cases.filter(state=AssignmentState.SUBMITTED).count(),
    }
    return render(request, "annotation/review/calibration.html", context)


def _to_next_case(request: AuthenticatedRequest, review_round: ReviewRound) -> HttpResponse:
    with flashed(request):
        following = next_assignment(request.user, begin_calibration(review_round, request.user, at=timezone.now()))
        if following is None:
            return redirect("calibration", review_round.slug)
        return redirect("review-case", public_id=following.public_id)
    return redirect("review-worklist", review_round.slug)


def _shown(one: ComparedQuestion) -> dict[str, Any]:
    return {
        "question": one,
        "lines": [
            {
                "label": FIELD_LABELS[line.field],
                "own": _word(line, line.own),
                "shared": _word(line, line.shared),
                "agrees": line.agrees,
            }
            for line in one.compared
        ],
    }


def _word(line: Compared, value: str | int) -> str:
    if line.field == BEST:
        return str(value) or _("none acceptable")
    if line.field == VERDICT:
        return next((_(one.label) for one in Verdict if one == value), str(value))
    return str(value) if isinstance(value, int) else _("cannot judge")


@person_required
@require_POST
def calibration_let_in(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """A coordinator lets a reviewer in who has not passed, with a reason."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    with flashed(request) as say:
        let_in(review_round, person, request.POST.get("reason", ""), **by(request))
        say(_("%(name)s may review in this round now.") % {"name": person})
    return redirect("round", slug)
