"""Accuracy of one rater: share of right answers of these questions, of the bank they came from, by task, over runs.

``correct`` is 1 right, 0 wrong (declined, failed and late answers are wrong), negative not counted (missing, voided).
The rules of shares themselves are those of every other share: ``annotation.statistics.kernels.intervals``.

References
----------
.. [1] E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212.
.. [2] C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404-413.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import isfinite
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import (
    CLUSTERS_IGNORED,
    SMALL_N,
    STRATUM_TOO_SMALL,
    TOO_FEW,
    ZERO_TRIALS,
    BankMixValue,
    ClusteredAccuracyValue,
    Estimate,
    Interval,
    undefined,
)
from annotation.statistics.kernels.intervals import (
    CLUSTER_WILSON,
    FEWEST_TRIALS,
    StratumCount,
    bank_mix_share,
    clustered_counts,
    share,
    weighted_share,
)

Correct = NDArray[np.integer]
Codes = NDArray[np.integer]

TASK_MEAN = "task_mean_wilson"
MEAN, SD = "mean_of_runs", "sd_of_runs"
FEWEST_OF_TASK = 5  # questions of a task, for an interval of the mean of tasks


class ShareInterval(Enum):
    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper_pearson"


def accuracy(correct: Correct, interval: ShareInterval = ShareInterval.WILSON) -> Estimate:
    """Right answers over the questions that count, shape (questions,)."""
    counted = correct[correct >= 0]
    return proportion(int(counted.sum()), counted.size, interval)


def proportion(k: int, n: int, interval: ShareInterval = ShareInterval.WILSON) -> Estimate:
    """k of n with the limits of Wilson [1]_ or Clopper and Pearson [2]_. Undefined for n = 0, flagged below 10."""
    found = share(k, n)
    if interval is ShareInterval.WILSON:
        return found
    limits = clopper_pearson(k, n) if n else None
    return replace(found, ci95=limits, method=interval.value)


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Exact limits of k of n, n above 0 [2]_: they cover at least what they say, and mostly more."""
    from scipy.special import betaincinv  # here, since every start of the program would wait for it

    tail = (1 - confidence) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return low, high


@dataclass(frozen=True)
class ClusteredAccuracy:
    """Accuracy where questions share exams or patients. Error and effect are None where they are undefined."""

    accuracy: Estimate
    accuracy_cluster_se: float | None
    design_effect: float | None
    n_clusters: int

    def as_json(self) -> ClusteredAccuracyValue:
        return {
            **self.accuracy.as_json(),
            "accuracy_cluster_se": self.accuracy_cluster_se,
            "design_effect": self.design_effect,
            "n_clusters": self.n_clusters,
        }


def clustered_accuracy(correct: Correct, cluster: Codes) -> ClusteredAccuracy:
    """Accuracy with a cluster-robust interval, see ``clustered_counts``.

    Parameters
    ----------
    correct : int array, shape (questions,)
    cluster : int array, shape (questions,)
        The exam of each question, or its patient where known: any numbers.
    """
    counted = correct >= 0
    of_question = np.unique(cluster[counted], return_inverse=True)[1]
    trials = np.bincount(of_question)
    return clustered_proportion(np.bincount(of_question[correct[counted] == 1], minlength=trials.size), trials)


def clustered_proportion(successes: NDArray[np.integer], trials: NDArray[np.integer]) -> ClusteredAccuracy:
    """The same from the counts of each cluster, shape (clusters,)."""
    found = clustered_counts(successes, trials)
    if found is None:
        return ClusteredAccuracy(undefined(ZERO_TRIALS, n=0, method=CLUSTER_WILSON), None, None, 0)
    error = found.standard_error if isfinite(found.standard_error) else None
    return ClusteredAccuracy(_flagged(found.estimate), error, found.design_effect, found.n_clusters)


@dataclass(frozen=True)
class BankMixAccuracy:
    """Accuracy weighted to the bank. ``n_effective`` is None where it is undefined or all of the bank was seen."""

    accuracy: Estimate
    n_effective: float | None
    merged_tasks: tuple[str, ...]  # whose difficulties are taken as one

    def as_json(self) -> BankMixValue:
        return {
            **self.accuracy.as_json(),
            "n_effective": self.n_effective,
            "merged_tasks": list(self.merged_tasks),
        }


