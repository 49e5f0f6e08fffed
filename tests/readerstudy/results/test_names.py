"""Names where room is short: without what they share, which is said once, so that they stay apart."""

from __future__ import annotations

import pytest

from annotation.figures.kernels.forms import LONGEST_NAME, FigureForm, Width, short, told_apart
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.results.kernels.agreement_tables import Agree, heatmap
from readerstudy.results.kernels.rendering import render
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import QUICK

DATED = [f"consortium/chest-xray-assistant-27B-instruct-2026110{day}" for day in (1, 2)]


def test_one_long_name_loses_its_middle() -> None:
    first, second = map(short, DATED)
    assert first != second
    assert (first, len(first)) == ("consortium/c…-20261101", LONGEST_NAME)
    assert short("Simulated reader 1") == "Simulated reader 1"


def test_names_that_fit_are_whole() -> None:
    names = ["Simulated reader 1", "Simulated reader 2", "Dr. A", "GPT-4o 2024-05", "GPT-4o 2024-08"]
    assert told_apart(names) == (names, "")


@pytest.mark.parametrize(
    ("names", "longest", "shown", "left_out"),
    [
        (
            [f"Simulated reader {place}" for place in (10, 2, 1, 3, 4, 5)],
            11,
            ["10", "2", "1", "3", "4", "5"],
            "Simulated reader 1, 2, …, 10",
        ),
        (
            [f"Simulated reader {letter}" for letter in "FABCDE"],
            11,
            list("FABCDE"),
            "Simulated reader A, B, C, D, E, F",
        ),
        (DATED, 22, ["20261101", "20261102"], f"{DATED[0]}, 20261102"),
        (
            ["GPT-4o vision preview 2024-05-13", "Dr. A", "GPT-4o vision preview 2024-08-06"],
            22,
            ["2024-05-13", "Dr. A", "2024-08-06"],
            "GPT-4o vision preview 2024-05-13, 2024-08-06",
        ),
        (["Simulated reader 1", "Simulated model A"], 11, ["reader 1", "model A"], "Simulated model A, reader 1"),
        (["Simulated reader", "Simulated reader 2"], 11, ["reader", "reader 2"], "Simulated reader, reader 2"),
        (["GPT-4o", "GPT-4o mini, another one"], 20, ["4o", "4o mini, another one"], "GPT-4o, 4o mini, another one"),
    ],
)
def test_what_they_share_is_left_out_and_said_once(
    names: list[str], longest: int, shown: list[str], left_out: str
) -> None:
    assert told_apart(names, longest) == (shown, left_out)


def test_the_same_number_of_two_hospitals_keeps_the_word_before() -> None:
    names = [f"Hospital of {town} reader {place}" for town in ("Bern", "Genoa") for place in (1, 2)]
    shown, left_out = told_apart(names, 8)
    assert len(set(shown)) == 4
    assert all(len(one) <= 8 for one in shown)
    assert left_out == "Hospital of Bern reader 1, Bern reader 2, Genoa reader 1, Genoa reader 2"


def test_figure_and_page_say_once_what_the_names_beside_the_map_leave_out() -> None:
    names = [f"Simulated radiologist of the pilot {place}" for place in (1, 2)]
    result = computed(make_arrays(dict(zip(names, ("BBBA", "BBCA"), strict=True)), {"Good": "BBBB"}, "BBBB"), QUICK)
    assert render("agreement", result, FigureForm.SVG, Width.ONE).count(b"Simulated radiologist of the pilot 1, 2") == 1
    shown = heatmap(result, ALL_TASKS, Agree.OPTION)
    assert [row.label for row in shown.rows] == ["1", "2", "Good"]
    assert shown.left_out == f"{names[0]}, 2"
