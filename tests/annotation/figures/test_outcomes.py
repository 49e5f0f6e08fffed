"""The outcomes of a round as a figure: a row for each issue, with Wilson's limits and k of n."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from annotation.statistics.kernels.intervals import share
from annotation.tables.kernels.forms import Width
from annotation.tables.kernels.row_figures import COLOURS, Graded, Issue, grades_figure, outcomes_figure
from annotation.tables.kernels.style import in_style

ISSUES = [Issue("Incorrect key", share(12, 60)), Issue("Unclear wording", share(0, 60)), Issue("Rare", share(1, 4))]


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_each_issue_is_drawn_with_its_limits_and_counts(width: Width) -> None:
    with in_style():
        figure = outcomes_figure(ISSUES, width, simulated=True)
        figure.draw_without_rendering()
    [axes] = figure.axes
    marks = [float(np.asarray(one.get_xdata())[0]) for one in axes.lines if one.get_marker() == "o"]
    assert marks == pytest.approx([20.0, 0.0, 25.0])
    texts = [one.get_text() for one in axes.texts]
    assert {"12 of 60", "0 of 60", "1 of 4 †"} <= set(texts)
    assert ("20.0 (11.8, 31.8)" in texts) == (width == Width.TWO)
    assert max(one.get_window_extent().x1 for one in axes.texts) <= figure.bbox.x1 + 1
    assert figure.get_supxlabel() == "Simulated data"


def test_a_round_without_reviews_has_rows_without_numbers() -> None:
    figure = outcomes_figure([Issue("Incorrect key", share(0, 0))], Width.ONE, simulated=False)
    assert "n/a" in [one.get_text() for one in figure.axes[0].texts]
    assert figure.get_supxlabel() == ""


def test_a_rate_without_interval_is_drawn_inside_the_axis() -> None:
    whole = replace(share(60, 60), ci95=None, flags=("whole_bank",))
    with in_style():
        figure = outcomes_figure([Issue("Incorrect key", whole)], Width.TWO, simulated=False)
    assert figure.axes[0].get_xlim() == (0, 100)
    assert "100.0 (all reviewed)" in [one.get_text() for one in figure.axes[0].texts]


def test_of_the_bank_counts_of_the_sample_are_not_printed() -> None:
    mixed = replace(share(12, 60), count=None)
    figure = outcomes_figure([Issue("Incorrect key", mixed)], Width.TWO, simulated=False, of_bank=True)
    assert "n = 60" in [one.get_text() for one in figure.axes[0].texts]
    assert figure.axes[0].get_xlabel() == "Questions of the bank with the issue, %"


# --- The grades of a round as a figure: one stacked bar for each, with its median and n beside it ---
GRADES = [
    Graded("Clinical quality", {5: 12, 4: 6, 3: 4, 2: 1, 1: 1}, 4.5, 3),
    Graded("Image alignment", {}, None, 27),
]


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_each_grade_is_stacked_from_one_to_five_and_says_its_n(width: Width) -> None:
    with in_style():
        figure = grades_figure(GRADES, width, simulated=True)
        figure.draw_without_rendering()
    [axes] = figure.axes
    parts = [one for one in axes.patches if isinstance(one, Rectangle)]
    assert [one.get_width() for one in parts] == pytest.approx([100 * n / 24 for n in (1, 1, 4, 6, 12)])
    assert [one.get_x() for one in parts] == pytest.approx([100 * n / 24 for n in (0, 1, 2, 6, 12)])
    texts = [one.get_text() for one in axes.texts]
    assert {"4.5", "24", "3", "n/a", "0", "27", "50.0"} <= set(texts)
    assert max(one.get_window_extent().x1 for one in axes.texts) <= figure.bbox.x1 + 1
    assert [one.get_text() for one in figure.legends[0].get_texts()] == [str(grade) for grade in COLOURS]
    assert figure.get_supxlabel() == "Simulated data"
