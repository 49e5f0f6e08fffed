"""Tables of all pairs at once equal those counted question by question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from annotation.statistics.kernels.pair_tables import (
    BOTH_RIGHT,
    FIRST_ONLY,
    OTHER_WRONG,
    SAME_WRONG,
    SECOND_ONLY,
    Codes,
    outcome_tables,
    pair_tables,
    rater_pairs,
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
