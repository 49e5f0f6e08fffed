"""Trials of two versions of a prompt whose calls the simulated model answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.test import override_settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.kernels.simulated_models import OBEYS_SCHEMA
from annotation.enums import RoundState
from annotation.feedback.kernels.trial_pairs import TrialAssumptions
from annotation.feedback.prompt_trials import draw_trial, start_trial, trials_with_runs
from annotation.feedback.trial_plans import TrialWanted, plan_trial
from annotation.generation.continuing import continue_run
from annotation.generation.kernels.generation_prompts import QUESTIONS
from annotation.models import (
    Assignment,
    GenerationRun,
    PromptTrial,
    PromptVersion,
    QuestionBank,
    ReviewRound,
    SampledQuestion,
    User,
)
from annotation.prompts.shipped import version_of
from annotation.prompts.versions import make_version
from annotation.review.rounds import create_round
from tests.annotation.generation.made import answer_batch
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON
from tests.annotation.review.cases import images_are_there

LARGE = TrialAssumptions(issue_rate=0.9, difference=0.8, power=0.8)  # 8 pairs


def two_versions() -> tuple[PromptVersion, PromptVersion]:
    """Ours, and one that says a little more."""
    first = version_of(QUESTIONS, at=NOON)
    second = make_version(
        first.name,
        QUESTIONS.purpose,
        f"{first.text}\n\nNever offer what is merely not mentioned.",
        instruction=first.instruction,
        variables=first.variables,
        schema=first.schema,
        parent=first,
        reason="13 of 120 had more than one valid option",
        actor=None,
        at=NOON,
    )
    return first, second


def trial_wanted(bank: QuestionBank, versions: Sequence[PromptVersion], **fields: Any) -> TrialWanted:
    given: dict[str, Any] = {"per_exam": 3, "seed": 7, "n_exams": 8, "assumed": LARGE, "model": OBEYS_SCHEMA}
    return TrialWanted(bank=bank, endpoint=ENDPOINT, first=versions[0], second=versions[1], **given | fields)


@contextmanager
def endpoint_is_there() -> Iterator[None]:
    with override_settings(MODEL_ENDPOINTS=(Endpoint(ENDPOINT, "http://127.0.0.1:9/v1", place=EndpointPlace.MACHINE),)):
        yield


def planned_trial(bank: QuestionBank, **fields: Any) -> PromptTrial:
    with endpoint_is_there():
        trial = plan_trial(trial_wanted(bank, two_versions(), **fields), actor=None, at=NOON).trial
    assert trial is not None
    return read(trial)


def read(trial: PromptTrial) -> PromptTrial:
    return trials_with_runs().get(pk=trial.pk)


def made_trial(bank: QuestionBank, **fields: Any) -> PromptTrial:
    """Both versions have made their questions; nobody asked a server."""
    trial = planned_trial(bank, **fields)
    with endpoint_is_there():
        start_trial(trial, actor=None, at=NOON)
        for seed, pk in ((1, trial.first_run_id), (2, trial.second_run_id)):
            for step in ("bullets_batch", "questions_batch"):
                answer_batch(getattr(GenerationRun.objects.get(pk=pk), step), seed)
                continue_run(GenerationRun.objects.get(pk=pk), clock=lambda: NOON)
    images_are_there(bank)
    return read(trial)


def round_of_trial(trial: PromptTrial, reviewer: User, *, coordinator: User) -> ReviewRound:
    """Drawn, and one reviewer has all questions of its open round."""
    sample = draw_trial(trial, actor=coordinator, at=NOON)
    review_round = create_round(sample, name="Autumn", reviewers=[reviewer], actor=coordinator, at=NOON)
    opened = NOON + timedelta(minutes=1)
    ReviewRound.objects.filter(pk=review_round.pk).update(state=RoundState.OPEN, opened_at=opened)
    review_round.refresh_from_db()
    return review_round


def close(review_round: ReviewRound) -> None:
    ReviewRound.objects.filter(pk=review_round.pk).update(state=RoundState.CLOSED)


def by_version(trial: PromptTrial, review_round: ReviewRound) -> tuple[list[Assignment], list[Assignment]]:
    """Assignments to questions of the first and of the second version, in the order of the sample."""
    place = dict(SampledQuestion.objects.filter(plan=review_round.plan).values_list("revision", "position"))
    rows = Assignment.objects.filter(round=review_round).select_related("revision__question")
    found = sorted(rows, key=lambda one: place[one.revision_id])
    first = trial.first_run.bank_import_id
    return (
        [one for one in found if one.revision.bank_import_id == first],
        [one for one in found if one.revision.bank_import_id != first],
    )
