"""A round of two reviewers whose reviews settle one question, dispute two, and leave one without a review."""

from __future__ import annotations

from annotation.enums import Flag, Verdict
from annotation.models import Assignment, ReviewRound, User
from annotation.outcomes.adjudicating import begin_adjudication, name_adjudicator
from annotation.review.ending import complete_reviews
from annotation.review.kernels.form import Judgement
from annotation.review.kernels.form_design import PAPER
from annotation.review.rounds import create_round, open_round
from tests.annotation.review.cases import NOON
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.made_once import made_once

N_OPEN = 3  # assignments that nobody submitted: question 3 by Remo, question 4 by both
JUDGEMENT = Judgement(grades=dict.fromkeys(PAPER.grades, 4), needs_image="yes", relevant="yes", verdict="accept")


def by_number(reviewer: User, review_round: ReviewRound) -> dict[int, Assignment]:
    return {one.revision.question.number: one for one in theirs(reviewer) if one.round_id == review_round.pk}


@made_once
def make_reviewed(cora: User, rita: User, remo: User, *, name: str = "Spring") -> ReviewRound:
    """1: agreed. 2: other answers and a flag. 3: one review of two. 4: none."""
    plan = make_sample(4, name=f"Sample of {name}")
    made = create_round(plan, name=name, reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=NOON)
    open_round(made, actor=cora, at=NOON)
    ritas, remos = by_number(rita, made), by_number(remo, made)
    say(ritas[1])
    say(remos[1])
    say(ritas[2], comment="RITA-WORDS")
    say(remos[2], best="C", flags=[Flag.UNSOUND], verdict=Verdict.REVISE, comment="REMO-WORDS")
    say(ritas[3])
    return made


@made_once
def make_adjudicated(cora: User, rita: User, remo: User, judge: User, *, name: str = "Spring") -> ReviewRound:
    """The same in adjudication by ``judge``."""
    made = make_reviewed(cora, rita, remo, name=name)
    complete_reviews(made, actor=cora, at=NOON, confirmed_open=N_OPEN)
    name_adjudicator(made, judge, actor=cora, at=NOON)
    begin_adjudication(made, actor=cora, at=NOON)
    return made
