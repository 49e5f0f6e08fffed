"""Intervals that can be counted out hold the truth as often as they say; ``make proof`` simulates the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.annotation.statistics.cover_table import PAGE, main
from tests.annotation.statistics.coverage import ACCURACIES, AGREEMENTS, DISCORDANT, of_agreement, of_tango, of_wilson

pytestmark = pytest.mark.check


@pytest.mark.parametrize("p", ACCURACIES)
def test_wilson(p: float) -> None:
    assert of_wilson(p).is_as_said


@pytest.mark.parametrize(("p_first", "p_second"), DISCORDANT)
def test_tango(p_first: float, p_second: float) -> None:
    assert of_tango(p_first, p_second).is_as_said


@pytest.mark.parametrize("share", AGREEMENTS)
def test_nearly_perfect_agreement_holds_or_is_flagged(share: float) -> None:
    found = of_agreement(share)
    assert found.is_as_said
    assert found.share > 0.92


def test_the_table_of_intervals_that_did_not_hold_is_written_between_its_marks(tmp_path: Path) -> None:
    """Few studies: the rows are those of the page, and nothing else of it changes."""
    page, now = tmp_path / "validation.md", PAGE.read_text(encoding="utf-8")
    page.write_text(now, encoding="utf-8")
    main(page, 20)
    found = page.read_text(encoding="utf-8")
    parts = [one.partition("<!-- cover -->")[::2] for one in (now, found)]
    assert parts[0][0] == parts[1][0]
    tables, after = zip(*(rest.partition("<!-- end -->")[::2] for _before, rest in parts), strict=True)
    assert after[0] == after[1]
    rows = [[line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| ")] for table in tables]
    assert rows[0] == rows[1]
