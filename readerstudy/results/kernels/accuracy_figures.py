"""Accuracy of readers and models: over all questions, and by task or category beside each other; each model minus the
mean of the readers; and whether stated chances of being right are kept.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from annotation.statistics.kernels.estimate import POST_HOC, Value, plain_value
from annotation.tables.kernels.forms import Width, printed_percent, short, title_with_n, told_apart
from annotation.tables.kernels.style import INCHES, INK, QUIET, RULE, new_figure, rows_of_names, titled, write_beside
from readerstudy.analysis.kernels.panel_result import RaterEntry
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    INFERENCES,
    N_OPTIONS,
    READER,
    CalibrationEntry,
    StoredAnalysis,
)
from readerstudy.results.kernels.inferences import Line, Planned, inference_words, planned_rows, post_hoc_table
from readerstudy.results.kernels.legends import (
    DAGGER,
    MADE_AFTER,
    READER_COLOUR,
    adjusted_p,
    is_small,
    mark,
    mark_of,
    marks_of,
    printed_limits,
)
from readerstudy.results.kernels.stored import (
    Group,
    calibrations,
    is_made_after_readings,
    kinds_of,
    large_categories,
    large_tasks,
    order_of,
    raters_of,
)

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


OFFSETS = (0.0, 0.09, 0.16)  # inches below the name, the primary inference first
FIRST_READER, NEXT_READER, GAP = 0.23, 0.055, 0.16
HEAD_AND_FOOT = {Width.ONE: 2.1, Width.TWO: 1.7}  # inches of legend, axis and note
SIGNS_OF_LABEL = 17  # in an inch of the figure
MOST_INTERVALS = 8  # readers whose own intervals are drawn; of more the differences alone, in one line
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": INK, "linewidth": 1.5, "marker": "s", "markersize": 4.2},
    {"color": "#2a6fb0", "linewidth": 0.9, "marker": "o", "markersize": 2.8, "markerfacecolor": "white"},
    {"color": "#b5651d", "linewidth": 0.9, "marker": "^", "markersize": 3.0, "linestyle": (0, (3, 1.5))},
)
OF_READER: dict[str, Any] = {"color": READER_COLOUR, "linewidth": 0.5, "marker": "|", "markersize": 3.5}


def difference_figure(result: StoredAnalysis, width: Width) -> Figure:
    """As it is printed: the inference of the plan, its numbers and its adjusted p; post hoc models below a line."""
    planned, late = planned_rows(result), post_hoc_table(result)
    rows = [*planned, *(late.planned if late else [])]
    figure = new_figure(width, 0.85 + 0.21 * max(len(rows), 2))
    axes = figure.add_subplot()
    names = [one.row["first"] for one in rows]
    left_out = rows_of_names(axes, names, marks_of(result, names))
    if planned and late:
        axes.axhline(len(planned) - 0.5, color=QUIET, linewidth=0.6)
    for place, one in enumerate(rows):
        _draw_difference(axes, place, one.planned.value, LOOKS[0])
    _difference_axis(axes, rows, width)
    _write_differences(axes, rows, with_interval=width == Width.TWO)
    if is_made_after_readings(result):
        axes.set_title(MADE_AFTER, loc="left", fontsize=7)
    mark(figure, result, left_out)
    return figure


def _write_differences(axes: Axes, rows: Sequence[Planned], *, with_interval: bool) -> None:
    """Behind the picture: the difference, with its interval where there is room, and p as adjusted by Holm."""
    second = 102 if with_interval else 36
    heads = [(8, "points (95% CI)" if with_interval else "points")]
    heads += [(second, "P (Holm)")] if any(map(adjusted_p, rows)) else []
    write_beside(axes, -0.62, heads, va="bottom", color=QUIET)
    for row, one in enumerate(rows):
        value = one.planned.value
        if value["value"] is None:
            write_beside(axes, row, [(8, "n/a")])
            continue
        limits = f" ({printed_limits(value, signed=True)})" if with_interval and value["ci95"] else ""
        text = printed_percent(value["value"], value["n"], signed=True) + limits
        write_beside(axes, row, [(8, text), (second, adjusted_p(one))])


def inferences_figure(result: StoredAnalysis, width: Width) -> Figure:
    """Differences of accuracy in percentage points with 95 % limits: three inferences, and each reader alone."""
    planned, late = planned_rows(result), post_hoc_table(result)
    rows = [*planned, *(late.planned if late else [])]
    n_readers = max((len(one.by_reader) for one in rows), default=0)
    height = FIRST_READER + NEXT_READER * (n_readers if n_readers <= MOST_INTERVALS else 1) + GAP
    figure = new_figure(width, HEAD_AND_FOOT[width] + height * max(len(rows), 1))
    axes = figure.add_subplot()
    names = [one.row["first"] for one in rows]
    left_out = rows_of_names(axes, names, marks_of(result, names))
    if planned and late:
        axes.axhline(len(planned) - GAP / height, color=QUIET, linewidth=0.6)
    axes.set_ylim(max(len(rows), 1) - 0.1 / height, -0.15 / height)
    for place, one in enumerate(rows):
        for y, value, look in _drawn(one):
            _draw_difference(axes, place + y / height, value, look)
    labels = _legend_of_differences(rows, int(SIGNS_OF_LABEL * figure.get_figwidth()), _of_plan(result, planned))
    if margin := _difference_axis(axes, rows, width):
        label = f"non-inferiority margin, {100 * margin:g} points"
        labels.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)), label=label))
    head: dict[str, Any] = {"title": MADE_AFTER, "alignment": "left"} if is_made_after_readings(result) else {}
    figure.legend(handles=labels, loc="outside upper left", frameon=False, borderpad=0, **head)
    mark(figure, result, left_out)
    return figure


def _difference_axis(axes: Axes, rows: Sequence[Planned], width: Width) -> float | None:
    """No difference, and the margin of the plan, which is given back."""
    axes.axvline(0, color=INK, linewidth=0.8)
    margin = rows[0].row["margin"] if rows else None
    if margin:
        axes.axvline(-100 * margin, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
    between = "\n" if width == Width.ONE else " "  # in one line it would leave the column
    axes.set_xlabel(f"Accuracy minus readers’ mean,{between}percentage points")
    return margin


def _drawn(one: Planned) -> Iterator[tuple[float, Value, dict[str, Any]]]:
    """How far below the name in inches, the value and its look."""
    for offset, line, look in zip(OFFSETS, one.lines, LOOKS, strict=False):
        yield offset, line.value, look
    for place, own in enumerate(one.by_reader):
        if len(one.by_reader) <= MOST_INTERVALS:
            yield FIRST_READER + place * NEXT_READER, own, OF_READER
        else:
            yield FIRST_READER, {**plain_value(own), "ci95": None}, OF_READER


def _of_plan(result: StoredAnalysis, planned: Sequence[Planned]) -> str:
    """The word behind the inference of the plan."""
    if not planned or not planned[0].row["planned"]:
        return ""
    return "of the plan" if is_made_after_readings(result) else "planned"


def _draw_difference(axes: Axes, y: float, value: Value, look: dict[str, Any]) -> None:
    if value["value"] is None:
        return
    if value["ci95"]:
        style = {key: look[key] for key in ("color", "linewidth", "linestyle") if key in look}
        axes.plot([100 * limit for limit in value["ci95"]], [y, y], **style)
    axes.plot([100 * value["value"]], [y], **{**look, "linestyle": "none"})


def _legend_of_differences(rows: Sequence[Planned], wide: int, of_plan: str) -> list[Line2D]:
    """``wide``: signs of a line."""
    lines = rows[0].lines[: len(INFERENCES)] if rows else []
    labels = [textwrap.fill(_label(line, of_plan), wide) for line in lines]
    handles = [Line2D([], [], label=label, **look) for label, look in zip(labels, LOOKS, strict=False)]
    if rows and rows[0].by_reader:
        handles.append(Line2D([], [], label="model minus each reader alone", **OF_READER))
    return handles


def _label(line: Line, of_plan: str) -> str:
    text = inference_words(line.inference, line.value["n_readers"])
    text += f": {line.aside}" if line.aside else ""
    return f"{text} ({of_plan})" if line.is_planned and of_plan else text


CALIBRATIONS_BESIDE = {Width.ONE: 2, Width.TWO: 4}
CALIBRATION_TITLE = 24  # signs of a line
LEFT, BETWEEN, AROUND = 0.45, 0.15, 0.68  # inches: left of the first picture, beside each, above and below each
LARGEST = 1.9  # inches of the side of a picture
TICKS = (0, 25, 50, 75, 100)


def calibration_figure(result: StoredAnalysis, width: Width) -> Figure:
    """A small picture for each reader and model, with the diagonal on which who is calibrated lies."""
    raters = calibrations(result)
    n_rows = ceil(len(raters) / CALIBRATIONS_BESIDE[width])
    beside = ceil(len(raters) / n_rows)
    names, left_out = told_apart([one["name"] for one in raters])
    titles = [_title(name, one) for name, one in zip(names, raters, strict=True)]
    further = TITLE_HEIGHT * max(one.count("\n") for one in titles)
    side = min((INCHES[width] - LEFT) / beside - BETWEEN, LARGEST)
    figure = new_figure(width, (side + AROUND + further) * n_rows + 0.1)
    places = figure.subplots(n_rows, beside, sharex=True, sharey=True, squeeze=False).ravel()
    for place, (axes, title, rater) in enumerate(zip(places, titles, raters, strict=False)):
        _draw_reliability(axes, rater)
        titled(axes, title, place, fontsize=7)
    for axes in places[len(raters) :]:
        axes.remove()
    for axes in places[max(0, len(raters) - beside) : len(raters)]:
        axes.set_xlabel("Stated, %")
    for axes in places[: len(raters)]:
        axes.tick_params(labelbottom=True)
    for axes in places[: len(raters) : beside]:
        axes.set_ylabel("Correct, %")
    mark(figure, result, left_out)
    return figure


def _title(name: str, rater: CalibrationEntry) -> str:
    late = ", post hoc" if POST_HOC in rater["brier_score"]["flags"] else ""
    return title_with_n(name, rater["n"], CALIBRATION_TITLE, late)


def _draw_reliability(axes: Axes, rater: CalibrationEntry) -> None:
    mark = mark_of(rater["kind"])
    bins = [(100 * one["mean_stated"], one["right"]) for one in rater["reliability_bins"]]
    most = max((right["n"] for _stated, right in bins), default=1)
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=0.7, linestyle=(0, (2, 2)))
    for stated, right in bins:
        if right["value"] is None or right["ci95"] is None:
            continue
        axes.plot([stated] * 2, [100 * limit for limit in right["ci95"]], color=mark["color"], linewidth=0.9)
        size = 2.2 + 3.2 * (right["n"] / most) ** 0.5
        axes.plot([stated], [100 * right["value"]], linestyle="none", markersize=size, clip_on=False, **mark)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xticks(TICKS)
    axes.set_yticks(TICKS)
    axes.set_aspect("equal", anchor="N")  # or the layout measures a title lower than where it is drawn
    axes.grid(color=RULE, linewidth=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
