"""DICOM and PNG files made here, through the kernels onto the canvas at 1:1: within one grey level of pydicom."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.sequence import Sequence

from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.rendering import full_depth, prepare
from tests.annotation.imaging.dicomfiles import as_bytes, make_data_set
from tests.annotation.imaging.greyscale import (
    CASES,
    HEIGHT,
    NO_WINDOW,
    TWELVE,
    WIDTH,
    curve,
    make,
    ramp,
    screen_greys,
    table,
    window,
)
from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import Descriptor, Stage


def served(stage: Stage, name: str, data: bytes) -> Descriptor:
    """A file as the site would serve it."""
    payload, display = prepare(read_image(data))
    view = stage.add(name, payload, **display.as_json())
    stage.files[view["full"]] = ("application/octet-stream", "zstd", full_depth(payload))
    return view


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
def test_every_case_of_the_pipeline(look: Looker, stage: Stage, backend: str, photometric: str) -> None:
    look.page.set_viewport_size({"width": 700, "height": 400})  # a software WebGL2 pays for every pixel of the canvas
    look.mount(backend=backend)
    look.page.locator(f"[data-viewer-backend={backend}]").wait_for()
    worst = {}
    for number, name in enumerate(CASES):
        made, stored = make(name, photometric)
        view = served(stage, f"case{number}", as_bytes(made))
        look.show_painted(view)
        shown = look.image_at_one_to_one(view)
        worst[name] = np.abs(shown - screen_greys(made, stored)).max()
        assert np.ptp(shown) > 80, name
    assert {name: off for name, off in worst.items() if off > 1} == {}
    assert look.complaints == []


def test_tables_and_windows_are_chosen_one_after_the_other(look: Looker, stage: Stage, backend: str) -> None:
    """The button goes through the VOI tables, then the windows, each as pydicom shows it, and begins again."""
    look.mount(backend=backend)
    look.page.locator(f"[data-viewer-backend={backend}]").wait_for()
    tables = Sequence([table(0, 12, curve(4096, 12, power)) for power in (0.5, 1.0, 2.0)])
    windows: dict[str, Any] = {"WindowCenter": ["1000", "2500", "2000"], "WindowWidth": ["900", "900", "4000"]}
    made = make_data_set(TWELVE, VOILUTSequence=tables, VOILUTFunction="SIGMOID", **windows)
    view = served(stage, "several", as_bytes(made))
    look.show_painted(view)
    choices = [(True, 0), (True, 1), (True, 2), (False, 0), (False, 1), (False, 2), (True, 0)]
    pictures = []
    for is_table, index in choices:
        shown = look.image_at_one_to_one(view)
        expected = screen_greys(made, TWELVE, index=index, table=is_table)
        assert np.abs(shown - expected).max() <= 1, (is_table, index)
        pictures.append(shown.tobytes())
        look.click("Scanner")
    assert len(set(pictures)) == 6


def test_a_table_without_a_window_is_the_only_choice(look: Looker, stage: Stage) -> None:
    """What the server worked out from the pixels must never be called the scanner's."""
    made = make_data_set(TWELVE, VOILUTSequence=Sequence([table(0, 12, curve(4096, 12))]), **NO_WINDOW)
    view = served(stage, "only", as_bytes(made))
    look.mount_painted(view)
    look.page.get_by_role("button", name="Scanner").click()
    assert np.abs(look.image_at_one_to_one(view) - screen_greys(made, TWELVE)).max() <= 1


SPACINGS: dict[str, dict[str, Any]] = {
    "Pixel Spacing": {"PixelSpacing": ["0.4", "0.2"]},
    "Imager Pixel Spacing": {"ImagerPixelSpacing": ["0.4", "0.2"]},
    "Pixel Aspect Ratio": {"PixelAspectRatio": ["2", "1"]},
}


@pytest.mark.parametrize("source", SPACINGS)
def test_tall_pixels_are_shown_tall(look: Looker, stage: Stage, backend: str, source: str) -> None:
    """Twice as many rows on screen, bilinear between stored values; the window comes after."""
    made = make_data_set(TWELVE, **window(1800, 2500), **SPACINGS[source])
    view = served(stage, "tall", as_bytes(made))
    look.mount_painted(view, backend=backend)
    padded = np.pad(TWELVE.astype(np.float64), ((1, 1), (0, 0)), mode="edge")
    rows = np.stack([0.25 * padded[:-2] + 0.75 * padded[1:-1], 0.75 * padded[1:-1] + 0.25 * padded[2:]], axis=1)
    stored = np.floor(rows.reshape(2 * HEIGHT, WIDTH) + 0.5)
    shown = look.image_at_one_to_one(view | {"height": 2 * HEIGHT})
    assert np.abs(shown - screen_greys(made, stored)).max() <= 1


def test_wide_pixels_are_shown_wide(look: Looker, stage: Stage, backend: str) -> None:
    """Half as many rows on screen, each the mean of two."""
    made = make_data_set(TWELVE, **window(1800, 2500), PixelSpacing=["0.1", "0.2"])
    view = served(stage, "wide", as_bytes(made))
    look.mount_painted(view, backend=backend)
    stored = np.floor(TWELVE.reshape(HEIGHT // 2, 2, WIDTH).mean(axis=1) + 0.5)
    shown = look.image_at_one_to_one(view | {"height": HEIGHT // 2})
    assert np.abs(shown - screen_greys(made, stored)).max() <= 1


def png(pixels: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def test_a_png_of_8_bits_is_shown_as_it_is(look: Looker, stage: Stage, backend: str) -> None:
    pixels = ramp(8).astype(np.uint8)
    view = served(stage, "png8", png(pixels))
    look.mount_painted(view, backend=backend)
    assert np.array_equal(look.image_at_one_to_one(view), pixels)


def test_a_png_of_16_bits_keeps_its_depth(look: Looker, stage: Stage, backend: str) -> None:
    """Without a window of its own it opens with the range of its values, as a LINEAR window that pydicom applies."""
    pixels = (20000 + ramp(12)).astype(np.uint16)
    view = served(stage, "png16", png(pixels))
    look.mount_painted(view, backend=backend)
    opening = view["windows"][0]
    assert opening["width"] == pytest.approx(4096, rel=0.02)
    made = make_data_set(pixels, bits=16, **NO_WINDOW)
    expected = screen_greys(made, pixels, window=(opening["center"], opening["width"]))
    assert np.abs(look.image_at_one_to_one(view) - expected).max() <= 1
