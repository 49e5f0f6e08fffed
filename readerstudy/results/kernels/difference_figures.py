"""Each model minus the mean of the readers: the planned comparison alone, and with everything beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from annotation.statistics.kernels.estimate import Value, plain_value
from annotation.tables.kernels.forms import Width, printed_percent
from annotation.tables.kernels.style import INK, QUIET, new_figure, rows_of_names, write_beside
from readerstudy.analysis.kernels.result import INFERENCES, StoredAnalysis
from readerstudy.results.kernels.inferences import Line, Planned, inference_words, planned_rows, post_hoc_table
from readerstudy.results.kernels.legends import MADE_AFTER, READER_COLOUR, adjusted_p, mark, marks_of, printed_limits
from readerstudy.results.kernels.stored import is_made_after_readings

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
        _draw(axes, place, one.planned.value, LOOKS[0])
    _difference_axis(axes, rows, width)
    _write_numbers(axes, rows, with_interval=width == Width.TWO)
    if is_made_after_readings(result):
        axes.set_title(MADE_AFTER, loc="left", fontsize=7)
    mark(figure, result, left_out)
    return figure


def _write_numbers(axes: Axes, rows: Sequence[Planned], *, with_interval: bool) -> None:
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
            _draw(axes, place + y / height, value, look)
    labels = _legend(rows, int(SIGNS_OF_LABEL * figure.get_figwidth()), _of_plan(result, planned))
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


def _draw(axes: Axes, y: float, value: Value, look: dict[str, Any]) -> None:
    if value["value"] is None:
        return
    if value["ci95"]:
        style = {key: look[key] for key in ("color", "linewidth", "linestyle") if key in look}
        axes.plot([100 * limit for limit in value["ci95"]], [y, y], **style)
    axes.plot([100 * value["value"]], [y], **{**look, "linestyle": "none"})


def _legend(rows: Sequence[Planned], wide: int, of_plan: str) -> list[Line2D]:
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
