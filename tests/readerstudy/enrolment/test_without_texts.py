"""A step without a text is no step: nobody agrees to nothing or reads no instructions, and no record says so."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import AuditEvent, User
from annotation.people.mailing import send_invitation
from readerstudy.enrolment.inviting import check_address, invite_reader
from readerstudy.enrolment.joining import enrol_reader
from readerstudy.enrolment.participation import agree, consent_sha256, declare, instruct, withdraw
from readerstudy.exports.exporting import READER_COLUMNS, reader_rows
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.predictions.entries import banks_judged
from readerstudy.study.permissions import StudyRefused
from tests.emails import delivered
from tests.readerstudy.design.drafts import study_coordinator
from tests.readerstudy.studies import FACTS, enrol, make_study, seen_by
from tests.refusals import refuses

TEXTS = ["", " \n\t "]
pytestmark = pytest.mark.django_db


@pytest.fixture(params=TEXTS, ids=["empty", "blanks"])
def study(request: Any) -> ReaderStudy:
    return make_study(consent=request.param, instructions=request.param)


@pytest.fixture
def new(study: ReaderStudy, rita: User) -> Enrolment:
    return enrol(study, rita, ready=False)


def acts() -> set[str]:
    return set(AuditEvent.objects.values_list("act", flat=True))


def test_a_reader_comes_to_the_cases_without_having_agreed_or_read_anything(
    client: Client, new: Enrolment, rita: User
) -> None:
    client.force_login(rita)
    assert client.get("/read/trial/")["Location"] == "/read/trial/facts/", "a step without a text is no step"
    agreed = {"answer": "agree", "agreed": "yes", "sha256": consent_sha256(new.study)}
    for sent in (agreed, {"answer": "decline"}):
        assert client.post("/read/trial/consent/", sent)["Location"] == "/read/trial/"
    assert client.get("/read/trial/consent/")["Location"] == "/read/trial/"
    assert client.get("/read/trial/consent/copy/").status_code == 404
    client.post("/read/trial/facts/", FACTS)
    client.post("/read/trial/instructions/")
    assert client.get("/read/trial/")["Location"] == "/read/trial/display/", "a step without a text is no step"
    client.post("/read/trial/display/", seen_by(new))
    entry = client.get("/read/trial/").content.decode()
    assert "How this study is read" in entry  # the rules and the keys are there all the same
    assert "Your consent" not in entry
    assert ">Consent<" not in entry  # among the steps
    assert client.get("/read/trial/room/").status_code == 200
    new.refresh_from_db()
    assert (new.consented_at, new.consent_version, new.consent_sha256, new.instructed_at) == (None, None, "", None)
    assert acts() == {"reader.facts_told", "reader.display_checked"}


def test_nothing_cannot_be_agreed_to_nor_read(new: Enrolment, noon: datetime) -> None:
    with refuses(StudyRefused, "no_text"):
        agree(new, consent_sha256(new.study), at=noon)
    instruct(new, at=noon)
    new.refresh_from_db()
    assert (new.consented_at, new.instructed_at) == (None, None)
    assert acts() == set()


def test_the_declaration_always_has_its_text(client: Client, new: Enrolment, rita: User, noon: datetime) -> None:
    Enrolment.objects.update(finished_at=noon)
    client.force_login(rita)
    assert "used no other source" in client.get("/read/trial/done/").content.decode()
    client.post("/read/trial/done/")
    new.refresh_from_db()
    assert new.declared_at is None
    declare(new, at=noon)
    assert acts() == {"reader.declared"}


def test_who_leaves_has_withdrawn_and_not_declined(
    client: Client, study: ReaderStudy, rita: User, cora: User, noon: datetime
) -> None:
    case_set = study.sets.get()
    enrolment = enrol_reader(study, rita, case_set, actor=cora, at=noon)
    withdraw(enrolment, actor=rita, at=noon)
    assert not enrolment.has_declined
    client.force_login(rita)
    assert "You have left the study" in client.get("/read/trial/").content.decode()
    with refuses(StudyRefused, "in_study"):
        check_address(study, case_set, rita.email)
    with refuses(StudyRefused, "in_study"):
        enrol_reader(study, rita, case_set, actor=cora, at=noon)
    assert banks_judged(rita) == {study.bank_id}


def test_exports_and_pages_say_that_nobody_was_asked(client: Client, new: Enrolment, rita: User) -> None:
    names = [column.name for column in READER_COLUMNS]
    [row] = [dict(zip(names, row, strict=True)) for row in reader_rows(new.study)]
    assert (row["consented_at"], row["consent_version"]) == (None, None)
    [about] = [column.meaning for column in READER_COLUMNS if column.name == "consented_at"]
    assert "not asked" in about
    client.force_login(study_coordinator(new.study))
    page = client.get(f"/studies/trial/watch/{new.public_id}/").content.decode()
    assert "not asked: the study has no consent text" in page


def test_what_was_stored_before_stays(client: Client, new: Enrolment, rita: User, noon: datetime) -> None:
    Enrolment.objects.update(consented_at=noon, consent_version=1, instructed_at=noon)
    client.force_login(rita)
    assert client.get("/read/trial/")["Location"] == "/read/trial/facts/"
    assert client.get("/read/trial/consent/copy/").status_code == 200
    [row] = reader_rows(new.study)
    assert noon in row


@pytest.mark.parametrize("text", ["", "You agree."])
def test_an_invitation_announces_a_consent_only_where_there_is_one(
    client: Client, cora: User, settings: Settings, text: str
) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    study = make_study(consent=text)
    issued = invite_reader(study, study.sets.get(), email="n@example.org", name="", actor=cora, at=timezone.now())
    assert send_invitation(issued)
    page = client.get(f"/read/join/{issued.token}/").content.decode()
    [letter] = delivered()
    assert ("for your consent first" in str(letter.body)) == bool(text)
    assert ("the consent form comes next" in page) == bool(text)
