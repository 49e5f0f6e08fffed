"""How long cases took: a box for each reader, and how the time changed along the order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from annotation.figures.kernels.forms import Width
from annotation.figures.kernels.style import INK, QUIET, mark_simulated, new_figure, rows_of_names, titled, write_beside
from annotation.statistics.kernels.estimate import Value
from readerstudy.analysis.kernels.result import AllTimes, ReaderTimes, StoredAnalysis
from readerstudy.results.kernels.legends import READER_COLOUR

ALL = "All readers"
BOX = "#e4ebf3"
HALF, CAP = 0.28, 0.14  # of the height of a box and of the end of a whisker, the distance of rows being 1
STEPS, WIDE_STEPS = (1, 1.5, 2, 3, 5, 7), (1, 2, 5)  # of the marks on the axis of seconds
WIDE = 20  # the longest time over the shortest


@dataclass(frozen=True)
class TimeRow:
    """The times of one reader, or of all."""

    name: str
    times: ReaderTimes | AllTimes

    @property
    def colour(self) -> str:
        return INK if self.name == ALL else READER_COLOUR


def time_figure(result: StoredAnalysis, width: Width) -> Figure:
    """A: box, whiskers and geometric mean of the seconds per case. B: change per ten cases, with 95 % limits.

    In one column the second is below the first.
    """
    time = result["time"]
    rows = [*(TimeRow(one["name"], one) for one in time["readers"]), TimeRow(ALL, time["all"])]
    side_by_side = width == Width.TWO
    height = 0.75 + 0.27 * len(rows)
    figure = new_figure(width, height if side_by_side else 2 * height)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2)) if side_by_side else figure.subplots(2, 1)
    _draw_seconds(left, rows)
    _draw_change(right, rows, with_names=not side_by_side)
    mark_simulated(figure, simulated=result["simulated"])
    return figure


def _draw_seconds(axes: Axes, rows: list[TimeRow]) -> None:
    rows_of_names(axes, [one.name for one in rows], [f", n = {one.times['median']['n']}" for one in rows])
    for row, one in enumerate(rows):
        if one.times["median"]["value"] is None:
            axes.annotate("n/a", (0.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=QUIET)
            continue
        _draw_box(axes, row, one)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=WIDE_STEPS if high > WIDE * low else STEPS, numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
    axes.set_xlabel("Seconds per case")
    titled(axes, "Time per case", 0)
    _write_medians(axes, rows)


def _draw_box(axes: Axes, row: int, one: TimeRow) -> None:
    """Without the third quartile, which times cut at the limit can leave open, the box ends at the median; there, and
    without a 95th percentile, is no whisker."""
    times = one.times
    colour: dict[str, Any] = {"color": one.colour}
    q1, median, q3 = times["q1"]["value"], times["median"]["value"], times["q3"]["value"]
    for edge, tip in ((q1, times.get("p5")), (q3, times.get("p95"))):  # earlier rules have no whiskers
        if edge is not None and tip is not None and tip["value"] is not None:
            axes.plot(sorted((edge, tip["value"])), [row, row], linewidth=0.9, zorder=1.5, **colour)
            axes.plot([tip["value"]] * 2, [row - CAP, row + CAP], linewidth=0.9, **colour)
    known = [value for value in (q1, median, q3) if value is not None]
    if len(known) > 1:
        corner, wide = (known[0], row - HALF), known[-1] - known[0]
        axes.add_patch(Rectangle(corner, wide, 2 * HALF, facecolor=BOX, edgecolor=one.colour, linewidth=0.8))
    if median is not None:
        axes.plot([median] * 2, [row - HALF, row + HALF], linewidth=1.8, **colour)
    mean = times["geometric_mean"]["value"]
    if mean is not None:
        axes.plot([mean], [row], marker="D", markersize=3.2, markerfacecolor="white", linestyle="none", **colour)


def _write_medians(axes: Axes, rows: list[TimeRow]) -> None:
    write_beside(axes, -0.62, [(6, "median (quartiles), s")], va="bottom", color=QUIET)
    for row, one in enumerate(rows):
        q1, median, q3 = map(_seconds, (one.times["q1"], one.times["median"], one.times["q3"]))
        write_beside(axes, row, [(6, median if median == "n/a" else f"{median} ({q1}, {q3})")])


def _seconds(one: Value) -> str:
    return "n/a" if one["value"] is None else f"{one['value']:.1f}"


def _draw_change(axes: Axes, rows: list[TimeRow], *, with_names: bool) -> None:
    rows_of_names(axes, [one.name for one in rows])
    axes.tick_params(labelleft=with_names)
    for row, one in enumerate(rows):
        change = one.times["percent_per_ten"]
        if change["value"] is None:
            axes.text(0, row, " n/a", va="center", fontsize=7, color=QUIET)
            continue
        if change["ci95"]:
            axes.plot(change["ci95"], [row, row], color=one.colour, linewidth=1.1)
        axes.plot([change["value"]], [row], marker="o", markersize=4.0, color=one.colour)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel("Change per ten cases, %")
    titled(axes, "Change along the order", 1)
