"""A prompt in three versions: two compared by a trial whose round is closed, and a trial that is planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.call_enums import BatchState
from annotation.enums import Flag, RoundState
from annotation.models import (
    CallBatch,
    GenerationRun,
    PromptTrial,
    PromptVersion,
    QuestionBank,
    ReviewRound,
    Revision,
    SampledQuestion,
)
from tests.annotation.feedback.made import generated, questions_prompt, reviewed
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_bank, make_round
from tests.browser.pages.place import Place

N = 24


def judge_prompts(place: Place) -> None:
    bank = make_bank("Written by models")
    name = place.named("questions of a model")[:100]
    reasons = ("Our first words.", "No finding that is merely not mentioned.", "Options of equal length.")
    versions: list[PromptVersion] = []
    for number, reason in enumerate(reasons, start=1):
        parent = versions[-1] if versions else None
        author = place.people["cora"] if versions else None
        version = questions_prompt(number, name=name, reason=place.said(reason), parent=parent, author=author)
        versions.append(version)
    first, questions = generated(bank, versions[0], range(1, N + 1))
    exams = [one.question.exam for one in questions]
    second, later = generated(bank, versions[1], range(101, N + 101), exams)
    closed = make_round(state=RoundState.CLOSED, n_questions=0, name="Prompts", bank=bank)
    _review(place, closed, questions, [Flag.SEVERAL_VALID], 7)
    _review(place, closed, later, [Flag.UNSOUND], 2)
    pairs = [one for pair in zip(questions, later, strict=True) for one in pair]
    SampledQuestion.objects.bulk_create(
        SampledQuestion(plan=closed.plan, position=place_of, revision=one, stratum="all")
        for place_of, one in enumerate(pairs, start=1)
    )
    told = _trial(first, second, sample=closed.plan, created_by=place.people["cora"])
    place.things |= {f"version {one.number}": one for one in versions}
    place.things |= {"trial closed": told, "trial planned": _planned(bank, versions[1:])}


def _review(
    place: Place, review_round: ReviewRound, questions: Sequence[Revision], flags: list[Flag], n_flagged: int
) -> None:
    nora, said = place.people["nora"], place.said("The second option is right as well.")
    reviewed(review_round, nora, dict.fromkeys(questions[:n_flagged], flags), comment=said, verdict="revise")
    reviewed(review_round, nora, dict.fromkeys(questions[n_flagged:], ()))


def _planned(bank: QuestionBank, versions: Sequence[PromptVersion]) -> PromptTrial:
    runs = [generated(bank, one, [])[0] for one in versions]
    GenerationRun.objects.filter(pk__in=[one.pk for one in runs]).update(finished_at=None, bank_import=None)
    CallBatch.objects.filter(pk__in=[one.bullets_batch_id for one in runs]).update(state=BatchState.PLANNED)
    return _trial(*runs)


def _trial(first: GenerationRun, second: GenerationRun, **fields: Any) -> PromptTrial:
    planned = {"issue_rate": 0.3, "difference": 0.2, "power": 0.8, "correlation": 0.0, "n_planned": 62}
    return PromptTrial.objects.create(first_run=first, second_run=second, created_at=NOON, **planned, **fields)
