"""The grades of a round as a figure: one stacked bar for each, with its median and n beside it."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

from annotation.figures.kernels.forms import Width
from annotation.figures.kernels.grade_bars import COLOURS, Graded, grades_figure
from annotation.figures.kernels.style import in_style

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
