"""What one world holds that no reader may learn, as random words."""

from __future__ import annotations

import random
from dataclasses import dataclass

from annotation.enums import Difficulty, Task


@dataclass(frozen=True)
class Truth:
    """What one world holds that no reader may learn. Two truths differ in every case and in every part."""

    name: str
    turn: int  # of keys, tasks and difficulties

    def key(self, number: int) -> str:
        return "ABCD"[(number * 7 + self.turn) % 4]

    def task(self, number: int) -> Task:
        return list(Task)[(number * 3 + self.turn) % 5]

    def difficulty(self, number: int) -> Difficulty:
        return list(Difficulty)[(number * 2 + self.turn) % 4]

    def token(self, *parts: object) -> str:
        """A random word of this world; the words of two worlds differ in length as well."""
        chance = random.Random("/".join(map(str, (self.name, *parts))))
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=14 + 5 * self.turn))

    def tokens(self) -> set[str]:
        """All words that ``hide`` and ``hear_others`` plant for a study of up to 100 cases."""
        return {self.token(part, number) for number in range(101) for part in PARTS}


PARTS = (
    *("explanation", "extra", "findings", "impression", "indication", "comparison", "content"),
    *("category", "subcategory", "class"),
    *("question key", "exam key", "path", "prior key"),
    *("remark", "source", "device", "other reader", "facts"),
    *("model", "prompt", "raw", "model explanation", "file"),
    *("run prompt", "endpoint", "request", "response", "picture"),
    *("verdict", "written", "quote", "statement", "location"),
    *("analysis", "report", "link", "job", "skip", "comparison"),
)
ONE, OTHER = Truth("one", 0), Truth("other", 1)
