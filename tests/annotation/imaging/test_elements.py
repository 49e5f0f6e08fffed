"""The structure of a DICOM file is walked strictly."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue
from pydicom.uid import DeflatedExplicitVRLittleEndian, ImplicitVRLittleEndian

from annotation.imaging.kernels.attributes import code, decimals, number
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.elements import IMPLICIT_LE, inflate, kept_sequences, parse_dicom
from tests.annotation.imaging.dicomfiles import as_bytes, make_data_set, make_dicom
from tests.refusals import refuses


def refusal_of(data: bytes) -> str:
    with pytest.raises(ImageRefused) as caught:
        parse_dicom(data)
    return caught.value.code


def nested(depth: int, *, explicit: bool) -> bytes:
    """A sequence in a sequence, `depth` times, of undefined length."""
    tag = struct.pack("<HH", 0x0008, 0x1110) + (b"SQ\0\0" if explicit else b"") + b"\xff" * 4
    item, end = b"\xfe\xff\x00\xe0" + b"\xff" * 4, b"\xfe\xff\x0d\xe0" + bytes(4)
    return (tag + item) * depth + (end + b"\xfe\xff\xdd\xe0" + bytes(4)) * depth


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("syntax", [ImplicitVRLittleEndian, "1.2.840.10008.1.2.1"])
def test_a_file_is_read_with_and_without_its_header(header: bool, syntax: str) -> None:
    file = parse_dicom(as_bytes(make_data_set(), syntax, header=header))
    assert (file.transfer_syntax, file.has_header) == (syntax, header)
    assert file.values[0x00080060] == b"CR"
    assert file.native is not None
    assert len(file.native) == 70 * 80 * 2


def test_a_deflated_file_is_read_and_what_follows_the_pixels_not_looked_at() -> None:
    assert parse_dicom(as_bytes(make_data_set(), DeflatedExplicitVRLittleEndian)).native is not None
    assert parse_dicom(make_dicom() + b"PK\x03\x04 anything").native is not None


def test_every_cut_of_a_file_is_refused() -> None:
    data = make_dicom()
    for share in (0.3, 0.6, 0.9, 0.999):
        assert refusal_of(data[: int(len(data) * share)]) == "truncated"


@pytest.mark.parametrize(("depth", "accepted"), [(32, True), (33, False), (500, False)])
@pytest.mark.parametrize("syntax", [ImplicitVRLittleEndian, "1.2.840.10008.1.2.1"])
def test_depth_is_limited(depth: int, accepted: bool, syntax: str) -> None:
    data = as_bytes(make_data_set(), syntax)
    at = data.index(b"\x10\x00\x10\x00")
    data = data[:at] + nested(depth, explicit=syntax != ImplicitVRLittleEndian) + data[at:]
    if accepted:
        assert parse_dicom(data).native is not None
    else:
        assert refusal_of(data) == "too_deep"


@pytest.mark.parametrize(
    ("put", "code"),
    [
        pytest.param(b"\x10\x00\x20\x00LO\x08\x00MRN-0001" * 2, "duplicate_element", id="it stands twice"),
        pytest.param(b"\x10\x00\x20\x00LO\xff\xffMRN-0001", "truncated", id="a length beyond the file"),
        pytest.param(b"\x10\x00\x20\x00ZZ\x08\x00MRN-0001", "malformed", id="an unknown value representation"),
    ],
)
def test_a_spoilt_element_is_refused(put: bytes, code: str) -> None:
    data, element = make_dicom(), b"\x10\x00\x20\x00LO\x08\x00MRN-0001"
    assert data.count(element) == 1
    assert refusal_of(data.replace(element, put)) == code


def test_pixel_data_that_stands_twice_is_refused() -> None:
    """Another reader may take the second one; whatever else follows is left behind."""
    data = make_dicom()
    at = data.index(b"\xe0\x7f\x10\x00O")
    assert refusal_of(data + data[at:]) == "duplicate_element"
    sequence = b"\xfa\xff\xfa\xffSQ\x00\x00\xff\xff\xff\xff" + b"\xfe\xff\xdd\xe0" + bytes(4)
    assert refusal_of(data + sequence + data[at:]) == "duplicate_element"
    rows = b"\x28\x00\x10\x00US\x02\x00"
    assert refusal_of(data + rows + b"\x10\x00") == "duplicate_element"
    padding = b"\xfc\xff\xfc\xffOB\x00\x00\x04\x00\x00\x00" + bytes(4)
    assert parse_dicom(data + padding).native == parse_dicom(data).native


@pytest.mark.parametrize(
    "element",
    [
        b"??\x04\0abcd",
        b"QQ\0\0",
        b"QQ\0\0\x04\0\0\0abcd",
        b"QQ\x02\0ab\x09\0\x02\x10ZZ\0\0\x02\0\0\0cd",
    ],
)
def test_a_private_element_of_unknown_representation_is_passed_over(element: bytes) -> None:
    """In the short and in the long form; wherever the length does not fit, the file is refused."""
    data = make_dicom()
    at = data.index(b"\x10\0\x10\0PN")
    spoiled = data[:at] + b"\x09\0\x01\x10" + element + data[at:]
    assert parse_dicom(spoiled).native == parse_dicom(data).native
    assert parse_dicom(spoiled).values[0x00100020] == b"MRN-0001"
    with pytest.raises(ImageRefused):
        parse_dicom(data[:at] + b"\x09\0\x01\x10" + b"QQ\xff\xff" + data[at:])


def test_a_bomb_is_refused_while_it_inflates_and_a_stream_that_is_cut() -> None:
    def deflated(content: bytes) -> bytes:
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        return packer.compress(content) + packer.flush()

    with refuses(ImageRefused, "inflates_too_much"):
        inflate(deflated(bytes(80_000_000)))
    with refuses(ImageRefused, "truncated"):
        inflate(deflated(bytes(range(256)) * 40)[:-4])


@pytest.mark.parametrize("data", [b"BM" + bytes(300), b"GIF89a" + bytes(200), b"<svg>" * 60, b"\x1f\x8b" + bytes(50)])
def test_other_formats_are_not_dicom(data: bytes) -> None:
    assert refusal_of(data) == "format"


def test_a_header_without_transfer_syntax_is_refused_and_a_data_set_of_nothing() -> None:
    assert IMPLICIT_LE == "1.2.840.10008.1.2"
    without = struct.pack("<HH2sH", 2, 3, b"UI", 4) + b"1.2\0"
    nothing = struct.pack("<HH2sH", 2, 0x10, b"UI", 18) + b"1.2.840.10008.1.2\0"
    assert refusal_of(bytes(128) + b"DICM" + without) == "no_transfer_syntax"
    assert refusal_of(bytes(128) + b"DICM" + nothing) == "not_an_image"


TEXTS = (
    *(0x00080016, 0x00080018, 0x00080050, 0x00080060, 0x00100020, 0x00100040, 0x00101010, 0x00180015, 0x00185101),
    *(0x0020000D, 0x00200020, 0x00200060, 0x00200062, 0x00280004, 0x00280008, 0x00280301, 0x00281056, 0x00282110),
)
IN_META = {0x00080016: 0x00020002, 0x00080018: 0x00020003}  # read there where the data set lacks them
NUMBERS = (0x00280002, 0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103)
DECIMALS = (0x00181164, 0x00280030, 0x00280034, 0x00281050, 0x00281051, 0x00281052, 0x00281053)


def test_what_is_read_is_what_pydicom_reads(shared_data: Path) -> None:
    """Of every file that the walk lets through, hostile ones among them; a number that is infinite is none here."""
    n_files = 0
    for path in sorted(shared_data.rglob("*.dcm")):
        data = path.read_bytes()
        try:
            file = parse_dicom(data)
        except ImageRefused:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # values that do not fit their representation
            theirs = dcmread(io.BytesIO(data), force=True, stop_before_pixels=True)
            for tag in TEXTS:
                given = values_of(theirs, tag) or values_of(theirs.get("file_meta", Dataset()), IN_META.get(tag, 0))
                assert code(file, tag) == "\\".join(map(str, given)).strip().upper(), path.name
            for tag in NUMBERS:
                assert [number(file, tag)] == (values_of(theirs, tag) or [None]), path.name
            for tag in DECIMALS:
                finite = [value if isfinite(value) else None for value in map(float, values_of(theirs, tag))]
                assert decimals(file, tag) == finite, path.name
            for tag in kept_sequences:
                assert len(file.sequences.get(tag, ())) == len(theirs[tag].value if tag in theirs else ()), path.name
        n_files += 1
    assert n_files > 100


def values_of(data_set: Dataset, tag: int) -> list[Any]:
    value = data_set[tag].value if tag in data_set else None
    if value is None:
        return []
    return list(value) if isinstance(value, MultiValue) else [value]
