"""The picture of a board: models with intervals, and beside them chance, one letter, no images, and readers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from annotation.tables.kernels.forms import BLUE, ORANGE, Width
from annotation.tables.kernels.style import QUIET, mark_simulated, new_figure, rows_of_names, write_beside
from readerstudy.leaderboard.kernels.release_rule import ALL

DASHES, DOTS = (0, (5, 2)), (0, (2, 2))
READERS = "#f3dcc0"  # light, behind everything


def board_figure(result: Mapping[str, Any], names: Mapping[str, str]) -> Figure:
    """A row for each entry in the order of the result. ``names``: by id, as the board shows them."""
    entries = result["entries"]
    figure = new_figure(Width.TWO, 1.15 + 0.2 * max(len(entries), 3))
    axes = figure.add_subplot()
    left_out = rows_of_names(axes, [names[one["entry"]] for one in entries])
    handles: list[Artist] = [
        Line2D([], [], color=QUIET, linewidth=0.8, linestyle=DOTS, label=f"chance, {result['chance']:g} %")
    ]
    axes.axvline(result["chance"], color=QUIET, linewidth=0.8, linestyle=DOTS)
    if commonest := result["commonest"]:
        label = f"always {commonest['letter']}, {commonest['value']:.1f} %"
        axes.axvline(commonest["value"], color=QUIET, linewidth=0.8, linestyle=DASHES)
        handles.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=DASHES, label=label))
    if readers := result["readers"]:
        low, high = (readers["value"] if readers[name] is None else readers[name] for name in ("low", "high"))
        axes.axvspan(low, high, color=READERS, linewidth=0)
        label = f"{readers['n_readers']} readers, {readers['value']:.1f} % of {readers['n']:,} answers"
        handles.append(Patch(facecolor=READERS, label=label))
    for row, one in enumerate(entries):
        for told, colour, face in ((one["numbers"][ALL], BLUE, BLUE), (one["without_images"], ORANGE, "white")):
            if not told:
                continue
            if told["low"] is not None:
                axes.plot([told["low"], told["high"]], [row, row], color=colour, linewidth=1.1)
            axes.plot([told["value"]], [row], marker="o", markersize=4.2, color=colour, markerfacecolor=face)
    if any(one["without_images"] for one in entries):
        handles.append(Line2D([], [], color=ORANGE, marker="o", markerfacecolor="white", label="without images"))
    _write_numbers(axes, entries)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"Accuracy on {result['n']:,} questions, %" if result["commonest"] else "Accuracy is told later")
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, borderpad=0)
    mark_simulated(figure, simulated=result["simulated"], left_out=left_out)
    return figure


def _write_numbers(axes: Any, entries: list[Mapping[str, Any]]) -> None:
    write_beside(axes, -0.8, [(8, "% (95% CI)"), (84, "ranks")], va="bottom", color=QUIET)
    for row, one in enumerate(entries):
        if not (told := one["numbers"][ALL]):
            continue
        limits = "" if told["low"] is None else f" ({told['low']:.1f}, {told['high']:.1f})"
        best, worst = one["band"]
        ranks = f"{best}" if best == worst else f"{best} to {worst}"
        write_beside(axes, row, [(8, f"{told['value']:.1f}{limits}"), (84, ranks)])
