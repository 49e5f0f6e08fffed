"""The DICOM grey-scale pipeline on payload values: modality, VOI, photometric interpretation, padding.

Source: DICOM PS3.3 C.11.1 and C.11.2. A payload value is an unsigned 16-bit number; its modality value is
``value * slope + intercept``. Because there are at most 65,536 of them, the whole pipeline is one table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.imaging.kernels.attributes import LookupTable, Window

Greys = NDArray[np.float64]

_FULL = (0.1, 99.9)  # percentiles of the full range
_MAX_SAMPLE = 1_000_000


def apply_window(values: Greys, window: Window, function: str) -> Greys:
    """VOI LUT Function LINEAR, LINEAR_EXACT or SIGMOID (PS3.3 C.11.2.1.2, C.11.2.1.3): output 0 to 1."""
    center, width = window.center, window.width
    if function == "SIGMOID":
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-4.0 * (values - center) / width))
    if function == "LINEAR":
        if width <= 1.0:
            return (values > center - 0.5).astype(np.float64)
        center, width = center - 0.5, width - 1.0
    return np.clip((values - center) / width + 0.5, 0.0, 1.0)


def apply_table(values: Greys, table: LookupTable) -> Greys:
    """VOI LUT: output 0 to 1 of the table's bits; outside the table its first and last entry hold.

    Between two entries the lower one holds; the little added gives back what floating point took from a whole number.
    """
    index = np.clip(np.floor(values - table.first + 1e-6), 0, len(table.data) - 1).astype(np.intp)
    greys: Greys = table.data[index] / float((1 << table.bits) - 1)
    return greys


def grey_table(
    *,
    bits: int,
    slope: float,
    intercept: float,
    invert: bool,
    window: Window | None,
    function: str = "LINEAR",
    voi_lut: LookupTable | None = None,
    padding: tuple[int, int] | None = None,
) -> NDArray[np.uint8]:
    """Screen grey 0 to 255 of every payload value, shape (2**bits,).

    A VOI table goes before a window; one of them must be given. Padding is black, whatever the photometric
    interpretation.
    """
    values = np.arange(1 << bits, dtype=np.float64) * slope + intercept
    if voi_lut:
        shown = apply_table(values, voi_lut)
    elif window:
        shown = apply_window(values, window, function)
    else:
        raise ValueError("neither a VOI table nor a window")
    if invert:
        shown = 1.0 - shown
    greys: NDArray[np.uint8] = np.rint(shown * 255.0).astype(np.uint8)
    if padding:
        greys[max(padding[0], 0) : padding[1] + 1] = 0
    return greys


def histogram(payload: NDArray[np.uint16], bits: int, padding: tuple[int, int] | None) -> NDArray[np.int64]:
    """Count of each payload value over an even sample of at most about a million pixels, without padding."""
    step = max(1, int(np.ceil(np.sqrt(payload.size / _MAX_SAMPLE))))
    sample = payload[::step, ::step] if min(payload.shape) > step else payload
    counts: NDArray[np.int64] = np.bincount(sample.ravel(), minlength=1 << bits)
    if padding:
        counts[max(padding[0], 0) : padding[1] + 1] = 0
    return counts


def full_range(counts: NDArray[Any], *, slope: float, intercept: float) -> tuple[float, float]:
    """Lowest and highest modality value of what is there but for a thousandth at either end; never equal."""
    total = np.cumsum(counts)
    if not total[-1]:
        total = np.arange(1, len(counts) + 1)
    ends = np.searchsorted(total, np.array(_FULL) / 100.0 * total[-1]) * slope + intercept
    lowest, highest = float(min(ends)), float(max(ends))
    return lowest, max(highest, lowest + abs(slope))


def window_of(bounds: tuple[float, float]) -> Window:
    """The LINEAR window that shows the first bound black and the second white."""
    low, high = bounds
    return Window((low + high + 1.0) / 2.0, max(high - low + 1.0, 1.0))
