"""Whether stated chances of being right are kept: reliability of each rater who stated one."""

from __future__ import annotations

from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotation.statistics.kernels.estimate import POST_HOC
from annotation.tables.kernels.forms import Width, title_with_n, told_apart
from annotation.tables.kernels.style import INCHES, QUIET, RULE, new_figure, titled
from readerstudy.analysis.kernels.result import CalibrationEntry, StoredAnalysis
from readerstudy.results.kernels.legends import mark, mark_of
from readerstudy.results.kernels.stored import calibrations

BESIDE = {Width.ONE: 2, Width.TWO: 4}
TITLE_LINE, TITLE_HEIGHT = 24, 0.13  # signs of a line of a title; inches of a further line
LEFT, BETWEEN, AROUND = 0.45, 0.15, 0.68  # inches: left of the first picture, beside each, above and below each
LARGEST = 1.9  # inches of the side of a picture
TICKS = (0, 25, 50, 75, 100)


def calibration_figure(result: StoredAnalysis, width: Width) -> Figure:
    """A small picture for each reader and model, with the diagonal on which who is calibrated lies."""
    raters = calibrations(result)
    n_rows = ceil(len(raters) / BESIDE[width])
    beside = ceil(len(raters) / n_rows)
    names, left_out = told_apart([one["name"] for one in raters])
    titles = [_title(name, one) for name, one in zip(names, raters, strict=True)]
    further = TITLE_HEIGHT * max(one.count("\n") for one in titles)
    side = min((INCHES[width] - LEFT) / beside - BETWEEN, LARGEST)
    figure = new_figure(width, (side + AROUND + further) * n_rows + 0.1)
    places = figure.subplots(n_rows, beside, sharex=True, sharey=True, squeeze=False).ravel()
    for place, (axes, title, rater) in enumerate(zip(places, titles, raters, strict=False)):
        _draw(axes, rater)
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
    return title_with_n(name, rater["n"], TITLE_LINE, late)


def _draw(axes: Axes, rater: CalibrationEntry) -> None:
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
