"""Tables of all pairs at once equal those counted question by question, and the sums of pairs those of their tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import Units, generator, resampled_each, resampled_totals, units_of
from annotation.statistics.kernels.group_intervals import panel_agreement
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.pair_tables import (
    BOTH_RIGHT,
    FIRST_ONLY,
    OTHER_WRONG,
    SAME_WRONG,
    SECOND_ONLY,
    Codes,
    PairColumns,
    outcome_tables,
    pair_tables,
    rater_pairs,
    valid_only,
)

Q = 4
N_GROUPS = 3


@st.composite
def panels(draw: st.DrawFn) -> tuple[Codes, Codes, Codes]:
    """Answers of some raters (-1 no rating, -2 missing), the panel of each question (-1 none), the key."""
    raters, questions = draw(st.integers(1, 4)), draw(st.integers(0, 12))

    def codes(low: int, high: int, size: int) -> Codes:
        return np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size)), dtype=np.int8)

    answers = codes(-2, Q - 1, raters * questions).reshape(raters, questions)
    return answers, codes(-1, N_GROUPS - 1, questions), codes(0, Q - 1, questions)


@given(panels())
def test_tables_are_what_one_counts_by_hand(panel: tuple[Codes, Codes, Codes]) -> None:
    answers, group, _key = panel
    tables = pair_tables(answers, Q, group=group, n_groups=N_GROUPS)
    assert tables.shape == (len(rater_pairs(len(answers))), N_GROUPS, Q, Q)
    for table, (first, second) in zip(tables, rater_pairs(len(answers)), strict=True):
        for one in range(N_GROUPS):
            both = (group == one) & (answers[first] >= 0) & (answers[second] >= 0)
            if both.any():
                expected = confusion_matrix(answers[first][both], answers[second][both], labels=range(Q))
                assert (table[one] == expected).all()
            else:
                assert not table[one].any()


@given(panels())
def test_outcomes_follow_from_the_answers(panel: tuple[Codes, Codes, Codes]) -> None:
    answers, _group, key = panel
    outcomes = outcome_tables(answers, key)[:, 0]
    tables = pair_tables(answers, Q)[:, 0]
    right = pair_tables(np.where(answers < 0, -1, answers == key), 2)[:, 0]
    assert (outcomes.sum(axis=1) == tables.sum(axis=(1, 2))).all()
    assert (outcomes[:, [BOTH_RIGHT, SAME_WRONG]].sum(axis=1) == np.trace(tables, axis1=1, axis2=2)).all()
    assert (outcomes[:, [BOTH_RIGHT, FIRST_ONLY, SECOND_ONLY]] == right[:, [1, 1, 0], [1, 0, 1]]).all()
    assert (outcomes[:, [SAME_WRONG, OTHER_WRONG]].sum(axis=1) == right[:, 0, 0]).all()


def test_the_panel_of_all_tasks_is_the_sum_and_clusters_add_up_to_it() -> None:
    answers = np.array([[0, 1, 2, 3, 0, -1], [0, 1, 1, 3, -2, 2]], dtype=np.int8)
    by_cluster = pair_tables(answers, Q, group=np.array([0, 0, 1, 2, 2, 1]), n_groups=N_GROUPS)
    assert (by_cluster.sum(axis=1) == pair_tables(answers, Q)[:, 0]).all()
    assert by_cluster[0].sum(axis=(1, 2)).tolist() == [2, 1, 1]


def test_only_the_pairs_that_were_asked_for() -> None:
    answers = np.array([[0], [1], [2]], dtype=np.int8)
    assert np.argwhere(pair_tables(answers, Q, pairs=[(2, 0)])).tolist() == [[0, 0, 2, 0]]


def test_codes_beyond_the_last_are_refused() -> None:
    answers = np.array([[0, 4], [0, 1]], dtype=np.int8)
    with pytest.raises(ValueError, match="code 4 is no option: there are 4"):
        pair_tables(answers, Q)
    with pytest.raises(ValueError, match="code 7 is no group: there are 3"):
        pair_tables(answers % Q, Q, group=np.array([7, 0]), n_groups=N_GROUPS)


# --- sums, also where raters leave questions out; few units cost nothing else ----------------------
N = 80
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
