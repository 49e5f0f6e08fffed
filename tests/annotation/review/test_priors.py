"""A prior exam beside the current one in a review: shown, labelled, looked at, missed like the exam's own images."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.case.kernels.traces import Trace, readable_trace
from annotation.enums import ImageState, ReturnReason, Role
from annotation.ingest.completeness import lost_exams
from annotation.ingest.quarantine import quarantine_image
from annotation.ingest.serving import may_see
from annotation.models import Assignment, Exam, Image, Membership, ReviewRound, User
from annotation.review.answering import answer_blind
from annotation.review.assigning import who_knows_keys
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.rounds import missing_images
from annotation.review.submitting import hand_back, hide_identifying_images
from tests.annotation.case.sent import PAGE, seen
from tests.annotation.review.cases import NOON, assignments_of, make_round
from tests.annotation.review.pixels import give_pixels
from tests.annotation.review.priors import give_prior
from tests.conftest import make_person
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(rita: User) -> list[Assignment]:
    """Three questions with two images each; the first two have a prior."""
    rows = assignments_of(rita, make_round(rita))
    for number, row in enumerate(rows):
        for image in exam_of(row).images.all():
            give_pixels(image, seed=10 * number + image.position)
    for number, row in enumerate(rows[:2]):
        give_prior(exam_of(row), seed=50 + 10 * number)
    return rows


def exam_of(assignment: Assignment) -> Exam:
    exam: Exam = assignment.revision.question.exam
    return exam


def page_of(client: Client, assignment: Assignment) -> str:
    return client.get(f"/review/{assignment.public_id}/").content.decode()


def told(page: str, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def ids(exam: Exam) -> list[str]:
    return list(exam.images.order_by("position").values_list("public_id", flat=True))


def trace(*names: str) -> Trace:
    return readable_trace(PAGE, seen(names)["events"])


def answer(assignment: Assignment, rita: User, *names: str) -> None:
    answer_blind(
        assignment,
        best="B",
        defensible=[],
        difficulty="easy",
        actor=rita,
        at=NOON + timedelta(seconds=20),
        trace=trace(*names),
    )


def test_the_images_of_the_prior_come_after_the_own_ones_and_say_so(reviewer: Client, mine: list[Assignment]) -> None:
    page = page_of(reviewer, mine[0])
    exam = exam_of(mine[0])
    assert exam.prior is not None
    views = told(page, "case-views")
    assert [view["id"] for view in views] == [*ids(exam), *ids(exam.prior)]
    assert [view.get("prior") for view in views] == [None, None, True, True]
    ahead = told(page, "next-cases")
    assert [[view.get("prior") for view in views] for views in ahead] == [[None, None, True, True], [None, None]]
    assert exam.prior.public_id not in page
    assert exam.prior.pseudonym not in page


def test_a_case_without_a_prior_asks_and_says_what_it_did(reviewer: Client, mine: list[Assignment]) -> None:
    alone = page_of(reviewer, mine[2])
    assert all("prior" not in view for view in told(alone, "case-views"))
    counts = []
    for assignment in (mine[2], mine[0]):
        page_of(reviewer, assignment)  # opens it
        with CaptureQueriesContext(connection) as queries:
            page_of(reviewer, assignment)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert max(counts) <= 9


def test_every_image_of_the_prior_is_seen_before_an_answer(rita: User, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    assert exam.prior is not None
    with refuses(ReviewRefused, "not_seen"):
        answer(mine[0], rita, *ids(exam), ids(exam.prior)[0])
    answer(mine[0], rita, *ids(exam), *ids(exam.prior))


def test_a_prior_alone_is_nothing_to_answer_by(reviewer: Client, rita: User, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    exam.images.update(state=ImageState.QUARANTINED)
    assert exam.prior is not None
    with refuses(ReviewRefused, "no_images"):
        answer(mine[0], rita, *ids(exam.prior))
    assert "No images available for this exam." in page_of(reviewer, mine[0])


def test_an_image_of_the_prior_that_is_not_there_is_named(reviewer: Client, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    assert exam.prior is not None
    exam.prior.images.filter(position=0).update(state=ImageState.REMOVED)
    page = page_of(reviewer, mine[0])
    assert "<li>Prior: AP removed</li>" in page
    assert "No images available" not in page


def test_who_may_see_the_images_of_a_prior(rita: User, remo: User, mine: list[Assignment]) -> None:
    """The reviewers of its question, and who coordinates their round: nobody else."""
    image = Image.objects.filter(exam=exam_of(mine[0]).prior)[0]
    coordinator = make_person("Cleo")
    Membership.objects.create(user=coordinator, role=Role.COORDINATOR, round=mine[0].round, granted_at=NOON)
    assert may_see(rita, image, at=NOON)
    assert may_see(coordinator, image, at=NOON)
    assert not may_see(remo, image, at=NOON)
    Assignment.objects.filter(pk=mine[0].pk).update(state="withdrawn")
    assert not may_see(rita, image, at=NOON)


def test_a_missing_or_lost_image_of_a_prior_is_missed_like_an_own_one(rita: User, mine: list[Assignment]) -> None:
    review_round = ReviewRound.objects.get()
    assert missing_images(review_round).numbers == []
    assert list(lost_exams()) == []
    exam = exam_of(mine[0])
    assert exam.prior is not None
    exam.prior.images.filter(position=0).update(state=ImageState.QUARANTINED)
    assert missing_images(review_round).numbers == [mine[0].revision.question.number]
    assert set(lost_exams()) == {exam.pk, exam.prior.pk}


def test_identifying_text_on_a_prior_hides_that_image(rita: User, mine: list[Assignment], noon: datetime) -> None:
    exam = exam_of(mine[0])
    assert exam.prior is not None
    [_first, second] = ids(exam.prior)
    assert hide_identifying_images(mine[0], [second], actor=rita, at=noon) == 1
    assert Image.objects.get(state=ImageState.QUARANTINED).public_id == second


def test_who_knows_a_patient_is_given_no_question_that_shows_a_prior_of_the_exam(
    rita: User, mine: list[Assignment]
) -> None:
    """The second and the third show the first; the second is handed back."""
    first, second, third = (row.revision.question for row in mine)
    Exam.objects.filter(pk__in=(second.exam_id, third.exam_id)).update(prior=first.exam)
    hand_back(Assignment.objects.get(pk=mine[1].pk), ReturnReason.KNOWS_PATIENT, actor=rita, at=NOON)
    assert set(Assignment.objects.values_list("returned_because", flat=True)) == {ReturnReason.KNOWS_PATIENT}
    Assignment.objects.exclude(pk=mine[1].pk).delete()
    found = who_knows_keys([rita.pk], [first.pk, second.pk, third.pk])
    assert {conflict.question_id for conflict in found} == {first.pk, second.pk, third.pk}


def test_a_decision_in_quarantine_counts_the_questions_beside_which_the_image_stands(
    deidentifier: Client, dina: User, mine: list[Assignment]
) -> None:
    exam = exam_of(mine[0])
    assert exam.prior is not None
    image = exam.prior.images.all()[0]
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    page = deidentifier.post(reverse("quarantine-decide"), {"decision": "remove", "image": [image.public_id]})
    assert page.context["n_questions"] == 1
