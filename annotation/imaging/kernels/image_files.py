"""From the bytes of one file to grey pixels and the few attributes that may be kept. The only entry.

Every check that needs no pixels comes before the first allocation for pixels. What is refused, is refused with a code
and a fixed sentence (annotation.imaging.kernels.rejections).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from annotation.imaging.kernels.attributes import (
    Attributes,
    Identifiers,
    code,
    number,
    read_attributes,
    read_identifiers,
)
from annotation.imaging.kernels.decoding import SUPPORTED, Geometry, Pixels, check_geometry, decode_frame, split_frames
from annotation.imaging.kernels.elements import DicomFile, parse_dicom
from annotation.imaging.kernels.pictures import PNG_SIGNATURE, read_jpeg, read_png
from annotation.imaging.kernels.rejections import ImageRefused

MAX_BYTES = 160 * 1024 * 1024  # 40 million pixels of 16 bit, twice
SMALL_SIDE = 64

CR = "1.2.840.10008.5.1.4.1.1.1"
DX_PRESENTATION = "1.2.840.10008.5.1.4.1.1.1.1"
DX_PROCESSING = "1.2.840.10008.5.1.4.1.1.1.1.1"
SECONDARY_CAPTURES = frozenset(
    {
        "1.2.840.10008.5.1.4.1.1.7",
        "1.2.840.10008.5.1.4.1.1.7.2",
        "1.2.840.10008.5.1.4.1.1.7.3",
    }
)
RADIOGRAPHS = frozenset({CR, DX_PRESENTATION, DX_PROCESSING})


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
    warnings: tuple[str, ...] = ()  # codes of annotation.imaging.kernels.rejections.WARNINGS


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
    attributes, warnings = read_attributes(file, bits_stored=geometry.bits_stored, signed=geometry.signed)
    pixels = read_frames(file, geometry)[0]
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
    sop_class, modality = code(file, 0x00080016), code(file, 0x00080060)
    if sop_class in SECONDARY_CAPTURES:
        is_taken = modality in ("CR", "DX", "OT", "SC")
    else:
        is_taken = modality in ("CR", "DX") and (not sop_class or sop_class in RADIOGRAPHS)
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
    if number(file, 0x00280002) not in (1, None):
        raise ImageRefused("samples")
    if code(file, 0x00280004) not in ("MONOCHROME1", "MONOCHROME2"):
        raise ImageRefused("photometric")
    rows, columns = number(file, 0x00280010), number(file, 0x00280011)
    allocated, stored = number(file, 0x00280100), number(file, 0x00280101)
    if rows is None or columns is None:
        raise ImageRefused("size")
    if allocated is None or stored is None:
        raise ImageRefused("bits")
    geometry = Geometry(rows, columns, allocated, stored, signed=number(file, 0x00280103) == 1)
    check_geometry(geometry)
    if number(file, 0x00280102) not in (stored - 1, None):
        raise ImageRefused("bits")
    return geometry


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
