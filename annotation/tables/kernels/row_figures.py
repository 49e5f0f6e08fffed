"""Figures with a row for each name: what reviews found, their grades, how questions went, what a bank is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from annotation.statistics.kernels.estimate import NOT_ASKED, SMALL_N, WHOLE_BANK, WHOLE_FRAME, Estimate
from annotation.tables.kernels.forms import BLUE, ORANGE, Width, printed_percent, short
from annotation.tables.kernels.style import (
    INK,
    QUIET,
    RULE,
    bare,
    mark_simulated,
    new_figure,
    rows_of_names,
    write_beside,
)


def _axes_of(figure: Figure, names: list[str], signs: int, **look: Any) -> Axes:
    """A row for each name, which is whole, in lines of so many signs."""
    axes = figure.add_subplot()
    rows_of_names(axes, names)
    axes.set_yticks(range(len(names)), [fill(name, signs, break_on_hyphens=False) for name in names], **look)
    return axes


def _write_columns(
    axes: Axes, heads: Sequence[tuple[float, str]], rows: Iterable[Sequence[str]], above: float = -0.62
) -> None:
    """Columns beside the picture, each below its head; a row may have fewer."""
    write_beside(axes, above, heads, va="bottom", color=QUIET)
    for place, words in enumerate(rows):
        write_beside(axes, place, [(points, word) for (points, _head), word in zip(heads, words, strict=False)])


# --- how the questions of a review went: drawn, reviewed, and what they are now, with those that changed --------------
STEP_ROW, STEP_SIGNS = {Width.ONE: 0.3, Width.TWO: 0.26}, {Width.ONE: 18, Width.TWO: 30}  # inches, signs of a line
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
    """A row for each step of the ``path``, a line, then a row for each state that the same questions have ``now``.

    Beside them how many, in percent of the first row, and how many of them changed.
    """
    steps = [*path, *now]
    figure = new_figure(width, 1.0 + STEP_ROW[width] * len(steps))
    axes = _axes_of(figure, [one.name for one in steps], STEP_SIGNS[width])
    whole = max(steps[0].n, 1)
    for row, one in enumerate(steps):
        axes.barh(row, one.n - one.n_changed, height=0.6, color=BLUE)
        axes.barh(row, one.n_changed, left=one.n - one.n_changed, height=0.6, color=ORANGE)
    if now:
        axes.axhline(len(path) - 0.5, color=RULE, linewidth=0.8, clip_on=False)
    axes.set_xlim(0, whole)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS[width], integer=True))
    axes.set_xlabel(words.axis)
    numbers = ((f"{one.n:,}", printed_percent(one.n / whole, whole), f"{one.n_changed:,}") for one in steps)
    _write_columns(axes, [(8, words.head[0]), (44, "%"), (74, words.head[1])], numbers)
    bare(axes)
    handles = [Patch(facecolor=BLUE, label=words.unchanged), Patch(facecolor=ORANGE, label=words.changed)]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, handlelength=1.2)
    mark_simulated(figure, simulated=simulated)
    return figure


# --- what the reviews of a round found: how often each issue occurs, with its interval --------------------------------
DAGGER = "†"  # behind an n that is small
ISSUE_ROW, ISSUE_SIGNS = {Width.ONE: 0.42, Width.TWO: 0.26}, {Width.ONE: 24, Width.TWO: 44}  # inches, signs of a line
LEAST_AXIS = 10.0  # percent
ROOM = 1.08  # of the axis beyond the highest limit


@dataclass(frozen=True)
class Issue:
    name: str
    rate: Estimate


def outcomes_figure(issues: Sequence[Issue], width: Width, *, simulated: bool, of_bank: bool = False) -> Figure:
    """A row for each issue in the order given: percent of the reviewed questions or of the bank, limits, k of n."""
    figure = new_figure(width, 0.75 + ISSUE_ROW[width] * len(issues))
    axes = _axes_of(figure, [one.name for one in issues], ISSUE_SIGNS[width], linespacing=1.05)
    axes.tick_params(axis="y", pad=7)
    for row, one in enumerate(issues):
        _draw_rate(axes, row, one.rate)
    highest = max((100 * (one.rate.ci95 or (0, one.rate.value or 0))[1] for one in issues), default=0.0)
    axes.set_xlim(0, min(100, max(LEAST_AXIS, ROOM * highest)))
    axes.set_xlabel(f"{'Questions of the bank' if of_bank else 'Reviewed questions'} with the issue, %")
    is_wide = width == Width.TWO
    heads = [(8, "% (95% CI)" if is_wide else "%"), (78 if is_wide else 32, "questions")]
    _write_columns(axes, heads, (_rate_in_words(one.rate, with_interval=is_wide) for one in issues))
    bare(axes)
    mark_simulated(figure, simulated=simulated)
    return figure


def _draw_rate(axes: Axes, row: int, rate: Estimate) -> None:
    if rate.value is None:
        return
    if rate.ci95:
        axes.plot([100 * limit for limit in rate.ci95], [row, row], color=BLUE, linewidth=1.1)
    axes.plot([100 * rate.value], [row], marker="o", markersize=4.2, color=BLUE, clip_on=False)


def _rate_in_words(rate: Estimate, *, with_interval: bool) -> list[str]:
    if rate.value is None:
        return ["not asked" if NOT_ASKED in rate.flags else "n/a"]
    low, high = (printed_percent(limit, rate.n) for limit in rate.ci95 or (0.0, 0.0))
    limits = f" ({low}, {high})" if with_interval and rate.ci95 else ""
    if with_interval and {WHOLE_BANK, WHOLE_FRAME} & {*rate.flags}:
        limits = " (all reviewed)"
    small = f" {DAGGER}" if SMALL_N in rate.flags else ""
    of_n = f"n = {rate.n}" if rate.count is None else f"{rate.count} of {rate.n}{small}"
    return [printed_percent(rate.value, rate.n) + limits, of_n]


# --- the grades of a round: of each grade one bar, stacked from 1 to 5, with n and the median beside it ---------------
# From orange over grey to dark blue: apart in grey by their order, and for all colour vision.
COLOURS: Mapping[int, str] = {1: "#c4671a", 2: "#efb070", 3: "#dfe3e8", 4: "#7fa3c7", 5: "#0b3c6f"}
ON_DARK = frozenset({1, 5})  # their numbers are white
GRADE_ROW, GRADE_SIGNS = {Width.ONE: 0.44, Width.TWO: 0.34}, {Width.ONE: 14, Width.TWO: 30}  # inches, signs of a line
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
    """A row for each grade in the order given: percent of the reviews that gave it. Beside it median, n, and how many
    could not judge.
    """
    figure = new_figure(width, 0.95 + GRADE_ROW[width] * len(grades))
    axes = _axes_of(figure, [one.name for one in grades], GRADE_SIGNS[width])
    for row, one in enumerate(grades):
        _draw_grades(axes, row, one, LEAST_WRITTEN[width])
    axes.set_xlim(0, 100)
    axes.set_xlabel("Reviews, %")
    _write_columns(axes, [(8, "median"), (40, "n"), (66, "cannot judge")], map(_grades_in_words, grades))
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


def _draw_grades(axes: Axes, row: int, one: Graded, least: float) -> None:
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


def _grades_in_words(one: Graded) -> list[str]:
    if not one.is_asked:
        return ["not asked"]
    return ["n/a" if one.median is None else f"{one.median:g}", f"{one.n:,}", f"{one.n_cannot_judge:,}"]


# --- what the questions of a bank are about: its domains and the largest categories of each, with counts --------------
MOST_CATEGORIES = 8  # of a domain; the others are one row
TOPIC_ROW, TOPIC_SIGNS = 0.17, {Width.ONE: 28, Width.TWO: 48}  # inches, signs of a line
ENDS = {Width.ONE: (8, 44), Width.TWO: (8, 56)}  # points
LIGHT = "#7fa3c7"  # of a category


@dataclass(frozen=True)
class Domain:
    """A task, and how many of its ``n`` questions have each category."""

    name: str
    n: int
    categories: Sequence[tuple[str, int]]

    def rows(self, others: str) -> list[tuple[str, int]]:
        """The largest categories, then what is left as one row, where that is more than one category."""
        ordered = sorted(self.categories, key=lambda one: (-one[1], one[0]))
        shown = ordered if len(ordered) <= MOST_CATEGORIES + 1 else ordered[:MOST_CATEGORIES]
        rest = ordered[len(shown) :]
        return [*shown, *([(others % {"n": len(rest)}, sum(n for _name, n in rest))] if rest else [])]


def taxonomy_figure(
    domains: Sequence[Domain], width: Width, words: tuple[str, str], *, simulated: bool, others: str
) -> Figure:
    """A bar for each domain with those of its categories below; n and percent of all questions beside them.

    ``words``: what is counted, and the sign of percent; ``others``: of the row of the smaller categories, with %(n)s.
    """
    rows = [row for one in domains for row in [(one.name, one.n), *one.rows(others)]]
    is_domain = [place == 0 for one in domains for place in range(1 + len(one.rows(others)))]
    all_of_them = sum(one.n for one in domains)
    figure = new_figure(width, 0.7 + TOPIC_ROW * len(rows))
    axes = figure.add_subplot()
    rows_of_names(axes, [""] * len(rows))
    axes.set_yticks(range(len(rows)), [short(name, TOPIC_SIGNS[width]) for name, _n in rows])
    for label, bold in zip(axes.get_yticklabels(), is_domain, strict=True):
        label.set_fontweight("bold" if bold else "normal")
    colours = [BLUE if bold else LIGHT for bold in is_domain]
    axes.barh(range(len(rows)), [n for _name, n in rows], 0.62, color=colours)
    axes.set_xlim(0, max((one.n for one in domains), default=1))
    axes.set_xlabel(words[0])
    heads = list(zip(ENDS[width], ("n", words[1]), strict=True))
    numbers = ((f"{n:,}", printed_percent(n / all_of_them, all_of_them)) for _name, n in rows)
    _write_columns(axes, heads, numbers, above=-0.9)
    bare(axes)
    mark_simulated(figure, simulated=simulated)
    return figure
