"""How every figure looks: sizes of journal columns, type, and colours that read without colour vision and in grey.

A figure as a file, in one style; the same picture gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import ascii_uppercase
from textwrap import wrap
from threading import Lock
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from annotation.tables.kernels.forms import FigureForm, Width, told_apart

FONTS = Path(__file__).parent.parent / "fonts"  # of the widths of Arial and Helvetica: the same everywhere
FAMILY = "Liberation Sans"
FAMILIES = ("Arial", "Helvetica", FAMILY)  # as an SVG names them: whichever its reader has
INK, QUIET, RULE = "#1c2126", "#56606a", "#c9ced4"
INCHES = {Width.ONE: 3.35, Width.TWO: 7.0}
SIGNS_OF_NOTE, LINE_OF_NOTE = 22, 0.11  # in an inch of the figure; inches

RC: dict[Any, Any] = {
    "font.family": [FAMILY, "DejaVu Sans"],  # the second has letters that the first lacks
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.solid_capstyle": "butt",
    "hatch.linewidth": 0.5,
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",  # text that can be searched, edited and set again by a journal
    "svg.hashsalt": "rexvqa",  # names inside the file do not depend on chance
    "pdf.fonttype": 42,  # TrueType, embedded
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "savefig.facecolor": "white",
}


def new_figure(width: Width, height: float) -> Figure:
    """``height`` in inches. Not registered anywhere, so that nothing has to be closed."""
    return Figure(figsize=(INCHES[width], height), layout="constrained")


def use_font() -> None:
    """Known once under its family name."""
    known = {one.fname for one in font_manager.fontManager.ttflist}
    for path in sorted(FONTS.glob("*.ttf")):
        if str(path) not in known:
            font_manager.fontManager.addfont(str(path))


def bare(axes: Axes) -> None:
    """Only the lower axis is drawn."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def rows_of_names(axes: Axes, names: list[str], behind: Sequence[str] = ()) -> str:
    """One row for each name, the first at the top; what is ``behind`` a name is never cut. What the names left out."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    ends = behind or [""] * len(names)
    shown, left_out = told_apart(names)
    axes.set_yticks(range(len(names)), [name + end for name, end in zip(shown, ends, strict=True)])
    axes.grid(axis="x", color=RULE, linewidth=0.4)
    axes.set_axisbelow(True)
    bare(axes)
    return left_out


def write_beside(axes: Axes, row: float, columns: Sequence[tuple[float, str]], **more: Any) -> None:
    """Words to the right of the picture, in columns that begin so many points behind its edge."""
    look = {"fontsize": 7, "va": "center", "ha": "left", "annotation_clip": False, **more}
    for points, text in columns:
        axes.annotate(text, (1, row), (points, 0), axes.get_yaxis_transform(), "offset points", **look)


def titled(axes: Axes, title: str, place: int | None = None, **more: Any) -> None:
    """The title of a panel, behind the letter of its place where a figure has several."""
    heading = title if place is None else f"{ascii_uppercase[place]}  {title}" if place < 26 else title
    axes.set_title(heading, loc="left", fontweight="bold", **more)


def mark_simulated(figure: Figure, *, simulated: bool, left_out: str = "", also: Sequence[str] = ()) -> None:
    """What is said in the picture itself: what its names have ``left_out``, what is ``also`` true of all of it, and
    that data is simulated; all other notes are in its legend.
    """
    notes = [*([f"Names in full: {left_out}"] if left_out else []), *also]
    lines = [line for note in notes for line in wrap(note, int(SIGNS_OF_NOTE * figure.get_figwidth()))]
    figure.set_figheight(figure.get_figheight() + LINE_OF_NOTE * len(lines))
    if simulated:
        lines.append("Simulated data")
    if lines:
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color=QUIET)


# --- A figure as a file, in one style; the same picture gives the same bytes ----------------------
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
