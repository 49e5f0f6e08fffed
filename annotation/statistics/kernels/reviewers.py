"""How reviewers agree on issues of questions, and how often experts choose the key when they answer blind.

Rates of issues by question are in the module ``issues``. Agreement is computed on locked reviews, before adjudication.
Rare issues make kappa alone misleading, so specific agreement stands beside it.

References
----------
.. [1] D. V. Cicchetti, A. R. Feinstein, J. Clin. Epidemiol. 43 (1990) 551-558.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import DRAWS, generator, percentile_intervals, resampled_tables
from annotation.statistics.kernels.estimate import ZERO_TRIALS, Estimate, undefined
from annotation.statistics.kernels.intervals import clustered_share, share
from annotation.statistics.kernels.pair_tables import Codes

PANEL = "reviews"  # stands for the panel in the seed of draws

Question = TypeVar("Question", bound=Hashable)


def issue_table(
    first: Mapping[Question, Collection[str]], second: Mapping[Question, Collection[str]], issue: str
) -> NDArray[np.int64]:
    """[[both flagged, first only], [second only, neither]] over the questions that both reviewed.

    ``first`` and ``second``: the issues that each reviewer flagged, by question.
    """
    table = np.zeros((2, 2), dtype=np.int64)
    for question in first.keys() & second.keys():
        table[int(issue not in first[question]), int(issue not in second[question])] += 1
    return table


def positive_agreement(tables: NDArray[np.number]) -> NDArray[np.float64]:
    """2a/(2a + b + c) of tables [[a, b], [c, d]], shape (..., 2, 2) [1]_; NaN where nobody flagged."""
    return _specific(tables, 0)


def negative_agreement(tables: NDArray[np.number]) -> NDArray[np.float64]:
    """2d/(2d + b + c) [1]_; NaN where both flagged everything."""
    return _specific(tables, 1)


def _specific(tables: NDArray[np.number], cell: int) -> NDArray[np.float64]:
    both = 2.0 * tables[..., cell, cell]
    all_of_it = both + tables[..., 0, 1] + tables[..., 1, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(both / all_of_it)


STATISTICS: dict[str, Callable[[NDArray[np.integer]], NDArray[np.float64]]] = {
    "percent_agreement": pairs.percent_agreement,
    "cohen_kappa": pairs.cohen_kappa,
    "gwet_ac1": pairs.gwet_ac1,
    "brennan_prediger": pairs.brennan_prediger,
    "specific_agreement_positive": positive_agreement,
    "specific_agreement_negative": negative_agreement,
}


def reviewer_agreement(table: NDArray[np.integer], *, seed: int, issue: str, draws: int = DRAWS) -> dict[str, Estimate]:
    """Agreement of two reviewers on one issue, with bootstrap intervals over questions.

    ``table``: as ``issue_table`` counts it. Returns ``percent_agreement``, ``cohen_kappa``, ``gwet_ac1``,
    ``brennan_prediger``, ``specific_agreement_positive`` and ``specific_agreement_negative`` (undefined,
    ``zero_trials``, where nobody flagged, or both everything).
    """
    drawn = resampled_tables(table, generator(seed, PANEL, issue), draws)
    found = {}
    for name, statistic in STATISTICS.items():
        interval = percentile_intervals(statistic(drawn)[:, np.newaxis], int(table.sum()))[0]
        value = float(statistic(table))
        if name.startswith("specific") and np.isnan(value):
            found[name] = undefined(ZERO_TRIALS, n=int(table.sum()), method="bootstrap_questions")
        else:
            found[name] = pairs.result_of(
                value, table, ci95=interval.ci95, method="bootstrap_questions", flags=interval.flags
            )
    return found


def expert_ceiling(blind: Codes, key: Codes) -> Estimate:
    """Share of the reviewers' blind answers that equal the key.

    Parameters
    ----------
    blind : int array, shape (reviewers, questions)
        Codes of options; negative: did not answer, and not counted.
    key : int array, shape (questions,)

    Returns
    -------
    The share over answers. Wilson's interval where each question has one answer; otherwise that of clusters, since the
    answers to one question go together.
    """
    answered = blind >= 0
    right = answered & (blind == key)
    n_of, k_of = answered.sum(axis=0), right.sum(axis=0)
    if not (n_of > 1).any():
        return share(int(k_of.sum()), int(n_of.sum()))
    clusters = [[1] * k + [0] * (n - k) for k, n in zip(k_of.tolist(), n_of.tolist(), strict=True) if n]
    found = clustered_share(clusters)
    assert found is not None  # a question has two answers
    return found.estimate
