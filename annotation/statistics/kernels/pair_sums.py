"""What each question adds to the sums from which every statistic of every pair of raters is computed.

A table of two raters has q*q cells, and its statistics need of them only the diagonal as one number and the margins.
The margins of a pair are those of its two raters, less the questions on which the other has no rating; so a few columns
for each rater and two for each pair do for all pairs. The columns of what is taken off are nearly empty, and then
cost nearly nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.pair_tables import (
    BOTH_RIGHT,
    FIRST_ONLY,
    N_OUTCOMES,
    OTHER_WRONG,
    SAME_WRONG,
    SECOND_ONLY,
    Codes,
    rater_pairs,
)

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
