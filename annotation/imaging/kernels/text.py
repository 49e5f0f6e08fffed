"""Text inside pixels: where it is, and whether it is one of the words that are allowed there.

What is read never leaves this module: a finding carries a box, whether the words are allowed, how many characters were
read, how sure the reader was, and of a side mark the side. The models (PP-OCR, Apache-2.0) are inside the wheel of
rapidocr; no network is used.

An image is searched three times: as a whole at WHOLE_SIDE pixels; its upper and lower STRIP_SHARE at twice that, where
machines write; and as a whole once more as it looks when every place has a window of its own, made from the stored
values. In the first two the network sees the grey image in two of its three colour channels and the same image with
local contrast (CLAHE) in the third; in the last each channel has windows of another size. What was found with each is
in docs/decisions/0007-text-in-pixels.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from annotation.enums import Turn
from annotation.imaging.kernels.orientation import inverse_of, turned_box, turned_pixels
from annotation.imaging.kernels.textwords import STROKES_AND_RINGS, VERSION, is_allowed, letters_of, side_of

Grey = NDArray[np.uint8]
Pixels = NDArray[np.uint8] | NDArray[np.uint16]
Box = tuple[int, int, int, int]  # x, y, width, height in pixels of the image

RULE = f"text-2 {VERSION}"
WHOLE_SIDE = 736
STRIP_SIDE = 1280
STRIP_SHARE = 0.11
LARGEST_SCALE = 2.0
SMALL_SCALE = 1.5
WINDOW_SIDES = (96, 48, 24)  # of the places that get a window of their own, in pixels of the picture
WINDOW_GAIN = 45.0  # grey levels for one standard deviation of the place
LEAST_DEVIATION = 2.0  # of stored values; what is more even than this is not made louder
MARGIN = 24  # black around the image, so that text cut by the edge is still found
LEAST_MARK = 0.01  # of a side mark, of the image's longer side: corners of the image are read as smaller letters
LARGEST_LETTER = 0.09  # a lone character that alarms; of the image's longer side
TALLEST_WINDOWED = 0.08  # the same where every place has its own window: bones and heart show there like strokes
TALLEST = 0.2  # of the picture's longer side: what is thicker in both directions is a shadow, not a line of text
LEAST_DETECTION = 0.4
LEAST_SURE = {1: 0.94, 2: 0.85, 3: 0.8}  # by number of characters; noise reads as short words
LEAST_SURE_OF_MORE = 0.6
LEAST_SURE_OF_MIRRORED = 0.8

_lock = threading.Lock()  # one search at a time in a process: memory stays that of one


@dataclass(frozen=True)
class TextFinding:
    """One piece of text: its box, whether it is an allowed word, its characters, and the reader's score 0 to 1.

    ``side``: L or R, of a mark that names it.
    """

    box: Box
    is_allowed: bool
    length: int
    score: float
    side: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "box": list(self.box),
            "allowed": self.is_allowed,
            "length": self.length,
            "score": round(self.score, 2),
            **({"side": self.side} if self.side else {}),
        }


@dataclass(frozen=True)
class _Picture:
    """A part of the image as the network sees it, and how to get back to pixels of the image."""

    mixed: NDArray[np.uint8]
    plain: NDArray[np.uint8]
    local: NDArray[np.uint8]
    scale: float
    top: int
    height: int  # of the part, as the network sees it
    tallest: float = TALLEST

    def box_in_image(self, corners: NDArray[np.float32], shape: tuple[int, int]) -> Box:
        rows, columns = shape
        low = (corners.min(axis=0) - MARGIN) / self.scale
        high = (corners.max(axis=0) - MARGIN) / self.scale
        left, right = np.clip([np.floor(low[0]), np.ceil(high[0])], 0, columns)
        above, below = np.clip([np.floor(low[1]) + self.top, np.ceil(high[1]) + self.top], 0, rows)
        return int(left), int(above), int(right - left), int(below - above)


def find_text(pixels: Pixels, more: frozenset[str] = frozenset(), turn: Turn = Turn.NONE) -> list[TextFinding]:
    """Text in a grey image of shape (rows, columns), allowed words included; ``more``: allowed words of the site.

    With a ``turn`` the image is searched as it is and turned; boxes are those of the image as it is.

    Give all stored values, not a window of them: text may be where a window is saturated, and differ from its
    ground by less than one of 256 greys.
    """
    if min(pixels.shape) < 8:
        return []
    greys: Any = pixels if pixels.dtype == np.uint8 else whole_range(pixels)
    with _lock:
        pictures = [*_pictures(np.ascontiguousarray(greys)), _windowed(pixels)]
        found = [finding for picture in pictures for finding in _search(picture, pixels.shape, more)]
    if turn:
        turned = turned_pixels(pixels, turn)
        back, (rows, columns) = inverse_of(turn), turned.shape
        found += [
            replace(one, box=turned_box(one.box, back, columns=columns, rows=rows)) for one in find_text(turned, more)
        ]
    return _without_repeats(found)


def whole_range(pixels: Pixels) -> Grey:
    """All stored values as 8 bit, least to greatest but for one pixel in ten thousand at either end."""
    low, high = np.percentile(pixels[:: max(1, pixels.shape[0] // 1024)], (0.01, 99.99))
    scaled = (pixels.astype(np.float32) - low) * (255.0 / max(float(high - low), 1.0))
    greys: Grey = np.clip(scaled, 0, 255).astype(np.uint8)
    return greys


def is_suspicious(findings: Iterable[TextFinding]) -> bool:
    """Whether somebody must look before others do."""
    return any(not finding.is_allowed for finding in findings)


@lru_cache(maxsize=1)
def _reader() -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported: nothing is logged or sent elsewhere
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)
    return RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "critical",  # nothing that was read may reach a log
            "Global.use_vertical_padding": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "Det.limit_type": "max",
            "Det.limit_side_len": 4096,
            "Det.box_thresh": LEAST_DETECTION,
        }
    )


def _pictures(image: Grey) -> list[_Picture]:
    rows, columns = image.shape
    whole = min(LARGEST_SCALE, WHOLE_SIDE / max(rows, columns))
    fine = min(LARGEST_SCALE, STRIP_SIDE / max(rows, columns))
    pictures = [_picture(image, whole, 0)]
    if whole > SMALL_SCALE:
        # In small images the pixels themselves are seen, and local contrast hides more than it shows.
        small = _picture(image, SMALL_SCALE, 0)
        pictures.append(replace(small, mixed=small.plain))
    if fine > 1.2 * whole:
        height = max(8, round(rows * STRIP_SHARE))
        pictures += [_picture(image[:height], fine, 0), _picture(image[rows - height :], fine, rows - height)]
    return pictures


def _windowed(image: Pixels) -> _Picture:
    """The whole image with a window for each place: one mean and deviation of its neighbourhood, for three sizes."""
    scale = min(LARGEST_SCALE, WHOLE_SIDE / max(image.shape))
    small = _resized(image.astype(np.float32), scale)
    wide, middle, narrow = (_framed(_locally_windowed(small, side)) for side in WINDOW_SIDES)
    rows, columns = small.shape
    return _Picture(
        cv2.merge([wide, middle, narrow]),
        cv2.merge([middle] * 3),
        cv2.merge([narrow] * 3),
        columns / image.shape[1],
        0,
        rows,
        TALLEST_WINDOWED,
    )


def _locally_windowed(values: NDArray[np.float32], side: int) -> Grey:
    exact = values.astype(np.float64)  # squares of 16-bit values are past what 32 bits tell apart
    mean = cv2.blur(exact, (side, side))
    variance = np.maximum(cv2.blur(exact * exact, (side, side)) - mean * mean, 0)
    apart = (exact - mean) / np.maximum(np.sqrt(variance), LEAST_DEVIATION)
    greys: Grey = np.clip(128 + WINDOW_GAIN * apart, 0, 255).astype(np.uint8)
    return greys


def _resized(part: NDArray[Any], scale: float) -> Any:
    rows, columns = part.shape
    size = max(8, round(columns * scale)), max(8, round(rows * scale))
    return cv2.resize(part, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)


def _picture(part: Grey, scale: float, top: int) -> _Picture:
    columns = part.shape[1]
    small = _resized(part, scale)
    size = small.shape[1], small.shape[0]
    tiles = max(1, size[0] // 64), max(1, size[1] // 64)
    local = cv2.createCLAHE(6.0, tiles).apply(small)
    plain, local = _framed(small), _framed(local)
    return _Picture(
        cv2.merge([plain, local, plain]),
        cv2.merge([plain] * 3),
        cv2.merge([local] * 3),
        size[0] / columns,
        top,
        size[1],
    )


def _framed(grey: Any) -> Any:
    """Black around it, up to a multiple of 32 as the network asks."""
    rows, columns = grey.shape
    below, right = (-(rows + 2 * MARGIN)) % 32, (-(columns + 2 * MARGIN)) % 32
    return cv2.copyMakeBorder(
        grey, MARGIN, MARGIN + below, MARGIN, MARGIN + right, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0)
    )


def _search(picture: _Picture, shape: tuple[int, int], more: frozenset[str]) -> list[TextFinding]:
    from rapidocr.main import RapidOCRError

    reader = _reader()
    try:
        _crops, detected = reader.detect_and_crop(picture.mixed, {})
    except RapidOCRError:  # it says so that there is no text
        return []
    found = []
    for corners in detected.boxes:
        if _is_a_shadow(corners, picture) or _is_cut(corners, picture, shape):
            continue
        crops = [reader.crop_text_regions(layer, [corners])[0] for layer in (picture.plain, picture.local)]
        judged = _judge(crops, more)
        if judged:
            finding = TextFinding(picture.box_in_image(np.asarray(corners), shape), *judged)
            if max(finding.box[2:]) < LEAST_MARK * max(shape):
                finding = replace(finding, side="")
            if not _is_a_large_blot(finding, shape):
                found.append(finding)
    return found


def _is_a_large_blot(finding: TextFinding, shape: tuple[int, int]) -> bool:
    alone = finding.length == 1 and not finding.is_allowed
    return alone and max(finding.box[2:]) > LARGEST_LETTER * max(shape)


def _is_a_shadow(corners: NDArray[np.float32], picture: _Picture) -> bool:
    """Whether a box is as thick as no line of text is: the rim of a lung, or all of a strip."""
    rows, columns = (side - 2 * MARGIN for side in picture.plain.shape[:2])
    width, height = corners.max(axis=0) - corners.min(axis=0)
    fills_strip = columns > 3 * rows and height > 0.85 * rows
    return bool(fills_strip or min(width, height) > picture.tallest * max(rows, columns))


def _is_cut(corners: NDArray[np.float32], picture: _Picture, shape: tuple[int, int]) -> bool:
    """Whether a box reaches out of a strip into the rest of the image, where half letters would be read as others."""
    cut_above = picture.top > 0 and corners[:, 1].min() < MARGIN
    goes_on = picture.top + picture.height / picture.scale < shape[0] - 1
    return bool(cut_above or (goes_on and corners[:, 1].max() > MARGIN + picture.height))


def _judge(crops: Sequence[Any], more: frozenset[str]) -> tuple[bool, int, float, str] | None:
    """Allowed or not, number of characters, score and side of one piece of text; None when it is no text."""
    readings = _read(crops)
    known, mark = _known(readings, more)
    text, score = max(readings, key=lambda reading: (_is_sure(*reading), reading[1]))
    if known >= LEAST_SURE_OF_MORE and (known >= score - 0.2 or not _is_sure(text, score)):
        return True, len(text), known, side_of(mark)
    if not _is_sure(text, score):
        return None
    turned = [turn for crop in crops for turn in (cv2.flip(crop, 1), cv2.rotate(crop, cv2.ROTATE_180))]
    turned += [cv2.rotate(crop, rotation) for crop in crops for rotation in (0, 2)]  # a quarter to either side
    mirrored, mark = _known(_read(turned), more)
    if mirrored >= LEAST_SURE_OF_MIRRORED:
        return True, len(text), mirrored, side_of(mark)
    return False, len(text.replace(" ", "")), score, ""


def _known(readings: Iterable[tuple[str, float]], more: frozenset[str]) -> tuple[float, str]:
    """The surest of the readings that are allowed, with its score."""
    return max(((score, text) for text, score in readings if is_allowed(text, more)), default=(0.0, ""))


def _is_sure(text: str, score: float) -> bool:
    n = len(text.replace(" ", ""))
    if n == 0 or (n == 1 and text in STROKES_AND_RINGS):
        return False
    return score >= LEAST_SURE.get(n, LEAST_SURE_OF_MORE)


def _read(crops: Sequence[Any]) -> list[tuple[str, float]]:
    result = _reader().recognize_txt(list(crops))
    return [(letters_of(text), float(score)) for text, score in zip(result.txts, result.scores, strict=True)]


def _without_repeats(found: list[TextFinding]) -> list[TextFinding]:
    """One finding per place: the surer reading counts, then the longer (the other saw half a line), then the alarm."""
    kept: list[TextFinding] = []
    for finding in sorted(found, key=lambda f: (-round(f.score, 1), -f.length, f.is_allowed)):
        if not any(_share(finding.box, other.box) > 0.5 for other in kept):
            kept.append(finding)
    return kept


def _share(box: Box, other: Box) -> float:
    """The part of the smaller box that lies in the other."""
    width = min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0])
    height = min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1])
    smaller = min(box[2] * box[3], other[2] * other[3])
    return max(0, width) * max(0, height) / smaller if smaller else 0.0
