"""Measures are geometry in image coordinates: pure functions, asked in the browser that will run them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.viewer.conftest import Looker

VIEW = {"width": 2000, "height": 2500, "aspect": 1, "spacing": None, "spacing_calibrated": False}
PLACE = {"left": -300, "top": 40, "width": 1000, "height": 1250}  # half size
DIAGONAL = [[100, 200], [400, 600]]


@pytest.fixture
def ask(look: Looker) -> Any:
    look.page.goto(f"{look.stage.address}/stage.html")

    def call(module: str, name: str, *arguments: Any) -> Any:
        return look.page.evaluate(
            "([module, name, args]) => import(`/static/case/viewer/${module}.js`).then((m) => m[name](...args))",
            [module, name, list(arguments)],
        )

    return call


def width(kind: str, left: float, right: float, y: float = 900) -> dict[str, Any]:
    return {"kind": kind, "ends": [[left, y], [right, y]]}


@pytest.mark.parametrize("flip", [False, True])
def test_a_point_goes_to_the_canvas_and_comes_back(ask: Any, flip: bool) -> None:
    there = ask("measuring", "toCanvas", VIEW, PLACE, flip, [500, 1000])
    assert there == [-300 + (750 if flip else 250), 540]
    assert ask("measuring", "toImage", VIEW, PLACE, flip, there) == [500, 1000]


def test_a_point_beside_the_image_is_taken_to_its_edge(ask: Any) -> None:
    assert ask("measuring", "toImage", VIEW, PLACE, False, [-400, 2000]) == [0, 2500]


@pytest.mark.parametrize(
    ("view", "length"),
    [
        ({}, {"value": 500, "unit": "px"}),
        ({"spacing": [0.15, 0.15]}, {"value": 500, "unit": "px"}),  # measured at the detector only
        ({"spacing": [0.2, 0.1], "spacing_calibrated": True}, {"value": (80**2 + 30**2) ** 0.5, "unit": "mm"}),
        ({"spacing_calibrated": True}, {"value": 500, "unit": "px"}),
        ({"aspect": 2}, {"value": (300**2 + 800**2) ** 0.5, "unit": "px"}),
    ],
)
def test_millimetres_only_where_they_are_calibrated(ask: Any, view: dict[str, Any], length: dict[str, Any]) -> None:
    found = ask("measuring", "lengthOf", VIEW | view, DIAGONAL)
    assert found["unit"] == length["unit"]
    assert found["value"] == pytest.approx(length["value"])


def test_length_in_words(ask: Any) -> None:
    assert ask("measuring", "lengthText", {"value": 85.4400, "unit": "mm"}) == "85.4 mm"
    assert ask("measuring", "lengthText", {"value": 499.6, "unit": "px"}) == "500 px"


def test_ratio_of_two_widths_whatever_their_direction(ask: Any) -> None:
    assert ask("measuring", "ratioOf", [width("heart", 900, 420), width("thorax", 200, 1200)]) == 0.48
    assert ask("measuring", "ratioOf", [width("heart", 420, 900)]) is None
    assert ask("measuring", "ratioOf", [width("heart", 420, 900), width("thorax", 200, 200)]) is None


def test_the_wider_one_is_the_thorax_in_whatever_order_they_were_drawn(ask: Any) -> None:
    line = {"kind": "line", "ends": DIAGONAL}
    drawn = [width("heart", 200, 1200), line, width("thorax", 420, 900)]
    told = ask("measuring", "sortWidths", drawn)
    assert [one["kind"] for one in told] == ["thorax", "line", "heart"]
    assert ask("measuring", "sortWidths", told) == told


def test_a_width_stays_level_and_a_line_does_not(ask: Any) -> None:
    assert ask("measuring", "moveEnd", width("heart", 100, 500), 1, [600, 950]) == width("heart", 100, 600, 950)
    upright = {"kind": "heart", "ends": [[900, 100], [900, 500]]}  # on a film that was turned since
    assert ask("measuring", "moveEnd", upright, 1, [950, 600])["ends"] == [[950, 100], [950, 600]]
    moved = ask("measuring", "moveEnd", {"kind": "line", "ends": DIAGONAL}, 0, [7, 8])
    assert moved["ends"] == [[7, 8], [400, 600]]


def test_one_heart_one_thorax_and_no_end_of_lines(ask: Any) -> None:
    heart, thorax, line = width("heart", 1, 2), width("thorax", 0, 4), {"kind": "line", "ends": DIAGONAL}
    assert ask("measuring", "nextKind", "ratio", [line]) == "heart"
    assert ask("measuring", "nextKind", "ratio", [thorax]) == "heart"
    assert ask("measuring", "nextKind", "ratio", [heart, line]) == "thorax"
    assert ask("measuring", "nextKind", "ratio", [heart, thorax]) is None
    assert ask("measuring", "nextKind", "line", [heart, thorax] + [line] * 19) == "line"
    assert ask("measuring", "nextKind", "line", [line] * 20) is None


def test_layouts_of_so_many_views(ask: Any) -> None:
    assert [ask("hanging", "layoutSteps", n) for n in (1, 2, 3, 4)] == [[0], [0, 1], [0, 2, 1], [0, 2, 1]]


def test_pages_are_full_and_turn_only_when_they_must(ask: Any) -> None:
    assert ask("hanging", "pageWith", 0, 3, 2, 4) == 2
    assert ask("hanging", "pageWith", 1, 2, 2, 3) == 1  # the last two of three: the middle one stays where it is
    assert ask("hanging", "pageWith", 0, 2, 2, 3) == 1
    assert ask("hanging", "pageWith", 3, 0, 0, 4) == 0
    assert [ask("hanging", "nextPage", start, 1, 2, 3) for start in (0, 1)] == [1, 0]
    assert [ask("hanging", "nextPage", start, -1, 2, 4) for start in (0, 2)] == [2, 0]
    assert [ask("hanging", "nextPage", start, 1, 1, 3) for start in (0, 1, 2)] == [1, 2, 0]
