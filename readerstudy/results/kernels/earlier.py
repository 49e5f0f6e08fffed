"""Analyses by earlier rules in the form of now, so that pages can show them: no number is changed or added. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from readerstudy.results.kernels.inferences import BY_CLUSTER, BY_QUESTION, COMPLETE_ROWS, INFERENCES, MOVER
from readerstudy.results.kernels.stored import ALL_TASKS

OF_VALUE = ("value", "ci95", "n", "method", "flags", "reason")
NOT_COMPUTED = "earlier_rule"  # why there is no value


def in_the_form_of_now(result: dict[str, Any]) -> dict[str, Any]:
    """Changes ``result`` in place where it is by an earlier rule, and returns it."""
    for part in (result, *result["variants"].values()):
        if "unit" not in part["mrmc"]["readers"]:
            _multi_reader(part)
    return result


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
            found.setdefault(pair["first"], []).append(
                {"reader": pair["second"], **{name: value[name] for name in OF_VALUE}}
            )
    return found
