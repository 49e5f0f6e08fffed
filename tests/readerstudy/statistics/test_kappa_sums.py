"""Kappas from sums of a few columns are those from the tables of pairs, also where raters leave questions out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from readerstudy.statistics.bootstrap import units_of
from readerstudy.statistics.comparing import PairedTable, difference, differences
from readerstudy.statistics.group_intervals import group_statistics, mean_kappas, panel_agreement
from readerstudy.statistics.kappa_sums import KappaSums
from readerstudy.statistics.pair_tables import pair_tables
from readerstudy.statistics.pairs import cohen_kappa

N, Q = 60, 4
RNG = np.random.default_rng(3)
COMPLETE = RNG.integers(Q, size=(4, N))
GAPS = np.where(RNG.random((4, N)) < 0.2, -1, COMPLETE)
CONSTANT = np.vstack([COMPLETE[:2], np.zeros((2, N), dtype=np.int64)])
NOTHING = np.vstack([COMPLETE[:3], np.full((1, N), -1)])


@pytest.mark.parametrize(
    "answers", [COMPLETE, GAPS, CONSTANT, NOTHING], ids=["complete", "gaps", "constant", "nothing"]
)
def test_they_are_those_of_the_tables(answers: NDArray[np.int64]) -> None:
    sums = KappaSums.of(answers, Q)
    found = sums.kappas([part.sum(axis=1).astype(float) for part in sums.parts(answers)])
    assert found == pytest.approx(cohen_kappa(pair_tables(answers, Q)[:, 0]), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("cluster", [np.arange(N), np.arange(N) // 2], ids=["questions", "clusters"])
def test_drawn_once_or_apart_the_numbers_are_the_same(cluster: NDArray[np.int64]) -> None:
    units, is_reader = units_of(cluster), np.array([True, True, False, False])
    found, means = panel_agreement(GAPS, is_reader, Q, units, seed=1, panel="p", draws=200)
    assert means == mean_kappas(GAPS, is_reader, Q, units, seed=1, panel="p", draws=200)
    for name, rows in (("readers", is_reader), ("models", ~is_reader), ("all", is_reader | True)):
        assert found[name] == group_statistics(GAPS[rows], Q, units, seed=1, panel="p", draws=200)


def test_differences_of_many_tables_are_those_of_each() -> None:
    tables = [PairedTable(95, 32, 35, 36), PairedTable(0, 0, 0, 0), PairedTable(3, 0, 2, 1), PairedTable(9, 4, 0, 0)]
    for found, alone in zip(differences(tables), map(difference, tables), strict=True):
        assert (found.value, found.n, found.flags, found.reason) == (alone.value, alone.n, alone.flags, alone.reason)
        assert found.ci95 == (None if alone.ci95 is None else pytest.approx(alone.ci95, abs=1e-12))
    assert differences([]) == []
