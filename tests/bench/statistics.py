"""Agreement of all pairs of raters with bootstrap intervals, on a whole bank, beside scikit-learn in the same run.

41,007 questions of five tasks on 10,000 exams, eleven raters, six panels, the draws of an analysis. Each way of drawing
is measured in a process of its own, so that its memory is its own. The baseline takes the kappas of ROUNDS draws by
scikit-learn and is multiplied up to all draws.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.bench.measuring import peak_mb, told_alone
from tests.bench.rows import Row

TASKS = {"negation": 15_408, "presence": 14_452, "differential": 8_585, "location": 2_383, "geometric": 179}
N_EXAMS, N_OPTIONS, SEED = 10_000, 4, 41_007
ACCURACIES = (0.66, 0.70, 0.77, 0.64, 0.64, 0.66, 0.25, 0.38, 0.56, 0.78, 0.84)  # three readers, eight models
FAILING, SHARE_FAILED = 6, 0.02
ROUNDS = 2
WAYS = {
    "by question": "all pairs, nine statistics, by question",
    "by cluster": "all pairs, nine statistics, by exam",
    "groups by question": "groups and the means over pairs, shared draws, by question",
    "groups by cluster": "groups and the means over pairs, shared draws, by exam",
}


def measure() -> list[Row]:
    """Seconds and peak memory of each way of drawing."""
    rows = []
    baseline = told_alone(run_baseline)
    for way, name in WAYS.items():
        told = told_alone(run, way)
        pairs = way in ("by question", "by cluster")
        beside = ("kappas alone, scikit-learn", baseline[way]) if pairs else ()
        rows.append(Row(name, told["seconds"], "s", "5, 500 times" if pairs else "15", *beside))
        rows.append(Row(f"{name}: processor", told["processor_seconds"], "s"))
        rows.append(Row(f"{name}: peak memory", told["peak_mb"], "MB", "1,000"))
    return rows


@dataclass(frozen=True)
class Panel:
    """The questions of one panel; arrays of shape (raters, questions) and (questions,)."""

    name: str
    answers: NDArray[np.int8]
    key: NDArray[np.int8]
    cluster: NDArray[np.int64]

    @property
    def correct(self) -> NDArray[np.int8]:
        return np.asarray(self.answers == self.key, dtype=np.int8)


def panels() -> list[Panel]:
    """The five tasks and all of them, simulated: raters know the answer or guess."""
    rng = np.random.default_rng(SEED)
    n = sum(TASKS.values())
    task = np.repeat(np.arange(len(TASKS)), list(TASKS.values()))
    key = rng.integers(N_OPTIONS, size=n).astype(np.int8)
    known = (np.array(ACCURACIES)[:, np.newaxis] - 0.25) / 0.75
    shape = (len(ACCURACIES), n)
    answers = np.where(rng.random(shape) < known, key, rng.integers(N_OPTIONS, size=shape)).astype(np.int8)
    answers[FAILING, rng.random(n) < SHARE_FAILED] = -1
    exam = rng.integers(N_EXAMS, size=n)
    parts = {name: task == number for number, name in enumerate(TASKS)} | {"All tasks": np.ones(n, dtype=bool)}
    return [Panel(name, answers[:, part], key[part], exam[part]) for name, part in parts.items()]


def run(way: str) -> dict[str, float]:
    """Seconds of all six panels, those of all threads together, and the most memory that this process held."""
    from annotation.statistics.kernels.bootstrap import units_of
    from annotation.statistics.kernels.group_intervals import panel_agreement
    from annotation.statistics.kernels.pair_intervals import pair_statistics

    given = panels()
    is_reader = np.arange(len(ACCURACIES)) < 3
    start, used = time.perf_counter(), time.process_time()
    for panel in given:
        units = units_of(panel.cluster if way.endswith("cluster") else np.arange(len(panel.key)))
        said = (panel.answers, panel.correct, panel.key)
        if way in ("by question", "by cluster"):
            pair_statistics(*said, N_OPTIONS, units, seed=SEED, panel=panel.name)
        else:
            panel_agreement(*said, is_reader, N_OPTIONS, units, seed=SEED, panel=panel.name)
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - used,
        "peak_mb": peak_mb(),
    }


def run_baseline() -> dict[str, float]:
    """Seconds that all draws would take scikit-learn, for the kappas alone."""
    from itertools import combinations

    from sklearn.metrics import cohen_kappa_score

    from annotation.statistics.kernels import bootstrap

    rng = np.random.default_rng(SEED)
    given = panels()
    found = {}
    for way in ("by question", "by cluster"):
        start = time.perf_counter()
        for panel in given:
            members = _members(panel.cluster) if way == "by cluster" else None
            for _round in range(ROUNDS):
                drawn = _drawn(len(panel.key), members, rng)
                for first, second in combinations(panel.answers[:, drawn], 2):
                    both = (first >= 0) & (second >= 0)
                    cohen_kappa_score(first[both], second[both], labels=range(N_OPTIONS))
        found[way] = (time.perf_counter() - start) * bootstrap.DRAWS / ROUNDS
    return found


def _members(cluster: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(cluster, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)


def _drawn(n: int, members: list[NDArray[np.int64]] | None, rng: np.random.Generator) -> NDArray[np.int64]:
    if members is None:
        return rng.integers(n, size=n)
    return np.concatenate([members[one] for one in rng.integers(len(members), size=len(members))])
