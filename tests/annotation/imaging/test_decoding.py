"""One decoder per transfer syntax; each refuses what was cut."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.encaps import generate_frames
from pydicom.uid import RLELossless

from annotation.imaging.kernels import decoding
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.decoding import Geometry, decode_frame, split_frames
from annotation.imaging.kernels.elements import parse_dicom
from annotation.imaging.kernels.image_files import n_frames, read_frames, read_geometry
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set
from tests.refusals import refuses

ROWS, COLUMNS = 120, 100
NATIVE = "1.2.840.10008.1.2.1"
DEEP = chest(ROWS, COLUMNS)
SHALLOW = (chest(ROWS, COLUMNS, top=255) // 2 + 60).astype(np.uint8)
GEOMETRY = Geometry(ROWS, COLUMNS, 16, 12, signed=False)
SHALLOW_GEOMETRY = Geometry(ROWS, COLUMNS, 8, 8, signed=False)


def jpeg(pixels: NDArray[np.uint8], **options: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=95, **options)
    return stream.getvalue()


def rle(pixels: NDArray[np.uint16]) -> bytes:
    made = make_data_set(pixels)
    as_bytes(made)
    made.compress(RLELossless, generate_instance_uid=False)
    return next(generate_frames(made.PixelData, number_of_frames=1))


LOSSLESS = {
    decoding.RLE: rle(DEEP),
    decoding.JPEG_LOSSLESS_SV1: bytes(imagecodecs.ljpeg_encode(DEEP, bitspersample=12)),
    decoding.JPEG_LS_LOSSLESS: bytes(imagecodecs.jpegls_encode(DEEP)),
    decoding.JPEG_2000_LOSSLESS: bytes(imagecodecs.jpeg2k_encode(DEEP, level=0, codecformat="j2k", bitspersample=12)),
    decoding.HTJ2K[0]: bytes(imagecodecs.htj2k_encode(DEEP)),
}


@pytest.mark.parametrize("syntax", LOSSLESS)
def test_lossless_frames_come_back_bit_by_bit(syntax: str) -> None:
    assert np.array_equal(decode_frame(LOSSLESS[syntax], syntax, GEOMETRY), DEEP)


def test_an_rle_frame_that_grows_past_its_image_is_refused() -> None:
    """One more run of a grey than the image has pixels for."""
    frame = LOSSLESS[decoding.RLE]
    with refuses(ImageRefused, "pixel_length"):
        decode_frame(frame + b"\xf0\x41", decoding.RLE, GEOMETRY)
    assert np.array_equal(decode_frame(frame + b"\x00", decoding.RLE, GEOMETRY), DEEP)  # padding


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 2}])
def test_jpeg_frames_come_back(options: dict[str, Any]) -> None:
    decoded = decode_frame(jpeg(SHALLOW, **options), decoding.JPEG_BASELINE, SHALLOW_GEOMETRY)
    assert np.abs(decoded.astype(int) - SHALLOW).mean() < 4


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.995])
@pytest.mark.parametrize("tail", [b"", b"\xff\xd9"])
@pytest.mark.parametrize("syntax", [*LOSSLESS, decoding.JPEG_BASELINE, "progressive"])
def test_a_cut_frame_is_refused_even_with_an_end_marker(syntax: str, tail: bytes, share: float) -> None:
    """A half-grey radiograph must never be shown as a whole one."""
    if syntax in LOSSLESS:
        frame, geometry = LOSSLESS[syntax], GEOMETRY
    else:
        frame, geometry = jpeg(SHALLOW, progressive=syntax == "progressive"), SHALLOW_GEOMETRY
        syntax = decoding.JPEG_BASELINE
    with pytest.raises(ImageRefused):
        decode_frame(frame[: int(len(frame) * share)] + tail, syntax, geometry)


def test_a_stream_of_another_size_or_of_tiny_tiles_is_refused_before_it_is_decoded() -> None:
    frame = jpeg(SHALLOW)
    start = frame.index(b"\xff\xc0") + 5
    huge = frame[:start] + b"\xff\xdc\xff\xdc" + frame[start + 4 :]
    tiled = bytearray(LOSSLESS[decoding.JPEG_2000_LOSSLESS])
    at = tiled.index(b"\xff\x4f\xff\x51") + 24
    tiled[at : at + 8] = b"\0\0\0\1\0\0\0\1"
    for spoilt, syntax, geometry in (
        (huge, decoding.JPEG_BASELINE, SHALLOW_GEOMETRY),
        (bytes(tiled), decoding.JPEG_2000_LOSSLESS, GEOMETRY),
    ):
        with refuses(ImageRefused, "codestream"):
            decode_frame(spoilt, syntax, geometry)


def test_native_pixels_must_have_their_length_but_for_padding() -> None:
    data = DEEP.tobytes()
    assert np.array_equal(decode_frame(data, "1.2.840.10008.1.2.1", GEOMETRY), DEEP)
    with refuses(ImageRefused, "truncated"):
        decode_frame(data[:-2], "1.2.840.10008.1.2.1", GEOMETRY)
    assert np.array_equal(decode_frame(data + bytes(4096), NATIVE, GEOMETRY), DEEP)
    assert np.array_equal(decode_frame(data + data[: 2 * COLUMNS - 2], NATIVE, GEOMETRY), DEEP)
    with refuses(ImageRefused, "pixel_length"):
        decode_frame(data + data[: 2 * COLUMNS], NATIVE, GEOMETRY)  # a row more


WIDE = DEEP * 16 + 7  # all of 16 bits


def test_an_overlay_in_the_unused_bits_is_dropped() -> None:
    lettered = DEEP.copy()
    lettered[20:40, 10:50:3] |= 0x8000
    for overlaid in (lettered, DEEP | 0x8000):
        assert np.array_equal(decode_frame(overlaid.tobytes(), NATIVE, GEOMETRY), DEEP)
    declared = replace(GEOMETRY, high_bit=15, has_overlay=True)
    assert np.array_equal(decode_frame((DEEP * 16 | WIDE % 2).tobytes(), NATIVE, declared), DEEP)
    assert np.array_equal(decode_frame(WIDE.tobytes(), NATIVE, replace(GEOMETRY, has_overlay=True)), WIDE & 4095)


def compressed(pixels: NDArray[np.uint16], bits: int) -> dict[str, bytes]:
    return {
        NATIVE: pixels.tobytes(),
        decoding.RLE: rle(pixels),
        decoding.JPEG_LOSSLESS_SV1: bytes(imagecodecs.ljpeg_encode(pixels, bitspersample=bits)),
        decoding.JPEG_LS_LOSSLESS: bytes(imagecodecs.jpegls_encode(pixels)),
        decoding.JPEG_2000_LOSSLESS: bytes(
            imagecodecs.jpeg2k_encode(pixels, level=0, codecformat="j2k", bitspersample=bits)
        ),
    }


@pytest.mark.parametrize("syntax", compressed(DEEP, 12))
@pytest.mark.parametrize("factor", [2, 4, 16])
def test_values_that_need_more_than_the_stored_bits_keep_them(syntax: str, factor: int) -> None:
    """pydicom#2012: masked to the stored bits, the picture is a heap of stripes."""
    wide = (DEEP * factor + 1).astype(np.uint16)
    assert np.array_equal(decode_frame(compressed(wide, 16)[syntax], syntax, GEOMETRY), wide)


