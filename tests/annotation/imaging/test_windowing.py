"""The grey-scale pipeline, against pydicom and against the formulas of PS3.3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from annotation.imaging.kernels.attributes import LookupTable, Window
from annotation.imaging.kernels.deidentification import as_file, deidentified, keyed_names
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.rendering import (
    apply_table,
    apply_window,
    as_8bit,
    full_range,
    grey_table,
    histogram,
    prepare,
    window_of,
)
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set
from tests.annotation.imaging.greyscale import CASES, make, screen_greys


def lut(first: int, bits: int, values: NDArray[np.uint16], *, signed: bool = False) -> Sequence:
    item = Dataset()
    item.add_new(0x00283002, "SS" if signed else "US", [len(values) % 65536, first, bits])
    item.add_new(0x00283006, "OW", values.astype("<u2").tobytes())
    return Sequence([item])


CURVE = (np.sqrt(np.linspace(0, 1, 4096)) * 1023).astype(np.uint16)


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("name", CASES)
def test_the_screen_shows_what_pydicom_computes_within_one_grey_level(name: str, photometric: str) -> None:
    made, pixels = make(name, photometric)
    shown = as_8bit(*prepare(read_image(as_bytes(made))))
    assert np.abs(shown - screen_greys(made, pixels)).max() <= 1.0
    assert np.ptp(shown) > 80


@pytest.mark.parametrize("name", CASES)
def test_the_object_without_identity_looks_the_same(name: str) -> None:
    """What is kept of a file is enough to show it as the file itself would be shown."""
    source = read_image(as_bytes(make(name, "MONOCHROME1")[0]))
    names = keyed_names(b"key", source, exam="exam", image="image")
    again = read_image(as_file(deidentified(source, names, burned_in=None)))
    (payload, display), (payload_again, display_again) = prepare(source), prepare(again)
    assert np.array_equal(payload, payload_again)
    assert display.as_json() == display_again.as_json()


def test_a_monochrome1_image_and_its_inverted_twin_look_the_same() -> None:
    pixels = chest()
    first = make_data_set(pixels, PhotometricInterpretation="MONOCHROME1", WindowCenter="2000", WindowWidth="3000")
    twin = make_data_set((4095 - pixels).astype(np.uint16), WindowCenter="2096", WindowWidth="3000")
    shown = [as_8bit(*prepare(read_image(as_bytes(made)))).astype(int) for made in (first, twin)]
    assert np.abs(shown[0] - shown[1]).max() <= 1
    assert shown[0][0].mean() > 200 > shown[0][-1].mean()  # small values are bones, and bones are white


def test_padding_is_black_and_not_counted() -> None:
    for photometric in ("MONOCHROME1", "MONOCHROME2"):
        pixels = chest(200, 200)
        pixels[:, :60] = 4095
        made = make_data_set(pixels, PhotometricInterpretation=photometric, WindowCenter=None, WindowWidth=None)
        made.add_new(0x00280120, "US", 4095)
        payload, display = prepare(read_image(as_bytes(made)))
        assert display.padding == (4095, 4095)
        assert (as_8bit(payload, display)[:, :60] == 0).all()
        assert display.presets["full"][1] < 4095


def test_padding_survives_a_modality_table() -> None:
    pixels = chest(100, 100)
    pixels[:5] = 0
    made = make_data_set(pixels, ModalityLUTSequence=lut(0, 10, CURVE), WindowCenter="500", WindowWidth="900")
    made.add_new(0x00280120, "US", 0)
    payload, display = prepare(read_image(as_bytes(made)))
    assert display.padding == (1024, 1024)
    assert display.bits == 11
    assert (as_8bit(payload, display)[:5] == 0).all()


def test_the_full_range_is_the_same_for_a_negative_slope() -> None:
    counts = np.ones(1000, np.int64)
    plain = full_range(counts, slope=1.0, intercept=0.0)
    assert plain == (0.0, 999.0)
    assert full_range(counts, slope=-1.0, intercept=999.0) == pytest.approx(plain, abs=1)


def test_a_flat_or_wholly_padded_image_has_a_range_of_some_width() -> None:
    flat = np.full((50, 50), 7, np.uint16)
    for padding in (None, (7, 7)):
        low, high = full_range(histogram(flat, 8, padding), slope=1.0, intercept=0.0)
        assert low < high


def test_a_window_made_of_bounds_runs_from_black_to_white() -> None:
    window = window_of((100.0, 300.0))
    assert apply_window(np.array([100.0, 300.0]), window, "LINEAR").tolist() == [0.0, 1.0]


def test_outside_a_table_its_ends_hold() -> None:
    table = LookupTable(10, 8, np.array([5, 100, 255], np.uint16))
    assert apply_table(np.array([0.0, 10.0, 11.0, 99.0]), table).tolist() == [5 / 255, 5 / 255, 100 / 255, 1.0]


@pytest.mark.parametrize("window", ["2048", None])
@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
def test_a_table_is_scaled_by_what_it_holds_and_not_by_what_it_names(photometric: str, window: str | None) -> None:
    """It names 16 bits and holds 12 (dicom-rs#825): black if believed."""
    curve = (np.sqrt(np.linspace(0, 1, 4096)) * 4095).astype(np.uint16)
    values: dict[str, Any] = {
        "PhotometricInterpretation": photometric,
        "WindowCenter": window,
        "WindowWidth": window and "4096",
    }
    named, right = (
        read_image(as_bytes(make_data_set(chest(), VOILUTSequence=lut(0, bits, curve), **values))) for bits in (16, 12)
    )
    assert np.array_equal(as_8bit(*prepare(named)), as_8bit(*prepare(right)))
    assert np.ptp(as_8bit(*prepare(named))) > 200
    assert (named.warnings, right.warnings) == (("voi_lut_bits",), ())


@pytest.mark.parametrize(
    ("bits", "top", "held", "warnings"),
    [
        (8, 100, 8, ()),
        (10, 4095, 12, ("voi_lut_bits",)),
        (10, 1024, 10, ()),
        (16, 20, 8, ("voi_lut_bits",)),
        (16, 0, 0, ("voi_lut",)),
    ],
)
def test_the_bits_of_a_table_are_those_of_its_largest_entry(
    bits: int, top: int, held: int, warnings: tuple[str, ...]
) -> None:
    """A dim table of 8 bits and one entry too many by rounding stay as they are; an empty one gives way to a window."""
    image = read_image(
        as_bytes(make_data_set(VOILUTSequence=lut(0, bits, np.linspace(0, top, 4096).astype(np.uint16))))
    )
    assert ([table.bits for table in image.attributes.voi_luts], image.warnings) == ([held] * bool(held), warnings)


def test_a_sigmoid_of_a_tiny_width_does_not_overflow() -> None:
    greys = grey_table(bits=16, slope=1, intercept=0, invert=False, window=Window(30000, 1e-6), function="SIGMOID")
    assert (greys[0], greys[-1]) == (0, 255)


def test_between_two_entries_of_a_table_the_lower_one_holds() -> None:
    """As pydicom truncates; but 0.1 + 0.2 style leftovers of floating point do not fall to the entry before."""
    table = LookupTable(0, 8, np.arange(0, 250, 25).astype(np.uint16))
    assert (apply_table(np.array([2.9, 3.0, 3.0 - 1e-12]), table) * 255).round().tolist() == [50, 75, 75]


def test_neither_table_nor_window_is_refused() -> None:
    with pytest.raises(ValueError, match="neither"):
        grey_table(bits=8, slope=1, intercept=0, invert=False, window=None)
