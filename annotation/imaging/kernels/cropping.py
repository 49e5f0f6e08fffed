"""Which parts of an image to show large, so that the text that was found in it can be read. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.imaging.kernels.masking import Box, boxes_within

AROUND = 0.6  # of the smaller side of a box, shown on each side of it
LEAST_AROUND = 0.01  # of the longer side of the image


def crops_around(boxes: Iterable[Box], *, columns: int, rows: int) -> list[Box]:
    """Each box with what lies around it, from top to bottom; where these meet, one crop shows them together."""
    least = LEAST_AROUND * max(columns, rows)
    crops: list[Box] = []
    for box in boxes:
        crop = _widened(box, round(max(AROUND * min(box[2:]), least)))
        while met := [other for other in crops if _meet(crop, other)]:
            crops = [other for other in crops if other not in met]
            crop = _together([crop, *met])
        crops.append(crop)
    return sorted(boxes_within(crops, columns=columns, rows=rows), key=lambda crop: (crop[1], crop[0]))


def _widened(box: Box, by: int) -> Box:
    x, y, width, height = box
    return x - by, y - by, width + 2 * by, height + 2 * by


def _meet(one: Box, other: Box) -> bool:
    return all(one[i] < other[i] + other[i + 2] and other[i] < one[i] + one[i + 2] for i in (0, 1))


def _together(boxes: list[Box]) -> Box:
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    return left, top, right - left, bottom - top
