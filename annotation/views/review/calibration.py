"""Calibration before a round: begun, its result beside the shared answers, and leave without it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.acts.rounds import coordinated_round
from annotation.enums import AssignmentState, RoundState, Verdict
from annotation.models import Assignment, CalibrationResult, ReviewRound, User
from annotation.review.assignments import next_assignment
from annotation.review.calibrating import (
    FIELD_LABELS,
    ComparedQuestion,
    begin_calibration,
    compared_with_shared,
    let_in,
    must_calibrate,
)
from annotation.review.kernels.shared_answers import BEST, VERDICT, Compared
from annotation.review.kernels.transitions import GONE, ReviewRefused
from annotation.statistics.kernels.intervals import share
from annotation.views.review.worklist import own_round_or_404
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, person_required


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
    try:
        cases = begin_calibration(review_round, request.user, at=timezone.now())
    except ReviewRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("review-worklist", review_round.slug)
    following = next_assignment(request.user, cases)
    if following is None:
        return redirect("calibration", review_round.slug)
    return redirect("review-case", public_id=following.public_id)


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

    def act() -> str:
        let_in(review_round, person, request.POST.get("reason", ""), actor=request.user, at=timezone.now())
        return _("%(name)s may review in this round now.") % {"name": person}

    run_and_flash(request, act)
    return redirect("round", slug)
