"""Films that lie otherwise than usual: what is asked for, and turning without loss."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
import pydicom
import pytest

from annotation.enums import Turn, ViewPosition
from annotation.imaging.kernels.orientation import (
    inverse_of,
    marks_speak_for,
    turn_for,
    turned_box,
    turned_object,
    turned_pixels,
)

from .test_deidentification import stored

PA, LL, UNKNOWN = ViewPosition.PA, ViewPosition.LL, ViewPosition.UNKNOWN
# What a picture shows at its corners, as (right or left, head or feet) of a frontal film that lies as usual.
USUAL = np.array([["RH", "LH"], ["RF", "LF"]])


def orientation_of(picture: np.ndarray) -> tuple[str, str]:
    """Where rows and columns of a picture of these corners lead, read off it."""

    def leads(start: str, end: str) -> str:
        return next(b for a, b in zip(start, end, strict=True) if a != b)

    return leads(picture[0, 0], picture[0, 1]), leads(picture[0, 0], picture[1, 0])


@pytest.mark.parametrize("turn", Turn)
def test_a_frontal_film_comes_to_the_usual_orientation(turn: Turn) -> None:
    came_in = turned_pixels(USUAL, inverse_of(turn))
    assert turn_for(orientation_of(came_in), PA) == turn
    assert np.array_equal(turned_pixels(came_in, turn), USUAL)


@pytest.mark.parametrize(
    ("orientation", "turn"),
    [
        (("P", "F"), Turn.NONE),
        (("A", "F"), Turn.NONE),
        (("A", "H"), Turn.HALF),
        (("P", "H"), Turn.HALF),
        (("F", "A"), Turn.RIGHT),
        (("H", "P"), Turn.LEFT),
        (("AF", "FP"), Turn.NONE),
    ],
)
def test_a_lateral_film_is_turned_and_never_mirrored(orientation: tuple[str, str], turn: Turn) -> None:
    assert turn_for(orientation, LL) == turn


@pytest.mark.parametrize(
    ("orientation", "view"),
    [(("P", "F"), PA), (("L", "F"), LL), (("L", "P"), UNKNOWN), (("L", "R"), UNKNOWN), (("F", "H"), UNKNOWN)],
)
def test_an_orientation_that_does_not_fit_asks_for_nothing(orientation: tuple[str, str], view: ViewPosition) -> None:
    assert turn_for(orientation, view) is None


def test_without_an_orientation_nothing_is_asked() -> None:
    assert turn_for((), PA) == Turn.NONE


@pytest.mark.parametrize("turn", Turn)
def test_a_box_goes_with_its_pixels(turn: Turn) -> None:
    pixels = np.zeros((30, 50), np.uint8)
    pixels[4:10, 7:20] = 1
    x, y, width, height = turned_box((7, 4, 13, 6), turn, columns=50, rows=30)
    turned = turned_pixels(pixels, turn)
    assert turned[y : y + height, x : x + width].all()
    assert turned.sum() == width * height


@pytest.mark.parametrize(("turn", "bits"), list(product(Turn, (8, 16))))
def test_an_object_is_turned_and_back_without_loss(turn: Turn, bits: int) -> None:
    before = pydicom.dcmread(io.BytesIO(stored("MONOCHROME2", bits=bits)))
    before.PatientOrientation, before.PixelSpacing = ["R", "F"], [0.1, 0.2]
    stream = io.BytesIO()
    before.save_as(stream, enforce_file_format=True)
    after = pydicom.dcmread(io.BytesIO(turned_object(stream.getvalue(), turn)))
    assert np.array_equal(after.pixel_array, turned_pixels(before.pixel_array, turn))
    assert (list(after.PixelSpacing) == [0.2, 0.1]) == (after.Rows == before.Columns)
    if turn == Turn.MIRRORED:
        assert list(after.PatientOrientation) == ["L", "F"]
    assert turned_object(turned_object(stream.getvalue(), turn), inverse_of(turn)) == stream.getvalue()


@pytest.mark.parametrize(
    ("marks", "speaks"),
    [
        ([], None),
        ([("L", (2, 2, 6, 6))], True),  # a left mark in the left half: mirrored
        ([("L", (90, 2, 6, 6))], False),
        ([("R", (90, 2, 6, 6)), ("L", (2, 2, 6, 6))], True),
        ([("R", (90, 2, 6, 6)), ("L", (90, 2, 6, 6))], None),
    ],
)
def test_side_marks_speak_for_one_of_two_pictures(
    marks: list[tuple[str, tuple[int, int, int, int]]], speaks: bool | None
) -> None:
    assert marks_speak_for(marks, Turn.MIRRORED, columns=100, rows=80) is speaks


def test_a_mark_says_nothing_where_both_pictures_have_it_on_one_side() -> None:
    assert marks_speak_for([("L", (2, 2, 6, 6))], Turn.UPENDED, columns=100, rows=80) is None
