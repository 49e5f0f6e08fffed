"""A prompt in three versions, the questions of two of them reviewed in a round that is closed."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.enums import Flag, RoundState
from annotation.models import PromptVersion, ReviewRound, Revision
from tests.annotation.prompts.flagged import generated, questions_prompt, reviewed
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
    _run, questions = generated(bank, versions[0], range(1, N + 1))
    exams = [one.question.exam for one in questions]
    _run, later = generated(bank, versions[1], range(101, N + 101), exams)
    closed = make_round(state=RoundState.CLOSED, n_questions=0, name="Prompts", bank=bank)
    _review(place, closed, questions, [Flag.SEVERAL_VALID], 7)
    _review(place, closed, later, [Flag.UNSOUND], 2)
    place.things |= {f"version {one.number}": one for one in versions}


def _review(
    place: Place, review_round: ReviewRound, questions: Sequence[Revision], flags: list[Flag], n_flagged: int
) -> None:
    nora, said = place.people["nora"], place.said("The second option is right as well.")
    reviewed(review_round, nora, dict.fromkeys(questions[:n_flagged], flags), comment=said, verdict="revise")
    reviewed(review_round, nora, dict.fromkeys(questions[n_flagged:], ()))
