"""Functions that other apps add to what this one does, each under a name of its own: who must not see which question,
to whom else an image is shown, and who reads with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from annotation.models import Image

Function = TypeVar("Function")


class Hooks(Generic[Function]):
    """Iterates over the functions in the order in which they came."""

    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}

    def register(self, name: str, function: Function) -> None:
        """Add a function. Apps call this when they start.

        Registering the same one again under its name changes nothing; another one under it raises ValueError.
        """
        if self._functions.get(name, function) is not function:
            raise ValueError(f"{name} is there already")
        self._functions[name] = function

    def unregister(self, name: str) -> None:
        self._functions.pop(name, None)

    def items(self) -> ItemsView[str, Function]:
        return self._functions.items()

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())


@dataclass(frozen=True)
class Conflict:
    """This person must not see this question; ``reason`` is the sentence that a coordinator reads."""

    person_id: int
    question_id: int
    reason: str


QuestionRule = Callable[[Collection[int], Collection[int]], Iterable[Conflict]]
question_rules: Hooks[QuestionRule] = Hooks()  # of ids of people and of questions: the conflicts among them


def conflicts(people: Collection[int], questions: Collection[int]) -> list[Conflict]:
    """What all rules say about these people and questions."""
    return [conflict for rule in question_rules for conflict in rule(people, questions)]


ShowRule = Callable[[int, Image, datetime], bool]
show_rules: Hooks[ShowRule] = Hooks()  # of the id of a person, and an available image: whether it is shown to them then
ImageUse = Callable[[int], Iterable[str]]
image_uses: Hooks[ImageUse] = Hooks()  # of the id of an image: the names of what people read with it as it was frozen

BankReading = Callable[[int, int], str]
bank_readings: Hooks[BankReading] = Hooks()  # of a person and a bank: the study under way in which they read there


def is_shown(person_id: int, image: Image, at: datetime) -> bool:
    return any(rule(person_id, image, at) for rule in show_rules)


def read_in(image_id: int) -> list[str]:
    """The names of all that is being read with this image."""
    return [name for use in image_uses for name in use(image_id)]


def reads_in_bank(person_id: int, bank_id: int) -> str:
    """The name of a study that is not over in which the person reads questions of the bank; empty: none."""
    return next(filter(None, (reading(person_id, bank_id) for reading in bank_readings)), "")
