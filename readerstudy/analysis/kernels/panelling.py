"""One panel, the questions of one task or all of them: accuracy of raters, agreement of pairs and of groups. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import Units, units_of
from annotation.statistics.kernels.comparing import (
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
from annotation.statistics.kernels.estimate import (
    CLUSTERS_IGNORED,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    POST_HOC,
    ClusteredAccuracyValue,
    DrawnValue,
    Estimate,
    Value,
    undefined,
)
from annotation.statistics.kernels.group_intervals import GroupStatistics, panel_agreement
from annotation.statistics.kernels.groups import fleiss_kappa_se, gwet_ac1_se, rating_counts
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.pair_tables import outcome_tables, pair_tables, valid_only
from annotation.statistics.kernels.pairs import cohen_kappa_se, same_wrong_option
from annotation.statistics.kernels.proportions import (
    ShareInterval,
    accuracy,
    accuracy_bank_mix,
    accuracy_task_mean,
    clustered_accuracy,
    clustered_proportion,
    proportion,
    run_spread,
)
from readerstudy.analysis.kernels.arrays import TASKS, State, StudyArrays, strata_of
from readerstudy.analysis.kernels.panel_result import Groups, PairEntry, Panel, RaterEntry, Runs
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, N_OPTIONS, READER
from readerstudy.analysis.kernels.scoring import Scored, Settings, has_guess, planned_pairs, right_or_wrong

KAPPA_ERROR = "fleiss_cohen_everitt_1969"


class Chance(TypedDict):
    seed: int
    panel: str
    draws: int


@dataclass(frozen=True)
class PanelInputs:
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


def panels_of(arrays: StudyArrays, scored: Scored, settings: Settings) -> list[PanelInputs]:
    """All tasks first, then each task with a question. By cluster throughout, once any cluster has two questions."""
    clustered = units_of(arrays.questions.cluster).clustered
    everything = np.ones(len(arrays.questions), dtype=np.bool_)
    kept = {ALL_TASKS: everything}
    for place, task in enumerate(TASKS):
        if (arrays.questions.task == place).any():
            kept[task] = arrays.questions.task == place
    return [
        PanelInputs(
            name, arrays.without(~one), scored.only(one), _units(arrays.questions.cluster[one], clustered), settings
        )
        for name, one in kept.items()
    ]


def _units(cluster: NDArray[np.int32], clustered: bool) -> Units:
    units = units_of(cluster)
    return Units(units.number, units.m, clustered) if clustered else units


def panel_results(panel: PanelInputs) -> Panel:
    return {
        "n": len(panel.arrays.questions),
        "n_clusters": panel.units.m,
        "unit": "cluster" if panel.units.clustered else "question",
        "raters": [rater_entry(panel, row) for row in range(len(panel.arrays.raters))],
        **_expert_ceiling(panel),
        "pairs": _pairs(panel),
        "groups": _groups(panel),
    }


class _Experts(TypedDict):
    expert_ceiling: NotRequired[Value]
    expert_ceiling_cluster: NotRequired[ClusteredAccuracyValue]


def _expert_ceiling(panel: PanelInputs) -> _Experts:
    """How often blind answers of reviewers are the key; by patient or exam too, where several answers share one."""
    experts = panel.arrays.experts
    if experts is None or not experts.n.any():
        return {}
    answered = experts.n > 0
    _present, cluster = np.unique(panel.arrays.questions.cluster[answered], return_inverse=True)
    n = np.bincount(cluster, experts.n[answered]).astype(np.int64)
    right = np.bincount(cluster, experts.right[answered]).astype(np.int64)
    found: _Experts = {"expert_ceiling": proportion(int(right.sum()), int(n.sum())).as_json()}
    if n.max() > 1:
        found["expert_ceiling_cluster"] = clustered_proportion(right, n).as_json()
    return found


# --- raters ---------------------------------------------------------------------------------------
def rater_entry(panel: PanelInputs, row: int) -> RaterEntry:
    """Accuracy of one rater by every rule, and how often each state occurred."""
    rater, correct, questions = panel.arrays.raters[row], panel.scored.correct[row], panel.arrays.questions
    state = panel.arrays.state[row]

    def n_of(one: State) -> int:
        return int((state == one).sum())

    entry: RaterEntry = {
        "name": rater.name,
        "kind": rater.kind,
        "n": int((correct >= 0).sum()),
        "n_correct": int((correct == 1).sum()),
        "n_answered": n_of(State.ANSWERED),
        "n_declined": n_of(State.DECLINED),
        "n_timed_out": n_of(State.TIMED_OUT),
        "n_late": n_of(State.LATE),
        "n_unconfirmed": n_of(State.UNCONFIRMED),
        "n_failed": n_of(State.FAILED),
        "n_missing": n_of(State.MISSING),
        "accuracy": accuracy(correct).as_json(),
        "accuracy_clopper_pearson": accuracy(correct, ShareInterval.CLOPPER_PEARSON).as_json(),
    }
    if n_missing := n_of(State.MISSING):  # what absence could hide
        n, right = entry["n"] + n_missing, entry["n_correct"]
        entry["accuracy_missing_wrong"] = proportion(right, n).as_json()
        entry["accuracy_missing_right"] = proportion(right + n_missing, n).as_json()
    if panel.scored.guessed is not None:
        entry["n_guessed"] = int(has_guess(panel.arrays)[row].sum())
        entry["accuracy_best_guess"] = accuracy(panel.scored.guessed[row]).as_json()
    if panel.units.clustered:
        entry["accuracy_cluster"] = clustered_accuracy(correct, questions.cluster).as_json()
    if panel.is_whole:
        present, task = np.unique(questions.task, return_inverse=True)
        entry["accuracy_task_mean"] = accuracy_task_mean(
            correct, task, len(present), clustered=panel.units.clustered
        ).as_json()
        strata = strata_of(panel.arrays)
        if strata is not None:
            entry["accuracy_bank_mix"] = accuracy_bank_mix(correct, *strata, clustered=panel.units.clustered).as_json()
        if rater.kind == MODEL:
            entry["runs"] = _runs(panel, row)
    return entry


def _runs(panel: PanelInputs, row: int) -> Runs:
    """Accuracy of every run of a model that counts, the named one among them, and how far they are apart.

    A run that came in after results had been seen has a line of its own and enters neither mean nor spread.
    """
    of_run, repeats = correct_of_runs(panel, row), panel.arrays.repeats
    is_late = panel.arrays.raters[row].is_post_hoc  # all of it
    late = set() if repeats is None or is_late else repeats.late_of(row)
    found = {number: accuracy(of_run[number]).as_json() for number in sorted(of_run)}
    for number in late:
        found[number]["flags"] += [POST_HOC]
    spread = run_spread([one["value"] for number, one in found.items() if number not in late])
    return {
        "n_runs": spread.n_runs,
        "accuracy_of_runs": [{"number": number, **one} for number, one in found.items()],
        "accuracy_run_mean": spread.mean.as_json(),
        "accuracy_run_sd": spread.sd.as_json(),
    }


def correct_of_runs(panel: PanelInputs, row: int) -> dict[int, NDArray[np.int8]]:
    """Right or wrong of every run of a model, by its number."""
    arrays, repeats = panel.arrays, panel.arrays.repeats
    of_run = {int(arrays.raters[row].facts.get("number", 1)): panel.scored.correct[row]}
    if repeats is not None:
        correct = right_or_wrong(repeats.state, repeats.option, arrays.questions.key, panel.settings)
        of_run |= {number: one for (of, number), one in zip(repeats.of, correct, strict=True) if of == row}
    return of_run


def shares_of_runs(panel: PanelInputs, row: int) -> NDArray[np.float64] | None:
    """Where the plan names the mean of runs: of each question the share of those that count which are right; -1: none.

    None where a single run represents the model.
    """
    numbers = panel.arrays.raters[row].facts.get("mean_of_runs")
    if not numbers:
        return None
    of_run = correct_of_runs(panel, row)
    correct = np.stack([of_run[number] for number in numbers])
    n = (correct >= 0).sum(axis=0)
    return np.where(n > 0, (correct == 1).sum(axis=0) / np.maximum(n, 1), -1.0)


# --- pairs ----------------------------------------------------------------------------------------
def _pairs(panel: PanelInputs) -> list[PairEntry]:
    """Every pair of raters; of a model and a reader the model is the first: differences read model minus reader."""
    order = np.concatenate([panel.arrays.models, panel.arrays.readers])
    answers, correct = panel.scored.answers[order], panel.scored.correct[order]
    key = panel.arrays.questions.key
    found = pair_statistics(answers, correct, key, panel.scored.q, panel.units, n_valid=N_OPTIONS, **panel.chance)
    errors = cohen_kappa_se(pair_tables(answers, panel.scored.q)[:, 0]).tolist()
    outcomes = outcome_tables(valid_only(answers, N_OPTIONS), key)[:, 0]
    tables = [paired_table(correct[one.first], correct[one.second]) for one in found]
    raters = [panel.arrays.raters[row] for row in order]
    planned = planned_names(panel)
    entries = [
        {
            "first": raters[one.first].name,
            "second": raters[one.second].name,
            "kinds": [raters[one.first].kind, raters[one.second].kind],
            **_drawn(one.results, one.bootstrap_undefined_fraction),
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
    return cast("list[PairEntry]", entries)  # statistics come by name; a test holds that all of them are declared


def planned_names(panel: PanelInputs) -> set[frozenset[str]]:
    """The pairs that the plan names: it names them over all tasks."""
    is_planned = panel.is_whole and not panel.arrays.plan.get("seen_before")
    pairs = planned_pairs(panel.arrays.plan, panel.arrays.raters) if is_planned else []
    return {one.names for one in pairs if not one.is_post_hoc}


def _tests(
    panel: PanelInputs, first: NDArray[np.int8], second: NDArray[np.int8], table: PairedTable, *, is_planned: bool
) -> dict[str, Any]:
    """Of a planned pair the exact test is planned, with the one by cluster beside it; all others are ``post_hoc``."""
    exact = ((CLUSTERS_IGNORED,) if panel.units.clustered else ()) if is_planned else (POST_HOC,)
    tests = {
        "difference_newcombe": difference(table, DifferenceInterval.NEWCOMBE).as_json(),
        "mcnemar_exact_p": _p_value(mcnemar_exact_p(table), table.n, "mcnemar_exact", exact).as_json(),
        "mcnemar_midp": _p_value(mcnemar_midp(table), table.n, "mcnemar_midp").as_json(),
        "mcnemar_chi2": mcnemar_chi2(table).as_json("mcnemar_chi2"),
    }
    if not panel.units.clustered:
        return tests
    cluster, flags = panel.arrays.questions.cluster, () if is_planned else (POST_HOC,)
    by_cluster = cluster_mcnemar_chi2(first, second, cluster)
    return {
        **tests,
        "difference_cluster": clustered_difference(first, second, cluster).as_json(),
        "cluster_mcnemar_chi2": by_cluster.as_json("obuchowski_1998", flags),
    }


# --- groups ---------------------------------------------------------------------------------------
def _groups(panel: PanelInputs) -> Groups:
    """Readers, models and all raters among themselves; the means over their pairs are on the same draws.

    Of models those that the plan counts, or whoever has seen the results could choose what readers are compared with.
    """
    raters, scored = panel.arrays.raters, panel.scored
    chosen = np.array([row for row, rater in enumerate(raters) if rater.is_counted], dtype=np.intp)
    is_reader = np.array([raters[row].kind == READER for row in chosen], dtype=np.bool_)
    rows = {"readers": chosen[is_reader], "models": chosen[~is_reader], "all": chosen}
    found, means = panel_agreement(
        scored.answers[chosen],
        scored.correct[chosen],
        panel.arrays.questions.key,
        is_reader,
        scored.q,
        panel.units,
        n_valid=N_OPTIONS,
        assigned=panel.arrays.state[chosen] != State.NOT_ASSIGNED,
        **panel.chance,
    )
    groups = {name: _group(panel, of, found[name]) for name, of in rows.items()}
    for name, one in _drawn(means.results, means.bootstrap_undefined_fraction).items():
        if name.startswith("light_kappa_"):
            groups[name.removeprefix("light_kappa_")]["light_kappa"] = one
        else:
            groups["readers" if name.endswith("_readers") else "all"][name] = one
    groups["all"] |= {
        "n_pairs_readers": means.n_pairs_readers,
        "n_pairs_reader_model": means.n_pairs_reader_model,
    }
    return cast("Groups", groups)


def _group(panel: PanelInputs, rows: NDArray[np.intp], found: GroupStatistics) -> dict[str, Any]:
    counts = rating_counts(panel.scored.answers[rows], panel.scored.q)
    entry: dict[str, Any] = {
        "n_raters": len(rows),
        **_drawn(found.results, found.bootstrap_undefined_fraction),
        "cochran_q": cochran_q(panel.scored.correct[rows]).as_json("cochran_q"),
    }
    entry["fleiss_kappa"]["se"] = fleiss_kappa_se(counts)
    entry["gwet_ac1"]["se"] = gwet_ac1_se(counts)
    return entry


def _drawn(results: Mapping[str, Estimate], fractions: Mapping[str, float | None]) -> dict[str, DrawnValue]:
    """Each result with the share of bootstrap draws in which it was undefined."""
    return {name: {**one.as_json(), "bootstrap_undefined_fraction": fractions[name]} for name, one in results.items()}


def _p_value(p: float, n: int, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> Estimate:
    return Estimate(p, None, n, method, flags) if n else undefined(NO_COMMON_QUESTIONS, n=0, method=method, flags=flags)


def _error(error: float, kappa: Estimate) -> Estimate:
    """The large-sample standard error of a kappa; undefined where kappa is."""
    if isnan(error):
        return undefined(kappa.reason or NO_VARIATION, n=kappa.n, method=KAPPA_ERROR)
    return Estimate(error, None, kappa.n, KAPPA_ERROR, kappa.flags)
