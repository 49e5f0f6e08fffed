"""What is compared: models with the mean of the readers, as planned and task by task; and planned pairs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import (
    holm_adjusted,
    is_equivalent,
    is_non_inferior,
    is_superior,
    noninferiority_p,
    share_difference,
)
from annotation.statistics.kernels.multireader import (
    Design,
    Inference,
    MultiReader,
    mean_of_readers,
    model_minus_readers,
)
from annotation.statistics.kernels.results import FEW_CLUSTERS, NO_VARIATION, POST_HOC, undefined
from readerstudy.analysis.kernels.arrays import READER, State, StudyArrays
from readerstudy.analysis.kernels.panelling import ALL_TASKS, PanelInputs, shares_of_runs
from readerstudy.analysis.kernels.planned import PlannedPair, planned_pairs
from readerstudy.design.kernels.rules import AnalysisPlan, is_made

PRIMARY, EXPLORATORY, PLANNED_PAIRS = "primary", "exploratory, by task", "planned pairs"  # families
AFTER_UNBLINDING = "post hoc"  # no family: what nobody can have planned is adjusted with nothing
MEAN_OF_READERS = "mean of the readers"
FIXED_READERS = "fixed_readers_random_questions"  # the only one that there is with a single reader
INFERENCES = {
    "random readers, random questions": "random_readers_random_questions",
    "fixed readers, random questions": FIXED_READERS,
    "random readers, fixed questions": "random_readers_fixed_questions",
}
BY_QUESTION, BY_CLUSTER = "by_question", "by_cluster"
COUNTS = ("n_readers", "n_readers_dropped", "n_questions", "n_questions_dropped", "n_cells", "n_missing")
REPLACED = "replaced"
VALUE = ("value", "ci95", "n", "method", "flags", "reason")
DEFAULT = AnalysisPlan()


def inference_of(plan: Mapping[str, Any]) -> str:
    """The inference that the plan names; in words of its own it stands for the default, and the result is post hoc."""
    return INFERENCES.get(str(plan["inference"]).strip().lower(), INFERENCES[DEFAULT.inference])


def is_planned(plan: Mapping[str, Any]) -> bool:
    """Whether the frozen plan names what is computed here, by choices that the program makes.

    Nothing is planned any more once readings were imported after results had been seen.
    """
    return is_made(plan) and not plan.get("late_readers")


def mrmc_results(panels: Sequence[PanelInputs], shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Mean of the readers, and each model minus it, with three inferences; over all tasks and for each task.

    ``shown``: the results of each panel by its name.
    """
    found = {panel.name: _of_panel(panel, shown[panel.name]["pairs"]) for panel in panels}
    return {**found.pop(ALL_TASKS), "tasks": found}


