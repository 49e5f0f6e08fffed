"""What each question adds to the sums from which every statistic of every pair of raters is computed.

A table of two raters has q*q cells, and its statistics need of them only the diagonal as one number and the margins.
The margins of a pair are those of its two raters, less the questions on which the other has no rating; so a few columns
for each rater and three for each pair do for all pairs. The columns of what is taken off are nearly empty, and then
cost nearly nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics.pair_tables import (
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
    """The columns of all pairs, in parts: one of every question, then one for each rater without some rating.

    Parameters
    ----------
    answers, correct : int array, shape (raters, questions)
        As for ``pair_statistics``.
    key : int array, shape (questions,)
    n_options : int
    """

    answers: Codes
    correct: Codes
    key: Codes
    n_options: int

    @property
    def silent(self) -> list[int]:
        """Raters without a rating on some question."""
        return np.flatnonzero((self.answers < 0).any(axis=1)).tolist()

    @property
    def uncounted(self) -> list[int]:
        """Raters who are neither right nor wrong on some question."""
        return np.flatnonzero((self.correct < 0).any(axis=1)).tolist()

    def parts(self) -> list[Flags]:
        """Each of shape (columns, questions)."""
        answers, pairs, n = self.answers, rater_pairs(len(self.answers)), self.answers.shape[1]
        chosen = answers[:, np.newaxis, :] == np.arange(self.n_options)[:, np.newaxis]
        chosen = chosen.reshape(len(answers) * self.n_options, n)
        hit = (answers == self.key) & (answers >= 0)
        right, counted = self.correct == 1, self.correct >= 0
        agreed = [(answers[i] == answers[j]) & (answers[i] >= 0) for i, j in pairs]
        whole = [chosen, hit, right, counted, *([one] for one in agreed)]
        whole += [[hit[i] & hit[j]] for i, j in pairs] + [[right[i] & right[j]] for i, j in pairs]
        return [
            np.concatenate(whole),
            *(np.concatenate([chosen, hit]) & (answers[j] < 0) for j in self.silent),
            *(np.concatenate([right, counted]) & (self.correct[j] < 0) for j in self.uncounted),
        ]

    def of_pairs(self, totals: list[NDArray[Any]]) -> Iterator[PairSums]:
        """The sums of each pair, in the order of ``rater_pairs``, from those of the parts, shape (draws, columns)."""
        n_raters, q, pairs = len(self.answers), self.n_options, rater_pairs(len(self.answers))
        whole, rest = totals[0], totals[1:]
        sizes = [n_raters * q, n_raters, n_raters, n_raters, len(pairs), len(pairs), len(pairs)]
        chosen, hit, right, counted, agreed, both_hit, both_right = np.split(whole, np.cumsum(sizes)[:-1], axis=1)
        alone = dict(zip(self.silent, rest, strict=False))
        left_out = dict(zip(self.uncounted, rest[len(alone) :], strict=True))

        def of_options(rater: int, other: int) -> tuple[Floats, Floats]:
            """Options, and how often the key, where the other answered too."""
            mine, hits = slice(q * rater, q * (rater + 1)), n_raters * q + rater
            if other not in alone:
                return chosen[:, mine], hit[:, rater]
            return chosen[:, mine] - alone[other][:, mine], hit[:, rater] - alone[other][:, hits]

        def of_right(rater: int, other: int) -> tuple[Floats, Floats]:
            """How often right, and how often counted, where the other is counted too."""
            if other not in left_out:
                return right[:, rater], counted[:, rater]
            gone = left_out[other]
            return right[:, rater] - gone[:, rater], counted[:, rater] - gone[:, n_raters + rater]

        for pair, (i, j) in enumerate(pairs):
            rows, first_hit = of_options(i, j)
            columns, second_hit = of_options(j, i)
            outcomes = _side_by_side(N_OUTCOMES, len(whole))
            outcomes[:, BOTH_RIGHT] = both_hit[:, pair]
            outcomes[:, FIRST_ONLY] = first_hit - both_hit[:, pair]
            outcomes[:, SECOND_ONLY] = second_hit - both_hit[:, pair]
            outcomes[:, SAME_WRONG] = agreed[:, pair] - both_hit[:, pair]
            outcomes[:, OTHER_WRONG] = rows.sum(axis=1) - outcomes[:, :OTHER_WRONG].sum(axis=1)
            first, n = of_right(i, j)
            second, _n = of_right(j, i)
            neither = n - first - second + both_right[:, pair]
            margins = [_side_by_side(2, len(whole)) for _each in range(2)]
            for margin, yes in zip(margins, (first, second), strict=True):
                margin[:, 0], margin[:, 1] = n - yes, yes
            yield PairSums(
                agreed[:, pair], rows, columns, outcomes, (neither + both_right[:, pair], margins[0], margins[1])
            )


def _side_by_side(cells: int, draws: int) -> Floats:
    """Room for cells of draws, the draws of a cell next to each other in memory."""
    return np.empty((cells, draws)).T
