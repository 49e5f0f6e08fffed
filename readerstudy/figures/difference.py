"""The planned comparison: each model minus the mean of the readers."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from readerstudy.figures.forms import Width
from readerstudy.figures.style import INK, QUIET, new_figure, note, rows_of_names
from readerstudy.results.stored import INFERENCES, Json, planned_comparisons

OFFSET = {0: 0.0, 1: 0.26, 2: 0.46}  # rows below the name, the primary inference first
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": INK, "linewidth": 1.5, "marker": "s", "markersize": 4.2},
    {"color": "#2a6fb0", "linewidth": 0.9, "marker": "o", "markersize": 2.8, "markerfacecolor": "white"},
    {"color": "#b5651d", "linewidth": 0.9, "marker": "^", "markersize": 3.0, "linestyle": (0, (3, 1.5))},
)


def difference_figure(result: Json, width: Width) -> Figure:
    """Differences of accuracy in percentage points with 95 % limits of the three inferences, that of the plan first."""
    rows = planned_comparisons(result)
    figure = new_figure(width, 1.3 + 0.34 * max(len(rows), 1))
    axes = figure.add_subplot()
    rows_of_names(axes, [one["first"] for one in rows])
    axes.set_ylim(max(len(rows), 1) - 0.2, -0.5)
    primary = rows[0]["difference"]["method"] if rows else next(iter(INFERENCES))
    names = [primary, *(name for name in INFERENCES if name != primary)]
    for row, one in enumerate(rows):
        if one["difference"]["value"] is not None:
            _draw(axes, row, 100 * one["difference"]["value"], result["mrmc"]["models"][one["first"]], names)
    axes.axvline(0, color=INK, linewidth=0.8)
    margin = rows[0]["margin"] if rows else None
    if margin:
        axes.axvline(-100 * margin, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
    between = "\n" if width == Width.ONE else " "  # in one line it would leave the column
    axes.set_xlabel(f"Accuracy minus readers’ mean,{between}percentage points")
    planned = primary if rows and rows[0]["planned"] else ""
    handles = [Line2D([], [], label=_label(name, planned), **look) for name, look in zip(names, LOOKS, strict=True)]
    if margin:
        label = f"non-inferiority margin, {100 * margin:g} points"
        handles.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)), label=label))
    columns = 1 if width == Width.ONE else 2
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, borderpad=0)
    note(figure, result, _numbers(result))
    return figure


def _draw(axes: Axes, row: int, value: float, found: Json, names: list[str]) -> None:
    for place, (name, look) in enumerate(zip(names, LOOKS, strict=True)):
        limits = found[name]["ci95"]
        at = row + OFFSET[place]
        if limits:
            style = {key: look[key] for key in ("color", "linewidth", "linestyle") if key in look}
            axes.plot([100 * limits[0], 100 * limits[1]], [at, at], **style)
        axes.plot([value], [at], **{**look, "linestyle": "none"})


def _label(name: str, planned: str) -> str:
    return f"{INFERENCES[name]} (planned)" if name == planned else INFERENCES[name]


def _numbers(result: Json) -> str:
    readers = result["mrmc"]["readers"]
    of = f"{readers['n_readers']} readers, {readers['n_questions']} questions"
    return f"95 % intervals by t, not adjusted for several models · {of}"
