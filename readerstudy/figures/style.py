"""How every figure looks: sizes of journal columns, type, and colours that read without colour vision and in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from readerstudy.figures.forms import Width as Width
from readerstudy.results.names import short
from readerstudy.results.stored import Json

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"  # comes with matplotlib: same everywhere
INK, QUIET, RULE = "#1c2126", "#56606a", "#c9ced4"
READER_COLOUR, MODEL_COLOUR = "#0b3c6f", "#d9822b"  # dark blue and orange: apart in grey and for all colour vision
READER_MARK, MODEL_MARK = "o", "D"


SIGNS_OF_NOTE = 22  # in an inch
INCHES = {Width.ONE: 3.35, Width.TWO: 7.0}

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.5,
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
    "svg.fonttype": "path",  # letters as outlines: the same picture wherever it is opened
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
    if str(FONT) not in {one.fname for one in font_manager.fontManager.ttflist}:
        font_manager.fontManager.addfont(str(FONT))


def bare(axes: Axes) -> None:
    """Only the lower axis is drawn."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def rows_of_names(axes: Axes, names: list[str], behind: Sequence[str] = ()) -> None:
    """One row for each name, the first at the top. What stands ``behind`` a name is never cut."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    ends = behind or [""] * len(names)
    axes.set_yticks(range(len(names)), [short(name) + end for name, end in zip(names, ends, strict=True)])
    axes.grid(axis="x", color=RULE, linewidth=0.4)
    axes.set_axisbelow(True)
    bare(axes)


def note(figure: Figure, result: Json, text: str = "") -> None:
    """The line under a figure: simulated data says so in the picture itself."""
    said = " · ".join(filter(None, [text, "simulated data" if result["simulated"] else ""]))
    if said:
        lines = textwrap.fill(said, int(SIGNS_OF_NOTE * figure.get_figwidth()))
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color=QUIET)


def is_reader(kind: str) -> bool:
    return kind == "reader"


def mark_of(kind: str) -> dict[str, Any]:
    """Marker and colour of a rater: readers filled circles, models open diamonds."""
    if is_reader(kind):
        return {"marker": READER_MARK, "color": READER_COLOUR, "markerfacecolor": READER_COLOUR}
    return {"marker": MODEL_MARK, "color": MODEL_COLOUR, "markerfacecolor": "white"}
