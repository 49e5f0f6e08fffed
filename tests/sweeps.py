"""Sweeps ask the same of very many things: a fixed share of them in ``make test``, all in ``make check``.

A test that takes a share of anything carries the marker ``sweep``, so that ``make check`` asks it again, of all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")
PARTS = "REXVQA_SWEEP_PARTS"  # one of so many parts is taken; without it, all


def is_whole() -> bool:
    return _n_parts() == 1


def in_share(name: object) -> bool:
    """Always the same ones, by their name: what is added moves no other in or out."""
    return crc32(str(name).encode()) % _n_parts() == 0


def share(things: Iterable[T]) -> list[T]:
    """At least one."""
    everything = list(things)
    return [one for one in everything if in_share(one)] or everything[:1]


def _n_parts() -> int:
    return int(os.environ.get(PARTS, "1"))
