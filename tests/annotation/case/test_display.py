"""The pattern holds what was drawn for it, pixel by pixel; nobody passes who does not see the letters at both ends."""

from __future__ import annotations

import io
import json
from datetime import date
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from django.test import Client
from PIL import Image

from annotation.case.kernels.display import (
    HALF,
    LETTER_WIDTH,
    LETTERS_FROM,
    LETTERS_TO,
    LEVELS,
    LINES_FROM,
    Pattern,
    checked_screen,
    conditions_of,
    draw_pattern,
    in_words,
    is_passed,
    n_read,
    next_pattern,
    tried,
)
from annotation.case.kernels.keys import KEYS, Part, key_of, listed, strokes
from annotation.enums import Difficulty, KeyUse, Verdict
from annotation.models import User
from readerstudy.design.kernels.documents import Rules

KEY, TODAY = b"key of the site", date(2026, 11, 9)
FIRST = next_pattern(KEY, "somebody", {})
SEEN: dict[str, Any] = {"dark": FIRST.dark, "light": FIRST.light, "fine": FIRST.fine, "wide": 1, "luminance": 350}


def pixels(pattern: Pattern) -> Any:
    return np.asarray(Image.open(io.BytesIO(draw_pattern(pattern)))).astype(int)


def test_each_try_of_each_person_has_letters_of_its_own_that_follow_from_the_key() -> None:
    assert next_pattern(KEY, "somebody", {}) == FIRST
    others = {next_pattern(KEY, f"reader {n}", {"n_attempts": attempt}) for n in range(40) for attempt in range(5)}
    assert len({(one.dark[:3], one.light[:3]) for one in others}) > 195
    assert {one.fine for one in others} == {one.wide for one in others} == set(range(4, 10))
    assert next_pattern(b"another key", "somebody", {}) != FIRST


def test_letters_stand_so_many_levels_from_black_and_white() -> None:
    shown = pixels(FIRST)
    for ground, left in ((0, 0), (255, HALF)):
        field = abs(shown[LETTERS_FROM:LETTERS_TO, left : left + HALF] - ground)
        letters = [field[:, 18 + n * LETTER_WIDTH : 18 + (n + 1) * LETTER_WIDTH] for n in range(len(LEVELS))]
        assert [int(one.max()) for one in letters] == list(LEVELS)
        assert [int((one == one.max()).sum()) > 100 for one in letters] == [True] * len(LEVELS)
    other = pixels(Pattern(FIRST.light, FIRST.light, FIRST.fine, FIRST.wide))
    assert (other != shown).any()


def test_lines_are_one_and_two_pixels_wide_and_as_many_as_was_drawn() -> None:
    row = pixels(Pattern("CDHKNR", "CDHKNR", 7, 4))[LINES_FROM + 5]
    runs = [(int(level), len(list(run))) for level, run in groupby(row)]
    assert [one for one in runs if one[0] != 128] == [(255, 1), (0, 1)] * 7 + [(255, 2), (0, 2)] * 4


@pytest.mark.parametrize(
    ("told", "n"), [("", 0), ("CDH", 3), ("c d h k", 4), ("CDHXNR", 3), ("XDHKNR", 0), ("CDHKNRS", 6)]
)
def test_letters_count_up_to_the_first_that_is_wrong(told: str, n: int) -> None:
    assert n_read("CDHKNR", told) == n


def test_what_was_asked_answered_and_passed_is_kept_with_the_conditions() -> None:
    said = {**SEEN, "dark": FIRST.dark[:4], "checked_on": "2026-11-02"}
    kept = tried({}, FIRST, said, on=TODAY, goes_on=False)
    assert kept["asked"] == {"dark": FIRST.dark, "light": FIRST.light, "fine": FIRST.fine, "wide": FIRST.wide}
    assert kept["answered"] == {"dark": FIRST.dark[:4], "light": FIRST.light, "fine": FIRST.fine, "wide": 1}
    assert (kept["passed"], kept["lets_in"], kept["n_failed"], kept["n_attempts"]) == (True, True, 0, 1)
    given = {"luminance": 350, "qa_days": 7, "bits_shown": 8, "read_dark": 4, "read_light": 6}
    assert conditions_of(kept) == given
    tomorrow = tried({}, FIRST, {**said, "checked_on": "2026-11-10"}, on=TODAY, goes_on=False)
    assert tomorrow["qa_days"] == 0, "where the person lives it is a day later"


