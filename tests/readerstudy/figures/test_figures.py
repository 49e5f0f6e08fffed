"""Figures: the scale, the same bytes for the same analysis, and the numbers that stand in them."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.ft2font import FT2Font

from readerstudy.analysis.computing import compute
from readerstudy.figures.accuracy import accuracy_figure
from readerstudy.figures.agreement import agreement_figure
from readerstudy.figures.difference import difference_figure
from readerstudy.figures.forms import FigureForm, Width
from readerstudy.figures.rendering import FIGURES, figures_of, render
from readerstudy.figures.scale import COLOURS, N_STEPS, luminance, step_of, words_on
from readerstudy.figures.style import FONT, mark_of
from tests.architecture.source import ROOT
from tests.architecture.test_colours import contrast
from tests.readerstudy.analysis.made import make_arrays
from tests.readerstudy.results.made import QUICK, TASKS, small_result


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return small_result()


def test_one_fixed_scale_from_below_zero_to_one() -> None:
    assert [step_of(value) for value in (-1, -0.2, -0.151, -0.15, 0, 0.5, 0.99, 1)] == [0, 0, 0, 1, 4, 14, 23, 23]


def test_the_scale_reads_in_grey_and_its_words_stand_out() -> None:
    greys = [luminance(one) for one in COLOURS]
    assert greys == sorted(greys, reverse=True)
    assert min(lighter - darker for lighter, darker in pairwise(greys)) > 0.008
    assert [step for step in range(N_STEPS) if contrast(words_on(step), COLOURS[step]) < 4.5] == []


def test_the_page_has_the_colours_of_the_figure() -> None:
    css = (ROOT / "static/readerstudy/results.css").read_text()
    found = re.findall(r"^\.k(\d+) \{ background: (#\w+); color: (#\w+); \}$", css, re.MULTILINE)
    assert found == [(str(step), colour, words_on(step)) for step, colour in enumerate(COLOURS)]


def test_figures_without_data_are_not_offered(result: dict[str, Any]) -> None:
    assert figures_of(result) == ["difference", "accuracy", "agreement", "error-consistency"]  # no times


@pytest.mark.parametrize("form", list(FigureForm), ids=str)
def test_the_same_analysis_gives_the_same_bytes(result: dict[str, Any], form: FigureForm) -> None:
    first = render("difference", result, form, Width.ONE)
    render("accuracy", result, FigureForm.SVG, Width.TWO)  # what was drawn in between changes nothing
    assert render("difference", result, form, Width.ONE) == first
    for word in (b"CreationDate", b"<dc:date>", b"Creation Time"):
        assert word not in first
    if form == FigureForm.PDF:
        assert b"/FontFile2" in first  # embedded as TrueType
    if form == FigureForm.SVG:
        assert b"<text" not in first  # letters are outlines


def written_in(svg: bytes) -> set[str]:
    """The lines of a figure as the outlines of their letters spell them, not as the comments beside them say."""
    lines = re.findall(rb"<g id=\"text_\d+\">(.*?)(?=<g id=\"text_|</svg>)", svg, re.DOTALL)
    letters = {}
    for font in ("DejaVuSans", "DejaVuSans-Bold"):
        charmap = FT2Font(str(FONT.with_name(f"{font}.ttf"))).get_charmap()
        letters.update({f"{font}-{glyph:x}".encode(): chr(code) for code, glyph in charmap.items()})
    uses = [re.findall(rb'<use xlink:href="#(DejaVuSans[\w-]*)"', line) for line in lines]
    return {"".join(letters.get(one, "?") for one in line) for line in uses}


@pytest.mark.parametrize("name", ["a$b^2$c", "$x$", "100$ and $\\alpha_{1", r"\$5_\$6", "a__b^c"])
def test_names_stand_in_figures_as_they_are(name: str) -> None:
    """A name is no formula: neither set as one, nor a reason why there is no figure."""
    models = {name: "BBBA", "Poor": "CxBA"}
    result = compute(make_arrays({"R1": "BBBA", "R2$": "BBCA"}, models, "BBBB", tasks=TASKS), QUICK)
    for figure in figures_of(result):
        found = written_in(render(figure, result, FigureForm.SVG, Width.TWO))
        shown = [line for line in found if line.startswith(name)]
        assert shown, (figure, sorted(found))


def test_columns_of_a_journal(result: dict[str, Any]) -> None:
    def points(width: Width) -> float:
        found = re.search(rb'<svg[^>]* width="([\d.]+)pt"', render("accuracy", result, FigureForm.SVG, width))
        assert found
        return float(found[1])

    assert [points(Width.ONE), points(Width.TWO)] == pytest.approx([241.2, 504])


def test_accuracy_is_drawn_beside_chance_and_the_mean_of_the_readers(result: dict[str, Any]) -> None:
    figure = accuracy_figure(result, Width.TWO)
    [axes] = figure.axes
    across = [np.asarray(one.get_xdata()) for one in axes.lines if one.get_marker() == "None"]
    upright = [x[0] for x in across if np.ptp(x) == 0]
    assert upright == pytest.approx([25.0, 62.5])
    marks = [one for one in axes.lines if one.get_marker() != "None"]
    assert len(marks) == 4
    assert not any(one.get_clip_on() for one in marks)  # whole at 0 and at 100 %
    assert "chance, 25 %" in [one.get_text() for one in figure.legends[0].get_texts()]
    readers, models = mark_of("reader"), mark_of("model")
    assert readers["marker"] != models["marker"]  # apart without colours
    assert abs(luminance(readers["color"]) - luminance(models["color"])) > 0.2  # and in grey


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_accuracy_marks_small_n(result: dict[str, Any], width: Width) -> None:
    """Fewer than 10 questions: a dagger behind n, told under the figure; without any neither stands there."""
    figure = accuracy_figure(result, width)
    [axes] = figure.axes
    assert [one.get_text()[-5:] for one in axes.texts[:-1]] == [", 4 †"] * 4
    assert "† n < 10" in figure.get_supxlabel()
    whole = accuracy_figure(of_eleven("Model "), width)
    assert not any("†" in one.get_text() for one in whole.axes[0].texts)
    assert "†" not in whole.get_supxlabel()


def test_accuracy_marks_only_the_rater_whose_n_is_small() -> None:
    models = {"Whole": "B" * 12, "Part": "BBBC" + "." * 8}
    found = compute(make_arrays({"R1": "B" * 12, "R2": "BC" * 6}, models, "B" * 12, tasks=TASKS * 3), QUICK)
    figure = accuracy_figure(found, Width.ONE)
    assert [one.get_text() for one in figure.axes[0].texts if "†" in one.get_text()] == ["75.00, 4 †"]


def test_the_heatmap_writes_every_kappa_and_hatches_what_is_undefined(result: dict[str, Any]) -> None:
    figure = agreement_figure(result, Width.TWO)
    whole, presence, location = figure.axes[:3]
    assert [one.get_title(loc="left") for one in (whole, presence, location)] == [
        "All tasks, n = 4",
        "Presence, n = 3",
        "Location and distribution, n = 1",
    ]
    kappas = [one["cohen_kappa"]["value"] for one in result["panels"]["All tasks"]["pairs"]]
    said = sorted(f"{kappa:.2f}".replace("-", "−").replace("−0.00", "0.00") for kappa in kappas if kappa is not None)
    assert sorted(one.get_text() for one in whole.texts if one.get_text() != "·") == sorted(said * 2)
    undefined = sum(one["cohen_kappa"]["value"] is None for one in result["panels"]["location"]["pairs"])
    assert undefined
    _colours, hatched, _dots = location.collections
    assert (len(hatched.get_paths()), hatched.get_hatch()) == (2 * undefined, "////")


@cache
def of_eleven(name: str) -> dict[str, Any]:
    """Three readers and eight models whose names end alike, on six panels; some kappas lie below zero."""
    rng = np.random.default_rng(1)
    key = "".join(rng.choice(list("ABCD"), 60))

    def said(right: float) -> str:
        return "".join(one if rng.random() < right else rng.choice(list("ABCD")) for one in key)

    tasks = ["presence", "negation", "differential", "location", "geometric"] * 12
    readers = {f"R{place}": said(0.6) for place in range(3)}
    models = {f"{name}{place}": said(place / 10) for place in range(8)}
    return compute(make_arrays(readers, models, key, tasks=tasks), QUICK)


@pytest.mark.parametrize("width", list(Width), ids=str)
@pytest.mark.parametrize("name", ["Model ", "an_assistant_for_chest_radiographs_"], ids=["short", "long"])
def test_the_heatmap_of_eleven_raters_can_be_read_in_print(width: Width, name: str) -> None:
    """Letters of 5.5 points and more, no word wider than its cell, and a figure that fits on a page of a journal."""
    figure = agreement_figure(of_eleven(name), width)
    figure.draw_without_rendering()
    drawn = figure.axes[:-1]
    for axes in drawn:
        cell = axes.get_window_extent().width / 11
        sizes = {float(one.get_fontsize()) for one in axes.texts}
        assert min(sizes) >= 5.5
        assert max(one.get_window_extent().width for one in axes.texts) < cell
    assert any(one.get_text().startswith("−") for one in drawn[-1].texts) or width == Width.ONE
    assert figure.get_figheight() <= 240 / 25.4


def test_the_panels_of_a_heatmap_share_the_names_at_their_edges() -> None:
    figure = agreement_figure(of_eleven("Model "), Width.TWO)
    beside, below = ([bool(getattr(axes, f"get_{one}ticklabels")()) for axes in figure.axes[:6]] for one in ("y", "x"))
    assert beside == [True, False] * 3
    assert below == [False] * 4 + [True] * 2


def test_planned_is_said_only_of_what_the_plan_names(result: dict[str, Any]) -> None:
    def said(of: dict[str, Any]) -> list[str]:
        return [one.get_text() for one in difference_figure(of, Width.TWO).legends[0].get_texts()]

    assert said(result)[0] == "random readers, random questions (planned)"
    others = [one | {"planned": False} for one in result["comparisons"]]
    assert not any("planned" in one for one in said(result | {"comparisons": others}))


def test_the_line_of_the_readers_has_a_number_with_its_interval_and_rule(result: dict[str, Any]) -> None:
    mean = result["mrmc"]["readers"]
    low, high = mean["ci95"]
    figure = accuracy_figure(result, Width.TWO)
    note = figure.get_supxlabel()
    assert (
        f"mean of the readers 62.50 ({100 * low:.2f} to {100 * high:.2f}), n = 4: random readers, random questions"
        in note
    )


@pytest.mark.parametrize("width", list(Width), ids=str)
@pytest.mark.parametrize("name", ["difference", "accuracy", "agreement", "error-consistency"])
def test_the_line_under_a_figure_stays_inside_it(result: dict[str, Any], name: str, width: Width) -> None:
    """It says how intervals were made and that data are simulated."""
    figure = FIGURES[name].draw(result, width)
    figure.draw_without_rendering()
    label = figure._supxlabel  # type: ignore[attr-defined]
    assert label.get_text().endswith("simulated data")
    assert label.get_window_extent().x1 <= figure.bbox.x1
