"""What is kept of a record beside its columns, so that the export of a bank writes it as it came. Pure.

It is in the JSON text ``AnswerKey.extra`` under ``source``, outside of what is hashed: the layout (names of the
fields in their order, as a number in the list of the import, since most records of a file have the same), how many
images it names, what its columns do not give back (null or "", a number or its text), and seldom the whole text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from annotation.questionbank.kernels.fields import encode_in_order
from annotation.questionbank.kernels.spelling import AS_USUAL, Spelling

MOST_LAYOUTS = 200  # in the list of an import; a further one is stored with its record


class KeptSource(NamedTuple):
    layout: tuple[str, ...]
    n_images: int
    as_written: dict[str, Any]
    spelling: Spelling


NOTHING_KEPT = KeptSource((), 0, {}, AS_USUAL)  # of a record that an earlier version imported


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


def source_text(layout: str, n_images: int, spelling: Spelling) -> str:
    """Members of a JSON object: what is kept but for ``as``."""
    text = f'"layout":{layout},"images":{n_images}'
    if spelling is AS_USUAL:
        return text
    text += ',"ascii":true' if spelling.is_ascii else ""
    return text + (f',"text":{encode_in_order(spelling.text)}' if spelling.text else "")


def with_source(extra: str, source: str, *as_written: str) -> str:
    """``extra`` with what is kept; ``as_written`` are members of a JSON object, or empty."""
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
    spelling = Spelling(kept.get("ascii", False), kept.get("text", ""))
    return KeptSource(tuple(layout), kept["images"], kept.get("as", {}), spelling)


def parsed(extra: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(extra or "{}")
    return found
