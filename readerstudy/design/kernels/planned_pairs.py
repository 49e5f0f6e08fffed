"""The pairs of raters whose comparison an analysis plan names: read from a plan and from lines of text. Pure.

Before a study is frozen nobody knows its raters: a name may be that of a model that is still to come, or the pseudonym
that a reader will get. Who is meant by it is found when the study is analysed.
"""

from __future__ import annotations

from collections.abc import Iterable

EACH_READER, EACH_MODEL = "each reader", "each model"
GROUPS = (EACH_READER, EACH_MODEL)
BETWEEN = "|"
MOST_PAIRS = 100
LONGEST_NAME = 301  # of a model: its name, a space, its version

Pair = tuple[str, str]


class PairsRefused(ValueError):
    """The sentence says which pair it is, and what would do."""


def folded(name: str) -> str:
    """What two ways of writing a name have in common: neither letters nor spaces tell raters apart."""
    return " ".join(name.split()).casefold()


def read_pairs(data: object) -> tuple[Pair, ...]:
    """Pairs from JSON: a list, each of two names. Raises PairsRefused."""
    if not isinstance(data, list | tuple):
        raise PairsRefused('The pairs are a list, each of two names: [["Model A", "each reader"]].')
    if len(data) > MOST_PAIRS:
        raise PairsRefused(f"A plan names {MOST_PAIRS} pairs at the most; these are {len(data)}.")
    pairs = tuple(_read_pair(one, number) for number, one in enumerate(data, 1))
    first_of: dict[frozenset[str], int] = {}
    for number, pair in enumerate(pairs, 1):
        first = first_of.setdefault(frozenset(map(folded, pair)), number)
        if first != number:
            raise PairsRefused(f"Pair {number} is the same as pair {first}.")
    return pairs


def _read_pair(data: object, number: int) -> Pair:
    if not isinstance(data, list | tuple) or len(data) != 2:
        raise PairsRefused(f"Pair {number}: two names are expected.")
    first, second = (_read_name(one, number) for one in data)
    if folded(first) == folded(second) and first not in GROUPS:
        raise PairsRefused(f"Pair {number} has the same name on both sides.")
    return first, second


def _read_name(data: object, number: int) -> str:
    name = " ".join(data.split()) if isinstance(data, str) else ""
    fault = fault_of_name(name)
    if fault:
        raise PairsRefused(f"Pair {number}: {fault}")
    return name.lower() if name.lower() in GROUPS else name


def fault_of_name(name: str) -> str:
    """Why no rater can be called so; empty where one can."""
    if not name:
        return "a name is a text that is not empty."
    if len(name) > LONGEST_NAME:
        return f"a name has {LONGEST_NAME} characters at the most."
    if BETWEEN in name or not name.isprintable():
        return f"a name has no {BETWEEN} and no sign that cannot be seen."
    return ""


def pairs_of_text(text: str) -> tuple[Pair, ...]:
    """One pair on each line that is not empty, as ``text_of_pairs`` writes it. Raises PairsRefused."""
    pairs = [line.split(BETWEEN) for line in text.splitlines() if line.strip()]
    for number, names in enumerate(pairs, 1):
        if len(names) != 2:
            raise PairsRefused(f"Pair {number}: two names are expected on the line, with one {BETWEEN} between them.")
    return read_pairs(pairs)


def text_of_pairs(pairs: Iterable[Pair]) -> str:
    return "\n".join(f" {BETWEEN} ".join(pair) for pair in pairs)
