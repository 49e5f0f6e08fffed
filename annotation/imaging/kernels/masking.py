"""Boxes on an image: blacked out in the stored pixel values themselves, never as an overlay; and shown large, so that
the text that was found in them can be read. Pure.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydicom.dataset import Dataset

Box = tuple[int, int, int, int]  # x, y, width, height in pixels of the image

METHOD = "Parts of the pixels blacked out by a person"
CLEAN_PIXEL_DATA = ("113101", "Clean Pixel Data Option")
COVERED = 0.8  # from here on a finding counts as blacked out


def boxes_within(boxes: Sequence[Box], *, columns: int, rows: int) -> list[Box]:
    """The boxes cut to the image; those that cover no pixel are left out."""
    cut = []
    for x, y, width, height in boxes:
        left, top = max(x, 0), max(y, 0)
        right, bottom = min(x + width, columns), min(y + height, rows)
        if right > left and bottom > top:
            cut.append((left, top, right - left, bottom - top))
    return cut


def blackened(stored: bytes, boxes: Sequence[Box]) -> bytes:
    """The same object with the boxes set to the value that shows darkest in the image.

    `stored` is an object that this program made: one frame, grey, uncompressed. PS3.15 asks for the option code, and
    (0028,0301) leaves, since the statement that it made is not true any more.
    """
    import pydicom  # here and below: pages know boxes, too, and need none of it

    made = pydicom.dcmread(io.BytesIO(stored))
    pixels = pixels_of(made)
    darkest = pixels.max() if made.PhotometricInterpretation == "MONOCHROME1" else pixels.min()
    for x, y, width, height in boxes:
        pixels[y : y + height, x : x + width] = darkest
    data = pixels.tobytes()
    made.PixelData = data + b"\0" * (len(data) % 2)
    made.pop("BurnedInAnnotation", None)
    _note_method(made)
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def is_covered(box: Box, masks: Sequence[Box]) -> bool:
    """Whether the masks together hide so much of a box that nothing can be read in it."""
    import numpy as np  # not at every start

    x, y, width, height = box
    if width <= 0 or height <= 0:
        return True
    hidden = np.zeros((height, width), bool)
    for left, top, wide, high in masks:
        rows = slice(max(top - y, 0), max(top + high - y, 0))
        hidden[rows, max(left - x, 0) : max(left + wide - x, 0)] = True
    return bool(hidden.mean() >= COVERED)


def pixels_of(made: Dataset) -> NDArray[np.generic]:
    """Of an object that this program made, shape (rows, columns); a copy."""
    import numpy as np

    kind = "i" if made.PixelRepresentation else "u"
    dtype = np.dtype(f"<{kind}{made.BitsAllocated // 8}")
    n_pixels = int(made.Rows) * int(made.Columns)
    pixels: NDArray[np.generic] = np.frombuffer(made.PixelData, dtype, n_pixels).reshape(made.Rows, made.Columns).copy()
    return pixels


def _note_method(made: Dataset) -> None:
    methods = made.get("DeidentificationMethod", [])
    methods = [methods] if isinstance(methods, str) else list(methods)
    if METHOD in methods:
        return
    made.DeidentificationMethod = [*methods, METHOD]
    from pydicom.dataset import Dataset

    item = Dataset()
    item.CodeValue, item.CodeMeaning = CLEAN_PIXEL_DATA
    item.CodingSchemeDesignator = "DCM"
    made.DeidentificationMethodCodeSequence = [*made.get("DeidentificationMethodCodeSequence", []), item]


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
