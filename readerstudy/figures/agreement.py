"""The agreement of every pair of raters, task by task: the heatmap."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from readerstudy.figures.forms import Width
from readerstudy.figures.scale import COLOURS, HIGHEST, LOWEST, N_STEPS, STEP, colour_of, step_of, words_on
from readerstudy.figures.style import QUIET, new_figure, note
from readerstudy.results.names import short
from readerstudy.results.stored import (
    ALL_TASKS,
    READER,
    Json,
    kinds_of,
    order_of,
    pairs_of,
    panel_names,
    task_label,
)

SIDE = 0.94  # of a square, where a cell is 1
DOTS = (0, (1, 1.6))
MINUS = "\N{MINUS SIGN}"
FOR_MINUS = 0.76  # of the size of the others, so that the sign fits into the cell, too


def agreement_figure(result: Json, width: Width) -> Figure:
    """Cohen's kappa on the chosen option. Two columns: all tasks and each task; one column: all tasks."""
    return heatmap_figure(result, width, "cohen_kappa", "Cohen’s kappa, same option")


def error_consistency_figure(result: Json, width: Width) -> Figure:
    """The same over right and wrong instead of options."""
    return heatmap_figure(result, width, "error_consistency", "Cohen’s kappa, both right or both wrong")


def heatmap_figure(result: Json, width: Width, statistic: str, name: str) -> Figure:
    names = panel_names(result) if width == Width.TWO else [ALL_TASKS]
    columns = 2 if len(names) > 1 else 1
    lines = ceil(len(names) / columns)
    figure = new_figure(width, 0.75 + lines * (3.25 if columns == 2 else 3.1 if width == Width.ONE else 6.2))
    grid = figure.subplots(lines, columns, squeeze=False)
    places = list(grid.flat)
    for axes, panel in zip(places, names, strict=False):
        _draw_panel(axes, result, panel, statistic)
    for axes in places[len(names) :]:
        axes.remove()
    bar = ScalarMappable(norm=_norm(), cmap=ListedColormap(COLOURS))
    colours = figure.colorbar(
        bar, ax=places[: len(names)], location="bottom", shrink=0.7, aspect=45, pad=0.02, label=name
    )
    colours.set_ticks([-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1])
    colours.outline.set_linewidth(0.4)
    note(figure, result, "hatched: undefined · dotted: n < 30")
    return figure


def _norm() -> BoundaryNorm:
    return BoundaryNorm([LOWEST + STEP * step for step in range(N_STEPS)] + [HIGHEST], N_STEPS)


def _draw_panel(axes: Axes, result: Json, panel: str, statistic: str) -> None:
    names, kinds = order_of(result), kinds_of(result)
    found = pairs_of(result["panels"][panel])
    size = _size_of_words(len(names))
    cells = {
        (row, column): found[frozenset((first, second))][statistic]
        for row, first in enumerate(names)
        for column, second in enumerate(names)
        if first != second
    }
    _colour_cells(axes, cells)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, "in_layout": False}
    for (row, column), one in cells.items():
        if one["value"] is not None:
            words = _two_places(one["value"])
            fitting = {**middle, "fontsize": size * FOR_MINUS if words.startswith(MINUS) else size}
            axes.text(column, row, words, color=words_on(step_of(one["value"])), **fitting)
    for row in range(len(names)):
        axes.text(row, row, "·", color=QUIET, **middle)
    n_readers = sum(kinds[name] == READER for name in names)
    _name_rows(axes, names, n_readers)
    axes.set_title(f"{task_label(panel)}, n = {result['panels'][panel]['n']}", loc="left", fontweight="bold", pad=4)


def _colour_cells(axes: Axes, cells: Mapping[tuple[int, int], Json]) -> None:
    """Three layers: colours, hatches where there is no value, dots where n is small."""
    defined = {place: step_of(one["value"]) for place, one in cells.items() if one["value"] is not None}
    hatched = [_square(place, SIDE) for place in cells if place not in defined]
    dotted = {place: step for place, step in defined.items() if "small_n" in cells[place]["flags"]}
    squares = [_square(place, SIDE) for place in defined]
    axes.add_collection(
        PatchCollection(squares, facecolors=[colour_of(step) for step in defined.values()], linewidth=0)
    )
    axes.add_collection(PatchCollection(hatched, facecolor="white", edgecolor="#9aa2ab", hatch="////", linewidth=0))
    inner = [_square(place, 0.86 * SIDE) for place in dotted]
    edges = [words_on(step) for step in dotted.values()]
    axes.add_collection(PatchCollection(inner, facecolor="none", edgecolors=edges, linewidth=0.6, linestyle=DOTS))


def _square(place: tuple[int, int], side: float) -> Rectangle:
    row, column = place
    return Rectangle((column - side / 2, row - side / 2), side, side)


def _name_rows(axes: Axes, names: list[str], n_readers: int) -> None:
    shown = [short(name) for name in names]
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=6)
    axes.set_yticks(range(len(names)), shown, fontsize=6)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label in labels[:n_readers]:
            label.set_fontweight("bold")
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _size_of_words(n: int) -> float:
    """In points: as large as two decimals fit into a cell."""
    return max(3.0, min(7.0, 51 / max(n, 1)))


def _two_places(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", MINUS)
