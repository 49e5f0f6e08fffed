"""How often 95 % intervals hold the truth with 198 questions: ``python -m tests.annotation.statistics.coverage``.

Wilson's and Tango's are counted over every table that can come up, each with its probability. The intervals of weighted
accuracies, of kappa and of the multi-reader analysis are counted over simulated studies, from one seed. Status 1 where
an interval outside 93 to 97 % is not one of those that are known to: kappa on few questions, agreement of which most
studies have fewer than five disagreements, and other readers judged from fewer than five, all of which the program
flags; other readers judged from some who differ far more than those of the paper, or on these questions from case sets;
and the sensitivity line that takes the questions of an exam as independent.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom, multinomial

from annotation.statistics.kernels.bootstrap import percentile_intervals, percentiles, resampled_tables
from annotation.statistics.kernels.estimate import (
    FEW_DISAGREEMENTS,
    FEWEST_FOR_INTERVAL,
    NO_VARIATION,
    NO_WIDTH,
    SMALL_AGREEMENT_N,
    Estimate,
)
from annotation.statistics.kernels.intervals import Z95, tango_limits, wilson
from annotation.statistics.kernels.multireader import FEWEST_READERS, ByUnit, Design, model_minus_readers
from annotation.statistics.kernels.pairs import (
    cohen_kappa,
    cohen_kappa_se,
    excess_agreement,
    percent_agreement_result,
    result_of,
)
from annotation.statistics.kernels.proportions import accuracy_bank_mix, accuracy_task_mean

N = 198
FEW = 12  # as many questions as the rarest tasks have
Q = 4
LEAST, MOST = 0.93, 0.97
SEED = 20261122
STUDIES = 2000  # with a bootstrap each
DRAWS = 2000  # of each: the program's 10,000 move limits by less than this many studies can tell
READER_STUDIES = 10_000
ACCURACIES = (0.25, 0.38, 0.5, 0.64, 0.7, 0.77, 0.84, 0.9)  # of the raters of the paper, and beyond
DISCORDANT = ((0.1, 0.1), (0.2, 0.1), (0.125, 0.055), (0.25, 0.05))  # share that the first, the second only has right
KAPPAS = (0.2, 0.45, 0.65)
AGREEMENTS = (0.95, 0.975, 0.99, 0.995)  # nearly perfect: 10, 5, 2 and 1 of the questions differ
MARGIN = np.array([0.3, 0.28, 0.24, 0.18])  # options are not equally frequent
OUTCOMES = (0.58, 0.2, 0.09, 0.07, 0.06)  # cells of ``outcome_tables``: accuracies of 0.78 and 0.67
WEIGHTED_STUDIES = 10_000
TASK_SIZES = (72, 72, 41, 12, 5)
TASK_ACCURACIES = ((0.84,) * 5, (0.7,) * 5, (0.95,) * 5, (0.9, 0.85, 0.8, 0.75, 0.6), (0.8, 0.8, 0.8, 0.8, 0.4))
BANK_SIZES = (7400, 7350, 4240, 4240, 700, 530)
BANK_DRAWS = ((60, 60, 35, 35, 5, 4), (33,) * 6)  # in proportion, and as many of each
BANK_ACCURACIES = ((0.9, 0.75, 0.85, 0.65, 0.6, 0.5), (0.95,) * 6)
INFERENCES = ("readers and questions random", "readers fixed", "questions fixed")
MOVER = "readers and questions random, MOVER"
MISSING = 0.05  # share of the answers of a design that is not complete
READERS = (3, 5, 8)
SPREADS = (0.15, 0.3, 0.6)  # of readers on the probit scale: accuracies spread by 4, 7 and 14 points; the paper's by 6
WIDEST_SPREAD = 0.3


@dataclass(frozen=True)
class Coverage:
    interval: str
    truth: str
    share: float
    n_studies: int | None  # None: all tables were counted
    is_claimed: bool = True

    @property
    def is_as_said(self) -> bool:
        return LEAST <= self.share <= MOST or not self.is_claimed

    def __str__(self) -> str:
        counted = "all tables" if self.n_studies is None else f"{self.n_studies} studies"
        remark = "" if LEAST <= self.share <= MOST else "; outside"
        return f"{self.share:7.2%}  {self.interval}; {self.truth}; {counted}{remark}"


def of_wilson(p: float) -> Coverage:
    limits = np.array([wilson(k, N) for k in range(N + 1)])
    held = (limits[:, 0] <= p) & (p <= limits[:, 1])
    return Coverage("Wilson", f"accuracy {p}", float(np.asarray(binom.pmf(np.arange(N + 1), N, p)) @ held), None)


def of_task_mean(accuracies: tuple[float, ...]) -> Coverage:
    """Tasks with as many questions as in a study of 200, the rarest with five; the accuracy of each task is fixed."""
    rng = np.random.default_rng([SEED, 2, *(round(100 * one) for one in accuracies)])
    task, held = np.repeat(np.arange(len(TASK_SIZES)), TASK_SIZES), 0
    of_question = np.array(accuracies)[task]
    for correct in (rng.random((WEIGHTED_STUDIES, len(task))) < of_question).astype(np.int8):
        limits = accuracy_task_mean(correct, task, len(TASK_SIZES)).ci95
        held += int(limits is not None and limits[0] <= np.mean(accuracies) <= limits[1])
    truth = f"tasks of {', '.join(map(str, TASK_SIZES))} with {', '.join(map(str, accuracies))}"
    return Coverage("Wilson, mean of tasks", truth, held / WEIGHTED_STUDIES, WEIGHTED_STUDIES)


def of_bank_mix(drawn: tuple[int, ...], accuracies: tuple[float, ...]) -> Coverage:
    """Other draws from a bank whose questions are right or wrong once and for all."""
    rng = np.random.default_rng([SEED, 3, *drawn, *(round(100 * one) for one in accuracies)])
    sizes, n, held = np.array(BANK_SIZES), np.array(drawn), 0
    right = np.rint(np.array(accuracies) * sizes).astype(np.int64)
    truth, stratum = right.sum() / sizes.sum(), np.repeat(np.arange(len(n)), n)
    for k in rng.hypergeometric(right, sizes - right, n, size=(WEIGHTED_STUDIES, len(n))):
        correct = np.repeat(np.tile([1, 0], len(n)), np.column_stack([k, n - k]).ravel())
        limits = accuracy_bank_mix(correct, stratum, sizes, [str(one) for one in range(len(n))]).accuracy.ci95
        held += bool(limits and limits[0] <= truth <= limits[1])
    said = f"strata of {', '.join(map(str, drawn))} with {', '.join(map(str, accuracies))}"
    return Coverage("Wilson, mix of the bank", said, held / WEIGHTED_STUDIES, WEIGHTED_STUDIES)


def of_tango(p_first: float, p_second: float) -> Coverage:
    first, second = (cells.ravel() for cells in np.meshgrid(np.arange(N + 1), np.arange(N + 1)))
    possible = first + second <= N
    first, second = first[possible], second[possible]
    shares = [p_first, p_second, 1 - p_first - p_second]
    likely = np.asarray(multinomial.pmf(np.stack([first, second, N - first - second], axis=1), N, shares))
    common = likely > 1e-12
    low, high = tango_limits(first[common], second[common], N)
    truth = p_first - p_second
    held = (low <= truth) & (truth <= high)
    return Coverage("Tango", f"{p_first} first only, {p_second} second only", float(likely[common] @ held), None)


def large_sample_kappa(table: NDArray[np.integer]) -> Estimate:
    """Kappa with the quick interval, kappa +- z SE clipped to [-1, 1]: the bootstrap is the better one."""
    kappa, half = float(cohen_kappa(table)), Z95 * float(cohen_kappa_se(table))
    limits = (max(-1.0, kappa - half), min(1.0, kappa + half)) if half >= NO_WIDTH else None
    flags = (NO_VARIATION,) if half < NO_WIDTH and table.sum() >= FEWEST_FOR_INTERVAL else ()
    return result_of(kappa, table, ci95=limits, method="fleiss_cohen_everitt_1969", flags=flags)


def of_kappa(kappa: float, n: int = N) -> Iterator[Coverage]:
    """Two raters whose options are not equally frequent, with this kappa."""
    rng = np.random.default_rng([SEED, n, round(100 * kappa)])
    cells = _cells(kappa)
    held = np.zeros(2)
    for table in rng.multinomial(n, cells.ravel(), size=STUDIES).reshape(STUDIES, Q, Q):
        low, high = percentiles(cohen_kappa(resampled_tables(table, rng, DRAWS))).tolist()
        quick = large_sample_kappa(table).ci95
        held += (low <= kappa <= high, quick is not None and quick[0] <= kappa <= quick[1])
    for name, share in zip(("bootstrap, kappa", "Fleiss, Cohen, Everitt, kappa"), held / STUDIES, strict=True):
        truth = f"kappa {kappa}" + (f" on {n} questions" if n != N else "")
        yield Coverage(name, truth, float(share), STUDIES, is_claimed=n >= SMALL_AGREEMENT_N)


def _cells(kappa: float) -> NDArray[np.float64]:
    return (1 - kappa) * np.outer(MARGIN, MARGIN) + kappa * np.diag(MARGIN)


def of_agreement(share: float) -> Coverage:
    """Percent agreement by Wilson, and Brennan-Prediger as its image, over every number of agreements."""
    found = [percent_agreement_result(np.array([[k, N - k], [0, 0]])) for k in range(N + 1)]
    likely = np.asarray(binom.pmf(np.arange(N + 1), N, share))
    held = np.array([one.ci95 is not None and one.ci95[0] <= share <= one.ci95[1] for one in found])
    flagged = float(likely @ np.array([FEW_DISAGREEMENTS in one.flags for one in found]))
    truth = f"agreement {share}, {flagged:.0%} of studies flagged"
    return Coverage("Wilson, percent agreement of a pair", truth, float(likely @ held), None, flagged < 0.5)


def of_near_kappa(share: float) -> Coverage:
    """Bootstrap of kappa where the two nearly always agree, over the studies in which it has an interval."""
    rng = np.random.default_rng([SEED, 2, round(1000 * share)])
    chance = float((MARGIN**2).sum())
    kappa = (share - chance) / (1 - chance)
    held, flagged, n = 0, 0, 0
    for table in rng.multinomial(N, _cells(kappa).ravel(), size=STUDIES).reshape(STUDIES, Q, Q):
        [interval] = percentile_intervals(cohen_kappa(resampled_tables(table, rng, DRAWS))[:, np.newaxis], N)
        found = result_of(float(cohen_kappa(table)), table, ci95=interval.ci95, method="", flags=interval.flags)
        flagged += int(FEW_DISAGREEMENTS in found.flags)
        if found.ci95 is not None:
            n, held = n + 1, held + int(found.ci95[0] <= kappa <= found.ci95[1])
    truth = f"agreement {share}, {flagged / STUDIES:.0%} of studies flagged, {STUDIES - n} without an interval"
    return Coverage("bootstrap, kappa", truth, held / n, n, flagged < STUDIES / 2)


def of_excess_agreement() -> Coverage:
    rng = np.random.default_rng([SEED, 1])
    truth = float(excess_agreement(np.array(OUTCOMES), Q))
    held = 0
    for outcomes in rng.multinomial(N, OUTCOMES, size=STUDIES):
        low, high = percentiles(excess_agreement(resampled_tables(outcomes, rng, DRAWS), Q)).tolist()
        held += low <= truth <= high
    return Coverage("bootstrap, excess agreement", f"excess {truth:.3f}", held / STUDIES, STUDIES)


@dataclass(frozen=True)
class Drawn:
    """What is drawn again in a study of readers and a model: who reads what, and which questions share an exam."""

    words: str
    cluster: NDArray[np.int64] | None = None
    read: NDArray[np.bool_] | None = None  # shape (readers, questions); None: everybody reads everything

    def effects(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Of questions, standard normal; those of an exam share half of their variance."""
        own = rng.standard_normal(N)
        if self.cluster is None:
            return own
        return sqrt(0.5) * own + sqrt(0.5) * rng.standard_normal(N)[self.cluster]


