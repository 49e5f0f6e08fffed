"""How single questions behave."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.statistics.kernels.groups import Codes, rating_counts
from annotation.statistics.kernels.items import ItemStatistics, discrimination, item_of, missed_by_all

KEY = np.array([0, 1, 2, 3, 0, 1])
ANSWERS = np.array(
    [
        [0, 1, 2, 3, 1, 1],
        [0, 1, 2, 0, 1, 1],
        [0, 1, 3, 0, 1, 1],
        [0, 2, 3, 0, 2, 1],
        [0, 3, 3, -1, 2, -1],
    ]
)
CORRECT: NDArray[np.int64] = (ANSWERS == KEY).astype(np.int64)
CORRECT[4, 5] = -1  # missing, where question 3 failed and is wrong


def item_statistics(answers: Codes, correct: Codes, key: Codes, n_options: int) -> list[ItemStatistics]:
    counts, n_counted = rating_counts(answers, n_options), (correct >= 0).sum(axis=0)
    columns = (counts, key, (correct == 1).sum(axis=0), n_counted, discrimination(correct), missed_by_all(correct))
    return [item_of(*row) for row in zip(*(one.tolist() for one in columns), strict=True)]


def test_what_is_said_of_each_question() -> None:
    items = item_statistics(ANSWERS, CORRECT, KEY, 4)
    assert [(item.difficulty.value, item.difficulty.n) for item in items] == [
        (1, 5),
        (0.6, 5),
        (0.4, 5),
        (0.2, 5),
        (0, 5),
        (1, 4),
    ]
    assert items[1].chosen == (0, 3, 1, 1)
    assert [item.functioning_distractors for item in items] == [0, 2, 1, 1, 2, 0]
    assert [item.beaten_by for item in items] == [(), (), (3,), (0,), (1, 2), ()]
    assert [item.missed_by_all for item in items] == [False, False, False, False, True, False]


def test_discrimination_is_the_correlation_with_the_rest_of_the_same_rater() -> None:
    rest = [np.delete(CORRECT[rater], 1) for rater in range(5)]
    scores = [one[one >= 0].mean() for one in rest]
    assert discrimination(CORRECT)[1] == pytest.approx(np.corrcoef(CORRECT[:, 1], scores)[0, 1])


def test_only_scored_questions_are_the_rest_of_one() -> None:
    """A voided question, the last, moves no other; it is itself compared with the scored ones."""
    voided = np.array([1, 0, 0, 1, 1])
    more = np.column_stack([CORRECT, voided])
    scored = np.arange(7) < 6
    found = discrimination(more, scored)
    assert found[:6].tolist() == pytest.approx(discrimination(CORRECT).tolist(), nan_ok=True)
    rest = [one[one >= 0].mean() for one in CORRECT]
    assert found[6] == pytest.approx(np.corrcoef(voided, rest)[0, 1])


def test_a_question_that_all_have_right_or_wrong_tells_nobody_apart() -> None:
    items = item_statistics(ANSWERS, CORRECT, KEY, 4)
    assert [item.discrimination.reason for item in items] == ["no_variation", None, None, None, *["no_variation"] * 2]
    low, high = items[1].discrimination.ci95 or (1, -1)
    assert -1 <= low < (items[1].discrimination.value or 0) < high <= 1
    assert items[1].discrimination.flags == ("small_n",)


def test_one_rater_alone_is_not_everybody() -> None:
    assert missed_by_all(np.array([[0, 0, 1], [-1, 0, 0]])).tolist() == [False, True, False]


def test_a_study_without_raters_has_nothing_to_say() -> None:
    (item,) = item_statistics(np.full((2, 1), -2), np.full((2, 1), -1), np.array([0]), 4)
    assert (item.difficulty.reason, item.discrimination.reason) == ("zero_trials", "no_variation")
    assert (item.functioning_distractors, item.beaten_by, item.missed_by_all) == (0, (), False)
