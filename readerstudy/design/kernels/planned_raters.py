"""The pairs of raters that an analysis plan compares, and which of several runs represents a model: read from a plan
and from lines of text. Pure.

Before a study is frozen nobody knows its raters: a name may be that of a model that is still to come, or the pseudonym
that a reader will get. Who is meant by it is found when the study is analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from readerstudy.design.kernels.documents import DesignRefused

EACH_READER, EACH_MODEL = "each reader", "each model"
GROUPS = (EACH_READER, EACH_MODEL)
BETWEEN = "|"
MOST_PAIRS = MOST_RUNS = 100
LONGEST_NAME = 301  # of a model: its name, a space, its version
MEAN_OF_RUNS = "mean of all runs"
ONE_RUN = re.compile(r"run ([1-9][0-9]{0,3})")
WHAT_DOES = f"“{MEAN_OF_RUNS}”, or “run 2” for the second"

Pair = tuple[str, str]
PlannedRun = tuple[str, str]  # name of a model; "mean of all runs", or "run" and its number


def folded(name: str) -> str:
    """What two ways of writing a name have in common: neither letters nor spaces tell raters apart."""
    return " ".join(name.split()).casefold()


def text_of(lines: Iterable[Pair]) -> str:
    """Pairs, or runs, one on each line, as ``pairs_of_text`` and ``runs_of_text`` read them."""
    return "\n".join(f" {BETWEEN} ".join(line) for line in lines)


def read_pairs(data: object) -> tuple[Pair, ...]:
    """Pairs from JSON: a list, each of two names. Refused with the number of the pair that cannot be."""
    if not isinstance(data, list | tuple):
        raise _bad_pairs('The pairs are a list, each of two names: [["Model A", "each reader"]].')
    if len(data) > MOST_PAIRS:
        raise _bad_pairs(f"A plan names {MOST_PAIRS} pairs at the most; these are {len(data)}.")
    pairs = tuple(_read_pair(one, number) for number, one in enumerate(data, 1))
    first_of: dict[frozenset[str], int] = {}
    for number, pair in enumerate(pairs, 1):
        first = first_of.setdefault(frozenset(map(folded, pair)), number)
        if first != number:
            raise _bad_pairs(f"Pair {number} is the same as pair {first}.")
    return pairs


def pairs_of_text(text: str) -> tuple[Pair, ...]:
    """One pair on each line that is not empty."""
    pairs = [line.split(BETWEEN) for line in text.splitlines() if line.strip()]
    for number, names in enumerate(pairs, 1):
        if len(names) != 2:
            raise _bad_pairs(f"Pair {number}: two names are expected on the line, with one {BETWEEN} between them.")
    return read_pairs(pairs)


def read_runs(data: object) -> tuple[PlannedRun, ...]:
    """Runs from JSON: a list, on each line a name and a run. Refused with the number of the line that cannot be."""
    if not isinstance(data, list | tuple):
        raise _bad_runs(f'The runs are a list, each of two texts: [["Model A", "{MEAN_OF_RUNS}"]].')
    return _read_runs(enumerate(data, 1))


def runs_of_text(text: str) -> tuple[PlannedRun, ...]:
    """One model on each line that is not empty."""
    lines = enumerate(text.splitlines(), 1)
    return _read_runs((number, line.split(BETWEEN)) for number, line in lines if line.strip())


def run_number(words: str) -> int | None:
    """None: the mean of all runs."""
    found = ONE_RUN.fullmatch(words)
    return int(found[1]) if found else None


def _bad_pairs(sentence: str) -> DesignRefused:
    return DesignRefused("bad_pairs", sentence)


def _bad_runs(sentence: str) -> DesignRefused:
    return DesignRefused("bad_runs", sentence)


def _two_texts(data: object) -> Sequence[str] | None:
    """Each with single spaces, empty for what is no text; None where these are not two."""
    if not isinstance(data, list | tuple) or len(data) != 2:
        return None
    return [" ".join(one.split()) if isinstance(one, str) else "" for one in data]


def _read_pair(data: object, number: int) -> Pair:
    names = _two_texts(data)
    if names is None:
        raise _bad_pairs(f"Pair {number}: two names are expected.")
    for name in names:
        if fault := _fault_of_name(name):
            raise _bad_pairs(f"Pair {number}: {fault}")
    first, second = (name.lower() if name.lower() in GROUPS else name for name in names)
    if folded(first) == folded(second) and first not in GROUPS:
        raise _bad_pairs(f"Pair {number} has the same name on both sides.")
    return first, second


def _read_runs(lines: Iterable[tuple[int, object]]) -> tuple[PlannedRun, ...]:
    found: list[PlannedRun] = []
    line_of: dict[str, int] = {}
    for number, line in lines:
        name, words = _read_run(line, number)
        first = line_of.setdefault(folded(name), number)
        if first != number:
            raise _bad_runs(f"Line {number}: “{name}” is on line {first} already. Keep one of the two.")
        found.append((name, words))
    if len(found) > MOST_RUNS:
        raise _bad_runs(f"A plan names the runs of {MOST_RUNS} models at the most; these are {len(found)}.")
    return tuple(found)


def _read_run(line: object, number: int) -> PlannedRun:
    texts = _two_texts(line)
    if texts is None:
        raise _bad_runs(f"Line {number}: write the name of a model, one {BETWEEN}, and {WHAT_DOES}.")
    name, words = texts
    if fault := _fault_of_name(name):
        raise _bad_runs(f"Line {number}: {fault}")
    if name.lower() in GROUPS:
        raise _bad_runs(f"Line {number}: name one model, not “{name}”.")
    if words.lower() != MEAN_OF_RUNS and not ONE_RUN.fullmatch(words.lower()):
        shown = f"“{words}” is no run" if words else "the run is missing"
        raise _bad_runs(f"Line {number}: {shown}. Write {WHAT_DOES}.")
    return name, words.lower()


def _fault_of_name(name: str) -> str:
    """Why no rater can be called so; empty where one can."""
    if not name:
        return "a name is a text that is not empty."
    if len(name) > LONGEST_NAME:
        return f"a name has {LONGEST_NAME} characters at the most."
    if BETWEEN in name or not name.isprintable():
        return f"a name has no {BETWEEN} and no sign that cannot be seen."
    return ""
