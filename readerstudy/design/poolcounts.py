"""How many questions of a bank a study could use, by task and difficulty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from annotation.enums import Difficulty, Task
from annotation.models import QuestionBank
from readerstudy.design.kernels.drawing import Cell
from readerstudy.design.pool import drawable, pool_of


@dataclass(frozen=True)
class PoolCell:
    """Current questions of one cell: accepted by review, and those that would need a reason."""

    task: str
    difficulty: str
    n_accepted: int
    n_other: int

    @property
    def n(self) -> int:
        return self.n_accepted + self.n_other


def pool_cells(bank: QuestionBank) -> dict[Cell, PoolCell]:
    """Every cell of the vocabularies, in their order; counted by the database, so that a large bank costs little."""
    every = drawable(bank).order_by().values_list("task", "difficulty").annotate(n=Count("pk"))
    counts: Counter[Cell] = Counter({(task, difficulty): n for task, difficulty, n in every})
    accepted = Counter(one.cell for one in pool_of(bank))
    cells = [(task, difficulty) for task in Task.values() for difficulty in Difficulty.values()]
    return {cell: PoolCell(*cell, accepted[cell], counts[cell] - accepted[cell]) for cell in cells}
