"""What is stored of a comparison: the runs of models on a bank, and how well one model repeats itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS, units_of
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.proportions import accuracy, accuracy_task_mean, clustered_accuracy
from annotation.statistics.kernels.ranking import SIGNIFICANT, RankBand, RankedPair, rank_bands, ranked_pairs
from readerstudy.analysis.kernels.arrays import TASKS
from readerstudy.analysis.kernels.result import N_OPTIONS
from readerstudy.results.kernels.comparison_tables import ComparedModel, StoredComparison

FORMAT = "model-comparison 1"
RULE = "comparison-4"  # change the name when the same inputs would give other numbers
FAILED, MISSING = -1, -2  # in option
NOT_ASKED, EARLIER = -3, -4  # too: added later; asked in an earlier wording. Neither is counted


@dataclass(frozen=True)
class Entrant:
    """A model with its main run on the bank."""

    name: str
    facts: Mapping[str, Any]  # model, version, run, number, rule of extraction, answers to an older wording


@dataclass(frozen=True)
class BankArrays:
    """Everything that a comparison reads: the questions of the bank that have a key, in their current wording."""

    bank: str
    slug: str
    simulated: bool
    cluster_level: str
    n_without_key: int
    entrants: tuple[Entrant, ...]
    key: NDArray[np.int8]  # 0 to 3, shape (questions,)
    task: NDArray[np.int8]  # place in TASKS
    category: tuple[str, ...]
    cluster: NDArray[np.int32]
    option: NDArray[np.int8]  # 0 to 3, or one of the states above, shape (models, questions)
    missing_is_wrong: bool = True  # on a bank, so that nobody chooses the questions that count; not in a study

    def correct(self) -> NDArray[np.int8]:
        """1 right, 0 wrong (a failed extraction too), -1 not counted; shape (models, questions)."""
        right: NDArray[np.int8] = (self.option == self.key[None, :]).astype(np.int8)
        right[self.option <= (NOT_ASKED if self.missing_is_wrong else MISSING)] = -1
        return right


def compare(arrays: BankArrays) -> StoredComparison:
    """The whole result, see docs/predictions.md. Models by accuracy over what each was asked, the best first."""
    correct = arrays.correct()
    order = sorted(range(len(correct)), key=lambda row: _place(correct[row]))
    correct = correct[order]
    units = units_of(arrays.cluster)
    pairs = ranked_pairs(correct, arrays.cluster, clustered=units.clustered)
    bands = rank_bands(len(correct), pairs)
    categories = _categories(arrays)
    names = [arrays.entrants[row].name for row in order]
    return {
        "format": FORMAT,
        "bank": arrays.bank,
        "slug": arrays.slug,
        "simulated": arrays.simulated,
        "rules": _rules(arrays, clustered=units.clustered),
        "n": len(arrays.key),
        "n_clusters": units.m,
        "n_without_key": arrays.n_without_key,
        "clustered": units.clustered,
        "tasks": [{"task": TASKS[place], "n": n} for place, n in _tasks(arrays)],
        "categories": [{"category": name, "n": int(kept.sum())} for name, kept in categories],
        "models": [
            _model(arrays, row, right, band, categories, clustered=units.clustered)
            for row, right, band in zip(order, correct, bands, strict=True)
        ],
        "pairs": [_pair(names, pair) for pair in pairs],
    }


def _place(correct: NDArray[np.int8]) -> float:
    n = int((correct >= 0).sum())
    return -int((correct == 1).sum()) / n if n else 1.0


def _model(
    arrays: BankArrays,
    row: int,
    correct: NDArray[np.int8],
    band: RankBand,
    categories: list[tuple[str, NDArray[np.bool_]]],
    *,
    clustered: bool,
) -> ComparedModel:
    entrant, option = arrays.entrants[row], arrays.option[row]
    present, task = np.unique(arrays.task, return_inverse=True)
    entry: dict[str, Any] = {
        "name": entrant.name,
        **entrant.facts,
        **_counts(option),
        "rank": asdict(band),
        "accuracy": accuracy(correct).as_json(),
        "accuracy_task_mean": accuracy_task_mean(correct, task, len(present), clustered=clustered).as_json(),
        "tasks": [accuracy(correct[arrays.task == place]).as_json() for place, _n in _tasks(arrays)],
        "categories": [accuracy(correct[kept]).as_json() for _name, kept in categories],
    }
    if clustered:
        entry["accuracy_cluster"] = clustered_accuracy(correct, arrays.cluster).as_json()
    return cast("ComparedModel", entry)


def _counts(option: NDArray[np.int8]) -> dict[str, int]:
    """How many questions of a run count as what; of those that are not counted at all, why."""
    states = {"failed": FAILED, "missing": MISSING, "not_asked": NOT_ASKED, "earlier": EARLIER}
    return {f"n_{name}": int((option == state).sum()) for name, state in states.items()}


def _tasks(arrays: BankArrays) -> list[tuple[int, int]]:
    """Place in TASKS and number of questions of each task that has one."""
    sizes = np.bincount(arrays.task, minlength=len(TASKS)).tolist()
    return [(place, n) for place, n in enumerate(sizes) if n]


def _categories(arrays: BankArrays) -> list[tuple[str, NDArray[np.bool_]]]:
    """By the number of questions, most first."""
    texts, place = np.unique(np.array(arrays.category, dtype=object).astype(str), return_inverse=True)
    size = np.bincount(place, minlength=len(texts))
    order = np.lexsort((np.arange(len(texts)), -size))
    return [(str(texts[each]), place == each) for each in order.tolist()]


def _pair(names: list[str], pair: RankedPair) -> dict[str, Any]:
    return {
        "first": names[pair.first],
        "second": names[pair.second],
        "table": asdict(pair.table),
        "difference": pair.difference.as_json(),
        "p": pair.p,
        "p_holm": pair.p_holm,
        "better": None if pair.better is None else names[pair.better],
    }


def _rules(arrays: BankArrays, *, clustered: bool) -> dict[str, Any]:
    return {
        "accuracy": "right answers over the questions with a key that the run was asked in their present wording; "
        "failed and missing ones are wrong; wilson",
        "asked": "a run of this site: its calls; a file: the questions of the bank when it was imported, by the times "
        "of imports and edits",
        "pairs": "obuchowski_1998" if clustered else "mcnemar_exact",
        "difference": "cluster_t" if clustered else "tango",
        "family": "holm over all pairs of models",
        "significant": SIGNIFICANT,
        "cluster": arrays.cluster_level,
    }


PANEL = "All tasks"
BY_ACCURACY = ("agreement_if_independent", "excess_agreement")  # made from how often the runs are right
SCORES = ("accuracy", "accuracy_cluster")
SHOWN = ("percent_agreement", *BY_ACCURACY, "cohen_kappa", "brennan_prediger")


def repeatability(arrays: BankArrays, *, seed: int, draws: int = DRAWS) -> dict[str, Any]:
    """Accuracy of each run, and agreement of each pair on the questions that both answered with an option.

    Beside the raw agreement is what independent runs of the same accuracies would have, and the excess over it.
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
        **_counts(option),
        "accuracy": accuracy(correct).as_json(),
    }
    if clustered:
        entry["accuracy_cluster"] = clustered_accuracy(correct, arrays.cluster).as_json()
    return entry


def _n_failed_once(option: NDArray[np.int8]) -> int:
    """Questions that both runs hold, and from one of whose answers no option could be taken."""
    return int((((option == FAILED).sum(axis=0) == 1) & (option >= FAILED).all(axis=0)).sum())
