"""The agreement of a panel as rows of cells: the numbers and colours of the figure, for a table on a page. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from readerstudy.results.kernels.scale import step_of
from readerstudy.results.kernels.stored import (
    FEWEST_FOR_KAPPA,
    MODEL,
    READER,
    Json,
    is_dotted,
    kinds_of,
    order_of,
    pairs_of,
    shown_kappa,
    with_shown_kappas,
)


class Agree(StrEnum):
    """What counts as agreeing."""

    OPTION = "option"  # the same option
    RIGHT = "right"  # both right or both wrong


STATISTIC = {Agree.OPTION: "cohen_kappa", Agree.RIGHT: "error_consistency"}
MEANS = {  # of the pairs within and between groups: where a panel holds them
    Agree.OPTION: (
        ("readers", "readers", "mean_kappa_readers"),
        ("mixed", "all", "mean_kappa_reader_model"),
        ("models", "models", "light_kappa"),
    ),
    Agree.RIGHT: (
        ("readers", "readers", "mean_error_consistency_readers"),
        ("mixed", "all", "mean_error_consistency_reader_model"),
    ),
}


@dataclass(frozen=True)
class Cell:
    """One pair of raters. ``row`` and ``column`` are places in the order of the analysis."""

    row: int
    column: int
    first: str  # of the row
    second: str
    entry: Json
    shown: Json  # the kappa that the colour stands for
    n_disagreed: int  # cases

    @property
    def css(self) -> str:
        """Classes of static/readerstudy/results.css: the step of the scale, hatched, or dotted: little is behind it;
        and whether a minus makes it longer."""
        value = self.shown["value"]
        colour = "undefined" if value is None else f"k{step_of(value)}"
        more = [" dotted" if is_dotted(self.shown) else "", " minus" if value is not None and value < 0 else ""]
        return colour + "".join(more)

    @property
    def is_told(self) -> bool:
        """Whether there are questions enough for a kappa, or for saying that there is none."""
        return int(self.shown["n"]) >= FEWEST_FOR_KAPPA

    @property
    def anchor(self) -> str:
        """The same for both cells of a pair: the id of its row in the table without colour."""
        return f"pair-{min(self.row, self.column)}-{max(self.row, self.column)}"


@dataclass(frozen=True)
class Row:
    name: str
    is_reader: bool
    begins_models: bool  # the first model below readers: a gap stands between the two
    cells: list[Cell | None]  # None on the diagonal


@dataclass(frozen=True)
class HeatMap:
    panel: str
    n: int
    rows: list[Row]
    gap: int | None  # the column of the first model, set apart from those of the readers
    means: list[tuple[str, Json]]  # of the kappas among readers, of readers with models, among models


def heatmap(result: Json, panel: str, agree: Agree) -> HeatMap:
    """Readers first, then models by accuracy; every pair twice, as in the figure."""
    names, kinds = order_of(result), kinds_of(result)
    found = pairs_of(result["panels"][panel])

    def cell(row: int, column: int) -> Cell | None:
        if row == column:
            return None
        entry = with_shown_kappas(found[frozenset((names[row], names[column]))])
        n_disagreed = _n_disagreed(entry, agree)
        return Cell(row, column, names[row], names[column], entry, entry[STATISTIC[agree]], n_disagreed)

    places = range(len(names))
    gap = gap_before(result)
    rows = [
        Row(names[row], kinds[names[row]] == READER, row == gap, [cell(row, column) for column in places])
        for row in places
    ]
    return HeatMap(panel, result["panels"][panel]["n"], rows, gap, group_means(result, panel, agree))


def gap_before(result: Json) -> int | None:
    """The place of the first model behind a reader."""
    kinds = [kinds_of(result)[name] for name in order_of(result)]
    starts = kinds.index(MODEL) if MODEL in kinds else 0
    return starts or None


def group_means(result: Json, panel: str, agree: Agree) -> list[tuple[str, Json]]:
    """Mean kappa over the pairs of each group that the analysis holds; what has no pair is left out."""
    groups = result["panels"][panel]["groups"]
    found = [(name, groups[group].get(key)) for name, group, key in MEANS[agree]]
    return [(name, shown_kappa(one)) for name, one in found if one and one["value"] is not None]


def _n_disagreed(entry: Json, agree: Agree) -> int:
    if agree == Agree.RIGHT:
        return int(entry["table"]["first_only"] + entry["table"]["second_only"])
    same = entry["percent_agreement"]
    return 0 if same["value"] is None else round((1 - same["value"]) * same["n"])


def pairs_once(rows: list[Row]) -> list[Cell]:
    """Each pair once, by rows: the table without colour."""
    return [cell for row in rows for cell in row.cells if cell is not None and cell.row < cell.column]
