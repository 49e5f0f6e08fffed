"""What is kept of a record beside its columns, so that the export of a bank writes an equal one. Pure.

It is in the JSON text ``AnswerKey.extra`` under ``source``, outside of what is hashed: the layout (names of the
fields in their order, as a number in the list of the import, since most records of a file have the same), how many
images it names, and what its columns do not give back (null or "", a number or its text).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from annotation.questionbank.kernels.fields import encode_in_order

MOST_LAYOUTS = 200  # in the list of an import; a further one is stored with its record


class KeptSource(NamedTuple):
    layout: tuple[str, ...]
    n_images: int
    as_written: dict[str, Any]


NOTHING_KEPT = KeptSource((), 0, {})  # of a record that an earlier version imported


class Layouts:
    """The layouts of one file, in the order in which they were met."""

    def __init__(self) -> None:
        self.listed: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def named(self, layout: tuple[str, ...]) -> str:
        """JSON text: its number from 0, or the names where the list is full."""
        number = self._numbers.get(layout)
        if number is None:
            if len(self.listed) == MOST_LAYOUTS:
                return encode_in_order(layout)
            number = self._numbers[layout] = len(self.listed)
            self.listed.append(layout)
        return str(number)


def with_source(extra: str, source: str, *as_written: str) -> str:
    """``extra`` with what is kept; ``source`` and ``as_written`` are members of JSON objects, the latter or empty."""
    members = ",".join(filter(None, as_written))
    written = f',"as":{{{members}}}' if members else ""
    return f'{extra[:-1]},"source":{{{source}{written}}}}}'


def read_source(extra: dict[str, Any], layouts: Sequence[Sequence[str]]) -> KeptSource:
    """What was kept, of the parsed ``extra`` of a key and the list of its import."""
    kept = extra.get("source")
    if not kept:
        return NOTHING_KEPT
    named = kept["layout"]
    layout = layouts[named] if isinstance(named, int) else named
    return KeptSource(tuple(layout), kept["images"], kept.get("as", {}))


def parsed(extra: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(extra or "{}")
    return found
