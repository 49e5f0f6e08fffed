"""A figure as a file, in one style; the same picture gives the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from annotation.figures.kernels.forms import FigureForm
from annotation.figures.kernels.style import FAMILIES, FAMILY, RC, use_font

CANVAS = {FigureForm.SVG: FigureCanvasSVG, FigureForm.PDF: FigureCanvasPdf, FigureForm.PNG: FigureCanvasAgg}
WITHOUT_DATE: dict[FigureForm, dict[str, str | None]] = {
    FigureForm.SVG: {"Date": None, "Creator": None},
    FigureForm.PDF: {"CreationDate": None, "Creator": None, "Producer": None},
    FigureForm.PNG: {"Software": None},
}
_one_at_a_time = Lock()  # the settings of matplotlib belong to the whole process


@contextmanager
def in_style() -> Iterator[None]:
    """Type, sizes and colours of all figures; nobody else draws meanwhile."""
    with _one_at_a_time, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        use_font()
        yield


def rendered(draw: Callable[[], Figure], form: FigureForm) -> bytes:
    """Any figure as a file, in the style of all of them."""
    stream = io.BytesIO()
    with in_style():
        figure = draw()
        CANVAS[form](figure)
        figure.savefig(stream, format=form.value, metadata=WITHOUT_DATE[form])
    return _with_families(stream.getvalue()) if form == FigureForm.SVG else stream.getvalue()


def _with_families(svg: bytes) -> bytes:
    """Real text in the font that its reader has: the widths of all of them are the same."""
    named = ", ".join(f"'{name}'" if " " in name else name for name in FAMILIES)
    return re.sub(rb"(font(?:-family)?: [^\";]*?)'%s'" % FAMILY.encode(), lambda found: found[1] + named.encode(), svg)
