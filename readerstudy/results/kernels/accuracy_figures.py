"""Accuracy of readers and models: over all questions, and by task or category beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.forms import Width, printed_percent, short, title_with_n
from annotation.tables.kernels.style import QUIET, new_figure, rows_of_names, titled, write_beside
from readerstudy.analysis.kernels.panel_result import RaterEntry
from readerstudy.analysis.kernels.result import ALL_TASKS, N_OPTIONS, READER, StoredAnalysis
from readerstudy.results.kernels.legends import DAGGER, READER_COLOUR, is_small, mark, mark_of, marks_of, printed_limits
from readerstudy.results.kernels.stored import Group, kinds_of, large_categories, large_tasks, order_of, raters_of

CHANCE = 100 / N_OPTIONS
DASHES, DOTS = (0, (5, 2)), (0, (2, 2))
BESIDE = {Width.ONE: 2, Width.TWO: 3}  # panels in a line
LONGEST_TITLE, TITLE_LINE = 34, {Width.ONE: 22, Width.TWO: 48}  # signs in all, in a line
TITLE_HEIGHT = 0.13  # inches of a further line


def accuracy_figure(result: StoredAnalysis, width: Width) -> Figure:
    """Each rater with interval and k of n, the most accurate first; lines for the readers' mean and chance."""
    raters = sorted(
        raters_of(result["panels"][ALL_TASKS]).values(),
        key=lambda one: (one["accuracy"]["value"] is None, -(one["accuracy"]["value"] or 0)),
    )
    figure = new_figure(width, 1.0 + 0.2 * max(len(raters), 3))  # lower, legend and axis would leave no room
    axes = figure.add_subplot()
    names = [one["name"] for one in raters]
    left_out = rows_of_names(axes, names, marks_of(result, names))
    for row, rater in enumerate(raters):
        _draw(axes, row, rater["accuracy"], rater["kind"])
    _write_numbers(axes, raters, with_interval=width == Width.TWO)
    _percent_axis(axes, "Accuracy, %")
    mean = result["mrmc"]["readers"]["value"]
    if mean is not None:
        axes.axvline(100 * mean, color=READER_COLOUR, linewidth=0.7, linestyle=DASHES)
    figure.legend(handles=_legend(mean is not None), loc="outside upper left", ncols=2, frameon=False, borderpad=0)
    mark(figure, result, left_out)
    return figure


def by_task_figure(result: StoredAnalysis, width: Width) -> Figure:
    """A panel for each task, the rows those of every other figure."""
    return _panels_figure(result, width, large_tasks(result))


def by_category_figure(result: StoredAnalysis, width: Width) -> Figure:
    """The same for the largest categories."""
    return _panels_figure(result, width, large_categories(result))


def _panels_figure(result: StoredAnalysis, width: Width, drawn: Sequence[Group]) -> Figure:
    names, kinds = order_of(result), kinds_of(result)
    lines = ceil(len(drawn) / BESIDE[width])
    beside = ceil(len(drawn) / lines)
    titles = [title_with_n(short(title, LONGEST_TITLE), n, TITLE_LINE[width]) for title, n, _shares in drawn]
    further = TITLE_HEIGHT * max(one.count("\n") for one in titles)
    figure = new_figure(width, lines * (0.68 + further + 0.16 * len(names)) + 0.2)
    places = list(figure.subplots(lines, beside, sharex=True, squeeze=False).flat)
    left_out = ""
    for place, (axes, title, (_name, _n, shares)) in enumerate(zip(places, titles, drawn, strict=False)):
        left_out = rows_of_names(axes, names, marks_of(result, names))
        axes.tick_params(labelleft=place % beside == 0)
        for row, name in enumerate(names):
            _draw(axes, row, shares[name], kinds[name])
        titled(axes, title, place, fontsize=7.5 if width == Width.TWO else 7)
        _percent_axis(axes, "Accuracy, %" if place + beside >= len(drawn) else "")
        axes.tick_params(labelbottom=True)
        first, *_others, last = axes.get_xticklabels()  # not into the panel beside
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    for axes in places[len(drawn) :]:
        axes.remove()
    mark(figure, result, left_out)
    return figure


def _percent_axis(axes: Axes, label: str) -> None:
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel(label)
    axes.axvline(CHANCE, color=QUIET, linewidth=0.8, linestyle=DOTS)


def _draw(axes: Axes, row: int, accuracy: Value, kind: str) -> None:
    value, ci95 = accuracy["value"], accuracy["ci95"]
    if value is None:
        return
    mark = mark_of(kind)
    if ci95:
        axes.plot([100 * ci95[0], 100 * ci95[1]], [row, row], color=mark["color"], linewidth=1.1)
    axes.plot([100 * value], [row], linestyle="none", markersize=4.2, markeredgewidth=1.0, clip_on=False, **mark)


def _write_numbers(axes: Axes, raters: Sequence[RaterEntry], *, with_interval: bool) -> None:
    """To the right of the picture: percent with its interval where there is room, and k of n."""
    second = 84 if with_interval else 32
    heads = [(8, "% (95% CI)" if with_interval else "%"), (second, "correct")]
    write_beside(axes, -0.8, heads, va="bottom", color=QUIET)
    for row, rater in enumerate(raters):
        percent, k = _numbers(rater, with_interval=with_interval)
        write_beside(axes, row, [(8, percent), (second, k)])


def _numbers(rater: RaterEntry, *, with_interval: bool) -> tuple[str, str]:
    one = rater["accuracy"]
    if one["value"] is None:
        return "n/a", ""
    limits = f" ({printed_limits(one)})" if with_interval and one["ci95"] else ""
    k = f"{rater['n_correct']} of {one['n']}" + (f" {DAGGER}" if is_small(one) else "")
    return printed_percent(one["value"], one["n"]) + limits, k


def _legend(with_mean: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], linestyle="-", linewidth=1.1, markersize=4.2, label="reader", **mark_of(READER)),
        Line2D([], [], linestyle="-", linewidth=1.1, markersize=4.2, label="model", **mark_of("model")),
    ]
    if with_mean:
        handles.append(
            Line2D([], [], color=READER_COLOUR, linewidth=0.7, linestyle=DASHES, label="mean of the readers")
        )
    chance = f"chance, {100 // N_OPTIONS}%"
    handles.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=DOTS, label=chance))
    return handles
