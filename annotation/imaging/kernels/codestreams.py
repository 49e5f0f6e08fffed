"""What a compressed stream says about itself before any decoder sees it, and why a file does not come in. Pure.

Sources: ITU-T T.81 (JPEG), T.87 (JPEG-LS), T.800 (JPEG 2000).

The sentence is fixed text. Nothing of the file is ever put into it, so that no refusal can carry a
name or a number into a page, a log or an audit row.
"""

from __future__ import annotations

import re
import struct

from msgspec import Struct, field

from annotation.refusals import Refused


def _(sentence: str) -> str:
    """Mark a sentence for translation; the act that shows it translates."""
    return sentence


SENTENCES: dict[str, str] = {
    "empty": _("The file is empty."),
    "too_large": _("The file is larger than this site accepts."),
    "format": _("This is not a DICOM, PNG or JPEG file."),
    "malformed": _("The file is not built as its format asks; it is damaged or was changed."),
    "truncated": _("The file ends too early; a part of the image is missing."),
    "too_deep": _("The file nests sequences deeper than 32 levels."),
    "too_many_elements": _("The file holds more elements than a radiograph can need."),
    "duplicate_element": _("The file holds the same element twice, so that its content is ambiguous."),
    "inflates_too_much": _("The compressed content grows far beyond the size of a radiograph."),
    "no_transfer_syntax": _("The file does not say how it is encoded (Transfer Syntax UID is missing)."),
    "transfer_syntax": _("The transfer syntax of this file is not one that can be read here."),
    "big_endian": _(
        "The transfer syntax of this file is Explicit VR Big Endian, which was retired and is not read here."
    ),
    "jpeg_xl": _("The transfer syntax of this file is JPEG XL, which is not read here."),
    "not_an_image": _("The DICOM object holds no image."),
    "modality": _("Only CR, DX and secondary captures are taken; this object is of another kind."),
    "uid": _("An identifier (UID) is missing or is not a valid UID."),
    "frames": _("The object holds several frames; only single images are taken."),
    "samples": _("The image is in colour; a DICOM image must be grey, also where it is kept as RGB, YBR or palette."),
    "photometric": _(
        "Photometric Interpretation is missing, or is none of MONOCHROME1, MONOCHROME2, RGB, YBR and PALETTE COLOR."
    ),
    "size": _("The image has no rows, no columns, or more than 40 million pixels."),
    "bits": _("The stored bits per pixel are not those of a grey image of 8 to 16 bits."),
    "signed": _("The file says that its pixels are signed, and they are not."),
    "high_bit": _("High Bit says that the values lie elsewhere in the pixels than they do."),
    "pixel_length": _("The pixel data does not have the length that rows, columns and bits ask for."),
    "codestream": _("The compressed image inside does not agree with what the file says about it."),
    "undecodable": _("The compressed image cannot be decoded completely."),
    "lookup_table": _("A look-up table of the file is damaged or does not fit its pixels."),
    "transparent": _("The image has transparent parts; a radiograph has none."),
    "colour_space": _("The colour space of this image is not grey or RGB."),
    "same_uid": _("An image with the same SOP Instance UID and other pixels came in before."),
    "same_path": _("Another image came in from this path before; an image is never replaced."),
    "not_given": _("The PACS has this image in its list and does not give it."),
    "link": _("This is a link; only real files are read."),
    "unreadable": _("The file cannot be read."),
    "archive": _("The ZIP file is damaged."),
    "archive_encrypted": _("The ZIP file is encrypted."),
    "archive_path": _("The ZIP file holds a path that leads out of it, or a link."),
    "archive_duplicate": _("The ZIP file holds two members of the same name."),
    "archive_size": _("The ZIP file holds too many files, or grows far beyond the size of radiographs."),
    "archive_member": _("A member of the ZIP file is refused, so nothing of the ZIP file was stored."),
    "archive_empty": _("The ZIP file holds no image."),
    "decoder_died": _("Decoding this file took more memory than is allowed, or ended unexpectedly."),
    "timeout": _("Decoding this file took longer than is allowed."),
}


WARNINGS: dict[str, str] = {
    "no_header": _("The file has no DICOM header; the usual encoding was assumed."),
    "body_part": _("The body part given is not the chest."),
    "for_processing": _("The image is raw detector data, not meant for viewing."),
    "window": _("The window of the file cannot be used; a window was made from the pixels."),
    "rescale": _("The rescale values of the file cannot be used and were left out."),
    "voi_lut": _("The VOI look-up table of the file cannot be used and was left out."),
    "voi_lut_bits": _(
        "The VOI look-up table of the file holds other bits than it names; it was scaled by what it holds."
    ),
    "bits_stored": _("The pixels need more bits than the file says (Bits Stored); they were read by what they need."),
    "padding": _("Bytes behind the pixels were left out."),
    "view": _("The file states a view that is not understood."),
    "lossy": _("The image was compressed with loss before it came in."),
    "colour": _("The image was in colour and is shown in grey."),
    "orientation": _("The patient orientation in the file does not fit its view; nothing was turned."),
    "turned": _("The image was turned as its camera note asks."),
    "small": _("The image is too small to be judged."),
}


class ImageRefused(Refused):
    """A file that stays outside. `code` is one of SENTENCES."""

    def __init__(self, code: str) -> None:
        super().__init__(code, SENTENCES[code], status=422)


MAX_TILES = 4096
_SOF = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xF7})  # baseline, extended, progressive, lossless, JPEG-LS
_UNSUPPORTED_SOF = frozenset({0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_JPEG_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])")
_JPEG_LS_MARKER = re.compile(rb"\xff([\x80-\xff])")  # JPEG-LS stuffs a bit, so that the next byte stays below 0x80
_SIZ = b"\xff\x4f\xff\x51"


