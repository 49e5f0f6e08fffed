"""The steps before reading: consent, instructions, display, practice; and every rule in words."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from annotation.case.kernels.display import conditions_of
from annotation.models import AuditEvent, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.kernels.steps import SHOWN, Facts, ReaderFacts, Step, done_steps, next_step
from readerstudy.enrolment.participation import (
    NAMES_SHOWN,
    agree,
    check_display,
    consent_copy,
    consent_sha256,
    declare,
    decline,
    instruct,
    pattern_now,
    store_facts,
    withdraw,
)
from readerstudy.enrolment.rules_in_words import rules_in_words
from readerstudy.enums import StudyState
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


# --- preparing -------------------------------------------------------------------------------------
FACTS = ReaderFacts(
    training="radiologist", years=12, chest_fellowship=True, films_per_week=80, display="medical", exposure="none"
)
SCREEN = {"width": 1366, "height": 768, "screen_width": 1920, "screen_height": 1080, "pixel_ratio": 1.0}


@pytest.fixture
def arrived(rita: User) -> Enrolment:
    return enrol(make_study(rules=Rules(least_width=1300, least_height=700)), rita, ready=False)


def test_facts_are_stored_and_can_be_corrected_until_the_end(arrived: Enrolment, noon: datetime) -> None:
    store_facts(arrived, FACTS, at=noon)
    store_facts(arrived, FACTS, at=noon)
    assert arrived.facts["years"] == 12
    corrected: dict[str, Any] = {**FACTS.as_json(), "years": 13}
    store_facts(arrived, ReaderFacts(**corrected), at=noon)
    Enrolment.objects.update(finished_at=noon)
    store_facts(arrived, FACTS, at=noon)
    arrived.refresh_from_db()
    assert arrived.facts == corrected
    assert list(AuditEvent.objects.values_list("act", flat=True)) == ["reader.facts_told", "reader.facts_corrected"]


def told(enrolment: Enrolment, **other: Any) -> dict[str, Any]:
    """Everything read; ``other`` in place of it."""
    pattern = pattern_now(enrolment)
    return {**SCREEN, "dark": pattern.dark, "light": pattern.light, **other}


def test_letters_at_both_ends_must_be_read_and_are_others_after_a_miss(arrived: Enrolment, noon: datetime) -> None:
    first = pattern_now(arrived)
    assert "medical physicist" in check_display(arrived, told(arrived, light=""), attempt=0, at=noon)
    arrived.refresh_from_db()
    assert arrived.display_checked_at is None
    assert (arrived.display["read_dark"], arrived.display["read_light"], arrived.display["n_failed"]) == (6, 0, 1)
    assert pattern_now(arrived) != first
    assert check_display(arrived, {**SCREEN, "dark": first.dark, "light": first.light}, attempt=1, at=noon)
    assert not check_display(arrived, told(arrived), attempt=2, at=noon)
    arrived.refresh_from_db()
    assert arrived.display_checked_at == noon
    assert (arrived.display["passed"], arrived.display["n_failed"], arrived.display["width"]) == (True, 2, 1366)


def test_a_page_with_an_earlier_pattern_stores_nothing(arrived: Enrolment, noon: datetime) -> None:
    sent = told(arrived)
    assert check_display(arrived, told(arrived, dark=""), attempt=0, at=noon)
    assert check_display(arrived, sent, attempt=0, at=noon)
    assert not check_display(arrived, told(arrived), attempt=1, at=noon)
    assert not check_display(arrived, sent, attempt=1, at=noon + timedelta(days=1))
    assert (arrived.display["n_attempts"], arrived.display_checked_at) == (2, noon)
    assert AuditEvent.objects.count() == 2


def test_who_reads_no_letter_goes_on_after_two_tries_and_is_flagged(arrived: Enrolment, noon: datetime) -> None:
    wants_on = (True, True, False, True)
    stopped = [bool(check_display(arrived, SCREEN, attempt=n, at=noon, goes_on=on)) for n, on in enumerate(wants_on)]
    assert stopped == [True, True, True, False]
    arrived.refresh_from_db()
    assert arrived.display_checked_at == noon
    assert (arrived.display["passed"], arrived.display["lets_in"], arrived.display["n_failed"]) == (False, True, 4)
    assert AuditEvent.objects.filter(act="reader.display_not_seen").count() == 4


def test_a_window_below_the_smallest_is_refused(arrived: Enrolment, noon: datetime) -> None:
    assert "1299 × 768 pixels; this study needs at least 1300 × 700" in check_display(
        arrived, told(arrived, width=1299), attempt=0, at=noon
    )
    arrived.refresh_from_db()
    assert (arrived.display, arrived.display_checked_at) == ({}, None)


def test_another_screen_is_checked_again_and_the_sitting_has_both(arrived: Enrolment, noon: datetime) -> None:
    """The newest check is stored, the others stay in the audit log."""
    assert not check_display(arrived, told(arrived, luminance=350), attempt=0, at=noon)
    sitting = ReadingSession.objects.create(
        enrolment=arrived, started_at=noon, seen_at=noon, device={"conditions": [conditions_of(arrived.display)]}
    )
    later = noon + timedelta(days=1)
    assert not check_display(arrived, told(arrived, pixel_ratio=2.0, luminance=80), attempt=1, at=later)
    assert (arrived.display["pixel_ratio"], arrived.display_checked_at) == (2.0, later)
    logged = [
        one.facts["pixel_ratio"] for one in AuditEvent.objects.filter(act="reader.display_checked").order_by("pk")
    ]
    assert logged == [1.0, 2.0]
    sitting.refresh_from_db()
    assert [one["luminance"] for one in sitting.device["conditions"]] == [350, 80]


def test_declaring_needs_every_answer(arrived: Enrolment, noon: datetime) -> None:
    with refuses(StudyRefused, "not_finished"):
        declare(arrived, at=noon)
    Enrolment.objects.update(finished_at=noon)
    declare(arrived, at=noon)
    declare(arrived, at=noon + timedelta(days=1))
    assert arrived.declared_at == noon


def test_who_has_left_does_nothing_any_more(arrived: Enrolment, noon: datetime) -> None:
    Enrolment.objects.update(replaced_at=noon, finished_at=noon)
    with refuses(StudyRefused, "has_left"):
        store_facts(arrived, FACTS, at=noon)
    with refuses(StudyRefused, "has_left"):
        instruct(arrived, at=noon)
    with refuses(StudyRefused, "has_left"):
        check_display(arrived, told(arrived), attempt=0, at=noon)
    with refuses(StudyRefused, "has_left"):
        declare(arrived, at=noon)


# --- the table of steps ----------------------------------------------------------------------------
NEW = Facts()
READY = Facts(consented=True, has_given_facts=True, instructed=True, display_checked=True)
DONE = replace(READY, practised=True, finished=True, declared=True)
TAKEN = ("consented", "has_given_facts", "instructed", "display_checked")
FLAGS = ("has_left", "has_practice", "is_past_deadline", *TAKEN)


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, Step.CONSENT),
        ({"consented": True}, Step.FACTS),
        ({"consented": True, "has_given_facts": True}, Step.INSTRUCTIONS),
        ({"consented": True, "has_given_facts": True, "instructed": True}, Step.DISPLAY),
        ({"display_checked": True, "instructed": True, "has_given_facts": True}, Step.CONSENT),  # the first
        ({"state": StudyState.FROZEN}, Step.CONSENT),  # before the study opens
        ({"state": StudyState.CLOSED}, Step.OVER),
        ({"is_past_deadline": True}, Step.OVER),
        ({"has_left": True}, Step.LEFT),
    ],
)
def test_somebody_new(changes: dict[str, Any], step: Step) -> None:
    assert next_step(replace(NEW, **changes)) is step


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, Step.PRACTICE),
        ({"practised": True}, Step.MAIN),
        ({"has_practice": False}, Step.MAIN),
        ({"state": StudyState.FROZEN}, Step.NOT_YET),
        ({"state": StudyState.FROZEN, "practised": True}, Step.NOT_YET),
        ({"state": StudyState.CLOSED, "practised": True}, Step.OVER),
        ({"state": StudyState.ANALYSED, "practised": True}, Step.OVER),
        ({"is_past_deadline": True, "practised": True}, Step.OVER),
        ({"finished": True, "practised": True}, Step.DECLARATION),
        ({"finished": True, "practised": True, "state": StudyState.CLOSED}, Step.DECLARATION),
        ({"finished": True, "practised": True, "is_past_deadline": True}, Step.DECLARATION),
        ({"finished": True, "declared": True, "practised": True}, Step.DONE),
        ({"has_left": True, "practised": True}, Step.LEFT),
    ],
)
def test_somebody_who_is_ready(changes: dict[str, Any], step: Step) -> None:
    assert next_step(replace(READY, **changes)) is step


def test_nobody_reads_without_every_step_before_it() -> None:
    """Over all stands: reading needs an open study, a deadline ahead, and everything before it."""
    for values in product((False, True), repeat=len(FLAGS)):
        for state in StudyState:
            facts = Facts(state=state, **dict(zip(FLAGS, values, strict=True)))
            if next_step(facts) in {Step.PRACTICE, Step.MAIN}:
                assert facts.state == StudyState.OPEN
                assert not facts.has_left
                assert not facts.is_past_deadline
                assert all(getattr(facts, step) for step in TAKEN)


def test_the_steps_that_are_behind() -> None:
    assert done_steps(NEW) == set()
    assert done_steps(replace(READY, has_practice=False)) == {*SHOWN[:4], Step.PRACTICE}
    assert done_steps(DONE) == set(SHOWN)


# --- rules in words --------------------------------------------------------------------------------
def said(rules: Rules, n_practice: int = 0, information: str = "none") -> str:
    return " ".join(rules_in_words(rules, n_practice=n_practice, n=200, information=information))


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (Rules(), "You read 200 cases"),
        (Rules(), "There is no time limit"),
        (Rules(time_limit_s=90), "You have 90 seconds for each case"),
        (Rules(slips=True), "If you pressed the wrong key, report it"),
        (Rules(cannot_tell=True), "“cannot tell”. It counts as incorrect; you are then asked for your best guess"),
        (Rules(confidence=True), "25, 40, 60, 80, 95\N{NO-BREAK SPACE}%."),
        (Rules(break_every=50), "A break is offered after every 50 cases"),
        (Rules(), "You may pause and come back"),
        (Rules(may_pause=False), "There is no pause."),
        (Rules(reader_names=True), "Your name is shown in the results"),
    ],
)
def test_a_rule_in_words(rules: Rules, words: str) -> None:
    assert words in said(rules)


@pytest.mark.parametrize(
    ("information", "words"),
    [
        ("none", "from the images alone."),
        ("age_sex", "from the images and the age and sex of the patient."),
        ("indication", "from the images, the age and sex of the patient and the indication."),
    ],
)
def test_readers_are_told_from_what_they_choose(information: str, words: str) -> None:
    assert words in said(Rules(), information=information)


def test_practice_is_said_with_what_it_takes_to_pass() -> None:
    assert "practice" not in said(Rules())
    assert "5 practice cases" in said(Rules(), n_practice=5)
    assert "correct answer among" not in said(Rules(), n_practice=5)
    assert "You need 4 correct answers among them" in said(Rules(practice_pass=4), n_practice=5)


def test_what_a_study_does_not_ask_is_not_said() -> None:
    plain = said(Rules(slips=False))
    assert not [words for words in ("cannot tell", "likely", "wrong key", "break is", "name") if words in plain]
