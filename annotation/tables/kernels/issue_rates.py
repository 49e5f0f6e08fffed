"""What the reviews of a round found, as a figure: how often each issue occurs, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotation.statistics.kernels.estimate import NOT_ASKED, SMALL_N, WHOLE_BANK, WHOLE_FRAME, Estimate
from annotation.tables.kernels.forms import BLUE, Width, printed_percent
from annotation.tables.kernels.style import QUIET, bare, mark_simulated, new_figure, rows_of_names, write_beside

DAGGER = "†"  # behind an n that is small
ROW, SIGNS = {Width.ONE: 0.42, Width.TWO: 0.26}, {Width.ONE: 24, Width.TWO: 44}  # inches, signs of a line
LEAST_AXIS = 10.0  # percent
ROOM = 1.08  # of the axis beyond the highest limit


@dataclass(frozen=True)
class Issue:
    name: str
    rate: Estimate


def outcomes_figure(issues: Sequence[Issue], width: Width, *, simulated: bool, of_bank: bool = False) -> Figure:
    """A row for each issue in the order given: percent of the reviewed questions or of the bank, limits, k of n."""
    figure = new_figure(width, 0.75 + ROW[width] * len(issues))
    axes = figure.add_subplot()
    rows_of_names(axes, [one.name for one in issues])
    names = [fill(one.name, SIGNS[width], break_on_hyphens=False) for one in issues]  # whole, on several lines
    axes.set_yticks(range(len(issues)), names, linespacing=1.05)
    axes.tick_params(axis="y", pad=7)
    for row, one in enumerate(issues):
        _draw(axes, row, one.rate)
    highest = max((100 * (one.rate.ci95 or (0, one.rate.value or 0))[1] for one in issues), default=0.0)
    axes.set_xlim(0, min(100, max(LEAST_AXIS, ROOM * highest)))
    axes.set_xlabel(f"{'Questions of the bank' if of_bank else 'Reviewed questions'} with the issue, %")
    _write_numbers(axes, issues, with_interval=width == Width.TWO)
    bare(axes)
    mark_simulated(figure, simulated=simulated)
    return figure


def _draw(axes: Axes, row: int, rate: Estimate) -> None:
    if rate.value is None:
        return
    if rate.ci95:
        axes.plot([100 * limit for limit in rate.ci95], [row, row], color=BLUE, linewidth=1.1)
    axes.plot([100 * rate.value], [row], marker="o", markersize=4.2, color=BLUE, clip_on=False)


def _write_numbers(axes: Axes, issues: Sequence[Issue], *, with_interval: bool) -> None:
    second = 78 if with_interval else 32
    heads = [(8, "% (95% CI)" if with_interval else "%"), (second, "questions")]
    write_beside(axes, -0.62, heads, va="bottom", color=QUIET)
    for row, one in enumerate(issues):
        rate = one.rate
        if rate.value is None:
            write_beside(axes, row, [(8, "not asked" if NOT_ASKED in rate.flags else "n/a")])
            continue
        low, high = (printed_percent(limit, rate.n) for limit in rate.ci95 or (0.0, 0.0))
        limits = f" ({low}, {high})" if with_interval and rate.ci95 else ""
        if with_interval and {WHOLE_BANK, WHOLE_FRAME} & {*rate.flags}:
            limits = " (all reviewed)"
        small = f" {DAGGER}" if SMALL_N in rate.flags else ""
        of_n = f"n = {rate.n}" if rate.count is None else f"{rate.count} of {rate.n}{small}"
        write_beside(axes, row, [(8, printed_percent(rate.value, rate.n) + limits), (second, of_n)])
