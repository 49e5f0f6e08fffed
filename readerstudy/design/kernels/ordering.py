"""In which order each reader gets the cases, by a rule with a version. Pure; only numbers go in, so no key comes out.

Orders come in groups. In a group of B orders each order has B segments, and every case visits every segment once.
Inside a segment the order is random, anew in every order. The rules differ in which cases share a segment: in
"latin-1" the same ones in all orders of a group, in "latin-2" others in each, as chance has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from annotation.review.kernels.sampling import random_ranks
from readerstudy.design.kernels.chance import Purpose, branch, shuffled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.int64]

RULE = "latin-2"  # a change that would draw other orders takes a new name; the old rules stay for those who have them
LEAST_GROUP = 2
MIXINGS = 8  # after so many, cases that began in different segments share one as often as others do
ATTEMPTS = 3  # of these the group in which no two cases stand side by side too often


def group_size(n_readers: int, n_sets: int = 1) -> int:
    """How many orders make a group: as many as readers are invited to each set, at least two."""
    return max(LEAST_GROUP, -(-n_readers // max(1, n_sets)))


def orders_needed(n_readers: int, wanted: int = 0) -> int:
    """How many orders are drawn for each set: twice the readers, so that replacements find theirs, or more."""
    return max(2 * max(1, n_readers), wanted, 2 * LEAST_GROUP)


def draw_orders(
    numbers: Sequence[int], *, n_orders: int, group: int, seed: int, stream: int = 1, rule: str = RULE
) -> list[list[int]]:
    """``n_orders`` orders of the case numbers; the last group may be cut short.

    ``stream`` is the number of the case set: each set has chance of its own. The same arguments give the same orders
    on every machine. Raises KeyError for a rule that there is not.
    """
    draw_group = _RULES[rule]
    groups = (draw_group(numbers, group, seed, (stream, which)) for which in range(-(-n_orders // group)))
    return [order for orders in groups for order in orders][:n_orders]


# --- latin-1: a Latin square of parts ---------------------------------------------------------------
def _latin_1(numbers: Sequence[int], group: int, seed: int, path: tuple[int, int]) -> list[list[int]]:
    stream, which = path
    parts = parts_of(numbers, group=group, seed=branch(seed, Purpose.PARTS, *path))
    square = latin_square(group, branch(seed, Purpose.SQUARE, *path))
    orders = []
    for order, row in enumerate(square, start=which * group):
        mixed = (
            shuffled(parts[part], branch(seed, Purpose.SEGMENT, stream, order, segment))
            for segment, part in enumerate(row)
        )
        orders.append([number for segment in mixed for number in segment])
    return orders


def parts_of(numbers: Sequence[int], *, group: int, seed: int) -> list[list[int]]:
    """The cases cut at random into ``group`` parts whose sizes differ by one at most."""
    mixed = shuffled(numbers, seed)
    return [mixed[part::group] for part in range(group)]


def latin_square(size: int, seed: int) -> list[list[int]]:
    """The cyclic square with its rows, columns and symbols in random order."""
    rows, columns, symbols = (shuffled(range(size), branch(seed, which)) for which in range(3))
    return [[symbols[(row + column) % size] for column in columns] for row in rows]


# --- latin-2: a sequence of segments of its own for each case -----------------------------------------
def _latin_2(numbers: Sequence[int], group: int, seed: int, path: tuple[int, int]) -> list[list[int]]:
    """Of some groups the one whose commonest neighbours are neighbours least often, the first of equals."""
    import numpy as np  # not at every start

    if not numbers:
        return [[] for _order in range(group)]
    listed = np.array(sorted(numbers), dtype=np.int64)
    attempts = [_attempt(listed, group, branch(seed, Purpose.WAYS, *path, which)) for which in range(ATTEMPTS)]
    orders: list[list[int]] = listed[min(attempts, key=most_side_by_side)].tolist()
    return orders


def _attempt(listed: Array, group: int, seed: int) -> Array:
    """Places in ``listed``, of shape (orders, cases)."""
    import numpy as np

    segments = _segments(len(listed), group, branch(seed, 0))
    ranks = (random_ranks(listed, branch(seed, 1, order)) for order in range(group))
    return np.array([np.lexsort((rank, segments[:, order])) for order, rank in enumerate(ranks)])


def _segments(n_cases: int, group: int, seed: int) -> Array:
    """In which segment each case is in each order, of shape (cases, orders).

    The cases are cut at random into blocks of as many as there are orders, each with a Latin square of its own: each
    case is in each segment once, and the segments of an order differ by one case at most. In such a block no two cases
    share a segment; so pairs of cases then swap parts of their rows, which keeps both.
    """
    import numpy as np

    squares = (latin_square(group, branch(seed, 0, block)) for block in range(-(-n_cases // group)))
    segments: Array = np.array([row for square in squares for row in square], dtype=np.int64)[:n_cases]
    cases = range(n_cases)
    for mixing in range(1, 1 + MIXINGS):
        mixed = np.array(shuffled(cases, branch(seed, mixing)), dtype=np.int64)
        first, second = mixed[: n_cases // 2], mixed[n_cases // 2 : 2 * (n_cases // 2)]
        coins = random_ranks(first, branch(seed, mixing, 1))
        swaps = _swaps(segments[first], segments[second], coins)
        segments[first], segments[second] = (
            np.where(swaps, segments[second], segments[first]),
            np.where(swaps, segments[first], segments[second]),
        )
    return segments


def _swaps(first: Array, second: Array, coins: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """For each pair of rows the orders in which the two swap segments, of shape (pairs, orders).

    The orders fall into cycles: from one to that in which the first row has the segment that the second has here. In
    a cycle both rows have the same segments, so that each still has all of them after it was swapped, or was not.
    """
    import numpy as np

    n_pairs, n_orders = first.shape
    follows = np.take_along_axis(np.argsort(first, axis=1), second, axis=1)
    cycle = np.tile(np.arange(n_orders), (n_pairs, 1))  # named after its lowest order
    for _step in range(n_orders.bit_length()):
        cycle = np.minimum(cycle, np.take_along_axis(cycle, follows, axis=1))
        follows = np.take_along_axis(follows, follows, axis=1)
    tossed = coins[:, None] >> (cycle % 64).astype(np.uint64)
    return (tossed & np.uint64(1)).astype(np.bool_)


def most_side_by_side(orders: Array) -> int:
    """In how many orders the two cases stand side by side that do so in most of them; shape (orders, cases)."""
    import numpy as np

    if orders.shape[1] < 2:
        return 0
    low, high = np.minimum(orders[:, :-1], orders[:, 1:]), np.maximum(orders[:, :-1], orders[:, 1:])
    _pairs, counts = np.unique(low * orders.shape[1] + high, return_counts=True)
    return int(counts.max())


_RULES: Mapping[str, Callable[[Sequence[int], int, int, tuple[int, int]], list[list[int]]]] = {
    "latin-1": _latin_1,
    "latin-2": _latin_2,
}
