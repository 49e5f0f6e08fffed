"""What is compared: models with the mean of the readers, as planned and task by task; and planned pairs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readerstudy.analysis.arrays import StudyArrays
from readerstudy.analysis.panelling import ALL_TASKS, POST_HOC, Panel
from readerstudy.analysis.planned import PlannedPair, planned_pairs
from readerstudy.design.rules import AnalysisPlan
from readerstudy.statistics.comparing import holm_adjusted, is_equivalent, is_non_inferior, is_superior
from readerstudy.statistics.multireader import Inference, MultiReader, mean_of_readers, model_minus_readers
from readerstudy.statistics.results import undefined

PRIMARY, EXPLORATORY, PLANNED_PAIRS = "primary", "exploratory, by task", "planned pairs"
MEAN_OF_READERS = "mean of the readers"
FIXED_READERS = "fixed_readers_random_questions"  # the only one that there is with a single reader
INFERENCES = {
    "random readers, random questions": "random_readers_random_questions",
    "fixed readers, random questions": FIXED_READERS,
    "random readers, fixed questions": "random_readers_fixed_questions",
}
DEFAULT = AnalysisPlan()


def inference_of(plan: Mapping[str, Any]) -> str:
    """The inference that the plan names; in words of its own it stands for the default, and the result is post hoc."""
    return INFERENCES.get(str(plan["inference"]).strip().lower(), INFERENCES[DEFAULT.inference])


def is_planned(plan: Mapping[str, Any]) -> bool:
    """Whether the frozen plan names what is computed here: each model minus the readers, by a known inference."""
    return plan["primary"] == DEFAULT.primary and str(plan["inference"]).strip().lower() in INFERENCES


def mrmc_results(panels: Sequence[Panel]) -> Mapping[str, Any]:
    """Mean of the readers, and each model minus it, with three inferences; over all tasks and for each task."""
    shown = {panel.name: _of_panel(panel) for panel in panels}
    return {**shown.pop(ALL_TASKS), "tasks": shown}


def _of_panel(panel: Panel) -> dict[str, Any]:
    correct, readers = panel.scored.correct, panel.arrays.readers
    inference = FIXED_READERS if len(readers) == 1 else inference_of(panel.arrays.plan)
    return {
        "readers": _value(mean_of_readers(correct[readers]), inference),
        "models": {
            panel.arrays.raters[row].name: _value(model_minus_readers(correct[row], correct[readers]), inference)
            for row in panel.arrays.models.tolist()
        },
    }


def _value(found: MultiReader, inference: str) -> dict[str, Any]:
    """As any other value, by the inference of the plan, and then everything that it was made from."""
    primary: Inference = getattr(found, inference)
    return {
        "value": found.mean,
        "ci95": None if primary.ci95 is None else list(primary.ci95),
        "n": found.n_questions,
        "method": inference,
        **found.as_json(),
        "flags": list(dict.fromkeys((*found.flags, *primary.flags))),
        "reason": found.reason,
    }


def comparisons_of(mrmc: Mapping[str, Any], plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The planned family over all tasks, adjusted within itself; then each task, one exploratory family."""
    whole = [_comparison(ALL_TASKS, model, one, plan, PRIMARY) for model, one in mrmc["models"].items()]
    by_task = [
        _comparison(task, model, one, plan, EXPLORATORY)
        for task, panel in mrmc["tasks"].items()
        for model, one in panel["models"].items()
    ]
    return _adjusted(whole) + _adjusted(by_task)


def _comparison(
    panel: str, model: str, found: Mapping[str, Any], plan: Mapping[str, Any], family: str
) -> dict[str, Any]:
    planned = family == PRIMARY and is_planned(plan)
    primary = found[found["method"]]
    flags = [*found["flags"], *([] if planned else [POST_HOC])]
    return {
        "family": family,
        "planned": planned,
        "panel": panel,
        "first": model,
        "second": MEAN_OF_READERS,
        "difference": {name: found[name] for name in ("value", "ci95", "n", "method", "reason")} | {"flags": flags},
        "p": _p(primary["p"], found, flags),
        "ci90": primary["ci90"],
        "margin": plan["margin"],
        "superior": None if primary["ci95"] is None else is_superior(primary["ci95"]),
        **_against_margin(primary, plan["margin"]),
    }


def _against_margin(primary: Mapping[str, Any], margin: float | None) -> dict[str, bool | None]:
    """None without a margin in the plan, and without an interval."""
    known = margin is not None and primary["ci95"] is not None and primary["ci90"] is not None
    return {
        "non_inferior": is_non_inferior(primary["ci95"], margin) if known and margin else None,
        "equivalent": is_equivalent(primary["ci90"], margin) if known and margin else None,
    }


def _p(p: float | None, found: Mapping[str, Any], flags: Sequence[str]) -> dict[str, Any]:
    reason = None if p is not None else found[found["method"]]["reason"] or found["reason"]
    return {
        "value": p,
        "ci95": None,
        "n": found["n"],
        "method": f"t test, {found['method']}",
        "flags": list(flags),
        "reason": reason,
    }


OF_PAIR = ("first", "second", "kinds", "table", "difference", "difference_cluster", "cluster_mcnemar_chi2")


def pair_comparisons(whole: Mapping[str, Any], arrays: StudyArrays) -> list[dict[str, Any]]:
    """The pairs that the plan names, as ``pairs`` of all tasks (``whole``) has them: a family of their own.

    A name that no rater has, or several, leaves a comparison without a number, with the reason.
    """
    entries = {frozenset((one["first"], one["second"])): one for one in whole["pairs"]}
    declared = {"family": PLANNED_PAIRS, "planned": True, "panel": ALL_TASKS}
    return _adjusted(
        [
            declared | (_nobody(pair) if pair.reason else _tested(entries[pair.names]))
            for pair in planned_pairs(arrays.plan, arrays.raters)
        ]
    )


def _tested(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in OF_PAIR if name in entry} | {"p": entry["mcnemar_exact_p"]}


def _nobody(pair: PlannedPair) -> dict[str, Any]:
    names: dict[str, Any] = {"first": pair.first, "second": pair.second, "kinds": [], "table": None}
    return names | {"difference": _nothing(pair.reason, "tango"), "p": _nothing(pair.reason, "mcnemar_exact")}


def _nothing(reason: str, method: str) -> dict[str, Any]:
    return undefined(reason, n=0, method=method).as_json()


def _adjusted(family: list[dict[str, Any]]) -> list[dict[str, Any]]:
    adjusted = holm_adjusted([one["p"]["value"] for one in family])
    n_tests = sum(p is not None for p in adjusted)
    return [
        one | {"p_holm": one["p"] | {"value": p, "method": f"holm over {n_tests}"}}
        for one, p in zip(family, adjusted, strict=True)
    ]
