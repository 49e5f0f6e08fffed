from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from annotation.models import AuditEvent, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.kernels.steps import CORNERS, Corner, ReaderFacts, Screen
from readerstudy.enrolment.participation import (
    check_display,
    corners_now,
    declare,
    instruct,
    may_go_on_unseen,
    store_facts,
)
from readerstudy.models import Enrolment
from readerstudy.study.permissions import StudyRefused
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

FACTS = ReaderFacts(
    training="radiologist", years=12, chest_fellowship=True, films_per_week=80, display="medical", exposure="none"
)
SCREEN = Screen(width=1366, height=768, screen_width=1920, screen_height=1080, pixel_ratio=1.0)


@pytest.fixture
def new(rita: User) -> Enrolment:
    return enrol(make_study(rules=Rules(least_width=1300, least_height=700)), rita, ready=False)


def other(corner: Corner) -> Corner:
    return CORNERS[(CORNERS.index(corner) + 1) % 4]


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


def test_both_steps_must_be_found(new: Enrolment, noon: datetime) -> None:
    dark, light = corners_now(new)
    with refuses(StudyRefused, "steps_not_seen"):
        check_display(new, SCREEN, (other(dark), light), at=noon)
    new.refresh_from_db()
    assert (new.display["dark_step"], new.display["light_step"], new.display["n_failed"]) == (False, True, 1)
    assert new.display_checked_at is None
    with refuses(StudyRefused, "steps_not_seen"):
        check_display(new, SCREEN, (Corner.NOWHERE, Corner.NOWHERE), at=noon)
    check_display(new, SCREEN, corners_now(new), at=noon)
    new.refresh_from_db()
    assert new.display_checked_at == noon
    assert new.display == {**SCREEN.as_json(), "dark_step": True, "light_step": True, "n_failed": 2}


def test_the_patches_move_after_a_wrong_answer(new: Enrolment, noon: datetime) -> None:
    seen = set()
    for _try in range(12):
        seen.add(corners_now(new))
        with refuses(StudyRefused, "steps_not_seen"):
            check_display(new, SCREEN, (Corner.NOWHERE, Corner.NOWHERE), at=noon)
    assert len(seen) > 4


def test_who_finds_no_patch_goes_on_after_two_tries_and_is_flagged(new: Enrolment, noon: datetime) -> None:
    unseen = (Corner.NOWHERE, Corner.NOWHERE)
    for _try in range(2):
        assert not may_go_on_unseen(new)
        with refuses(StudyRefused, "steps_not_seen"):
            check_display(new, SCREEN, unseen, at=noon, goes_on=True)
    assert may_go_on_unseen(new)
    with refuses(StudyRefused, "steps_not_seen"):
        check_display(new, SCREEN, unseen, at=noon)
    check_display(new, SCREEN, unseen, at=noon, goes_on=True)
    new.refresh_from_db()
    assert new.display_checked_at == noon
    assert (new.display["dark_step"], new.display["light_step"], new.display["n_failed"]) == (False, False, 4)
    assert AuditEvent.objects.filter(act="reader.display_not_seen").count() == 4


def test_a_window_below_the_smallest_is_refused(new: Enrolment, noon: datetime) -> None:
    small = Screen(width=1299, height=768, screen_width=1920, screen_height=1080, pixel_ratio=1.0)
    with refuses(StudyRefused, "window_too_small") as refusal:
        check_display(new, small, corners_now(new), at=noon)
    facts = refusal.value.facts
    assert (facts["least_width"], facts["least_height"]) == (1300, 700)
    new.refresh_from_db()
    assert (new.display, new.display_checked_at) == ({}, None)


def test_another_screen_is_checked_again_and_the_first_stays_in_the_log(new: Enrolment, noon: datetime) -> None:
    check_display(new, SCREEN, corners_now(new), at=noon)
    second = Screen(width=1920, height=1000, screen_width=1920, screen_height=1080, pixel_ratio=2.0)
    later = noon + timedelta(days=1)
    check_display(new, second, corners_now(new), at=later)
    assert (new.display["pixel_ratio"], new.display_checked_at) == (2.0, later)
    logged = [
        one.facts["pixel_ratio"] for one in AuditEvent.objects.filter(act="reader.display_checked").order_by("pk")
    ]
    assert logged == [1.0, 2.0]


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
        check_display(new, SCREEN, corners_now(new), at=noon)
    with refuses(StudyRefused, "has_left"):
        declare(new, at=noon)
