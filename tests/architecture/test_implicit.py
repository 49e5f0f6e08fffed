"""Nothing random, timed or attributed implicitly: seed, time and actor are arguments."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.source import calls_of, imports_of, name_of, rooms, tree_of

CLOCK = {"timezone.now", "datetime.now", "datetime.utcnow", "date.today", "datetime.datetime.now", "time.time"}
CHANCE = {
    "random.random",
    "random.choice",
    "random.shuffle",
    "random.sample",
    "random.seed",
    "np.random.seed",
    "np.random.rand",
    "np.random.default_rng",
}


def works_in_background(path: Path) -> bool:
    """The queue, and what runs in it: nobody is there to give a time, so each step takes its own."""
    return name_of(path).startswith("annotation/jobs/") or any(
        m.startswith("annotation.jobs.") for m in imports_of(path)
    )


@pytest.mark.parametrize("path", [p for p in rooms() if not works_in_background(p)], ids=name_of)
def test_rooms_do_not_read_the_clock(path: Path) -> None:
    bad = [(line, call) for line, call in calls_of(path) if call in CLOCK]
    assert not bad, f"{name_of(path)}: the time is an argument: {bad}"


@pytest.mark.parametrize("path", rooms(), ids=name_of)
def test_rooms_are_not_random_without_a_seed(path: Path) -> None:
    bad = [
        (node.lineno, ast.unparse(node))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CHANCE and not node.args
    ]
    assert not bad, f"{name_of(path)}: the seed is an argument: {bad}"
