"""How often 95 % intervals hold the truth with 198 questions: ``python -m tests.readerstudy.statistics.coverage``.

Wilson's and Tango's are counted over every table that can come up, each with its probability. The intervals of kappa
and of the multi-reader analysis are counted over simulated studies, from one seed. Status 1 where an interval outside
93 to 97 % is not one of those that are known to: kappa on few questions and other readers judged from fewer than five,
which the program flags, and other readers judged from some who differ far more than those of the paper.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom, multinomial

from annotation.statistics.intervals import wilson
from readerstudy.statistics.bootstrap import DRAWS, percentiles, resampled_tables
from readerstudy.statistics.multireader import FEWEST_READERS, Inference, model_minus_readers
from readerstudy.statistics.paired_intervals import tango_limits
from readerstudy.statistics.pairs import cohen_kappa, cohen_kappa_result, excess_agreement
from readerstudy.statistics.results import SMALL_AGREEMENT_N

N = 198
FEW = 12  # as many questions as the rarest tasks have
Q = 4
LEAST, MOST = 0.93, 0.97
SEED = 20261122
STUDIES = 2000  # with a bootstrap each
READER_STUDIES = 10_000
ACCURACIES = (0.25, 0.38, 0.5, 0.64, 0.7, 0.77, 0.84, 0.9)  # of the raters of the paper, and beyond
DISCORDANT = ((0.1, 0.1), (0.2, 0.1), (0.125, 0.055), (0.25, 0.05))  # share that the first, the second only has right
KAPPAS = (0.2, 0.45, 0.65)
OUTCOMES = (0.58, 0.2, 0.09, 0.07, 0.06)  # cells of ``outcome_tables``: accuracies of 0.78 and 0.67
INFERENCES = ("readers and questions random", "readers fixed", "questions fixed")
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


def of_kappa(kappa: float, n: int = N) -> Iterator[Coverage]:
    """Two raters whose options are not equally frequent, with this kappa."""
    rng = np.random.default_rng([SEED, n, round(100 * kappa)])
    margin = np.array([0.3, 0.28, 0.24, 0.18])
    cells = (1 - kappa) * np.outer(margin, margin) + kappa * np.diag(margin)
    held = np.zeros(2)
    for table in rng.multinomial(n, cells.ravel(), size=STUDIES).reshape(STUDIES, Q, Q):
        low, high = percentiles(cohen_kappa(resampled_tables(table, rng, DRAWS))).tolist()
        quick = cohen_kappa_result(table).ci95
        held += (low <= kappa <= high, quick is not None and quick[0] <= kappa <= quick[1])
    for name, share in zip(("bootstrap, kappa", "Fleiss, Cohen, Everitt, kappa"), held / STUDIES, strict=True):
        truth = f"kappa {kappa}" + (f" on {n} questions" if n != N else "")
        yield Coverage(name, truth, float(share), STUDIES, is_claimed=n >= SMALL_AGREEMENT_N)


def of_excess_agreement() -> Coverage:
    rng = np.random.default_rng([SEED, 1])
    truth = float(excess_agreement(np.array(OUTCOMES), Q))
    held = 0
    for outcomes in rng.multinomial(N, OUTCOMES, size=STUDIES):
        low, high = percentiles(excess_agreement(resampled_tables(outcomes, rng, DRAWS), Q)).tolist()
        held += low <= truth <= high
    return Coverage("bootstrap, excess agreement", f"excess {truth:.3f}", held / STUDIES, STUDIES)


def of_multireader(n_readers: int, spread: float) -> Iterator[Coverage]:
    """Model minus the mean of the readers. Readers and questions have normal effects on a probit scale.

    Questions are as hard for the model as for readers in part. What is true depends on what is drawn again: for other
    readers and questions the mean over both, for these readers that over questions, for these questions over readers.
    """
    rng = np.random.default_rng([SEED, n_readers, round(100 * spread)])
    of_question, shared = 0.9, 0.6
    at_reader, at_model = 0.9, 1.2
    wide = sqrt(1 + of_question**2)
    mean_model, mean_reader = ndtr(at_model / wide), ndtr(at_reader / sqrt(wide**2 + spread**2))
    held = np.zeros(3)
    for _study in range(READER_STUDIES):
        reader = at_reader + spread * rng.standard_normal(n_readers)
        question, own = of_question * rng.standard_normal((2, N))
        for_model = at_model + shared * question + sqrt(1 - shared**2) * own
        readers = (rng.standard_normal((n_readers, N)) < reader[:, np.newaxis] + question).astype(np.int8)
        model = (rng.standard_normal(N) < for_model).astype(np.int8)
        found = model_minus_readers(model, readers)
        on_these_questions = ndtr((at_reader + question) / sqrt(1 + spread**2))
        held += (
            _holds(found.random_readers_random_questions, mean_model - mean_reader),
            _holds(found.fixed_readers_random_questions, mean_model - ndtr(reader / wide).mean()),
            _holds(found.random_readers_fixed_questions, (model - on_these_questions).mean()),
        )
    known = n_readers >= FEWEST_READERS and spread <= WIDEST_SPREAD
    shares = (held / READER_STUDIES).tolist()
    for name, share, is_claimed in zip(INFERENCES, shares, (known, True, known), strict=True):
        truth = f"{n_readers} readers, spread {spread}"
        yield Coverage(f"multi-reader t, {name}", truth, share, READER_STUDIES, is_claimed)


def _holds(inference: Inference, truth: float) -> bool:
    return inference.ci95 is not None and inference.ci95[0] <= truth <= inference.ci95[1]


def all_coverages() -> Iterator[Coverage]:
    yield from map(of_wilson, ACCURACIES)
    yield from (of_tango(*each) for each in DISCORDANT)
    for n, kappa in product((N, FEW), KAPPAS):
        yield from of_kappa(kappa, n)
    yield of_excess_agreement()
    for n_readers, spread in product(READERS, SPREADS):
        yield from of_multireader(n_readers, spread)


def main() -> int:
    print(f"95 % intervals in a study of {N} questions hold the truth in")
    as_said = True
    for found in all_coverages():
        print(found, flush=True)
        as_said = as_said and found.is_as_said
    return 0 if as_said else 1


if __name__ == "__main__":
    sys.exit(main())
