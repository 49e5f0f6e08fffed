"""In which order cases and options are shown to each reader, from a seed. Pure.

Orders come in groups. In a group of B orders each order has B segments, and every case visits every segment once.
Inside a segment the order is random, anew in every order. The rules differ in which cases share a segment: in
"latin-1" the same ones in all orders of a group, in "latin-2" others in each, as chance has it.

Answers are always stored as canonical letters.
What speaks of other options keeps its place: "none of the above" and the like stay, and nothing moves across them.
Where the stem or an option names letters ("A and C"), nothing moves at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from annotation.statistics.kernels.sampling import random_ranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.int64]

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
    """What ``random_ranks`` of the kernel of sampling gives for one number, without the cost of an array."""
    return _mixed(_mixed(number * _GOLDEN & _MASK) ^ _mixed(seed + _GOLDEN & _MASK))


def _mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


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


def spread_evenly(orders: Sequence[Sequence[int]], parts: int) -> float:
    """The share of the cases that these orders show as often as can be in each of so many equal parts: once in each,
    where there are as many orders as parts. Orders of the same cases, one at least, or none of it: nan.
    """
    n_cases = len(orders[0]) if orders else 0
    seen: dict[int, list[int]] = {}
    for order in orders:
        for place, case in enumerate(order):
            seen.setdefault(case, [0] * parts)[place * parts // n_cases] += 1
    return sum(max(counts) - min(counts) <= 1 for counts in seen.values()) / n_cases if n_cases else math.nan


_RULES: Mapping[str, Callable[[Sequence[int], int, int, tuple[int, int]], list[list[int]]]] = {
    "latin-1": _latin_1,
    "latin-2": _latin_2,
}


LETTERS = "ABCD"

_LETTER = r"\(?\b[A-D]\b\)?"
_NAMES_LETTERS = re.compile(
    rf"""
      {_LETTER}\s*(?:,|/|&|-|–|and|or|to|through|nor|but\s+not)\s*{_LETTER}   # A and C, A-D, (A), (B)
    | \([A-D]\)                                                               # (B)
    | (?i:\b(?:options?|choices?|answers?|alternatives?|statements?|letters?))\s+{_LETTER}
    | (?i:\b(?:both|either|neither|except|only|not|all\s+but))\s+{_LETTER}(?!\s*[-–]?[a-z]) # all but B, B alone
    | ^\s*{_LETTER}\s*+(?:only|alone)?\s*+[.:]?\s*$                           # the whole option is a letter
    """,
    re.VERBOSE,
)
_HOW_MANY = r"(?:none|all|any|both|neither|either|some|two|three|more\s+than\s+one|each|one|combinations?)"
_THE_OTHERS = (
    r"(?:above|below|foregoing|preceding|following|others?|options?|choices?|answers?|alternatives?|statements?|listed|"
    r"mentioned|given|findings|diagnoses)"
)
_NAMES_OTHERS = re.compile(
    rf"""
      \b{_HOW_MANY}\s+of\s+(?:these|those|them)\b
    | \b{_HOW_MANY}\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?{_THE_OTHERS}\b
    | \b(?:above|foregoing|preceding|previous|other)\s+(?:options?|choices?|answers?|alternatives?|statements?)\b
    | \b(?:listed|mentioned|given|named|stated)\s+(?:above|below)\b
    | ^\s*(?:none|all|neither|both|other|cannot\s+be\s+determined|not\s+determinable)\s*+[.!]?\s*$
    """,
    re.VERBOSE | re.IGNORECASE,
)


def names_letters(text: str) -> bool:
    """Whether a stem or an option refers to options by their letters."""
    return _NAMES_LETTERS.search(text) is not None


def keeps_its_place(option: str) -> bool:
    """Whether an option speaks of the others, as "none of the above" does."""
    return _NAMES_OTHERS.search(option) is not None


def shown_order(stem: str, options: Sequence[str], seed: int) -> str:
    """The canonical letters of four options in the order in which they are shown."""
    groups = groups_that_mix(stem, tuple(options))
    return "".join(LETTERS[place] for group in groups for place in shuffled(group, seed))


def in_order(order: str, options: Sequence[str]) -> list[tuple[str, str]]:
    """Canonical letter and text of each option, in the order shown."""
    texts = dict(zip(LETTERS, options, strict=False))
    return [(letter, texts[letter]) for letter in order if letter in texts]


@lru_cache(maxsize=1024)
def groups_that_mix(stem: str, options: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The places of the options in groups: options of a group change places with each other, groups do not."""
    if any(names_letters(text) for text in (stem, *options)):
        return tuple((place,) for place in range(len(options)))
    groups: list[tuple[int, ...]] = [()]
    for place, option in enumerate(options):
        if keeps_its_place(option):
            groups += [(place,), ()]
        else:
            groups[-1] = (*groups[-1], place)
    return tuple(groups)


# --- rule "words-1": which words of an indication are also words of an option -------------------------------
# A word counts that occurs in some of the options and not in all of them, so that it sets them apart. It has four
# letters or more and is none of the words that occur in any text; case and a plural "s" make no difference. That a word
# is shared does not mean that it gives the answer away, and an answer can be given away in other words: somebody has to
# read.
_WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 4
COMMON = {
    *("about", "above", "after", "again", "also", "although", "among", "another", "because", "been", "before"),
    *("being", "below", "best", "between", "both", "chest", "could", "demonstrate", "demonstrated", "does", "each"),
    *("either", "evidence", "exam", "film", "finding", "following", "from", "given", "have", "image", "into"),
    *("likely", "more", "most", "neither", "none", "normal", "only", "other", "patient", "present", "radiograph"),
    *("seen", "should", "show", "shown", "shows", "side", "since", "some", "such", "than", "that", "their", "them"),
    *("then", "there", "these", "they", "this", "those", "through", "under", "until", "upon", "view", "what", "when"),
    *("where", "whether", "which", "while", "with", "within", "without", "would", "xray", "year"),
}


def shared_words(indication: str, options: Sequence[str]) -> list[list[str]]:
    """For each option its telling words that stand in the indication, as the option has them, each once."""
    shown = _words(indication).keys()
    of_option = [_words(option) for option in options]
    in_all = set.intersection(*(set(words) for words in of_option)) if of_option else set()
    return [[word for stem, word in words.items() if stem in shown and stem not in in_all] for words in of_option]


def marked(text: str, words: Iterable[str]) -> list[tuple[str, bool]]:
    """The text in pieces, which together are the text; true for those that are one of the words, by the same rule."""
    stems = {_singular(word.casefold()) for word in words}
    pieces: list[tuple[str, bool]] = []
    end = 0
    for found in _WORD.finditer(text):
        if _singular(found.group().casefold()) in stems:
            pieces += [(text[end : found.start()], False), (found.group(), True)]
            end = found.end()
    return [(piece, is_word) for piece, is_word in [*pieces, (text[end:], False)] if piece]


def _words(text: str) -> dict[str, str]:
    """The telling words of a text in small letters, by what makes them the same word."""
    found = {_singular(word): word for word in _WORD.findall(text.casefold())}
    return {stem: word for stem, word in found.items() if len(stem) >= SHORTEST and stem not in COMMON}


def _singular(word: str) -> str:
    return word.removesuffix("s") if not word.endswith("ss") else word
