"""A matching to begin with: by names of columns, by first rows, and for numbers of keys by the whole file. Pure.

What fits in two ways is left open, so that a person says it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO

from annotation.questionbank.kernels.column_matching import (
    COUNTS_BY,
    EXAM,
    FIELDS,
    IMAGES,
    KEY,
    LETTER,
    NUMBER,
    SEPARATORS,
    TEXT,
    Matching,
    RowReader,
    compared,
    digit_of,
)
from annotation.questionbank.kernels.entries import OPTIONS
from annotation.questionbank.kernels.fields import LETTERS
from annotation.questionbank.kernels.foreign_rows import ForeignRow, parts_of, plain, read_rows


def guess_matching(names: Sequence[str], rows: Sequence[ForeignRow], name: str = "") -> Matching:
    """A matching by the names of the columns, to begin with; images that no exam is named for are exams themselves."""
    free = {}
    for column in reversed(names):
        free[_folded(column)] = column
    columns: dict[str, str] = {}
    for one in FIELDS:
        found = next((guess for guess in one.guesses.split() if guess in free), "")
        if found and not (one.name in OPTIONS and "options" in columns):
            columns[one.name] = free.pop(found)
    if len(columns.keys() & {*OPTIONS}) == 1:  # a column named A says little
        columns = {field_name: column for field_name, column in columns.items() if field_name not in OPTIONS}
    if IMAGES in columns:
        columns.setdefault(EXAM, columns[IMAGES])
    separator = _guess_separator([row.cells.get(columns.get("options", "")) for row in rows])
    matching = Matching(name, columns, separator=separator)
    return Matching(name, columns, key_form=_guess_key_form(matching, rows), separator=separator)


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _guess_separator(cells: Sequence[Any]) -> str:
    texts = [cell for cell in cells if isinstance(cell, str)]
    fits = (sign for sign in SEPARATORS if texts and all(len(parts_of(text, sign)) == len(LETTERS) for text in texts))
    return next(fits, "|")


def _guess_key_form(matching: Matching, rows: Sequence[ForeignRow]) -> str:
    reader = RowReader(matching, ())
    keys = [str(plain(row.cells.get(matching.columns.get(KEY, "")))).rstrip(".)").upper() for row in rows]
    options = [{compared(one) for one in reader.options(row.cells)} for row in rows]
    is_text = bool(keys) and all(compared(key) in listed for key, listed in zip(keys, options, strict=True))
    forms = {
        NUMBER: all(key in ("0", "1", "2", "3", "4") for key in keys),
        LETTER: all(key in LETTERS for key in keys),
    }
    found = next((form for form, fits in forms.items() if fits), TEXT)
    return "" if is_text and found != TEXT else found


def counts_from(stream: BinaryIO, column: str) -> str:
    """FROM_0 or FROM_1, by the first key of the file that only one of them has; "" where no key tells.

    Whether another key contradicts it shows when the file is read (MatchedEntries). Raises BankRefused.
    """
    _names, rows = read_rows(stream)
    found = (COUNTS_BY.get(digit_of(plain(row.cells.get(column)))) for row in rows)
    return next(filter(None, found), "")
