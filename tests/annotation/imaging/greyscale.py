"""DICOM data sets that exercise every step of the grey-scale pipeline, and the greys that pydicom's own functions give.

Kernels and canvas are both tested against `screen_greys`, which shares no code with them.

Where pydicom 3.0 stops short of the standard, or errs, and what is done about it here:

- It leaves MONOCHROME1 as it is; small values must be white (PS3.3 C.7.6.3.1.2). Its INVERSE presentation shape counts
  from the largest value of the picture, not of the range, so it cannot be used for that. Here: 255 minus the grey.
- It knows no pixel padding, which is not part of the image (PS3.3 C.7.5.1.1.2). Here: black, as on our screen.
- It refuses modality tables of other than 8 or 16 bits, and an 8-bit VOI table with more than 256 entries wraps around
  in it. Here: such a table is handed over as one of 16 bits, with the same entries.
- The output of its windows runs from the modality value of the lowest to that of the highest stored value, so that a
  negative slope swaps black and white. Here: its output for a tiny value is black, for a huge value white.
- Without a window it returns modality values, with no word about how to show them. Here: the window is an argument.
"""

from __future__ import annotations

import io
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi, apply_windowing
from pydicom.sequence import Sequence

from tests.annotation.imaging.dicomfiles import make_data_set

Floats = NDArray[np.float64]
HEIGHT, WIDTH = 120, 300


def screen_greys(
    dataset: Dataset, stored: NDArray[Any], *, index: int = 0, table: bool | None = None, window: Any = None
) -> Floats:
    """0..255 for stored values. `index` counts windows, or VOI tables where `table`; tables go before windows.

    `window` (centre, width) is for data sets that have none.
    """
    given = deepcopy(dataset)
    if window:
        given.WindowCenter, given.WindowWidth = window
        given.VOILUTFunction = "LINEAR"
    for keyword in ("ModalityLUTSequence", "VOILUTSequence"):
        for item in given.get(keyword, []):
            item.LUTDescriptor = [*item.LUTDescriptor[:2], 16]
    modality = apply_modality_lut(stored.astype(np.int32), given)
    use_table = "VOILUTSequence" in given if table is None else table
    if use_table:
        if np.array_equal(modality, np.rint(modality)):
            modality = modality.astype(np.int32)
        bits = dataset.VOILUTSequence[index].LUTDescriptor[2]
        shown = apply_voi(modality, given, index) / (2.0**bits - 1)
    else:
        ends = np.array([-1e9, 1e9])
        with np.errstate(over="ignore"):
            black, white = apply_windowing(ends, given, index)
            shown = (apply_windowing(modality, given, index) - black) / (white - black)
    greys: Floats = 255.0 * np.asarray(shown, dtype=np.float64)
    if dataset.PhotometricInterpretation == "MONOCHROME1":
        greys = 255.0 - greys
    greys[padded(dataset, stored)] = 0.0
    return greys


def padded(dataset: Dataset, stored: NDArray[Any]) -> NDArray[np.bool_]:
    """Where stored values are Pixel Padding Value, or between it and Pixel Padding Range Limit."""
    if "PixelPaddingValue" not in dataset:
        return np.zeros(stored.shape, np.bool_)
    value = dataset.PixelPaddingValue
    low, high = sorted((value, dataset.get("PixelPaddingRangeLimit", value)))
    return np.asarray((stored >= low) & (stored <= high))


