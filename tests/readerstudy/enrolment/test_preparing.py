from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from annotation.case.kernels.display import conditions_of
from annotation.models import AuditEvent, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.kernels.steps import ReaderFacts
from readerstudy.enrolment.participation import check_display, declare, instruct, pattern_now, store_facts
from readerstudy.models import Enrolment, ReadingSession
from readerstudy.study.permissions import StudyRefused
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

FACTS = ReaderFacts(
    training="radiologist", years=12, chest_fellowship=True, films_per_week=80, display="medical", exposure="none"
)
SCREEN = {"width": 1366, "height": 768, "screen_width": 1920, "screen_height": 1080, "pixel_ratio": 1.0}


@pytest.fixture
def new(rita: User) -> Enrolment:
    return enrol(make_study(rules=Rules(least_width=1300, least_height=700)), rita, ready=False)


def test_facts_are_stored_and_can_be_corrected_until_the_end(new: Enrolment, noon: datetime) -> None:
    store_facts(new, FACTS, at=noon)
    store_facts(new, FACTS, at=noon)
    assert new.facts["years"] == 12
    corrected: dict[str, Any] = {**FACTS.as_json(), "years": 13}
    store_facts(new, ReaderFacts(**corrected), at=noon)
    Enrolment.objects.update(finished_at=noon)
    store_facts(new, FACTS, at=noon)
    new.refresh_from_db()
    assert new.facts == corrected
    assert list(AuditEvent.objects.values_list("act", flat=True)) == ["reader.facts_told", "reader.facts_corrected"]


def told(enrolment: Enrolment, **other: Any) -> dict[str, Any]:
    """Everything read; ``other`` in place of it."""
    pattern = pattern_now(enrolment)
    return {**SCREEN, "dark": pattern.dark, "light": pattern.light, **other}


def test_letters_at_both_ends_must_be_read_and_are_others_after_a_miss(new: Enrolment, noon: datetime) -> None:
    first = pattern_now(new)
    assert "medical physicist" in check_display(new, told(new, light=""), attempt=0, at=noon)
    new.refresh_from_db()
    assert new.display_checked_at is None
    assert (new.display["read_dark"], new.display["read_light"], new.display["n_failed"]) == (6, 0, 1)
    assert pattern_now(new) != first
    assert check_display(new, {**SCREEN, "dark": first.dark, "light": first.light}, attempt=1, at=noon)
    assert not check_display(new, told(new), attempt=2, at=noon)
    new.refresh_from_db()
    assert new.display_checked_at == noon
    assert (new.display["passed"], new.display["n_failed"], new.display["width"]) == (True, 2, 1366)


def test_a_page_with_an_earlier_pattern_stores_nothing(new: Enrolment, noon: datetime) -> None:
    sent = told(new)
    assert check_display(new, told(new, dark=""), attempt=0, at=noon)
    assert check_display(new, sent, attempt=0, at=noon)
    assert not check_display(new, told(new), attempt=1, at=noon)
    assert not check_display(new, sent, attempt=1, at=noon + timedelta(days=1))
    assert (new.display["n_attempts"], new.display_checked_at) == (2, noon)
    assert AuditEvent.objects.count() == 2


def test_who_reads_no_letter_goes_on_after_two_tries_and_is_flagged(new: Enrolment, noon: datetime) -> None:
    wants_on = (True, True, False, True)
    stopped = [bool(check_display(new, SCREEN, attempt=n, at=noon, goes_on=on)) for n, on in enumerate(wants_on)]
    assert stopped == [True, True, True, False]
    new.refresh_from_db()
    assert new.display_checked_at == noon
    assert (new.display["passed"], new.display["lets_in"], new.display["n_failed"]) == (False, True, 4)
    assert AuditEvent.objects.filter(act="reader.display_not_seen").count() == 4


def test_a_window_below_the_smallest_is_refused(new: Enrolment, noon: datetime) -> None:
    assert "1299 × 768 pixels; this study needs at least 1300 × 700" in check_display(
        new, told(new, width=1299), attempt=0, at=noon
    )
    new.refresh_from_db()
    assert (new.display, new.display_checked_at) == ({}, None)


def test_another_screen_is_checked_again_and_the_sitting_has_both(new: Enrolment, noon: datetime) -> None:
    """The newest check is stored, the others stay in the audit log."""
    assert not check_display(new, told(new, luminance=350), attempt=0, at=noon)
    sitting = ReadingSession.objects.create(
        enrolment=new, started_at=noon, seen_at=noon, device={"conditions": [conditions_of(new.display)]}
    )
    later = noon + timedelta(days=1)
    assert not check_display(new, told(new, pixel_ratio=2.0, luminance=80), attempt=1, at=later)
    assert (new.display["pixel_ratio"], new.display_checked_at) == (2.0, later)
    logged = [
        one.facts["pixel_ratio"] for one in AuditEvent.objects.filter(act="reader.display_checked").order_by("pk")
    ]
    assert logged == [1.0, 2.0]
    sitting.refresh_from_db()
    assert [one["luminance"] for one in sitting.device["conditions"]] == [350, 80]


def test_declaring_needs_every_answer(new: Enrolment, noon: datetime) -> None:
    with refuses(StudyRefused, "not_finished"):
        declare(new, at=noon)
    Enrolment.objects.update(finished_at=noon)
    declare(new, at=noon)
    declare(new, at=noon + timedelta(days=1))
    assert new.declared_at == noon


def test_who_has_left_does_nothing_any_more(new: Enrolment, noon: datetime) -> None:
    Enrolment.objects.update(replaced_at=noon, finished_at=noon)
    with refuses(StudyRefused, "has_left"):
        store_facts(new, FACTS, at=noon)
    with refuses(StudyRefused, "has_left"):
        instruct(new, at=noon)
    with refuses(StudyRefused, "has_left"):
        check_display(new, told(new), attempt=0, at=noon)
    with refuses(StudyRefused, "has_left"):
        declare(new, at=noon)
