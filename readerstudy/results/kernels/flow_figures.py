"""How cases, readers and models came into a study, and how many of them are analysed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from annotation.figures.kernels.forms import Width
from annotation.figures.kernels.style import INCHES, INK, QUIET, RULE, mark_simulated, new_figure
from readerstudy.analysis.kernels.result import StoredAnalysis

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
    mark_simulated(figure, simulated=result["simulated"])
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
