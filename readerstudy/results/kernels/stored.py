"""Looking things up in a stored analysis, whichever rule computed it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from annotation.enums import Task
from annotation.statistics.kernels.catalogue import CATALOGUE, Scale
from annotation.statistics.kernels.estimate import Value, plain_value
from readerstudy.analysis.kernels.panel_result import PairEntry, Panel, RaterEntry
from readerstudy.analysis.kernels.result import (
    AFTER_UNBLINDING,
    ALL_TASKS,
    BY_CLUSTER,
    BY_QUESTION,
    COMPLETE_ROWS,
    INFERENCES,
    MOVER,
    PLANNED_PAIRS,
    PRIMARY,
    CalibrationEntry,
    Comparison,
    ResultPart,
    StoredAnalysis,
    StoredRater,
    value_named,
)

POST_HOC_MARK = "‡"  # behind the name of a model in a figure


@dataclass(frozen=True)
class Pair:
    """What a panel says of two raters. ``entry`` names them in its own order: the model comes first."""

    first: str
    second: str
    entry: PairEntry


def panel_names(result: ResultPart) -> list[str]:
    """All tasks, then the tasks that have a question."""
    return list(result["panels"])


def task_label(panel: str) -> str:
    """What people read: "Differential diagnosis"."""
    return panel if panel == ALL_TASKS else Task(panel).label


def order_of(result: StoredAnalysis) -> list[str]:
    """Readers, then models by accuracy: the rows of every table and heatmap."""
    return list(result["order"])


def asks_guesses(result: StoredAnalysis) -> bool:
    """Whether "cannot tell" was asked for a best guess, so that accuracy is given with guesses, too."""
    return "accuracy_best_guess" in result["settings"]


def kinds_of(result: StoredAnalysis) -> dict[str, str]:
    return {one["name"]: one["kind"] for one in result["raters"]}


def runs_of(result: StoredAnalysis) -> dict[str, str]:
    """The public id of the run of predictions behind each model."""
    return {one["name"]: one["run"] for one in result["raters"] if one.get("run")}


def raters_of(panel: Panel) -> dict[str, RaterEntry]:
    return {one["name"]: one for one in panel["raters"]}


def pairs_of(panel: Panel) -> dict[frozenset[str], PairEntry]:
    return {frozenset((one["first"], one["second"])): one for one in panel["pairs"]}


def pair_between(panel: Panel, first: str, second: str) -> Pair:
    """Raises KeyError for raters that the panel does not hold."""
    entry = pairs_of(panel)[frozenset((first, second))]
    return Pair(entry["first"], entry["second"], entry)


def planned_comparisons(result: ResultPart) -> list[Comparison]:
    """Each model minus the mean of the readers over all tasks; the largest difference first, undefined ones last."""
    rows = [one for one in result["comparisons"] if one["family"] == PRIMARY]
    return sorted(rows, key=lambda one: (one["difference"]["value"] is None, -(one["difference"]["value"] or 0.0)))


def planned_pairs(result: ResultPart) -> list[Comparison]:
    """The pairs that the plan names, tested over all tasks and adjusted among themselves; in the order of the plan."""
    return [one for one in result["comparisons"] if one["family"] == PLANNED_PAIRS]


def post_hoc_comparisons(result: ResultPart) -> list[Comparison]:
    """Of models that nobody can have planned: each minus the mean of the readers over all tasks, then pairs."""
    return [one for one in result["comparisons"] if one["family"] == AFTER_UNBLINDING and one["panel"] == ALL_TASKS]


def post_hoc_differences(result: ResultPart) -> list[Comparison]:
    """Those of them that hold a model against the mean of the readers."""
    return [one for one in post_hoc_comparisons(result) if "table" not in one]


def post_hoc_models(result: StoredAnalysis) -> list[StoredRater]:
    """The models whose run came in or was named after unblinding; analyses by earlier rules tell none."""
    return [one for one in result["raters"] if one.get("post_hoc")]


def runs_in_mean(result: StoredAnalysis) -> dict[str, int]:
    """Of each model whose mean of runs is compared with the readers, as the plan says: over how many runs."""
    return {one["name"]: len(one["mean_of_runs"]) for one in result["raters"] if one.get("mean_of_runs")}


def is_by_plan(model: StoredRater) -> bool:
    """Whether what represents the model is what the plan names, and was there before anybody saw a result."""
    return bool(model.get("planned_run_met")) and not model.get("post_hoc")


def left_models(result: StoredAnalysis) -> list[StoredRater]:
    """Planned models whose run was withdrawn, replaced or not named any more after unblinding: they stay."""
    return [one for one in result["raters"] if one.get("left_because")]


def is_made_after_readings(result: StoredAnalysis) -> bool:
    """Whether all readings came from files, so that the plan was made when they were there."""
    return bool(result["plan"].get("made_after_readings"))


NAMING = frozenset(
    {"name", "first", "second", "reader", "order", "pairs", "late_readers"}
)  # what the JSON calls raters by, beside keys


def with_names(result: StoredAnalysis, names: Mapping[str, str]) -> StoredAnalysis:
    """The same result with other names of raters: ``names`` holds them by the stored ones. Nothing else changes."""

    def renamed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {names.get(name, name): renamed(one, name) for name, one in value.items()}
        if isinstance(value, list) and (key in NAMING or (value and isinstance(value[0], dict))):
            return [renamed(one, key) for one in value]
        return names.get(value, value) if key in NAMING and isinstance(value, str) else value

    return cast("StoredAnalysis", {name: renamed(one, name) for name, one in result.items()})


def expert_ceiling(panel: Panel) -> list[Value]:
    """How often blind reviewers equal the key, and the same with an interval by cluster where answers share one."""
    found: list[Value] = [panel["expert_ceiling"]] if "expert_ceiling" in panel else []
    return [*found, panel["expert_ceiling_cluster"]] if "expert_ceiling_cluster" in panel else found


def calibrations(result: ResultPart) -> list[CalibrationEntry]:
    """Of each rater who stated a chance of being right; readers first. Earlier rules had none."""
    return list(result["tables"].get("calibration", ()))


def is_dotted(kappa: Value) -> bool:
    """In a heatmap: on few questions, or with few disagreements, so that its interval says little."""
    return kappa["value"] is not None and not {"small_n", "few_disagreements"}.isdisjoint(kappa["flags"])


FEWEST_FOR_KAPPA = 10  # questions: of fewer a kappa is computed and kept, but not shown
KAPPAS = [one.name for one in CATALOGUE.values() if one.about == "pair" and one.scale is Scale.COEFFICIENT]


def shown_kappa(one: Value) -> Value:
    """As pages, figures and printed tables have it: without a value on few questions."""
    if one["value"] is None or one["n"] >= FEWEST_FOR_KAPPA:
        return one
    return {**one, "value": None, "ci95": None, "flags": [], "reason": "hidden"}


def with_shown_kappas(entry: PairEntry) -> PairEntry:
    """The same for every coefficient of a pair."""
    shown = {name: shown_kappa(one) for name in KAPPAS if (one := value_named(entry, name))}
    return cast("PairEntry", {**entry, **shown})


def has_times(result: ResultPart) -> bool:
    return bool(result["time"]["all"]["median"]["n"])


# --- earlier rules --------------------------------------------------------------------------------
NOT_COMPUTED = "earlier_rule"  # why there is no value


def in_the_form_of_now(result: dict[str, Any]) -> StoredAnalysis:
    """An analysis by an earlier rule in the form of this one; no number is changed or added. Changes ``result``."""
    for part in (result, *result["variants"].values()):
        if "unit" not in part["mrmc"]["readers"]:
            _multi_reader(part)
    return cast("StoredAnalysis", result)


def _multi_reader(part: dict[str, Any]) -> None:
    """Up to analysis-2: complete questions alone, which were their own unit."""
    for panel, found in _panels(part["mrmc"]):
        own = _own_differences(part["panels"][panel])
        for name, one in (("", found["readers"]), *found["models"].items()):
            by_question = {inference: one.pop(inference) for inference in INFERENCES}
            one |= {
                "unit": BY_QUESTION,
                "inference": one["method"],
                "method": f"{BY_QUESTION} {one['method']}",
                BY_QUESTION: {**by_question, "n_units": one["n"], "reader_part": None, "case_part": None, MOVER: None},
                BY_CLUSTER: None,
                COMPLETE_ROWS: None,
                "n_readers_dropped": 0,
                "n_questions_dropped": one.pop("n_dropped"),
                "n_cells": one["n_readers"] * one["n"],
                "n_missing": 0,
                "difference_by_reader": own.get(name, []),
            }
    for one in part["comparisons"]:
        if "ci90" in one:
            nothing = {**one["p"], "value": None, "reason": NOT_COMPUTED} if one["margin"] else None
            one |= {"noninferiority_p": nothing, "noninferiority_p_holm": nothing}


def _panels(mrmc: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield ALL_TASKS, mrmc
    yield from mrmc["tasks"].items()


def _own_differences(panel: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Of each model minus each reader, as the pairs have it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for pair in panel["pairs"]:
        if pair["kinds"] == ["model", "reader"]:
            value = pair.get("difference_cluster", pair["difference"])
            found.setdefault(pair["first"], []).append({"reader": pair["second"], **plain_value(value)})
    return found
