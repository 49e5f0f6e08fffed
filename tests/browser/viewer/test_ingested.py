"""Real files through our kernels onto the canvas at 1:1: within one grey level of pydicom's pipeline on both backends.

The files are those that the site takes, and those that it refuses as something other than a radiograph of one frame
although the kernels can decode them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.encaps import generate_frames

from annotation.imaging.kernels.attributes import read_attributes
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.elements import parse_dicom
from annotation.imaging.kernels.image_files import SourceImage, SourceKind, read_frames, read_geometry, read_image
from annotation.imaging.kernels.rendering import full_depth, prepare
from tests.annotation.imaging.greyscale import screen_greys
from tests.browser.viewer.conftest import SIZE, Looker
from tests.browser.viewer.stage import Descriptor, Stage

UNDECODABLE = {
    "chest_cr_no_pixel_data_japanese_names": "not_an_image",
    "chest_pa_missing_photometric_view_window": "photometric",
    "mr_mono2_truncated_pixel_data": "truncated",
    "report_sr_no_image": "photometric",
}


def decoded_by_kernels(data: bytes) -> list[SourceImage]:
    """The first and the last frame, whatever kind of image it is. Raises ImageRefused."""
    file = parse_dicom(data)
    geometry = read_geometry(file)
    attributes, _warnings = read_attributes(file, bits_stored=geometry.bits_stored, signed=geometry.signed)
    frames = read_frames(file, geometry)
    return [SourceImage(SourceKind.DICOM, frame, attributes) for frame in frames[:: max(1, len(frames) - 1)]]


def decoded_by_others(path: Path) -> tuple[Dataset, list[NDArray[Any]]]:
    """The data set as pydicom reads it; its frames by pydicom, or by a codec that pydicom has no plugin for here."""
    dataset = pydicom.dcmread(path, force=True)
    if not hasattr(dataset.file_meta, "TransferSyntaxUID"):
        dataset.file_meta.TransferSyntaxUID = pydicom.uid.ImplicitVRLittleEndian
    n_frames = int(dataset.get("NumberOfFrames", 1))
    try:
        pixels = dataset.pixel_array.reshape(n_frames, dataset.Rows, dataset.Columns)
    except (NotImplementedError, RuntimeError):
        codec = {
            "1.2.840.10008.1.2.4.51": imagecodecs.jpeg8_decode,
            "1.2.840.10008.1.2.4.70": imagecodecs.jpegsof3_decode,
            "1.2.840.10008.1.2.4.80": imagecodecs.jpegls_decode,
        }[dataset.file_meta.TransferSyntaxUID]
        frames = generate_frames(dataset.PixelData, number_of_frames=n_frames)
        pixels = np.stack([np.asarray(codec(frame)) for frame in frames])
        if dataset.PixelRepresentation:
            pixels = pixels.view(np.int16)
    return dataset, list(pixels[:: max(1, n_frames - 1)])


def samples(folder: Path) -> Iterator[tuple[str, SourceImage, Dataset, NDArray[Any]]]:
    """Name, our image, pydicom's data set and stored values of every file that the kernels decode."""
    refused = {}
    for path in sorted(folder.rglob("*.dcm")):
        try:
            ours = decoded_by_kernels(path.read_bytes())
        except ImageRefused as error:
            refused[path.stem] = error.code
            continue
        dataset, stored = decoded_by_others(path)
        for number, (source, values) in enumerate(zip(ours, stored, strict=True)):
            yield f"{path.stem}-{number}", source, dataset, values
    assert refused == UNDECODABLE


def served(stage: Stage, name: str, source: SourceImage) -> Descriptor:
    payload, display = prepare(source)
    view = stage.add(name, payload, **display.as_json())
    stage.files[view["full"]] = ("application/octet-stream", "zstd", full_depth(payload))
    return view


def test_every_decodable_file_of_the_samples(look: Looker, stage: Stage, shared_data: Path, backend: str) -> None:
    look.mount(backend=backend)
    look.page.locator(f"[data-viewer-backend={backend}]").wait_for()
    worst = {}
    for name, source, dataset, stored in samples(shared_data / "dicom"):
        view = served(stage, name, source)
        assert round(view["height"] * view["aspect"]) == view["height"], "these files have square pixels"
        # Large enough for the whole image at 1:1, so that every pixel is compared.
        width, height = max(SIZE["width"], view["width"] + 40), max(SIZE["height"], view["height"] + 120)
        look.page.set_viewport_size({"width": width, "height": height})
        look.show_painted(view)
        shown = look.image_at_one_to_one(view)
        has_window = "WindowCenter" in dataset or "VOILUTSequence" in dataset
        opening = view["windows"][0] if view["windows"] else {}
        window = None if has_window else (opening["center"], opening["width"])
        assert shown.shape == stored.shape
        worst[name] = float(np.abs(shown - screen_greys(dataset, stored, window=window)).max())
    assert len(worst) == 23
    assert {name: off for name, off in worst.items() if off > 1} == {}
    assert look.complaints == []


def test_values_are_those_that_the_list_of_samples_names(shared_data: Path) -> None:
    """A second word on decoding: size and range of values as another program wrote them down."""
    with (shared_data / "dicom" / "MANIFEST.csv").open(newline="") as lines:
        decodable = [row for row in csv.DictReader(lines) if row["decodes"] == "yes" and row["Frames"] == "1"]
    assert len(decodable) > 15
    for row in decodable:
        (source,) = decoded_by_kernels((shared_data / "dicom" / row["file"]).read_bytes())
        size, _dtype, bounds = row["decode_detail"].split()
        assert size == "x".join(map(str, source.pixels.shape)), row["file"]
        assert bounds == f"{source.pixels.min()}..{source.pixels.max()}", row["file"]


def test_photographs_of_films_are_shown_as_they_are(look: Looker, stage: Stage, shared_data: Path) -> None:
    look.mount()
    paths = sorted((shared_data / "cxr").glob("nih_*"))[:2]
    for path in paths:
        view = served(stage, path.stem, read_image(path.read_bytes()))
        with Image.open(path) as picture:
            expected = np.asarray(picture.convert("L"))
        look.page.set_viewport_size({"width": view["width"] + 40, "height": view["height"] + 120})
        look.show_painted(view)
        assert np.abs(look.image_at_one_to_one(view).astype(int) - expected).max() <= 1
