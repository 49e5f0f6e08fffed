"""The acts of a reviewer: answering blind, opening the report, drafts, submitting, skipping."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from annotation.enums import AssignmentState, RoundState, RoundSteps
from annotation.models import Assignment, AuditEvent, BlindAnswer, Review, ReviewDraft, User
from annotation.questionbank.filters import categories_of
from annotation.review.answering import Basis, answer_blind, open_report, report_slip, save_draft
from annotation.review.assignments import next_assignment, progress_at, rounds_of
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.submitting import skip, submit_review
from tests.annotation.review.cases import assignments_of, good_judgement, make_bank, make_round
from tests.refusals import refuses

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_pixels")]


@pytest.fixture
def first(rita: User, remo: User) -> Assignment:
    """The first of Rita's three questions; the key is B."""
    return assignments_of(rita, make_round(rita, remo))[0]


def answer(assignment: Assignment, actor: User, at: datetime, **changes: object) -> BlindAnswer:
    fields = {"best": "B", "defensible": ["B"], "difficulty": "easy", **changes}
    return answer_blind(assignment, actor=actor, at=at, **fields)  # type: ignore[arg-type]


def test_a_blind_answer_is_stored_once_with_its_moment(first: Assignment, rita: User, noon: datetime) -> None:
    stored = answer(first, rita, noon, defensible=["D"])
    assert (stored.best, stored.defensible, stored.difficulty, stored.answered_at) == ("B", ["B", "D"], "easy", noon)
    first.refresh_from_db()
    assert first.state == AssignmentState.ANSWERED
    assert answer(first, rita, noon + timedelta(minutes=1), defensible=["D"]) == stored
    for change in ({"best": "A"}, {"defensible": ["B", "C"]}, {"difficulty": "hard"}, {"best": "", "defensible": []}):
        with refuses(ReviewRefused, "final"):
            answer(first, rita, noon, **{"defensible": ["D"], **change})
    assert BlindAnswer.objects.get().best == "B"
    assert AuditEvent.objects.get().act == "review.answered"
    assert AuditEvent.objects.get().facts == {}  # the audit log never holds an answer


def test_no_option_defensible_is_an_answer(first: Assignment, rita: User, noon: datetime) -> None:
    assert answer(first, rita, noon, best="", defensible=[]).defensible == []


def test_an_incomplete_blind_answer_or_one_of_somebody_else_stores_nothing(
    first: Assignment, rita: User, remo: User, noon: datetime
) -> None:
    for change in ({"best": "E"}, {"difficulty": ""}, {"best": ""}, {"defensible": ["B", "X"]}):
        with refuses(ReviewRefused, "incomplete"):
            answer(first, rita, noon, **change)
    with refuses(ReviewRefused, "not_the_reviewer"):
        answer(first, remo, noon)
    Assignment.objects.filter(pk=first.pk).update(state=AssignmentState.WITHDRAWN)
    with refuses(ReviewRefused, "not_the_reviewer"):
        answer(first, rita, noon)
    assert not BlindAnswer.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("state", [RoundState.DRAFT, RoundState.CLOSED])
def test_a_round_that_is_not_open_takes_nothing(first: Assignment, rita: User, noon: datetime, state: str) -> None:
    first.round.state = state
    first.round.save()
    with refuses(ReviewRefused, "round_not_open"):
        answer(first, rita, noon)
    with refuses(ReviewRefused, "round_not_open"):
        save_draft(first, {"best": "A"}, actor=rita, at=noon)
    with refuses(ReviewRefused, "round_not_open"):
        skip(first, "no images", actor=rita, at=noon)
    with refuses(ReviewRefused, "round_not_open"):
        submit_review(first, good_judgement(), actor=rita, at=noon)


def test_an_open_round_asks_for_the_judgement_only(rita: User, noon: datetime) -> None:
    assignment = assignments_of(rita, make_round(rita, steps=RoundSteps.OPEN))[0]
    with refuses(ReviewRefused, "changed"):
        answer(assignment, rita, noon)
    assert submit_review(assignment, good_judgement(), actor=rita, at=noon).version == 1


