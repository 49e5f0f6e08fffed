"""One call from the stored JSON of an analysis to the bytes of a figure; the same JSON gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from readerstudy.figures.accuracy import accuracy_figure
from readerstudy.figures.agreement import agreement_figure, error_consistency_figure
from readerstudy.figures.difference import difference_figure
from readerstudy.figures.forms import FigureForm as FigureForm
from readerstudy.figures.forms import Width
from readerstudy.figures.reading_time import time_figure
from readerstudy.figures.style import RC, use_font
from readerstudy.results.stored import Json, has_times, planned_comparisons


@dataclass(frozen=True)
class Drawing:
    """One figure: how it is drawn, and whether an analysis holds what it shows."""

    draw: Callable[[Json, Width], Figure]
    is_there: Callable[[Json], bool]


def _has_pairs(result: Json) -> bool:
    return len(result["order"]) > 1


FIGURES: dict[str, Drawing] = {
    "difference": Drawing(difference_figure, lambda result: bool(planned_comparisons(result))),
    "accuracy": Drawing(accuracy_figure, lambda result: bool(result["order"])),
    "agreement": Drawing(agreement_figure, _has_pairs),
    "error-consistency": Drawing(error_consistency_figure, _has_pairs),
    "time": Drawing(time_figure, has_times),
}
CANVAS = {FigureForm.SVG: FigureCanvasSVG, FigureForm.PDF: FigureCanvasPdf, FigureForm.PNG: FigureCanvasAgg}
WITHOUT_DATE: dict[FigureForm, dict[str, str | None]] = {
    FigureForm.SVG: {"Date": None, "Creator": None},
    FigureForm.PDF: {"CreationDate": None, "Creator": None, "Producer": None},
    FigureForm.PNG: {"Software": None},
}
_one_at_a_time = Lock()  # the settings of matplotlib belong to the whole process


def figures_of(result: Json) -> list[str]:
    """The figures for which this analysis holds data."""
    return [name for name, drawing in FIGURES.items() if drawing.is_there(result)]


def render(name: str, result: Json, form: FigureForm, width: Width) -> bytes:
    """Raises KeyError for a figure that there is not."""
    drawing = FIGURES[name]
    return rendered(lambda: drawing.draw(result, width), form)


def rendered(draw: Callable[[], Figure], form: FigureForm) -> bytes:
    """Any figure as a file, in the style of all of them."""
    stream = io.BytesIO()
    with _one_at_a_time, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        use_font()
        figure = draw()
        CANVAS[form](figure)
        figure.savefig(stream, format=form.value, metadata=WITHOUT_DATE[form])
    return stream.getvalue()
