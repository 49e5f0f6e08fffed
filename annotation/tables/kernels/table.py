"""A table, written once: its columns with kind and meaning, its rows, a caption. Pure.

Five writers show it: the page (templates/readerstudy/results/_table.html), LaTeX (``latex`` beside this module), DOCX
and XLSX (``annotation.tables.office``), CSV with its codebook (``annotation.tables.writing``). A cell of a result is
the estimate itself, with interval, n and method: each writer rounds it, and none is handed a bare number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from annotation.enums import Word, _
from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.cautions import FLAGS, REASONS, explained
from annotation.statistics.kernels.estimate import Value

Cell = str | int | float | bool | datetime | None


class Kind(Word):
    """What a column holds. Text is empty where there is nothing; the others are missing (null, an empty cell)."""

    TEXT = "text", _("text")
    WHOLE = "whole", _("whole number")
    REAL = "real", _("number")
    YES_NO = "yes_no", _("true or false")
    TIME = "time", _("time, UTC, ISO 8601")
    DAY = "day", _("day, UTC, ISO 8601")  # of a moment of a person, which would tell who it was
    ESTIMATE = "estimate", _("estimate")  # in files the columns of VALUE


TEXT, WHOLE, REAL, YES_NO, TIME = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO, Kind.TIME


class Column(Struct, frozen=True):
    name: str  # what people read, or what programs read in a file
    kind: Kind
    meaning: str = ""
    values: str = ""  # the possible values, where they are few
    n: int | None = None  # of estimates: how many most of them are over
    has_interval: bool = True  # of estimates


class ShownEstimate(Struct, frozen=True):
    """An estimate for people, in its scale."""

    one: Value
    scale: Scale
    caution: str = ""  # why there is no value, or what to be careful about
    note: str = ""  # what only a page has room for
    is_same: bool = False  # as the value beside which it stands: people are shown its interval alone
    is_best: bool = False  # significantly better than all others, as the caption says
    clustered: ShownEstimate | None = None  # the same with an interval that allows for patients or exams with several


BETWEEN = " · "


class Name(Struct, frozen=True):
    """Who or what a row is about."""

    text: str  # of a pair the two names with BETWEEN between them
    note: str = ""  # what only a page has room for
    link: str = ""
    n: int | None = None  # questions, where they are those of the row

    @property
    def parts(self) -> list[str]:
        """Names that a page sets apart, whichever way they are written."""
        return self.text.split(BETWEEN)


class Counted(Struct, frozen=True):
    """So many of all."""

    count: int
    of: int


TableCell = Cell | Value | ShownEstimate | Name | Counted


BY_CLUSTER = "by patient or exam"  # what the interval of ``clustered`` is called


class Table(Struct, frozen=True):
    name: str  # of its file, without ending
    caption: str  # in files that list it: one line
    columns: Sequence[Column]
    rows: Iterable[Sequence[TableCell]]
    note: str = ""  # behind the caption in print, where no page stands around the table
    is_stacked: bool = False  # intervals stand below their values, not in a column of their own


VALUE = (
    Column("value", REAL, "The value in full precision; shares from 0 to 1. Missing: undefined, reason says why."),
    Column("low", REAL, "Lower limit of the 95 % interval; missing: no interval."),
    Column("high", REAL, "Upper limit of the 95 % interval."),
    Column("n", WHOLE, "How many questions (of times: cases) the value rests on."),
    Column("method", TEXT, "How the interval was made; for a value without one, how the value was made."),
    Column("flags", TEXT, f"What to be careful about, joined by |. {explained(FLAGS)}."),
    Column("reason", TEXT, f"Why there is no value; empty where there is one. {explained(REASONS)}."),
)
ESTIMATE = Column("estimate", Kind.ESTIMATE)


def flat_columns(columns: Sequence[Column]) -> list[Column]:
    """The columns of a file: an estimate has those of VALUE."""
    return [flat for one in columns for flat in (VALUE if one.kind == Kind.ESTIMATE else (one,))]


def flat_cells(row: Sequence[TableCell]) -> Iterator[Cell]:
    """The cells of a file, in full precision."""
    for cell in row:
        if isinstance(cell, dict):
            low, high = cell["ci95"] or (None, None)
            yield from (cell["value"], low, high, cell["n"], cell["method"])
            yield from ("|".join(cell["flags"]), cell["reason"] or "")
        elif isinstance(cell, ShownEstimate):
            yield from flat_cells([cell.one])
        elif isinstance(cell, Name):
            yield cell.text
        else:
            yield cell.count if isinstance(cell, Counted) else cell


def counted(n: float | None, of: int, method: str = "count") -> Value:
    """A plain count among estimates."""
    return {
        "value": None if n is None else float(n),
        "ci95": None,
        "n": of,
        "method": method,
        "flags": [],
        "reason": None,
    }


def codebook(tables: Sequence[Table]) -> Table:
    """What the columns of these tables mean."""
    names = ("table", "column", "kind", "meaning", "values")
    rows = [
        [table.name, one.name, one.kind.label, one.meaning, one.values]
        for table in tables
        for one in flat_columns(table.columns)
    ]
    return Table("codebook", _("what the columns of these tables mean"), [Column(name, TEXT) for name in names], rows)
