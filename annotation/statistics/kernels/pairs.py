"""Agreement of two raters, from their table of options. Every function takes one table or a stack of them.

Tables are counts (or shares, of a bank mix), shape (..., q, q), rows the first rater, as ``pair_tables`` makes them.
The arrays that come back hold NaN where a value is undefined; ``result_of`` makes that nothing with a reason.

References
----------
.. [1] J. Cohen, Educ. Psychol. Meas. 20 (1960) 37-46; Psychol. Bull. 70 (1968) 213-220.
.. [2] J. L. Fleiss, J. Cohen, B. S. Everitt, Psychol. Bull. 72 (1969) 323-327.
.. [3] W. A. Scott, Public Opin. Q. 19 (1955) 321-325.
.. [4] K. L. Gwet, Br. J. Math. Stat. Psychol. 61 (2008) 29-48.
.. [5] R. L. Brennan, D. J. Prediger, Educ. Psychol. Meas. 41 (1981) 687-699.
.. [6] R. Geirhos, K. Meding, F. A. Wichmann, Adv. Neural Inf. Process. Syst. 33 (2020) 13890-13902.
.. [7] K. Pearson, Philos. Trans. R. Soc. A 195 (1900) 1-47.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    CONSTANT_RATER,
    EXPECTED_AGREEMENT_IS_ONE,
    FEW_DISAGREEMENTS,
    FEWEST_ERRORS,
    FEWEST_FOR_INTERVAL,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    SMALL_AGREEMENT_N,
    SMALL_N,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.intervals import share, wilson
from annotation.statistics.kernels.pair_tables import BOTH_RIGHT, FIRST_ONLY, OTHER_WRONG, SAME_WRONG, SECOND_ONLY

Counts = NDArray[Any]
Values = NDArray[np.float64]

NO_CHANCE_LEFT = 1e-12  # 1 - pe below it counts as zero
FEWEST_DISAGREEMENTS = 5  # below it an agreement is flagged
WILSON, WILSON_IMAGE, LARGE_SAMPLE = "wilson", "wilson_image", "fleiss_cohen_everitt_1969"


def percent_agreement(tables: Counts, weights: Values | None = None) -> Values:
    """po: the share of questions on which both chose the same; with weights, the weighted share."""
    agreed = (tables * _weights(tables, weights)).sum(axis=(-2, -1))
    return _divided(agreed, tables.sum(axis=(-2, -1)))


def expected_agreement(tables: Counts, weights: Values | None = None) -> Values:
    """pe: the agreement of independent raters with these margins."""
    rows, columns = _margins(tables)
    total: Values = ((rows @ _weights(tables, weights)) * columns).sum(axis=-1)
    return total


def cohen_kappa(tables: Counts, weights: Values | None = None) -> Values:
    """(po - pe)/(1 - pe) [1]_.

    Parameters
    ----------
    tables : array, shape (..., q, q)
    weights : float array, shape (q, q), or None
        Agreement of i with j, 1 on the diagonal; None: 1 on the diagonal and 0 beside it.

    Returns
    -------
    float array, shape (...), in [-1, 1]; NaN without a question, and where both chose one and the same option only.
    """
    return chance_corrected(percent_agreement(tables, weights), expected_agreement(tables, weights))


def cohen_kappa_se(tables: Counts, weights: Values | None = None) -> Values:
    """Large-sample standard error of kappa and weighted kappa [2]_; for intervals. NaN where kappa is undefined.

    The sum of squares less the square of the mean, as it is printed, would leave 1e-9 instead of 0 where cells agree.
    """
    p = _divided(tables, tables.sum(axis=(-2, -1), keepdims=True))
    w, pe, kappa = _weights(tables, weights), expected_agreement(tables, weights), cohen_kappa(tables, weights)
    spread = w - _mean_weights(tables, w) * (1 - kappa)[..., None, None]
    mean = (p * spread).sum(axis=(-2, -1), keepdims=True)
    return _standard_error((p * (spread - mean) ** 2).sum(axis=(-2, -1)), tables, pe)


def scott_pi(tables: Counts) -> Values:
    """Chance from the mean of the two margins, squared [3]_."""
    return coefficients(*sums_of(tables))["scott_pi"]


def gwet_ac1(tables: Counts) -> Values:
    """Chance as sum of pi (1 - pi)/(q - 1) over the q allowed options [4]_: steady where one option prevails."""
    return coefficients(*sums_of(tables))["gwet_ac1"]


def brennan_prediger(tables: Counts) -> Values:
    """Chance of 1/q [5]_: the reference for options whose letters mean nothing across questions."""
    return coefficients(*sums_of(tables))["brennan_prediger"]


def sums_of(tables: Counts) -> tuple[Counts, Counts, Counts]:
    """What the unweighted coefficients need of tables: the diagonal as one number, the margins of rows and columns."""
    return np.einsum("...ii->...", tables), tables.sum(axis=-1), tables.sum(axis=-2)


def coefficients(agreed: Counts, rows: Counts, columns: Counts) -> dict[str, Values]:
    """Every unweighted coefficient of the same options, by name; all of them at once, since they share their parts.

    Parameters
    ----------
    agreed : array, shape (...)
        Questions on which both chose the same option.
    rows, columns : array, shape (..., q)
        How often the first and the second rater chose each option, where both gave an answer.
    """
    n, q = rows.sum(axis=-1), rows.shape[-1]
    first, second = _divided(rows, n[..., None]), _divided(columns, n[..., None])
    po, pe, mean = _divided(agreed, n), (first * second).sum(axis=-1), (first + second) / 2
    return {
        "percent_agreement": po,
        "expected_agreement": pe,
        "cohen_kappa": chance_corrected(po, pe),
        "scott_pi": chance_corrected(po, (mean**2).sum(axis=-1)),
        "gwet_ac1": chance_corrected(po, (mean * (1 - mean)).sum(axis=-1) / (q - 1)),
        "brennan_prediger": chance_corrected(po, np.full_like(po, 1 / q)),
    }


def kappa_of_sums(agreed: Counts, rows: Counts, columns: Counts) -> Values:
    """Cohen's kappa alone; arguments as for ``coefficients``."""
    n = rows.sum(axis=-1)
    return chance_corrected(_divided(agreed, n), _divided((rows * columns).sum(axis=-1), n**2))


