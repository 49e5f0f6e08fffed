"""Parts of an image around the text that was found in it."""

from __future__ import annotations

from annotation.imaging.kernels.masking import crops_around


def test_each_box_has_its_crop_with_what_lies_around_it() -> None:
    boxes = [(500, 900, 200, 30), (100, 100, 300, 40)]
    assert crops_around(boxes, columns=1000, rows=1000) == [(76, 76, 348, 88), (482, 882, 236, 66)]


def test_what_lies_close_together_is_shown_once() -> None:
    lines = [(100, 100, 300, 40), (700, 700, 50, 40), (100, 190, 200, 40), (120, 145, 90, 40)]
    [block, other] = crops_around(lines, columns=1000, rows=1000)
    assert block == (76, 76, 348, 178)
    assert other == (676, 676, 98, 88)


def test_a_crop_stays_within_the_image() -> None:
    assert crops_around([(0, 0, 20, 8), (70, 55, 40, 8)], columns=80, rows=60) == [(0, 0, 25, 13), (65, 50, 15, 10)]
    assert crops_around([(500, 500, 9, 9)], columns=80, rows=60) == []
    assert crops_around([], columns=80, rows=60) == []
