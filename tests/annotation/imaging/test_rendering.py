"""Renditions and the description for the viewer."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from PIL import Image

from annotation.imaging.kernels.image_files import read_image, read_png
from annotation.imaging.kernels.rendering import (
    ROWS_AT_ONCE,
    as_8bit,
    dsh,
    full_depth,
    grey_png,
    gzip_of,
    payload_of,
    prepare,
    preview,
    through_table,
    undsh,
)
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set
from tests.annotation.imaging.test_windowing import CURVE, lut


def by_the_book(payload: np.ndarray[Any, np.dtype[np.uint16]]) -> bytes:
    """The codec as it was first written down, kept as the reference."""
    d = payload.astype("<u2").copy()
    d[:, 1:] = payload[:, 1:] - payload[:, :-1]
    d[1:, 0] = payload[1:, 0] - payload[:-1, 0]
    z = ((d.astype("<i2") << 1) ^ (d.astype("<i2") >> 15)).astype("<u2").view("u1").reshape(-1, 2)
    return np.concatenate([z[:, 0], z[:, 1]]).tobytes()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (37, 51), (2 * ROWS_AT_ONCE + 1, 5)])
def test_the_payload_survives_bit_by_bit(shape: tuple[int, int]) -> None:
    payload = np.random.default_rng(0).integers(0, 65536, shape, dtype=np.uint16)
    rows, columns = shape
    assert dsh(payload) == by_the_book(payload)
    assert np.array_equal(undsh(dsh(payload), columns, rows), payload)
    assert np.array_equal(payload_of(full_depth(payload), columns, rows), payload)


@pytest.mark.parametrize(("dtype", "mode"), [(np.uint8, "L"), (np.uint16, "I;16")])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (300, 200)])
def test_a_png_keeps_every_grey(shape: tuple[int, int], dtype: type[np.uint8] | type[np.uint16], mode: str) -> None:
    greys: Any = np.random.default_rng(0).integers(0, np.iinfo(dtype).max + 1, shape, dtype=dtype)
    with Image.open(io.BytesIO(grey_png(greys))) as picture:
        assert (picture.format, picture.mode) == ("PNG", mode)
        assert np.array_equal(np.asarray(picture), greys)
    strictly, warnings = read_png(grey_png(greys))  # sums of all chunks, and not a byte more than the rows
    assert np.array_equal(strictly, greys)
    assert warnings == []


def test_every_value_goes_through_the_table_and_none_beside_it() -> None:
    payload = np.random.default_rng(0).integers(0, 4096, (2 * ROWS_AT_ONCE + 1, 7), dtype=np.uint16)
    table = np.random.default_rng(1).integers(0, 256, 4096, dtype=np.uint8)
    assert np.array_equal(through_table(payload, table), table[payload])
    payload[-1, -1] = 4096
    with pytest.raises(IndexError):
        through_table(payload, table)


def test_zstd_and_gzip_carry_the_same_bytes() -> None:
    rendition = full_depth(chest())
    zipped = gzip_of(rendition, 80, 70)
    assert gzip.decompress(zipped) == zstandard.decompress(rendition) == dsh(chest())
    assert zipped == gzip_of(rendition, 80, 70)


@pytest.mark.parametrize(
    ("shape", "size"), [((3000, 1500), (512, 1024)), ((500, 400), (400, 500)), ((1, 5000), (1024, 1))]
)
def test_a_preview_is_at_most_1024_pixels_long(shape: tuple[int, int], size: tuple[int, int]) -> None:
    content, width, height = preview(np.full(shape, 90, np.uint8))
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.format == "WEBP"
        assert picture.size == (width, height) == size
        assert not picture.getexif()


def test_the_description_is_plain_json() -> None:
    made = make_data_set(
        RescaleSlope="2", RescaleIntercept="-100", WindowCenter=["400", "900"], WindowWidth=["200", "1500"]
    )
    described = prepare(read_image(as_bytes(made)))[1].as_json()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert list(described) == [
        *("width", "height", "bits", "slope", "intercept", "invert", "windows", "voi_luts", "padding"),
        *("spacing", "spacing_calibrated", "aspect", "presets", "eight_bit", "scanner_window"),
    ]
    assert (described["width"], described["height"], described["bits"]) == (80, 70, 12)
    assert [window["center"] for window in described["windows"]] == [400.0, 900.0]
    assert described["windows"][0]["function"] == "LINEAR"
    assert set(described["presets"]) == {"full"}
    assert described["scanner_window"] is True


def test_signed_pixels_are_shifted_and_the_intercept_takes_the_shift() -> None:
    signed = chest().astype(np.int16) - 2048
    payload, display = prepare(read_image(as_bytes(make_data_set(signed, RescaleSlope="2", RescaleIntercept="10"))))
    assert np.array_equal(payload * display.slope + display.intercept, signed * 2.0 + 10)


def test_a_modality_table_is_applied_to_the_payload() -> None:
    payload, display = prepare(read_image(as_bytes(make_data_set(ModalityLUTSequence=lut(0, 10, CURVE)))))
    assert np.array_equal(payload, CURVE[chest()])
    assert (display.slope, display.intercept, display.bits) == (1.0, 0.0, 10)


def test_a_voi_table_travels_in_the_description() -> None:
    described = prepare(read_image(as_bytes(make_data_set(VOILUTSequence=lut(5, 10, CURVE)))))[1].as_json()
    assert described["voi_luts"][0]["first"] == 5
    assert len(described["voi_luts"][0]["data"]) == 4 * -(-2 * 4096 // 3)


def test_an_8_bit_image_without_window_is_shown_as_it_is() -> None:
    grey = chest(top=255).astype(np.uint8)
    made = make_data_set(grey, bits=8, WindowCenter=None, WindowWidth=None)
    payload, display = prepare(read_image(as_bytes(made)))
    assert display.eight_bit
    assert not display.scanner_window
    assert np.array_equal(as_8bit(payload, display), grey)


def test_a_window_of_the_pixels_replaces_one_that_makes_no_sense() -> None:
    payload, display = prepare(read_image(as_bytes(make_data_set(WindowWidth="0"))))
    assert not display.scanner_window
    shown = as_8bit(payload, display)
    assert shown.min() < 5
    assert shown.max() > 250


def test_the_real_twins_look_the_same_and_bones_are_white(shared_data: Path) -> None:
    derived = shared_data / "dicom" / "derived"
    shown = {
        path.name: as_8bit(*prepare(read_image(path.read_bytes()))).astype(int)
        for path in sorted(derived.glob("chest_pa_mono*.dcm"))
    }
    assert len(shown) == 8
    twin = shown["chest_pa_mono2_10bit_explicit_le.dcm"]
    for greys in shown.values():
        assert np.abs(greys - twin).max() <= 1
    spine, lung = twin[200:300, 210:225].mean(), twin[150:250, 110:150].mean()
    assert spine > lung + 60
