"""The structure of a DICOM file, walked once and strictly, before anything is allocated for its pixels.

Source: DICOM PS3.5 (chapter 7, annex A) and PS3.10 (chapter 7). Every length is checked against what is there, depth
and number of elements are limited, and an element that occurs twice on one level is refused, because parsers
disagree on which one wins. Only the values of top-level elements and of the few sequences in `kept_sequences` are
kept; everything after Pixel Data is not looked at.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.imaging.kernels.codestreams import ImageRefused

MAX_DEPTH = 32
MAX_ELEMENTS = 100_000
MAX_INFLATED = 64 * 1024 * 1024
MAX_INFLATION_RATIO = 100
SMALL_INFLATED = 4 * 1024 * 1024  # a flat image may well deflate by more than the ratio

IMPLICIT_LE = "1.2.840.10008.1.2"
EXPLICIT_LE = "1.2.840.10008.1.2.1"
DEFLATED_LE = "1.2.840.10008.1.2.1.99"

UNREAD = {
    "1.2.840.10008.1.2.2": "big_endian",
    **dict.fromkeys((f"1.2.840.10008.1.2.4.{number}" for number in (110, 111, 112)), "jpeg_xl"),
}

PIXEL_DATA = 0x7FE00010
TRANSFER_SYNTAX_UID = 0x00020010
MODALITY_LUT_SEQUENCE = 0x00283000
VOI_LUT_SEQUENCE = 0x00283010
VIEW_CODE_SEQUENCE = 0x00540220
kept_sequences = frozenset({MODALITY_LUT_SEQUENCE, VOI_LUT_SEQUENCE, VIEW_CODE_SEQUENCE})

_ITEM, _ITEM_END, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
_UNDEFINED = 0xFFFFFFFF
_LONG_VRS = frozenset({b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"})
_SHORT_VRS = frozenset(b"AE AS AT CS DA DS DT FL FD IS LO LT PN SH SL SS ST TM UI UL US".split())

Items = tuple[Mapping[int, bytes], ...]


@dataclass(frozen=True)
class DicomFile:
    """Top-level values as raw little-endian bytes, the kept sequences, and the pixel data as one or more pieces."""

    transfer_syntax: str
    has_header: bool
    values: Mapping[int, bytes]
    sequences: Mapping[int, Items]
    fragments: tuple[bytes, ...] | None  # encapsulated pixel data; the first is the offset table
    native: bytes | None  # uncompressed pixel data


@dataclass
class _Walk:
    data: bytes
    explicit: bool
    n_elements: int = 0
    values: dict[int, bytes] = field(default_factory=dict)
    sequences: dict[int, Items] = field(default_factory=dict)
    fragments: tuple[bytes, ...] | None = None
    native: bytes | None = None


def parse_dicom(data: bytes) -> DicomFile:
    """Take a DICOM file apart, with or without its header.

    A file without a header is read as implicit, or, where its first element names a value representation, as
    explicit little endian. Raises ImageRefused (format, malformed, truncated, too_deep, too_many_elements,
    duplicate_element, inflates_too_much, no_transfer_syntax).
    """
    start = 132 if data[128:132] == b"DICM" else 0
    has_header = start == 132
    if not has_header and not _looks_like_data_set(data):
        raise ImageRefused("format")
    meta, position = _file_meta(data, start)
    syntax = meta.get(TRANSFER_SYNTAX_UID, b"").rstrip(b"\0 ").decode("latin-1")
    if syntax in UNREAD:
        raise ImageRefused(UNREAD[syntax])
    if not syntax:
        if has_header:
            raise ImageRefused("no_transfer_syntax")
        syntax = EXPLICIT_LE if data[4:6] in _LONG_VRS | _SHORT_VRS else IMPLICIT_LE
    if syntax == DEFLATED_LE:
        data, position = inflate(data[position:]), 0
    walk = _Walk(data, explicit=syntax != IMPLICIT_LE)
    if position >= len(data):
        raise ImageRefused("not_an_image")
    _walk_level(walk, position, len(data), depth=0, keep=walk.values)
    for tag, in_meta in ((0x00080016, 0x00020002), (0x00080018, 0x00020003)):  # VinDr-CXR has them there alone
        if not walk.values.get(tag) and in_meta in meta:
            walk.values[tag] = meta[in_meta]
    return DicomFile(syntax, has_header, walk.values, walk.sequences, walk.fragments, walk.native)


def inflate(data: bytes) -> bytes:
    """Inflate a deflated data set, counting while it grows. A stream that is cut, or is a bomb, is refused."""
    limit = min(MAX_INFLATED, max(SMALL_INFLATED, MAX_INFLATION_RATIO * len(data)))
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        inflated = stream.decompress(data, limit + 1)
    except zlib.error:
        raise ImageRefused("malformed") from None
    if len(inflated) > limit:
        raise ImageRefused("inflates_too_much")
    if not stream.eof:
        raise ImageRefused("truncated")
    return inflated


def _looks_like_data_set(data: bytes) -> bool:
    """A data set without a header begins with a low element of group 0002 or 0008 whose length fits."""
    if len(data) < 16:
        return False
    group, element = struct.unpack_from("<HH", data)
    if group not in (0x0002, 0x0008) or element > 0x0060:
        return False
    if data[4:6] in _LONG_VRS | _SHORT_VRS:
        return True
    return int(struct.unpack_from("<I", data, 4)[0]) <= 256


def _file_meta(data: bytes, position: int) -> tuple[dict[int, bytes], int]:
    """The values of group 0002, and where the data set begins. Group 0002 is always explicit little endian."""
    walk = _Walk(data, explicit=True)
    seen: dict[int, bytes] = {}
    while position + 8 <= len(data) and data[position : position + 2] == b"\x02\x00":
        tag, _vr, length, position = _element_head(walk, position, len(data))
        if length == _UNDEFINED or position + length > len(data):
            raise ImageRefused("malformed" if length == _UNDEFINED else "truncated")
        if tag in seen:
            raise ImageRefused("duplicate_element")
        seen[tag] = data[position : position + length]
        position += length
    return seen, position


def _element_head(walk: _Walk, position: int, end: int) -> tuple[int, bytes, int, int]:
    """Tag, value representation (empty when implicit), length, and where the value begins."""
    walk.n_elements += 1
    if walk.n_elements > MAX_ELEMENTS:
        raise ImageRefused("too_many_elements")
    if position + 8 > end:
        raise ImageRefused("truncated")
    group, element = struct.unpack_from("<HH", walk.data, position)
    tag = (group << 16) | element
    if group == 0xFFFE or not walk.explicit:
        return tag, b"", struct.unpack_from("<I", walk.data, position + 4)[0], position + 8
    vr = walk.data[position + 4 : position + 6]
    if vr in _SHORT_VRS:
        return tag, vr, struct.unpack_from("<H", walk.data, position + 6)[0], position + 8
    if vr not in _LONG_VRS:
        if not group % 2 or group == 0xFFFF:
            raise ImageRefused("malformed")
        length = int(struct.unpack_from("<H", walk.data, position + 6)[0])
        if length or not _has_long_form(walk.data, position, end):
            return tag, b"UN", length, position + 8
    if position + 12 > end:
        raise ImageRefused("truncated")
    return tag, vr, struct.unpack_from("<I", walk.data, position + 8)[0], position + 12


def _has_long_form(data: bytes, position: int, end: int) -> bool:
    """Whether an element of unknown representation has four bytes of length: then an element or the end follows it."""
    if position + 12 > end:
        return False
    follows = position + 12 + int(struct.unpack_from("<I", data, position + 8)[0])
    head = data[follows : min(follows + 6, end)]
    return follows == end or head[:2] == b"\xfe\xff" or head[4:] in _SHORT_VRS | _LONG_VRS


def _walk_level(walk: _Walk, position: int, end: int, *, depth: int, keep: dict[int, bytes] | None) -> int:
    """Walk the elements of one data set or item up to `end` or to its delimiter; returns where it ended."""
    seen: set[int] = set()
    while position < end:
        tag, vr, length, position = _element_head(walk, position, end)
        if tag == _ITEM_END and depth:
            return position
        if tag >> 16 == 0xFFFE:
            raise ImageRefused("malformed")
        if tag in seen:
            raise ImageRefused("duplicate_element")
        seen.add(tag)
        if tag == PIXEL_DATA and not depth:
            _check_rest(walk, _take_pixel_data(walk, position, length, end), end, seen)
            return end
        if length != _UNDEFINED and position + length > end:
            raise ImageRefused("truncated")
        if vr == b"SQ" or length == _UNDEFINED or tag in kept_sequences:
            position = _sequence(walk, tag, vr, position, length, end, depth)
            continue
        if keep is not None and length <= 1 << 20:
            keep[tag] = walk.data[position : position + length]
        position += length
    return position


def _sequence(walk: _Walk, tag: int, vr: bytes, position: int, length: int, end: int, depth: int) -> int:
    """Walk the items of a sequence. One of unknown representation is implicit inside (PS3.5 6.2.2 note 2)."""
    if depth + 1 > MAX_DEPTH:
        raise ImageRefused("too_deep")
    if vr not in (b"SQ", b"UN", b""):
        raise ImageRefused("malformed")
    explicit, walk.explicit = walk.explicit, walk.explicit and vr != b"UN"
    is_kept = tag in kept_sequences and not depth
    limit = end if length == _UNDEFINED else position + length
    items: list[Mapping[int, bytes]] = []
    while position < limit:
        item_tag, _vr, item_length, position = _element_head(walk, position, limit)
        if item_tag == _SEQUENCE_END and length == _UNDEFINED:
            break
        if item_tag != _ITEM:
            raise ImageRefused("malformed")
        item_end = limit if item_length == _UNDEFINED else position + item_length
        if item_end > limit:
            raise ImageRefused("truncated")
        values: dict[int, bytes] = {}
        before = position
        position = _walk_level(walk, position, item_end, depth=depth + 1, keep=values if is_kept else None)
        if item_length == _UNDEFINED and not _ends_with(walk.data, before, position, _ITEM_END):
            raise ImageRefused("truncated")
        items.append(values)
    else:
        if length == _UNDEFINED:
            raise ImageRefused("truncated")
    if is_kept:
        walk.sequences[tag] = tuple(items)
    walk.explicit = explicit
    return position


def _ends_with(data: bytes, start: int, position: int, tag: int) -> bool:
    return position - 8 >= start and data[position - 8 : position - 4] == struct.pack("<HH", tag >> 16, tag & 0xFFFF)


def _check_rest(walk: _Walk, position: int, end: int, seen: set[int]) -> None:
    """Elements after the pixel data are not read, and none may repeat what comes before them, pixels least of all.

    What is no element ends the data set: bytes behind it are left behind like all that is not copied.
    """
    while position < end:
        try:
            tag, vr, length, position = _element_head(walk, position, end)
            is_known = tag in seen
            if not is_known and (vr == b"SQ" or length == _UNDEFINED):
                position, length = _sequence(walk, tag, vr, position, length, end, 1), 0
        except ImageRefused:
            return
        if is_known:
            raise ImageRefused("duplicate_element")
        position += length


def _take_pixel_data(walk: _Walk, position: int, length: int, end: int) -> int:
    """Keep the pixel data; returns where it ends."""
    if length != _UNDEFINED:
        if position + length > end:
            raise ImageRefused("truncated")
        walk.native = walk.data[position : position + length]
        return position + length
    fragments: list[bytes] = []
    while True:
        tag, _vr, size, position = _element_head(walk, position, end)
        if tag == _SEQUENCE_END:
            break
        if tag != _ITEM or size == _UNDEFINED:
            raise ImageRefused("malformed")
        if position + size > end:
            raise ImageRefused("truncated")
        fragments.append(walk.data[position : position + size])
        position += size
    walk.fragments = tuple(fragments)
    return position
