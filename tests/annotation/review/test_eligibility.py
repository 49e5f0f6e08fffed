"""Whoever has seen a key does not judge its question blind: seeing is noted, assigning and answering refuse."""

from __future__ import annotations

import io
from datetime import datetime

import pytest
from django.db import connection
from django.test import Client

from annotation.enums import AssignmentState, ReturnReason, Role, RoundState, RoundSteps
from annotation.exports.reviews import export_reviews
from annotation.models import (
    Assignment,
    AuditEvent,
    BankImport,
    BlindAnswer,
    Membership,
    Question,
    Review,
    ReviewRound,
    SeenKey,
    User,
)
from annotation.review.answering import answer_blind
from annotation.review.assigning import ineligible_reviewers, plan_assignments
from annotation.review.assignments import CASES, next_assignment, own_assignments
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import reassign
from annotation.review.submitting import hand_back
from annotation.tables.writing import Format
from tests.annotation.review.cases import SECRETS, assignments_of, make_round
from tests.annotation.rounds.made import say
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def review_round(rita: User, remo: User) -> ReviewRound:
    """Three questions, for Rita and Remo; the key is B."""
    return make_round(rita, remo)


def page_of(assignment: Assignment) -> str:
    question = assignment.revision.question
    return f"/banks/{question.bank.slug}/{question.number}/"


def seen_by(person: User) -> list[tuple[int, str]]:
    rows = SeenKey.objects.filter(person=person).order_by("question__number")
    return list(rows.values_list("question__number", "source"))


def answer(assignment: Assignment, actor: User, at: datetime) -> None:
    answer_blind(assignment, best="B", defensible=["B"], difficulty="easy", actor=actor, at=at)


def test_the_question_page_notes_once_who_read_the_key(client: Client, review_round: ReviewRound, cora: User) -> None:
    first = review_round.assignments.order_by("position")[0]
    client.force_login(cora)
    for _time in range(2):
        assert SECRETS["explanation"] in client.get(page_of(first)).content.decode()
    assert seen_by(cora) == [(1, "question")]
    event = AuditEvent.objects.get(act="key.seen")
    assert (event.actor, event.subject_type, event.facts) == (cora, "question", {"source": "question", "questions": 1})


def test_who_has_seen_a_key_is_not_given_its_question(client: Client, review_round: ReviewRound, cora: User) -> None:
    client.force_login(cora)
    client.get(page_of(review_round.assignments.order_by("position")[0]))
    with refuses(ReviewRefused, "too_few_reviewers", match=r"Question 1 .* Cora has seen its key \(question page\)\."):
        plan_assignments(review_round.plan_id, [cora], 1, 1)
    assert len(plan_assignments(review_round.plan_id, [cora], 1, 1, steps=RoundSteps.OPEN).orders[0]) == 3
    waiting = review_round.assignments.filter(revision__question__number=1, reviewer__name="Rita").get()
    with refuses(ReviewRefused, "cannot_take", match="Cora has seen its key"):
        reassign(review_round, [waiting.public_id], to=cora, actor=cora, at=waiting.round.created_at)
    [told] = ineligible_reviewers(review_round, [cora])
    assert (told.numbers, told.reasons) == ([1], "Cora has seen its key (question page).")


