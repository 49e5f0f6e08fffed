"""What goes to the screen: the DICOM grey-scale pipeline, the payload in full depth, and the preview. Pure.

Full depth travels as left difference, zigzag and byte planes ("dsh"), then zstd or gzip: measured on 2048x2500 12-bit
radiographs it is smaller than 16-bit PNG and decodes in ten lines of JavaScript.

Source: DICOM PS3.3 C.11.1 and C.11.2. A payload value is an unsigned 16-bit number; its modality value is
``value * slope + intercept``. Because there are at most 65,536 of them, the whole pipeline is one table.
"""

from __future__ import annotations

import base64
import gzip
import io
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import imagecodecs
import numpy as np
import zstandard
from numpy.typing import NDArray
from PIL import Image

from annotation.imaging.kernels.attributes import Attributes, LookupTable, Window

if TYPE_CHECKING:
    from annotation.imaging.kernels.image_files import SourceImage

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


PREVIEW_SIDE = 1024
PREVIEW_QUALITY = 80
THUMB_SIDE = 144  # twice what a list shows, for dense screens
ZSTD_LEVEL = 3
GZIP_LEVEL = 6
ROWS_AT_ONCE = 64  # what is made of so many stays in the cache of the processor

Payload = NDArray[np.uint16]


@dataclass(frozen=True)
class Display:
    """How the browser must show a payload. Windows, presets and the VOI table's input are in modality units."""

    width: int
    height: int
    bits: int
    slope: float
    intercept: float
    invert: bool
    windows: tuple[Window, ...]
    function: str
    voi_luts: tuple[LookupTable, ...]  # before the windows
    padding: tuple[int, int] | None  # payload values
    spacing: tuple[float, float] | None  # mm between rows, between columns
    spacing_calibrated: bool
    aspect: float
    presets: dict[str, tuple[float, float]]
    eight_bit: bool
    scanner_window: bool

    def as_json(self) -> dict[str, Any]:
        """Plain JSON: every number finite, the VOI table as base64 of little-endian 16-bit numbers."""
        label = "scanner" if self.scanner_window else "full"
        return {
            "width": self.width,
            "height": self.height,
            "bits": self.bits,
            "slope": self.slope,
            "intercept": self.intercept,
            "invert": self.invert,
            "windows": [
                {
                    "center": window.center,
                    "width": window.width,
                    "function": self.function,
                    "label": label if not index else f"{label} {index + 1}",
                }
                for index, window in enumerate(self.windows)
            ],
            "voi_luts": [_table_as_json(table) for table in self.voi_luts],
            "padding": list(self.padding) if self.padding else None,
            "spacing": list(self.spacing) if self.spacing else None,
            "spacing_calibrated": self.spacing_calibrated,
            "aspect": self.aspect,
            "presets": {name: list(bounds) for name, bounds in self.presets.items()},
            "eight_bit": self.eight_bit,
            "scanner_window": self.scanner_window,
        }

    def table(self) -> NDArray[np.uint8]:
        """Screen grey of every payload value in the default window."""
        return grey_table(
            bits=self.bits,
            slope=self.slope,
            intercept=self.intercept,
            invert=self.invert,
            window=self.windows[0] if self.windows else None,
            function=self.function,
            voi_lut=self.voi_luts[0] if self.voi_luts else None,
            padding=self.padding,
        )


def table_of(display: Mapping[str, Any]) -> NDArray[np.uint8]:
    """``Display.table`` of a display that was stored with ``as_json``."""
    windows, luts, padding = display["windows"], display["voi_luts"], display["padding"]
    first = windows[0] if windows else None
    return grey_table(
        bits=display["bits"],
        slope=display["slope"],
        intercept=display["intercept"],
        invert=display["invert"],
        window=Window(first["center"], first["width"]) if first else None,
        function=first["function"] if first else "LINEAR",
        voi_lut=_table_from_json(luts[0]) if luts else None,
        padding=(padding[0], padding[1]) if padding else None,
    )


