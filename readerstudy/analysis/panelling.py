"""One panel, the questions of one task or all of them: accuracy of raters, agreement of pairs and of groups. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from readerstudy.analysis.arrays import READER, TASKS, State, StudyArrays
from readerstudy.analysis.planned import planned_pairs
from readerstudy.analysis.scoring import Scored, has_guess
from readerstudy.analysis.settings import Settings
from readerstudy.statistics.bootstrap import Units, units_of
from readerstudy.statistics.comparing import (
    ChiSquare,
    DifferenceInterval,
    PairedTable,
    cluster_mcnemar_chi2,
    clustered_difference,
    cochran_q,
    difference,
    differences,
    mcnemar_chi2,
    mcnemar_exact_p,
    mcnemar_midp,
    paired_table,
)
from readerstudy.statistics.group_intervals import GroupStatistics, panel_agreement
from readerstudy.statistics.groups import fleiss_kappa_se, gwet_ac1_se
from readerstudy.statistics.pair_intervals import pair_statistics
from readerstudy.statistics.pair_tables import outcome_tables, pair_tables
from readerstudy.statistics.pairs import cohen_kappa_se, same_wrong_option
from readerstudy.statistics.proportions import (
    ShareInterval,
    accuracy,
    accuracy_bank_mix,
    accuracy_task_mean,
    clustered_accuracy,
)
from readerstudy.statistics.rating_sums import rating_counts
from readerstudy.statistics.results import NO_COMMON_QUESTIONS, NO_VARIATION, Result, undefined

ALL_TASKS = "All tasks"
POST_HOC = "post_hoc"  # what no frozen plan named
CLUSTERS_IGNORED = "clusters_ignored"  # of a planned test that takes questions of one patient or exam as independent
KAPPA_ERROR = "fleiss_cohen_everitt_1969"
STATE_COUNTS = {
    "n_answered": State.ANSWERED,
    "n_declined": State.DECLINED,
    "n_timed_out": State.TIMED_OUT,
    "n_late": State.LATE,
    "n_unconfirmed": State.UNCONFIRMED,
    "n_failed": State.FAILED,
    "n_missing": State.MISSING,
}


class Chance(TypedDict):
    seed: int
    panel: str
    draws: int


@dataclass(frozen=True)
class Panel:
    """The part of a study that one panel shows, and what is drawn in its bootstrap."""

    name: str
    arrays: StudyArrays
    scored: Scored
    units: Units
    settings: Settings

    @property
    def chance(self) -> Chance:
        """What the draws of the bootstrap depend on."""
        return {"seed": self.settings.seed, "panel": self.name, "draws": self.settings.draws}

    @property
    def is_whole(self) -> bool:
        return self.name == ALL_TASKS


def panels_of(arrays: StudyArrays, scored: Scored, settings: Settings) -> list[Panel]:
    """All tasks first, then each task with a question. By cluster throughout, once any cluster has two questions."""
    clustered = units_of(arrays.questions.cluster).clustered
    everything = np.ones(len(arrays.questions), dtype=np.bool_)
    kept = {ALL_TASKS: everything}
    for place, task in enumerate(TASKS):
        if (arrays.questions.task == place).any():
            kept[task] = arrays.questions.task == place
    return [
        Panel(name, arrays.without(~one), scored.only(one), _units(arrays.questions.cluster[one], clustered), settings)
        for name, one in kept.items()
    ]


def _units(cluster: NDArray[np.int32], clustered: bool) -> Units:
    units = units_of(cluster)
    return Units(units.number, units.m, clustered) if clustered else units


def panel_results(panel: Panel) -> Mapping[str, Any]:
    """``n``, ``n_clusters``, ``raters``, ``pairs`` and ``groups`` of one panel."""
    return {
        "n": len(panel.arrays.questions),
        "n_clusters": panel.units.m,
        "unit": "cluster" if panel.units.clustered else "question",
        "raters": [rater_entry(panel, row) for row in range(len(panel.arrays.raters))],
        "pairs": _pairs(panel),
        "groups": _groups(panel),
    }


# --- raters ---------------------------------------------------------------------------------------
def rater_entry(panel: Panel, row: int) -> dict[str, Any]:
    """Accuracy of one rater by every rule, and how often each state occurred."""
    rater, correct, questions = panel.arrays.raters[row], panel.scored.correct[row], panel.arrays.questions
    state = panel.arrays.state[row]
    entry: dict[str, Any] = {
        "name": rater.name,
        "kind": rater.kind,
        "n": int((correct >= 0).sum()),
        "n_correct": int((correct == 1).sum()),
        **{name: int((state == one).sum()) for name, one in STATE_COUNTS.items()},
        "accuracy": accuracy(correct).as_json(),
        "accuracy_clopper_pearson": accuracy(correct, ShareInterval.CLOPPER_PEARSON).as_json(),
    }
    if panel.scored.guessed is not None:
        entry["n_guessed"] = int(has_guess(panel.arrays)[row].sum())
        entry["accuracy_best_guess"] = accuracy(panel.scored.guessed[row]).as_json()
    if panel.units.clustered:
        entry["accuracy_cluster"] = clustered_accuracy(correct, questions.cluster).as_json()
    if panel.is_whole:
        present, task = np.unique(questions.task, return_inverse=True)
        entry["accuracy_task_mean"] = accuracy_task_mean(correct, task, len(present)).as_json()
        strata = strata_of(panel.arrays)
        if strata is not None:
            entry["accuracy_bank_mix"] = accuracy_bank_mix(correct, *strata).as_json()
    return entry


def strata_of(arrays: StudyArrays) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The cell of the draw of each question, and how many questions each cell has in the pool.

    None where the cases were listed, or a question stands in no cell of the draw by now.
    """
    place = {(task, difficulty): row for row, (task, difficulty, _n) in enumerate(arrays.cells)}
    about = arrays.questions
    cells = [(TASKS[task], level) for task, level in zip(about.task.tolist(), about.difficulty, strict=True)]
    if not place or not place.keys() >= set(cells):
        return None
    stratum = [place[cell] for cell in cells]
    return np.array(stratum, dtype=np.int64), np.array([n for _task, _difficulty, n in arrays.cells], dtype=np.int64)


