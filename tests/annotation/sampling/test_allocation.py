"""Shares of a sample: they sum, they fit, and each rule keeps its promise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.review.kernels.sampling import UNKNOWN, StratifyBy, allocate, equal, proportional, sample_size

COUNTS = st.dictionaries(st.sampled_from(["easy", "medium", "hard", UNKNOWN]), st.integers(1, 500), min_size=1)


@given(COUNTS, st.floats(0, 1), st.sampled_from(StratifyBy))
def test_shares_sum_and_never_exceed_a_stratum(counts: dict[str, int], part: float, by: StratifyBy) -> None:
    n = int(part * sum(counts.values()))
    shares = allocate(counts, n, by)
    assert sum(shares.values()) == n
    assert list(shares) == list(counts)
    assert all(0 <= shares[name] <= counts[name] for name in counts)


@given(COUNTS, st.floats(0, 1))
def test_proportional_shares_stay_within_one_of_their_quota(counts: dict[str, int], part: float) -> None:
    total = sum(counts.values())
    n = int(part * total)
    shares = proportional(counts, n)
    assert all(abs(shares[name] - n * counts[name] / total) < 1 for name in counts)


@given(COUNTS, st.floats(0, 1))
def test_equal_shares_differ_by_at_most_one_unless_a_stratum_is_used_up(counts: dict[str, int], part: float) -> None:
    n = int(part * sum(counts.values()))
    shares = equal(counts, n)
    free = [shares[name] for name in counts if shares[name] < counts[name]]
    if free:
        assert max(free) - min(free) <= 1
        assert max(shares.values()) <= min(free) + 1


def test_equal_thirds_of_what_is_known_and_the_unknown_in_proportion() -> None:
    counts = {"easy": 500, "medium": 300, "hard": 100, UNKNOWN: 100}
    assert allocate(counts, 100, StratifyBy.DIFFICULTY) == {"easy": 30, "medium": 30, "hard": 30, UNKNOWN: 10}


def test_what_a_small_stratum_cannot_give_the_others_give() -> None:
    assert equal({"easy": 100, "medium": 100, "hard": 2}, 30) == {"easy": 14, "medium": 14, "hard": 2}


def test_largest_remainders_take_what_is_left_over() -> None:
    assert proportional({"a": 47, "b": 16, "c": 37}, 10) == {"a": 5, "b": 1, "c": 4}


def test_more_than_the_frame_is_refused() -> None:
    with pytest.raises(ValueError):
        allocate({"easy": 3}, 4, StratifyBy.DIFFICULTY)
    with pytest.raises(ValueError):
        equal({"easy": 3}, 4)


@pytest.mark.parametrize(
    ("n_frame", "per_thousand", "n"),
    [(1200, 100, 120), (124, 100, 12), (125, 100, 13), (4, 100, 1), (0, 100, 0), (7, 1000, 7)],
)
def test_sample_size(n_frame: int, per_thousand: int, n: int) -> None:
    assert sample_size(n_frame, per_thousand) == n
