"""Rows of a CSV or TSV file, by the names of their columns. Pure."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from readerstudy.predictions.kernels.records import PredictionProblem, unreadable

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
            told = f"The row has {len(cells)} cells; the header has {len(header)}."
            problems.append(PredictionProblem(number, cells[0].strip()[:80], told))
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