@pytest.mark.logs("review.slip_reported")
def test_an_input_error_is_noted_beside_the_blind_answer(first: Assignment, rita: User, noon: datetime) -> None:
    with refuses(ReviewRefused, "answer_first"):
        report_slip(first, "B", actor=rita, at=noon)
    answer(first, rita, noon, best="C", defensible=["C"])
    for wrong in ("C", "", "E", "b"):
        with refuses(ReviewRefused, "bad_option"):
            report_slip(first, wrong, actor=rita, at=noon)
    for meant in ("B", "none"):
        report_slip(first, meant, actor=rita, at=noon)
        stored = BlindAnswer.objects.get()
        assert (stored.best, stored.meant) == ("C", meant)
    assert {event.facts == {} for event in AuditEvent.objects.filter(act="review.slip_reported")} == {True}
    submit_review(first, good_judgement(disagreement="own_error", reasoning="Slipped."), actor=rita, at=noon)
    with refuses(ReviewRefused, "submitted"):
        report_slip(first, "D", actor=rita, at=noon)


@pytest.mark.logs("review.report_opened")
def test_the_report_opens_after_the_blind_answer_and_keeps_its_first_moment(
    first: Assignment, rita: User, noon: datetime
) -> None:
    with refuses(ReviewRefused, "answer_first"):
        open_report(first, actor=rita, at=noon)
    answer(first, rita, noon)
    assert open_report(first, actor=rita, at=noon) == noon
    assert open_report(first, actor=rita, at=noon + timedelta(hours=1)) == noon


def test_a_draft_is_replaced_and_goes_with_its_step_for_good(first: Assignment, rita: User, noon: datetime) -> None:
    save_draft(first, {"best": "A", "defensible": ["A", "C"]}, actor=rita, at=noon, basis=Basis(n_stored=0))
    save_draft(first, {"best": "B"}, actor=rita, at=noon, basis=Basis(n_stored=0))
    assert ReviewDraft.objects.get().data == {"best": "B"}
    answer(first, rita, noon)
    with refuses(ReviewRefused, "draft_outdated"):  # a late one does not come back
        save_draft(first, {"best": "A"}, actor=rita, at=noon, basis=Basis(n_stored=0))
    assert not ReviewDraft.objects.exists()


def test_a_draft_holds_only_what_the_form_has(first: Assignment, rita: User, noon: datetime) -> None:
    for data in (
        {"is_staff": "1"},
        {"comment": "x" * 20_000},
        {"comment": "\x00"},
        {"verdict": ["a", "b"]},
        {"flags": ["f"] * 99},
    ):
        with refuses(ReviewRefused, "draft_unreadable"):
            save_draft(first, data, actor=rita, at=noon)
    assert not ReviewDraft.objects.exists()


def test_a_draft_that_the_server_handles_late_does_not_replace_a_newer_one(
    first: Assignment, rita: User, noon: datetime
) -> None:
    save_draft(first, {"best": "B"}, actor=rita, at=noon, sequence=7)
    with refuses(ReviewRefused, "draft_overtaken") as refusal:
        save_draft(first, {"best": "A"}, actor=rita, at=noon, sequence=6)
    assert refusal.value.facts == {"sequence": 7}
    assert ReviewDraft.objects.get().data == {"best": "B"}
    save_draft(first, {"best": "C"}, actor=rita, at=noon, sequence=7)  # the same again, when its answer was lost
    assert ReviewDraft.objects.get().data == {"best": "C"}


