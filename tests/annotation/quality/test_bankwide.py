"""What shows over a whole bank, against numbers of scipy."""

from __future__ import annotations

import pytest
from scipy.stats import chisquare

from annotation.questionbank.kernels.rules import bank_wide, key_evenness

LONG, SHORT = [30, 10, 11, 12], [10, 30, 11, 12]


def test_the_share_of_keys_that_are_the_longest_option() -> None:
    whole = bank_wide([(LONG, "A")] * 60 + [(SHORT, "A")] * 40)
    assert whole.longest_is_key.value == 0.6
    assert whole.longest_is_key.n == 100
    assert whole.longest_is_key.ci95 == pytest.approx((0.5020, 0.6906), abs=1e-4)
    assert whole.is_longest_too_often


def test_a_quarter_is_what_chance_gives() -> None:
    assert not bank_wide([(LONG, "A")] * 25 + [(SHORT, "A")] * 75).is_longest_too_often


def test_two_longest_options_say_nothing_and_no_key_neither() -> None:
    whole = bank_wide([([30, 30, 1, 1], "A"), (LONG, ""), (LONG, "B")])
    assert (whole.longest_is_key.n, whole.longest_is_key.count) == (1, 0)
    assert whole.letters == {"A": 1, "B": 1, "C": 0, "D": 0}


@pytest.mark.parametrize("counts", [[25, 25, 25, 25], [40, 30, 20, 10], [1000, 900, 1100, 1000]])
def test_letters_by_chi_square(counts: list[int]) -> None:
    found, expected = key_evenness(counts), chisquare(counts)
    assert found is not None
    assert found.chi2 == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.df, found.n) == (3, sum(counts))


def test_a_bank_without_a_key_has_no_test() -> None:
    whole = bank_wide([(LONG, "")])
    assert whole.evenness is None
    assert whole.longest_is_key.reason == "zero_trials"
