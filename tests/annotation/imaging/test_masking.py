"""Blacking out in the stored pixel values."""

from __future__ import annotations

import io

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian

from annotation.imaging.kernels.masking import blackened, boxes_within, is_covered


def stored(photometric: str, *, bits: int = 16, rows: int = 31, columns: int = 33) -> bytes:
    made = Dataset()
    made.SOPClassUID, made.SOPInstanceUID = UID("1.2.840.10008.5.1.4.1.1.1"), UID("2.25.1")
    made.Rows, made.Columns, made.SamplesPerPixel = rows, columns, 1
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = bits, bits, bits - 1, 0
    made.PhotometricInterpretation = photometric
    made.BurnedInAnnotation = "YES"
    made.DeidentificationMethod = "first"
    pixels = np.arange(rows * columns).reshape(rows, columns).astype(f"<u{bits // 8}")
    made.PixelData = pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
    made["PixelData"].VR = "OW" if bits == 16 else "OB"
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.file_meta.MediaStorageSOPClassUID, made.file_meta.MediaStorageSOPInstanceUID = made.SOPClassUID, UID("2.25.1")
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("photometric", "darkest"), [("MONOCHROME2", "min"), ("MONOCHROME1", "max")])
def test_the_box_shows_black_and_nothing_else_changes(photometric: str, darkest: str, bits: int) -> None:
    before = pydicom.dcmread(io.BytesIO(stored(photometric, bits=bits)))
    after = pydicom.dcmread(io.BytesIO(blackened(stored(photometric, bits=bits), [(3, 4, 10, 5)])))
    expected = before.pixel_array.copy()
    expected[4:9, 3:13] = getattr(expected, darkest)()
    assert np.array_equal(after.pixel_array, expected)
    assert "BurnedInAnnotation" not in after
    assert after.DeidentificationMethodCodeSequence[0].CodeValue == "113101"


def test_the_method_is_noted_once() -> None:
    twice = pydicom.dcmread(io.BytesIO(blackened(blackened(stored("MONOCHROME2"), [(0, 0, 1, 1)]), [(1, 1, 1, 1)])))
    assert len(twice.DeidentificationMethod) == 2
    assert len(twice.DeidentificationMethodCodeSequence) == 1


def test_boxes_are_cut_to_the_image() -> None:
    boxes = [(-5, -5, 10, 10), (95, 45, 50, 50), (200, 0, 5, 5), (0, 0, 0, 4)]
    assert boxes_within(boxes, columns=100, rows=50) == [(0, 0, 5, 5), (95, 45, 5, 5)]


def test_covered_by_two_boxes_together() -> None:
    assert is_covered((0, 0, 10, 10), [(0, 0, 5, 10), (5, 0, 5, 10)])
    assert not is_covered((0, 0, 10, 10), [(0, 0, 5, 10)])
