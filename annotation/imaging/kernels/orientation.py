"""Films that lie mirrored, turned or upside down by what their file says of the patient's orientation. Pure.

Patient Orientation (PS3.3 C.7.6.1.1.1) names where a row and where a column lead: left, right, anterior, posterior,
head or feet. A frontal film is looked at as if the patient faced the reader, ``L\\F``; a lateral one with the head up.
The value is often wrong (OHIF#4089), so that it asks, and a person decides.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from annotation.enums import Turn, ViewPosition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from annotation.imaging.kernels.masking import Box

_Steps = tuple[bool, bool, bool]  # rows and columns exchanged, then rows reversed, then columns reversed
_STEPS: Mapping[Turn, _Steps] = {
    Turn.NONE: (False, False, False),
    Turn.MIRRORED: (False, False, True),
    Turn.UPENDED: (False, True, False),
    Turn.HALF: (False, True, True),
    Turn.RIGHT: (True, False, True),
    Turn.LEFT: (True, True, False),
    Turn.RIGHT_MIRRORED: (True, False, False),
    Turn.LEFT_MIRRORED: (True, True, True),
}
_TURNS = {steps: turn for turn, steps in _STEPS.items()}
_LATERALS = (ViewPosition.LL, ViewPosition.RL, ViewPosition.LATERAL)
_FRONTALS = (ViewPosition.PA, ViewPosition.AP)
_OPPOSITE = dict(zip("LRAPFH", "RLPAHF", strict=True))


def turn_for(orientation: Sequence[str], view: ViewPosition) -> Turn | None:
    """What brings a film of this Patient Orientation to the usual one; None where it does not fit the view.

    A frontal film comes to ``L\\F``. A lateral one, which has no wrong side, is turned until its head is up and never
    mirrored. Without an orientation there is nothing to do.
    """
    if not orientation:
        return Turn.NONE
    along, down = (part[:1] for part in orientation)
    is_turned = along in "FH"
    if is_turned:
        along, down = down, along
    if down not in "FH" or along in "FH" or along in ("AP" if view in _FRONTALS else "LR" if view in _LATERALS else ""):
        return None
    if along in "AP":
        return {(False, "F"): Turn.NONE, (False, "H"): Turn.HALF, (True, "F"): Turn.RIGHT}.get(
            (is_turned, down), Turn.LEFT
        )
    return _TURNS[is_turned, down == "H", along == "R"]


def is_frontal(view: ViewPosition, turn: Turn) -> bool:
    """Whether side marks tell how the film lies; where its view is not known, one that is turned may be lateral."""
    return view in _FRONTALS or (view not in _LATERALS and turn not in (Turn.HALF, Turn.RIGHT, Turn.LEFT))


def inverse_of(turn: Turn) -> Turn:
    return {Turn.RIGHT: Turn.LEFT, Turn.LEFT: Turn.RIGHT}.get(turn, turn)


def turned_pixels(pixels: NDArray[Any], turn: Turn) -> NDArray[Any]:
    """The same values, shape (rows, columns) or (columns, rows)."""
    import numpy as np  # not at every start

    exchanged, up, back = _STEPS[turn]
    pixels = pixels.T if exchanged else pixels
    return np.ascontiguousarray(pixels[:: -1 if up else 1, :: -1 if back else 1])


def turned_box(box: Box, turn: Turn, *, columns: int, rows: int) -> Box:
    """Where a box of an image of this size lies after the turn."""
    x, y, width, height = box
    exchanged, up, back = _STEPS[turn]
    if exchanged:
        x, y, width, height, columns, rows = y, x, height, width, rows, columns
    return columns - x - width if back else x, rows - y - height if up else y, width, height


def turned_object(stored: bytes, turn: Turn) -> bytes:
    """The same object with its pixels turned, and with them what names their rows and columns.

    `stored` is an object that this program made: one frame, grey, uncompressed.
    """
    import pydicom  # not at every start

    from annotation.imaging.kernels.masking import pixels_of

    made = pydicom.dcmread(io.BytesIO(stored))
    exchanged, up, back = _STEPS[turn]
    pixels = turned_pixels(pixels_of(made), turn)
    made.Rows, made.Columns = pixels.shape
    data = pixels.tobytes()
    made.PixelData = data + b"\0" * (len(data) % 2)
    if exchanged:
        for keyword in ("PixelSpacing", "ImagerPixelSpacing", "PixelAspectRatio"):
            if keyword in made:
                setattr(made, keyword, list(made[keyword].value)[::-1])
    if "PatientOrientation" in made:
        along, down = list(made.PatientOrientation)[:: -1 if exchanged else 1]
        made.PatientOrientation = [_opposite(along) if back else along, _opposite(down) if up else down]
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def _opposite(letters: str) -> str:
    return "".join(_OPPOSITE[letter] for letter in letters)


def side_marks(findings: Iterable[Mapping[str, Any]]) -> list[tuple[str, Box]]:
    """The side marks among the texts that were found, L or R, with their boxes."""
    return [(one["side"], tuple(one["box"])) for one in findings if one.get("side")]


def marks_speak_for(marks: Sequence[tuple[str, Box]], turn: Turn, *, columns: int, rows: int) -> bool | None:
    """Whether the side marks of a frontal film speak for turning it; None where they say nothing, or contradict.

    A left mark belongs into the right half of what is seen, and a right one into the left.
    """
    width = rows if _STEPS[turn][0] else columns
    as_it_is = all(_fits(mark, box, columns) for mark, box in marks)
    after = all(_fits(mark, turned_box(box, turn, columns=columns, rows=rows), width) for mark, box in marks)
    return after if after != as_it_is else None


def _fits(mark: str, box: Box, columns: int) -> bool:
    return (box[0] + box[2] / 2 > columns / 2) == (mark == "L")