def chance_corrected(po: Values, pe: Values) -> Values:
    """(po - pe)/(1 - pe); NaN where nothing is left to chance-correct."""
    return np.where(np.abs(1 - pe) < NO_CHANCE_LEFT, np.nan, _divided(po - pe, 1 - pe))


def error_consistency(tables: Counts) -> Values:
    """Kappa of being right [6]_, from the 2x2 tables of right and wrong; failed and declined answers are wrong."""
    return cohen_kappa(tables)


def phi(agreed: Counts, rows: Counts, columns: Counts) -> Values:
    """Phi coefficient of being right [7]_: the correlation of 0 (wrong) and 1 (right) of two raters.

    Parameters
    ----------
    agreed : array, shape (...)
        Questions that both had right or both wrong.
    rows, columns : array, shape (..., 2)
        Questions that the first and the second rater had wrong, and had right.

    Returns
    -------
    float array, shape (...), in [-1, 1]; NaN where one of the two had all right or all wrong, and without a question.
    """
    n, first, second = rows.sum(axis=-1), rows[..., 1], columns[..., 1]
    both = (agreed + first + second - n) / 2
    margins = np.prod(rows, axis=-1, dtype=np.float64) * np.prod(columns, axis=-1, dtype=np.float64)
    return _divided(n * both - first * second, np.sqrt(margins))


def agreement_if_independent(outcomes: Counts, n_options: int) -> Values:
    """Agreement of two raters with these accuracies who err independently and evenly: ab + (1 - a)(1 - b)/(q - 1).

    ``outcomes``: counts, shape (..., 5), as ``outcome_tables`` makes them. NaN without a question.
    """
    p = _divided(outcomes, outcomes.sum(axis=-1, keepdims=True))
    first, second = p[..., BOTH_RIGHT] + p[..., FIRST_ONLY], p[..., BOTH_RIGHT] + p[..., SECOND_ONLY]
    return np.asarray(first * second + (1 - first) * (1 - second) / (n_options - 1))


def excess_agreement(outcomes: Counts, n_options: int) -> Values:
    """Agreement beyond that of two independent raters of the same accuracies; arguments as above."""
    p = _divided(outcomes, outcomes.sum(axis=-1, keepdims=True))
    return np.asarray(p[..., BOTH_RIGHT] + p[..., SAME_WRONG] - agreement_if_independent(outcomes, n_options))


def has_few_common_errors(outcome: Counts) -> bool:
    """Whether fewer than 5 questions are wrong for both, so that limits of the excess would cover too little.

    ``outcome``: the five counts of one pair.
    """
    return int(outcome[SAME_WRONG] + outcome[OTHER_WRONG]) < FEWEST_ERRORS


