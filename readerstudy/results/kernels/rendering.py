"""One call from the stored JSON of an analysis to the bytes of a figure; the same JSON gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.kernels.style import rendered
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.results.kernels.accuracy_figures import (
    accuracy_figure,
    by_category_figure,
    by_task_figure,
    calibration_figure,
    difference_figure,
    inferences_figure,
)
from readerstudy.results.kernels.agreement_figures import agreement_figure, error_consistency_figure
from readerstudy.results.kernels.flow_figures import time_figure
from readerstudy.results.kernels.stored import (
    calibrations,
    has_times,
    large_categories,
    large_tasks,
    planned_comparisons,
    post_hoc_differences,
)


@dataclass(frozen=True)
class StudyFigure:
    """One figure: how it is drawn, and whether an analysis holds what it shows."""

    draw: Callable[[StoredAnalysis, Width], Figure]
    is_there: Callable[[StoredAnalysis], bool]


def _has_pairs(result: StoredAnalysis) -> bool:
    return len(result["order"]) > 1


def _has_differences(result: StoredAnalysis) -> bool:
    return bool([*planned_comparisons(result), *post_hoc_differences(result)])


FIGURES: dict[str, StudyFigure] = {
    "difference": StudyFigure(difference_figure, _has_differences),
    "inferences": StudyFigure(inferences_figure, _has_differences),
    "accuracy": StudyFigure(accuracy_figure, lambda result: bool(result["order"])),
    "accuracy-by-task": StudyFigure(by_task_figure, lambda result: bool(large_tasks(result))),
    "accuracy-by-category": StudyFigure(by_category_figure, lambda result: bool(large_categories(result))),
    "agreement": StudyFigure(agreement_figure, _has_pairs),
    "error-consistency": StudyFigure(error_consistency_figure, _has_pairs),
    "time": StudyFigure(time_figure, has_times),
    "calibration": StudyFigure(calibration_figure, lambda result: bool(calibrations(result))),
}


def figures_of(result: StoredAnalysis) -> list[str]:
    """The figures for which this analysis holds data."""
    return [name for name, drawing in FIGURES.items() if drawing.is_there(result)]


def render(name: str, result: StoredAnalysis, form: FigureForm, width: Width) -> bytes:
    """Raises KeyError for a figure that there is not."""
    drawing = FIGURES[name]
    return rendered(lambda: drawing.draw(result, width), form)
