"""How the questions of a review went as a figure: drawn, reviewed, and what they are now, with those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from annotation.tables.kernels.forms import BLUE, ORANGE, Width, printed_percent
from annotation.tables.kernels.style import QUIET, RULE, bare, mark_simulated, new_figure, rows_of_names, write_beside

ROW, SIGNS = {Width.ONE: 0.3, Width.TWO: 0.26}, {Width.ONE: 18, Width.TWO: 30}  # inches, signs of a line
TICKS = {Width.ONE: 2, Width.TWO: 5}


@dataclass(frozen=True)
class FlowStep:
    """``n_changed`` of the n questions have another wording than the one that was drawn."""

    name: str
    n: int
    n_changed: int


@dataclass(frozen=True)
class StepWords:
    """The words of the figure, in the language of its reader."""

    unchanged: str
    changed: str
    axis: str
    head: tuple[str, str]  # over the counts of questions, and of those that changed


def steps_figure(
    path: Sequence[FlowStep], now: Sequence[FlowStep], words: StepWords, width: Width, *, simulated: bool
) -> Figure:
    """A row for each step of the ``path``, a line, then a row for each state that the same questions have ``now``."""
    steps = [*path, *now]
    figure = new_figure(width, 1.0 + ROW[width] * len(steps))
    axes = figure.add_subplot()
    rows_of_names(axes, [one.name for one in steps])
    axes.set_yticks(range(len(steps)), [fill(one.name, SIGNS[width], break_on_hyphens=False) for one in steps])
    whole = max(steps[0].n, 1)
    for row, one in enumerate(steps):
        axes.barh(row, one.n - one.n_changed, height=0.6, color=BLUE)
        axes.barh(row, one.n_changed, left=one.n - one.n_changed, height=0.6, color=ORANGE)
    if now:
        axes.axhline(len(path) - 0.5, color=RULE, linewidth=0.8, clip_on=False)
    axes.set_xlim(0, whole)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS[width], integer=True))
    axes.set_xlabel(words.axis)
    _write_numbers(axes, steps, whole, words)
    bare(axes)
    handles = [Patch(facecolor=BLUE, label=words.unchanged), Patch(facecolor=ORANGE, label=words.changed)]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, handlelength=1.2)
    mark_simulated(figure, simulated=simulated)
    return figure


def _write_numbers(axes: Axes, steps: Sequence[FlowStep], whole: int, words: StepWords) -> None:
    """How many, in percent of the first row, and how many of them changed."""
    places = (8, 44, 74)
    heads = (words.head[0], "%", words.head[1])
    write_beside(axes, -0.62, list(zip(places, heads, strict=True)), va="bottom", color=QUIET)
    for row, one in enumerate(steps):
        numbers = (f"{one.n:,}", printed_percent(one.n / whole, whole), f"{one.n_changed:,}")
        write_beside(axes, row, list(zip(places, numbers, strict=True)))
