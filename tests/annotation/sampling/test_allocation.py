"""Shares of a sample: they sum, they fit, and each rule keeps its promise."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics.kernels.sampling import (
    UNKNOWN,
    Drawn,
    Frame,
    StratifyBy,
    allocate,
    draw,
    equal,
    frame_of,
    proportional,
    random_ranks,
    sample_size,
)

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


# --- The draw: by seed and frame alone ---
QUESTIONS = st.dictionaries(st.integers(1, 10_000), st.sampled_from(["easy", "medium", "hard", ""]), min_size=1)
SEEDS = st.integers(0, 2**63 - 1)


def framed(questions: Iterable[tuple[int, str]], by: StratifyBy) -> Frame:
    numbers, values = zip(*questions, strict=True)
    known = sorted(set(values))
    return frame_of(np.array(numbers), np.array([known.index(value) for value in values]), known, by)


def drawn(questions: list[tuple[int, str]], seed: int, per_thousand: int = 300) -> list[Drawn]:
    frame = framed(questions, StratifyBy.DIFFICULTY)
    return draw(frame, allocate(frame.counts(), sample_size(frame.n, per_thousand), StratifyBy.DIFFICULTY), seed)


@given(QUESTIONS, SEEDS, st.randoms(use_true_random=False))
def test_the_same_seed_and_frame_draw_the_same_sample_in_any_order(
    questions: dict[int, str], seed: int, shuffler: random.Random
) -> None:
    rows = list(questions.items())
    first = drawn(rows, seed)
    shuffler.shuffle(rows)
    assert drawn(rows, seed) == first


@given(QUESTIONS, SEEDS)
def test_each_question_is_drawn_at_most_once_from_its_own_stratum(questions: dict[int, str], seed: int) -> None:
    sample = drawn(list(questions.items()), seed)
    assert len({one.number for one in sample}) == len(sample) == sample_size(len(questions), 300)
    assert all((questions[one.number] or UNKNOWN) == one.stratum for one in sample)


def test_a_drawn_sample_stays_what_it_was() -> None:
    """The numbers that rule ranked-1 drew when it was written: another result is another rule, with another name."""
    sample = drawn([(number, ["easy", "medium", "hard", ""][number % 4]) for number in range(1, 61)], 1, 200)
    assert [one.number for one in sample] == [5, 3, 32, 40, 38, 13, 52, 50, 49, 6, 59, 11]


def test_another_seed_draws_another_sample() -> None:
    rows = [(number, "easy") for number in range(1, 1001)]
    assert {one.number for one in drawn(rows, 1)} != {one.number for one in drawn(rows, 2)}


def test_every_question_is_about_equally_likely() -> None:
    """200 seeds, 100 of 1000 each: about 20 times per question, never far off (chance 1e-9 of more than 52)."""
    rows = [(number, "easy") for number in range(1, 1001)]
    times = np.zeros(1001)
    for seed in range(200):
        for one in drawn(rows, seed, 100):
            times[one.number] += 1
    assert times[1:].mean() == 20
    assert times.max() < 52
    assert abs(times[1:].var() / 18 - 1) < 0.25  # binomial: 200 * 0.1 * 0.9


def test_ranks_differ_for_different_numbers() -> None:
    ranks = random_ranks(np.arange(1, 100_001, dtype=np.int64), 7)
    assert len(set(ranks.tolist())) == 100_000


def test_a_number_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError):
        framed([(1, "easy"), (1, "hard")], StratifyBy.DIFFICULTY)


def test_the_frame_hash_follows_the_frame_only() -> None:
    one = framed([(1, "easy"), (2, "")], StratifyBy.DIFFICULTY)
    same = framed([(2, ""), (1, "easy")], StratifyBy.DIFFICULTY)
    other = framed([(1, "easy"), (2, "hard")], StratifyBy.DIFFICULTY)
    assert one.sha256() == same.sha256() != other.sha256()
    odd = framed([(3, ""), (1, "100 %"), (2, "%s")], StratifyBy.CATEGORY)
    assert odd.sha256() == hashlib.sha256(b"1\t100 %\n2\t%s\n3\tunknown\n").hexdigest()


def test_strata_stand_in_their_own_order_and_the_unknown_last() -> None:
    frame = framed([(1, ""), (2, "hard"), (3, "easy"), (4, "medium")], StratifyBy.DIFFICULTY)
    assert frame.names == ("easy", "medium", "hard", UNKNOWN)
    assert framed([(1, "Zoster"), (2, ""), (3, "Aorta")], StratifyBy.CATEGORY).names == ("Aorta", "Zoster", UNKNOWN)
    assert framed([(1, "x"), (2, "y")], StratifyBy.NONE).counts() == {"all": 2}
