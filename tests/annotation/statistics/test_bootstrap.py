"""Draws of questions and of clusters: what they are, what they do not depend on, and when there is no interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics.kernels import bootstrap
from annotation.statistics.kernels.bootstrap import (
    drawn_counts,
    exact_kind,
    generator,
    percentile_intervals,
    percentiles,
    resampled_tables,
    resampled_totals,
    units_of,
)
from tests.annotation.statistics.golden_bootstrap import CASE, NOTED, found_from, tables_drawn, units_drawn
from tests.annotation.statistics.goldencases import assert_agrees


def test_the_draws_of_a_family_are_those_of_its_seed_panel_and_name() -> None:
    def first(*named: object) -> float:
        return generator(*named).random()  # type: ignore[arg-type]

    assert first(7, "negation", "options") == first(7, "negation", "options")
    others = {first(8, "negation", "options"), first(7, "presence", "options"), first(7, "negation", "groups")}
    assert len(others | {first(7, "negation", "options")}) == 4


def test_tables_keep_their_number_of_questions_and_their_empty_cells() -> None:
    table = np.array([[50, 0], [30, 20]])
    drawn = resampled_tables(table, generator(1, "p", "f"), 400)
    assert (drawn.sum(axis=(1, 2)) == 100).all()
    assert not drawn[:, 0, 1].any()
    assert drawn.mean(axis=0) == pytest.approx(table, abs=1)
    assert drawn[:, 0, 0].std() == pytest.approx(5, rel=0.1)  # sqrt(n p (1 - p))
    assert not resampled_tables(np.zeros((2, 2), dtype=int), generator(1, "p", "f"), 5).any()


def test_counts_of_units_are_multinomial() -> None:
    counts = drawn_counts(50, generator(1, "p", "f"), 2000, np.int64)
    assert (counts.sum(axis=1) == 50).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.1)
    assert counts[:, 0].var() == pytest.approx(1 - 1 / 50, rel=0.1)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_totals_are_counts_times_columns_however_they_are_cut(
    kind: type[np.generic], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = generator(2, "p", "f").integers(9, size=(40, 3, 2)).astype(kind)
    counts = drawn_counts(40, generator(1, "p", "f"), 23, np.int64)
    monkeypatch.setattr(bootstrap, "CELLS_AT_ONCE", 200)  # five draws at a time
    totals = resampled_totals(columns, generator(1, "p", "f"), 23)
    assert totals.shape == (23, 3, 2)
    assert (totals == np.einsum("du,uab->dab", counts, columns)).all()


def test_whole_numbers_too_large_for_single_precision_stay_exact() -> None:
    columns = np.array([[2**24 + 1], [2**24 + 1]])
    assert (resampled_totals(columns, generator(1, "p", "f"), 4) == 2**25 + 2).all()


def test_nothing_to_draw_from_gives_nothing() -> None:
    assert (resampled_totals(np.zeros((0, 3)), generator(1, "p", "f"), 4) == np.zeros((4, 3))).all()


def test_units_are_clusters_as_soon_as_one_holds_two_questions() -> None:
    single, shared = units_of(np.array([7, 3, 5])), units_of(np.array([7, 3, 7]))
    assert (single.clustered, single.m, single.method) == (False, 3, "bootstrap_questions")
    assert (shared.clustered, shared.m, shared.method) == (True, 2, "bootstrap_clusters")
    columns = np.array([[1, 10], [2, 20], [4, 40]])
    assert single.sums(columns).tolist() == columns.tolist()
    assert shared.sums(columns).tolist() == [[2, 20], [5, 50]]


@given(st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=1, max_size=60))
def test_limits_are_those_of_numpy_over_the_defined_draws(values: list[float | None]) -> None:
    replicates = np.array([[np.nan if one is None else one] for one in values])
    defined = [one for one in values if one is not None]
    expected = np.percentile(defined, [2.5, 97.5]) if defined else [np.nan, np.nan]
    assert percentiles(replicates)[:, 0] == pytest.approx(expected, nan_ok=True)


def test_too_many_undefined_draws_make_no_interval() -> None:
    replicates = np.tile(np.linspace(0, 1, 100)[:, np.newaxis], (1, 2))
    replicates[:5, 0] = np.nan
    replicates[:6, 1] = np.nan
    steady, unstable = percentile_intervals(replicates, 100)
    assert (steady.bootstrap_undefined_fraction, steady.flags) == (0.05, ())
    assert steady.ci95 is not None
    assert (unstable.bootstrap_undefined_fraction, unstable.ci95, unstable.flags) == (
        0.06,
        None,
        ("unstable_bootstrap",),
    )


def test_few_questions_or_clusters_make_no_interval() -> None:
    replicates = np.tile(np.linspace(0, 1, 100)[:, np.newaxis], (1, 2))
    assert [one.ci95 is None for one in percentile_intervals(replicates, np.array([9, 10]))] == [True, False]
    few, enough = percentile_intervals(replicates, 50, np.array([9, 10]))
    assert (few.ci95, few.flags) == (None, ("few_clusters",))
    assert enough.ci95 == pytest.approx((0.025, 0.975))


def test_units_in_single_precision_are_drawn_as_they_come() -> None:
    columns = generator(2, "p", "f").integers(9, size=(40, 3))
    single = resampled_totals(columns.astype(exact_kind(40, 9)), generator(1, "p", "f"), 23)
    assert (single == resampled_totals(columns, generator(1, "p", "f"), 23)).all()
    assert (exact_kind(40, 9), exact_kind(2**20, 16)) == (np.float32, np.float64)


@pytest.mark.skipif(CASE is None, reason="stats/golden/bootstrap_enumerated_four.json is not on this machine")
@pytest.mark.parametrize("draw", [tables_drawn, units_drawn], ids=lambda draw: draw.__name__)
def test_draws_come_near(draw: Any) -> None:
    found = found_from(CASE["input"], draw(CASE["input"]))
    for name, expected in CASE["expected"].items():
        assert_agrees(found[name], expected["value"], NOTED.get(name, expected["tolerance"]), name)
