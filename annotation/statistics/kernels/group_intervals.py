"""Agreement within the readers, the models and all raters of one panel, and readers' agreement beside that with models.

All of it is on the same draws of questions or clusters, so that groups and differences are compared draw by draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import groups
from annotation.statistics.kernels.bootstrap import DRAWS, Units, generator, percentile_intervals, resampled_each
from annotation.statistics.kernels.estimate import (
    EXPECTED_AGREEMENT_IS_ONE,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ONE_RATER,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.mean_agreement import Means, agreement_result, means_of_pairs
from annotation.statistics.kernels.pair_sums import PairColumns
from annotation.statistics.kernels.pair_tables import Codes
from annotation.statistics.kernels.rating_sums import RatingSums, columns_by_size, columns_of_raters, rating_counts

Values = NDArray[np.float64]
Chosen = NDArray[np.bool_]
GROUPS = "groups"  # the family of draws

COEFFICIENTS: dict[str, Callable[[RatingSums], Values]] = {
    "percent_agreement": groups.percent_agreement,
    "fleiss_kappa": groups.fleiss_kappa,
    "gwet_ac1": groups.gwet_ac1,
    "brennan_prediger": groups.brennan_prediger,
    "conger_kappa": groups.conger_kappa,
    "krippendorff_alpha_nominal": groups.krippendorff_alpha_nominal,
}


@dataclass(frozen=True)
class GroupStatistics:
    """Results by name, and the share of draws in which each was undefined; None where nothing was drawn."""

    results: dict[str, Estimate]
    bootstrap_undefined_fraction: dict[str, float | None]


def panel_agreement(
    answers: Codes,
    correct: Codes,
    key: Codes,
    is_reader: Chosen,
    n_options: int,
    units: Units,
    *,
    n_valid: int | None = None,
    assigned: Chosen | None = None,
    seed: int,
    panel: str,
    draws: int = DRAWS,
) -> tuple[dict[str, GroupStatistics], Means]:
    """Agreement of "readers", "models" and "all" on the questions of one panel, and the means over their pairs.

    Parameters
    ----------
    answers, correct, key, n_options, units, n_valid
        As for ``pair_statistics``.
    is_reader : bool array, shape (raters,)
    assigned : bool array, shape (raters, questions), or None
        False: of another case set than this rater's. None: all raters have all questions.

    Returns
    -------
    Of each group ``percent_agreement``, ``fleiss_kappa``, ``gwet_ac1``, ``brennan_prediger``, ``conger_kappa`` and
    ``krippendorff_alpha_nominal``; n is the questions with two ratings or more, the others are dropped. Undefined:
    ``one_rater``, ``no_common_questions``, ``expected_agreement_is_one``, ``no_variation`` (alpha).
    """
    columns = PairColumns(answers, correct, key, n_options, n_options if n_valid is None else n_valid)
    chosen = {"readers": is_reader, "models": ~is_reader, "all": np.ones_like(is_reader)}
    of = {name: _Group(answers[rows], n_options) for name, rows in chosen.items()}
    parts = [columns.parts(), *(group.parts() for group in of.values())]
    drawn = iter(
        resampled_each(units.counts([one for part in parts for one in part]), generator(seed, panel, GROUPS), draws)
    )
    of_pairs = [next(drawn) for _one in parts[0]]
    of_raters = of_pairs[0][:, : len(answers) * n_options].reshape(draws, len(answers), n_options)
    found = {
        name: group.statistics([next(drawn) for _one in part], of_raters[:, chosen[name]], units)
        for (name, group), part in zip(of.items(), parts[1:], strict=True)
    }
    everything = np.ones(answers.shape, dtype=np.bool_) if assigned is None else assigned
    return found, means_of_pairs(columns, of_pairs, is_reader, everything, units)


@dataclass(frozen=True)
class _Group:
    """The answers of the raters of one group, shape (raters, questions)."""

    answers: Codes
    n_options: int

    @property
    def counts(self) -> Codes:
        return rating_counts(self.answers, self.n_options)

    def parts(self) -> list[NDArray[Any]]:
        """Columns by number of ratings, and who chose what on the questions that are dropped; (columns, questions)."""
        counts = self.counts
        dropped = columns_of_raters(self.answers, self.n_options) & (counts.sum(axis=1) < 2)
        return [*columns_by_size(counts).values(), dropped]

    def statistics(self, drawn: Sequence[Values], of_raters: Values, units: Units) -> GroupStatistics:
        """``drawn``: sums of the parts, shape (draws, columns); ``of_raters``: of all questions, (draws, raters, q)."""
        sums, paired = RatingSums.of(self.answers, self.n_options), self.counts.sum(axis=1) > 1
        n = int(paired.sum())
        if n == 0:
            reason = ONE_RATER if len(self.answers) < 2 else NO_COMMON_QUESTIONS
            results = {name: undefined(reason, n=0, method=units.method) for name in COEFFICIENTS}
            return GroupStatistics(results, dict.fromkeys(COEFFICIENTS))
        replicates = RatingSums(
            dict(zip(sums.by_size, drawn, strict=False)), of_raters - drawn[-1].reshape(of_raters.shape)
        )
        n_clusters = len(np.unique(units.number[paired])) if units.clustered else None
        found = GroupStatistics({}, {})
        for name, coefficient in COEFFICIENTS.items():
            interval = percentile_intervals(coefficient(replicates)[:, np.newaxis], n, n_clusters)[0]
            reason = NO_VARIATION if name.startswith("krippendorff") else EXPECTED_AGREEMENT_IS_ONE
            found.results[name] = agreement_result(float(coefficient(sums)), interval, n, units.method, reason)
            found.bootstrap_undefined_fraction[name] = interval.bootstrap_undefined_fraction
        return found
