"""What the clients know: which answers they sent, and which were acknowledged; compared with what is stored. Pure."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

GUESS = "guess"


class Entry(NamedTuple):
    """One final answer, or the guess beside it: the place in the order of a reader, the idempotency key, the option.

    A guess stands under its place and the word GUESS; the answer "cannot tell" has no option.
    """

    place: str
    key: str
    option: str


@dataclass(frozen=True)
class Verdict:
    """Answers that were acknowledged and are not stored as such, stored twice, or stored and never sent."""

    acknowledged: int
    stored: int
    lost: Sequence[Entry]
    duplicate: Sequence[str]  # places
    phantom: Sequence[Entry]

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.duplicate or self.phantom)

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} acknowledged, {self.stored} stored: {len(self.lost)} lost, "
            f"{len(self.duplicate)} duplicate, {len(self.phantom)} phantom"
        )


class Ledger:
    """Kept by all clients together; they write before they send, and after they are told."""

    def __init__(self) -> None:
        self._sent: set[Entry] = set()
        self._acknowledged: set[Entry] = set()
        self._changed = threading.Condition()

    def send(self, entry: Entry) -> None:
        with self._changed:
            self._sent.add(entry)

    def acknowledge(self, entry: Entry) -> None:
        with self._changed:
            self._acknowledged.add(entry)
            self._changed.notify_all()

    def __len__(self) -> int:
        with self._changed:
            return len(self._acknowledged)

    def wait_for(self, n: int, seconds: float) -> bool:
        """Until so many answers are acknowledged; False when that takes too long."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._acknowledged) >= n, seconds)

    def compare(self, stored: Iterable[Entry]) -> Verdict:
        with self._changed:
            return compare(self._sent, self._acknowledged, list(stored))


def compare(sent: set[Entry], acknowledged: set[Entry], stored: list[Entry]) -> Verdict:
    """An answer that is stored without an acknowledgement is none of the three: its client was not told in time."""
    there = set(stored)
    places = Counter(entry.place for entry in stored)
    return Verdict(
        acknowledged=len(acknowledged),
        stored=len(stored),
        lost=sorted(acknowledged - there),
        duplicate=sorted(place for place, n in places.items() if n > 1),
        phantom=sorted(there - sent),
    )
