"""The tables that everything about two raters is computed from, of all pairs of raters at once, by panel or by cluster.

A table is small (options by options) however many questions there are, so resampling questions is drawing tables.
Answers are codes: 0 to q - 1 an option, negative no rating; a question counts for a pair when both rated it. Where
failed extractions are a category of their own they have the code q, and there are q + 1 codes; what is said of right
and wrong options knows the q options only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer]
Tables = NDArray[np.int32]

# The cells of ``outcome_tables``: on the questions that both answered, with an option.
BOTH_RIGHT, FIRST_ONLY, SECOND_ONLY, SAME_WRONG, OTHER_WRONG = range(5)
N_OUTCOMES = 5


def valid_only(answers: Codes, n_valid: int) -> Codes:
    """Without the failed extractions that are a category of their own: codes of options, negative elsewhere."""
    return np.where(answers < n_valid, answers, -1)


def rater_pairs(n_raters: int) -> list[tuple[int, int]]:
    """All pairs (first, second) with first < second, in the order of the tables."""
    return [(first, second) for first in range(n_raters) for second in range(first + 1, n_raters)]


def pair_tables(
    answers: Codes,
    n_options: int,
    *,
    group: Codes | None = None,
    n_groups: int = 1,
    pairs: Sequence[tuple[int, int]] | None = None,
) -> Tables:
    """How often the first rater chose i where the second chose j.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Codes of options; negative: no rating.
    n_options : int
        q, the options that are allowed, used or not.
    group : int array, shape (questions,), or None
        The panel, the stratum or the cluster of each question, 0 to ``n_groups`` - 1; negative: left out.
        None: all questions are in group 0.
    pairs : pairs of rows of ``answers``, or None for ``rater_pairs``

    Returns
    -------
    int array, shape (pairs, groups, q, q); rows: first rater, columns: second. The panel "All tasks" is the sum over
    panels. Of ``correct`` (1 right, 0 wrong, negative not counted) with ``n_options`` of 2: [1, 1] both right, [1, 0]
    the first only.

    Raises ValueError for a code of no option and a group beyond the last.
    """
    _check(answers, n_options, "option")
    cells = n_options * n_options

    def cell(first: Codes, second: Codes) -> Codes:
        return np.where((first >= 0) & (second >= 0), first.astype(np.int64) * n_options + second, -1)

    rows = [cell(answers[i], answers[j]) for i, j in _chosen(pairs, len(answers))]
    counted = _count(rows, cells, _groups(group, n_groups, answers.shape[1]), n_groups)
    return counted.reshape(len(rows), n_groups, n_options, n_options)


def outcome_tables(
    answers: Codes,
    key: Codes,
    *,
    group: Codes | None = None,
    n_groups: int = 1,
    pairs: Sequence[tuple[int, int]] | None = None,
) -> Tables:
    """How two raters did on the questions that both answered, and whether their wrong answers were the same.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Codes of options; negative: no rating.
    key : int array, shape (questions,)
        The right option.
    group, n_groups, pairs
        As for ``pair_tables``.

    Returns
    -------
    int array, shape (pairs, groups, 5): both right, only the first, only the second, both wrong with the same option,
    both wrong with different options.
    """

    def cell(first: Codes, second: Codes) -> Codes:
        wrong = np.where(first == second, SAME_WRONG, OTHER_WRONG)
        one = np.where(first == key, FIRST_ONLY, np.where(second == key, SECOND_ONLY, wrong))
        outcome = np.where((first == key) & (second == key), BOTH_RIGHT, one)
        return np.where((first >= 0) & (second >= 0), outcome, -1)

    rows = [cell(answers[i], answers[j]) for i, j in _chosen(pairs, len(answers))]
    return _count(rows, N_OUTCOMES, _groups(group, n_groups, answers.shape[1]), n_groups)


def mixed_tables(tables: Tables, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Tables of the bank: those of the strata of a draw, each weighted by the share that the stratum has of the bank.

    Parameters
    ----------
    tables : int array, shape (..., strata, q, q)
        As ``pair_tables`` counts them with the strata as groups.
    sizes : int array, shape (strata,)
        Questions of each stratum in the bank; 0: not in the bank, and left out.

    Returns
    -------
    float array, shape (..., q, q), adding up to 1; NaN where a stratum of the bank holds no question of both raters.
    """
    present = sizes > 0
    weights = sizes[present] / sizes.sum()
    counts = tables[..., present, :, :].astype(np.float64)
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(axis=(-2, -1), keepdims=True)
    mixed: NDArray[np.float64] = np.einsum("h,...hij->...ij", weights, shares)
    return mixed


def _chosen(pairs: Sequence[tuple[int, int]] | None, n_raters: int) -> Sequence[tuple[int, int]]:
    return rater_pairs(n_raters) if pairs is None else pairs


def _groups(group: Codes | None, n_groups: int, n_questions: int) -> Codes:
    if group is None:
        return np.zeros(n_questions, dtype=np.int64)
    _check(group, n_groups, "group")
    return group.astype(np.int64)


def _check(codes: Codes, n_codes: int, name: str) -> None:
    if codes.size and int(codes.max()) >= n_codes:
        raise ValueError(f"code {int(codes.max())} is no {name}: there are {n_codes}")


def _count(rows: list[Codes], n_cells: int, group: Codes, n_groups: int) -> Tables:
    """Shape (rows, groups, cells). Questions with a negative cell or group are not counted."""
    counted = np.zeros((len(rows), n_groups * n_cells), dtype=np.int32)
    for row, cell in enumerate(rows):
        kept = (cell >= 0) & (group >= 0)
        counted[row] = np.bincount(group[kept] * n_cells + cell[kept], minlength=n_groups * n_cells)
    return counted.reshape(len(rows), n_groups, n_cells)