def test_a_draft_of_another_page_is_replaced_only_by_one_that_has_seen_it(
    first: Assignment, rita: User, noon: datetime
) -> None:
    save_draft(first, {"best": "B"}, actor=rita, at=noon, basis=Basis(draft=0, page="one"), sequence=3)
    unseen, seen = Basis(draft=2, page="two"), Basis(draft=3, page="two")
    with refuses(ReviewRefused, "draft_overtaken") as refusal:
        save_draft(first, {"best": "A"}, actor=rita, at=noon, basis=unseen, sequence=9)
    assert refusal.value.facts == {"stored": {"best": "B"}, "sequence": 3}
    save_draft(first, {"best": "C"}, actor=rita, at=noon, basis=Basis(draft=0, page="one"), sequence=4)  # its own
    save_draft(first, {"best": "D"}, actor=rita, at=noon, basis=Basis(draft=4, page="two"), sequence=5)
    with refuses(ReviewRefused, "draft_overtaken"):
        save_draft(first, {"best": "A"}, actor=rita, at=noon, basis=seen, sequence=4)  # its own, on the way for long
    assert ReviewDraft.objects.get().data == {"best": "D"}


def test_a_review_that_did_not_see_the_newest_version_is_refused_with_it(
    first: Assignment, rita: User, noon: datetime
) -> None:
    answer(first, rita, noon)
    opened = Basis(n_stored=1, draft=0, page="two")
    for _again in range(2):  # an answer that was lost: the same again is stored once
        submit_review(first, good_judgement(comment="newer"), actor=rita, at=noon, basis=opened, simulated=True)
    with refuses(ReviewRefused, "review_outdated") as refusal:
        submit_review(first, good_judgement(comment="stale"), actor=rita, at=noon, basis=opened, simulated=True)
    assert (refusal.value.status, refusal.value.facts["n_stored"]) == (409, 2)
    assert refusal.value.facts["stored"]["comment"] == "newer"
    assert [review.comment for review in Review.objects.all()] == ["newer"]
    save_draft(first, {"comment": "typed"}, actor=rita, at=noon, basis=Basis(n_stored=2, page="one"), sequence=1)
    with refuses(ReviewRefused, "draft_overtaken") as refusal:
        both = Basis(n_stored=2, draft=0, page="two")
        submit_review(first, good_judgement(comment="chosen"), actor=rita, at=noon, basis=both, simulated=True)
    assert refusal.value.facts == {"stored": {"comment": "typed"}, "sequence": 1}
    seen = Basis(n_stored=2, draft=1, page="two")
    assert submit_review(first, good_judgement(comment="chosen"), actor=rita, at=noon, basis=seen).version == 2


@pytest.mark.logs("review.submitted")
def test_a_review_is_stored_once_its_draft_goes_and_a_change_is_a_new_version(
    first: Assignment, rita: User, noon: datetime
) -> None:
    answer(first, rita, noon)
    save_draft(first, {"comment": "half a"}, actor=rita, at=noon)
    whole = good_judgement(comment="whole")
    review = submit_review(first, whole, actor=rita, at=noon, simulated=True)
    assert (review.version, review.verdict, review.comment, review.simulated) == (1, "accept", "whole", True)
    assert not ReviewDraft.objects.exists()
    first.refresh_from_db()
    assert first.state == AssignmentState.SUBMITTED
    assert submit_review(first, whole, actor=rita, at=noon + timedelta(minutes=5), simulated=True) == review
    changed = submit_review(first, good_judgement(verdict="revise", reasoning="r"), actor=rita, at=noon)
    assert [(r.version, r.verdict) for r in Review.objects.order_by("version")] == [(1, "accept"), (2, "revise")]
    assert changed.version == 2


def test_no_review_before_the_blind_answer(first: Assignment, rita: User, noon: datetime) -> None:
    with refuses(ReviewRefused, "changed"):
        submit_review(first, good_judgement(), actor=rita, at=noon)
    skip(first, "later", actor=rita, at=noon)
    with refuses(ReviewRefused, "answer_first"):
        submit_review(first, good_judgement(), actor=rita, at=noon)
    assert not Review.objects.exists()


def test_a_refused_review_stores_nothing(first: Assignment, rita: User, noon: datetime) -> None:
    answer(first, rita, noon, best="A", defensible=[])
    with refuses(ReviewRefused, "incomplete") as refusal:
        submit_review(first, good_judgement(), actor=rita, at=noon)  # the answer is not the key: reasoning is due
    assert [problem.field for problem in refusal.value.facts["problems"]] == ["disagreement", "reasoning"]
    assert not Review.objects.exists()