def accuracy_bank_mix(
    correct: Correct, stratum: Codes, sizes: NDArray[np.integer], tasks: Sequence[str], *, clustered: bool = False
) -> BankMixAccuracy:
    """Accuracy in the mix of the bank: the strata of the draw weighted by their size in the bank.

    Parameters
    ----------
    correct, stratum : int arrays, shape (questions,)
        ``stratum`` counts from 0.
    sizes : int array, shape (strata,)
        Questions of each stratum in the bank.
    tasks : sequence of str, length strata
        Where fewer than two questions of a stratum count, the strata of its task are taken as one. Undefined where
        fewer than two of them count together.
    clustered : bool
        Whether questions share patients or exams: the interval does not allow for that, and is flagged.
    """
    k, n = _counts(correct, stratum, len(sizes))
    strata = {
        str(row): StratumCount(*of_stratum)
        for row, of_stratum in enumerate(zip(sizes.tolist(), n.tolist(), k.tolist(), tasks, strict=True))
    }
    found = bank_mix_share(strata)
    return BankMixAccuracy(_flagged(found.estimate, clustered=clustered), found.n_effective, found.merged_tasks)


def accuracy_task_mean(correct: Correct, task: Codes, n_tasks: int, *, clustered: bool = False) -> Estimate:
    """Plain mean of the accuracies of the tasks of a study, whatever their numbers of questions.

    Parameters
    ----------
    correct, task : int arrays, shape (questions,)
        ``task`` counts from 0 to ``n_tasks`` - 1.

    Undefined where no question of a task counts. The interval is that of ``weighted_share``; with fewer than five
    questions of a task there is none, flag ``stratum_too_small``. ``clustered`` as above.
    """
    return mean_of_shares(*_counts(correct, task, n_tasks), clustered=clustered)


def mean_of_shares(k: NDArray[np.int64], n: NDArray[np.int64], *, clustered: bool = False) -> Estimate:
    """The same of any groups, such as categories: right answers and questions that count, shape (groups,)."""
    total = int(n.sum())
    if len(n) == 0 or not n.all():
        return undefined(ZERO_TRIALS, n=total, method=TASK_MEAN)
    if n.min() < FEWEST_OF_TASK:
        return _flagged(Estimate(float((k / n).mean()), None, total, TASK_MEAN, (STRATUM_TOO_SMALL,)))
    p, interval, _n_effective = weighted_share(np.full(len(n), 1 / len(n)), k, n, 1 / (n - 1))
    return _flagged(Estimate(p, interval, total, TASK_MEAN), clustered=clustered)


def _counts(correct: Correct, group: Codes, n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Right answers and questions that count, of each group."""
    counted = correct >= 0
    n = np.bincount(group[counted], minlength=n_groups)
    return np.bincount(group[correct == 1], minlength=n_groups), n


def _flagged(result: Estimate, *, clustered: bool = False) -> Estimate:
    few = (SMALL_N,) if 0 < result.n < FEWEST_TRIALS else ()
    return replace(result, flags=(*result.flags, *few, *((CLUSTERS_IGNORED,) if clustered and result.ci95 else ())))


@dataclass(frozen=True)
class RunSpread:
    """Mean and standard deviation (R - 1) over R runs; n of both is R."""

    n_runs: int
    mean: Estimate
    sd: Estimate


def run_spread(accuracies: Sequence[float | None]) -> RunSpread:
    """``accuracies``: of each run, None where none of its questions counts; both are undefined then.

    The deviation of a single run is undefined, ``too_few``.
    """
    n, known = len(accuracies), [one for one in accuracies if one is not None]
    if n == 0 or len(known) < n:
        return RunSpread(n, undefined(ZERO_TRIALS, n=n, method=MEAN), undefined(ZERO_TRIALS, n=n, method=SD))
    sd = Estimate(stdev(known), None, n, SD) if n > 1 else undefined(TOO_FEW, n=n, method=SD)
    return RunSpread(n, Estimate(fmean(known), None, n, MEAN), sd)