def ramp(bits: int) -> NDArray[np.uint16]:
    """A ramp over all values, noise, hard edges and both ends."""
    top = 2**bits - 1
    values = np.linspace(0, top, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    values[40:70] += np.random.default_rng(2026).normal(0, top / 50, (30, WIDTH))
    values[80:100, 40:90] = top
    values[80:100, 100:150] = 0
    return np.rint(values).clip(0, top).astype(np.uint16)


def signed(bits: int) -> NDArray[np.int16]:
    values: NDArray[np.int16] = (ramp(bits).astype(np.int32) - 2 ** (bits - 1)).astype(np.int16)
    return values


def curve(n_entries: int, bits: int, power: float = 0.6) -> NDArray[np.uint16]:
    entries: NDArray[np.uint16] = np.rint((2**bits - 1) * np.linspace(0, 1, n_entries) ** power).astype(np.uint16)
    return entries


def table(first: int, bits: int, entries: NDArray[np.uint16], *, vr: str = "US") -> Dataset:
    item = Dataset()
    item.add_new(0x00283002, vr, [len(entries) % 65536, first, bits])
    item.add_new(0x00283006, "OW", entries.astype("<u2").tobytes())
    return item


def window(center: float, width: float, function: str | None = None, **more: Any) -> dict[str, Any]:
    return {"WindowCenter": str(center), "WindowWidth": str(width), "VOILUTFunction": function, **more}


def rescale(slope: float, intercept: float) -> dict[str, Any]:
    return {"RescaleSlope": str(slope), "RescaleIntercept": str(intercept), "RescaleType": "US"}


NO_WINDOW: dict[str, Any] = {"WindowCenter": None, "WindowWidth": None}
TWELVE, SIXTEEN = ramp(12), ramp(16)

# name: stored values, bits stored, attributes
CASES: dict[str, tuple[NDArray[Any], int, dict[str, Any]]] = {
    "no function named": (TWELVE, 12, window(1800, 1500)),
    "LINEAR": (TWELVE, 12, window(1800.5, 333.25, "LINEAR")),
    "LINEAR, width 1 is a threshold": (TWELVE, 12, window(1800, 1, "LINEAR")),
    "LINEAR, wider than the values": (TWELVE, 12, window(0, 12000, "LINEAR")),
    "LINEAR_EXACT": (TWELVE, 12, window(1800, 1500, "LINEAR_EXACT")),
    "LINEAR_EXACT, width below 1": (TWELVE, 12, window(1800, 0.5, "LINEAR_EXACT")),
    "SIGMOID": (TWELVE, 12, window(1800, 1500, "SIGMOID")),
    "SIGMOID, narrow": (TWELVE, 12, window(1800, 2, "SIGMOID")),
    "8 bits": (ramp(8).astype(np.uint8), 8, window(100, 120)),
    "8 bits in 16": (ramp(8), 8, window(128, 256)),
    "10 bits": (ramp(10), 10, window(500, 900)),
    "16 bits": (SIXTEEN, 16, window(30000, 50000)),
    "16 bits signed": (signed(16), 16, window(-200, 40000)),
    "12 bits signed": (signed(12), 12, window(-200, 900, "SIGMOID")),
    "slope and intercept": (TWELVE, 12, window(0, 800, **rescale(0.5, -1024))),
    "slope and intercept of signed values": (signed(16), 16, window(-200.5, 9000.25, **rescale(0.25, -1024))),
    "a slope that is no binary fraction": (TWELVE, 12, window(150, 320, "LINEAR_EXACT", **rescale(0.1, -37.3))),
    "a steep slope": (ramp(10), 10, window(20000, 30000, **rescale(64, 100))),
    "a negative slope": (TWELVE, 12, window(2500, 1500, **rescale(-1, 4095))),
    "modality table of 16 bits": (
        TWELVE,
        12,
        window(30000, 40000, ModalityLUTSequence=Sequence([table(0, 16, curve(4096, 16))])),
    ),
    "modality table of 10 bits, shorter than the values": (
        TWELVE,
        12,
        window(500, 700, "SIGMOID", ModalityLUTSequence=Sequence([table(1000, 10, curve(2000, 10))])),
    ),
    "modality table of signed values": (
        signed(12),
        12,
        window(2000, 3000, ModalityLUTSequence=Sequence([table(-2048, 12, curve(4096, 12), vr="SS")])),
    ),
    "modality table goes before slope and intercept": (
        ramp(8).astype(np.uint8),
        8,
        window(2000, 3000, ModalityLUTSequence=Sequence([table(0, 12, curve(256, 12))])),
    ),
    "VOI table": (TWELVE, 12, {**NO_WINDOW, "VOILUTSequence": Sequence([table(0, 12, curve(4096, 12))])}),
    "VOI table of 8 bits": (TWELVE, 12, {**NO_WINDOW, "VOILUTSequence": Sequence([table(0, 8, curve(4096, 8))])}),
    "VOI table of 16 bits and all entries": (
        SIXTEEN,
        16,
        {**NO_WINDOW, "VOILUTSequence": Sequence([table(0, 16, curve(65536, 16, 2.0))])},
    ),
    "VOI table of values below zero goes before a window": (
        TWELVE,
        12,
        window(1000, 100, VOILUTSequence=Sequence([table(-100, 12, curve(3000, 12), vr="SS")]), **rescale(1, -500)),
    ),
    "VOI table of signed values": (
        signed(12),
        12,
        {**NO_WINDOW, "VOILUTSequence": Sequence([table(-1000, 10, curve(2000, 10), vr="SS")])},
    ),
    "VOI table after a modality table of signed values": (
        signed(12),
        12,
        {
            **NO_WINDOW,
            "ModalityLUTSequence": Sequence([table(-2048, 16, curve(4096, 16, 1.5), vr="SS")]),
            "VOILUTSequence": Sequence([table(30000, 10, curve(35000, 10))]),
        },
    ),
    "padding": (TWELVE, 12, window(2000, 3000, PixelPaddingValue=0)),
    "padding in a range": (TWELVE, 12, window(2000, 3000, PixelPaddingValue=4095, PixelPaddingRangeLimit=3900)),
    "padding of signed values": (signed(12), 12, window(0, 4000, PixelPaddingValue=-2048)),
    "padding and slope": (TWELVE, 12, window(0, 800, PixelPaddingValue=0, **rescale(-0.5, 1024))),
    "padding under a modality table": (
        TWELVE,
        12,
        window(500, 900, PixelPaddingValue=0, ModalityLUTSequence=Sequence([table(0, 10, curve(4096, 10))])),
    ),
    "padding under a VOI table": (
        TWELVE,
        12,
        {**NO_WINDOW, "PixelPaddingValue": 4095, "VOILUTSequence": Sequence([table(0, 10, curve(4096, 10))])},
    ),
    "padding under a modality table of all 16 bits": (
        TWELVE,
        12,
        window(30000, 60000, PixelPaddingValue=0, ModalityLUTSequence=Sequence([table(0, 16, curve(4096, 16, 1.0))])),
    ),
}


def make(name: str, photometric: str, **more: Any) -> tuple[Dataset, NDArray[Any]]:
    pixels, bits, values = CASES[name]
    attributes: dict[str, Any] = {**values, "PhotometricInterpretation": photometric, **more}
    padding = {key: attributes.pop(key) for key in ("PixelPaddingValue", "PixelPaddingRangeLimit") if key in attributes}
    made = make_data_set(pixels, bits=bits, **attributes)
    for keyword, value in padding.items():
        setattr(made, keyword, value)
        made[keyword].VR = "SS" if pixels.dtype.kind == "i" else "US"
    return made, pixels


def greys_of(png: bytes) -> NDArray[np.uint8]:
    """Shape (rows, columns)."""
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture)