# --- pairs ----------------------------------------------------------------------------------------
def _pairs(panel: Panel) -> list[dict[str, Any]]:
    """Every pair of raters; of a model and a reader the model is the first: differences read model minus reader."""
    order = np.concatenate([panel.arrays.models, panel.arrays.readers])
    answers, correct = panel.scored.answers[order], panel.scored.correct[order]
    key = panel.arrays.questions.key
    found = pair_statistics(answers, correct, key, panel.scored.q, panel.units, **panel.chance)
    errors = cohen_kappa_se(pair_tables(answers, panel.scored.q)[:, 0]).tolist()
    outcomes = outcome_tables(answers, key)[:, 0]
    tables = [paired_table(correct[one.first], correct[one.second]) for one in found]
    raters = [panel.arrays.raters[row] for row in order]
    planned = planned_names(panel)
    return [
        {
            "first": raters[one.first].name,
            "second": raters[one.second].name,
            "kinds": [raters[one.first].kind, raters[one.second].kind],
            **with_fractions(one.results, one.bootstrap_undefined_fraction),
            "cohen_kappa_se": _error(error, one.results["cohen_kappa"]).as_json(),
            "same_wrong_option": same_wrong_option(outcome).as_json(),
            "table": asdict(table),
            "difference": apart.as_json(),
            **_tests(panel, correct[one.first], correct[one.second], table, is_planned=names in planned),
        }
        for one, names, error, outcome, table, apart in zip(
            found,
            (frozenset((raters[one.first].name, raters[one.second].name)) for one in found),
            errors,
            outcomes,
            tables,
            differences(tables),
            strict=True,
        )
    ]


def planned_names(panel: Panel) -> set[frozenset[str]]:
    """The pairs that the plan names: it names them over all tasks."""
    return {one.names for one in planned_pairs(panel.arrays.plan, panel.arrays.raters)} if panel.is_whole else set()


