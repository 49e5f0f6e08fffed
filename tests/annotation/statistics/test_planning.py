"""What planning figures must do beyond the worked examples of ``test_golden_planning``."""

from __future__ import annotations

from math import ceil, isinf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics.kernels.intervals import wilson
from annotation.statistics.kernels.planning import (
    expected_width,
    kappa_half_width,
    mcnemar_questions,
    smallest_difference,
)
from tests.annotation.statistics.coverage import large_sample_kappa


@given(n=st.integers(20, 2000), discordant=st.floats(0.05, 0.9))
def test_the_smallest_difference_needs_just_these_questions(n: int, discordant: float) -> None:
    difference = smallest_difference(n, discordant)
    if difference is None:
        assert mcnemar_questions(discordant, 0) > n
    else:
        needed = mcnemar_questions((discordant + difference) / 2, (discordant - difference) / 2)
        assert ceil(round(needed, 6)) <= n
        assert needed > n - 1e-3 * n


@given(p=st.floats(0, 1), n=st.integers(1, 400))
def test_the_expected_width_is_a_width(p: float, n: int) -> None:
    assert 0 < expected_width(p, n) < 1


def test_the_expected_width_is_near_the_plain_one_for_many_questions() -> None:
    low, high = wilson(1600, 2000)
    assert expected_width(0.8, 2000) == pytest.approx(high - low, rel=0.002)


def test_no_difference_is_never_found() -> None:
    assert isinf(mcnemar_questions(0.1, 0.1))
    assert smallest_difference(10, 0.01) is None


def test_the_width_of_kappa_is_that_of_the_table_that_is_expected() -> None:
    found = kappa_half_width(0.75, 0.85, 0.3, 1_200_000, 4)
    assert found is not None
    both_right, both_wrong = 0.65, 0.05
    agreed = both_right + both_wrong / 3
    table = np.full((4, 4), (1 - agreed) / 12) + np.eye(4) * (agreed / 4 - (1 - agreed) / 12)
    expected = large_sample_kappa(np.rint(1_200_000 * table).astype(int))
    assert expected.ci95 is not None
    assert expected.value is not None
    assert found[0] == pytest.approx(expected.value, abs=1e-5)
    assert found[1] == pytest.approx((expected.ci95[1] - expected.ci95[0]) / 2, rel=1e-4)


@pytest.mark.parametrize(("first", "second", "discordant"), [(0.75, 0.85, 0.05), (0.9, 0.9, 0.3), (0.1, 0.1, 0.3)])
def test_raters_who_cannot_differ_so_have_no_kappa(first: float, second: float, discordant: float) -> None:
    assert kappa_half_width(first, second, discordant, 200, 4) is None
