from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import pytest
from django.test import Client

from annotation.models import AuditEvent, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.participation import NAMES_SHOWN, agree, consent_copy, consent_sha256, decline, withdraw
from readerstudy.models import Enrolment, PresentationOrder, ReaderStudy, ReadingSession
from readerstudy.study.permissions import StudyRefused
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses


@pytest.fixture
def new(rita: User) -> Enrolment:
    """Rita has joined and done nothing yet."""
    return enrol(make_study(consent="You agree.", contact="study@example.org"), rita, ready=False)


def acts() -> list[str]:
    return list(AuditEvent.objects.values_list("act", flat=True))


def test_agreeing_stores_version_text_and_time(new: Enrolment, noon: datetime) -> None:
    expected = hashlib.sha256(b"1\nYou agree.").hexdigest()
    agree(new, expected, at=noon)
    agree(new, expected, at=noon + timedelta(hours=1))
    new.refresh_from_db()
    assert (new.consented_at, new.consent_version, new.consent_sha256) == (noon, 1, expected)
    assert acts() == ["reader.consented"]


def test_another_text_is_not_agreed_to(new: Enrolment, noon: datetime) -> None:
    with refuses(StudyRefused, "text_changed"):
        agree(new, "0" * 64, at=noon)
    new.refresh_from_db()
    assert new.consented_at is None


def test_declining_frees_the_order(new: Enrolment, noon: datetime) -> None:
    decline(new, at=noon)
    assert not PresentationOrder.objects.filter(enrolment__isnull=False).exists()
    with refuses(StudyRefused, "has_left"):
        agree(new, consent_sha256(new.study), at=noon)
    assert acts() == ["reader.declined"]


def test_who_agreed_withdraws_and_does_not_decline(new: Enrolment, noon: datetime) -> None:
    agree(new, consent_sha256(new.study), at=noon)
    with refuses(StudyRefused, "has_agreed"):
        decline(new, at=noon)


def test_the_copy_says_what_was_agreed_to_by_whom_and_when(new: Enrolment, noon: datetime) -> None:
    assert "agreed on" not in consent_copy(new)
    agree(new, consent_sha256(new.study), at=noon)
    copy = consent_copy(new)
    for words in ("Trial", "version 1", "You agree.", "Rita agreed on 21 Nov 2026, 12:00 (UTC)", "study@example.org"):
        assert words in copy
    assert consent_sha256(new.study) in copy


def test_readers_agree_to_their_names_being_shown(client: Client, rita: User, noon: datetime) -> None:
    study = make_study(consent="You agree.", rules=Rules(reader_names=True))
    new = enrol(study, rita, ready=False)
    client.force_login(rita)
    assert NAMES_SHOWN in client.get("/read/trial/consent/").content.decode()
    with refuses(StudyRefused, "text_changed"):
        agree(new, hashlib.sha256(b"1\nYou agree.").hexdigest(), at=noon)
    agree(new, hashlib.sha256(f"1\nYou agree.\n\n{NAMES_SHOWN}".encode()).hexdigest(), at=noon)
    assert NAMES_SHOWN in consent_copy(new)


def test_without_that_rule_nothing_is_said_of_names(client: Client, new: Enrolment, rita: User) -> None:
    client.force_login(rita)
    assert NAMES_SHOWN not in client.get("/read/trial/consent/").content.decode()
    assert NAMES_SHOWN not in consent_copy(new)


def test_withdrawing_keeps_everything_and_ends_the_sitting(rita: User, cora: User, noon: datetime) -> None:
    enrolment = enrol(make_study(), rita)
    ReadingSession.objects.create(enrolment=enrolment, started_at=noon, seen_at=noon)
    withdraw(enrolment, actor=cora, at=noon, reason="moved away")
    withdraw(enrolment, actor=rita, at=noon + timedelta(days=1))
    enrolment.refresh_from_db()
    assert enrolment.withdrawn_at == noon
    assert PresentationOrder.objects.get(enrolment=enrolment).number == 1
    assert ReadingSession.objects.get().end == "left"
    facts = AuditEvent.objects.get(act="reader.withdrawn").facts
    assert facts == {"by_reader": False, "reason": "moved away", "n_answered": 0}


def test_a_study_is_not_touched_by_its_readers(new: Enrolment, noon: datetime) -> None:
    before = ReaderStudy.objects.values().get()
    agree(new, consent_sha256(new.study), at=noon)
    assert ReaderStudy.objects.values().get() == before
