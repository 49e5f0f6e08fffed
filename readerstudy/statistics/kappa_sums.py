"""What each question adds to the sums from which the kappas of all pairs of raters are computed.

A kappa needs of its table only the diagonal and the margins. The margins of a pair are those of its two raters, less
the questions on which the other gave no rating; so a few columns for each rater do for all pairs on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from readerstudy.statistics.pair_tables import Codes, rater_pairs
from readerstudy.statistics.pairs import chance_corrected

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KappaSums:
    """How the columns are laid out.

    Parameters
    ----------
    n_raters, n_options : int
    incomplete : tuple of int
        Raters (rows of the answers) without a rating on some question.
    """

    n_raters: int
    n_options: int
    incomplete: tuple[int, ...]

    @classmethod
    def of(cls, answers: Codes, n_options: int) -> KappaSums:
        """``answers``: codes of options, shape (raters, questions); negative: no rating."""
        return cls(len(answers), n_options, tuple(np.flatnonzero((answers < 0).any(axis=1)).tolist()))

    def parts(self, answers: Codes) -> list[NDArray[np.bool_]]:
        """Each of shape (columns, questions): options of raters, agreement of pairs; options where one has none."""
        chosen = answers[:, np.newaxis, :] == np.arange(self.n_options)[:, np.newaxis]
        chosen = chosen.reshape(self.n_raters * self.n_options, answers.shape[1])
        agreed = [(answers[i] == answers[j]) & (answers[i] >= 0) for i, j in rater_pairs(self.n_raters)]
        return [np.vstack([chosen, *agreed]), *(chosen & (answers[j] < 0) for j in self.incomplete)]

    def kappas(self, parts: Sequence[Floats]) -> Floats:
        """Cohen's kappa of each pair, shape (..., pairs), from sums of the columns of each part, shape (..., columns).

        NaN without a common question, and where both chose one and the same option only.
        """
        totals, pairs = parts[0], rater_pairs(self.n_raters)
        of_raters = self.n_raters * self.n_options
        alone = dict(zip(self.incomplete, parts[1:], strict=True))

        def margin(rater: int, other: int) -> Floats:
            options = slice(rater * self.n_options, (rater + 1) * self.n_options)
            of_rater: Floats = totals[..., options]
            return of_rater - alone[other][..., options] if other in alone else of_rater

        found = np.empty((len(pairs), *totals.shape[:-1])).transpose(*range(1, totals.ndim), 0)
        for pair, (i, j) in enumerate(pairs):
            rows, columns = margin(i, j), margin(j, i)
            n = rows.sum(axis=-1)
            with np.errstate(invalid="ignore", divide="ignore"):
                po, pe = totals[..., of_raters + pair] / n, (rows * columns).sum(axis=-1) / n**2
            found[..., pair] = chance_corrected(po, pe)
        return found
