"""From the bytes of one file, DICOM, PNG or JPEG, to grey pixels and the few attributes that may be kept. Pure.

Every check that needs no pixels comes before the first allocation for pixels. What is refused, is refused with a code
and a fixed sentence (annotation.imaging.kernels.rejections).

Text, EXIF, colour profiles, animation and trailing bytes never reach a decoder. Sources: PNG (Third Edition),
ITU-T T.81, Exif 2.3.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from annotation.imaging.kernels.attributes import (
    DX_PROCESSING,
    MODALITY_OF_CLASS,
    Attributes,
    Identifiers,
    code,
    colour_table,
    modality_of,
    number,
    read_attributes,
    read_identifiers,
    stored_window,
)
from annotation.imaging.kernels.codestreams import ImageRefused, read_jpeg_header
from annotation.imaging.kernels.decoding import (
    MAX_PIXELS,
    SUPPORTED,
    Geometry,
    Pixels,
    bits_of,
    check_geometry,
    decode_frame,
    decode_jpeg,
    split_frames,
)
from annotation.imaging.kernels.elements import DicomFile, parse_dicom

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_BIT_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}  # by colour type
_ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
_INFLATED_AT_ONCE = 1 << 20
_KEPT_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")

Grey = NDArray[np.uint8] | NDArray[np.uint16]


def read_png(data: bytes) -> tuple[Grey, list[str]]:
    """Grey values of a PNG, 8 bit or, when it is a 16-bit grey file, 16 bit; shape (rows, columns)."""
    clean, is_deep_grey = _clean_png(data)
    try:
        with Image.open(io.BytesIO(clean), formats=["PNG"]) as picture:
            picture.load()
            return _grey(picture, is_deep_grey)
    except (ImageRefused, MemoryError):
        raise
    except Exception:
        raise ImageRefused("undecodable") from None


def read_jpeg(data: bytes) -> tuple[Grey, list[str]]:
    """Grey values of a baseline, extended or progressive JPEG, turned as its EXIF note asks."""
    header = read_jpeg_header(data)
    if not 0 < header.rows * header.columns <= MAX_PIXELS:
        raise ImageRefused("size")
    if header.precision != 8:
        raise ImageRefused("bits")
    pixels = decode_jpeg(data, header)
    if pixels.shape != (header.rows, header.columns) or pixels.dtype != np.uint8:
        raise ImageRefused("codestream")
    orientation = exif_orientation(header.exif)
    return turn(pixels, orientation), ["turned"] if orientation != 1 else []


def turn(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Apply an EXIF orientation 1 to 8: mirror images are mirrored back, so that left stays left."""
    if orientation >= 5:
        pixels = pixels.T
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def exif_orientation(exif: bytes) -> int:
    """The orientation in the first directory of an EXIF block; 1 when there is none or it makes no sense."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None or len(exif) < 10:
        return 1
    offset = struct.unpack_from(order + "I", exif, 4)[0]
    if offset + 2 > len(exif):
        return 1
    n_entries = struct.unpack_from(order + "H", exif, offset)[0]
    for start in range(offset + 2, min(offset + 2 + 12 * n_entries, len(exif) - 11), 12):
        tag, kind = struct.unpack_from(order + "HH", exif, start)
        if tag == 0x0112 and kind == 3:
            value = int(struct.unpack_from(order + "H", exif, start + 8)[0])
            return value if 1 <= value <= 8 else 1
    return 1


def _clean_png(data: bytes) -> tuple[bytes, bool]:
    """A PNG of the same image without ancillary chunks and trailing bytes, and whether it is 16-bit grey."""
    position, kept = len(PNG_SIGNATURE), [PNG_SIGNATURE]
    names: list[bytes] = []
    is_deep_grey = False
    while not names or names[-1] != b"IEND":
        if position + 12 > len(data):
            raise ImageRefused("truncated")
        length, name = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        if end > len(data):
            raise ImageRefused("truncated")
        if not names:
            is_deep_grey = _check_ihdr(data[position + 8 : end - 4] if name == b"IHDR" else b"")
        if name in _KEPT_CHUNKS:
            if zlib.crc32(data[position + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
                raise ImageRefused("malformed")
            kept.append(data[position:end])
            names.append(name)
        elif not name[0] & 0x20:
            raise ImageRefused("malformed")  # a critical chunk that nobody knows
        position = end
    if b"IDAT" not in names or names.count(b"IHDR") != 1 or names.count(b"PLTE") > 1:
        raise ImageRefused("malformed")
    if data[25] == 3 and b"PLTE" not in names:
        raise ImageRefused("malformed")
    _check_image_data([chunk[8:-4] for chunk in kept if chunk[4:8] == b"IDAT"], data[16:29])
    return b"".join(kept), is_deep_grey


def _check_image_data(chunks: list[bytes], ihdr: bytes) -> None:
    """Refuse a compressed stream that ends before the last row, or goes on: Pillow would show black rows."""
    left = _n_filtered_bytes(ihdr)
    stream = zlib.decompressobj()
    for chunk in chunks:
        waiting = chunk
        while waiting and not stream.eof:
            try:
                left -= len(stream.decompress(waiting, _INFLATED_AT_ONCE))
            except zlib.error:
                raise ImageRefused("undecodable") from None
            if left < 0:
                raise ImageRefused("malformed")
            waiting = stream.unconsumed_tail
    if left or not stream.eof:
        raise ImageRefused("truncated")


def _n_filtered_bytes(ihdr: bytes) -> int:
    """Inflated size of a PNG's image data: one filter byte and the packed samples of each row of each pass."""
    width, height, depth, colour, _compression, _filtering, interlace = struct.unpack(">IIBBBBB", ihdr)
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    n_bytes = 0
    for y, x, down, across in _ADAM7 if interlace else ((0, 0, 1, 1),):
        rows, columns = -(-(height - y) // down), -(-(width - x) // across)
        if rows > 0 and columns > 0:
            n_bytes += rows * (1 + -(-columns * bits // 8))
    return n_bytes


def _check_ihdr(body: bytes) -> bool:
    if len(body) != 13:
        raise ImageRefused("malformed")
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    if not 0 < width * height <= MAX_PIXELS:
        raise ImageRefused("size")
    if depth not in _BIT_DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise ImageRefused("malformed")
    return bool(depth == 16 and colour == 0)


def _grey(picture: Image.Image, is_deep_grey: bool) -> tuple[Grey, list[str]]:
    if is_deep_grey:
        return np.asarray(picture, dtype=np.uint16), []
    if picture.mode in ("LA", "RGBA", "PA"):
        alpha = np.asarray(picture.getchannel("A"))
        if alpha.min() < 255:
            raise ImageRefused("transparent")
        picture = picture.convert("L" if picture.mode == "LA" else "RGB")
    warnings: list[str] = []
    if picture.mode in ("P", "RGB"):
        colours = np.asarray(picture.convert("RGB")).astype(np.int16)
        if np.abs(colours - colours[..., :1]).max() > 8:
            warnings.append("colour")
    return np.asarray(picture.convert("L"), dtype=np.uint8), warnings


MAX_BYTES = 160 * 1024 * 1024  # 40 million pixels of 16 bit, twice
SMALL_SIDE = 64

SECONDARY_CAPTURES = frozenset(
    {
        "1.2.840.10008.5.1.4.1.1.7",
        "1.2.840.10008.5.1.4.1.1.7.2",
        "1.2.840.10008.5.1.4.1.1.7.3",
    }
)
RADIOGRAPHS = frozenset(MODALITY_OF_CLASS)


PALETTE = "PALETTE COLOR"
COLOURS = frozenset({"RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT", PALETTE})  # taken where they show grey


class SourceKind(StrEnum):
    DICOM = "dicom"
    PNG = "png"
    JPEG = "jpeg"


@dataclass(frozen=True)
class SourceImage:
    """One decoded grey image, shape (rows, columns), with what may be kept of its file."""

    kind: SourceKind
    pixels: Pixels
    attributes: Attributes
    identifiers: Identifiers = field(default_factory=Identifiers)
    warnings: tuple[str, ...] = ()  # codes of annotation.imaging.kernels.codestreams.WARNINGS


def read_image(data: bytes) -> SourceImage:
    """Read a DICOM, PNG or JPEG file; its name and its declared type play no part. Raises ImageRefused."""
    if not data:
        raise ImageRefused("empty")
    if len(data) > MAX_BYTES:
        raise ImageRefused("too_large")
    if data.startswith(PNG_SIGNATURE):
        return _read_picture(SourceKind.PNG, data)
    if data.startswith(b"\xff\xd8\xff"):
        return _read_picture(SourceKind.JPEG, data)
    return read_dicom(data)


def read_dicom(data: bytes) -> SourceImage:
    """Read a CR, DX or secondary capture of one grey frame."""
    file = parse_dicom(data)
    check_kind(file)
    geometry = read_geometry(file)
    identifiers = read_identifiers(file)
    pixels = read_frames(file, geometry)[0]
    bits_stored = max(geometry.bits_stored, bits_of(pixels))
    attributes, warnings = read_attributes(file, bits_stored=bits_stored, signed=geometry.signed)
    if bits_stored > geometry.bits_stored:
        warnings.append("bits_stored")
        if geometry.window and np.mean((pixels < geometry.window[0]) | (pixels > geometry.window[1])) > 0.5:
            warnings.append("window")  # made for the bits that were named
            attributes = replace(attributes, windows=())
    if file.native is not None and len(file.native) > geometry.n_bytes + geometry.n_bytes % 2:
        warnings.append("padding")
    if code(file, 0x00280004) == PALETTE:
        table = colour_table(file)
        pixels = table.data[np.clip(pixels.astype(np.int32) - table.first, 0, len(table.data) - 1)]
        attributes = replace(attributes, bits_stored=table.bits)
    if code(file, 0x00280004) in COLOURS:  # windows and tables are for grey
        attributes = replace(
            attributes, windows=(), voi_luts=(), modality_lut=None, slope=1.0, intercept=0.0, padding=None
        )
    if not file.has_header:
        warnings.append("no_header")
    if attributes.is_chest is False:
        warnings.append("body_part")
    if code(file, 0x00080016) == DX_PROCESSING:
        warnings.append("for_processing")
    if attributes.lossy:
        warnings.append("lossy")
    return SourceImage(SourceKind.DICOM, pixels, attributes, identifiers, _with_size(pixels, warnings))


def check_kind(file: DicomFile) -> None:
    """Only CR, DX and secondary captures, one frame; the SOP class and the modality must not disagree."""
    if file.transfer_syntax not in SUPPORTED:
        raise ImageRefused("transfer_syntax")
    sop_class, modality = code(file, 0x00080016), modality_of(file)
    if sop_class in SECONDARY_CAPTURES:
        is_taken = modality in ("CR", "DX", "OT", "SC", "RG")
    else:
        is_taken = modality in ("CR", "DX", "RG") and (not sop_class or sop_class in RADIOGRAPHS)
    if not is_taken:
        raise ImageRefused("modality")
    if file.native is None and file.fragments is None:
        raise ImageRefused("not_an_image")
    if n_frames(file) != 1:
        raise ImageRefused("frames")


def n_frames(file: DicomFile) -> int:
    """Number of Frames (0028,0008); 1 when it is not given, 0 when it makes no sense."""
    text = code(file, 0x00280008)
    return (int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0) if text else 1


def read_geometry(file: DicomFile) -> Geometry:
    """Size and depth of a grey image. Raises ImageRefused: samples, photometric, size, bits."""
    samples, kind = number(file, 0x00280002) or 1, code(file, 0x00280004)
    if kind not in COLOURS | {"MONOCHROME1", "MONOCHROME2"}:
        raise ImageRefused("photometric")
    if samples != (3 if kind in COLOURS - {PALETTE} else 1) or (file.native is not None and kind == "YBR_FULL_422"):
        raise ImageRefused("samples")
    rows, columns = number(file, 0x00280010), number(file, 0x00280011)
    allocated, stored = number(file, 0x00280100), number(file, 0x00280101)
    if rows is None or columns is None:
        raise ImageRefused("size")
    if allocated is None or stored is None:
        raise ImageRefused("bits")
    signed, high_bit = number(file, 0x00280103) == 1, number(file, 0x00280102)
    geometry = Geometry(
        rows,
        columns,
        allocated,
        stored,
        signed,
        high_bit,
        has_overlay=_has_overlay(file),
        samples=samples,
        is_planar=number(file, 0x00280006) == 1,
        window=stored_window(file),
    )
    check_geometry(geometry)
    if high_bit is not None and high_bit >= allocated:
        raise ImageRefused("high_bit")
    return geometry


def _has_overlay(file: DicomFile) -> bool:
    """Whether an overlay lies in the pixels: then it has more than one bit allocated (PS3.5 8.1.2, retired)."""
    return any((number(file, group << 16 | 0x0100) or 1) > 1 for group in range(0x6000, 0x6020, 2))


def read_frames(file: DicomFile, geometry: Geometry) -> list[Pixels]:
    """Every frame of the pixel data, decoded completely. Raises ImageRefused."""
    frames = n_frames(file)
    if file.fragments is not None:
        pieces = split_frames(file.fragments, frames)
    elif file.native is not None and frames > 1:
        if len(file.native) < frames * geometry.n_bytes:
            raise ImageRefused("truncated")
        size = geometry.n_bytes
        pieces = [file.native[index * size : (index + 1) * size] for index in range(frames)]
    elif file.native is not None:
        pieces = [file.native]
    else:
        raise ImageRefused("not_an_image")
    return [decode_frame(piece, file.transfer_syntax, geometry) for piece in pieces]


def _read_picture(kind: SourceKind, data: bytes) -> SourceImage:
    pixels, warnings = read_png(data) if kind is SourceKind.PNG else read_jpeg(data)
    attributes = Attributes(bits_stored=8 * pixels.dtype.itemsize, lossy=kind is SourceKind.JPEG)
    return SourceImage(kind, pixels, attributes, warnings=_with_size(pixels, warnings))


def _with_size(pixels: Pixels, warnings: list[str]) -> tuple[str, ...]:
    return tuple([*warnings, "small"] if min(pixels.shape) < SMALL_SIDE else warnings)
