"""Seeded chance for reader studies: one stream of random ranks for each purpose. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from annotation.review.kernels.sampling import random_ranks

_GOLDEN, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1
FEW = 50  # so many numbers are ranked faster one by one


class Purpose(IntEnum):
    """What chance is asked for. A number never changes its meaning: old studies keep theirs."""

    CASES = 1
    PRACTICE = 2
    SETS = 3
    PARTS = 4
    SQUARE = 5
    SEGMENT = 6
    OPTIONS = 7
    WAYS = 8


def branch(seed: int, *path: int) -> int:
    """A seed of its own for each path of whole numbers (0 or more): SplitMix64, step by step."""
    for step in path:
        seed = rank_of(step, seed)
    return seed


def shuffled(numbers: Sequence[int], seed: int) -> list[int]:
    """The numbers (different ones) in a random order, which depends on the set of numbers and on the seed alone."""
    import numpy as np  # not at every start

    if len(numbers) <= FEW:
        return sorted(numbers, key=lambda number: rank_of(number, seed))  # no two numbers have one rank
    listed = np.array(numbers, dtype=np.int64)
    mixed: list[int] = listed[np.argsort(random_ranks(listed, seed))].tolist()
    return mixed


def rank_of(number: int, seed: int) -> int:
    """What ``annotation.review.kernels.sampling.random_ranks`` gives for one number, without the cost of an array."""
    return _mixed(_mixed(number * _GOLDEN & _MASK) ^ _mixed(seed + _GOLDEN & _MASK))


def _mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)
