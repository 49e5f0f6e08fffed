"""Which questions are accepted: every newest review that was not withdrawn says accept, and there is one."""

from __future__ import annotations

import pytest

from annotation.enums import AssignmentState, BindingVerdict, QuestionState, Verdict
from annotation.models import Assignment, Review, Revision, User
from annotation.review.outcomes import round_outcomes
from readerstudy.design.questions import mates_of_patient, pool_of
from tests.annotation.adjudication.made import make_adjudicated
from tests.annotation.review.cases import NOON, assignments_of, make_round
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions, revision_of, same_patient

pytestmark = pytest.mark.django_db


def review(assignment: Assignment, verdict: Verdict, version: int = 1) -> None:
    assignment.state = AssignmentState.SUBMITTED
    assignment.save()
    Review.objects.create(assignment=assignment, verdict=verdict, version=version, submitted_at=NOON)


def test_only_unanimous_acceptance_lets_a_question_in(rita: User, remo: User) -> None:
    review_round = make_round(rita, remo, n_questions=5)
    mine, other = assignments_of(rita, review_round), assignments_of(remo, review_round)
    review(mine[0], Verdict.ACCEPT)
    review(other[0], Verdict.ACCEPT)
    review(mine[1], Verdict.ACCEPT)
    review(other[1], Verdict.REVISE)
    review(mine[2], Verdict.REJECT)
    review(mine[2], Verdict.ACCEPT, version=2)
    review(mine[3], Verdict.ACCEPT)
    review(other[3], Verdict.REJECT)
    other[3].state = AssignmentState.WITHDRAWN
    other[3].save()
    assert [one.number for one in pool_of(review_round.plan.bank)] == [1, 3, 4]


def test_what_an_adjudicator_decided_counts_as_in_the_bank(cora: User, rita: User, remo: User) -> None:
    made = make_adjudicated(cora, rita, remo, make_person("Judy"))
    bank = made.plan.bank
    assert [one.number for one in pool_of(bank)] == [1, 3]  # 3: one review, which accepts
    made.settlements.filter(revision__question__number=2).update(
        outcome=QuestionState.ACCEPTED, decision=BindingVerdict.ACCEPT, decided_at=NOON
    )
    made.settlements.filter(revision__question__number=3).update(
        outcome=QuestionState.REJECTED, decision=BindingVerdict.REJECT, decided_at=NOON
    )
    assert [one.number for one in pool_of(bank)] == [1, 2]


def test_an_older_review_that_accepts_a_wrong_key_accepts_nothing(rita: User) -> None:
    review_round = make_round(rita, n_questions=3)
    for assignment, flag in zip(
        assignments_of(rita, review_round), ("key_wrong", "no_valid_option", "other"), strict=True
    ):
        review(assignment, Verdict.ACCEPT)
        Review.objects.filter(assignment=assignment).update(flags=[flag])
    assert [one.number for one in pool_of(review_round.plan.bank)] == [3]
    accepted = round_outcomes(review_round).accepted
    assert (accepted.count, accepted.n) == (1, 3)


def test_a_wording_that_was_accepted_and_superseded_is_not_in_the_pool(rita: User) -> None:
    review_round = make_round(rita, n_questions=2)
    for assignment in assignments_of(rita, review_round):
        review(assignment, Verdict.ACCEPT)
    old = revision_of(review_round.plan.bank, 1)
    Revision.objects.filter(pk=old.pk).update(superseded_by=old.bank_import)
    assert [one.number for one in pool_of(review_round.plan.bank)] == [2]


def test_patients_stand_for_their_questions_and_exams_for_unknown_patients() -> None:
    bank = make_questions(4)
    same_patient(bank, 2, 4)
    revisions = [revision_of(bank, number).pk for number in range(1, 5)]
    assert list(mates_of_patient(bank, revisions).values()) == [[2, 4]]