def test_following_flags_are_stored_without_being_sent(first: Assignment, rita: User, noon: datetime) -> None:
    answer(first, rita, noon, best="A", defensible=["A", "D"])
    review = submit_review(
        first, good_judgement(reasoning="seen", disagreement="key_wrong", verdict="revise"), actor=rita, at=noon
    )
    assert (review.flags, review.disagreement) == (["several_valid", "key_wrong"], "key_wrong")


def test_the_category_is_stored_only_when_it_changes(first: Assignment, rita: User, noon: datetime) -> None:
    answer(first, rita, noon)
    as_it_was = good_judgement(category=first.revision.category)
    assert submit_review(first, as_it_was, actor=rita, at=noon).category == ""
    assert submit_review(first, good_judgement(category="Pleura"), actor=rita, at=noon).category == "Pleura"


@pytest.mark.logs("review.skipped")
def test_skipped_questions_come_back_at_the_end(rita: User, noon: datetime) -> None:
    review_round = make_round(rita)
    one, two, three = assignments_of(rita, review_round)
    skip(one, "  no\nimages ", actor=rita, at=noon)
    assert one.skip_reason == "no images"
    assert next_assignment(rita, review_round) == two
    assert next_assignment(rita, review_round, leaving=two) == three
    skip(two, "later", actor=rita, at=noon + timedelta(minutes=1))
    answer(three, rita, noon)
    submit_review(three, good_judgement(), actor=rita, at=noon)
    assert next_assignment(rita, review_round) == one
    skip(one, "still none", actor=rita, at=noon + timedelta(minutes=2))
    assert next_assignment(rita, review_round) == two
    for assignment in (one, two):
        answer(assignment, rita, noon)
        submit_review(assignment, good_judgement(), actor=rita, at=noon)
    assert next_assignment(rita, review_round) is None


def test_skipping_needs_a_reason_and_a_question_that_is_not_submitted(
    first: Assignment, rita: User, noon: datetime
) -> None:
    for reason in ("", "   ", "x" * 301):
        with refuses(ReviewRefused, "incomplete"):
            skip(first, reason, actor=rita, at=noon)
    first.refresh_from_db()
    assert first.state == AssignmentState.WAITING
    answer(first, rita, noon)
    submit_review(first, good_judgement(), actor=rita, at=noon)
    with refuses(ReviewRefused, "changed"):
        skip(first, "why", actor=rita, at=noon)


def test_progress_counts_what_is_still_the_reviewers(rita: User, noon: datetime) -> None:
    review_round = make_round(rita, n_questions=4)
    one, two, three, _four = assignments_of(rita, review_round)
    Assignment.objects.filter(pk=two.pk).update(state=AssignmentState.WITHDRAWN)
    answer(one, rita, noon)
    assert next_assignment(rita, review_round) == one  # a question answered blind is the place to go on
    submit_review(one, good_judgement(), actor=rita, at=noon)
    progress = progress_at(three)
    assert (progress.place, progress.n_submitted, progress.n_all) == (2, 1, 3)


def test_rounds_of_a_reviewer_leave_out_drafts_and_others(rita: User, remo: User, noon: datetime) -> None:
    bank = make_bank()
    mine = make_round(rita, remo, n_questions=2, name="Mine")
    make_round(rita, n_questions=1, name="Drafted", state=RoundState.DRAFT)
    make_round(remo, n_questions=1, name="Theirs")
    closed = make_round(rita, n_questions=1, name="Old", state=RoundState.CLOSED)
    withdrawn = assignments_of(rita, mine)[1]
    Assignment.objects.filter(pk=withdrawn.pk).update(state=AssignmentState.WITHDRAWN)
    assert [(r, r.n_all, r.n_submitted) for r in rounds_of(rita)] == [(mine, 1, 0), (closed, 1, 0)]  # type: ignore[attr-defined]
    assert categories_of(bank.pk) == []
    assert categories_of(mine.plan.bank_id) == ["CATEGORY-WORDS negation"]
