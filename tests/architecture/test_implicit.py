"""Nothing random, timed or attributed implicitly: seed, time and actor are arguments."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.source import calls_of, imports_of, name_of, rooms, tree_of, where

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


def test_rooms_do_not_read_the_clock() -> None:
    """The time is an argument."""
    in_front = [path for path in rooms() if not works_in_background(path)]
    assert where(in_front, lambda path: [(line, call) for line, call in calls_of(path) if call in CLOCK]) == {}


def test_rooms_are_not_random_without_a_seed() -> None:
    """The seed is an argument."""

    def by_chance(path: Path) -> list[tuple[int, str]]:
        return [
            (node.lineno, ast.unparse(node))
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and not node.args and ast.unparse(node.func) in CHANCE
        ]

    assert where(rooms(), by_chance) == {}
