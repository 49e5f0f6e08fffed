"""Outcomes from stored reviews."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Flag, RoundSteps, Verdict
from annotation.models import Assignment, BlindAnswer, ReviewRound, SamplingPlan, User
from annotation.review.ending import close_round
from annotation.review.kernels.form_design import PAPER
from annotation.review.onlookers import may_see_outcomes
from annotation.review.outcomes import outcomes_over, round_outcomes
from annotation.review.reassigning import remove_reviewer
from annotation.review.reviewer_progress import reviewer_progress
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.issues import CountingRule, Leading, PaperOutcome
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions
from tests.annotation.rounds.made import make_sample, say, theirs


@pytest.fixture
def pair(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    """Twelve questions on four exams, both reviewers on each, opened."""
    plan = make_sample(12)
    made = create_round(plan, name="Pair", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    return made


def by_number(reviewer: User) -> dict[int, Assignment]:
    return {one.revision.question.number: one for one in theirs(reviewer)}


def test_a_question_counts_once_whoever_flags_it(pair: ReviewRound, rita: User, remo: User) -> None:
    ritas, remos = by_number(rita), by_number(remo)
    say(ritas[1], flags=[Flag.SEVERAL_VALID])
    say(remos[1], flags=[Flag.SEVERAL_VALID, Flag.OTHER])
    say(ritas[2], flags=[Flag.NEEDS_PRIOR])
    say(remos[2])
    say(ritas[3], flags=[Flag.HALLUCINATED])
    found = round_outcomes(pair)
    assert (found.n_questions, found.n_reviewed, found.n_reviews) == (12, 3, 5)
    assert found.reviews_per_question == [(1, 1), (2, 2)]
    shares = {row.issue: (row.rate.share.count, row.rate.share.n) for row in found.paper}
    assert shares == {
        PaperOutcome.SEVERAL_VALID: (1, 3),
        PaperOutcome.COMPARISON: (1, 3),
        PaperOutcome.VALIDITY: (0, 3),
        PaperOutcome.HALLUCINATED: (1, 3),
        PaperOutcome.MISALIGNED: (0, 3),
    }
    assert (found.any_issue.share.count, found.any_issue.share.n) == (3, 3)
    strict = {
        row.issue: (row.rate.share.count, row.rate.share.n) for row in round_outcomes(pair, CountingRule.ALL).paper
    }
    assert strict[PaperOutcome.SEVERAL_VALID] == (1, 2)
    assert strict[PaperOutcome.COMPARISON] == (0, 2)
    assert strict[PaperOutcome.HALLUCINATED] == (0, 2)
    assert found.has_clusters


def test_the_newest_version_counts(pair: ReviewRound, rita: User, noon: datetime) -> None:
    one = by_number(rita)[1]
    say(one, flags=[Flag.OTHER], verdict="reject")
    say(one, version=2, at=noon + timedelta(minutes=1))
    found = round_outcomes(pair)
    assert found.n_reviews == 1
    assert found.any_issue.share.count == 0
    assert dict(found.verdicts.counts)[Verdict.ACCEPT] == 1


def test_the_ceiling_counts_blind_answers_and_none_defensible_is_not_the_key(
    pair: ReviewRound, rita: User, remo: User
) -> None:
    ritas, remos = by_number(rita), by_number(remo)
    say(ritas[1])
    say(remos[1], best="A")
    say(ritas[2], best="")
    found = round_outcomes(pair)
    assert (found.ceiling.count, found.ceiling.n) == (1, 3)


def test_input_errors_as_they_were_meant_stand_beside_the_result(pair: ReviewRound, rita: User) -> None:
    ritas = by_number(rita)
    for number, best in ((1, "A"), (2, "B"), (3, "B"), (4, "")):
        say(ritas[number], best=best)
    assert round_outcomes(pair).ceiling_meant is None
    for number, meant in ((1, "B"), (2, "none"), (4, "B")):
        BlindAnswer.objects.filter(assignment=ritas[number]).update(meant=meant)
    found = round_outcomes(pair)
    assert (found.ceiling.count, found.settled.count) == (2, 2)
    assert found.ceiling_meant
    assert (found.ceiling_meant.count, found.ceiling_meant.n) == (3, 4)
    assert found.settled_meant
    assert (found.settled_meant.count, found.settled_meant.n) == (3, 4)


def test_what_settles_without_adjudication(pair: ReviewRound, rita: User) -> None:
    ritas = by_number(rita)
    say(ritas[1])
    say(ritas[2], best="C")
    say(ritas[3], flags=[Flag.OTHER])
    say(ritas[4], verdict="revise")
    low = {**{one.value: 5 for one in PAPER.grades}, "clinical_quality": 2}
    say(ritas[5], grades=low)
    found = round_outcomes(pair)
    assert (found.settled.count, found.settled.n) == (1, 5)
    assert (found.accepted.count, found.accepted.n) == (4, 5)
    quality, _facts, _clarity, alignment = found.grades
    assert (quality.n, dict(quality.counts)[2], quality.median) == (5, 1, 5)
    assert (alignment.n, alignment.n_cannot_judge) == (1, 4)


def test_reviews_of_somebody_who_left_still_count(
    pair: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    say(by_number(rita)[1], flags=[Flag.OTHER])
    remove_reviewer(pair, rita, to=cora, actor=cora, at=noon)
    assert round_outcomes(pair).any_issue.share.count == 1
    states = {one.person: (one.n_all, one.n_submitted, one.has_left) for one in reviewer_progress(pair)}
    assert states == {cora: (11, 0, False), remo: (12, 0, False), rita: (1, 1, True)}


def test_a_round_of_judgement_only_has_no_ceiling(db: None, cora: User, rita: User, noon: datetime) -> None:
    made = create_round(make_sample(3), name="J", reviewers=[rita], steps=RoundSteps.OPEN, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    say(theirs(rita)[0], best=None)
    found = round_outcomes(made)
    assert (found.ceiling.value, found.ceiling.reason) == (None, "zero_trials")
    assert found.settled.count == 0


def test_the_shape_of_the_paper(db: None, cora: User, rita: User, noon: datetime) -> None:
    """120 questions, 13, 8, 6 and 4 of them with an issue: 10.83, 6.67, 5.00 and 3.33 %."""
    bank = make_bank("Paper")
    make_revisions(bank, {number: {"difficulty": "easy"} for number in range(1, 121)})
    images_are_there(bank)
    plan = draw_sample(bank, per_thousand=1000, actor=None, at=noon)
    made = create_round(plan, name="Paper", reviewers=[rita], actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    found_in = {Flag.SEVERAL_VALID: 13, Flag.NEEDS_PRIOR: 8, Flag.UNSOUND: 6, Flag.HALLUCINATED: 4}
    for place, one in enumerate(theirs(rita)):
        say(one, flags=[flag for flag, n in found_in.items() if place < n])
    found = round_outcomes(made)
    assert [(row.rate.share.count, row.rate.share.n) for row in found.paper] == [
        (13, 120),
        (8, 120),
        (6, 120),
        (4, 120),
        (0, 120),
    ]
    assert found.paper[0].rate.share.ci95 == pytest.approx((0.0644114115417, 0.176553602153), abs=1e-6)
    assert found.paper[0].rate.clustered is None  # every question has an exam of its own
    assert found.paper[0].rate.bank_mix.value == pytest.approx(13 / 120)
    assert {row.rate.leading for row in found.paper} == {Leading.WHOLE_BANK}, "no interval of what is known"
    assert {row.rate.leading for row in outcomes_over([made]).paper} == {Leading.WHOLE_BANK}
    SamplingPlan.objects.filter(pk=plan.pk).update(frame={**plan.frame, "filters": {"task": "presence"}})
    narrowed = ReviewRound.objects.get(pk=made.pk)
    assert {row.rate.leading for row in round_outcomes(narrowed).paper} == {Leading.WILSON}
    make_revisions(bank, {121: {"difficulty": "easy"}})
    assert {row.rate.leading for row in outcomes_over([made]).paper} == {Leading.WILSON}, "the bank has grown"


def test_coordinators_who_review_stay_blinded_until_the_round_closes(
    pair: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    assert may_see_outcomes(cora, pair)
    assert not may_see_outcomes(rita, pair)
    close_round(pair, actor=cora, at=noon, confirmed_open=24)
    assert may_see_outcomes(rita, pair)


def test_outcomes_take_three_queries(
    pair: ReviewRound, rita: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for one in theirs(rita):
        say(one)
    fresh = ReviewRound.objects.select_related("plan").get(pk=pair.pk)
    with django_assert_num_queries(3):
        round_outcomes(fresh)
