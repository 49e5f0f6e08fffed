"""A world is built, read through, recorded, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from tests.readerstudy.blinding.recording import Exchange, Recorder, first_difference, fixed
from tests.readerstudy.blinding.walk import Walk
from tests.readerstudy.blinding.worlds import Truth, build_world


@dataclass(frozen=True)
class Recording:
    """One session of one reader in one world."""

    truth: Truth
    protocol_sha256: str
    exchanges: list[Exchange]
    statements: list[tuple[str, str]]


Until = Callable[[Recording], bool]


class _TakenBack(Exception):
    """Ends the transaction of a world."""


def record(truth: Truth, folder: Path, *, until: Until | None = None, **world: Any) -> Recording:
    """All that the server sends in one session, or ``until`` it is true after an answer."""
    recordings: list[Recording] = []
    try:
        with fixed(folder / truth.name) as (chance, clock), transaction.atomic():
            made = build_world(truth, chance, **world)
            recorder = Recorder(made.reader, clock)
            recording = Recording(truth, made.study.protocol_sha256, recorder.exchanges, recorder.statements)
            recordings.append(recording)

            def hear() -> None:
                if until is not None and until(recording):
                    raise _TakenBack

            recorder.hear = hear
            Walk(made, recorder).read_everything()
            raise _TakenBack
    except _TakenBack:
        return recordings[0]


def difference(one: Recording, other: Recording) -> str:
    """Where two sessions part; empty when a reader could not tell them apart."""
    hashes = (one.protocol_sha256, other.protocol_sha256)
    return first_difference(one.exchanges, other.exchanges, hashes=hashes)


def parts_from(one: Recording) -> Until:
    """Whether the last answer of another session is not the one that was given here at this place."""

    def is_other(other: Recording) -> bool:
        at = len(other.exchanges) - 1
        hashes = (one.protocol_sha256, other.protocol_sha256)
        return first_difference(one.exchanges[at : at + 1], other.exchanges[at:], hashes=hashes) != ""

    return is_other
