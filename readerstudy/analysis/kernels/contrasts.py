"""What is compared: models with the mean of the readers, as planned and task by task; and planned pairs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import (
    Mover,
    equivalence_p,
    holm_adjusted,
    is_equivalent,
    is_non_inferior,
    is_superior,
    noninferiority_p,
    share_difference,
)
from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    NO_VARIATION,
    POST_HOC,
    InferenceValue,
    Value,
    plain_value,
    undefined,
)
from annotation.statistics.kernels.multireader import Design, MultiReader, mean_of_readers, model_minus_readers
from readerstudy.analysis.kernels.arrays import State, StudyArrays
from readerstudy.analysis.kernels.labels import ANSWERED_NOTHING, WITHDRAWN
from readerstudy.analysis.kernels.panel_result import (
    ModelDifference,
    MultiReaderFigures,
    MultiReaderPanel,
    MultiReaderResult,
    MultiReaderValue,
    PairEntry,
    Panel,
    ReaderDifference,
)
from readerstudy.analysis.kernels.panelling import PanelInputs, shares_of_runs
from readerstudy.analysis.kernels.result import (
    AFTER_UNBLINDING,
    ALL_TASKS,
    BY_CLUSTER,
    BY_MOVER,
    BY_QUESTION,
    EXPLORATORY,
    FIXED,
    FIXED_QUESTIONS,
    PLANNED_PAIRS,
    PRIMARY,
    RANDOM,
    READER,
    Comparison,
    inference_in,
    is_by_mover,
    method_in,
    plain,
    unit_in,
)
from readerstudy.analysis.kernels.scoring import PlannedPair, Settings, planned_pairs
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, is_made

MEAN_OF_READERS = "mean of the readers"
NAMED = {  # in a plan
    "random readers, random questions": RANDOM,
    "fixed readers, random questions": FIXED,
    "random readers, fixed questions": FIXED_QUESTIONS,
}
DEFAULT = AnalysisPlan()


def inference_of(plan: Mapping[str, Any]) -> str:
    """The inference that the plan names; words of its own count as the default, and the result is post hoc."""
    return NAMED.get(str(plan["inference"]).strip().lower(), NAMED[DEFAULT.inference])


def is_planned(plan: Mapping[str, Any], settings: Settings | None = None) -> bool:
    """Whether the frozen plan names what is computed here, by choices that the program makes.

    Not by other ``settings``, nor where a result over the readings had been seen before the plan or they were there.
    """
    return is_made(plan) and not plan.get("seen_before") and not (settings and settings.differs)


def mrmc_results(panels: Sequence[PanelInputs], shown: Mapping[str, Panel]) -> MultiReaderResult:
    """Mean of the readers, and each model minus it, with three inferences; over all tasks and for each task.

    ``shown``: the results of each panel by its name.
    """
    found = {panel.name: _of_panel(panel, shown[panel.name]["pairs"]) for panel in panels}
    return {**found.pop(ALL_TASKS), "tasks": found}


def _of_panel(panel: PanelInputs, pairs: Sequence[PairEntry]) -> MultiReaderPanel:
    arrays, design = panel.arrays, _design(panel)
    readers = panel.scored.correct[arrays.readers]
    inference = FIXED if len(readers) == 1 else inference_of(arrays.plan)
    mean = _value(mean_of_readers(readers, design), inference)
    if bounds := _bounds(panel):
        mean["missing_wrong"], mean["missing_right"] = (
            _figures(mean_of_readers(one, design), inference) for one in bounds
        )
    return {
        "readers": mean,
        "models": {
            arrays.raters[row].name: _of_model(panel, row, design, inference, pairs) for row in arrays.models.tolist()
        },
    }


def _of_model(
    panel: PanelInputs, row: int, design: Design, inference: str, pairs: Sequence[PairEntry]
) -> ModelDifference:
    """By the run that represents the model, or by the mean of its runs where the plan says so."""
    correct, shares = panel.scored.correct, shares_of_runs(panel, row)
    model, aside = correct[row] if shares is None else shares, ""
    if shares is None:
        own = _by_reader(panel, row, pairs)
    else:
        aside = f", mean of {len(panel.arrays.raters[row].facts['mean_of_runs'])} runs"
        own = _shares_by_reader(panel, shares)
    found = model_minus_readers(model, correct[panel.arrays.readers], design)
    more = {"model_accuracy": found.model_accuracy, "difference_by_reader": own}
    of_model = cast("ModelDifference", {**_value(found, inference, aside), **more})
    if bounds := _bounds(panel):
        of_model["missing_wrong"], of_model["missing_right"] = (
            _figures(model_minus_readers(model, one, design), inference, aside) for one in bounds
        )
    return of_model


def _bounds(panel: PanelInputs) -> list[NDArray[np.int8]]:
    """What absence could hide: right and wrong of the readers with every missing answer wrong, and with every one
    right; nothing where none is missing."""
    readers = panel.arrays.readers
    missing = panel.arrays.state[readers] == State.MISSING
    correct = panel.scored.correct[readers]
    return [np.where(missing, value, correct).astype(np.int8) for value in (0, 1)] if missing.any() else []


def _design(panel: PanelInputs) -> Design:
    """A reader who was replaced has left the place to another, and one who came late was never in the plan."""
    arrays = panel.arrays
    gone = [one for one in arrays.excluded if one["kind"] == READER and one["reason"] in (WITHDRAWN, ANSWERED_NOTHING)]
    cluster = arrays.questions.cluster if panel.units.clustered else None
    return Design(cluster, arrays.state[arrays.readers] != State.NOT_ASSIGNED, len(gone))


def _value(found: MultiReader, inference: str, aside: str = "") -> MultiReaderValue:
    rows = found.complete_rows
    complete = None if rows is None else _figures(rows, inference, aside)
    return cast("MultiReaderValue", {**plain(_figures(found, inference, aside)), "complete_rows": complete})


def _figures(found: MultiReader, inference: str, aside: str = "") -> MultiReaderFigures:
    """As any other value, by the planned inference and unit, and then everything that it was made from.

    ``aside``: what the method says further.
    """
    unit = BY_QUESTION if found.by_cluster is None else BY_CLUSTER
    by_unit = found.by_question if found.by_cluster is None else found.by_cluster
    stored = by_unit.as_json()
    primary = inference_in(stored, inference)
    flags = (*found.flags, *primary["flags"], *([NO_VARIATION] if primary["reason"] == NO_VARIATION else []))
    return {
        "value": found.mean,
        "ci95": primary["ci95"],
        "n": found.n_questions,
        "method": f"{method_in(stored, unit, inference)}{aside}",
        "flags": list(dict.fromkeys(flags)),
        "reason": found.reason,
        "unit": unit,
        "inference": inference,
        "n_readers": found.n_readers,
        "n_readers_dropped": found.n_readers_dropped,
        "n_questions": found.n_questions,
        "n_questions_dropped": found.n_questions_dropped,
        "n_cells": found.n_cells,
        "n_missing": found.n_missing,
        "by_question": found.by_question.as_json(),
        "by_cluster": None if found.by_cluster is None else found.by_cluster.as_json(),
    }


def _by_reader(panel: PanelInputs, model: int, pairs: Sequence[PairEntry]) -> list[ReaderDifference]:
    """The model minus each reader alone: Tango, or by cluster where patients or exams share questions."""
    raters = panel.arrays.raters
    of_model: dict[str, Value] = {
        one["second"]: one["difference_cluster"] if panel.units.clustered else one["difference"]
        for one in pairs
        if one["first"] == raters[model].name
    }
    readers = [raters[row].name for row in panel.arrays.readers.tolist()]
    return [{"reader": reader, **plain_value(of_model[reader])} for reader in readers]


def _shares_by_reader(panel: PanelInputs, shares: NDArray[np.float64]) -> list[ReaderDifference]:
    """The same for a mean of runs, which is no table of right and wrong: t over questions, or by cluster."""
    arrays, cluster = panel.arrays, panel.arrays.questions.cluster if panel.units.clustered else None
    return [
        {"reader": arrays.raters[row].name, **share_difference(shares, panel.scored.correct[row], cluster).as_json()}
        for row in arrays.readers.tolist()
    ]


def comparisons_of(
    mrmc: MultiReaderResult, plan: Mapping[str, Any], post_hoc: Collection[str] = (), uncounted: Collection[str] = ()
) -> list[Comparison]:
    """The planned family over all tasks, adjusted within itself; then each task, one exploratory family.

    The models that are ``post_hoc`` come last, with raw p and no claim. Those that are ``uncounted`` are in no family,
    so that the p of the others stay what they were.
    """
    panels: dict[str, MultiReaderPanel] = {ALL_TASKS: mrmc, **mrmc["tasks"]}
    every = [(name, model, one) for name, panel in panels.items() for model, one in panel["models"].items()]
    whole = [_tested(*one, plan, PRIMARY) for one in every if one[0] == ALL_TASKS and one[1] not in uncounted]
    by_task = [_tested(*one, plan, EXPLORATORY) for one in every if one[0] != ALL_TASKS and one[1] not in uncounted]
    return [
        *(one for one in (*_claimed(whole), *_claimed(by_task)) if one["first"] not in post_hoc),
        *(_comparison(*one, plan, AFTER_UNBLINDING) for one in every if one[1] in post_hoc),
    ]


def planned_inference(found: MultiReaderValue) -> InferenceValue:
    """By the unit and the inference of the plan."""
    return inference_in(unit_in(found, found["unit"]), found["inference"])


def _tested(panel: str, model: str, found: MultiReaderValue, plan: Mapping[str, Any], family: str) -> Comparison:
    """A comparison with its tests against the margin of the plan."""
    one = _comparison(panel, model, found, plan, family)
    one["noninferiority_p"], one["equivalence_p"] = _of_margin(found, plan["margin"], one["difference"]["flags"])
    return one


def _claimed(family: list[Comparison]) -> list[Comparison]:
    """Tests of a difference, of non-inferiority and of equivalence are three families; then what may be claimed."""
    _adjust(family)
    below, within = ([one["noninferiority_p"] for one in family], [one["equivalence_p"] for one in family])
    for one, not_inferior, equivalent in zip(family, _adjusted(below), _adjusted(within), strict=True):
        one["noninferiority_p_holm"], one["equivalence_p_holm"] = not_inferior, equivalent
        _judge(one)
    return family


def _comparison(panel: str, model: str, found: MultiReaderValue, plan: Mapping[str, Any], family: str) -> Comparison:
    planned = family == PRIMARY and is_planned(plan)
    primary = planned_inference(found)
    flags = list(dict.fromkeys([*found["flags"], *([] if planned else [POST_HOC])]))
    return {
        "family": family,
        "planned": planned,
        "panel": panel,
        "first": model,
        "second": MEAN_OF_READERS,
        "difference": {
            "value": found["value"],
            "ci95": found["ci95"],
            "n": found["n"],
            "method": found["method"],
            "reason": found["reason"],
            "flags": flags,
        },
        "p": _p(primary["p"], _test_of(found), found, flags),
        "ci90": primary["ci90"],
        "margin": plan["margin"],
    }


def _of_margin(
    found: MultiReaderValue, margin: float | None, flags: Sequence[str]
) -> tuple[Value, Value] | tuple[None, None]:
    """Not inferior, and equivalent, by the planned inference; None without a margin in the plan. No limits, no p."""
    by_unit, primary, value = unit_in(found, found["unit"]), planned_inference(found), found["value"]
    se, df, reader, case = primary["se"], primary["df"], by_unit["reader_part"], by_unit["case_part"]
    below, within = None, None
    if not margin:
        return None, None
    if value is not None and is_by_mover(by_unit, found["inference"]) and reader is not None and case is not None:
        mover = Mover(value, reader, case, found["n_readers"])
        below, within = mover.noninferiority_p(margin), mover.equivalence_p(margin)
    elif primary["ci95"] is not None and value is not None and se is not None and df is not None:
        below, within = noninferiority_p(value, se, df, margin), equivalence_p(value, se, df, margin)
    return (
        _p(below, _test_of(found, ", one-sided"), found, flags),
        _p(within, _test_of(found, ", two one-sided"), found, flags),
    )


def _test_of(found: MultiReaderValue, sides: str = "") -> str:
    """ "t test, one-sided, by_question fixed_readers_random_questions"."""
    by_mover = is_by_mover(unit_in(found, found["unit"]), found["inference"])
    return f"{'MOVER' if by_mover else 't'} test{sides}, {found['method'].replace(BY_MOVER, '')}"


def _p(p: float | None, method: str, found: MultiReaderValue, flags: Sequence[str]) -> Value:
    reason = None if p is not None else planned_inference(found)["reason"] or found["reason"] or FEW_CLUSTERS
    return {"value": p, "ci95": None, "n": found["n"], "method": method, "flags": list(flags), "reason": reason}


def _judge(one: Comparison) -> None:
    """What may be claimed; None without a margin in the plan, and without an interval."""
    ci95, tests = one["difference"]["ci95"], (one["noninferiority_p_holm"], one["equivalence_p_holm"])
    below, within = (test["value"] if test else None for test in tests)
    one["superior"] = None if ci95 is None else is_superior(ci95)
    one["non_inferior"] = None if below is None else is_non_inferior(below)
    one["equivalent"] = None if within is None else is_equivalent(within)


def pair_comparisons(whole: Panel, arrays: StudyArrays) -> list[Comparison]:
    """The pairs that the plan names, as ``pairs`` of all tasks (``whole``) has them: a family of their own.

    A name that no rater has, or several, leaves a comparison without a number, with the reason. A pair with a model
    that is post hoc is in no family.
    """
    entries = {frozenset((one["first"], one["second"])): one for one in whole["pairs"]}
    named = planned_pairs(arrays.plan, arrays.raters)
    counted = [one for one in named if one.is_counted]
    family = [_of_pair(one, entries, PLANNED_PAIRS, is_planned=not arrays.plan.get("seen_before")) for one in counted]
    _adjust(family)
    return [
        *(row for row, one in zip(family, counted, strict=True) if not one.is_post_hoc),
        *(_of_pair(one, entries, AFTER_UNBLINDING) for one in named if one.is_post_hoc),
    ]


OF_PAIR = ("first", "second", "kinds", "table", "difference", "difference_cluster", "cluster_mcnemar_chi2")


def _of_pair(
    pair: PlannedPair, entries: Mapping[frozenset[str], PairEntry], family: str, *, is_planned: bool = False
) -> Comparison:
    about: dict[str, Any] = {"family": family, "planned": is_planned, "panel": ALL_TASKS}
    if pair.reason:
        about |= {"first": pair.first, "second": pair.second, "kinds": [], "table": None}
        about["difference"] = undefined(pair.reason, n=0, method="tango").as_json()
        about["p"] = undefined(pair.reason, n=0, method="mcnemar_exact").as_json()
    else:
        entry = cast("Mapping[str, Any]", entries[pair.names])
        about |= {name: entry[name] for name in OF_PAIR if name in entry}
        about["p"] = entry["mcnemar_exact_p"]
    return cast("Comparison", about)


def _adjust(family: list[Comparison]) -> None:
    """Give each test of the family its p adjusted by Holm."""
    for one, adjusted in zip(family, _adjusted([one["p"] for one in family]), strict=True):
        one["p_holm"] = cast("Value", adjusted)


def _adjusted(tests: Sequence[Value | None]) -> list[Value | None]:
    """One family; None is no member of it."""
    adjusted = holm_adjusted([test["value"] if test else None for test in tests])
    method = f"holm over {sum(p is not None for p in adjusted)}"
    return [{**test, "value": p, "method": method} if test else None for test, p in zip(tests, adjusted, strict=True)]
