"""What the questions of a bank are about, as a figure: its domains and the largest categories of each, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from annotation.tables.kernels.forms import BLUE, Width, printed_percent, short
from annotation.tables.kernels.style import QUIET, bare, mark_simulated, new_figure, rows_of_names, write_beside

MOST_CATEGORIES = 8  # of a domain; the others are one row
ROW, SIGNS, ENDS = 0.17, {Width.ONE: 28, Width.TWO: 48}, {Width.ONE: (8, 44), Width.TWO: (8, 56)}  # inches, points
LIGHT = "#7fa3c7"  # of a category


@dataclass(frozen=True)
class Domain:
    """A task, and how many of its ``n`` questions have each category."""

    name: str
    n: int
    categories: Sequence[tuple[str, int]]

    def rows(self, others: str) -> list[tuple[str, int]]:
        """The largest categories, then what is left as one row, where that is more than one category."""
        ordered = sorted(self.categories, key=lambda one: (-one[1], one[0]))
        shown = ordered if len(ordered) <= MOST_CATEGORIES + 1 else ordered[:MOST_CATEGORIES]
        rest = ordered[len(shown) :]
        return [*shown, *([(others % {"n": len(rest)}, sum(n for _name, n in rest))] if rest else [])]


def taxonomy_figure(
    domains: Sequence[Domain], width: Width, words: tuple[str, str], *, simulated: bool, others: str
) -> Figure:
    """A bar for each domain with those of its categories below; n and percent of all questions beside them.

    ``words``: what is counted, and the sign of percent; ``others``: of the row of the smaller categories, with %(n)s.
    """
    rows = [row for one in domains for row in [(one.name, one.n), *one.rows(others)]]
    is_domain = [place == 0 for one in domains for place in range(1 + len(one.rows(others)))]
    all_of_them = sum(one.n for one in domains)
    figure = new_figure(width, 0.7 + ROW * len(rows))
    axes = figure.add_subplot()
    rows_of_names(axes, [""] * len(rows))
    axes.set_yticks(range(len(rows)), [short(name, SIGNS[width]) for name, _n in rows])
    for label, bold in zip(axes.get_yticklabels(), is_domain, strict=True):
        label.set_fontweight("bold" if bold else "normal")
    colours = [BLUE if bold else LIGHT for bold in is_domain]
    axes.barh(range(len(rows)), [n for _name, n in rows], 0.62, color=colours)
    axes.set_xlim(0, max((one.n for one in domains), default=1))
    axes.set_xlabel(words[0])
    write_beside(axes, -0.9, list(zip(ENDS[width], ("n", words[1]), strict=True)), va="bottom", color=QUIET)
    for place, (_name, n) in enumerate(rows):
        numbers = (f"{n:,}", printed_percent(n / all_of_them, all_of_them))
        write_beside(axes, place, list(zip(ENDS[width], numbers, strict=True)))
    bare(axes)
    mark_simulated(figure, simulated=simulated)
    return figure
