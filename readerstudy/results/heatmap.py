"""The agreement of a panel as rows of cells: the numbers and colours of the figure, for a table on a page. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from readerstudy.figures.scale import step_of
from readerstudy.results.stored import READER, Json, kinds_of, order_of, pairs_of


class Agree(StrEnum):
    """What counts as agreeing."""

    OPTION = "option"  # the same option
    RIGHT = "right"  # both right or both wrong


STATISTIC = {Agree.OPTION: "cohen_kappa", Agree.RIGHT: "error_consistency"}


@dataclass(frozen=True)
class Cell:
    """One pair of raters. ``row`` and ``column`` are places in the order of the analysis."""

    row: int
    column: int
    first: str  # of the row
    second: str
    entry: Json
    shown: Json  # the kappa that the colour stands for

    @property
    def css(self) -> str:
        """Classes of static/readerstudy/results.css: the step of the scale, or hatched; dotted when n is small."""
        colour = "undefined" if self.shown["value"] is None else f"k{step_of(self.shown['value'])}"
        return f"{colour} dotted" if self.is_small and self.shown["value"] is not None else colour

    @property
    def anchor(self) -> str:
        """The same for both cells of a pair: the id of its row in the table without colour."""
        return f"pair-{min(self.row, self.column)}-{max(self.row, self.column)}"

    @property
    def is_small(self) -> bool:
        return "small_n" in self.shown["flags"]


@dataclass(frozen=True)
class Row:
    name: str
    is_reader: bool
    cells: list[Cell | None]  # None on the diagonal


def heatmap_rows(result: Json, panel: str, agree: Agree) -> list[Row]:
    """Readers first, then models by accuracy; every pair twice, as in the figure."""
    names, kinds = order_of(result), kinds_of(result)
    found = pairs_of(result["panels"][panel])

    def cell(row: int, column: int) -> Cell | None:
        if row == column:
            return None
        entry = found[frozenset((names[row], names[column]))]
        return Cell(row, column, names[row], names[column], entry, entry[STATISTIC[agree]])

    places = range(len(names))
    return [Row(names[row], kinds[names[row]] == READER, [cell(row, column) for column in places]) for row in places]


def pairs_once(rows: list[Row]) -> list[Cell]:
    """Each pair once, by rows: the table without colour."""
    return [cell for row in rows for cell in row.cells if cell is not None and cell.row < cell.column]
