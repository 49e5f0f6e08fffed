"""Rule "latin-1": in which order each reader gets the cases. Pure; only numbers go in, so no key can come out.

Orders come in groups. In a group of B orders the cases are cut at random into B parts, and a random Latin square says
in which of the B segments of each order a part stands: every case visits every segment once per group. Inside a
segment the order is random, anew in every order.
"""

from __future__ import annotations

from collections.abc import Sequence

from readerstudy.design.chance import Purpose, branch, shuffled

RULE = "latin-1"  # change the name when a change would draw other orders
LEAST_GROUP = 2


def group_size(n_readers: int, n_sets: int = 1) -> int:
    """How many orders make a group: as many as readers are invited to each set, at least two."""
    return max(LEAST_GROUP, -(-n_readers // max(1, n_sets)))


def orders_needed(n_readers: int, wanted: int = 0) -> int:
    """How many orders are drawn for each set: twice the readers, so that replacements find theirs, or more."""
    return max(2 * max(1, n_readers), wanted, 2 * LEAST_GROUP)


def draw_orders(numbers: Sequence[int], *, n_orders: int, group: int, seed: int, stream: int = 1) -> list[list[int]]:
    """``n_orders`` orders of the case numbers; the last group may be cut short.

    ``stream`` is the number of the case set: each set has chance of its own. The same arguments give the same orders
    on every machine.
    """
    orders: list[list[int]] = []
    for start in range(0, n_orders, group):
        which = start // group
        parts = parts_of(numbers, group=group, seed=branch(seed, Purpose.PARTS, stream, which))
        square = latin_square(group, branch(seed, Purpose.SQUARE, stream, which))
        for row in range(min(group, n_orders - start)):
            mixed = (
                shuffled(parts[part], branch(seed, Purpose.SEGMENT, stream, start + row, segment))
                for segment, part in enumerate(square[row])
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
