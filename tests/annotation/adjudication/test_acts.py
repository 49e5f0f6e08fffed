"""Ending the reviews of a round, and its adjudication: acts, states of questions, and what is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from annotation.enums import QuestionState, ReturnReason, Role, RoundState
from annotation.models import Assignment, AuditEvent, Question, ReviewRound, Settlement, User
from annotation.outcomes.adjudicating import (
    begin_adjudication,
    compare,
    decide,
    name_adjudicator,
    revise_in_place,
    show_reviews,
    take_next,
)
from annotation.outcomes.attention import settling_of
from annotation.outcomes.prompt_flags import fresh_round
from annotation.people.tokens import PeopleRefused
from annotation.questionbank.editing import wording_of
from annotation.questionbank.kernels.entries import QUESTION_TRANSITIONS, BankRefused, states_before
from annotation.review.answering import answer_blind
from annotation.review.assignments import own_assignment
from annotation.review.ending import close_round, complete_reviews, disputed
from annotation.review.home import open_work_of
from annotation.review.kernels.transitions import ROUND_TRANSITIONS, ReviewRefused
from annotation.review.onlookers import may_see_outcomes
from annotation.review.reviewer_progress import reviewer_progress
from annotation.review.rounds import archive_round
from annotation.review.submitting import hand_back, submit_review
from tests.annotation.adjudication.made import JUDGEMENT, N_OPEN, by_number
from tests.annotation.rounds.made import make_open, say
from tests.conftest import make_person
from tests.refusals import refuses


def states(review_round: ReviewRound) -> dict[int, str]:
    return dict(Question.objects.filter(bank=review_round.plan.bank_id).values_list("number", "state"))


def settled(review_round: ReviewRound, number: int) -> Settlement:
    return Settlement.objects.get(round=review_round, revision__question__number=number)


def judge_own(assignment: Assignment, judge: User, at: datetime, **changed: Any) -> None:
    """The adjudicator's own review, through the form's acts."""
    own = own_assignment(judge, assignment.public_id)
    answer_blind(own, best="B", defensible=["B"], difficulty="easy", actor=judge, at=at)
    submit_review(own_assignment(judge, assignment.public_id), JUDGEMENT, actor=judge, at=at)


def taken_and_judged(review_round: ReviewRound, judge: User, at: datetime) -> Settlement:
    assignment = take_next(review_round, judge, at=at)
    assert assignment is not None
    judge_own(assignment, judge, at)
    return Settlement.objects.get(assignment=assignment)


def test_the_end_of_the_reviews_settles_by_the_rule_and_says_why_not(
    reviewed: ReviewRound, cora: User, noon: datetime
) -> None:
    assert set(states(reviewed).values()) == {QuestionState.IN_REVIEW}
    with refuses(ReviewRefused, "not_complete") as refused:
        complete_reviews(reviewed, actor=cora, at=noon)
    assert refused.value.facts["n_open"] == N_OPEN
    assert not Settlement.objects.exists()
    assert ReviewRound.objects.get().state == RoundState.OPEN
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    assert states(reviewed) == {1: "accepted", 2: "disputed", 3: "disputed", 4: "imported"}
    assert [reason["code"] for reason in settled(reviewed, 2).reasons] == ["answers_differ", "verdict", "flag"]
    found = settling_of(reviewed)
    assert found is not None
    assert (found.by_rule.count, found.by_rule.n, found.n_waiting, found.n_unreviewed) == (1, 3, 2, 1)
    why = {one.settlement.revision.question.number: one.reasons for one in found.unsettled}
    assert why == {
        2: "blind answers differ; verdict “revise”; flag “ambiguous or clinically unsound”",
        3: "1 of 2 reviews is in",
    }


@pytest.mark.logs("round.completed")
def test_reviews_are_final_then(reviewed: ReviewRound, cora: User, rita: User, noon: datetime) -> None:
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    own = own_assignment(rita, by_number(rita, reviewed)[1].public_id)
    with refuses(ReviewRefused, "round_not_open"):
        submit_review(own, JUDGEMENT, actor=rita, at=noon)
    waiting = own_assignment(rita, by_number(rita, reviewed)[4].public_id)
    with refuses(ReviewRefused, "round_not_open"):
        answer_blind(waiting, best="B", defensible=["B"], difficulty="easy", actor=rita, at=noon)


@pytest.mark.logs("round.closed")
def test_closing_an_open_round_settles_it_too(reviewed: ReviewRound, cora: User, noon: datetime) -> None:
    close_round(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    assert states(reviewed)[1] == "accepted"
    assert reviewed.completed_at == noon
    assert disputed(reviewed).count() == 2


def test_a_question_without_a_review_stays_in_review_while_another_round_has_it(
    reviewed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    make_open(reviewed.plan, make_person("Rolf", Role.REVIEWER), name="Again", actor=cora)
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    assert states(reviewed)[4] == "in_review"


def test_what_was_accepted_is_accepted_again_after_a_round_without_reviews(
    reviewed: ReviewRound, cora: User, noon: datetime
) -> None:
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    again = make_open(reviewed.plan, make_person("Rolf", Role.REVIEWER), name="Again", actor=cora)
    assert states(reviewed)[1] == "in_review"
    close_round(again, actor=cora, at=noon, confirmed_open=4)
    assert states(reviewed) == {1: "accepted", 2: "disputed", 3: "disputed", 4: "imported"}


@pytest.mark.logs("round.adjudication_begun")
def test_adjudication_needs_a_dispute_and_an_adjudicator(
    reviewed: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    with refuses(ReviewRefused, "wrong_state"):
        begin_adjudication(reviewed, actor=cora, at=noon)
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    with refuses(PeopleRefused, "own_roles"):
        name_adjudicator(reviewed, cora, actor=cora, at=noon)
    with refuses(ReviewRefused, "no_adjudicator", match="Name an adjudicator"):
        begin_adjudication(reviewed, actor=cora, at=noon)
    name_adjudicator(reviewed, judy, actor=cora, at=noon)
    begin_adjudication(reviewed, actor=cora, at=noon)
    assert reviewed.state == RoundState.ADJUDICATION
    with refuses(ReviewRefused, "wrong_state"):
        begin_adjudication(reviewed, actor=cora, at=noon)


def test_a_settled_round_needs_no_adjudication(cora: User, rita: User, judy: User, noon: datetime) -> None:
    made = make_open(1, rita, name="Small", actor=cora)
    say(by_number(rita, made)[1])
    complete_reviews(made, actor=cora, at=noon)
    name_adjudicator(made, judy, actor=cora, at=noon)
    with refuses(ReviewRefused, "nothing_disputed"):
        begin_adjudication(made, actor=cora, at=noon)


def test_an_adjudicator_takes_one_after_the_other_and_comes_back_to_it(
    adjudicated: ReviewRound, judy: User, noon: datetime
) -> None:
    first = take_next(adjudicated, judy, at=noon)
    assert first is not None
    assert first.revision.question.number == 2
    assert take_next(adjudicated, judy, at=noon) == first
    judge_own(first, judy, noon)
    second = take_next(adjudicated, judy, at=noon)
    assert second is not None
    assert second.revision.question.number == 3


@pytest.mark.logs("adjudication.taken")
def test_two_adjudicators_never_have_the_same_question(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    jan = make_person("Jan")
    name_adjudicator(adjudicated, jan, actor=cora, at=noon)
    hers, his = take_next(adjudicated, judy, at=noon), take_next(adjudicated, jan, at=noon)
    assert hers is not None
    assert his is not None
    assert hers.revision_id != his.revision_id
    third = make_person("Third")
    name_adjudicator(adjudicated, third, actor=cora, at=noon)
    assert take_next(adjudicated, third, at=noon) is None


def test_what_is_handed_back_goes_to_another_one(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    jan = make_person("Jan")
    name_adjudicator(adjudicated, jan, actor=cora, at=noon)
    hers = take_next(adjudicated, judy, at=noon)
    assert hers is not None
    hand_back(own_assignment(judy, hers.public_id), ReturnReason.KNOWS_PATIENT, actor=judy, at=noon)
    his = take_next(adjudicated, jan, at=noon)
    assert his is not None
    assert his.revision_id == hers.revision_id
    assert take_next(adjudicated, judy, at=noon) is None  # all of them are on the exam of that patient


def test_nobody_adjudicates_what_they_reviewed(
    adjudicated: ReviewRound, cora: User, remo: User, noon: datetime
) -> None:
    name_adjudicator(adjudicated, remo, actor=cora, at=noon)
    assert take_next(adjudicated, remo, at=noon) is None  # 3 was his, though he never opened it


def test_only_adjudicators_take_and_only_in_adjudication(
    reviewed: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    with refuses(ReviewRefused, "not_an_adjudicator"):
        take_next(reviewed, cora, at=noon)
    name_adjudicator(reviewed, judy, actor=cora, at=noon)
    with refuses(ReviewRefused, "not_in_adjudication"):
        take_next(reviewed, judy, at=noon)


def test_the_reviews_are_shown_after_the_own_one_and_without_names(
    adjudicated: ReviewRound, judy: User, noon: datetime
) -> None:
    assignment = take_next(adjudicated, judy, at=noon)
    settlement = Settlement.objects.get(assignment=assignment)
    with refuses(ReviewRefused, "own_review_first"):
        show_reviews(settlement, actor=judy, at=noon)
    assert assignment is not None
    judge_own(assignment, judy, noon)
    with refuses(ReviewRefused, "round_not_open", match="final"):
        submit_review(own_assignment(judy, assignment.public_id), JUDGEMENT, actor=judy, at=noon)
    shown = compare(show_reviews(settlement, actor=judy, at=noon))
    assert shown.n_reviews == 2
    lines = {line.label: line for line in shown.lines}
    assert lines["Blind answer"].cells[0] == "B"
    assert sorted(lines["Blind answer"].cells[1:]) == ["B", "C"]
    assert lines["Blind answer"].differs
    assert not lines["Acceptable"].is_text
    assert {"RITA-WORDS", "REMO-WORDS"} <= set(lines["Comment"].cells)
    assert "Rita" not in str(shown)
    assert AuditEvent.objects.filter(act="adjudication.reviews_shown").count() == 1
    show_reviews(settlement, actor=judy, at=noon)
    assert AuditEvent.objects.filter(act="adjudication.reviews_shown").count() == 1


@pytest.mark.parametrize(
    ("decision", "state", "against_all"),
    [("accept", "accepted", False), ("revise", "needs_revision", False), ("reject", "rejected", True)],
)
def test_a_decision_moves_the_question(
    adjudicated: ReviewRound, judy: User, noon: datetime, decision: str, state: str, against_all: bool
) -> None:
    settlement = taken_and_judged(adjudicated, judy, noon)
    with refuses(ReviewRefused, "reviews_not_seen"):
        decide(settlement, decision, "Sign is plain.", actor=judy, at=noon)
    show_reviews(settlement, actor=judy, at=noon)
    decided = decide(settlement, decision, "Sign is plain.", actor=judy, at=noon)
    assert (decided.outcome, decided.against_all) == (state, against_all)
    assert states(adjudicated)[2] == state
    assert decide(settlement, decision, "Sign is plain.", actor=judy, at=noon).decided_at == noon
    with refuses(ReviewRefused, "decided"):
        decide(settlement, decision, "Other words.", actor=judy, at=noon)


def test_what_is_refused_decides_nothing_and_what_is_accepted_is_not_revised_in_place(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    """A decision needs a choice and a reason, a revision has to be one, and a fresh round needs a revised question."""
    settlement = taken_and_judged(adjudicated, judy, noon)
    show_reviews(settlement, actor=judy, at=noon)
    wording = wording_of(settlement.revision)
    with refuses(BankRefused, "rules"):
        revise_in_place(settlement, replace(wording, key="E"), "Two fit.", based_on=1, actor=judy, at=noon)
    with refuses(ReviewRefused, "nothing_revised"):
        fresh_round(adjudicated, actor=cora, at=noon)
    with refuses(ReviewRefused, "no_decision"):
        decide(settlement, "maybe", "Because.", actor=judy, at=noon)
    with refuses(ReviewRefused, "no_reason"):
        decide(settlement, "accept", "  \n", actor=judy, at=noon)
    settlement.refresh_from_db()
    assert settlement.decision == ""
    decide(settlement, "accept", "Plain.", actor=judy, at=noon)
    with refuses(ReviewRefused, "decided"):
        revise_in_place(settlement, replace(wording, stem="Another?"), "Two.", based_on=1, actor=judy, at=noon)


@pytest.mark.logs("round.made_of_revised")
def test_a_revision_in_place_decides_and_goes_to_a_fresh_round(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    settlement = taken_and_judged(adjudicated, judy, noon)
    wording = replace(wording_of(settlement.revision), stem="Which of these is absent on both views?")
    with refuses(ReviewRefused, "reviews_not_seen"):
        revise_in_place(settlement, wording, "Two fit.", based_on=1, actor=judy, at=noon)
    show_reviews(settlement, actor=judy, at=noon)
    revision = revise_in_place(settlement, wording, "Two fit.", based_on=1, actor=judy, at=noon)
    settlement.refresh_from_db()
    assert (settlement.decision, settlement.reason, settlement.outcome) == ("revise", "Two fit.", "needs_revision")
    assert revision.edit.settlement == settlement
    assert states(adjudicated)[2] == "revised"
    made = fresh_round(adjudicated, actor=cora, at=noon)
    assert (made.name, made.state, made.reviewers_per_question) == ("Spring, revised 1", "draft", 2)
    assert list(made.plan.questions.values_list("revision", flat=True)) == [revision.pk]
    assert fresh_round(adjudicated, actor=cora, at=noon).name == "Spring, revised 2"


def test_nobody_decides_for_another_adjudicator(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    settlement = taken_and_judged(adjudicated, judy, noon)
    jan = make_person("Jan")
    name_adjudicator(adjudicated, jan, actor=cora, at=noon)
    with refuses(ReviewRefused, "not_the_adjudicator"):
        show_reviews(settlement, actor=jan, at=noon)
    with refuses(ReviewRefused, "not_an_adjudicator"):
        show_reviews(settlement, actor=cora, at=noon)


def test_closing_asks_about_what_is_undecided_and_ends_the_cases(
    adjudicated: ReviewRound, cora: User, judy: User, noon: datetime
) -> None:
    begun = take_next(adjudicated, judy, at=noon)
    assert begun is not None
    with refuses(ReviewRefused, "not_complete", match="wait for an adjudicator"):
        close_round(adjudicated, actor=cora, at=noon)
    close_round(adjudicated, actor=cora, at=noon, confirmed_open=2)
    assert states(adjudicated)[2] == "disputed"
    with refuses(ReviewRefused, "round_not_open"):
        answer_blind(begun, best="B", defensible=["B"], difficulty="easy", actor=judy, at=noon)
    archive_round(adjudicated, actor=cora, at=noon)


def test_a_newer_wording_is_not_moved_by_what_was_said_of_the_old_one(
    reviewed: ReviewRound, cora: User, noon: datetime
) -> None:
    first = by_number(User.objects.get(name="Rita"), reviewed)[1].revision
    first.superseded_by = first.bank_import
    first.save()
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    assert Settlement.objects.get(revision=first).outcome == "accepted"
    assert states(reviewed)[1] == "in_review"


def test_the_cases_of_adjudicators_are_no_round_of_the_list(
    adjudicated: ReviewRound, judy: User, noon: datetime
) -> None:
    take_next(adjudicated, judy, at=noon)
    assert list(ReviewRound.objects.all()) == [adjudicated]
    work = open_work_of(judy, noon)
    assert [section.title for section in work.work] == ["Adjudication"]
    assert {one.person.name for one in reviewer_progress(adjudicated)} == {"Rita", "Remo"}


def test_who_judges_sees_no_outcomes_before_the_end(
    adjudicated: ReviewRound, cora: User, judy: User, rita: User, noon: datetime
) -> None:
    assert may_see_outcomes(cora, adjudicated)
    assert not may_see_outcomes(judy, adjudicated)
    assert not may_see_outcomes(rita, adjudicated)
    close_round(adjudicated, actor=cora, at=noon, confirmed_open=2)
    assert may_see_outcomes(judy, adjudicated)


def test_the_tables_of_states_are_complete() -> None:
    assert set(QUESTION_TRANSITIONS) == set(QuestionState)
    assert set(ROUND_TRANSITIONS) == set(RoundState)
    assert all(states_before(state) for state in QuestionState)
