"""Which reviewer gets which question, and in which order. Balanced, seeded, and the same on every machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence

from msgspec import Struct

from annotation.statistics.kernels.sampling import random_ranks


class Item(Struct, frozen=True):
    """One question: its number in the bank, and the exam that it shares with its mates."""

    number: int
    exam: Hashable


def too_few_for(
    items: Sequence[Item], n_reviewers: int, per_question: int, forbidden: Collection[tuple[int, int]]
) -> tuple[int, int] | None:
    """The first question that cannot get as many different reviewers, and how many it can get; None where all can."""
    for number, possible in _possible(items, n_reviewers, forbidden).items():
        if len(possible) < per_question:
            return number, len(possible)
    return None


def allot(
    items: Sequence[Item], n_reviewers: int, per_question: int, seed: int, forbidden: Collection[tuple[int, int]] = ()
) -> list[list[int]]:
    """Give each question to ``per_question`` different reviewers; returns each reviewer's numbers in their order.

    ``forbidden`` holds (reviewer index, question number). Without it no two reviewers differ by more than one
    question. Questions of one exam go to different reviewers as far as that allows, reviewers meet in all pairs
    about equally often, and what is left to chance follows the seed.

    Each question needs as many reviewers who may have it: see too_few_for.
    """
    possible = _possible(items, n_reviewers, forbidden)
    numbers = sorted(possible)
    chance = [_ranks(numbers, seed, reviewer) for reviewer in range(-1, n_reviewers)]
    given: list[list[Item]] = [[] for _ in range(n_reviewers)]
    loads = [0] * n_reviewers
    mates: dict[tuple[int, Hashable], int] = defaultdict(int)
    together: dict[tuple[int, int], int] = defaultdict(int)
    for one in _exam_by_exam(items, possible, chance[0]):
        chosen: list[int] = []
        for _ in range(per_question):
            free = [r for r in possible[one.number] if r not in chosen]
            least = min(loads[r] for r in free)
            best = min(
                (r for r in free if loads[r] == least),
                key=lambda r: (
                    mates[r, one.exam],
                    sum(together[r, other] for other in chosen),
                    chance[r + 1][one.number],
                ),
            )
            for other in chosen:
                together[best, other] += 1
                together[other, best] += 1
            chosen.append(best)
        for reviewer in chosen:
            given[reviewer].append(one)
            loads[reviewer] += 1
            mates[reviewer, one.exam] += 1
    return [in_order(given[reviewer], chance[reviewer + 1]) for reviewer in range(n_reviewers)]


def in_order(items: Sequence[Item], chance: dict[int, int]) -> list[int]:
    """A random order in which the questions of one exam are spaced evenly.

    The j-th of m mates is placed at (j + u)/m of the order, u being one random number from 0 to 1 for the exam; a
    question without mates is placed at u.
    """
    by_exam: dict[Hashable, list[int]] = defaultdict(list)
    for one in items:
        by_exam[one.exam].append(one.number)
    places: list[tuple[float, int]] = []
    for numbers in by_exam.values():
        start = chance[min(numbers)] / 2**64
        mixed = sorted(numbers, key=lambda number: chance[number])
        places += [((j + start) / len(mixed), number) for j, number in enumerate(mixed)]
    return [number for _place, number in sorted(places)]


def n_repeats(n: int, percent: int) -> int:
    """How many of ``n`` questions of one reviewer come a second time; at least one in a list that is long enough."""
    if not percent or n < FEWEST_TO_REPEAT:
        return 0
    return max(1, (n * percent + 50) // 100)


FEWEST_TO_REPEAT = 10  # in a shorter list a repeat would follow its question too closely


def repeats_in(order: Sequence[int], percent: int, seed: int, stream: int) -> list[tuple[int, int]]:
    """Which questions of one reviewer's order come a second time, and before which place: (number, place).

    Each is of the first half and comes again at least half of the list later; none comes more than twice.
    """
    half = len(order) // 2
    chance = _ranks(order, seed, stream)
    chosen = sorted(range(half), key=lambda place: chance[order[place]])[: n_repeats(len(order), percent)]
    later = len(order) - half
    return [(order[place], place + half + chance[order[place]] % (later - place + 1)) for place in sorted(chosen)]


def share_for_newcomer(waiting: Sequence[tuple[int, int]], excluded: Collection[int], seed: int) -> list[int]:
    """Which of the questions still waiting go to one more reviewer, as indices into ``waiting``.

    ``waiting`` holds (reviewer index, question number); ``excluded`` the numbers that the newcomer cannot take. One by
    one from whoever has most, until the newcomer has an equal share; nobody gives more than down to that share.
    """
    left: dict[int, list[int]] = defaultdict(list)
    for index, (reviewer, _number) in enumerate(waiting):
        left[reviewer].append(index)
    target = len(waiting) // (len(left) + 1)
    chance = _ranks([number for _reviewer, number in waiting], seed, len(left))
    for indices in left.values():
        indices.sort(key=lambda index: chance[waiting[index][1]])
    sizes = {reviewer: len(indices) for reviewer, indices in left.items()}
    taken: list[int] = []
    unavailable = set(excluded)
    while len(taken) < target and (givers := [r for r in left if left[r] and sizes[r] > target]):
        giver = min(givers, key=lambda r: (-sizes[r], r))
        index = left[giver].pop()
        if (number := waiting[index][1]) not in unavailable:
            unavailable.add(number)
            taken.append(index)
            sizes[giver] -= 1
    return taken


def hand_out(numbers: Sequence[int], possible: dict[int, list[int]], loads: Sequence[int], seed: int) -> dict[int, int]:
    """Give each question to one of its ``possible`` reviewers, least load first: question number -> reviewer index.

    Questions with the fewest possible reviewers are given first; each has at least one.
    """
    chance = _ranks(numbers, seed, len(loads))
    load = list(loads)
    given: dict[int, int] = {}
    for number in sorted(numbers, key=lambda n: (len(possible[n]), chance[n])):
        reviewer = min(possible[number], key=lambda r: (load[r], r))
        load[reviewer] += 1
        given[number] = reviewer
    return given


def _possible(items: Sequence[Item], n_reviewers: int, forbidden: Collection[tuple[int, int]]) -> dict[int, list[int]]:
    """The reviewers who may have each question."""
    banned = set(forbidden)
    return {one.number: [r for r in range(n_reviewers) if (r, one.number) not in banned] for one in items}


def _exam_by_exam(items: Sequence[Item], possible: dict[int, list[int]], chance: dict[int, int]) -> list[Item]:
    """Questions with the fewest possible reviewers first; then exam after exam in random order."""
    first_of: dict[Hashable, int] = {}
    for one in items:
        first_of[one.exam] = min(first_of.get(one.exam, one.number), one.number)
    return sorted(items, key=lambda one: (len(possible[one.number]), chance[first_of[one.exam]], chance[one.number]))


def _ranks(numbers: Sequence[int], seed: int, stream: int) -> dict[int, int]:
    """A random 64-bit number for each question, another one for each stream (reviewer)."""
    import numpy as np  # not at every start

    ranks = random_ranks(np.array(numbers, dtype=np.int64), seed ^ ((stream + 2) << 40))
    return dict(zip(numbers, ranks.tolist(), strict=True))
