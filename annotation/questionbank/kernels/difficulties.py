"""The side file of difficulties: CSV with the columns ``id`` and ``difficulty``, UTF-8, read strictly."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from annotation.enums import Difficulty
from annotation.questionbank.kernels.fields import read_difficulty
from annotation.questionbank.kernels.strictjson import MAX_KEY_CHARS

MAX_CELL_CHARS = 1_000
COLUMNS = ["id", "difficulty"]


class DifficultiesUnreadable(ValueError):
    """The side file is refused; the sentence says in which line and why."""


def read_difficulties(path: Path) -> dict[str, Difficulty]:
    """Difficulty of each question id. Raises DifficultiesUnreadable on the first line that is not right."""
    found: dict[str, Difficulty] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line, key, word in _rows(file):
                difficulty = read_difficulty(word)
                if difficulty is None:
                    raise DifficultiesUnreadable(f"line {line}: {word[:40]!r} is not easy, medium or hard")
                if found.setdefault(key, difficulty) is not difficulty:
                    raise DifficultiesUnreadable(f"line {line}: the id {key[:80]!r} has two difficulties")
    except UnicodeDecodeError:
        raise DifficultiesUnreadable("the file is not UTF-8 text") from None
    return found


def _rows(file: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    rows = csv.reader(_checked_lines(file), strict=True)
    try:
        header = next(rows, [])
        if [name.strip().lower() for name in header] != COLUMNS:
            raise DifficultiesUnreadable(f"line 1: the columns must be {', '.join(COLUMNS)}")
        for row in rows:
            if not row:
                continue
            if len(row) != len(COLUMNS):
                raise DifficultiesUnreadable(f"line {rows.line_num}: {len(row)} cells instead of {len(COLUMNS)}")
            key, word = row
            if not 0 < len(key) <= MAX_KEY_CHARS:
                raise DifficultiesUnreadable(f"line {rows.line_num}: an id has 1 to {MAX_KEY_CHARS} characters")
            yield rows.line_num, key, word
    except csv.Error as error:
        raise DifficultiesUnreadable(f"line {rows.line_num}: {error}") from None


def _checked_lines(file: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        if "\0" in line:
            raise DifficultiesUnreadable(f"line {number}: the text holds a NUL character")
        if len(line) > MAX_CELL_CHARS:
            raise DifficultiesUnreadable(f"line {number}: the line has more than {MAX_CELL_CHARS} characters")
        yield line
