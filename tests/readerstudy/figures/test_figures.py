"""Figures: the scale, the same bytes for the same analysis, and the numbers that stand in them."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from annotation.tables.kernels.forms import FigureForm, Width, printed_percent
from annotation.tables.kernels.style import in_style, rendered
from readerstudy.results.kernels.accuracy_figures import (
    accuracy_figure,
    by_category_figure,
    by_task_figure,
    calibration_figure,
    difference_figure,
    inferences_figure,
)
from readerstudy.results.kernels.agreement_figures import agreement_figure
from readerstudy.results.kernels.agreement_tables import COLOURS, N_STEPS, luminance, step_of, words_on
from readerstudy.results.kernels.flow_figures import time_figure
from readerstudy.results.kernels.legends import LEGENDS, figure_legend, mark_of
from readerstudy.results.kernels.rendering import FIGURES, figures_of, render
from tests.architecture.source import ROOT
from tests.architecture.test_colours import contrast
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import QUICK, TASKS, small_result
from tests.sweeps import share


@pytest.fixture(scope="module")
def result() -> Any:
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


def test_figures_without_data_are_not_offered(result: Any) -> None:
    assert figures_of(result) == ["difference", "inferences", "accuracy", "agreement", "error-consistency"]  # no times
    assert {"accuracy-by-task", "accuracy-by-category"} & set(figures_of(of_eleven("Model "))) == {"accuracy-by-task"}
    assert list(FIGURES) == list(LEGENDS)


@pytest.mark.parametrize("form", list(FigureForm), ids=str)
def test_the_same_analysis_gives_the_same_bytes(result: Any, form: FigureForm) -> None:
    first = render("difference", result, form, Width.ONE)
    render("accuracy", result, FigureForm.SVG, Width.TWO)  # what was drawn in between changes nothing
    assert render("difference", result, form, Width.ONE) == first
    for word in (b"CreationDate", b"<dc:date>", b"Creation Time"):
        assert word not in first
    if form == FigureForm.PDF:
        assert b"/FontFile2" in first  # embedded as TrueType
    if form == FigureForm.SVG:
        assert b"font-family: Arial, Helvetica, 'Liberation Sans'" in first  # text that can be searched and set again


def written_in(svg: bytes) -> set[str]:
    """The lines of a figure."""
    return {unescape(line) for line in re.findall(r"<text[^>]*>(.*?)</text>", svg.decode(), re.DOTALL)}


def test_names_stand_in_figures_as_they_are() -> None:
    """A name is no formula: neither set as one, nor a reason why there is no figure."""
    names = ["a$b^2$c", "$x$", "100$ and $\\alpha_{1", r"\$5_\$6", "a__b^c"]
    models = {**dict.fromkeys(names, "BBBA"), "Poor": "CxBA"}
    result = computed(make_arrays({"R1": "BBBA", "R2$": "BBCA"}, models, "BBBB", tasks=TASKS), QUICK)
    for figure in figures_of(result):
        found = written_in(render(figure, result, FigureForm.SVG, Width.TWO))
        unseen = [name for name in names if not any(line.startswith(name) for line in found)]
        assert not unseen, (figure, sorted(found))


def test_columns_of_a_journal(result: Any) -> None:
    def points(width: Width) -> float:
        found = re.search(rb'<svg[^>]* width="([\d.]+)pt"', render("accuracy", result, FigureForm.SVG, width))
        assert found
        return float(found[1])

    assert [points(Width.ONE), points(Width.TWO)] == pytest.approx([241.2, 504])


def test_accuracy_is_drawn_beside_chance_and_the_mean_of_the_readers(result: Any) -> None:
    figure = accuracy_figure(result, Width.TWO)
    [axes] = figure.axes
    across = [np.asarray(one.get_xdata()) for one in axes.lines if one.get_marker() == "None"]
    upright = [x[0] for x in across if np.ptp(x) == 0]
    assert upright == pytest.approx([25.0, 62.5])
    marks = [one for one in axes.lines if one.get_marker() != "None"]
    assert len(marks) == 4
    assert not any(one.get_clip_on() for one in marks)  # whole at 0 and at 100 %
    assert "chance, 25%" in [one.get_text() for one in figure.legends[0].get_texts()]
    readers, models = mark_of("reader"), mark_of("model")
    assert readers["marker"] != models["marker"]  # apart without colours
    assert abs(luminance(readers["color"]) - luminance(models["color"])) > 0.2  # and in grey


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_accuracy_marks_small_n(result: Any, width: Width) -> None:
    """Fewer than 10 questions: a dagger behind n, told under the figure; without any neither stands there."""
    figure = accuracy_figure(result, width)
    [axes] = figure.axes
    assert [one.get_text()[-5:] for one in axes.texts if " of " in one.get_text()] == ["f 4 †"] * 4
    assert "† n < 10" in figure_legend("accuracy", result)
    whole = accuracy_figure(of_eleven("Model "), width)
    assert not any("†" in one.get_text() for one in whole.axes[0].texts)
    assert "†" not in figure_legend("accuracy", of_eleven("Model "))


def test_accuracy_marks_only_the_rater_whose_n_is_small() -> None:
    models = {"Whole": "B" * 12, "Part": "BBBC" + "." * 8}
    found = computed(make_arrays({"R1": "B" * 12, "R2": "BC" * 6}, models, "B" * 12, tasks=TASKS * 3), QUICK)
    figure = accuracy_figure(found, Width.ONE)
    assert [one.get_text() for one in figure.axes[0].texts if "†" in one.get_text()] == ["3 of 4 †"]


def test_reliability_has_a_picture_for_each_rater_who_stated_a_chance_and_the_diagonal() -> None:
    stated, confidence = np.full((4, 4), np.nan), np.zeros((4, 4), dtype=np.int8)
    confidence[0], stated[3] = [25, 95, 95, 60], [100, 0, 35, 100]
    found = small_result(confidence=confidence, model_confidence=stated)
    assert "calibration" in figures_of(found)
    for width in Width:
        figure = calibration_figure(found, width)
        assert [one.get_title(loc="left") for one in figure.axes if one.get_visible()] == [
            "A  R1 (n = 4)",
            "B  Poor (n = 4)",
        ]
        diagonal, *_others = figure.axes[0].lines
        assert np.asarray(diagonal.get_xdata()).tolist() == np.asarray(diagonal.get_ydata()).tolist() == [0, 100]
        marks = [one for one in figure.axes[1].lines if one.get_marker() == mark_of("model")["marker"]]
        assert [np.asarray(one.get_xdata()).tolist() for one in marks] == [[0], [35], [100]]


def timed_result(seconds: list[float], ended: int = 0) -> Any:
    """Two readers with these times; the last ``ended`` of the second ended at a limit."""
    n, arrays = len(seconds), make_arrays({"R1": "B" * len(seconds), "R2": "B" * len(seconds)}, {}, "B" * len(seconds))
    at_limit = np.zeros((2, n), dtype=bool)
    at_limit[1, n - ended :] = True
    times = replace(arrays.times, active_ms=np.array([seconds, seconds]) * 1000, censored=at_limit)
    return computed(replace(arrays, times=times), QUICK)


def test_a_box_of_times_has_whiskers_at_the_5th_and_95th_percentile_which_the_legend_names() -> None:
    result = timed_result([float(second) for second in range(10, 111)], ended=10)
    first, second = result["time"]["readers"]
    assert [first[name]["value"] for name in ("p5", "q1", "median", "q3", "p95")] == [15, 35, 60, 85, 105]
    assert (second["p95"]["value"], second["p95"]["reason"]) == (None, "censored")
    for width in Width:
        axes = time_figure(result, width).axes[0]
        across = [
            np.asarray(one.get_xdata()).tolist() for one in axes.lines if len(set(np.asarray(one.get_ydata()))) == 1
        ]
        whiskers = [one for one in across if len(one) == 2]
        assert whiskers[:3] == [[15, 35], [85, 105], [15, 35]]  # the second reader has no upper one
        assert 3 <= len([one for one in axes.get_xticks() if axes.get_xlim()[0] <= one <= axes.get_xlim()[1]]) <= 8
    assert "whiskers: 5th and 95th percentile (type 7)" in figure_legend("time", result)


def test_times_by_an_earlier_rule_are_drawn_without_whiskers() -> None:
    result = timed_result([10.0, 20.0, 30.0])
    for one in (*result["time"]["readers"], result["time"]["all"]):
        del one["p5"], one["p95"]
    lines = [one for one in time_figure(result, Width.TWO).axes[0].lines if np.ptp(np.asarray(one.get_xdata())) > 0]
    assert lines == []


def test_the_heatmap_writes_every_kappa_and_hatches_what_is_not_shown() -> None:
    """Undefined, or of fewer than ten questions; panels have letters. A mean without its interval stands in none."""
    models = {"Good": "BBBA" * 3, "Poor": "CCBA" * 2 + "CxBA"}
    readers = {"R1": "BBBA" * 3, "R2": "BBCA" * 2 + "BBBB"}
    result = computed(make_arrays(readers, models, "BBBB" * 3, tasks=TASKS * 3), QUICK)
    figure = agreement_figure(result, Width.TWO)
    whole, presence, location = figure.axes[:3]
    assert [one.get_title(loc="left") for one in (whole, presence, location)] == [
        "A  All tasks (n = 12)",
        "B  Presence (n = 9)",
        "C  Location and distribution (n = 3)",
    ]
    kappas = [one["cohen_kappa"]["value"] for one in result["panels"]["All tasks"]["pairs"]]
    said = sorted(f"{kappa:.2f}".replace("-", "−").replace("−0.00", "0.00") for kappa in kappas)
    cells = [one.get_text() for one in whole.texts if one.get_text() != "·"]
    assert sorted(cells) == sorted(said * 2)
    assert "fewer than 10 questions" in [one.get_text() for one in location.texts]
    _colours, hatched, _dots = location.collections
    assert (len(hatched.get_paths()), hatched.get_hatch()) == (12, "////")
    assert [round(float(one), 2) for one in location.get_xticks()] == [0, 1, 2.35, 3.35]  # models behind a gap


@cache
def of_eleven(name: str) -> Any:
    """Three readers and eight models whose names end alike, on six panels; some kappas lie below zero."""
    rng = np.random.default_rng(1)
    key = "".join(rng.choice(list("ABCD"), 60))

    def said(right: float) -> str:
        return "".join(one if rng.random() < right else rng.choice(list("ABCD")) for one in key)

    tasks = ["presence", "negation", "differential", "location", "geometric"] * 12
    readers = {f"R{place}": said(0.6) for place in range(3)}
    models = {f"{name}{place}": said(place / 10) for place in range(8)}
    return computed(make_arrays(readers, models, key, tasks=tasks), QUICK)


@pytest.mark.sweep
@pytest.mark.parametrize(("width", "name"), share(product(Width, ["Model ", "an_assistant_for_chest_radiographs_"])))
def test_the_heatmap_of_eleven_raters_can_be_read_in_print(width: Width, name: str) -> None:
    """Letters of 5.5 points and more, no word wider than its cell, and a figure that fits on a page of a journal."""
    with in_style():
        figure = agreement_figure(of_eleven(name), width)
        figure.draw_without_rendering()
    drawn = figure.axes[:-1]
    for axes in drawn:
        cell = axes.get_window_extent().width / 11
        cells = [one for one in axes.texts if not one.get_text().startswith("Mean")]
        assert min(float(one.get_fontsize()) for one in axes.texts) >= 5.5
        assert max(one.get_window_extent().width for one in cells) < cell
    assert any(one.get_text().startswith("−") for one in drawn[-1].texts) or width == Width.ONE
    assert figure.get_figheight() <= 240 / 25.4


def test_the_panels_of_a_heatmap_share_the_names_at_their_edges() -> None:
    figure = agreement_figure(of_eleven("Model "), Width.TWO)
    beside, below = ([bool(getattr(axes, f"get_{one}ticklabels")()) for axes in figure.axes[:6]] for one in ("y", "x"))
    assert beside == [True, False] * 3
    assert below == [False] * 4 + [True] * 2


def test_planned_is_said_only_of_what_the_plan_names(result: Any) -> None:
    def said(of: Any) -> list[str]:
        return [one.get_text() for one in inferences_figure(of, Width.TWO).legends[0].get_texts()]

    assert said(result)[0] == "random readers, random questions (planned)"
    others = [one | {"planned": False} for one in result["comparisons"]]
    assert not any("planned" in one for one in said(result | {"comparisons": others}))


def test_all_inferences_and_each_reader_stand_in_a_figure_of_their_own(result: Any) -> None:
    figure = inferences_figure(result, Width.TWO)
    labels = [one.get_text() for one in figure.legends[0].get_texts()]
    assert labels[1] == "these two readers, random questions: says nothing about other readers"
    assert labels[3] == "model minus each reader alone"
    drawn = sorted(
        np.asarray(line.get_xdata()).tolist()[0] for line in figure.axes[0].lines if line.get_marker() == "|"
    )
    own = [100 * one["value"] for model in result["mrmc"]["models"].values() for one in model["difference_by_reader"]]
    assert drawn == pytest.approx(sorted(own))
    assert "can be narrower than one of the other two" in figure_legend("inferences", result)


def test_the_planned_comparison_is_printed_alone(result: Any) -> None:
    """One interval for each model with its numbers; how it was made stands in the legend."""
    figure = difference_figure(result, Width.TWO)
    [axes] = figure.axes
    marks = [np.asarray(one.get_xdata()).tolist()[0] for one in axes.lines if one.get_marker() == "s"]
    planned = [one for one in result["comparisons"] if one["family"] == "primary"]
    assert sorted(marks) == pytest.approx(sorted(100 * one["difference"]["value"] for one in planned))
    assert not figure.legends
    texts = [one.get_text() for one in axes.texts]
    assert "P (Holm)" in texts
    for one in planned:
        low, high = (f"{100 * limit:+.1f}".replace("-", "−") for limit in one["difference"]["ci95"])
        assert f"{100 * one['difference']['value']:+.1f} ({low}, {high})".replace("-", "−") in texts
    said = figure_legend("difference", result)
    assert "Inference of the plan: random readers, random questions" in said
    assert "Fewer than 5 readers: between-reader variance is imprecise." in said
    assert "2 readers, 4 questions that all of them answered" in said


def test_the_line_of_the_readers_has_a_number_with_its_interval_and_rule(result: Any) -> None:
    mean = result["mrmc"]["readers"]
    low, high = mean["ci95"]
    said = figure_legend("accuracy", result)
    assert f"mean of the readers, 62.5% (95% CI: {100 * low:.1f}, {100 * high:.1f}; random readers, random" in said
    assert "2 readers, 4 questions that all of them answered" in said
    assert "fewer than 5 readers" in said


def test_numbers_have_one_decimal_below_a_thousand_and_k_of_n() -> None:
    assert [printed_percent(0.83838, n) for n in (198, 999, 1000)] == ["83.8", "83.8", "83.84"]
    assert [printed_percent(value, 10, signed=True) for value in (0.05, -0.05, -0.0001)] == ["+5.0", "−5.0", "0.0"]
    texts = [one.get_text() for one in accuracy_figure(of_eleven("Model "), Width.ONE).axes[0].texts]
    assert sum(one.endswith(" of 60") for one in texts) == 11


def test_tasks_and_categories_have_panels_of_their_own() -> None:
    result = of_eleven("Model ")
    figure = by_task_figure(result, Width.TWO)
    titles = [one.get_title(loc="left") for one in figure.axes]
    assert titles[:2] == ["A  Presence (n = 12)", "B  Negation (n = 12)"]
    marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]
    shares = [one["accuracy"]["value"] for one in result["panels"]["presence"]["raters"]]
    assert sorted(float(np.asarray(one.get_xdata())[0]) for one in marks) == pytest.approx(
        sorted(100 * s for s in shares)
    )
    [only] = result["tables"]["categories"]
    two = [{**only, "category": name, "n": n} for name, n in (("Bones", 20), ("Lungs", 40), ("Rare", 9))]
    several: Any = {**result, "tables": {**result["tables"], "categories": two}}
    drawn = [one.get_title(loc="left") for one in by_category_figure(several, Width.ONE).axes]
    assert drawn == ["A  Lungs (n = 40)", "B  Bones (n = 20)"]  # the largest first, none of fewer than ten


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_every_panel_by_task_has_its_numbers_below_and_room_for_its_title(width: Width) -> None:
    with in_style():
        figure = by_task_figure(of_eleven("Model "), width)
        figure.draw_without_rendering()
    for axes in figure.axes:
        shown = [one for one in axes.get_xticklabels() if one.get_visible() and one.get_text()]
        assert [one.get_text() for one in shown] == ["0", "25", "50", "75", "100"]
        ends = [one.get_window_extent() for one in shown]
        assert min(right.x0 - left.x1 for left, right in pairwise(ends)) > 0
    boxes = [axes._left_title.get_window_extent() for axes in figure.axes]  # type: ignore[attr-defined]
    for number, box in enumerate(boxes):
        assert box.x1 <= figure.bbox.x1 + 1
        assert not any(box.overlaps(other) for other in boxes[:number])


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_every_picture_of_calibration_has_its_numbers_below_and_none_is_empty(width: Width) -> None:
    confidence = np.zeros((5, 4), dtype=np.int8)
    confidence[:3] = [25, 95, 95, 60]
    readers = {f"Reader with a long name {n}": "BBBA" for n in range(3)}
    arrays = make_arrays(readers, {"Good": "BBBB", "Poor": "CxBA"}, "BBBB", tasks=TASKS, confidence=confidence)
    with in_style():
        figure = calibration_figure(computed(arrays, QUICK), width)
        figure.draw_without_rendering()
    assert len(figure.axes) == 3
    boxes = [axes._left_title.get_window_extent() for axes in figure.axes]  # type: ignore[attr-defined]
    for number, axes in enumerate(figure.axes):
        assert [one.get_text() for one in axes.get_xticklabels() if one.get_visible()] == ["0", "25", "50", "75", "100"]
        assert not any(boxes[number].overlaps(other) for other in boxes[:number])
        assert figure.bbox.containsx(boxes[number].x1)
        assert boxes[number].y1 <= figure.bbox.y1, "the title is cut off at the top"
        below = axes.xaxis.label.get_window_extent()
        assert not below.overlaps(figure._supxlabel.get_window_extent())  # type: ignore[attr-defined]
        assert not any(below.overlaps(other) for other in boxes)


@pytest.mark.parametrize("width", list(Width), ids=str)
@pytest.mark.parametrize("name", ["difference", "inferences", "accuracy", "agreement", "error-consistency"])
def test_simulated_data_says_so_in_the_picture_and_in_its_legend(result: Any, name: str, width: Width) -> None:
    with in_style():
        figure = FIGURES[name].draw(result, width)
        figure.draw_without_rendering()
    assert figure.get_supxlabel() == "Simulated data"
    assert figure_legend(name, result).endswith("Simulated data.")
    for axes in figure.axes:
        for text in axes.texts:
            assert text.get_window_extent().x1 <= figure.bbox.x1 + 1, text.get_text()


@pytest.mark.parametrize("width", list(Width))
def test_accuracies_of_one_rater_leave_room_for_the_axis(width: Width) -> None:
    result = small_result()
    for panel in result["panels"].values():
        del panel["raters"][1:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns where an axis has no room
        rendered(lambda: accuracy_figure(result, width), FigureForm.SVG)
