"""The frame of a sample: every question that could be drawn, and the stratum that it belongs to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.enums import Difficulty, Task, Word, _

UNKNOWN = "unknown"  # the stratum of a question whose value is not given
ALL = "all"  # the one stratum of a sample that is not stratified


class StratifyBy(Word):
    DIFFICULTY = "difficulty", _("difficulty")
    TASK = "task", _("task")
    CATEGORY = "category", _("category")
    NONE = "none", _("none")


def stratify_by(value: str) -> StratifyBy:
    """The word stored as ``value``; ValueError when there is none."""
    return StratifyBy(value)


class QuestionTwice(ValueError):
    """A question number stands twice in a frame."""


@dataclass(frozen=True)
class Frame:
    """Questions by ascending number, whatever the order of the database.

    Parameters
    ----------
    numbers : int64 array, shape (n,)
        Question numbers of the bank, ascending, each once.
    codes : int64 array, shape (n,)
        Index into ``names`` for each question.
    names : tuple of str
        The strata, in the order in which they are shown.
    """

    numbers: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.numbers)

    def counts(self) -> dict[str, int]:
        """How many questions each stratum holds."""
        sizes = np.bincount(self.codes, minlength=len(self.names))
        return {name: int(size) for name, size in zip(self.names, sizes, strict=True)}

    def sha256(self) -> str:
        """Over the ordered question numbers and their strata: two frames with the same hash draw the same sample."""
        digest = hashlib.sha256()
        for start in range(0, self.n, 10_000):
            part = slice(start, start + 10_000)
            rows = zip(self.numbers[part].tolist(), self.codes[part].tolist(), strict=True)
            digest.update("".join(f"{number}\t{self.names[code]}\n" for number, code in rows).encode())
        return digest.hexdigest()


def frame_of(questions: Iterable[tuple[int, str]], by: StratifyBy) -> Frame:
    """Build the frame from (question number, value of the stratifying field); an empty value is the unknown stratum.

    Raises QuestionTwice when a number stands twice.
    """
    numbers: list[int] = []
    values: list[str] = []
    for number, value in questions:
        numbers.append(number)
        values.append(stratum_name(value, by))
    names = ordered_names(Counter(values), by)
    code_of = {name: code for code, name in enumerate(names)}
    unsorted = np.array(numbers, dtype=np.int64)
    order = np.argsort(unsorted, kind="stable")
    ascending = unsorted[order]
    if len(ascending) > 1 and bool((ascending[1:] == ascending[:-1]).any()):
        raise QuestionTwice("a question stands twice in the frame")
    codes = np.array([code_of[value] for value in values], dtype=np.int64)[order]
    return Frame(ascending, codes, names)


def stratum_name(value: str, by: StratifyBy) -> str:
    if by is StratifyBy.NONE:
        return ALL
    return value.strip() or UNKNOWN


def ordered_names(counts: Counter[str], by: StratifyBy) -> tuple[str, ...]:
    """Difficulties and tasks in their own order, categories by name; the unknown stratum last."""
    known = {StratifyBy.DIFFICULTY: Difficulty.values(), StratifyBy.TASK: Task.values()}.get(by, [])
    place = {value: index for index, value in enumerate(known) if value}
    return tuple(sorted(counts, key=lambda name: (name == UNKNOWN, place.get(name, len(place)), name)))
