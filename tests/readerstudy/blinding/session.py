"""A world is built, read through, recorded, and taken back."""

from __future__ import annotations

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


class _TakenBack(Exception):
    """Ends the transaction of a world."""


def record(truth: Truth, folder: Path, **world: Any) -> Recording:
    """All that the server sends in one session."""
    recordings: list[Recording] = []
    try:
        with fixed(folder / truth.name) as (chance, clock), transaction.atomic():
            made = build_world(truth, chance, **world)
            recorder = Recorder(made.reader, clock)
            Walk(made, recorder).read_everything()
            sha256 = made.study.protocol_sha256
            recordings.append(Recording(truth, sha256, recorder.exchanges, recorder.statements))
            raise _TakenBack
    except _TakenBack:
        return recordings[0]


def difference(one: Recording, other: Recording) -> str:
    """Where two sessions part; empty when a reader could not tell them apart."""
    hashes = (one.protocol_sha256, other.protocol_sha256)
    return first_difference(one.exchanges, other.exchanges, hashes=hashes)
