"""From arrays and settings to the result of an analysis, as plain values. Pure: the same inputs, the same result."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.estimate import POST_HOC, SEEN_BEFORE, SETTINGS_DIFFER
from readerstudy.analysis.kernels.arrays import StudyArrays, Voided
from readerstudy.analysis.kernels.breakdowns import items_of, tables_of, time_results
from readerstudy.analysis.kernels.contrasts import (
    comparisons_of,
    inference_of,
    is_planned,
    mrmc_results,
    pair_comparisons,
)
from readerstudy.analysis.kernels.labels import CAME_LATE, flag_post_hoc, flag_unplanned, flag_values
from readerstudy.analysis.kernels.panelling import panel_results, panels_of
from readerstudy.analysis.kernels.result import ALL_TASKS, DECLARED, MODEL, READER, ResultPart, StoredAnalysis, Variant
from readerstudy.analysis.kernels.scoring import Settings, score, with_doubts, with_slips

BEST_GUESS = (
    "as accuracy, with the best guess in place of “cannot tell”; “cannot tell” without a guess is wrong in both; wilson"
)
FORMAT = "reader-study-analysis 1"
AFTERWARDS = {"without_all_voided", "with_late_readers", "without_readers_who_left"}  # variants that are post hoc
RULE = "analysis-4"  # change the name when the same inputs would give other numbers


def compute(arrays: StudyArrays, settings: Settings) -> StoredAnalysis:
    """The whole result, see docs/analysis.md.

    ``panels``, ``comparisons``, ``mrmc``, ``time`` and ``tables`` are the primary result: without the questions that
    were voided before unblinding, and without the readers who came after it. ``variants`` holds the same over other
    questions, answers or readers, each with a label.
    """
    everybody, arrays = arrays, arrays.without_raters(arrays.came_late)
    voided = arrays.questions.voided
    before = voided == Voided.BEFORE_UNBLINDING
    primary = results_of(arrays.without(before), settings)
    found = {
        "format": FORMAT,
        "study": arrays.study,
        "slug": arrays.slug,
        "protocol_sha256": arrays.protocol_sha256,
        "simulated": arrays.simulated,
        "settings": {**settings.as_json(), **_rules(arrays)},
        "plan": {
            **arrays.plan,
            "is_planned": is_planned(arrays.plan, settings),
            "made_after_readings": arrays.made_elsewhere,
            **({"runs_of_nobody": [list(one) for one in arrays.plan_meets_nobody]} if arrays.plan_meets_nobody else {}),
        },
        "raters": [{"name": one.name, "kind": one.kind, **one.facts} for one in arrays.raters],
        "strata": [{"task": task, "difficulty": level, "n_pool": n} for task, level, n in arrays.cells],
        "order": _order(primary, arrays.post_hoc),
        "questions": {
            "n_cases": len(arrays.questions),
            "n_scored": int((~before).sum()),
            "n_voided_before_unblinding": int(before.sum()),
            "n_voided_declared": sum(one.get("decided") == DECLARED for one in arrays.excluded),
            "n_voided_after_unblinding": int((voided == Voided.AFTER_UNBLINDING).sum()),
        },
        "excluded": [
            *(dict(one) for one in arrays.excluded),
            *({"kind": READER, "reader": name, "reason": CAME_LATE} for name in sorted(everybody.came_late)),
        ],
        **primary,
        "variants": _variants(arrays, everybody, settings),
        "items": items_of(arrays, score(arrays, settings)),
    }
    return cast("StoredAnalysis", found)  # plan and raters hold what a study has; a test holds that all is declared


def results_of(arrays: StudyArrays, settings: Settings) -> ResultPart:
    """Everything that is computed over one set of questions."""
    scored = score(arrays, settings)
    panels = panels_of(arrays, scored, settings)
    shown = {panel.name: panel_results(panel) for panel in panels}
    mrmc, tables = mrmc_results(panels, shown), tables_of(arrays, scored)
    flag_post_hoc(shown, mrmc, tables, arrays.post_hoc)
    found: ResultPart = {
        "panels": shown,
        "comparisons": [
            *comparisons_of(mrmc, arrays.plan, arrays.post_hoc, arrays.uncounted),
            *pair_comparisons(shown[ALL_TASKS], arrays),
        ],
        "mrmc": mrmc,
        "time": time_results(arrays),
        "tables": tables,
    }
    if settings.differs:
        flag_unplanned(found, SETTINGS_DIFFER)
    if arrays.plan.get("seen_before"):
        flag_values(found, SEEN_BEFORE)
    return found


def _variants(arrays: StudyArrays, everybody: StudyArrays, settings: Settings) -> dict[str, Variant]:
    """What the numbers would be otherwise; a variant that changes nothing is left out."""
    voided = arrays.questions.voided
    found: dict[str, Variant] = {}
    if (voided == Voided.BEFORE_UNBLINDING).any():
        found["with_voided"] = _variant("sensitivity: no case voided", arrays, settings, voided < 0)
    if (voided == Voided.AFTER_UNBLINDING).any():
        label = "sensitivity: without the cases voided after unblinding too"
        found["without_all_voided"] = _variant(label, arrays, settings, voided != Voided.NO)
    kept_out = voided == Voided.BEFORE_UNBLINDING
    kept = arrays.without(kept_out)
    meant = with_slips(kept)
    if (meant != kept.option).any():
        label = "sensitivity: reported slips counted as they were meant"
        found["with_slips"] = _variant(label, replace(kept, option=meant), settings, kept.questions.voided < 0)
    state = with_doubts(kept)
    if (state != kept.state).any():
        label = "sensitivity: answers whose time is in doubt counted as too late"
        found["doubts_as_late"] = _variant(label, replace(kept, state=state), settings, kept.questions.voided < 0)
    if everybody.came_late:
        label = "post hoc: with the readers who came after results had been seen"
        found["with_late_readers"] = _variant(label, everybody, settings, kept_out)
    if arrays.left_late:
        label = "post hoc: without the readers who left after results had been seen"
        stayed = arrays.without_raters(arrays.left_late)
        found["without_readers_who_left"] = _variant(label, stayed, settings, kept_out)
    for name in AFTERWARDS & found.keys():
        flag_unplanned(found[name], POST_HOC)
    return found


def _variant(label: str, arrays: StudyArrays, settings: Settings, dropped: NDArray[np.bool_]) -> Variant:
    kept = arrays.without(dropped)
    return {"label": label, "n": len(kept.questions), **results_of(kept, settings)}


def _order(primary: ResultPart, post_hoc: Set[str]) -> list[str]:
    """Readers first, then models by accuracy over all tasks, those that are post hoc last: the rows of every table."""
    raters = primary["panels"][ALL_TASKS]["raters"]
    models = [one for one in raters if one["kind"] == MODEL]
    models.sort(key=lambda one: (one["name"] in post_hoc, -(one["accuracy"]["value"] or 0.0)))
    return [one["name"] for one in raters if one["kind"] == READER] + [one["name"] for one in models]


def _rules(arrays: StudyArrays) -> dict[str, str]:
    """What is the same in every analysis of this version, stated where two people could read a number differently."""
    guesses = {"accuracy_best_guess": BEST_GUESS} if arrays.guess is not None else {}
    return {
        "accuracy": "right answers over the scored questions that the rater did not miss; wilson",
        **guesses,
        "agreement": "questions that both raters answered with an option (pairwise deletion)",
        "interval": "percentile bootstrap, PCG64 seeded with seed, panel and family",
        "cluster": arrays.cluster_level,
        "difference": "tango",
        "p": f"mcnemar exact for pairs, {_pairs_rule(arrays)}; "
        "t test of the multi-reader analysis, MOVER where random readers are fewer than five, holm within the family",
        "inference": inference_of(arrays.plan),
        "small_n": "accuracy below 10, agreement below 30; agreement below 10 has no interval",
    }


def _pairs_rule(arrays: StudyArrays) -> str:
    return "holm over the planned ones, the others post hoc" if arrays.plan.get("pairs") else "never planned"
