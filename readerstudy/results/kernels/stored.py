"""Looking things up in a stored analysis, whichever rule computed it; what its breakdowns show; and what a finished
study tells the forecast of the next one: how often and how far its raters differed. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from statistics import mean, variance
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import asdict

from annotation.enums import Task
from annotation.statistics.kernels.catalogue import CATALOGUE, Scale
from annotation.statistics.kernels.estimate import Value, plain_value
from annotation.statistics.kernels.intervals import FEWEST_TRIALS
from readerstudy.analysis.kernels.panel_result import PairEntry, PairTable, Panel, RaterEntry
from readerstudy.analysis.kernels.result import (
    AFTER_UNBLINDING,
    ALL_TASKS,
    BY_CLUSTER,
    BY_QUESTION,
    COMPLETE_ROWS,
    INFERENCES,
    MODEL,
    MOVER,
    PLANNED_PAIRS,
    PRIMARY,
    READER,
    CalibrationEntry,
    Comparison,
    ResultPart,
    StoredAnalysis,
    StoredRater,
    n_in,
    plain,
    value_named,
)

POST_HOC_MARK = "‡"  # behind the name of a model in a figure


class Pair(Struct, frozen=True):
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
    """Whether all readings came from files, so that the plan by which this is made was made when they were there."""
    return bool(result["plan"]["is_planned"] and result["plan"].get("made_after_readings"))


NAMING = frozenset(
    {"name", "first", "second", "reader", "order", "pairs", "names", "late_readers"}
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
    for panel, found in ((ALL_TASKS, part["mrmc"]), *part["mrmc"]["tasks"].items()):
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


def _own_differences(panel: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Of each model minus each reader, as the pairs have it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for pair in panel["pairs"]:
        if pair["kinds"] == ["model", "reader"]:
            value = pair.get("difference_cluster", pair["difference"])
            found.setdefault(pair["first"], []).append({"reader": pair["second"], **plain_value(value)})
    return found


# --- What a finished study tells the forecast of the next one: how often and how far its ----------
DECIMALS = 4


class PlanningFigures(Struct, frozen=True):
    """Of one model and the readers, over all tasks; named as in readerstudy.design.kernels.assumptions."""

    model: str
    discordant_model_reader: float
    discordant_readers: float
    delta: float
    sd_reader: float

    @property
    def figures(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "model"}


def planning_figures(result: StoredAnalysis) -> list[PlanningFigures]:
    """For each model; none for fewer than two readers, or where a pair has no question in common.

    The spread of readers is that of their accuracies without what questions add to it: s² - ψ/(2K) over 1 - 1/K, with ψ
    the share of questions on which two readers differ, never below 0.
    """
    panel, kinds = result["panels"][ALL_TASKS], kinds_of(result)
    readers = [name for name in order_of(result) if kinds[name] == READER]
    models = [name for name in order_of(result) if kinds[name] == MODEL]
    apart = {names: _apart(one["table"]) for names, one in pairs_of(panel).items() if one["table"]}

    def share(pairs: Iterable[tuple[str, str]]) -> float | None:
        found = [apart.get(frozenset(pair)) for pair in pairs]
        known = [one for one in found if one is not None]
        return mean(known) if known and len(known) == len(found) else None

    accuracies = [one for name in readers if (one := raters_of(panel)[name]["accuracy"]["value"]) is not None]
    among = share((one, other) for place, one in enumerate(readers) for other in readers[:place])
    if among is None or len(accuracies) < len(readers) or panel["n"] < 2:
        return []
    spread = (variance(accuracies) - among / (2 * panel["n"])) / (1 - 1 / panel["n"])
    sd, found = max(0.0, spread) ** 0.5, []
    for model in models:
        accuracy, differs = raters_of(panel)[model]["accuracy"]["value"], share((model, reader) for reader in readers)
        if accuracy is not None and differs is not None:
            figures = (differs, among, accuracy - mean(accuracies), sd)
            found.append(PlanningFigures(model, *(round(one, DECIMALS) for one in figures)))
    return found


def _apart(table: PairTable) -> float | None:
    """Share of questions that exactly one of the two has right."""
    n = n_in(table)
    return (table["first_only"] + table["second_only"]) / n if n else None


# --- The tables of the results page, from the stored JSON. Pure -----------------------------------
def without_flags(one: Value, flags: Collection[str]) -> Value:
    """The same value in a table that says these cautions of all of its rows."""
    return {**one, "flags": [flag for flag in one["flags"] if flag not in flags]}


class BreakdownTable(Struct, frozen=True):
    """Accuracy by a property of the questions: its values with the number of questions, and a row for each rater."""

    values: list[tuple[str, int]]
    rows: list[tuple[str, list[Value]]]

    @property
    def by_value(self) -> list[tuple[str, int, list[Value]]]:
        """A row for each value: a page holds them, however many. The shares stand as ``rows`` name the raters."""
        return [
            (value, n, [shares[place] for _name, shares in self.rows]) for place, (value, n) in enumerate(self.values)
        ]


GRADES = ("easy", "medium", "hard")


def breakdown(result: StoredAnalysis, table: Literal["categories", "difficulties"]) -> BreakdownTable:
    """By a property of the questions; grades in their order, else as stored."""
    name = {"categories": "category", "difficulties": "difficulty"}[table]
    found = [(plain(one)[name], one) for one in result["tables"][table]]
    if all(value in ("", *GRADES) for value, _one in found):
        found = sorted(found, key=lambda named: (*GRADES, "").index(named[0]))
    rows = [(rater, [one["accuracy"][rater] for _name, one in found]) for rater in order_of(result)]
    return BreakdownTable([(value, one["n"]) for value, one in found], rows)


Group = tuple[str, int, dict[str, Value]]  # a task or category, its questions, the accuracy of each rater
MOST_GROUPS = 12  # that a figure draws


def large_tasks(result: StoredAnalysis) -> list[Group]:
    """Those of questions enough for an interval."""
    found = [(task_label(name), panel) for name, panel in result["panels"].items() if name != ALL_TASKS]
    return [
        (label, panel["n"], {one["name"]: one["accuracy"] for one in panel["raters"]})
        for label, panel in found
        if panel["n"] >= FEWEST_TRIALS
    ]


def large_categories(result: StoredAnalysis) -> list[Group]:
    """The largest first; a single one tells nothing beside the accuracy over all questions."""
    found = breakdown(result, "categories").by_value
    large = sorted((one for one in found if one[1] >= FEWEST_TRIALS), key=lambda one: -one[1])[:MOST_GROUPS]
    names = order_of(result)
    groups = [(value or "no category", n, dict(zip(names, shares, strict=True))) for value, n, shares in large]
    return groups if len(groups) > 1 else []
