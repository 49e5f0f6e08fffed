"""What a forecast promises, beside simulated studies: ``python -m tests.annotation.statistics.forecast_check``.

Studies are drawn that have the shares and the spread that the forecast assumes, and each is analysed as any other study
is. Readers have accuracies of their own; on a normal scale questions are harder for all of them, and in part for the
model. Status 1 where the share of studies that show the difference is more than five points from the power.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from annotation.statistics.kernels.multireader import Design, Inference, model_minus_readers
from readerstudy.design.kernels.analysis_plan import FIXED_READERS, INFERENCES, RANDOM_BOTH, AnalysisPlan
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.forecast import forecast

SEED = 20261123
STUDIES = 1000
TOLERANCE = 0.05
ALPHA = 0.05
Right = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A design and what is assumed of it. ``shared``: cases that both halves of the readers read; None: one set."""

    name: str
    n_readers: int
    n_cases: int
    inference: str = RANDOM_BOTH
    delta: float = 0.10
    models: int = 1
    shared: int | None = None
    per_patient: int = 1
    alike: float = 0.0  # correlation of questions of one patient, on the normal scale
    margin: float | None = None

    @property
    def sets(self) -> list[range | list[int]]:
        if self.shared is None:
            return [range(self.n_cases)]
        half = self.shared + (self.n_cases - self.shared) // 2
        return [range(half), [*range(self.shared), *range(half, self.n_cases)]]

    @property
    def assumed(self) -> Assumptions:
        plain = Assumptions(models=self.models, delta=self.delta)
        return plain if self.per_patient == 1 else Assumptions(delta=self.delta, design_effect=design_effect(self))

    @property
    def power(self) -> float:
        """What the forecast says: of the test, its first step among several models, or the margin."""
        plan = AnalysisPlan(inference=self.inference, margin=self.margin, assumptions=self.assumed)
        found = forecast([], sets=self.sets, n_readers=self.n_readers, plan=plan).inferences[0]
        if self.margin is not None:
            assert found.power_margin is not None
            return found.power_margin
        return found.power_first_step


DESIGNS = (
    Planned(name="5 readers x 200 cases, 10 points", n_readers=5, n_cases=200),
    Planned(name="3 readers x 200 cases, 10 points, by t", n_readers=3, n_cases=200),
    Planned(name="these 3 readers x 200 cases, 10 points", n_readers=3, n_cases=200, inference=FIXED_READERS),
    Planned(name="8 readers x 400 cases, 10 points, first of 8 models", n_readers=8, n_cases=400, models=8),
    Planned(name="6 readers, two sets of 120 of 200 cases, 40 shared", n_readers=6, n_cases=200, shared=40),
    Planned(
        name="8 readers x 400 cases, 4 of each patient, 8 points",
        n_readers=8,
        n_cases=400,
        delta=0.08,
        per_patient=4,
        alike=0.2,
    ),
    Planned(name="10 readers x 300 cases, margin of 8 points", n_readers=10, n_cases=300, delta=0.0, margin=0.08),
)


@dataclass(frozen=True)
class Checked:
    planned: Planned
    power: float
    share: float
    n_studies: int

    @property
    def is_as_said(self) -> bool:
        return abs(self.share - self.power) <= TOLERANCE

    def __str__(self) -> str:
        remark = "" if self.is_as_said else "; apart"
        return f"{self.power:6.1%} forecast, {self.share:6.1%} of {self.n_studies} studies; {self.planned.name}{remark}"


@cache
def both(first: float, second: float, correlation: float) -> float:
    """P(both right) of two raters of these accuracies, whose normal scales are correlated so."""
    cov = [[1.0, correlation], [correlation, 1.0]]
    return float(multivariate_normal.cdf([ndtri(first), ndtri(second)], cov=cov))


@cache
def correlation_of(first: float, second: float, discordant: float) -> float:
    """At which the two are not both right or both wrong on this share of the questions."""
    wanted = (first + second - discordant) / 2
    return float(brentq(lambda rho: both(first, second, rho) - wanted, -0.999, 0.999))


