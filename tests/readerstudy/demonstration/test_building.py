"""The studies of the demonstration: from accepted questions, labelled simulated, made once."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.enums import Role
from annotation.models import Assignment, Image, QuestionBank, Review, User
from readerstudy.demonstration.accounts import ACCOUNTS
from readerstudy.demonstration.building import CLOSED_STUDY, OPEN_STUDY, add_studies
from readerstudy.enums import Block, StudyState
from readerstudy.models import ReaderStudy, Response
from tests.annotation.review.cases import NOON, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels
from tests.conftest import make_person


@pytest.fixture
def bank(db: None, rita: User) -> QuestionBank:
    """Eight simulated questions of eight exams, accepted by Rita."""
    review_round = make_round(rita, n_questions=8, name="Pilot")
    for assignment in Assignment.objects.filter(round=review_round):
        judged = good_judgement()
        Review.objects.create(
            assignment=assignment, grades=dict(judged.grades), verdict="accept", submitted_at=NOON, simulated=True
        )
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    bank = review_round.plan.bank
    bank.simulated = True
    bank.save()
    for account in ACCOUNTS:
        User.objects.create_user(account.email, account.password, name=account.name)
    return bank


def test_one_study_waits_for_its_readers_and_one_is_closed(bank: QuestionBank) -> None:
    cora = make_person("Cora", Role.COORDINATOR)
    add_studies(bank, coordinator=cora, at=NOON)
    waiting, closed = (ReaderStudy.objects.get(name=name) for name in (OPEN_STUDY, CLOSED_STUDY))
    assert (waiting.state, closed.state) == (StudyState.OPEN, StudyState.CLOSED)
    assert waiting.simulated
    assert closed.simulated
    assert waiting.cases.filter(block=Block.MAIN).count() == 6
    assert Response.objects.filter(reading__enrolment__study=closed).count() == 3 * 6
    assert {one.reader.email for one in waiting.enrolments.all() if one.reader} == {one.email for one in ACCOUNTS}

    add_studies(bank, coordinator=cora, at=NOON)
    assert ReaderStudy.objects.count() == 2


def test_a_reader_of_the_demonstration_begins_with_the_consent(bank: QuestionBank, client: Client) -> None:
    add_studies(bank, coordinator=make_person("Cora", Role.COORDINATOR), at=NOON)
    client.force_login(User.objects.get(email=ACCOUNTS[0].email))
    page = client.get("/read/reader-study/", follow=True)
    assert page.status_code == 200
    assert "This is a demonstration" in page.content.decode()