def prepare(source: SourceImage) -> tuple[Payload, Display]:
    """Unsigned 16-bit payload, shape (rows, columns), and how to show it.

    Signed pixels are shifted up and the shift goes into the intercept. A modality LUT is applied to the pixels, so
    that slope 1 and intercept 0 remain. Without a usable window of the scanner, 8-bit images are shown as they are
    and deeper ones by their percentiles.
    """
    attributes = source.attributes
    payload, bits, slope, intercept, padding = _payload(source)
    full = full_range(histogram(payload, bits, padding), slope=slope, intercept=intercept)
    windows = attributes.windows
    function = attributes.voi_function
    if not windows and not attributes.voi_luts:
        function = "LINEAR"
        as_it_is = bits <= 8 and (slope, intercept) == (1.0, 0.0)
        windows = (Window(2.0 ** (bits - 1), 2.0**bits) if as_it_is else window_of(full),)
    rows, columns = payload.shape
    display = Display(
        width=columns,
        height=rows,
        bits=bits,
        slope=slope,
        intercept=intercept,
        invert=attributes.is_inverted,
        windows=windows,
        function=function,
        voi_luts=attributes.voi_luts,
        padding=padding,
        spacing=attributes.spacing,
        spacing_calibrated=attributes.spacing_calibrated,
        aspect=attributes.aspect,
        presets={"full": full},
        eight_bit=bits <= 8,
        scanner_window=bool(attributes.windows or attributes.voi_luts),
    )
    return payload, display


def as_8bit(payload: Payload, display: Display) -> NDArray[np.uint8]:
    """The image as it first appears on screen: default window, bones white, padding black; shape (rows, columns)."""
    return through_table(payload, display.table())


