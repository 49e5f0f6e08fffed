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

from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.forms import LONGEST_NAME, Width, told_apart
from annotation.tables.kernels.style import INCHES, QUIET, new_figure, titled
from readerstudy.analysis.kernels.result import ALL_TASKS, READER, StoredAnalysis
from readerstudy.results.kernels.agreement_tables import (
    COLOURS,
    HIGHEST,
    LOWEST,
    N_STEPS,
    STEP,
    Agree,
    colour_of,
    gap_before,
    kappa_of,
    step_of,
    words_on,
)
from readerstudy.results.kernels.legends import mark, marks_of
from readerstudy.results.kernels.stored import (
    FEWEST_FOR_KAPPA,
    is_dotted,
    kinds_of,
    order_of,
    pairs_of,
    panel_names,
    shown_kappa,
    task_label,
)

SIDE, INSIDE = 0.94, 0.92  # of a field where a cell is 1, and of its dotted frame where the field is 1
DOTS = (0, (1, 1.6))
GAP = 0.35  # between readers and models, the side of a field being 1
MINUS = "\N{MINUS SIGN}"
LARGEST, LEAST = 7.0, 5.5  # points of a kappa in its cell; below the least no zero follows a minus
ADVANCE = {MINUS: 0.584, ".": 0.278}  # widths of signs of the font, where its size is 1; of a digit 0.556
AROUND = 0.06  # left free beside the words, in the same measure
CELL = {1: 0.205, 2: 0.19}  # inches of the height of a cell, by panels beside each other
TALLEST = 2.15  # inches of a panel, however many raters
LONGEST = {Width.ONE: 18, Width.TWO: LONGEST_NAME}  # signs of a name; longer ones leave no room for the cells


def agreement_figure(result: StoredAnalysis, width: Width) -> Figure:
    """Cohen's kappa on the chosen option. Two columns: all tasks and each task; one column: all tasks."""
    return heatmap_figure(result, width, Agree.OPTION, "Cohen’s kappa, same option")


def error_consistency_figure(result: StoredAnalysis, width: Width) -> Figure:
    """The same over right and wrong instead of options."""
    return heatmap_figure(result, width, Agree.RIGHT, "Cohen’s kappa, both right or both wrong")


def heatmap_figure(result: StoredAnalysis, width: Width, agree: Agree, name: str) -> Figure:
    """Panels share the names of rows and columns, which leaves room for numbers that can be read in print."""
    names = panel_names(result) if width == Width.TWO else [ALL_TASKS]
    columns = 2 if len(names) > 1 else 1
    lines = ceil(len(names) / columns)
    order = order_of(result)
    shown, left_out = told_apart(order, LONGEST[width])
    raters = [name + mark for name, mark in zip(shown, marks_of(result, order), strict=True)]
    figure = new_figure(width, _height(raters, lines, columns))
    places = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in places[len(names) :]:
        axes.remove()
    panels = dict(zip(names, places, strict=False))
    for place, (panel, axes) in enumerate(panels.items()):
        _draw_panel(axes, result, panel, agree, place if columns > 1 else None)
        _name_rows(axes, raters, result, beside=place % columns == 0, below=place + columns >= len(names))
    edges = [LOWEST + STEP * step for step in range(N_STEPS)] + [HIGHEST]
    bar = ScalarMappable(norm=BoundaryNorm(edges, N_STEPS), cmap=ListedColormap(COLOURS))
    colours = figure.colorbar(
        bar, ax=places[: len(names)], location="bottom", shrink=0.7, aspect=45, pad=0.02, label=name
    )
    colours.set_ticks([-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1])
    colours.outline.set_linewidth(0.4)
    mark(figure, result, left_out)
    figure.draw_without_rendering()  # places the panels, so that the size of a cell is known
    for panel, axes in panels.items():
        _write_kappas(axes, INCHES[width], result, panel, agree)
    return figure


def _height(raters: list[str], lines: int, columns: int) -> float:
    """In inches: panels with their titles, then once the names below, the scale and the note."""
    cells = min(CELL[columns] * len(raters), TALLEST if columns > 1 else 2 * TALLEST)
    longest = max(map(len, raters))
    return lines * (cells + 0.4) + 0.055 * longest + 0.75