def _of_panel(panel: PanelInputs, pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    arrays, design = panel.arrays, _design(panel)
    readers = panel.scored.correct[arrays.readers]
    inference = FIXED_READERS if len(readers) == 1 else inference_of(arrays.plan)
    return {
        "readers": _value(mean_of_readers(readers, design), inference),
        "models": {
            arrays.raters[row].name: _of_model(panel, row, design, inference, pairs) for row in arrays.models.tolist()
        },
    }


def _of_model(
    panel: PanelInputs, row: int, design: Design, inference: str, pairs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """By the run that stands for the model, or by the mean of its runs where the plan says so."""
    correct, shares = panel.scored.correct, shares_of_runs(panel, row)
    readers = correct[panel.arrays.readers]
    if shares is None:
        found, aside = model_minus_readers(correct[row], readers, design), ""
        own = _by_reader(panel, row, pairs)
    else:
        numbers = panel.arrays.raters[row].facts["mean_of_runs"]
        found, aside = model_minus_readers(shares, readers, design), f", mean of {len(numbers)} runs"
        own = _shares_by_reader(panel, shares)
    return {
        **_value(found, inference, aside),
        "model_accuracy": found.model_accuracy,
        "difference_by_reader": own,
    }


def _design(panel: PanelInputs) -> Design:
    """A reader who was replaced has left the place to another: none is missing."""
    arrays = panel.arrays
    gone = [one for one in arrays.excluded if one["kind"] == READER and one["reason"] != REPLACED]
    cluster = arrays.questions.cluster if panel.units.clustered else None
    return Design(cluster, arrays.state[arrays.readers] != State.NOT_ASSIGNED, len(gone))


def _value(found: MultiReader, inference: str, aside: str = "") -> dict[str, Any]:
    """As any other value, by the planned inference and unit, and then everything that it was made from.

    ``aside``: what the method says further.
    """
    unit = BY_QUESTION if found.by_cluster is None else BY_CLUSTER
    by_unit = found.by_question if found.by_cluster is None else found.by_cluster
    primary: Inference = getattr(by_unit, inference)
    flags = (*found.flags, *primary.flags, *([NO_VARIATION] if primary.reason == NO_VARIATION else []))
    return {
        "value": found.mean,
        "ci95": None if primary.ci95 is None else list(primary.ci95),
        "n": found.n_questions,
        "method": f"{unit} {inference}{aside}",
        "flags": list(dict.fromkeys(flags)),
        "reason": found.reason,
        "unit": unit,
        "inference": inference,
        **{name: getattr(found, name) for name in COUNTS},
        BY_QUESTION: found.by_question.as_json(),
        BY_CLUSTER: None if found.by_cluster is None else found.by_cluster.as_json(),
        "complete_rows": None if found.complete_rows is None else _value(found.complete_rows, inference, aside),
    }


def _by_reader(panel: PanelInputs, model: int, pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The model minus each reader alone: Tango, or by cluster where patients or exams share questions."""
    raters, name = panel.arrays.raters, "difference_cluster" if panel.units.clustered else "difference"
    of_model = {one["second"]: one[name] for one in pairs if one["first"] == raters[model].name}
    readers = [raters[row].name for row in panel.arrays.readers.tolist()]
    return [{"reader": reader} | {key: of_model[reader][key] for key in VALUE} for reader in readers]


def _shares_by_reader(panel: PanelInputs, shares: NDArray[np.float64]) -> list[dict[str, Any]]:
    """The same for a mean of runs, which is no table of right and wrong: t over questions, or by cluster."""
    arrays, cluster = panel.arrays, panel.arrays.questions.cluster if panel.units.clustered else None
    return [
        {"reader": arrays.raters[row].name, **share_difference(shares, panel.scored.correct[row], cluster).as_json()}
        for row in arrays.readers.tolist()
    ]


def comparisons_of(
    mrmc: Mapping[str, Any], plan: Mapping[str, Any], post_hoc: Collection[str] = (), uncounted: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The planned family over all tasks, adjusted within itself; then each task, one exploratory family.

    The models that are ``post_hoc`` come last, with raw p and no claim. Those that are ``uncounted`` are in no family,
    so that the p of the others stay what they were.
    """
    panels = {ALL_TASKS: mrmc, **mrmc["tasks"]}
    every = [(name, model, one) for name, panel in panels.items() for model, one in panel["models"].items()]
    whole = [_tested(*one, plan, PRIMARY) for one in every if one[0] == ALL_TASKS and one[1] not in uncounted]
    by_task = [_tested(*one, plan, EXPLORATORY) for one in every if one[0] != ALL_TASKS and one[1] not in uncounted]
    return [
        *(one for one in (*_claimed(whole), *_claimed(by_task)) if one["first"] not in post_hoc),
        *(_comparison(*one, plan, AFTER_UNBLINDING) for one in every if one[1] in post_hoc),
    ]


def planned_inference(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """By the unit and the inference of the plan."""
    inference: Mapping[str, Any] = found[found["unit"]][found["inference"]]
    return inference


def _tested(panel: str, model: str, found: Mapping[str, Any], plan: Mapping[str, Any], family: str) -> dict[str, Any]:
    """A comparison with its test against the margin of the plan."""
    one = _comparison(panel, model, found, plan, family)
    return one | {"noninferiority_p": _of_margin(found, plan["margin"], one["difference"]["flags"])}


def _claimed(family: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tests of a difference, and those against the margin, are two families; then what may be claimed."""
    return [_judged(one) for one in _adjusted(_adjusted(family), "noninferiority_p")]


def _comparison(
    panel: str, model: str, found: Mapping[str, Any], plan: Mapping[str, Any], family: str
) -> dict[str, Any]:
    planned = family == PRIMARY and is_planned(plan)
    primary = planned_inference(found)
    flags = list(dict.fromkeys([*found["flags"], *([] if planned else [POST_HOC])]))
    return {
        "family": family,
        "planned": planned,
        "panel": panel,
        "first": model,
        "second": MEAN_OF_READERS,
        "difference": {name: found[name] for name in ("value", "ci95", "n", "method", "reason")} | {"flags": flags},
        "p": _p(primary["p"], f"t test, {found['method']}", found, flags),
        "ci90": primary["ci90"],
        "margin": plan["margin"],
    }


def _of_margin(found: Mapping[str, Any], margin: float | None, flags: Sequence[str]) -> dict[str, Any] | None:
    """One-sided, by the planned inference; None without a margin in the plan. No limits, no p."""
    primary = planned_inference(found)
    if not margin:
        return None
    p = None
    if primary["ci95"] is not None:
        p = noninferiority_p(found["value"], primary["se"], primary["df"], margin)
    return _p(p, f"t test, one-sided, {found['method']}", found, flags)


def _p(p: float | None, method: str, found: Mapping[str, Any], flags: Sequence[str]) -> dict[str, Any]:
    reason = None if p is not None else planned_inference(found)["reason"] or found["reason"] or FEW_CLUSTERS
    return {"value": p, "ci95": None, "n": found["n"], "method": method, "flags": list(flags), "reason": reason}


def _judged(one: dict[str, Any]) -> dict[str, Any]:
    """What may be claimed; None without a margin in the plan, and without an interval."""
    ci95, ci90, margin, p_holm = one["difference"]["ci95"], one["ci90"], one["margin"], one["noninferiority_p_holm"]
    is_known = p_holm is not None and p_holm["value"] is not None
    return one | {
        "superior": None if ci95 is None else is_superior(ci95),
        "non_inferior": is_non_inferior(p_holm["value"]) if is_known else None,
        "equivalent": is_equivalent(ci90, margin) if margin and ci90 is not None else None,
    }


OF_PAIR = ("first", "second", "kinds", "table", "difference", "difference_cluster", "cluster_mcnemar_chi2")


def pair_comparisons(whole: Mapping[str, Any], arrays: StudyArrays) -> list[dict[str, Any]]:
    """The pairs that the plan names, as ``pairs`` of all tasks (``whole``) has them: a family of their own.

    A name that no rater has, or several, leaves a comparison without a number, with the reason. A pair with a model
    that is post hoc is in no family.
    """
    entries = {frozenset((one["first"], one["second"])): one for one in whole["pairs"]}
    named = planned_pairs(arrays.plan, arrays.raters)
    counted = [one for one in named if one.is_counted]
    family = _adjusted([_of_pair(one, entries, PLANNED_PAIRS) for one in counted])
    return [
        *(row for row, one in zip(family, counted, strict=True) if not one.is_post_hoc),
        *(_of_pair(one, entries, AFTER_UNBLINDING) for one in named if one.is_post_hoc),
    ]


def _of_pair(pair: PlannedPair, entries: Mapping[frozenset[str], Mapping[str, Any]], family: str) -> dict[str, Any]:
    about = {"family": family, "planned": family == PLANNED_PAIRS, "panel": ALL_TASKS}
    if pair.reason:
        return about | _nobody(pair)
    entry = entries[pair.names]
    return about | {name: entry[name] for name in OF_PAIR if name in entry} | {"p": entry["mcnemar_exact_p"]}


def _nobody(pair: PlannedPair) -> dict[str, Any]:
    names: dict[str, Any] = {"first": pair.first, "second": pair.second, "kinds": [], "table": None}
    return names | {"difference": _nothing(pair.reason, "tango"), "p": _nothing(pair.reason, "mcnemar_exact")}


def _nothing(reason: str, method: str) -> dict[str, Any]:
    return undefined(reason, n=0, method=method).as_json()


def _adjusted(family: list[dict[str, Any]], name: str = "p") -> list[dict[str, Any]]:
    """With the p of this name, where there is one, adjusted over those of the family."""
    tests = [one[name] for one in family]
    adjusted = holm_adjusted([test["value"] if test else None for test in tests])
    n_tests = sum(p is not None for p in adjusted)
    return [
        one | {f"{name}_holm": test | {"value": p, "method": f"holm over {n_tests}"} if test else None}
        for one, test, p in zip(family, tests, adjusted, strict=True)
    ]