COMPLETE = Drawn("")
EXAMS = Drawn(", exams of 3 questions", cluster=np.arange(N) // 3)
SETS_READ = np.array([[place % 3 in (0, 1 + row % 2) for place in range(N)] for row in range(6)])
SETS = Drawn(", two sets that share 66 questions, 5 % missing", read=SETS_READ)


def of_multireader(n_readers: int, spread: float, drawn: Drawn = COMPLETE) -> Iterator[Coverage]:
    """Model minus the mean of the readers. Readers and questions have normal effects on a probit scale.

    Questions are as hard for the model as for readers in part. What is true depends on what is drawn again: for other
    readers and questions the mean over both, for these readers that over questions, for these questions over readers.
    """
    rng = np.random.default_rng([SEED, n_readers, round(100 * spread)])
    of_question, shared = 0.9, 0.6
    at_reader, at_model = 0.9, 1.2
    wide = sqrt(1 + of_question**2)
    mean_model, mean_reader = ndtr(at_model / wide), ndtr(at_reader / sqrt(wide**2 + spread**2))
    held, independent = np.zeros(4), np.zeros(3)
    for _study in range(READER_STUDIES):
        reader = at_reader + spread * rng.standard_normal(n_readers)
        question, own = of_question * drawn.effects(rng), of_question * drawn.effects(rng)
        for_model = at_model + shared * question + sqrt(1 - shared**2) * own
        readers = (rng.standard_normal((n_readers, N)) < reader[:, np.newaxis] + question).astype(np.int8)
        if drawn.read is not None:
            readers[~drawn.read | (rng.random(readers.shape) < MISSING)] = -1
        model = (rng.standard_normal(N) < for_model).astype(np.int8)
        found = model_minus_readers(model, readers, Design(drawn.cluster))
        on_these_questions = ndtr((at_reader + question) / sqrt(1 + spread**2))
        asked = (readers >= 0).any(axis=0)
        for_all, of_these = mean_model - mean_reader, mean_model - _mean(ndtr(reader / wide), readers)
        truths = (for_all, of_these, (model - on_these_questions)[asked].mean())
        by_unit = found.by_question if found.by_cluster is None else found.by_cluster
        held += (*_held(by_unit, truths), _within(by_unit.mover_ci95, for_all))
        independent += _held(found.by_question, truths)
    known = n_readers >= FEWEST_READERS and spread <= WIDEST_SPREAD
    truth = f"{n_readers} readers, spread {spread}{drawn.words}"
    unit = "" if drawn.cluster is None else " by exam"
    claims = (known, True, known and drawn.read is None, False)
    for name, share, is_claimed in zip((*INFERENCES, MOVER), (held / READER_STUDIES).tolist(), claims, strict=True):
        if name != MOVER or n_readers < FEWEST_READERS:
            yield Coverage(f"multi-reader t{unit}, {name}", truth, share, READER_STUDIES, is_claimed)
    if drawn.cluster is not None:
        for name, share in zip(INFERENCES, (independent / READER_STUDIES).tolist(), strict=True):
            yield Coverage(f"multi-reader t by question, {name}", truth, share, READER_STUDIES, is_claimed=False)


def _mean(of_readers: NDArray[np.float64], readers: NDArray[np.int8]) -> float:
    """Every question once, and on it each of its readers alike."""
    read = (readers >= 0)[:, (readers >= 0).any(axis=0)]
    return float((read * of_readers[:, np.newaxis] / read.sum(axis=0)).sum(axis=0).mean())


def _held(found: ByUnit, truths: tuple[float, float, float]) -> tuple[bool, bool, bool]:
    all_of_them = (
        found.random_readers_random_questions,
        found.fixed_readers_random_questions,
        found.random_readers_fixed_questions,
    )
    random, fixed, these = (_within(one.ci95, truth) for one, truth in zip(all_of_them, truths, strict=True))
    return random, fixed, these


def _within(limits: tuple[float, float] | None, truth: float) -> bool:
    return limits is not None and limits[0] <= truth <= limits[1]


def all_coverages() -> Iterator[Coverage]:
    yield from map(of_wilson, ACCURACIES)
    yield from map(of_task_mean, TASK_ACCURACIES)
    yield from (of_bank_mix(drawn, each) for drawn, each in product(BANK_DRAWS, BANK_ACCURACIES))
    yield from (of_tango(*each) for each in DISCORDANT)
    for n, kappa in product((N, FEW), KAPPAS):
        yield from of_kappa(kappa, n)
    yield from map(of_agreement, AGREEMENTS)
    yield from map(of_near_kappa, AGREEMENTS)
    yield of_excess_agreement()
    for n_readers, spread in product(READERS, SPREADS):
        yield from of_multireader(n_readers, spread)
    for n_readers in READERS:
        yield from of_multireader(n_readers, WIDEST_SPREAD, EXAMS)
    yield from of_multireader(len(SETS_READ), WIDEST_SPREAD, SETS)


def main() -> int:
    print(f"95 % intervals in a study of {N} questions hold the truth in")
    as_said = True
    for found in all_coverages():
        print(found, flush=True)
        as_said = as_said and found.is_as_said
    return 0 if as_said else 1


if __name__ == "__main__":
    sys.exit(main())
