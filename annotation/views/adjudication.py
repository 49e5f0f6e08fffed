"""Adjudication: an adjudicator's page of a round, the next question, and the page on which one is decided."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.enums import RoundState
from annotation.forms.rounds import DecisionForm
from annotation.ingest.serving import case_images, image_descriptors
from annotation.models import AnswerKey, Assignment, ReviewRound, Settlement
from annotation.outcomes.adjudicating import (
    barred,
    check_revisable,
    compare,
    decide,
    revise_in_place,
    show_reviews,
    take_next,
)
from annotation.outcomes.attention import own_adjudication
from annotation.review.ending import reasons_text
from annotation.site.permissions import is_adjudicator, knows_round
from annotation.views.questionbank.chosen import EditorPlace, editor
from annotation.views.site.confirming import flashed, is_possible_or_flash, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required

LETTERS = "ABCD"


def adjudicated_round(request: AuthenticatedRequest, slug: str) -> ReviewRound:
    """The round, for its adjudicators: to strangers it does not exist, others who know it may not."""
    review_round = get_object_or_404(ReviewRound.objects.select_related("plan__bank"), slug=slug)
    if is_adjudicator(request.user, review_round):
        return review_round
    if knows_round(request.user, review_round):
        raise PermissionDenied(_("This is for the adjudicators of the round."))
    raise Http404


@person_required
@require_GET
def adjudication(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What waits in a round, and what this adjudicator has decided."""
    review_round = adjudicated_round(request, slug)
    context: dict[str, Any] = {"round": review_round, "is_open": review_round.state == RoundState.ADJUDICATION}
    if review_round.state in (RoundState.ADJUDICATION, RoundState.CLOSED):
        context["own"] = own_adjudication(review_round, request.user)
    if context["is_open"]:
        context["barred"] = barred(review_round, request.user)
    return render(request, "annotation/adjudication/round.html", context)


@person_required
@require_POST
def adjudication_next(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """To the question that this adjudicator has begun, or to the next one that nobody has."""
    review_round = adjudicated_round(request, slug)
    with flashed(request):
        found = take_next(review_round, request.user, at=by(request)["at"])
        if found is not None:
            return redirect("review-case", found.public_id)
        messages.info(request, _("No question is left that you may adjudicate."))
    return redirect("adjudication", slug)


@person_required
@require_GET
def adjudication_question(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """From an adjudicator's own case to where it goes on: the decision, or the page of the round."""
    mine = Assignment.objects.filter(reviewer=request.user, round__adjudicates__isnull=False)
    assignment = get_object_or_404(mine.select_related("round__adjudicates"), public_id=public_id)
    settlement = Settlement.objects.filter(assignment=assignment, assignment__reviews__isnull=False).first()
    if settlement is not None:
        return redirect("adjudication-decide", settlement.public_id)
    assert assignment.round.adjudicates is not None
    return redirect("adjudication", assignment.round.adjudicates.slug)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def adjudication_decide(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The reviews side by side with one's own, the images, and the decision."""
    mine = Settlement.objects.filter(assignment__reviewer=request.user)
    settlement = get_object_or_404(mine.select_related("round"), public_id=public_id)
    form = DecisionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        with refusals_on(form):
            decided = decide(settlement, data["decision"], data["reason"], **by(request))
            sentence = _("Decided: %(decision)s.") % {"decision": decided.get_decision_display()}
            return said(request, sentence, "adjudication", settlement.round.slug)
    with flashed(request):
        context = {"form": form, **_question(show_reviews(settlement, **by(request)))}
        return render(request, "annotation/adjudication/decide.html", context, status=422 if form.errors else 200)
    return redirect("adjudication", settlement.round.slug)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def adjudication_revise(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The editor of the adjudicator; storing decides that the question needs revision."""
    mine = Settlement.objects.filter(assignment__reviewer=request.user)
    settlement = get_object_or_404(mine.select_related("round", "revision__question__exam"), public_id=public_id)
    back = reverse("adjudication-decide", args=[public_id])
    if not is_possible_or_flash(request, lambda: check_revisable(settlement, request.user)):
        return redirect(back)
    hint = "" if settlement.decision else _("Storing decides that the question needs revision, with the same reason.")
    return editor(
        request,
        settlement.revision.question,
        EditorPlace(settlement.round.name, back, hint),
        lambda wording, reason, based_on: revise_in_place(
            settlement, wording, reason, based_on=based_on, **by(request)
        ),
    )


def _question(settlement: Settlement) -> dict[str, Any]:
    """Everything that is shown beside the decision; the adjudicator's own answer is final."""
    revision = settlement.revision
    exam = revision.question.exam
    images = list(case_images(revision).prefetch_related("renditions"))
    truth = AnswerKey.objects.select_related("report").defer("extra").get(pk=revision.pk)
    return {
        "round": settlement.round,
        "settlement": settlement,
        "revision": revision,
        "truth": truth,
        "options": list(zip(LETTERS, revision.options, strict=False)),
        "views": image_descriptors(images, priors={image.pk for image in images if image.exam_id != exam.pk}),
        "reasons": reasons_text(settlement.reasons, settlement.round.reviewers_per_question),
        "comparison": compare(settlement),
    }
