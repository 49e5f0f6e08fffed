"""What a study keeps of a draw: what was asked for, by which rule, and how many each cell gave. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.enums import Difficulty, Task
from readerstudy.design.kernels.drawing import ANY, RULE, CellCount, Drawing, DrawRequest, Quota
from readerstudy.design.kernels.planfields import PlanRefused, Reader
from readerstudy.design.kernels.rules import Rules

KNOWN = {
    *("rule", "n", "quotas", "n_practice", "n_sets", "n_shared", "accepted_because"),
    *("cells", "n_pool"),
}


def request_document(request: DrawRequest, accepted_because: str = "") -> dict[str, Any]:
    """The part that asks; ``accepted_because`` makes every question of the bank a candidate."""
    return {
        "rule": RULE,
        "n": request.n,
        "quotas": [{"n": quota.n, "task": quota.task, "difficulty": quota.difficulty} for quota in request.quotas],
        "n_practice": request.n_practice,
        "n_sets": request.n_sets,
        "n_shared": request.n_shared,
        "accepted_because": accepted_because,
    }


def drawn_document(request: DrawRequest, drawing: Drawing, accepted_because: str = "") -> dict[str, Any]:
    """What was asked for and what came of it."""
    return {
        **request_document(request, accepted_because),
        "n_pool": sum(cell.n_pool for cell in drawing.cells),
        "cells": [[cell.task, cell.difficulty, cell.n_pool, cell.n_drawn] for cell in drawing.cells],
    }


def read_request(draw: Mapping[str, Any], rules: Rules) -> DrawRequest:
    """What is asked for; the rules say whether a patient may come twice. Raises PlanRefused."""
    reader = Reader(draw, "draw")
    reader.refuse_others(KNOWN)
    if reader.text("rule", RULE) != RULE:
        raise PlanRefused("draw, rule", f"This program draws by the rule {RULE}.")
    reader.text("accepted_because", "")
    for cell in reader.items("cells"):
        _check_cell(cell)
    return DrawRequest(
        n=reader.number("n", 200, least=1, most=100_000),
        quotas=tuple(_read_quota(one) for one in reader.items("quotas")),
        n_practice=reader.number("n_practice", 0, least=0, most=100),
        n_sets=reader.number("n_sets", 1, least=1, most=20),
        n_shared=reader.number("n_shared", 0, least=0, most=100_000),
        several_per_patient=rules.several_per_patient,
    )


def _check_cell(cell: Reader) -> None:
    match cell.data:
        case [str(task), str(difficulty), int(), int()] if task in Task.values() and difficulty in Difficulty.values():
            return
    raise PlanRefused(cell.place, "A task, a difficulty and two numbers are expected.")


def _read_quota(reader: Reader) -> Quota:
    reader.refuse_others({"n", "task", "difficulty"})
    quota = Quota(
        n=reader.number("n", 0, least=0, most=100_000),
        task=reader.text("task", ANY),
        difficulty=reader.text("difficulty", ANY),
    )
    for name, value, known in (("task", quota.task, Task), ("difficulty", quota.difficulty, Difficulty)):
        if value not in (ANY, *known.values()):
            raise PlanRefused(reader.at(name), f"One of: {ANY}, {', '.join(filter(None, known.values()))}.")
    return quota


def cells_of(draw: Mapping[str, Any]) -> list[CellCount]:
    """What each cell gave, of a stored draw; empty for a list of cases."""
    return [CellCount(*cell) for cell in draw.get("cells", [])]
