"""docs/architecture.md shows the rooms as they are, and names files that exist."""

from __future__ import annotations

import re
from collections import Counter

from tests.architecture.picture import PAGE, written
from tests.architecture.source import ROOT


def test_the_picture_is_that_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tests.architecture.picture"


def test_every_file_that_it_names_exists() -> None:
    named = re.findall(
        r"`((?:annotation|readerstudy|static|tests)/[^`<]+\.(?:py|js))`", PAGE.read_text(encoding="utf-8")
    )
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_no_row_names_a_file_twice() -> None:
    """Two files that were merged leave such rows behind."""
    twice = {
        f"line {number}: {name}"
        for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), start=1)
        for name, n in Counter(re.findall(r"`([^`]+\.(?:py|js))`", line)).items()
        if n > 1
    }
    assert twice == set(), f"{PAGE.name} says these twice in a row: say each once"