def test_an_export_and_the_reviews_of_a_reviewer_show_their_keys(
    coordinator: Client, review_round: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    say(assignments_of(rita, review_round)[1])
    export_reviews(review_round, Format.CSV, io.BytesIO(), actor=cora, at=noon)
    export_reviews(review_round, Format.CSV, io.BytesIO(), actor=None, at=noon)
    assert seen_by(cora) == [(2, "export")]
    assert SeenKey.objects.count() == 1
    say(assignments_of(rita, review_round)[2])
    assert coordinator.get(f"/rounds/{review_round.slug}/reviewers/{rita.pk}/").status_code == 200
    assert seen_by(cora)[-1] == (3, "reviews")


def test_a_coordinator_who_is_to_answer_blind_is_shown_no_key(
    reviewer: Client, review_round: ReviewRound, rita: User, noon: datetime
) -> None:
    Membership.objects.create(user=rita, role=Role.COORDINATOR, granted_at=noon)
    first = assignments_of(rita, review_round)[0]
    page = reviewer.get(page_of(first)).content.decode()
    assert "hidden until you have answered it" in page
    assert not any(SECRETS[name] in page for name in ("explanation", "findings", "impression"))
    assert not SeenKey.objects.exists()
    say(first)
    assert SECRETS["explanation"] in reviewer.get(page_of(first)).content.decode()


def test_importing_and_reviewing_elsewhere_count_as_seeing(
    review_round: ReviewRound, rita: User, remo: User, cora: User, noon: datetime
) -> None:
    say(assignments_of(rita, review_round)[0])
    plan_assignments(review_round.plan_id, [rita], 1, 1, review_round=review_round)
    with refuses(ReviewRefused, "too_few_reviewers", match=r"Rita saw its key in the round “Round”\."):
        plan_assignments(review_round.plan_id, [rita], 1, 1)
    Review.objects.update(simulated=True)
    plan_assignments(review_round.plan_id, [rita], 1, 1)
    BankImport.objects.update(actor=cora)
    with refuses(ReviewRefused, "too_few_reviewers", match=r"Cora imported it, with its key\."):
        plan_assignments(review_round.plan_id, [cora], 1, 1)
    assert len(plan_assignments(review_round.plan_id, [rita, remo], 1, 1).orders[1]) >= 1


def sees(person: User, assignment: Assignment, at: datetime) -> None:
    SeenKey.objects.create(person=person, question=assignment.revision.question, source="export", seen_at=at)


def test_what_waits_when_the_key_is_seen_is_handed_back(
    client: Client, review_round: ReviewRound, rita: User, remo: User, cora: User, noon: datetime
) -> None:
    first, second, _third = assignments_of(rita, review_round)
    with refuses(ReviewRefused, "no_reason"):
        hand_back(first, ReturnReason.KNOWS_KEY, actor=rita, at=noon)
    sees(rita, first, noon)
    with refuses(ReviewRefused, "key_known"):
        answer(first, rita, noon)
    client.force_login(rita)
    page = client.get(f"/review/{first.public_id}/").content.decode()
    assert "You have seen the key of this question before" in page
    assert 'name="best"' not in page
    answered = client.post(f"/review/{first.public_id}/return/", {"reason": "knows_key"})
    assert answered.url == f"/review/{second.public_id}/"  # type: ignore[attr-defined]
    first.refresh_from_db()
    assert (first.state, first.returned_because) == (AssignmentState.RETURNED, ReturnReason.KNOWS_KEY)
    assert client.get(f"/review/{first.public_id}/").status_code == 404
    client.force_login(cora)
    assert "1 question was handed back" in client.get(f"/rounds/{review_round.slug}/").content.decode()
    assert "has seen its key" in client.get(f"/rounds/{review_round.slug}/reviewers/{rita.pk}/").content.decode()
    with refuses(ReviewRefused, "cannot_take", match="Remo has it"):
        reassign(review_round, [first.public_id], to=remo, actor=cora, at=noon)


def test_a_question_handed_back_goes_to_somebody_else_and_not_back(
    review_round: ReviewRound, rita: User, cora: User, stan: User, noon: datetime
) -> None:
    first = assignments_of(rita, review_round)[0]
    hand_back(first, ReturnReason.KNOWS_PATIENT, actor=rita, at=noon)
    assert reassign(review_round, [first.public_id], to=stan, actor=cora, at=noon) == 1
    [theirs] = own_assignments(stan, review_round)
    with refuses(ReviewRefused, "cannot_take", match="Rita has it, or had it"):
        reassign(review_round, [theirs.public_id], to=rita, actor=cora, at=noon)


def test_who_knows_a_patient_is_given_no_question_on_the_exam(
    review_round: ReviewRound, rita: User, noon: datetime
) -> None:
    first, second, third = assignments_of(rita, review_round)
    Question.objects.filter(pk=second.revision.question_id).update(exam=first.revision.question.exam_id)
    hand_back(first, ReturnReason.KNOWS_PATIENT, actor=rita, at=noon)
    assert list(own_assignments(rita, review_round)) == [third]
    assert next_assignment(rita, review_round) == third
    with refuses(ReviewRefused, "too_few_reviewers", match=r"Question [12] .* Rita knows the patient\."):
        plan_assignments(review_round.plan_id, [rita], 1, 1)


def test_a_submitted_question_is_not_handed_back(
    reviewer: Client, review_round: ReviewRound, rita: User, noon: datetime
) -> None:
    first = assignments_of(rita, review_round)[0]
    say(first)
    assert reviewer.post(f"/review/{first.public_id}/return/", {"reason": "knows_patient"}).status_code == 409
    waiting = assignments_of(rita, review_round)[1]
    assert reviewer.post(f"/review/{waiting.public_id}/return/", {"reason": "bored"}).status_code == 422
    assert ReviewRound.objects.get().state == RoundState.OPEN
    assert not Assignment.objects.filter(state=AssignmentState.RETURNED).exists()


def test_a_question_without_an_image_to_show_is_not_answered_blind(
    reviewer: Client, review_round: ReviewRound, rita: User
) -> None:
    first = assignments_of(rita, review_round)[0]
    assert "Skip the question with a reason" in reviewer.get(f"/review/{first.public_id}/").content.decode()
    sent = {"best": "B", "defensible": ["B"], "difficulty": "easy"}
    answered = reviewer.post(f"/review/{first.public_id}/answer/", sent, headers={"HX-Request": "true"})
    assert (answered.status_code, answered.json()) == (
        409,
        {"reason": "no_images", "message": "No image can be shown, so nothing can be answered. Skip it (K)."},
    )
    assert not BlindAnswer.objects.exists()
    assert reviewer.post(f"/review/{first.public_id}/skip/", {"reason": "image missing"}).status_code == 302


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL reads tables as small as these from end to end")
def test_whether_a_key_is_known_is_asked_by_an_index(rita: User, review_round: ReviewRound) -> None:
    """With every case of a turn; by the reviewer alone it took longer with every question that they were given."""
    plan = CASES.filter(pk=assignments_of(rita, review_round)[0].pk).explain()
    assert "USING INDEX assignment_of_question (reviewer_id=? AND revision_id=?)" in plan
