"""docs/architecture.md shows the rooms as they are, and names files that exist."""

from __future__ import annotations

import re

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
