"""The tables that everything about two raters is computed from, of all pairs at once, and their sums by cluster.

A table is small (options by options) however many questions there are, so resampling questions is drawing tables.
Answers are codes: 0 to q - 1 an option, negative no rating; a question counts for a pair when both rated it. Where
failed extractions are a category of their own they have the code q, and there are q + 1 codes; the counts of right and
wrong options cover the q options only.

Statistics of a table need only its diagonal as one number and its margins. The margins of a pair are those of its two
raters, less the questions on which the other has no rating; so ``PairColumns`` has a few columns for each rater and two
for each pair, and the columns of what is taken off are nearly empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

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


Counts = NDArray[Any]  # whole numbers, as floats where they were drawn
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class PairSums:
    """How often the raters of one pair agreed, and the answers of each where both gave one; of shape (draws,) and more.

    ``rows`` and ``columns`` (draws, options) are the margins of the table of options, ``right_wrong`` that of right and
    wrong, ``outcomes`` (draws, 5) as ``outcome_tables`` counts them.
    """

    agreed: Counts
    rows: Counts
    columns: Counts
    outcomes: Counts
    right_wrong: tuple[Counts, Counts, Counts]  # agreed, rows, columns


@dataclass(frozen=True)
class PairColumns:
    """The columns of all pairs, in parts: one of every question, then some that are nearly empty.

    Parameters
    ----------
    answers : int array, shape (raters, questions)
        Codes of options; negative: no rating.
    correct : int array, shape (raters, questions)
        1 exactly where the answer is the key, 0 wrong, negative not counted. Anything else raises ValueError.
    key : int array, shape (questions,)
    n_options : int
        How many codes there are.
    n_valid : int
        Options of the study; codes from there on are failed extractions that are a category of their own.
    """

    answers: Codes
    correct: Codes
    key: Codes
    n_options: int
    n_valid: int

    def __post_init__(self) -> None:
        if ((self.correct == 1) != (self.answers == self.key)).any():
            raise ValueError("right is who chose the key, and nobody else")

    @property
    def silent(self) -> list[int]:
        """Raters without a rating on some question."""
        return np.flatnonzero((self.answers < 0).any(axis=1)).tolist()

    @property
    def failing(self) -> list[int]:
        """Raters with a failed extraction that is a category of its own."""
        return np.flatnonzero((self.answers >= self.n_valid).any(axis=1)).tolist()

    @property
    def _failing_pairs(self) -> list[tuple[int, int]]:
        return list(combinations(self.failing, 2))

    @property
    def uncounted(self) -> list[int]:
        """Raters who are neither right nor wrong on some question."""
        return np.flatnonzero((self.correct < 0).any(axis=1)).tolist()

    def parts(self) -> list[Flags]:
        """Each of shape (columns, questions); of the first the first raters * options are who chose what."""
        answers, pairs, n = self.answers, rater_pairs(len(self.answers)), self.answers.shape[1]
        chosen = answers[:, np.newaxis, :] == np.arange(self.n_options)[:, np.newaxis]
        chosen = chosen.reshape(len(answers) * self.n_options, n)
        right, counted, failed = self.correct == 1, self.correct >= 0, answers >= self.n_valid
        agreed = [[(answers[i] == answers[j]) & (answers[i] >= 0)] for i, j in pairs]
        both_failed = [[failed[i] & failed[j]] for i, j in self._failing_pairs]
        return [
            np.concatenate([chosen, right, counted, *agreed, *([right[i] & right[j]] for i, j in pairs)]),
            *(np.concatenate([chosen, right]) & (answers[j] < 0) for j in self.silent),
            *(np.concatenate([chosen, right]) & failed[j] for j in self.failing),
            *(np.concatenate([right, counted]) & (self.correct[j] < 0) for j in self.uncounted),
            *([np.concatenate(both_failed)] if both_failed else []),
        ]

    def of_pairs(self, totals: Sequence[NDArray[Any]]) -> Iterator[PairSums]:
        """The sums of each pair, in the order of ``rater_pairs``, from those of the parts, shape (draws, columns)."""
        n_raters, q, pairs = len(self.answers), self.n_options, rater_pairs(len(self.answers))
        whole, rest = totals[0], iter(totals[1:])
        sizes = [n_raters * q, n_raters, n_raters, len(pairs), len(pairs)]
        chosen, right, counted, agreed, both_right = np.split(whole, np.cumsum(sizes)[:-1], axis=1)
        no_rating = {rater: next(rest) for rater in self.silent}
        no_option = {rater: next(rest) for rater in self.failing}
        left_out = {rater: next(rest) for rater in self.uncounted}
        both_failed = dict(zip(self._failing_pairs, _columns(rest), strict=True))

        def of_options(rater: int, other: int) -> Floats:
            """Categories, where the other has a rating."""
            mine = slice(q * rater, q * (rater + 1))
            return chosen[:, mine] - no_rating[other][:, mine] if other in no_rating else chosen[:, mine]

        def of_valid(rater: int, other: int, rated: Floats) -> tuple[Floats, Floats]:
            """How often an option, and how often the key, where the other chose an option."""
            options, hits = rated[:, : self.n_valid].sum(axis=1), right[:, rater]
            if other in no_rating:
                hits = hits - no_rating[other][:, n_raters * q + rater]
            if other in no_option:
                gone = no_option[other]
                options = options - gone[:, q * rater : q * rater + self.n_valid].sum(axis=1)
                hits = hits - gone[:, n_raters * q + rater]
            return options, hits

        def of_right(rater: int, other: int) -> tuple[Floats, Floats]:
            """How often right, and how often counted, where the other is counted too."""
            if other not in left_out:
                return right[:, rater], counted[:, rater]
            gone = left_out[other]
            return right[:, rater] - gone[:, rater], counted[:, rater] - gone[:, n_raters + rater]

        for pair, (i, j) in enumerate(pairs):
            rows, columns, both = of_options(i, j), of_options(j, i), both_right[:, pair]
            valid, first_hit = of_valid(i, j, rows)
            _valid, second_hit = of_valid(j, i, columns)
            outcomes = _side_by_side(N_OUTCOMES, len(whole))
            outcomes[:, BOTH_RIGHT] = both
            outcomes[:, FIRST_ONLY] = first_hit - both
            outcomes[:, SECOND_ONLY] = second_hit - both
            outcomes[:, SAME_WRONG] = agreed[:, pair] - both - both_failed.get((i, j), 0)
            outcomes[:, OTHER_WRONG] = valid - outcomes[:, :OTHER_WRONG].sum(axis=1)
            first, n = of_right(i, j)
            second, _n = of_right(j, i)
            neither = n - first - second + both
            margins = [_side_by_side(2, len(whole)) for _each in range(2)]
            for margin, yes in zip(margins, (first, second), strict=True):
                margin[:, 0], margin[:, 1] = n - yes, yes
            yield PairSums(agreed[:, pair], rows, columns, outcomes, (neither + both, margins[0], margins[1]))


def _columns(rest: Iterator[Floats]) -> list[Floats]:
    """Those of the last part, where there is one."""
    return list(next(rest, np.empty((0, 0))).T)


def _side_by_side(cells: int, draws: int) -> Floats:
    """Room for cells of draws, the draws of a cell next to each other in memory."""
    return np.empty((cells, draws)).T
