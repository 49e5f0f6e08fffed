"""Figures of a study's course: how cases and raters came in, and how long cases took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.forms import Width
from annotation.tables.kernels.style import INCHES, INK, QUIET, RULE, new_figure, rows_of_names, titled, write_beside
from readerstudy.analysis.kernels.result import AllTimes, ReaderTimes, StoredAnalysis
from readerstudy.results.kernels.legends import READER_COLOUR, mark

LINE = 0.124  # inches of one line of words
PAD, GAP, TITLE = 0.09, 0.2, 0.22
SIGNS, QUIET_SIGNS = 20, 21.5  # in an inch of a box, and of one beside it
MAIN, ASIDE = 0.58, 0.38  # share of a flow
FOOT = 0.2  # for the note


@dataclass(frozen=True)
class Box:
    """A step with its number, and beside it what was left out before the next."""

    text: str
    left_out: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Flow:
    columns: Sequence[tuple[str, Sequence[Box]]]  # what flows, and its steps from the top
    end: str  # what comes of all of them


def flow_figure(flow: Flow, result: StoredAnalysis, width: Width) -> Figure:
    """Two columns: the flows beside each other; one column: below each other. The analysis is at the bottom."""
    beside = width == Width.TWO
    wide = INCHES[width]
    shares = _shares(flow, wide) if beside else [wide] * len(flow.columns)
    heights = [_height(boxes, share) for (_title, boxes), share in zip(flow.columns, shares, strict=True)]
    end = wrap(flow.end, int(SIGNS * wide * 0.9))
    last = _box_height(end)
    total = (max(heights) if beside else sum(heights)) + last + FOOT + 0.1
    figure = new_figure(width, total)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, wide)
    axes.set_ylim(0, total)  # so that one unit is one inch
    axes.set_axis_off()
    top, left = total - 0.05, 0.0
    for (title, boxes), share in zip(flow.columns, shares, strict=True):
        bottom = _draw_column(axes, title, boxes, (left, top, share))
        if beside:
            _arrow(axes, left + 0.5 * MAIN * share, bottom, FOOT + last)
            left += share
        else:
            top = bottom - GAP
    _draw_box(axes, (0.04, FOOT + last, wide - 0.08, last), end, weight="bold")
    mark(figure, result)
    return figure


def _shares(flow: Flow, wide: float) -> list[float]:
    """Inches of each flow: more where something is left out beside it."""
    wanted = [1.0 if any(box.left_out for box in boxes) else 0.72 for _title, boxes in flow.columns]
    return [wide * one / sum(wanted) for one in wanted]


def _draw_column(axes: Axes, title: str, boxes: Sequence[Box], place: tuple[float, float, float]) -> float:
    """Draw one flow from ``place`` (left, top, width) downwards; where its last box ends."""
    left, top, share = place
    width, middle = MAIN * share - 0.08, left + 0.5 * MAIN * share
    axes.text(left + 0.04, top, title, fontsize=7.5, fontweight="bold", va="top", ha="left", color=INK)
    top -= TITLE
    bottom = top
    for number, box in enumerate(boxes):
        lines, aside = _lines(box, share), _aside(box, share)
        bottom = top - _box_height(lines)
        _draw_box(axes, (left + 0.04, top, width, top - bottom), lines)
        beside = _box_height(aside) if aside else 0.0
        following = bottom - GAP - beside
        if number < len(boxes) - 1:
            _arrow(axes, middle, bottom, following)
        if aside:
            at = bottom - (GAP + beside) / 2
            edge = left + (1 - ASIDE) * share
            _draw_box(axes, (edge, at + beside / 2, ASIDE * share - 0.06, beside), aside, quiet=True)
            _arrow(axes, middle, at, at, to=edge)
        top = following
    return bottom


def _lines(box: Box, share: float) -> list[str]:
    return wrap(box.text, int(SIGNS * (MAIN * share - 0.22)))


def _aside(box: Box, share: float) -> list[str]:
    return [line for text in box.left_out for line in wrap(text, int(QUIET_SIGNS * (ASIDE * share - 0.2)))]


def _height(boxes: Sequence[Box], share: float) -> float:
    steps = sum(_box_height(_lines(box, share)) + GAP for box in boxes)
    return TITLE + steps + sum(_box_height(aside) for box in boxes if (aside := _aside(box, share)))


def _box_height(lines: Sequence[str]) -> float:
    return LINE * max(len(lines), 1) + 2 * PAD - 0.04


def _draw_box(
    axes: Axes,
    place: tuple[float, float, float, float],
    lines: Sequence[str],
    *,
    quiet: bool = False,
    weight: str = "normal",
) -> None:
    """``place``: left, top, width, height."""
    left, top, width, height = place
    edge = RULE if quiet else QUIET
    axes.add_patch(
        FancyBboxPatch(
            (left, top - height), width, height, boxstyle="round,pad=0,rounding_size=0.05",
            facecolor="white", edgecolor=edge, linewidth=0.7,
        )
    )  # fmt: skip
    axes.text(
        left + 0.07, top - height / 2, "\n".join(lines), fontsize=6 if quiet else 6.5, va="center", ha="left",
        color=QUIET if quiet else INK, fontweight=weight, linespacing=1.35,
    )  # fmt: skip


def _arrow(axes: Axes, x: float, start: float, end: float, *, to: float | None = None) -> None:
    axes.annotate(
        "",
        xy=(x if to is None else to, end),
        xytext=(x, start),
        arrowprops={"arrowstyle": "-|>", "color": QUIET, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
    )


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
    left_out = _draw_seconds(left, rows)
    _draw_change(right, rows, with_names=not side_by_side)
    mark(figure, result, left_out)
    return figure


def _draw_seconds(axes: Axes, rows: list[TimeRow]) -> str:
    """What the names left out."""
    counts = [f", n = {one.times['median']['n']}" for one in rows]
    left_out = rows_of_names(axes, [one.name for one in rows], counts)
    for row, one in enumerate(rows):
        if one.times["median"]["value"] is None:
            axes.annotate("n/a", (0.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=QUIET)
            continue
        _draw_times(axes, row, one)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=WIDE_STEPS if high > WIDE * low else STEPS, numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value:g}"))
    axes.set_xlabel("Seconds per case")
    titled(axes, "Time per case", 0)
    _write_medians(axes, rows)
    return left_out


def _draw_times(axes: Axes, row: int, one: TimeRow) -> None:
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
