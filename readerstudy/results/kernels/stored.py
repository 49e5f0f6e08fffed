"""Looking things up in the stored JSON of an analysis, see docs/analysis.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.enums import Task

Json = Mapping[str, Any]
ALL_TASKS = "All tasks"
READER, MODEL = "reader", "model"
N_OPTIONS = 4
PRIMARY, PLANNED_PAIRS = "primary", "planned pairs"  # families of comparisons
POST_HOC = "post hoc"  # comparisons in no family
POST_HOC_MARK = "‡"  # behind the name of a model in a figure
DECLARED = "declared_with_readings"  # of a voided case: when and by whom that was decided


@dataclass(frozen=True)
class Pair:
    """What a panel says of two raters. ``entry`` names them in its own order: the model comes first."""

    first: str
    second: str
    entry: Json


def panel_names(result: Json) -> list[str]:
    """All tasks, then the tasks that have a question."""
    return list(result["panels"])


def task_label(panel: str) -> str:
    """What people read: "Differential diagnosis"."""
    return panel if panel == ALL_TASKS else Task(panel).label


def order_of(result: Json) -> list[str]:
    """Readers, then models by accuracy: the rows of every table and heatmap."""
    return list(result["order"])


def asks_guesses(result: Json) -> bool:
    """Whether "cannot tell" was asked for a best guess, so that accuracy is given with guesses, too."""
    return "accuracy_best_guess" in result["settings"]


def kinds_of(result: Json) -> dict[str, str]:
    return {one["name"]: one["kind"] for one in result["raters"]}


def runs_of(result: Json) -> dict[str, str]:
    """The public id of the run of predictions behind each model."""
    return {one["name"]: one["run"] for one in result["raters"] if one.get("run")}


def raters_of(panel: Json) -> dict[str, Json]:
    return {one["name"]: one for one in panel["raters"]}


def pairs_of(panel: Json) -> dict[frozenset[str], Json]:
    return {frozenset((one["first"], one["second"])): one for one in panel["pairs"]}


def pair_between(panel: Json, first: str, second: str) -> Pair:
    """Raises KeyError for raters that the panel does not hold."""
    entry = pairs_of(panel)[frozenset((first, second))]
    return Pair(entry["first"], entry["second"], entry)


def planned_comparisons(result: Json) -> list[Json]:
    """Each model minus the mean of the readers over all tasks; the largest difference first, undefined ones last."""
    rows = [one for one in result["comparisons"] if one["family"] == PRIMARY]
    return sorted(rows, key=lambda one: (one["difference"]["value"] is None, -(one["difference"]["value"] or 0.0)))


def planned_pairs(result: Json) -> list[Json]:
    """The pairs that the plan names, tested over all tasks and adjusted among themselves; in the order of the plan."""
    return [one for one in result["comparisons"] if one["family"] == PLANNED_PAIRS]


def post_hoc_comparisons(result: Json) -> list[Json]:
    """Of models that nobody can have planned: each minus the mean of the readers over all tasks, then pairs."""
    return [one for one in result["comparisons"] if one["family"] == POST_HOC and one["panel"] == ALL_TASKS]


def post_hoc_differences(result: Json) -> list[Json]:
    """Those of them that hold a model against the mean of the readers."""
    return [one for one in post_hoc_comparisons(result) if "table" not in one]


def post_hoc_models(result: Json) -> list[Json]:
    """The models whose run came in or was named after unblinding; analyses by earlier rules tell none."""
    return [one for one in result["raters"] if one.get("post_hoc")]


def runs_in_mean(result: Json) -> dict[str, int]:
    """Of each model whose mean of runs stands against the readers, as the plan says: over how many runs."""
    return {one["name"]: len(one["mean_of_runs"]) for one in result["raters"] if one.get("mean_of_runs")}


def is_by_plan(model: Json) -> bool:
    """Whether what stands for the model is what the plan names, and was there before anybody saw a result."""
    return bool(model.get("planned_run_met")) and not model["post_hoc"]


def left_models(result: Json) -> list[Json]:
    """Planned models whose run was withdrawn, replaced or not named any more after unblinding: they stay."""
    return [one for one in result["raters"] if one.get("left_because")]


def is_made_after_readings(result: Json) -> bool:
    """Whether all readings came from files, so that the plan was made when they were there."""
    return bool(result["plan"].get("made_after_readings"))


NAMING = frozenset(
    {"name", "first", "second", "reader", "order", "pairs", "late_readers"}
)  # what the JSON calls raters by, beside keys


def with_names(result: Json, names: Mapping[str, str]) -> dict[str, Any]:
    """The same result with other names of raters: ``names`` holds them by the stored ones. Nothing else changes."""

    def told(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {names.get(name, name): told(one, name) for name, one in value.items()}
        if isinstance(value, list) and (key in NAMING or (value and isinstance(value[0], dict))):
            return [told(one, key) for one in value]
        return names.get(value, value) if key in NAMING and isinstance(value, str) else value

    return {name: told(one, name) for name, one in result.items()}


def expert_ceiling(panel: Json) -> list[Json]:
    """How often blind reviewers equal the key, and the same with an interval by cluster where answers share one."""
    return [panel[name] for name in ("expert_ceiling", "expert_ceiling_cluster") if name in panel]


def calibrations(result: Json) -> list[Json]:
    """Of each rater who stated a chance of being right; readers first. Earlier rules had none."""
    return list(result["tables"].get("calibration", ()))


def is_dotted(kappa: Json) -> bool:
    """In a heatmap: on few questions, or with few disagreements, so that its interval says little."""
    return kappa["value"] is not None and not {"small_n", "few_disagreements"}.isdisjoint(kappa["flags"])


FEWEST_FOR_KAPPA = 10  # questions: of fewer a kappa is computed and kept, but not shown
KAPPAS = ("cohen_kappa", "scott_pi", "gwet_ac1", "brennan_prediger", "error_consistency")


def shown_kappa(one: Json) -> Json:
    """As pages, figures and printed tables have it: without a value on few questions."""
    if one["value"] is None or one["n"] >= FEWEST_FOR_KAPPA:
        return one
    return {**one, "value": None, "ci95": None, "flags": [], "reason": "hidden"}


def with_shown_kappas(entry: Json) -> Json:
    """The same for every kappa of a pair."""
    return {**entry, **{name: shown_kappa(entry[name]) for name in KAPPAS if name in entry}}


def has_times(result: Json) -> bool:
    return bool(result["time"]["all"]["median"]["n"])
