"""What planning figures must do beyond the worked examples of ``golden_planning``."""

from __future__ import annotations

from math import ceil, isinf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics.kernels.intervals import wilson
from annotation.statistics.kernels.planning import (
    FIXED_QUESTIONS,
    FIXED_READERS,
    Components,
    Reading,
    cases_needed,
    components,
    expected_width,
    kappa_half_width,
    mcnemar_questions,
    power_at_margin,
    reader_vs_model_power,
    readers_needed,
    smallest_difference,
    standard_error,
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


def test_raters_who_cannot_differ_so_have_no_kappa() -> None:
    for first, second, discordant in ((0.75, 0.85, 0.05), (0.9, 0.9, 0.3), (0.1, 0.1, 0.3)):
        assert kappa_half_width(first, second, discordant, 200, 4) is None, first


# --- the power of a reader study ---
DEFAULTS = {"discordant_model_reader": 0.3, "discordant_readers": 0.2, "delta": 0.1, "sd_reader": 0.055}
FOUND = Components(reader=0.003025, case=0.19, reader_case=0.096975)


def power(readers: int, cases: int, found: Components = FOUND, delta: float = 0.1) -> float:
    return reader_vs_model_power(found, Reading(readers=readers, cases=cases), delta=delta).power


def test_power_grows_with_readers_and_without_their_differences() -> None:
    apart, alike = Components(0.0012, 0.022, 0.15), Components(0, 0.022, 0)
    powers = [power(readers, 198, apart, 0.05) for readers in (2, 3, 5, 10, 30)]
    assert powers == sorted(powers)
    found = reader_vs_model_power(alike, Reading(readers=2, cases=198), delta=0.05)
    assert found.df == float("inf")
    assert found.power == pytest.approx(0.9973, abs=1e-4)
    assert power(5, 198, apart, 0) == pytest.approx(0.05)


def test_what_cannot_be_planned_is_refused() -> None:
    for readers, cases, found in ((1, 9, FOUND), (3, 1, FOUND), (3, 9, Components(0, 0, 0))):
        with pytest.raises(ValueError, match=r"two or more|nothing varies"):
            power(readers, cases, found)


def test_ten_points_with_five_readers_and_200_cases_are_no_safe_thing() -> None:
    """By a variance of cases of 0.022, which its own discordance forbids, the forecast once promised 96 %."""
    assert power(5, 200) == pytest.approx(0.653, abs=0.001)
    assert power(5, 200, Components(0.0012, 0.022, 0.15)) == pytest.approx(0.956, abs=0.01)


@given(model=st.floats(0, 1), readers=st.floats(0, 1), delta=st.floats(-1, 1), sd=st.floats(0, 0.5))
def test_components_belong_together_or_are_none(model: float, readers: float, delta: float, sd: float) -> None:
    found = components(discordant_model_reader=model, discordant_readers=readers, delta=delta, sd_reader=sd)
    if found is not None:
        assert min(vars(found).values()) >= 0
        assert sum(vars(found).values()) == pytest.approx(model - delta**2)


def test_assumptions_that_contradict_each_other_have_no_components() -> None:
    for wrong in ({"discordant_readers": 0.6}, {"sd_reader": 0.4}, {"discordant_model_reader": 0.05, "delta": 0.1}):
        assert components(**{**DEFAULTS, **wrong}) is None, wrong


def test_the_smallest_numbers_are_the_smallest_and_reach_the_power() -> None:
    reading = Reading(readers=5, cases=200)
    readers, (cases, at_most) = readers_needed(FOUND, reading, delta=0.1), cases_needed(FOUND, reading, delta=0.1)
    assert readers is not None
    assert power(readers, 200) >= 0.8 > power(readers - 1, 200)
    assert cases is not None
    assert power(5, cases) >= 0.8 > power(5, cases - 1)
    assert at_most == pytest.approx(max(power(5, n) for n in range(10, 10_001, 10)), abs=1e-6)
    assert at_most > power(5, 10_000)  # with few readers more cases can cost degrees of freedom


def test_a_number_of_readers_that_cannot_be_is_passed_over() -> None:
    reading = Reading(readers=6, cases=400)
    even = readers_needed(FOUND, reading, delta=0.1, inverse_of=lambda n: 2 / n if n % 2 == 0 else None)
    assert even is not None
    assert even % 2 == 0


def test_each_inference_has_its_own_error() -> None:
    reading = Reading(readers=3, cases=200)
    both, _df = standard_error(FOUND, reading)
    fixed, df = standard_error(FOUND, reading, FIXED_READERS)
    of_readers, df_readers = standard_error(FOUND, reading, FIXED_QUESTIONS)
    assert (df, df_readers) == (199, 2)
    assert fixed**2 == pytest.approx(0.19 / 200 + 0.096975 / 600)
    assert both**2 == pytest.approx(0.003025 / 3 + fixed**2)
    assert of_readers**2 == pytest.approx(0.003025 / 3 + 0.096975 / 600)
    split, _df = standard_error(FOUND, Reading(readers=3, cases=200, inverse_readers=1.0), FIXED_READERS)
    assert split**2 == pytest.approx((0.19 + 0.096975 + 0.003025 * 2 / 3) / 200)


@pytest.mark.parametrize("inference", [FIXED_READERS, FIXED_QUESTIONS, "random_readers_random_questions"])
@pytest.mark.parametrize("delta", [0.1, -0.1, 0.45])
def test_power_is_a_share_also_where_it_is_certain(inference: str, delta: float) -> None:
    found = Components(0.003025, 0.19, 0.096975)
    for cases in (2, 10, 200, 1460, 10_000, 1_000_000):
        reading = Reading(readers=3, cases=cases)
        assert 0 <= reader_vs_model_power(found, reading, delta=delta, inference=inference).power <= 1
    _needed, most = cases_needed(found, Reading(readers=3, cases=200), delta=delta, inference=inference)
    assert 0.3 < most <= 1
    assert 0 <= power_at_margin(0.004, 9999, -0.3, 0.05) < 1e-6
    assert power_at_margin(0.004, 9999, 0.3, 0.05) == pytest.approx(1)
