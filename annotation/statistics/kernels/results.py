"""A statistic as an analysis stores and shows it: with its interval, its n, its method, or why it is undefined."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    NO_VARIATION,
    SMALL_N,
    STRATA_MERGED,
    STRATUM_TOO_SMALL,
    ZERO_TRIALS,
    Estimate,
)

__all__ = [
    "ANSWERS_MISSING",
    "CENSORED",
    "CLUSTERS_IGNORED",
    "CONSTANT_RATER",
    "EXPECTED_AGREEMENT_IS_ONE",
    "FEWEST_FOR_INTERVAL",
    "FEW_CLUSTERS",
    "FEW_DISAGREEMENTS",
    "FEW_READERS",
    "INCONSISTENT_ASSUMPTIONS",
    "NO_COMMON_QUESTIONS",
    "NO_VARIATION",
    "NO_WIDTH",
    "ONE_RATER",
    "OUTSIDE_RANGE",
    "POST_HOC",
    "QUESTIONS_DROPPED",
    "READERS_DROPPED",
    "SMALL_AGREEMENT_N",
    "SMALL_N",
    "STRATA_MERGED",
    "STRATUM_TOO_SMALL",
    "TOO_FEW",
    "UNSTABLE_BOOTSTRAP",
    "ZERO_TRIALS",
    "Interval",
    "Result",
    "from_estimate",
    "undefined",
]

# Why there is no value, beside ZERO_TRIALS, STRATUM_TOO_SMALL and NO_VARIATION, which shares have, too.
NO_COMMON_QUESTIONS = "no_common_questions"
EXPECTED_AGREEMENT_IS_ONE = "expected_agreement_is_one"
ONE_RATER = "one_rater"
TOO_FEW = "too_few"  # n below what the statistic needs
OUTSIDE_RANGE = "outside_range"
CENSORED = "censored"
INCONSISTENT_ASSUMPTIONS = "inconsistent_assumptions"
# Cautions that leave the value as it is, beside SMALL_N, FEW_CLUSTERS and STRATA_MERGED.
CONSTANT_RATER = "constant_rater"
UNSTABLE_BOOTSTRAP = "unstable_bootstrap"
FEW_READERS = "few_readers"
FEW_DISAGREEMENTS = "few_disagreements"  # of an agreement: fewer than 5 of the n questions
READERS_DROPPED = "readers_dropped"
QUESTIONS_DROPPED = "questions_dropped"
ANSWERS_MISSING = "answers_missing"
CLUSTERS_IGNORED = "clusters_ignored"  # takes questions of one patient or exam as independent
POST_HOC = "post_hoc"  # what no frozen plan named before unblinding

SMALL_AGREEMENT_N = 30  # below it the intervals of kappa cover less than they say: flagged
FEWEST_FOR_INTERVAL = 10  # below it an agreement has no interval
NO_WIDTH = 1e-12  # an interval narrower than this would say that nothing is uncertain: it is left out

Interval = tuple[float, float]


@dataclass(frozen=True)
class Result:
    """One number of an analysis.

    Parameters
    ----------
    value : float or None
        None where it is undefined; ``reason`` then says why. Never NaN or infinite.
    ci95 : (low, high) or None
        95 % limits, made by ``method``. None where there can be none: a flag or the reason says why.
    n : int
        What the value was computed over.
    method : str
        How the interval was made, or the value where it has none.
    flags : tuple of str
        Cautions that do not change the value, such as ``small_n``.

    Raises ValueError for a value that is no number, an undefined one without reason, and limits in the wrong order.
    """

    value: float | None
    ci95: Interval | None
    n: int
    method: str
    flags: tuple[str, ...] = ()
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError("a result has a value, or a reason why it has none")
        if self.value is not None and not isfinite(self.value):
            raise ValueError("an undefined result is None with a reason, not NaN")
        if self.ci95 is not None and (self.value is None or not self.ci95[0] <= self.ci95[1]):
            raise ValueError("an interval needs a value, and its lower limit first")

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, lists and None, as they are stored and exported; full precision."""
        return {
            "value": None if self.value is None else float(self.value),
            "ci95": None if self.ci95 is None else [float(limit) for limit in self.ci95],
            "n": int(self.n),
            "method": self.method,
            "flags": list(self.flags),
            "reason": self.reason,
        }


def undefined(reason: str, *, n: int, method: str, flags: tuple[str, ...] = ()) -> Result:
    return Result(None, None, n, method, flags, reason)


def from_estimate(estimate: Estimate) -> Result:
    """A share that the statistics of reviews computed, in the form of an analysis."""
    return Result(
        estimate.value, estimate.interval, estimate.n, estimate.method, estimate.flags, estimate.reason or None
    )
