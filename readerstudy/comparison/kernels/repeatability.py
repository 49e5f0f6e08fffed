"""How well a model repeats itself: its runs on the same questions, each by itself and each pair of them. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS, units_of
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.proportions import accuracy, clustered_accuracy
from readerstudy.analysis.kernels.result import N_OPTIONS
from readerstudy.comparison.kernels.bank_comparison import FAILED, MISSING, BankArrays

PANEL = "All tasks"
BY_ACCURACY = ("agreement_if_independent", "excess_agreement")  # made from how often the runs are right
SCORES = ("accuracy", "accuracy_cluster")
SHOWN = ("percent_agreement", *BY_ACCURACY, "cohen_kappa", "brennan_prediger")


def repeatability(arrays: BankArrays, *, seed: int, draws: int = DRAWS) -> dict[str, Any]:
    """Accuracy of each run, and agreement of each pair on the questions that both answered with an option.

    Beside the raw agreement stands what independent runs of the same accuracies would have, and the excess over it.
    """
    correct, units = arrays.correct(), units_of(arrays.cluster)
    found = pair_statistics(arrays.option, correct, arrays.key, N_OPTIONS, units, seed=seed, panel=PANEL, draws=draws)
    return {
        "n": len(arrays.key),
        "n_clusters": units.m,
        "clustered": units.clustered,
        "cluster": arrays.cluster_level,
        "seed": seed,
        "draws": draws,
        "runs": [_run(arrays, row, correct[row], clustered=units.clustered) for row in range(len(correct))],
        "pairs": [
            {
                "first": arrays.entrants[pair.first].facts["number"],
                "second": arrays.entrants[pair.second].facts["number"],
                "n_failed_once": _n_failed_once(arrays.option[[pair.first, pair.second]]),
                **{name: pair.results[name].as_json() for name in SHOWN},
            }
            for pair in found
        ],
    }


def without_scores(result: dict[str, Any]) -> dict[str, Any]:
    """What runs answered, compared with each other alone: nothing in it depends on a key."""
    runs = [{name: value for name, value in run.items() if name not in SCORES} for run in result["runs"]]
    pairs = [{name: value for name, value in pair.items() if name not in BY_ACCURACY} for pair in result["pairs"]]
    return {**result, "runs": runs, "pairs": pairs}


def _run(arrays: BankArrays, row: int, correct: NDArray[np.int8], *, clustered: bool) -> dict[str, Any]:
    option = arrays.option[row]
    entry: dict[str, Any] = {
        "number": arrays.entrants[row].facts["number"],
        "run": arrays.entrants[row].facts["run"],
        "n_failed": int((option == FAILED).sum()),
        "n_missing": int((option == MISSING).sum()),
        "accuracy": accuracy(correct).as_json(),
    }
    if clustered:
        entry["accuracy_cluster"] = clustered_accuracy(correct, arrays.cluster).as_json()
    return entry


def _n_failed_once(option: NDArray[np.int8]) -> int:
    """Questions that both runs hold, and from one of whose answers no option could be taken."""
    return int((((option == FAILED).sum(axis=0) == 1) & (option != MISSING).all(axis=0)).sum())
