"""Functions that other apps add to what this one does, each under a name of its own."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator
from typing import Generic, TypeVar

Function = TypeVar("Function")


class NameTaken(ValueError):
    """Two functions want the same name."""


class Hooks(Generic[Function]):
    """Iterates over the functions in the order in which they came."""

    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}

    def register(self, name: str, function: Function) -> None:
        """Add a function. Apps call this when they start.

        Registering the same one again under its name changes nothing; another one under it raises NameTaken.
        """
        if self._functions.get(name, function) is not function:
            raise NameTaken(f"{name} is there already")
        self._functions[name] = function

    def unregister(self, name: str) -> None:
        self._functions.pop(name, None)

    def items(self) -> ItemsView[str, Function]:
        return self._functions.items()

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())
