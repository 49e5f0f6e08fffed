"""A world is built, read through, recorded, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from tests.readerstudy.blinding.recording import Exchange, Recorder, first_difference, fixed
from tests.readerstudy.blinding.truth import Truth
from tests.readerstudy.blinding.walk import Walk
from tests.readerstudy.blinding.worlds import World, build_world


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


@contextmanager
def world_of(truth: Truth, folder: Path, **world: Any) -> Iterator[tuple[World, Recorder]]:
    """A world and the browser of its reader; nothing of it stays, whatever ends it."""
    with suppress(_TakenBack), fixed(folder / truth.name) as (chance, clock), transaction.atomic():
        made = build_world(truth, chance, **world)
        yield made, Recorder(made.reader, clock)
        raise _TakenBack


def recording_of(world: World, recorder: Recorder) -> Recording:
    return Recording(world.truth, world.study.protocol_sha256, recorder.exchanges, recorder.statements)


def record(truth: Truth, folder: Path, *, until: Until | None = None, **world: Any) -> Recording:
    """All that the server sends in one session, or ``until`` it is true after an answer."""
    with world_of(truth, folder, **world) as (made, recorder):
        recording = recording_of(made, recorder)

        def hear() -> None:
            if until is not None and until(recording):
                raise _TakenBack

        recorder.hear = hear
        Walk(made, recorder).read_everything()
    return recording


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
