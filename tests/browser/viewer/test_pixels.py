"""What is on screen at 1:1 equals pydicom's grey-scale pipeline within one level of 255, on both ways to paint."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut

from tests.browser.viewer.conftest import BACKENDS, Looker
from tests.browser.viewer.stage import Descriptor, Stage, webp_lossless

Floats = NDArray[np.float64]


def phantom(bits: int, height: int = 240, width: int = 320) -> NDArray[np.uint16]:
    """Every kind of neighbourhood: a ramp over all values, noise, hard edges and both ends."""
    top = 2**bits - 1
    rng = np.random.default_rng(2026)
    pixels = np.linspace(0, top, height * width).reshape(height, width)
    pixels[60:120] += rng.normal(0, top / 50, (60, width))
    pixels[130:170, 40:90] = top
    pixels[130:170, 100:150] = 0
    return np.rint(pixels).clip(0, top).astype(np.uint16)


def through_pydicom(stored: NDArray[Any], dataset: Dataset, bits: int, signed: bool = False) -> Floats:
    """0..255 as pydicom computes it: modality LUT, VOI LUT or window, photometric interpretation."""
    dataset.BitsStored = bits
    dataset.PixelRepresentation = int(signed)
    dataset.setdefault("PhotometricInterpretation", "MONOCHROME2")
    modality = apply_modality_lut(stored, dataset)
    shown = np.asarray(apply_voi_lut(modality, dataset), dtype=np.float64)
    if "VOILUTSequence" in dataset:
        low, high = 0.0, 2.0 ** dataset.VOILUTSequence[0].LUTDescriptor[2] - 1
    else:
        ends = [-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1] if signed else [0.0, 2.0**bits - 1]
        slope, intercept = float(dataset.get("RescaleSlope", 1)), float(dataset.get("RescaleIntercept", 0))
        low, high = sorted(end * slope + intercept for end in ends)
    greys: Floats = 255.0 * (shown - low) / (high - low)
    return 255.0 - greys if dataset.get("PhotometricInterpretation") == "MONOCHROME1" else greys


def windowed(center: float, width: float, function: str = "LINEAR", **more: Any) -> tuple[Dataset, dict[str, Any]]:
    """A window as DICOM writes it, and as the descriptor does."""
    dataset = Dataset()
    dataset.WindowCenter, dataset.WindowWidth, dataset.VOILUTFunction = center, width, function
    for name, value in more.items():
        setattr(dataset, name, value)
    return dataset, {"windows": [{"center": center, "width": width, "function": function, "label": "scanner"}]}


def assert_equal_greys(look: Looker, view: Descriptor, expected: Floats, backend: str) -> None:
    look.mount_painted(view, backend=backend)
    shown = look.image_at_one_to_one(view)
    assert shown.shape == expected.shape
    assert np.abs(shown - expected).max() <= 1.0
    assert np.ptp(shown) > 100
    assert look.complaints == []


@pytest.mark.parametrize("function", ["LINEAR", "LINEAR_EXACT", "SIGMOID"])
def test_window_functions_of_12_bits(look: Looker, stage: Stage, backend: str, function: str) -> None:
    dataset, display = windowed(1800, 1500, function)
    pixels = phantom(12)
    view = stage.add("twelve", pixels, bits=12, **display)
    assert_equal_greys(look, view, through_pydicom(pixels, dataset, 12), backend)


def test_narrowest_linear_window_is_a_threshold(look: Looker, stage: Stage, backend: str) -> None:
    dataset, display = windowed(1800, 1)
    pixels = phantom(12)
    view = stage.add("threshold", pixels, bits=12, **display)
    assert_equal_greys(look, view, through_pydicom(pixels, dataset, 12), backend)


def test_monochrome1_shows_small_values_bright(look: Looker, stage: Stage, backend: str) -> None:
    dataset, display = windowed(2000, 3000, PhotometricInterpretation="MONOCHROME1")
    pixels = phantom(12)
    view = stage.add("mono1", pixels, bits=12, invert=True, **display)
    assert_equal_greys(look, view, through_pydicom(pixels, dataset, 12), backend)


def test_8_bit_without_window_is_shown_as_it_is(look: Looker, stage: Stage, backend: str) -> None:
    pixels = phantom(8)
    view = stage.add("eight", pixels, bits=8, eight_bit=True)
    assert_equal_greys(look, view, pixels.astype(np.float64), backend)


def test_8_bit_picture_sent_as_its_own_file(look: Looker, stage: Stage, backend: str) -> None:
    pixels = phantom(8)
    view = stage.add("picture", pixels, bits=8, eight_bit=True)
    stage.files[view["full"]] = ("image/webp", "", webp_lossless(pixels.astype(np.uint8)))
    assert_equal_greys(look, view, pixels.astype(np.float64), backend)


def test_16_bits_signed_with_slope_and_intercept(look: Looker, stage: Stage, backend: str) -> None:
    """Signed values travel shifted up, the shift in the intercept; slope and intercept are those of the scanner."""
    payload = phantom(16)
    signed = (payload.astype(np.int32) - 32768).astype(np.int16)
    dataset, display = windowed(-200.5, 9000.25, RescaleSlope=0.25, RescaleIntercept=-1024)
    view = stage.add("signed", payload, bits=16, slope=0.25, intercept=-1024 - 0.25 * 32768, **display)
    assert_equal_greys(look, view, through_pydicom(signed, dataset, 16, signed=True), backend)


def test_voi_table_goes_before_a_window(look: Looker, stage: Stage, backend: str) -> None:
    entries = np.rint(4095 * np.linspace(0, 1, 3000) ** 0.6).astype(np.uint16)
    dataset, display = windowed(1000, 100, RescaleSlope=1.0, RescaleIntercept=-500.0)
    item = Dataset()
    item.LUTDescriptor = [3000, -100, 12]
    item["LUTDescriptor"].VR = "SS"
    item.LUTData = entries.tolist()
    dataset.VOILUTSequence = [item]
    pixels = phantom(12)
    data = base64.b64encode(entries.astype("<u2").tobytes()).decode()
    display["voi_luts"] = [{"first": -100, "bits": 12, "data": data}]
    view = stage.add("table", pixels, bits=12, intercept=-500.0, **display)
    assert_equal_greys(look, view, through_pydicom(pixels, dataset, 12), backend)


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
def test_padding_is_black(look: Looker, stage: Stage, backend: str, photometric: str) -> None:
    dataset, display = windowed(2000, 3000, PhotometricInterpretation=photometric)
    pixels = phantom(12)
    pixels[:, 250:] = 4000
    view = stage.add("padded", pixels, bits=12, padding=[3990, 4010], invert=photometric == "MONOCHROME1", **display)
    padded = (pixels >= 3990) & (pixels <= 4010)
    assert_equal_greys(look, view, np.where(padded, 0.0, through_pydicom(pixels, dataset, 12)), backend)


def test_padding_stays_out_of_averages(look: Looker, stage: Stage, backend: str) -> None:
    """A flat grey half beside padding stays that grey up to the edge, at whatever size it is shown."""
    pixels = np.full((1900, 1333), 2048, np.uint16)
    pixels[:, 700:] = 0
    view = stage.add("edge", pixels, padding=[0, 0], **windowed(2048, 4096)[1])
    look.mount_painted(view, backend=backend)
    for keys in ([], ["+"], ["z"], ["+", "+"]):
        look.press(*keys)
        assert set(np.unique(look.levels())) == {0, 128}


def test_both_backends_paint_the_same_picture_at_any_zoom(look: Looker, stage: Stage) -> None:
    _, display = windowed(1800, 2500)
    view = stage.add("same", phantom(12, 900, 700), bits=12, aspect=1.25, **display)
    pictures = {}
    for backend in BACKENDS:
        look.mount_painted(view, backend=backend)
        pictures[backend] = [look.levels()]
        for keys in (["+"], ["z"], ["+", "+", "+"], ["Shift+Digit2", "i"]):
            look.press(*keys)
            pictures[backend].append(look.levels())
    for ours, theirs in zip(*pictures.values(), strict=True):
        assert np.ptp(ours) > 20
        assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_fitting_averages_every_stored_value(look: Looker, stage: Stage) -> None:
    """Fitted to a third, each screen pixel is the window of the mean of its nine stored values."""
    rng = np.random.default_rng(1)
    look.mount_painted(stage.add("any", phantom(12)))
    height, width = look.page.evaluate("() => [viewer_size().height, viewer_size().width]")
    rows, columns = 3 * int(height), 3 * 200
    pixels = rng.integers(0, 4096, (rows, columns)).astype(np.uint16)
    view = stage.add("third", pixels, bits=12, windows=[{"center": 2048, "width": 4096, "function": "LINEAR"}])
    look.mount_painted(view)
    shown = look.levels()
    left = (width - 200) // 2
    mean = pixels.reshape(rows // 3, 3, 200, 3).mean(axis=(1, 3))
    expected = 255 * np.rint(mean) / 4095
    assert np.abs(shown[:, left : left + 200] - expected).max() <= 1


def test_one_to_one_is_device_pixels_on_a_dense_screen(look_closely: Looker, stage: Stage, backend: str) -> None:
    """Exact values and, on the screen itself, no smoothing between canvas and device pixels."""
    dataset, display = windowed(1800, 2500)
    pixels = phantom(12)
    pixels[:, ::2] = 0
    view = stage.add("dense", pixels, bits=12, **display)
    assert_equal_greys(look_closely, view, through_pydicom(pixels, dataset, 12), backend)
    screen = np.asarray(Image.open(io.BytesIO(look_closely.page.screenshot())).convert("L"))
    painted = look_closely.levels()
    middle = tuple(slice(size // 2 - 60, size // 2 + 60) for size in painted.shape)
    assert np.abs(screen[: painted.shape[0], : painted.shape[1]][middle].astype(int) - painted[middle]).max() <= 1
