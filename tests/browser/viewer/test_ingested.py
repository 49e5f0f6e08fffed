"""Real files through the kernels of the ingest, on screen: the picture of the viewer is the picture of the kernels."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from annotation.imaging.reading import read_image
from annotation.imaging.refusals import ImageRefused
from annotation.imaging.rendering import as_8bit, full_depth, prepare, preview
from tests.browser.viewer.conftest import Greys, Looker
from tests.browser.viewer.stage import Descriptor, Stage

pytestmark = pytest.mark.browser


def served(stage: Stage, path: Path) -> tuple[Descriptor, Greys] | None:
    """The file as the site would serve it, with its expected greys; None for what the ingest refuses."""
    try:
        payload, display = prepare(read_image(path.read_bytes()))
    except ImageRefused:
        return None
    greys = as_8bit(payload, display)
    view = stage.add(path.stem, payload, greys, **display.as_json())
    stage.files[view["full"]] = ("application/octet-stream", "zstd", full_depth(payload))
    stage.files[view["preview"]] = ("image/webp", "", preview(greys)[0])
    return view, greys


def overlap(canvas: int, image: int) -> tuple[slice, slice]:
    """What an image in the middle of a canvas covers of it, and which part of the image that is, along one side."""
    start = math.floor(canvas / 2 - image / 2 + 0.5)
    length = min(canvas, image)
    return slice(max(0, start), max(0, start) + length), slice(max(0, -start), max(0, -start) + length)


def test_every_readable_file_of_the_samples(look: Looker, stage: Stage, shared_data: Path) -> None:
    paths = sorted((shared_data / "dicom").rglob("*.dcm")) + sorted((shared_data / "cxr").glob("nih_*"))[:2]
    found = [served(stage, path) for path in paths]
    shown = [(view, greys) for view, greys in filter(None, found) if view["aspect"] == 1]
    assert len(shown) >= 10
    look.mount()
    for view, greys in shown:
        look.page.evaluate("(views) => mount(views)", [view])
        look.wait_for("painted", 0, "full")
        look.press("z")
        painted = look.levels()
        ours, theirs = zip(*(overlap(*sizes) for sizes in zip(painted.shape, greys.shape, strict=True)), strict=True)
        assert np.abs(painted[ours].astype(int) - greys[theirs]).max() <= 1, view["id"]
    assert look.complaints == []
