"""The drawing rule, with its version: a stored sample names the rule that drew it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.sampling.kernels.strata import Frame

RULE = "ranked-1"  # change the name when a change would draw other questions
SEED_MAX = 2**63 - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Drawn:
    number: int
    stratum: str


def draw(frame: Frame, allocation: Mapping[str, int], seed: int) -> list[Drawn]:
    """Rule ``ranked-1``: every question has a random rank, made from the seed and its number alone; each stratum
    gives the questions of lowest rank, and the sample is listed by rank.

    So the same seed draws the same questions from the same frame, on any machine and whatever the order of the
    rows, and each question of a stratum is equally likely to be drawn.
    """
    ranks = random_ranks(frame.numbers, seed)
    chosen: list[NDArray[np.int64]] = []
    for code, name in enumerate(frame.names):
        members = np.flatnonzero(frame.codes == code)
        by_rank = members[np.argsort(ranks[members], kind="stable")]
        chosen.append(by_rank[: allocation.get(name, 0)])
    places = np.concatenate(chosen) if chosen else np.array([], dtype=np.int64)
    places = places[np.argsort(ranks[places], kind="stable")]
    return [Drawn(int(frame.numbers[place]), frame.names[int(frame.codes[place])]) for place in places]


def random_ranks(numbers: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """A 64-bit random number for each question number, different for different numbers.

    SplitMix64 [1]_ over the number, then over the result and the seed; fixed here and not taken from a library,
    so that no upgrade can draw another sample.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    seeds = _mixed(np.array([seed % 2**64], dtype=np.uint64) + _GOLDEN)
    return _mixed(_mixed(numbers.astype(np.uint64) * _GOLDEN) ^ seeds)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: one to one on 64-bit values; overflow is wanted."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
