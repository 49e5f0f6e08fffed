"""A radiograph of 2048x2500 and 12 bits from DICOM to what is kept and shown, on one core."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image as Picture
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.pixels.processing import apply_voi_lut
from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

from annotation.imaging.kernels import deidentification, rendering
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.picture_policies import QUARTER, STORED, picture_of, policy_named
from tests.bench.rows import Row, median
from tests.bench.viewer import HEIGHT, WIDTH, radiograph

DX = UID("1.2.840.10008.5.1.4.1.1.1.1")
REPEATS = 7
POLICIES = (QUARTER, "longest-1024-1", STORED)


def dicom(pixels: NDArray[np.uint16]) -> bytes:
    """A DX file, 12 bits, MONOCHROME2, uncompressed."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = DX, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made = FileDataset(io.BytesIO(), {}, file_meta=meta, preamble=b"\0" * 128)
    made.SOPClassUID, made.SOPInstanceUID = DX, meta.MediaStorageSOPInstanceUID
    made.StudyInstanceUID, made.SeriesInstanceUID = generate_uid(), generate_uid()
    made.Modality, made.BodyPartExamined, made.ViewPosition = "DX", "CHEST", "PA"
    made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
    made.Rows, made.Columns = pixels.shape
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 16, 12, 11, 0
    made.WindowCenter, made.WindowWidth = 2048, 3600
    made.PixelData = pixels.tobytes()
    file = io.BytesIO()
    made.save_as(file, enforce_file_format=True)
    return file.getvalue()


def milliseconds(act: Callable[[], object]) -> float:
    """The median of several runs, after one that does not count."""
    act()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        act()
        times.append((time.perf_counter() - start) * 1000)
    return median(times)


def renditions(file: bytes) -> tuple[bytes, bytes]:
    payload, display = rendering.prepare(read_image(file))
    preview, _width, _height = rendering.preview(rendering.as_8bit(payload, display))
    return rendering.full_depth(payload), preview


def picture_for_model(stored: bytes, display: Mapping[str, Any], policy: str) -> bytes:
    """As it is made before the first call that sends the image."""
    payload = rendering.payload_of(stored, WIDTH, HEIGHT)
    return picture_of(payload, display, policy_named(policy))[0]


def plain_png(file: bytes) -> bytes:
    """What a simple importer does: pydicom's window, then an 8-bit PNG with Pillow."""
    source = pydicom.dcmread(io.BytesIO(file))
    greys = apply_voi_lut(source.pixel_array, source).astype(np.float32)
    greys = (greys - greys.min()) / max(1.0, float(np.ptp(greys))) * 255
    picture = io.BytesIO()
    Picture.fromarray(greys.astype(np.uint8)).save(picture, "PNG")
    return picture.getvalue()


def measure() -> list[Row]:
    file = dicom(radiograph(1))
    source = read_image(file)
    names = deidentification.keyed_names(b"bench" * 8, source, exam="exam", image="image")
    reading = milliseconds(lambda: read_image(file))
    both = milliseconds(lambda: renditions(file))
    kept = milliseconds(lambda: deidentification.as_file(deidentification.deidentified(source, names, burned_in=False)))
    png = milliseconds(lambda: plain_png(file))
    payload, display = rendering.prepare(source)
    stored = rendering.full_depth(payload)
    shown = display.as_json()
    pictures = {name: milliseconds(partial(picture_for_model, stored, shown, name)) for name in POLICIES}
    baseline = "pydicom + Pillow PNG"
    return [
        Row("read and check one DICOM file", reading, "ms"),
        Row("both renditions, beyond reading", both - reading, "ms", "120 ms", baseline, png),
        Row("new de-identified object", kept, "ms"),
        *(
            Row(f"picture for a model from what is stored, {name}", spent, "ms", "60 ms", baseline, png)
            for name, spent in pictures.items()
        ),
    ]
