"""What every table of the report shares: a value as cells in full precision, and a sheet that can be written. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.exports.tables import Cell, Column, Kind
from readerstudy.results.stored import Json

TEXT, WHOLE, REAL, YES_NO = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO
RATER = Column("rater", TEXT, "Pseudonym of the reader, or name of the model.")
KIND = Column("kind", TEXT, "Who answered.", "reader, model")
PANEL = Column("panel", TEXT, "All tasks, or the task of the questions.")
STATISTIC = Column("statistic", TEXT, "What the value is; the name is that of the analysis, see docs/analysis.md.")
VALUE = (
    Column("value", REAL, "The value in full precision; shares from 0 to 1. Missing: undefined, reason says why."),
    Column("low", REAL, "Lower limit of the 95 % interval; missing: no interval."),
    Column("high", REAL, "Upper limit of the 95 % interval."),
    Column("n", WHOLE, "How many questions (of times: cases) the value rests on."),
    Column("method", TEXT, "How the interval was made; for a value without one, how the value was made."),
    Column("flags", TEXT, "What to be careful about, joined by |."),
    Column("reason", TEXT, "Why there is no value; empty where there is one."),
)
TEST = (
    Column("df", REAL, "Degrees of freedom of a test statistic."),
    Column("p", REAL, "p of a test statistic, not adjusted."),
)
UNDEFINED_DRAWS = Column("bootstrap_undefined_fraction", REAL, "Share of bootstrap draws without a value.")


@dataclass(frozen=True)
class Sheet:
    """One table: its file name without ending, its columns and its rows."""

    name: str
    about: str  # one line for the README
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def value_cells(one: Json) -> list[Cell]:
    """The cells of VALUE; ``one`` has value, ci95, n, method, flags and reason."""
    low, high = one["ci95"] or (None, None)
    return [one["value"], low, high, one["n"], one["method"], "|".join(one["flags"]), one["reason"] or ""]


def count_cells(n: int, of: int) -> list[Cell]:
    """A plain count in the columns of VALUE."""
    return [float(n), None, None, of, "count", "", ""]


def values_of(entry: Json) -> Mapping[str, Any]:
    """The named values of an entry; names and counts beside them are left out."""
    return {name: one for name, one in entry.items() if isinstance(one, Mapping) and "ci95" in one}