def _tests(
    panel: Panel, first: NDArray[np.int8], second: NDArray[np.int8], table: PairedTable, *, is_planned: bool
) -> dict[str, Any]:
    """Of a planned pair the exact test is planned, with the one by cluster beside it; all others are ``post_hoc``."""
    exact = ((CLUSTERS_IGNORED,) if panel.units.clustered else ()) if is_planned else (POST_HOC,)
    tests = {
        "difference_newcombe": difference(table, DifferenceInterval.NEWCOMBE).as_json(),
        "mcnemar_exact_p": p_value(mcnemar_exact_p(table), table.n, "mcnemar_exact", exact).as_json(),
        "mcnemar_midp": p_value(mcnemar_midp(table), table.n, "mcnemar_midp").as_json(),
        "mcnemar_chi2": chi_square(mcnemar_chi2(table), "mcnemar_chi2"),
    }
    if not panel.units.clustered:
        return tests
    cluster, flags = panel.arrays.questions.cluster, () if is_planned else (POST_HOC,)
    by_cluster = cluster_mcnemar_chi2(first, second, cluster)
    return {
        **tests,
        "difference_cluster": clustered_difference(first, second, cluster).as_json(),
        "cluster_mcnemar_chi2": chi_square(by_cluster, "obuchowski_1998", flags),
    }


# --- groups ---------------------------------------------------------------------------------------
def _groups(panel: Panel) -> dict[str, dict[str, Any]]:
    """Readers, models and all raters among themselves; the mean kappas of their pairs are on one set of draws."""
    arrays, answers = panel.arrays, panel.scored.answers
    rows = {"readers": arrays.readers, "models": arrays.models, "all": np.arange(len(arrays.raters))}
    is_reader = np.array([rater.kind == READER for rater in arrays.raters], dtype=np.bool_)
    found, means = panel_agreement(answers, is_reader, panel.scored.q, panel.units, **panel.chance)
    groups = {name: _group(panel, of, found[name]) for name, of in rows.items()}
    shown = with_fractions(means.results, means.bootstrap_undefined_fraction)
    for name in rows:
        groups[name]["light_kappa"] = shown[f"light_kappa_{name}"]
    groups["readers"]["mean_kappa_readers"] = shown["mean_kappa_readers"]
    groups["all"]["mean_kappa_reader_model"] = shown["mean_kappa_reader_model"]
    groups["all"]["mean_kappa_difference"] = shown["mean_kappa_difference"]
    return groups


def _group(panel: Panel, rows: NDArray[np.intp], found: GroupStatistics) -> dict[str, Any]:
    counts = rating_counts(panel.scored.answers[rows], panel.scored.q)
    entry: dict[str, Any] = {
        "n_raters": len(rows),
        **with_fractions(found.results, found.bootstrap_undefined_fraction),
        "cochran_q": chi_square(cochran_q(panel.scored.correct[rows]), "cochran_q"),
    }
    entry["fleiss_kappa"]["se"] = fleiss_kappa_se(counts)
    entry["gwet_ac1"]["se"] = gwet_ac1_se(counts)
    return entry


# --- values ---------------------------------------------------------------------------------------
def with_fractions(results: Mapping[str, Result], fractions: Mapping[str, float | None]) -> dict[str, dict[str, Any]]:
    """Each result with the share of bootstrap draws in which it was undefined."""
    return {name: one.as_json() | {"bootstrap_undefined_fraction": fractions[name]} for name, one in results.items()}


def p_value(p: float, n: int, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> Result:
    return Result(p, None, n, method, flags) if n else undefined(NO_COMMON_QUESTIONS, n=0, method=method, flags=flags)


def chi_square(test: ChiSquare, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> dict[str, Any]:
    """A test statistic as any other value, with its degrees of freedom and its p."""
    return {
        "value": test.chi2,
        "ci95": None,
        "n": test.n,
        "method": method,
        "flags": list(flags),
        "reason": test.reason,
        "df": test.df,
        "p": test.p,
    }


def _error(error: float, kappa: Result) -> Result:
    """The large-sample standard error of a kappa; undefined where kappa is."""
    if isnan(error):
        return undefined(kappa.reason or NO_VARIATION, n=kappa.n, method=KAPPA_ERROR)
    return Result(error, None, kappa.n, KAPPA_ERROR, kappa.flags)
