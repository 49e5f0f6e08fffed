"""JSON and tables of text, read strictly: what two programs could read in two ways is refused. Pure."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from readerstudy.predictions.kernels.records import PredictionProblem, PredictionsRefused, unreadable

SPACE = " \t\n\r"


@dataclass(frozen=True)
class Spoiled:
    """Stands for one value that cannot be taken as it is; the sentence names the field."""

    sentence: str


class _Number:
    """Stands for a number that is none, until the field that holds it is known."""

    def __init__(self, text: str) -> None:
        self.text = text


class StrictReader:
    """Reads one JSON value after the other out of a text."""

    def __init__(self) -> None:
        self._spoilt: list[str] = []
        self._scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(  # type: ignore[attr-defined]  # no stub
            object_pairs_hook=self._members, parse_constant=self._constant, parse_float=self._float
        ).scan_once

    def value(self, text: str, at: int = 0) -> tuple[Any, int]:
        """The value that begins at ``at``, or Spoiled, and where it ends, as far as it came. Raises JSONDecodeError."""
        self._spoilt.clear()
        try:
            value, end = self._scan(text, at)
        except StopIteration as stop:
            raise json.JSONDecodeError("a value is missing", text, stop.value) from None
        except RecursionError:
            return Spoiled("The record is nested too deeply."), at
        except json.JSONDecodeError:
            raise
        except ValueError:  # int() refuses more than 4,300 digits
            return Spoiled("The record holds a number with thousands of digits."), at
        return Spoiled(self._spoilt[0]) if self._spoilt else value, end

    def _constant(self, name: str) -> _Number:
        self._spoilt.append(f"{name} is not JSON.")
        return _Number(name)

    def _float(self, text: str) -> float | _Number:
        number = float(text)
        if math.isfinite(number):
            return number
        self._spoilt.append(f"{text[:20]} is too large for a number.")
        return _Number(text[:20])

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if self._spoilt:
            bad = [(name, value.text) for name, value in pairs if isinstance(value, _Number)]
            self._spoilt[:0] = [f"The number in {name!r} is {text}, which is not JSON." for name, text in bad]
        if len(members) != len(pairs):
            counts = Counter(name for name, _value in pairs)
            twice = next(name for name, n in counts.items() if n > 1)
            self._spoilt.append(f"The field {twice!r} is there twice.")
        return members


def values_of_list(text: str) -> Iterator[Any]:
    """The values of the one JSON list in ``text``; a spoilt one as its Spoiled."""
    reader = StrictReader()
    at = _skip(text, _skip(text, 0) + 1)
    if text[at : at + 1] == "]":
        _check_end(text, at + 1)
        return
    while True:
        try:
            value, end = reader.value(text, at)
        except json.JSONDecodeError as error:
            raise _no_json(error) from None
        yield value
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "]":
            _check_end(text, at + 1)
            return
        if mark != ",":
            raise _no_json(json.JSONDecodeError("a comma or a closing bracket is expected", text, at))
        at = _skip(text, at + 1)


def _check_end(text: str, at: int) -> None:
    if text[at:].strip(SPACE):
        raise _no_json(json.JSONDecodeError("text follows the end of the list", text, at))


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in SPACE:
        at += 1
    return at


def _no_json(error: json.JSONDecodeError) -> PredictionsRefused:
    fault = error.msg[:1].lower() + error.msg[1:]
    return unreadable(f"Line {error.lineno}, column {error.colno}: this is not JSON: {fault}.")


# --- rows of a CSV or TSV file, by the names of their columns -------------------------------------
Row = tuple[int, dict[str, str]]  # as a spreadsheet counts, the header is row 1


def rows_of_text(text: TextIO, problems: list[PredictionProblem]) -> Iterator[Row]:
    """Rows of comma, semicolon or tab separated text, as its first line is."""
    first = text.readline()
    reader = csv.reader(itertools.chain([first], text), delimiter=_separator(first), strict=True)
    yield from named_rows(_lines(reader), problems)


def _lines(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise unreadable(f"Row {number}: this is not a table: {error}.") from None
        yield number, cells


def named_rows(lines: Iterable[tuple[int, list[str]]], problems: list[PredictionProblem]) -> Iterator[Row]:
    """Each row under the header; empty rows are passed over, one with too many cells is a problem.

    Refused for a header that names a column twice.
    """
    header: list[str] = []
    for number, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = _header(cells)
        elif len(cells) != len(header):
            sentence = f"The row has {len(cells)} cells; the header has {len(header)}."
            problems.append(PredictionProblem(number, cells[0].strip()[:80], sentence))
        else:
            yield number, dict(zip(header, cells, strict=True))


def _header(cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    twice = next((name for name, n in Counter(names).items() if name and n > 1), "")
    if twice:
        raise unreadable(f"Row 1: the column {twice!r} is there twice.")
    return names


def _separator(first_line: str) -> str:
    return max("\t;,", key=first_line.count) if any(mark in first_line for mark in "\t;,") else ","
