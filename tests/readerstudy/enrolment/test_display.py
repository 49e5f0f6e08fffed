"""The grey steps stand in corners that nobody can know without looking."""

from __future__ import annotations

from collections import Counter

from readerstudy.enrolment.kernels.steps import CORNERS, Screen, corners_of, is_large_enough

SCREEN = Screen(width=1366, height=768, screen_width=1920, screen_height=1080, pixel_ratio=1.25)


def test_the_corners_follow_from_the_reader_and_the_attempt() -> None:
    assert corners_of("someone", 0) == corners_of("someone", 0)
    assert len({corners_of("someone", attempt) for attempt in range(20)}) > 8
    found = Counter(corners_of(f"reader {n}", 0) for n in range(1600))
    assert len(found) == len(CORNERS) ** 2
    assert min(found.values()) > 60  # 100 expected


def test_the_window_is_compared_in_both_directions() -> None:
    assert is_large_enough(SCREEN, None)
    assert is_large_enough(SCREEN, (1366, 768))
    assert not is_large_enough(SCREEN, (1367, 768))
    assert not is_large_enough(SCREEN, (1366, 769))