def same_wrong_option(outcome: Counts) -> Estimate:
    """Of the questions that both got wrong with an option, the share with the same one; by chance 1/(q - 1).

    ``outcome``: the five counts of one pair.
    """
    same = int(outcome[SAME_WRONG])
    return share(same, same + int(outcome[OTHER_WRONG]))


def percent_agreement_result(table: Counts) -> Estimate:
    """The share of questions on which both chose the same, with Wilson's interval, also at 0 and 1."""
    n, agreed = int(table.sum()), int(np.trace(table))
    if n == 0:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=WILSON)
    limits = wilson(agreed, n) if n >= FEWEST_FOR_INTERVAL else None
    return Estimate(agreed / n, limits, n, WILSON, agreement_cautions(n, agreed))


def brennan_prediger_result(table: Counts) -> Estimate:
    """The coefficient with the image of Wilson's limits: it is a straight line of the percent agreement."""
    found, chance = percent_agreement_result(table), 1 / table.shape[-1]
    if found.value is None:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=WILSON_IMAGE)
    low, high = [(limit - chance) / (1 - chance) for limit in found.ci95 or (0, 0)]
    value = (found.value - chance) / (1 - chance)
    return Estimate(value, (low, high) if found.ci95 else None, found.n, WILSON_IMAGE, found.flags)


def agreement_cautions(n: int, agreed: int) -> tuple[str, ...]:
    """Fewer than 5 disagreements, and fewer than 30 questions."""
    few = (FEW_DISAGREEMENTS,) if n - agreed < FEWEST_DISAGREEMENTS else ()
    return (*few, SMALL_N) if n < SMALL_AGREEMENT_N else few


def result_of(
    value: float,
    table: Counts,
    *,
    ci95: Interval | None,
    method: str,
    flags: tuple[str, ...] = (),
    of_margins: bool = True,
    reason: str = EXPECTED_AGREEMENT_IS_ONE,
) -> Estimate:
    """A coefficient of one table of counts with the cautions that the table calls for.

    Below 10 questions the interval is left out, and where the two agree on all questions or on none (flag
    ``no_variation``): draws of such a table know no other. Below 30 questions and with fewer than 5 disagreements the
    result is flagged, and one that is made ``of_margins`` beside a constant rater. ``reason``: why a value that is not
    finite is none, where there are questions.
    """
    n, agreed = int(table.sum()), int(np.trace(table))
    if n == 0:
        return undefined(NO_COMMON_QUESTIONS, n=0, method=method)
    if not isfinite(value):
        small = (SMALL_N,) if n < SMALL_AGREEMENT_N else ()
        return undefined(reason, n=n, method=method, flags=(*flags, *small))
    if agreed in (0, n) and n >= FEWEST_FOR_INTERVAL:
        ci95, flags = None, (*flags, NO_VARIATION)
    flags = (*flags, *agreement_cautions(n, agreed))
    if of_margins and has_constant_rater(table):
        flags = (*flags, CONSTANT_RATER)
    return Estimate(float(value), ci95 if n >= FEWEST_FOR_INTERVAL else None, n, method, tuple(dict.fromkeys(flags)))


def has_constant_rater(table: Counts) -> bool:
    """Whether a rater chose one and the same option on every question."""
    return bool(np.count_nonzero(table.sum(axis=0)) == 1 or np.count_nonzero(table.sum(axis=1)) == 1)


def _divided(counts: Counts, totals: Counts) -> Values:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(counts / totals, dtype=np.float64)


def _weights(tables: Counts, weights: Values | None) -> Values:
    return np.eye(tables.shape[-1]) if weights is None else weights


def _margins(tables: Counts) -> tuple[Values, Values]:
    """Shares of the options in the rows and in the columns; from counts, so that a constant rater's is exactly 1."""
    n = tables.sum(axis=(-2, -1))[..., None]
    return _divided(tables.sum(axis=-1), n), _divided(tables.sum(axis=-2), n)


def _mean_weights(tables: Counts, weights: Values) -> Values:
    """Mean weight of row i over the second rater's margin plus that of column j over the first one's."""
    rows, columns = _margins(tables)
    return (columns @ weights.T)[..., :, None] + (rows @ weights)[..., None, :]


def _standard_error(variance: Values, tables: Counts, pe: Values) -> Values:
    error = _divided(np.sqrt(_divided(np.maximum(variance, 0), tables.sum(axis=(-2, -1)))), 1 - pe)
    return np.where(np.abs(1 - pe) < NO_CHANCE_LEFT, np.nan, error)
