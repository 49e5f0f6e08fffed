"""The sums of pairs are those of their tables, also where raters leave questions out; few units cost nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import Units, generator, resampled_each, resampled_totals, units_of
from annotation.statistics.kernels.group_intervals import panel_agreement
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.pair_tables import PairColumns, outcome_tables, pair_tables, valid_only

N, Q = 80, 4
RNG = np.random.default_rng(11)
KEY = RNG.integers(Q, size=N)
COMPLETE = np.where(RNG.random((4, N)) < 0.6, KEY, RNG.integers(Q, size=(4, N)))
GAPS = np.where(RNG.random((4, N)) < 0.1, -1, COMPLETE)
SETS = np.vstack([COMPLETE[:2], np.where(np.arange(N) < 40, COMPLETE[2], -1), np.where(np.arange(N) < 40, -1, KEY)])
NOTHING = np.vstack([COMPLETE[:3], np.full((1, N), -1)])
FAILED = np.where(RNG.random((4, N)) < 0.2, Q, GAPS)  # a category of their own
CASES = {
    "complete": COMPLETE,
    "gaps": GAPS,
    "sets that do not overlap": SETS,
    "a rater without answers": NOTHING,
    "failed extractions": FAILED,
    "of one rater alone": np.vstack([GAPS[:3], FAILED[3:]]),
}


def correct_of(answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Some of what is not right is not counted."""
    return np.where(answers == KEY, 1, np.where(RNG.random(answers.shape) < 0.1, -1, 0))


@pytest.mark.parametrize("answers", CASES.values(), ids=CASES)
@pytest.mark.parametrize("cluster", [np.arange(N), np.arange(N) // 3], ids=["questions", "clusters"])
def test_they_are_those_of_the_tables(answers: NDArray[np.int64], cluster: NDArray[np.int64]) -> None:
    correct = correct_of(answers)
    columns, units = PairColumns(answers, correct, KEY, Q + 1, Q), units_of(cluster)
    totals = [part.sum(axis=0, keepdims=True) for part in units.counts(columns.parts())]
    of_options, of_right = pair_tables(answers, Q + 1)[:, 0], pair_tables(correct, 2)[:, 0]
    outcomes = outcome_tables(valid_only(answers, Q), KEY)[:, 0]
    for pair, found in enumerate(columns.of_pairs(totals)):
        agreed, rows, margins = pairs.sums_of(of_options[pair])
        assert (found.agreed[0], found.rows[0].tolist()) == (agreed, rows.tolist())
        assert found.columns[0].tolist() == margins.tolist()
        assert found.outcomes[0].tolist() == outcomes[pair].tolist()
        right = [part[0].tolist() for part in found.right_wrong]
        assert right == [part.tolist() for part in pairs.sums_of(of_right[pair])]


def test_a_part_that_few_units_fill_has_the_draws_of_the_others() -> None:
    """Only the units with something are multiplied: the sums are those of all of them."""
    few = np.zeros((N, 2))
    few[3], few[40] = (1, 2), (0, 5)
    whole = np.column_stack([few, np.ones(N)])
    alone, all_of_it = resampled_each([few, whole], generator(1, "p", "f"), 50)
    assert np.array_equal(alone, all_of_it[:, :2])
    assert np.array_equal(alone, resampled_totals(few, generator(1, "p", "f"), 50))
    assert not resampled_totals(np.zeros((N, 1)), generator(1, "p", "f"), 50).any()


@pytest.mark.parametrize("clustered", [False, True], ids=["questions", "clusters"])
def test_without_questions_everything_is_undefined(clustered: bool) -> None:
    none, units = np.zeros((3, 0), dtype=np.int64), Units(np.zeros(0, dtype=np.int64), 0, clustered)
    found = pair_statistics(none, none, none[0], Q, units, seed=1, panel="p", draws=100)
    assert {one.reason for pair in found for one in pair.results.values()} == {"no_common_questions"}
    is_reader = np.array([True, True, False])
    _groups, means = panel_agreement(none, none, none[0], is_reader, Q, units, seed=1, panel="p", draws=100)
    assert {one.value for one in means.results.values()} == {None}


def test_right_is_who_chose_the_key() -> None:
    correct = correct_of(COMPLETE)
    correct[0, 0] = 1 - (COMPLETE[0, 0] == KEY[0])
    with pytest.raises(ValueError, match="who chose the key"):
        PairColumns(COMPLETE, correct, KEY, Q, Q)