@pytest.mark.parametrize("factor", [1, 16])
def test_signed_values_are_read_whatever_their_upper_bits_are(factor: int) -> None:
    """Not sign-extended (pydicom#2066), or wider than the stored bits."""
    signed = ((DEEP.astype(np.int32) - 2048) * factor).astype(np.int16)
    stored = signed & 0xFFF if factor == 1 else signed
    for syntax, frame in compressed(stored.view(np.uint16), 16).items():
        assert np.array_equal(decode_frame(frame, syntax, replace(GEOMETRY, signed=True)), signed)


def test_the_window_tells_whether_values_are_signed_where_smoothness_does_not() -> None:
    """Two greys, far apart: either reading is as smooth."""
    pixels = np.where(DEEP > 2047, np.uint16(3500), np.uint16(900))
    geometry = replace(GEOMETRY, signed=True)
    read = decode_frame(pixels.tobytes(), NATIVE, replace(geometry, window=(-2048, 2048)))
    assert np.unique(read).tolist() == [3500 - 4096, 900]
    for window in ((0, 4096), None):
        with refuses(ImageRefused, "signed"):
            decode_frame(pixels.tobytes(), NATIVE, replace(geometry, window=window))
    syntax, geometry = decoding.JPEG_LOSSLESS_SV1, replace(geometry, window=None)
    frame = compressed(pixels, 12)[syntax]  # seldom extended, and believed
    assert np.unique(decode_frame(frame, syntax, geometry)).tolist() == [3500 - 4096, 900]
    with refuses(ImageRefused, "signed"):
        decode_frame(compressed(DEEP, 12)[syntax], syntax, geometry)


