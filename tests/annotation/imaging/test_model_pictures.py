"""The grey that a model gets is that of the screen, at the size that its policy says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
from PIL import Image

from annotation.imaging.kernels.attributes import Attributes, Identifiers, LookupTable, Window
from annotation.imaging.kernels.image_files import SourceImage, SourceKind, read_image
from annotation.imaging.kernels.picture_policies import (
    BLANK,
    BLANK_GREY,
    QUARTER,
    STORED,
    picture_of,
    policy_named,
)
from annotation.imaging.kernels.rendering import Display, Payload, as_8bit, full_depth, payload_of, prepare
from tests.annotation.imaging.greyscale import greys_of


def prepared(pixels: np.ndarray, **attributes: object) -> tuple[Payload, Display]:
    given = {"modality": "CR", "bits_stored": 16, **attributes}
    return prepare(SourceImage(SourceKind.DICOM, pixels, Attributes(**given), Identifiers()))  # type: ignore[arg-type]


def ramp() -> tuple[Payload, Display]:
    """Every value of 16 bits once, shown from 0 to 65535."""
    pixels = np.arange(65_536, dtype=np.uint16).reshape(256, 256)
    return prepared(pixels, windows=(Window(32_768, 65_536),))


def test_a_ramp_of_16_bits_keeps_its_256_greys() -> None:
    payload, display = ramp()
    png, width, height = picture_of(payload, display.as_json(), policy_named(STORED))
    greys = greys_of(png)
    assert (width, height) == (256, 256)
    assert len(np.unique(greys)) == 256
    assert np.array_equal(greys, as_8bit(payload, display))


def test_what_public_scripts_do_with_it_loses_nearly_all_of_them() -> None:
    """The negative control: Pillow makes every value over 255 white."""
    payload, _display = ramp()
    file = io.BytesIO()
    Image.fromarray(payload).save(file, "PNG")
    with Image.open(io.BytesIO(file.getvalue())) as picture:
        greys = np.asarray(picture.convert("RGB"))[..., 0]
    assert (greys == 255).mean() > 0.99, PIL.__version__


@pytest.mark.parametrize(
    "attributes",
    [
        {"bits_stored": 12, "windows": (Window(1500, 2000),), "padding": (0, 40)},
        {"bits_stored": 12, "windows": (Window(1500, 2000),), "padding": (0, 40), "is_inverted": True},
        {"bits_stored": 12, "voi_luts": (LookupTable(10, 12, np.linspace(0, 4095, 200).astype(np.uint16)),)},
    ],
    ids=["window", "inverted", "table of the scanner"],
)
def test_it_is_what_a_reviewer_sees(attributes: dict[str, Any]) -> None:
    pixels = np.random.default_rng(1).integers(0, 4096, (60, 80)).astype(np.uint16)
    payload, display = prepared(pixels, **attributes)
    png, _width, _height = picture_of(payload, display.as_json(), policy_named(STORED))
    assert np.array_equal(greys_of(png), as_8bit(payload, display))


@pytest.mark.parametrize(
    "name",
    [
        "chest_pa_cr_mono1_10bit_no_header.dcm",
        "chest_pa_cr_mono1_15bit_jpeg2000_lossy.dcm",
        "jaw_cr_mono1_10bit_jpeg_lossless_modality_lut.dcm",
        "derived/two_view_study_pa_dx_mono2_8bit_jpegls.dcm",
    ],
)
def test_files_of_scanners_come_out_as_a_reviewer_sees_them(shared_data: Path, name: str) -> None:
    source = read_image((shared_data / "dicom" / name).read_bytes())
    assert source.attributes.is_inverted == ("mono1" in name)
    payload, display = prepare(source)
    stored = payload_of(full_depth(payload), display.width, display.height)
    png, _width, _height = picture_of(stored, display.as_json(), policy_named(STORED))
    assert np.array_equal(greys_of(png), as_8bit(payload, display))
    _png, width, height = picture_of(stored, display.as_json(), policy_named(QUARTER))
    assert (width, height) == (-(-display.width // 4), -(-display.height // 4))


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        (STORED, (80, 60)),
        (QUARTER, (20, 15)),
        ("longest-64-1", (64, 48)),
        ("longest-1024-1", (80, 60)),
        (BLANK, (80, 60)),
    ],
)
def test_sizes_are_never_enlarged(policy: str, size: tuple[int, int]) -> None:
    payload, display = prepared(np.zeros((60, 80), np.uint16))
    png, width, height = picture_of(payload, display.as_json(), policy_named(policy))
    assert (width, height) == size == greys_of(png).shape[::-1]


def test_a_blank_picture_shows_nothing() -> None:
    payload, display = ramp()
    png, _width, _height = picture_of(payload, display.as_json(), policy_named(BLANK))
    assert set(np.unique(greys_of(png))) == {BLANK_GREY}


def test_equal_images_give_equal_bytes_without_any_other_data() -> None:
    first, second = (picture_of(*_json(ramp()), policy_named(QUARTER))[0] for _ in range(2))
    assert first == second
    chunks = [first[place - 4 : place] for place in range(12, len(first))]
    assert {chunk for chunk in chunks if chunk in {b"tEXt", b"iTXt", b"zTXt", b"tIME", b"eXIf", b"pHYs"}} == set()


@pytest.mark.parametrize("name", ["", "quarter", "quarter-2", "longest-1-1", "longest-99999-1", "longest-512-2"])
def test_other_policies_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="There is no policy"):
        policy_named(name)


def _json(pair: tuple[Payload, Display]) -> tuple[Payload, dict[str, object]]:
    return pair[0], pair[1].as_json()
