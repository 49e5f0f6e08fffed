"""What is stored of a comparison: the runs of models on a bank, how well one model repeats itself, and how it does when
it is asked otherwise: other images, other orders of the options, the same again. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS, units_of
from annotation.statistics.kernels.comparing import holm_adjusted
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.proportions import accuracy, accuracy_task_mean, clustered_accuracy, run_spread
from annotation.statistics.kernels.ranking import SIGNIFICANT, RankBand, RankedPair, rank_bands, ranked_pairs
from readerstudy.analysis.kernels.arrays import TASKS
from readerstudy.analysis.kernels.panel_result import ComparedModel, StoredComparison
from readerstudy.analysis.kernels.result import LETTERS, N_OPTIONS

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


VARIANTS_RULE = "variants-1"  # change the name when the same inputs would give other numbers
N_ORDERS = 4

Right = NDArray[np.int8]  # 1 right, 0 wrong, negative not counted; shape (questions,)


@dataclass(frozen=True)
class AnsweredRun:
    """A complete run. ``option``: canonical, 0 to 3, FAILED or MISSING, shape (orders, repeats, questions)."""

    facts: Mapping[str, Any]
    option: NDArray[np.int8]


@dataclass(frozen=True)
class PairedVariant:
    """Rows of ``runs``; ``other_settings``: what differs beside the images."""

    run: int
    plain: int
    other_settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedArrays:
    """The questions with a key that the complete runs of a model with one prompt were asked."""

    key: NDArray[np.int8]  # 0 to 3, shape (questions,)
    cluster: NDArray[np.int32]
    cluster_level: str
    n_without_key: int
    runs: tuple[AnsweredRun, ...]
    variants: tuple[PairedVariant, ...]

    def right(self, option: NDArray[np.int8]) -> Right:
        found: Right = (option == self.key).astype(np.int8)
        found[option == MISSING] = -1
        return found


def variant_tables(arrays: AskedArrays) -> dict[str, Any]:
    """The whole result; see docs/models-at-work.md.

    Each variant is set beside the plain run of the same questions, by the rules by which models are compared on a bank:
    exact McNemar and Tango's interval, by cluster where questions share exams or patients. What was refused, was cut or
    names no option is wrong. Recall by letter tells whether a model prefers a place: over all four orders the key of
    every question is once at each letter, so that only the place differs between the letters.
    """
    units = units_of(arrays.cluster)
    counting = _Counting(arrays, clustered=units.clustered)
    return {
        "rules": {
            "rule": VARIANTS_RULE,
            "accuracy": "wilson",
            "pairs": "obuchowski_1998" if units.clustered else "mcnemar_exact",
            "difference": "cluster_t" if units.clustered else "tango",
            "cluster": arrays.cluster_level,
        },
        "n": len(arrays.key),
        "n_clusters": units.m,
        "n_without_key": arrays.n_without_key,
        "clustered": units.clustered,
        "variants": counting.variants(),
        "orders": [counting.orders(run) for run in arrays.runs if len(run.option) == N_ORDERS],
        "repeats": [counting.repeats(run) for run in arrays.runs if run.option.shape[1] > 1],
    }


@dataclass(frozen=True)
class _Counting:
    arrays: AskedArrays
    clustered: bool

    def share(self, right: Right) -> dict[str, Any]:
        """A share of questions: by question, and by cluster where they share one."""
        found: dict[str, Any] = {"by_question": accuracy(right).as_json()}
        if self.clustered:
            found["by_cluster"] = clustered_accuracy(right, self.arrays.cluster).as_json()
        return found

    def against(self, first: Right, second: Right) -> dict[str, Any]:
        """The first minus the second, on the questions that both were asked."""
        [pair] = ranked_pairs(np.stack([first, second]), self.arrays.cluster, clustered=self.clustered)
        return {"table": asdict(pair.table), "difference": pair.difference.as_json(), "p": pair.p}

    def variants(self) -> list[dict[str, Any]]:
        found = []
        for one in self.arrays.variants:
            run, plain = self.arrays.runs[one.run], self.arrays.runs[one.plain]
            first, second = (self.arrays.right(each.option[0, 0]) for each in (run, plain))
            in_both = (first >= 0) & (second >= 0)
            found.append(
                {
                    **run.facts,
                    "plain": plain.facts["run"],
                    "plain_images": plain.facts["images"],
                    "other_settings": list(one.other_settings),
                    "n_in_one_only": int((first >= 0).sum() + (second >= 0).sum() - 2 * in_both.sum()),
                    "accuracy": self.share(np.where(in_both, first, -1).astype(np.int8)),
                    "plain_accuracy": self.share(np.where(in_both, second, -1).astype(np.int8)),
                    **self.against(first, second),
                }
            )
        return _with_holm(found)

    def orders(self, run: AnsweredRun) -> dict[str, Any]:
        """Of the first repeat. The same option: named in every order, and the same of the bank in all of them."""
        option = run.option[:, 0]
        right = [self.arrays.right(row) for row in option]
        against = _with_holm([self.against(row, right[0]) for row in right[1:]])
        return {
            **run.facts,
            "orders": [
                {"order": place + 1, "accuracy": self.share(row), **(against[place - 1] if place else {})}
                for place, row in enumerate(right)
            ],
            "same": self.share(_same(option)),
            "letters": [
                {"letter": letter, "recall": self.share(self._key_at(right, place))}
                for place, letter in enumerate(LETTERS)
            ],
        }

    def _key_at(self, right: Sequence[Right], place: int) -> Right:
        """Of each question in the order in which its key is at this place; order r + 1 moves it up by r."""
        order = (self.arrays.key.astype(np.intp) - place) % N_ORDERS
        found: Right = np.stack(right)[order, np.arange(len(order))]
        return found

    def repeats(self, run: AnsweredRun) -> dict[str, Any]:
        """Of the options in the order of the bank. The same answer: an option, and the same in every repeat."""
        option = run.option[0]
        shares = [self.share(self.arrays.right(row)) for row in option]
        spread = run_spread([one["by_question"]["value"] for one in shares])
        return {
            **run.facts,
            "repeats": [{"repeat": place + 1, "accuracy": one} for place, one in enumerate(shares)],
            "same": self.share(_same(option)),
            "mean": spread.mean.as_json(),
            "sd": spread.sd.as_json(),
        }


def _same(option: NDArray[np.int8]) -> Right:
    """Whether every row names one and the same option, shape (rows, questions); -1 where a row was not asked."""
    found: Right = ((option == option[0]).all(axis=0) & (option[0] >= 0)).astype(np.int8)
    found[(option == MISSING).any(axis=0)] = -1
    return found


def _with_holm(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the p values adjusted over these rows as one family."""
    rows = list(rows)
    adjusted = holm_adjusted([row["p"] for row in rows])
    return [{**row, "p_holm": p} for row, p in zip(rows, adjusted, strict=True)]
