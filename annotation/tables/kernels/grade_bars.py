"""The grades of a round as a figure: of each grade one bar, stacked from 1 to 5, with n and the median beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from annotation.tables.kernels.forms import Width, printed_percent
from annotation.tables.kernels.style import INK, QUIET, bare, mark_simulated, new_figure, rows_of_names, write_beside

# From orange over grey to dark blue: apart in grey by their order, and for all colour vision.
COLOURS: Mapping[int, str] = {1: "#c4671a", 2: "#efb070", 3: "#dfe3e8", 4: "#7fa3c7", 5: "#0b3c6f"}
ON_DARK = frozenset({1, 5})  # their numbers are white
ROW, SIGNS = {Width.ONE: 0.44, Width.TWO: 0.34}, {Width.ONE: 14, Width.TWO: 30}  # inches, signs of a line
LEAST_WRITTEN = {Width.ONE: 12.0, Width.TWO: 5.0}  # percent: a narrower part has no room for its number


@dataclass(frozen=True)
class Graded:
    """``counts``: how many reviews gave each grade from 1 to 5; those that could not judge are given beside."""

    name: str
    counts: Mapping[int, int]
    median: float | None
    n_cannot_judge: int
    is_asked: bool = True

    @property
    def n(self) -> int:
        return sum(self.counts.values())


def grades_figure(grades: Sequence[Graded], width: Width, *, simulated: bool) -> Figure:
    """A row for each grade in the order given: percent of the reviews that gave it."""
    figure = new_figure(width, 0.95 + ROW[width] * len(grades))
    axes = figure.add_subplot()
    rows_of_names(axes, [one.name for one in grades])
    axes.set_yticks(range(len(grades)), [fill(one.name, SIGNS[width], break_on_hyphens=False) for one in grades])
    for row, one in enumerate(grades):
        _draw(axes, row, one, LEAST_WRITTEN[width])
    axes.set_xlim(0, 100)
    axes.set_xlabel("Reviews, %")
    _write_numbers(axes, grades)
    bare(axes)
    handles = [Patch(facecolor=colour, label=str(grade)) for grade, colour in COLOURS.items()]
    figure.legend(
        handles=handles,
        title="Grade",
        loc="outside upper center",
        ncols=len(COLOURS),
        frameon=False,
        title_fontsize=7,
        handlelength=1.2,
    )
    mark_simulated(figure, simulated=simulated)
    return figure


def _draw(axes: Axes, row: int, one: Graded, least: float) -> None:
    left = 0.0
    for grade, colour in COLOURS.items():
        share = 100 * one.counts.get(grade, 0) / one.n if one.n else 0.0
        if share:
            axes.barh(row, share, left=left, height=0.62, color=colour, edgecolor="white", linewidth=0.5)
        if share >= least:
            text = printed_percent(share / 100, one.n)
            ink = "white" if grade in ON_DARK else INK
            axes.text(left + share / 2, row, text, ha="center", va="center", color=ink, fontsize=6.5)
        left += share


def _write_numbers(axes: Axes, grades: Sequence[Graded]) -> None:
    """Median, n, and how many could not judge."""
    places = (8, 40, 66)
    heads = ("median", "n", "cannot judge")
    write_beside(axes, -0.62, list(zip(places, heads, strict=True)), va="bottom", color=QUIET)
    for row, one in enumerate(grades):
        median = "n/a" if one.median is None else f"{one.median:g}"
        numbers = (median, f"{one.n:,}", f"{one.n_cannot_judge:,}")
        told = list(zip(places, numbers, strict=True)) if one.is_asked else [(places[0], "not asked")]
        write_beside(axes, row, told)
