"""What the simulated readers and models of the finished study answer. Pure; the same cases give the same answers.

A question is hard by itself, and harder to readers or to models as kinds; for each kind it has one wrong option that
tempts. So raters agree beyond chance, and most within their kind. Nobody's real answers are behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from readerstudy.design.kernels.rules import CHANCES

SEED = 20261122
LETTERS = "ABCD"
HARDNESS = {"easy": -0.5, "medium": 0.1, "hard": 0.6}
TEMPTED = 0.6  # of those who are wrong, by the same option
STEADY = 0.85  # of the answers of a model that is asked again
FAILED = ("I cannot answer this from the image.", "", "Both A and C could be right.")


@dataclass(frozen=True)
class SimulatedCase:
    """One case of the study, by the number of its question."""

    question: int
    key: str
    difficulty: str


@dataclass(frozen=True)
class Read:
    """One answer of a reader; without an option where the reader never came to it."""

    asked: SimulatedCase
    position: int
    option: str
    confidence: int | None
    active_ms: int | None


@dataclass(frozen=True)
class Predicted:
    """One answer of a model; without an option where its text, ``raw``, holds none."""

    asked: SimulatedCase
    option: str
    raw: str


@dataclass(frozen=True)
class SimulatedReader:
    skill: float
    seconds: float  # on a case in the middle of the study
    n_unread: int = 0  # cases at the end


READERS: Mapping[str, SimulatedReader] = {
    "Simulated reader 1": SimulatedReader(skill=0.8, seconds=34),
    "Simulated reader 2": SimulatedReader(skill=1.0, seconds=47, n_unread=2),
    "Simulated reader 3": SimulatedReader(skill=1.5, seconds=29),
}
MODELS: Mapping[str, tuple[float, float]] = {  # skill, share of texts without an option
    "Simulated model A": (2.1, 0),
    "Simulated model B": (1.4, 0),
    "Simulated model C": (0.9, 0),
    "Simulated model D": (0.8, 0.01),
    "Simulated model E": (0.7, 0),
    "Simulated model F": (0.2, 0.02),
    "Simulated model G": (-0.6, 0.05),
    "Simulated model H": (-1.1, 0.03),
}


def simulate(cases: Sequence[SimulatedCase]) -> tuple[dict[str, list[Read]], dict[str, list[Predicted]]]:
    """The answers of every reader, in the order in which each read, and of every model."""
    rng = np.random.default_rng((SEED, 1))
    hard = np.array([HARDNESS.get(case.difficulty, 0) for case in cases]) + rng.normal(0, 0.5, len(cases))
    to_readers, to_models = hard + rng.normal(0, 1.2, (2, len(cases)))
    tempts_readers, tempts_models = ([str(rng.choice(_wrong(case))) for case in cases] for _kind in range(2))
    readers = {
        name: _read(cases, reader, to_readers, tempts_readers, np.random.default_rng((SEED, 2, place)))
        for place, (name, reader) in enumerate(READERS.items())
    }
    models = {
        name: _predict(cases, skill, failing, to_models, tempts_models, np.random.default_rng((SEED, 3, place)))
        for place, (name, (skill, failing)) in enumerate(MODELS.items())
    }
    return readers, models


def asked_again(answers: Sequence[Predicted]) -> list[Predicted]:
    """A second run of the same model: most answers stand, the others are as often right as its first run was."""
    rng = np.random.default_rng((SEED, 4))
    right = sum(one.option == one.asked.key for one in answers) / len(answers)
    found = []
    for one in answers:
        option = one.option
        if rng.random() > STEADY:
            option = one.asked.key if rng.random() < right else str(rng.choice(_wrong(one.asked)))
        found.append(Predicted(one.asked, option, f"The answer is {option}." if option else one.raw))
    return found


def _read(
    cases: Sequence[SimulatedCase],
    reader: SimulatedReader,
    hard: NDArray[np.float64],
    tempting: Sequence[str],
    rng: np.random.Generator,
) -> list[Read]:
    """Cases in an order of their own; quicker as the study goes on, slower where the question is hard."""
    order, found = rng.permutation(len(cases)), []
    for position, place in enumerate(order.tolist(), 1):
        if position > len(cases) - reader.n_unread:
            found.append(Read(cases[place], position, "", None, None))
            continue
        sure = _chance(reader.skill - hard[place])
        option = _choice(cases[place], sure, tempting[place], rng)
        felt = np.clip(sure + rng.normal(0, 0.15), 0, 1)
        seconds = reader.seconds * np.exp(0.15 * hard[place] - 0.3 * position / len(cases) + rng.normal(0.15, 0.4))
        confidence = CHANCES[round(felt * (len(CHANCES) - 1))]
        found.append(Read(cases[place], position, option, confidence, round(1000 * seconds)))
    return found


def _predict(
    cases: Sequence[SimulatedCase],
    skill: float,
    failing: float,
    hard: NDArray[np.float64],
    tempting: Sequence[str],
    rng: np.random.Generator,
) -> list[Predicted]:
    found = []
    for place, case in enumerate(cases):
        option = _choice(case, _chance(skill - hard[place]), tempting[place], rng)
        if rng.random() < failing:
            found.append(Predicted(case, "", FAILED[int(rng.integers(len(FAILED)))]))
        else:
            found.append(Predicted(case, option, f"The answer is {option}."))
    return found


def _choice(case: SimulatedCase, right: float, tempting: str, rng: np.random.Generator) -> str:
    if rng.random() < right:
        return case.key
    return tempting if rng.random() < TEMPTED else str(rng.choice(_wrong(case)))


def _wrong(case: SimulatedCase) -> list[str]:
    return [letter for letter in LETTERS if letter != case.key]


def _chance(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
