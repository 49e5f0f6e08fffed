"""What each question adds to the sums from which the kappas of all pairs of raters are computed.

A kappa needs of its table only the diagonal and the margins. The margins of a pair are those of its two raters, less
the questions on which the other gave no rating; so a few columns for each rater do for all pairs on the same draws.
"""

from __future__ import annotations

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

    def columns(self, answers: Codes) -> NDArray[np.int32]:
        """Shape (questions, columns): options of raters, agreement of pairs, options where another has none."""
        chosen = answers[:, np.newaxis, :] == np.arange(self.n_options)[:, np.newaxis]
        agreed = [(answers[i] == answers[j]) & (answers[i] >= 0) for i, j in rater_pairs(self.n_raters)]
        alone = [chosen & (answers[j] < 0) for j in self.incomplete]
        shape = (self.n_raters * self.n_options, answers.shape[1])
        rows = [chosen.reshape(shape), *agreed, *(one.reshape(shape) for one in alone)]
        return np.vstack(rows).T.astype(np.int32)

    def kappas(self, totals: Floats) -> Floats:
        """Cohen's kappa of each pair, shape (..., pairs), from sums of the columns, shape (..., columns).

        NaN without a common question, and where both chose one and the same option only.
        """
        leading, pairs = totals.shape[:-1], rater_pairs(self.n_raters)
        of_raters, n_pairs = self.n_raters * self.n_options, len(pairs)
        chosen = totals[..., :of_raters].reshape(*leading, self.n_raters, self.n_options)
        alone = totals[..., of_raters + n_pairs :].reshape(
            *leading, len(self.incomplete), self.n_raters, self.n_options
        )
        place = {rater: each for each, rater in enumerate(self.incomplete)}

        def margin(rater: int, other: int) -> Floats:
            of_rater: Floats = chosen[..., rater, :]
            return of_rater - alone[..., place[other], rater, :] if other in place else of_rater

        found = np.empty((*leading, n_pairs))
        for pair, (i, j) in enumerate(pairs):
            rows, columns = margin(i, j), margin(j, i)
            n = rows.sum(axis=-1)
            with np.errstate(invalid="ignore", divide="ignore"):
                po, pe = totals[..., of_raters + pair] / n, (rows * columns).sum(axis=-1) / n**2
            found[..., pair] = chance_corrected(po, pe)
        return found