def through_table(payload: Payload, table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """``table[payload]``, some rows at a time: numpy makes an index of eight bytes of every value."""
    greys = np.empty(payload.shape, np.uint8)
    for start in range(0, len(payload), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        greys[rows] = table.take(payload[rows])
    return greys


def dsh(payload: Payload) -> bytearray:
    """Left difference (first column: difference to the row above), zigzag, low bytes, then high bytes.

    New memory costs more than the arithmetic, so that most of it is done in place.
    """
    difference = imagecodecs.delta_encode(payload, axis=1)
    difference[1:, 0] -= payload[:-1, 0]
    signed = difference.view(np.int16)
    for start in range(0, len(signed), ROWS_AT_ONCE):
        part = signed[start : start + ROWS_AT_ONCE]
        sign = part >> 15
        part <<= 1
        part ^= sign
    planes = bytearray(difference.nbytes)
    np.frombuffer(planes, np.uint8).reshape(2, -1)[:] = difference.view(np.uint8).reshape(-1, 2).T
    return planes


def undsh(planes: bytes | bytearray, width: int, height: int) -> Payload:
    """The payload of its dsh bytes, shape (height, width). Raises ValueError when the length does not fit."""
    low, high = np.frombuffer(planes, np.uint8).reshape(2, height, width)
    values = high.astype(np.uint16)
    values <<= 8
    values |= low
    sign = 0 - (values & 1)
    values >>= 1
    values ^= sign
    values[:, 0] = np.cumsum(values[:, 0], dtype=np.uint16)
    payload: Payload = imagecodecs.delta_decode(values, axis=1)
    return payload


def full_depth(payload: Payload) -> bytes:
    """The lossless rendition: dsh, zstd."""
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(dsh(payload))


def payload_of(rendition: bytes, width: int, height: int) -> Payload:
    """The payload of a stored full-depth rendition."""
    planes = zstandard.ZstdDecompressor().decompress(rendition, max_output_size=2 * width * height)
    return undsh(planes, width, height)


def png_of(payload: Payload, *, bits: int, is_inverted: bool) -> bytes:
    """PNG without loss, bones white: 8 bit where the payload has no more, else 16 bit with the values as they are."""
    values = np.uint16((1 << bits) - 1) - payload if is_inverted else payload
    return grey_png(values.astype(np.uint8) if bits <= 8 else values)


def grey_png(greys: NDArray[np.uint8] | NDArray[np.uint16]) -> bytes:
    """PNG of grey values without any other data; every row is kept as its difference to the row above.

    Written here because libpng takes two to three times as long for the same rows, and libdeflate, at this level, less
    than zlib.
    """
    (rows, columns), size = greys.shape, greys.itemsize
    plain = greys.astype(f">u{size}", copy=False).view(np.uint8).reshape(rows, columns * size)
    filtered = bytearray(rows * (columns * size + 1))
    lines = np.frombuffer(filtered, np.uint8).reshape(rows, columns * size + 1)
    lines[:, 0] = 2  # the filter "up"
    lines[0, 1:] = plain[0]
    np.subtract(plain[1:], plain[:-1], out=lines[1:, 1:])
    head = struct.pack(">IIBBBBB", columns, rows, 8 * size, 0, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + imagecodecs.deflate_encode(filtered, 1), b"IEND")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


def gzip_of(rendition: bytes, width: int, height: int) -> bytes:
    """The same dsh bytes for a browser without zstd. The same input gives the same bytes."""
    planes = zstandard.ZstdDecompressor().decompress(rendition, max_output_size=2 * width * height)
    return gzip.compress(planes, GZIP_LEVEL, mtime=0)


def preview(greys: NDArray[np.uint8]) -> tuple[bytes, int, int]:
    """WebP of an 8-bit image, at most 1024 pixels on its longer side; with its width and height."""
    rows, columns = greys.shape
    picture = Image.fromarray(greys)
    scale = PREVIEW_SIDE / max(rows, columns)
    if scale < 1:
        size = max(1, round(columns * scale)), max(1, round(rows * scale))
        picture = picture.resize(size, Image.Resampling.BILINEAR, reducing_gap=1.0)
    stream = io.BytesIO()
    picture.save(stream, "WEBP", quality=PREVIEW_QUALITY, method=2)
    return stream.getvalue(), picture.width, picture.height


def thumbnail_of(preview: bytes) -> tuple[bytes, int, int]:
    """WebP of a preview, at most 144 pixels on its longer side; with its width and height."""
    with Image.open(io.BytesIO(preview)) as picture:
        small = picture.convert("L")
    small.thumbnail((THUMB_SIDE, THUMB_SIDE), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=PREVIEW_QUALITY, method=4)
    return stream.getvalue(), small.width, small.height


def _payload(source: SourceImage) -> tuple[Payload, int, float, float, tuple[int, int] | None]:
    """Payload, its bits, slope, intercept, and padding in payload values."""
    attributes, pixels = source.attributes, source.pixels
    if attributes.modality_lut:
        return _through_modality_lut(pixels, attributes, attributes.modality_lut)
    bits, padding = attributes.bits_stored, attributes.padding
    shift = 1 << (bits - 1) if pixels.dtype.kind == "i" else 0
    payload = (pixels.astype(np.int32) + shift).astype(np.uint16) if shift else pixels.astype(np.uint16, copy=False)
    if padding:
        low, high = padding[0] + shift, padding[1] + shift
        padding = (max(low, 0), min(high, 65535)) if high >= 0 and low < 1 << bits else None
    intercept = attributes.intercept - attributes.slope * shift
    return np.ascontiguousarray(payload), bits, attributes.slope, intercept, padding


def _through_modality_lut(
    pixels: NDArray[Any], attributes: Attributes, lut: LookupTable
) -> tuple[Payload, int, float, float, tuple[int, int] | None]:
    """Modality values as payload. Padding gets a value of its own above the table's.

    Where the table uses all of 16 bits, that is the highest one, and the two highest modality values become one.
    """
    index = np.clip(pixels.astype(np.int32) - lut.first, 0, len(lut.data) - 1)
    payload: Payload = lut.data[index]
    if not attributes.padding:
        return payload, lut.bits, 1.0, 0.0, None
    low, high = attributes.padding
    marker = min(1 << lut.bits, 65535)
    payload = np.minimum(payload, np.uint16(marker - 1))
    payload[(pixels >= low) & (pixels <= high)] = marker
    return payload, min(lut.bits + 1, 16), 1.0, 0.0, (marker, marker)


def _table_as_json(table: LookupTable) -> dict[str, Any]:
    data = base64.b64encode(table.data.astype("<u2").tobytes()).decode("ascii")
    return {"first": table.first, "bits": table.bits, "data": data}


def _table_from_json(stored: Mapping[str, Any]) -> LookupTable:
    data = np.frombuffer(base64.b64decode(stored["data"]), "<u2")
    return LookupTable(stored["first"], stored["bits"], data)
