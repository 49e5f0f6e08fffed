"""Accuracy of readers and models in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from annotation.statistics.estimate import SMALL_N
from annotation.statistics.intervals import FEWEST_TRIALS
from readerstudy.figures.forms import Width
from readerstudy.figures.style import (
    QUIET,
    READER_COLOUR,
    mark_of,
    new_figure,
    note,
    rows_of_names,
)
from readerstudy.results.stored import ALL_TASKS, INFERENCES, N_OPTIONS, READER, Json, raters_of

DAGGER = "†"  # behind an n that is small


def accuracy_figure(result: Json, width: Width) -> Figure:
    """Each rater with its Wilson interval and n, the most accurate first; lines for the readers' mean and chance."""
    raters = sorted(
        raters_of(result["panels"][ALL_TASKS]).values(),
        key=lambda one: (one["accuracy"]["value"] is None, -(one["accuracy"]["value"] or 0)),
    )
    figure = new_figure(width, 1.1 + 0.2 * len(raters))
    axes = figure.add_subplot()
    rows_of_names(axes, [one["name"] for one in raters])
    for row, rater in enumerate(raters):
        _draw(axes, row, rater)
    _write_numbers(axes, raters, with_interval=width == Width.TWO)
    axes.set_xlim(0, 100)
    axes.set_xlabel("Accuracy, %")
    chance = 100 / N_OPTIONS
    axes.axvline(chance, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
    mean = result["mrmc"]["readers"]["value"]
    if mean is not None:
        axes.axvline(100 * mean, color=READER_COLOUR, linewidth=0.7, linestyle=(0, (5, 2)))
    figure.legend(handles=_legend(mean is not None), loc="outside upper left", ncols=2, frameon=False, borderpad=0)
    small = f" · {DAGGER} n < {FEWEST_TRIALS}" if any(_is_small(one["accuracy"]) for one in raters) else ""
    note(figure, result, _rules(result["mrmc"]["readers"]) + small)
    return figure


def _draw(axes: Axes, row: int, rater: Json) -> None:
    value, ci95 = rater["accuracy"]["value"], rater["accuracy"]["ci95"]
    if value is None:
        return
    mark = mark_of(rater["kind"])
    if ci95:
        axes.plot([100 * ci95[0], 100 * ci95[1]], [row, row], color=mark["color"], linewidth=1.1)
    axes.plot([100 * value], [row], linestyle="none", markersize=4.2, markeredgewidth=1.0, clip_on=False, **mark)


def _write_numbers(axes: Axes, raters: Sequence[Json], *, with_interval: bool) -> None:
    """To the right of the picture: percent, n, and in two columns the interval."""
    place = axes.get_yaxis_transform()
    ends: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": 6.5, "clip_on": False}
    for row, rater in enumerate(raters):
        axes.text(1.02, row, _number(rater["accuracy"], with_interval=with_interval), transform=place, **ends)
    head = "% (95 % interval), n" if with_interval else "%, n"
    axes.text(1.02, -0.75, head, transform=place, **{**ends, "va": "bottom"}, color=QUIET)


def _number(accuracy: Json, *, with_interval: bool) -> str:
    if accuracy["value"] is None:
        return "n/a"
    limits = ""
    if with_interval and accuracy["ci95"]:
        low, high = accuracy["ci95"]
        limits = f" ({100 * low:.2f} to {100 * high:.2f})"
    return f"{100 * accuracy['value']:.2f}{limits}, {accuracy['n']}" + (f" {DAGGER}" if _is_small(accuracy) else "")


def _is_small(accuracy: Json) -> bool:
    return accuracy["value"] is not None and SMALL_N in accuracy["flags"]


def _rules(mean: Json) -> str:
    """How the intervals were made, and the mean of the readers as a number."""
    said = "95 % interval by Wilson"
    if mean["value"] is None:
        return said
    limits = f" ({100 * mean['ci95'][0]:.2f} to {100 * mean['ci95'][1]:.2f})" if mean["ci95"] else ", no interval"
    of = f"mean of the readers {100 * mean['value']:.2f}{limits}, n = {mean['n_questions']}"
    return f"{said} · {of}: {INFERENCES[mean['method']]}"


def _legend(with_mean: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], linestyle="-", linewidth=1.1, markersize=4.2, label="reader", **mark_of(READER)),
        Line2D([], [], linestyle="-", linewidth=1.1, markersize=4.2, label="model", **mark_of("model")),
    ]
    if with_mean:
        dashes = (0, (5, 2))
        handles.append(
            Line2D([], [], color=READER_COLOUR, linewidth=0.7, linestyle=dashes, label="mean of the readers")
        )
    chance = f"chance, {100 // N_OPTIONS} %"
    handles.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)), label=chance))
    return handles