def design_effect(planned: Planned) -> float:
    """On the variance of a difference, of questions of one patient whose normal scales are all as much alike."""
    plain = Assumptions(delta=planned.delta)
    reader, model, alike = plain.accuracy, plain.accuracy + plain.delta, planned.alike
    across = alike * correlation_of(model, reader, plain.discordant_model_reader)
    shared = both(model, model, alike) - model**2 + both(reader, reader, alike) - reader**2
    shared -= 2 * (both(model, reader, across) - model * reader)
    return 1 + (planned.per_patient - 1) * shared / (plain.discordant_model_reader - plain.delta**2)


def simulated(planned: Planned, rng: np.random.Generator) -> tuple[Right, Right]:
    """Right and wrong of a model, and of readers; -1 where a reader does not read a case."""
    assumed = planned.assumed
    reader, model = assumed.accuracy, assumed.accuracy + assumed.delta
    of_question = correlation_of(reader, reader, assumed.discordant_readers)
    with_model = correlation_of(model, reader, assumed.discordant_model_reader) / np.sqrt(of_question)
    spread = rng.standard_normal(planned.n_readers)
    if planned.inference == FIXED_READERS:  # the difference that is true of these readers is the one assumed
        spread = (spread - spread.mean()) * np.sqrt(planned.n_readers / (planned.n_readers - 1))
    accuracies = np.clip(reader + assumed.sd_reader * spread, 0.01, 0.99)[:, np.newaxis]
    questions = _scale(planned, rng, 1)
    own = np.sqrt(1 - of_question) * _scale(planned, rng, planned.n_readers)
    readers = (np.sqrt(of_question) * questions + own < ndtri(accuracies)).astype(np.int8)
    of_model = with_model * questions + np.sqrt(1 - with_model**2) * _scale(planned, rng, 1)
    for place, row in enumerate(readers):
        read = planned.sets[place % len(planned.sets)]
        row[np.setdiff1d(np.arange(planned.n_cases), np.asarray(read))] = -1
    return (of_model[0] < ndtri(model)).astype(np.int8), readers


def _scale(planned: Planned, rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
    """Standard normal, questions of one patient correlated."""
    alone = rng.standard_normal((n_rows, planned.n_cases))
    if planned.per_patient == 1:
        return alone
    patients = rng.standard_normal((n_rows, planned.n_cases // planned.per_patient))
    shared = patients.repeat(planned.per_patient, axis=1)
    return np.asarray(sqrt(planned.alike) * shared + sqrt(1 - planned.alike) * alone)


def shows_it(planned: Planned, model: Right, readers: Right) -> bool:
    """Whether the analysis of such a study finds what it was planned to find."""
    patients = np.arange(planned.n_cases) // planned.per_patient
    found = model_minus_readers(model, readers, Design(cluster=patients if planned.per_patient > 1 else None))
    units = found.by_cluster or found.by_question
    inference: Inference = getattr(units, INFERENCES[planned.inference])
    if planned.margin is not None:
        return inference.ci95 is not None and inference.ci95[0] > -planned.margin
    return inference.p is not None and inference.p <= ALPHA / planned.models


def check(planned: Planned, n_studies: int = STUDIES) -> Checked:
    rng = np.random.default_rng([SEED, planned.n_readers, planned.n_cases, len(planned.name)])
    shown = sum(shows_it(planned, *simulated(planned, rng)) for _study in range(n_studies))
    return Checked(planned, planned.power, shown / n_studies, n_studies)


def main() -> int:
    print("Power by the forecast, and the share of simulated studies that show the difference")
    as_said = True
    for planned in DESIGNS:
        found = check(planned)
        print(found, flush=True)
        as_said = as_said and found.is_as_said
    return 0 if as_said else 1


if __name__ == "__main__":
    sys.exit(main())
