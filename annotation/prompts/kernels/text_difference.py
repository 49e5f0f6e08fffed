"""Two texts side by side: of each the runs that both have, and those that it alone has. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_COMPARED = 6_000  # characters of two differing passages together; the words of longer ones are not compared
_words = re.compile(r"\s+|\S+")


class Run(NamedTuple):
    """A stretch of one text; ``is_own``: the other text does not have it."""

    text: str
    is_own: bool


class Sides(NamedTuple):
    """The runs of a side, joined, give its text."""

    before: list[Run]
    after: list[Run]


def side_by_side(before: str, after: str) -> Sides:
    """Lines are compared first, then the words of those that differ."""
    sides = Sides([], [])
    for one, other in _passages(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        for old, new in _differing_words(one, other) if one != other else [(one, other)]:
            is_own = old != new
            sides.before.extend([Run(old, is_own)] if old else [])
            sides.after.extend([Run(new, is_own)] if new else [])
    return sides


def _passages(old: list[str], new: list[str], *, autojunk: bool = True) -> Iterator[tuple[str, str]]:
    """Equal pairs and differing ones, in order."""
    for _act, a, b, c, d in SequenceMatcher(None, old, new, autojunk=autojunk).get_opcodes():
        yield "".join(old[a:b]), "".join(new[c:d])


def _differing_words(one: str, other: str) -> Iterator[tuple[str, str]]:
    if len(one) + len(other) > MOST_COMPARED:
        yield one, other
        return
    yield from _passages(_words.findall(one), _words.findall(other), autojunk=False)
