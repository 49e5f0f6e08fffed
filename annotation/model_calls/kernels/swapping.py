"""Which exam of another patient lends its images to a question, for the run with swapped images. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class SwappableExam(NamedTuple):
    """``views``: the view positions of its images, sorted. ``patient``: empty where nobody knows whose it is."""

    exam: int
    patient: str
    views: tuple[str, ...]


def swapped(exams: Iterable[SwappableExam], wanted: Iterable[int], *, seed: int) -> Mapping[int, int]:
    """For each wanted exam one of another patient with the same views; none where there is no such exam.

    The exams of a kind are in an order that the seed draws; each takes the next one of another patient, so that
    every exam lends its images about as often.
    """
    kinds: dict[tuple[str, ...], list[SwappableExam]] = defaultdict(list)
    for one in exams:
        if one.patient and one.views:
            kinds[one.views].append(one)
    place: dict[int, tuple[tuple[str, ...], int]] = {}
    for views, some in kinds.items():
        some.sort(key=lambda one: _draw(seed, one.exam))
        place |= {one.exam: (views, number) for number, one in enumerate(some)}
    found: dict[int, int] = {}
    for exam in wanted:
        if exam in place:
            views, number = place[exam]
            other = _next_of_another(kinds[views], number)
            if other is not None:
                found[exam] = other
    return found


def _next_of_another(some: list[SwappableExam], number: int) -> int | None:
    own = some[number].patient
    for step in range(1, len(some)):
        one = some[(number + step) % len(some)]
        if one.patient != own:
            return one.exam
    return None


def _draw(seed: int, exam: int) -> bytes:
    return hashlib.sha256(f"{seed} {exam}".encode()).digest()
