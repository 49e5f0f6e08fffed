"""Complete runs that answer as a test says, and reviews that say whether the image is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotation.call_enums import SentImages
from annotation.models import Assignment, ModelCall, PromptVersion, QuestionBank, Review, ReviewRound, User
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON
from tests.readerstudy.model_runs.made import answer, end, make_prompt, planned


def number_of(call: ModelCall) -> int:
    assert call.revision is not None
    return call.revision.question.number


def right_on(*numbers: int) -> Callable[[ModelCall], str]:
    """B there, which is the key, else the option C of the bank."""
    return lambda call: "ABCD"[(1 if number_of(call) in numbers else 2) - call.rotation]


def complete(target: Target, say: Callable[[ModelCall], str], **fields: Any) -> ModelRun:
    given = {"prompt": reading(), **fields}
    outcomes = given.pop("outcomes", None)
    run = planned(target, **given)
    answer(run, say, outcomes=outcomes)
    end(run)
    return run


def reading() -> PromptVersion:
    found = PromptVersion.objects.filter(name="reading").first()
    return found or make_prompt("reading", images=SentImages.ALL)


def review(made: ReviewRound, number: int, said: dict[User, str]) -> None:
    revision = made.plan.bank.questions.get(number=number).revisions.get()
    for person, word in said.items():
        assignment = Assignment.objects.create(
            round=made, reviewer=person, revision=revision, position=number, state="submitted"
        )
        Review.objects.create(assignment=assignment, needs_image=word, verdict="accept", submitted_at=NOON)


def blind_run(bank: QuestionBank, *right: int) -> ModelRun:
    return complete(Target(bank), right_on(*right), images=SentImages.NONE)