@pytest.mark.parametrize("end", ["dark", "light"])
def test_who_does_not_read_both_ends_goes_on_after_two_tries_and_is_known(end: str) -> None:
    kept: dict[str, Any] = {}
    for n in (1, 2, 3):
        pattern = next_pattern(KEY, "somebody", kept)
        seen = {"dark": pattern.dark, "light": pattern.light} | {end: getattr(pattern, end)[:2]}
        kept = tried(kept, pattern, seen, on=TODAY, goes_on=n != 2)
        assert (kept["passed"], kept["lets_in"], kept["n_failed"], kept["may_go_on"]) == (False, n == 3, n, n == 2)
        assert checked_screen(kept) == ("{}" if n == 3 else "null")
    again = tried(kept, next_pattern(KEY, "somebody", kept), {}, on=TODAY, goes_on=True)
    assert (again["lets_in"], again["n_failed"], again["n_attempts"]) == (False, 1, 4), "counted anew on another screen"


def test_a_check_of_two_grey_steps_can_still_be_read() -> None:
    old = {"dark_step": True, "light_step": True, "n_failed": 3, "screen_width": 1920, "letters_dark": 11}
    assert is_passed(old)
    assert not is_passed({**old, "light_step": False})
    assert is_passed({}), "of a reader who came before there was a check"
    assert json.loads(checked_screen(old)) == {"screen_width": 1920}
    assert tried(old, FIRST, SEEN, on=TODAY, goes_on=False)["n_attempts"] == 1


def test_words_do_not_tell_who_came_first() -> None:
    used: list[dict[str, Any]] = [{"display": kind} for kind in ("laptop", "medical", "laptop")]
    assert "display medical display, calibrated 1, laptop 2." in in_words(used)


# --- a key means one thing in both rooms, and is listed once ---
HERE = {Part.EVERYWHERE, Part.IMAGES}
BOTH_STEPS = {Part.BLIND, Part.JUDGE, Part.REVIEW}


def acts_of(key: str) -> dict[str, str]:
    return {part: acts[key] for part, acts in strokes().items() if key in acts}


def test_a_key_of_studies_means_nothing_else_in_reviews() -> None:
    for key, act in strokes()[Part.STUDY].items():
        assert {part: found for part, found in acts_of(key).items() if part != Part.STUDY} == {}, (key, act)


def test_what_holds_everywhere_or_at_the_images_is_no_other_key_elsewhere() -> None:
    """But the minus, which is "cannot judge" where the focus is in the form, and smaller where it is at an image."""
    for part in HERE:
        for key in strokes()[part]:
            assert key == "-" or set(acts_of(key)) == {part}, key


def test_each_act_has_its_key() -> None:
    for one in KEYS:
        if one.acts:
            assert len(one.acts.split()) <= len(one.printed), one
    assert [key_of(word) for word in Verdict] == ["A", "V", "J", "U"]
    assert [key_of(word) for word in Difficulty if word] == ["E", "M", "H"]


def test_rules_that_are_off_have_no_line() -> None:
    def acts(rules: Rules) -> set[str]:
        return {one.acts for _part, keys in listed((Part.STUDY, Part.EVERYWHERE), rules) for one in keys}

    assert acts(Rules()) - acts(Rules(slips=False, may_pause=False)) == {"slip", "pause pause"}


@pytest.mark.django_db
def test_which_keys_are_listened_to_is_kept_with_the_person(reviewer: Client, rita: User) -> None:
    assert 'data-keys="all"' in reviewer.get("/profile/").content.decode()
    reviewer.post("/profile/", {"name": rita.name, "time_zone": "UTC", "keys": "digits"})
    assert 'data-keys="digits"' in reviewer.get("/").content.decode()
    reviewer.post("/profile/", {"name": rita.name, "time_zone": "UTC"})
    assert User.objects.get(pk=rita.pk).keys == KeyUse.DIGITS
    assert reviewer.post("/profile/", {"name": "Rita", "time_zone": "UTC", "keys": "some"}).status_code == 422
