"""A closed round that grades explanations of models: rates by model, which nobody saw before."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import F
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import RoundState, Verdict
from annotation.models import ReviewRound, SampledQuestion
from annotation.review.assignments import form_design_of
from annotation.review.kernels.form_design import GOOD_GRADE
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import clustered_share, share

Trials = dict[str, dict[str, list[int]]]  # by what is counted and by patient: 1 where it is so


class ModelRates(Struct, frozen=True):
    """``shares``: what is counted, with its share of the reviews that say something of it."""

    model: str
    n_explanations: int  # with a review
    n_reviews: int
    shares: list[tuple[str, Estimate]]


def rates_by_model(review_round: ReviewRound) -> list[ModelRates] | None:
    """Shares of reviews: of each grade those with GOOD_GRADE or better, and those that accept, by name of the model.

    Limits are by cluster: patients, or exams where no patient is known; all reviews of one are together. None of a
    round of another kind, and before it is closed. Two queries.
    """
    if not review_round.grades_explanations or review_round.state != RoundState.CLOSED:
        return None
    model_of = dict(SampledQuestion.objects.filter(plan=review_round.plan_id).values_list("revision", "model"))
    grades = form_design_of(review_round).grades
    trials: dict[str, Trials] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    reviews: dict[str, list[int]] = defaultdict(list)
    exam = "assignment__revision__question__exam"
    rows = (
        newest_reviews(review_round)
        .order_by()
        .annotate(
            wording=F("assignment__revision"), patient=F(f"{exam}__patient_pseudonym"), exam=F(f"{exam}__pseudonym")
        )
    )
    for wording, patient, pseudonym, given, verdict in rows.values_list(
        "wording", "patient", "exam", "grades", "verdict"
    ):
        model, cluster = model_of[wording], patient or f"exam {pseudonym}"
        reviews[model].append(wording)
        for name in grades:
            if isinstance(grade := given.get(name.value), int):
                trials[model][name.value][cluster].append(int(grade >= GOOD_GRADE))
        if verdict != Verdict.CANNOT_JUDGE:
            trials[model][Verdict.ACCEPT][cluster].append(int(verdict == Verdict.ACCEPT))
    counted = {**{name.value: name.label for name in grades}, Verdict.ACCEPT: Verdict.ACCEPT.label}
    return [
        ModelRates(
            model, len(set(own)), len(own), [(_(label), _share(trials[model][one])) for one, label in counted.items()]
        )
        for model, own in sorted(reviews.items())
    ]


def _share(of_cluster: dict[str, list[int]]) -> Estimate:
    found = clustered_share(list(of_cluster.values()))
    return found.estimate if found else share(0, 0)


def explained(review_round: ReviewRound) -> str:
    """What a report says of a round that grades explanations of models; else nothing."""
    if not review_round.grades_explanations:
        return ""
    return (
        " In place of its own explanation each question had the answer and explanation of a model, drawn evenly over "
        "runs of models, whose names nobody was shown: what is said of explanations is of theirs. No question is "
        "settled."
    )
