"""Which part of a comparison somebody sees who is not to see all models. Pure."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from readerstudy.comparing.repeatability import BY_ACCURACY
from readerstudy.results.stored import Json

FEWEST_QUESTIONS = 1_000  # of a bank: below it a submitter sees no score
FEWEST_IN_A_CELL = 30
HIDDEN = "hidden"


def own_only(result: Json, own: Set[str]) -> dict[str, Any]:
    """The rows of these models alone, without ranks and pairs: both would tell about the others.

    Exact scores would give the keys away to whoever submits often enough: they are rounded to 1 %, and left out where
    few questions stand behind them.
    """
    models = [_coarse(one, is_hidden=result["n"] < FEWEST_QUESTIONS) for one in result["models"] if one["model"] in own]
    return {**result, "models": models, "pairs": []}


def run_coarsely(run: Json, *, n: int) -> dict[str, Any]:
    """One run of an own model on a bank of ``n`` questions, by the same rule."""
    kept = {name: value for name, value in run.items() if name != "accuracy_cluster"}
    return {**kept, "accuracy": _rounded(run["accuracy"], is_hidden=n < FEWEST_QUESTIONS)}


def pair_without_accuracy(pair: Json) -> dict[str, Any]:
    """Two runs of an own model on a bank: what is made from their exact accuracies would tell these."""
    return {name: value for name, value in pair.items() if name not in BY_ACCURACY}


def _coarse(model: Json, *, is_hidden: bool) -> dict[str, Any]:
    kept = {name: value for name, value in model.items() if name not in ("rank", "accuracy_cluster")}
    for name in ("accuracy", "accuracy_task_mean"):
        kept[name] = _rounded(kept[name], is_hidden=is_hidden)
    for name in ("tasks", "categories"):
        kept[name] = [_rounded(one, is_hidden=is_hidden) for one in kept[name]]
    return kept


def _rounded(one: Json, *, is_hidden: bool) -> Json:
    if one["value"] is None:
        return one
    if is_hidden or one["n"] < FEWEST_IN_A_CELL:
        return {**one, "value": None, "ci95": None, "reason": HIDDEN, "flags": []}
    limits = one["ci95"] and [round(limit, 2) for limit in one["ci95"]]
    return {**one, "value": round(one["value"], 2), "ci95": limits}
