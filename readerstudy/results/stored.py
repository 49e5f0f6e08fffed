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
INFERENCES = {  # as the JSON names them, and in words
    "random_readers_random_questions": "random readers, random questions",
    "fixed_readers_random_questions": "these readers, random questions",
    "random_readers_fixed_questions": "random readers, these questions",
}


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


NAMING = frozenset(
    {"name", "first", "second", "reader", "order", "pairs"}
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


def has_times(result: Json) -> bool:
    return bool(result["time"]["all"]["median"]["n"])