class StreamHeader(Struct, frozen=True):
    """Frame of a codestream. `n_bytes` counts up to and with its end marker; what follows is not part of it."""

    process: int  # marker of the frame header, 0xFF4F for JPEG 2000
    rows: int
    columns: int
    precision: int
    components: int
    n_bytes: int
    exif: bytes = b""
    adobe_transform: int | None = None
    scans: tuple[tuple[tuple[int, ...], int, int, int, int], ...] = field(default=())

    @property
    def is_progressive(self) -> bool:
        return self.process == 0xC2


def read_jpeg_header(data: bytes) -> StreamHeader:
    """Walk the markers of a JPEG or JPEG-LS stream to its end marker.

    Raises ImageRefused: truncated without an end marker, codestream or malformed when the markers make no sense.
    """
    if data[:2] != b"\xff\xd8":
        raise ImageRefused("codestream")
    position = 2
    frame: tuple[int, int, int, int, int] | None = None
    exif, adobe = b"", None
    scans: list[tuple[tuple[int, ...], int, int, int, int]] = []
    while True:
        marker, position = _next_marker(data, position)
        if marker == 0xD9:
            break
        body, position = _segment(data, position)
        if marker in _UNSUPPORTED_SOF or (marker in _SOF and frame):
            raise ImageRefused("codestream")
        if marker in _SOF:
            frame = (marker, *_frame(body))
        elif marker == 0xE1 and body[:6] == b"Exif\0\0" and not exif:
            exif = body[6:]
        elif marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
            adobe = body[11]
        elif marker == 0xDA:
            if frame is None:
                raise ImageRefused("codestream")
            scans.append(_scan(body))
            position = _end_of_entropy_data(data, position, is_jpeg_ls=frame[0] == 0xF7)
    if frame is None or not scans:
        raise ImageRefused("codestream")
    return StreamHeader(*frame, n_bytes=position, exif=exif, adobe_transform=adobe, scans=tuple(scans))


def is_completely_scanned(header: StreamHeader) -> bool:
    """Whether the scans of a JPEG bring every component, and of a progressive one every coefficient to its last bit."""
    open_bits: dict[tuple[int, int], int] = {}
    for components, first, last, _high, low in header.scans:
        for component in components:
            for coefficient in range(first, min(last, 63) + 1):
                open_bits[component, coefficient] = low
    seen = {component for component, _coefficient in open_bits}
    if len(seen) != header.components:
        return False
    if not header.is_progressive:
        return True
    return len(open_bits) == 64 * header.components and not any(open_bits.values())


def read_jpeg2000_header(data: bytes) -> StreamHeader:
    """Size and tiles of a JPEG 2000 codestream, also inside a JP2 box. Refuses a tile grid that only burns time."""
    start = data.find(_SIZ, 0, 4096)
    if start < 0 or len(data) < start + 43:
        raise ImageRefused("codestream")
    width, height, x0, y0, tile_width, tile_height, tile_x0, tile_y0, components = struct.unpack_from(
        ">8IH", data, start + 8
    )
    if not (tile_width and tile_height and components) or width <= x0 or height <= y0:
        raise ImageRefused("codestream")
    across, down = -(-(width - tile_x0) // tile_width), -(-(height - tile_y0) // tile_height)
    if across * down > MAX_TILES:
        raise ImageRefused("codestream")
    if not data.rstrip(b"\0").endswith(b"\xff\xd9"):
        raise ImageRefused("truncated")
    precision = (data[start + 42] & 0x7F) + 1
    return StreamHeader(0xFF4F, height - y0, width - x0, precision, components, len(data))


def _next_marker(data: bytes, position: int) -> tuple[int, int]:
    if position >= len(data):
        raise ImageRefused("truncated")
    if data[position] != 0xFF:
        raise ImageRefused("codestream")
    while position < len(data) and data[position] == 0xFF:
        position += 1
    if position >= len(data):
        raise ImageRefused("truncated")
    return data[position], position + 1


def _segment(data: bytes, position: int) -> tuple[bytes, int]:
    if position + 2 > len(data):
        raise ImageRefused("truncated")
    length = struct.unpack_from(">H", data, position)[0]
    if length < 2:
        raise ImageRefused("codestream")
    if position + length > len(data):
        raise ImageRefused("truncated")
    return data[position + 2 : position + length], position + length


def _frame(body: bytes) -> tuple[int, int, int, int]:
    """Rows, columns, precision, components of a frame header."""
    if len(body) < 6:
        raise ImageRefused("codestream")
    precision, rows, columns, components = struct.unpack_from(">BHHB", body)
    if not (rows and columns and components):
        raise ImageRefused("codestream")
    return rows, columns, precision, components


def _scan(body: bytes) -> tuple[tuple[int, ...], int, int, int, int]:
    """Component ids, first and last coefficient, high and low bit of a scan header."""
    n_components = body[0] if body else 0
    if not n_components or len(body) < 4 + 2 * n_components:
        raise ImageRefused("codestream")
    first, last, bits = body[1 + 2 * n_components : 4 + 2 * n_components]
    return tuple(body[1 : 1 + 2 * n_components : 2]), first, last, bits >> 4, bits & 0x0F


def _end_of_entropy_data(data: bytes, position: int, *, is_jpeg_ls: bool) -> int:
    found = (_JPEG_LS_MARKER if is_jpeg_ls else _JPEG_MARKER).search(data, position)
    if found is None:
        raise ImageRefused("truncated")
    return found.start()
