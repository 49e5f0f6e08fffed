"""What every table of the report shares: a value as cells in full precision, and a sheet that can be written. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.exports.tables import Cell, Column, Kind
from annotation.statistics.kernels.catalogue import meanings
from annotation.statistics.kernels.cautions import FLAGS, REASONS, explained
from annotation.statistics.kernels.estimate import Value

TEXT, WHOLE, REAL, YES_NO = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO
RATER = Column("rater", TEXT, "Pseudonym of the reader, or name of the model.")
KIND = Column("kind", TEXT, "Who answered.", "reader, model")
PANEL = Column("panel", TEXT, "All tasks, or the task of the questions.")
STATISTIC = Column(
    "statistic",
    TEXT,
    f"What the value is, as analysis.json names it. {meanings('pair', 'group')}; mean_kappa_*, mean_excess_*, "
    "mean_error_consistency_*: means of cohen_kappa, excess_agreement and error_consistency over pairs that share an "
    "assigned question, of two readers (*_readers), of a reader and a model (*_reader_model), the first minus the "
    "second (*_difference); n_pairs_*: how many pairs these are; table_*: questions that both, the first only, the "
    "second only or neither had right.",
)
TIME_STATISTIC = Column(
    "statistic",
    TEXT,
    f"{meanings('time')}; log_time_variance_*: parts of the variance of the logarithm of seconds.",
)
VALUE = (
    Column("value", REAL, "The value in full precision; shares from 0 to 1. Missing: undefined, reason says why."),
    Column("low", REAL, "Lower limit of the 95 % interval; missing: no interval."),
    Column("high", REAL, "Upper limit of the 95 % interval."),
    Column("n", WHOLE, "How many questions (of times: cases) the value rests on."),
    Column("method", TEXT, "How the interval was made; for a value without one, how the value was made."),
    Column("flags", TEXT, f"What to be careful about, joined by |. {explained(FLAGS)}."),
    Column("reason", TEXT, f"Why there is no value; empty where there is one. {explained(REASONS)}."),
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


def value_cells(one: Value) -> list[Cell]:
    """The cells of VALUE; ``one`` has value, ci95, n, method, flags and reason."""
    low, high = one["ci95"] or (None, None)
    return [one["value"], low, high, one["n"], one["method"], "|".join(one["flags"]), one["reason"] or ""]


def count_cells(n: int, of: int) -> list[Cell]:
    """A plain count in the columns of VALUE."""
    return [float(n), None, None, of, "count", "", ""]
