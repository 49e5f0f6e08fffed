"""Every golden value is computed and right, none is left out, and the table that says so can be trusted."""

from __future__ import annotations

import pytest

from tests.annotation.statistics.golden_table import NOT_SHOWN, all_golden, computed_nowhere, main
from tests.annotation.statistics.goldencases import Golden, assert_agrees


def test_every_value_at_hand_is_computed_somewhere() -> None:
    assert computed_nowhere() == []
    assert not NOT_SHOWN & {name for _file, name in all_golden()}


def test_the_table_counts_every_value_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    status, n = main(), str(len(all_golden()))
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if line.startswith(("failed", "computed nowhere"))] == []
    assert (status, ["all", n, n] in [line.split() for line in told]) == (0, True)


def test_a_wrong_value_is_found() -> None:
    wrong = Golden({"holm_five": lambda _given: {"holm_adjusted": [0.04, 0.06, 0.06, 0.025, 0.061]}}, {"pvalues": ".*"})
    with pytest.raises(AssertionError, match=r"0\.061, not 0\.06"):
        wrong.check("holm_five", "holm_adjusted")


@pytest.mark.parametrize(
    ("found", "expected"),
    [(0.0, None), (None, 0.0), (float("nan"), 0.5), ([1.0], [1.0, 2.0]), ({"a": 1}, {"b": 1}), (0.5 + 2e-6, 0.5)],
    ids=["zero for undefined", "undefined for zero", "nan", "too short", "other names", "beyond the tolerance"],
)
def test_what_does_not_agree(found: object, expected: object) -> None:
    with pytest.raises(AssertionError):
        assert_agrees(found, expected, 1e-6, "here")
