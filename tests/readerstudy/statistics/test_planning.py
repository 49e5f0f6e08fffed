"""What planning figures must do beyond the worked examples of ``test_golden_planning``."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.statistics.planning import (
    expected_width,
    mcnemar_questions,
    questions_rounded,
    reader_vs_model_power,
    smallest_difference,
    wilson_half_width,
    wilson_questions,
)


def test_the_smallest_number_of_questions_is_the_smallest() -> None:
    n = wilson_questions(0.8, 0.05)
    assert wilson_half_width(0.8, n) <= 0.05 < wilson_half_width(0.8, n - 1)


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
    assert expected_width(0.8, 2000) == pytest.approx(2 * wilson_half_width(0.8, 2000), rel=0.002)


def test_no_difference_is_never_found() -> None:
    assert questions_rounded(mcnemar_questions(0.1, 0.1)) is None
    assert smallest_difference(10, 0.01) is None


def test_power_grows_with_readers_and_without_their_differences() -> None:
    shape = {"var_case": 0.022, "cases": 198, "delta": 0.05}
    powers = [
        reader_vs_model_power(var_reader=0.0012, var_reader_case=0.15, readers=readers, **shape).power  # type: ignore[arg-type]
        for readers in (2, 3, 5, 10, 30)
    ]
    assert powers == sorted(powers)
    alike = reader_vs_model_power(var_reader=0, var_reader_case=0, readers=2, **shape)  # type: ignore[arg-type]
    assert alike.df == float("inf")
    assert alike.power == pytest.approx(0.9973, abs=1e-4)
    no_difference = reader_vs_model_power(
        var_reader=0.0012, var_case=0.022, var_reader_case=0.15, readers=5, cases=198, delta=0
    )
    assert no_difference.power == pytest.approx(0.05)


@pytest.mark.parametrize(
    "wrong", [{"readers": 1}, {"cases": 0}, {"var_reader": 0, "var_case": 0, "var_reader_case": 0}]
)
def test_what_cannot_be_planned_is_refused(wrong: dict[str, float]) -> None:
    given_values = {"var_reader": 0.1, "var_case": 0.1, "var_reader_case": 0.1, "readers": 3, "cases": 9, "delta": 0.1}
    with pytest.raises(ValueError, match="two readers or more|nothing varies"):  # noqa: RUF043
        reader_vs_model_power(**{**given_values, **wrong})  # type: ignore[arg-type]