def _draw_panel(axes: Axes, result: StoredAnalysis, panel: str, agree: Agree, place: int | None) -> None:
    names = order_of(result)
    cells = _cells(result, panel, agree)
    _colour_cells(axes, cells, gap_before(result))
    ends = (-0.5, _at(len(names) - 1, gap_before(result)) + 0.5)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends[::-1])
    titled(axes, f"{task_label(panel)} (n = {result['panels'][panel]['n']})", place, pad=13)
    if all(one["n"] < FEWEST_FOR_KAPPA for one in cells.values()):
        look: dict[str, Any] = {"fontsize": 6.5, "color": QUIET, "in_layout": False}
        axes.annotate(
            f"fewer than {FEWEST_FOR_KAPPA} questions", (0, 1), (0, 3.5), "axes fraction", "offset points", **look
        )


def _at(place: int, gap: int | None) -> float:
    """The position of a row or column: models further on, behind a gap."""
    return place + (GAP if gap is not None and place >= gap else 0)


def _cells(result: StoredAnalysis, panel: str, agree: Agree) -> dict[tuple[int, int], Value]:
    """By row and column, without the diagonal."""
    names, found = order_of(result), pairs_of(result["panels"][panel])
    return {
        (row, column): shown_kappa(kappa_of(found[frozenset((first, second))], agree))
        for row, first in enumerate(names)
        for column, second in enumerate(names)
        if first != second
    }


def _write_kappas(axes: Axes, width: float, result: StoredAnalysis, panel: str, agree: Agree) -> None:
    """As large as they fit into the cells; where a minus would make them too small, the zero before the point goes."""
    n = len(order_of(result))
    gap = gap_before(result)
    cell = 72 * width * axes.get_position().width / _at(n, gap) * SIDE
    middle: dict[str, Any] = {"ha": "center", "va": "center", "in_layout": False}
    for (row, column), one in _cells(result, panel, agree).items():
        if one["value"] is None:
            continue
        words, room = _two_places(one["value"]), cell * (INSIDE - 0.05) if is_dotted(one) else cell
        if words.startswith(MINUS) and _size_in(cell * INSIDE, words) < LEAST:
            words = words.replace("0.", ".", 1)
        colour = words_on(step_of(one["value"]))
        axes.text(_at(column, gap), _at(row, gap), words, color=colour, fontsize=_size_in(room, words), **middle)
    for row in range(n):
        axes.text(_at(row, gap), _at(row, gap), "·", color=QUIET, fontsize=LARGEST, **middle)


def _colour_cells(axes: Axes, cells: Mapping[tuple[int, int], Value], gap: int | None) -> None:
    """Three layers: colours, hatches where there is no value, dots where little is behind it."""
    defined = {place: step_of(one["value"]) for place, one in cells.items() if one["value"] is not None}
    hatched = [_square(place, SIDE, gap) for place in cells if place not in defined]
    dotted = {place: step for place, step in defined.items() if is_dotted(cells[place])}
    squares = [_square(place, SIDE, gap) for place in defined]
    axes.add_collection(
        PatchCollection(squares, facecolors=[colour_of(step) for step in defined.values()], linewidth=0)
    )
    axes.add_collection(PatchCollection(hatched, facecolor="white", edgecolor="#9aa2ab", hatch="////", linewidth=0.4))
    inner = [_square(place, INSIDE * SIDE, gap) for place in dotted]
    edges = [words_on(step) for step in dotted.values()]
    axes.add_collection(PatchCollection(inner, facecolor="none", edgecolors=edges, linewidth=0.6, linestyle=DOTS))


def _square(place: tuple[int, int], side: float, gap: int | None) -> Rectangle:
    row, column = (_at(one, gap) for one in place)
    return Rectangle((column - side / 2, row - side / 2), side, side)


def _name_rows(axes: Axes, shown: list[str], result: StoredAnalysis, *, beside: bool, below: bool) -> None:
    """Names only at the edges of the figure: rows and columns are the same in every panel."""
    n_readers = sum(kind == READER for kind in kinds_of(result).values())
    at = [_at(place, gap_before(result)) for place in range(len(shown))]
    axes.set_xticks(at if below else (), shown if below else (), rotation=90, fontsize=7)
    axes.set_yticks(at if beside else (), shown if beside else (), fontsize=7)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label in labels[:n_readers]:
            label.set_fontweight("bold")
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _size_in(cell: float, words: str) -> float:
    """In points: as large as the words fit into a cell of this width."""
    return min(LARGEST, cell / (sum(ADVANCE.get(sign, 0.556) for sign in words) + AROUND))


def _two_places(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", MINUS)