def test_values_under_a_high_bit_above_the_stored_ones_are_moved_down() -> None:
    left = replace(GEOMETRY, high_bit=15)
    signed = DEEP.astype(np.int16) - 2048
    assert np.array_equal(decode_frame((DEEP << 4).tobytes(), NATIVE, left), DEEP)
    assert np.array_equal(decode_frame(rle(DEEP * 16), decoding.RLE, left), DEEP)
    assert np.array_equal(decode_frame((signed << 4).tobytes(), NATIVE, replace(left, signed=True)), signed)


@pytest.mark.parametrize("high_bit", [7, 10, 13, 15])
def test_values_that_lie_at_the_right_are_read_whatever_the_high_bit_says(high_bit: int) -> None:
    for syntax, frame in compressed(DEEP, 12).items():
        assert np.array_equal(decode_frame(frame, syntax, replace(GEOMETRY, high_bit=high_bit)), DEEP)
    with refuses(ImageRefused, "high_bit"):
        decode_frame(WIDE.tobytes(), NATIVE, replace(GEOMETRY, high_bit=high_bit))


def test_signed_pixels_stay_signed_and_unsigned_ones_that_call_themselves_signed_are_refused() -> None:
    signed, geometry = DEEP.astype(np.int16) - 2048, replace(GEOMETRY, signed=True)
    assert np.array_equal(decode_frame(signed.tobytes(), NATIVE, geometry), signed)
    with refuses(ImageRefused, "signed"):
        decode_frame(DEEP.tobytes(), NATIVE, geometry)


@pytest.mark.parametrize("size", [(0, 10), (65535, 65535)])
def test_impossible_sizes_are_refused_before_allocating(size: tuple[int, int]) -> None:
    with refuses(ImageRefused, "size"):
        decode_frame(b"", "1.2.840.10008.1.2.1", Geometry(*size, 16, 12, signed=False))


def test_frames_are_split_by_their_offset_table() -> None:
    table = np.array([0, 16], "<u4").tobytes()
    assert split_frames([table, b"abcdefgh", b"ij", b"kl"], 2) == [b"abcdefgh", b"ijkl"]
    assert split_frames([b"", b"ab", b"cd"], 1) == [b"abcd"]
    with refuses(ImageRefused, "frames"):
        split_frames([b"", b"ab", b"cd", b"ef"], 2)
    with refuses(ImageRefused, "truncated"):
        split_frames([b""], 1)


def test_every_sample_file_that_can_be_decoded_is_decoded(shared_data: Path) -> None:
    """Also mammograms, CT, MR and angiograms, which the door refuses: the decoders must know them."""
    with (shared_data / "dicom" / "MANIFEST.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["decodes"] == "yes"]
    assert len(rows) == 21
    for row in rows:
        file = parse_dicom((shared_data / "dicom" / row["file"]).read_bytes())
        frames = read_frames(file, read_geometry(file))
        size, dtype, span = row["decode_detail"].split()
        assert len(frames) == n_frames(file) == int(row["Frames"])
        assert "x".join(str(side) for side in frames[0].shape) == "x".join(size.split("x")[-2:])
        assert frames[0].dtype.name == dtype
        low = min(int(frame.min()) for frame in frames)
        high = max(int(frame.max()) for frame in frames)
        assert f"{low}..{high}" == span, row["file"]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_every_compressed_sample_is_refused_when_it_is_cut(shared_data: Path, share: float) -> None:
    n_cut = 0
    for path in sorted((shared_data / "dicom").rglob("*.dcm")):
        file = parse_dicom(path.read_bytes()) if path.name != "mr_mono2_truncated_pixel_data.dcm" else None
        if file is None or file.fragments is None or n_frames(file) > 1:
            continue
        geometry = read_geometry(file)
        frame = split_frames(file.fragments, 1)[0]
        for tail in (b"", b"\xff\xd9"):
            with pytest.raises(ImageRefused):
                decode_frame(frame[: int(len(frame) * share)] + tail, file.transfer_syntax, geometry)
        n_cut += 1
    assert n_cut >= 12
