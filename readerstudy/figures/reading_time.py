"""How long cases took: each reader, and how the time changed along the order."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from readerstudy.figures.forms import Width
from readerstudy.figures.style import INK, QUIET, READER_COLOUR, new_figure, note, rows_of_names
from readerstudy.results.stored import Json

ALL = "all readers"
SECONDS = {
    Width.ONE: "Seconds per case (log scale):\nbar quartiles, tick median, circle\ngeometric mean with 95 % interval",
    Width.TWO: "Seconds per case (log scale): bar quartiles, tick median,\ncircle geometric mean with 95 % interval",
}
CHANGE = "Change of time per ten cases, %,\n95 % interval; all readers:\nadjusted for reader and case"
WHICH = "active time of answered and declined cases, censored times left out"


def time_figure(result: Json, width: Width) -> Figure:
    """Left: median and quartiles of seconds per case. Right: change along the order, per ten cases, with 95 % limits.

    In one column the second stands below the first.
    """
    time = result["time"]
    rows = [*time["readers"], {"name": ALL, **time["all"]}]
    side_by_side = width == Width.TWO
    height = 0.8 + 0.22 * len(rows)
    figure = new_figure(width, height + 0.2 if side_by_side else 2 * height + 0.4)
    left, right = figure.subplots(1, 2) if side_by_side else figure.subplots(2, 1)
    _draw_seconds(left, rows, SECONDS[width])
    _draw_change(right, rows, CHANGE)
    note(figure, result, WHICH)
    return figure


def _draw_seconds(axes: Axes, rows: list[Json], label: str) -> None:
    rows_of_names(axes, [one["name"] for one in rows], [f", n = {one['median']['n']}" for one in rows])
    for row, one in enumerate(rows):
        if one["median"]["value"] is None:
            continue
        colour = INK if one["name"] == ALL else READER_COLOUR
        axes.plot([one["q1"]["value"], one["q3"]["value"]], [row, row], color=colour, linewidth=3.2, alpha=0.35)
        axes.plot([one["median"]["value"]], [row], marker="|", markersize=9, markeredgewidth=1.6, color=colour)
        mean = one["geometric_mean"]
        if mean["ci95"]:
            axes.plot(mean["ci95"], [row, row], color=colour, linewidth=1.0)
            axes.plot([mean["value"]], [row], marker="o", markersize=2.8, color=colour, markerfacecolor="white")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)


def _draw_change(axes: Axes, rows: list[Json], label: str) -> None:
    rows_of_names(axes, [one["name"] for one in rows])
    for row, one in enumerate(rows):
        change = one["percent_per_ten"]
        if change["value"] is None:
            axes.text(0, row, " n/a", va="center", fontsize=6, color=QUIET)
            continue
        colour = INK if one["name"] == ALL else READER_COLOUR
        if change["ci95"]:
            axes.plot(change["ci95"], [row, row], color=colour, linewidth=1.1)
        axes.plot([change["value"]], [row], marker="o", markersize=4.0, color=colour)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel(label)
