"""The new object holds nothing but pixels and the allowlist."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import UID, ExplicitVRLittleEndian

from annotation.hashes import keyed_pseudonym
from annotation.imaging.kernels.attributes import LookupTable
from annotation.imaging.kernels.deidentification import (
    ALLOWLIST,
    VERSION,
    as_file,
    deidentified,
    keyed_names,
    keyed_uid,
)
from annotation.imaging.kernels.image_files import SourceImage, read_image
from annotation.imaging.kernels.masking import blackened, boxes_within, crops_around, is_covered
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set
from tests.annotation.imaging.test_windowing import CURVE, lut

Box = tuple[int, int, int, int]
KEY = b"a key of the tests"
SECRETS = ("SECRET", "MRN-0001", "20240203", "PENHOLLOW", "1.2.3.4")


def rebuilt(source: SourceImage) -> tuple[bytes, Dataset]:
    names = keyed_names(KEY, source, exam=source.identifiers.study_uid, image=source.identifiers.sop_uid)
    data = as_file(deidentified(source, names, burned_in=None))
    return data, pydicom.dcmread(io.BytesIO(data))


def telling_file() -> bytes:
    """A file that says who it is in every way that a file can."""
    item = Dataset()
    item.PatientName = "Secret^Item"
    made = make_data_set(
        StudyDate="20240203",
        InstitutionName="PENHOLLOW",
        SeriesDescription="Secret",
        WindowCenterWidthExplanation="Secret",
        AccessionNumber="MRN-0001",
        ReferencedStudySequence=Sequence([item]),
        PatientAge="094Y",
    )
    made.add_new(0x00091001, "LO", "Secret private")
    made.add_new(0x60001500, "LO", "Secret overlay")
    data = as_bytes(made)
    return b"SECRET PREAMBLE".ljust(128, b"\0") + data[128:] + b"SECRET TAIL"


def test_nothing_that_tells_survives_but_what_is_allowed_and_the_procedure_is_named() -> None:
    data, made = rebuilt(read_image(telling_file()))
    lowered = data.upper()
    assert not [secret for secret in SECRETS if secret.encode() in lowered]
    assert data[:128] == bytes(128)
    assert made.PatientIdentityRemoved == "YES"
    assert made.DeidentificationMethod[0].startswith(VERSION)
    assert [item.CodeValue for item in made.DeidentificationMethodCodeSequence] == ["113100", "113108"]
    assert made.LongitudinalTemporalInformationModified == "REMOVED"
    assert (made.PatientAge, made.PatientSex) == ("090Y", "F")
    always = {
        *("PatientName", "PatientID", "PatientBirthDate", "StudyDate", "StudyTime", "AccessionNumber", "StudyID"),
        *("ReferringPhysicianName", "StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID", "SeriesNumber"),
        *("InstanceNumber", "PatientIdentityRemoved", "DeidentificationMethod", "DeidentificationMethodCodeSequence"),
        *("LongitudinalTemporalInformationModified", "PixelData"),
    }
    assert {element.keyword for element in made} <= always | set(ALLOWLIST)
    assert not made.PatientName


def assert_same_table(table: LookupTable | None, expected: LookupTable) -> None:
    assert table is not None
    assert (table.first, table.bits) == (expected.first, expected.bits)
    assert np.array_equal(table.data, expected.data)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"PhotometricInterpretation": "MONOCHROME1", "RescaleSlope": "0.684", "RescaleIntercept": "-3.25"},
        {"ModalityLUTSequence": lut(0, 10, CURVE), "VOILUTSequence": lut(7, 12, CURVE)},
        {"VOILUTSequence": Sequence([*lut(-32768, 10, np.resize(CURVE, 40000), signed=True), *lut(3, 10, CURVE)])},
        {"PixelAspectRatio": ["4", "3"]},
        {"PixelSpacing": ["0.1431", "0.1431"], "PixelSpacingCalibrationType": "GEOMETRY", "ImageLaterality": "U"},
    ],
)
def test_the_object_reads_back_as_the_same_image(values: dict[str, Any]) -> None:
    source = read_image(as_bytes(make_data_set(**values)))
    data, made = rebuilt(source)
    again = read_image(data)
    assert np.array_equal(again.pixels, chest())
    assert np.array_equal(made.pixel_array, chest())
    for name, value in vars(source.attributes).items():
        if name == "modality_lut" and value is not None:
            assert_same_table(again.attributes.modality_lut, value)
        elif name == "voi_luts":
            for table, expected in zip(again.attributes.voi_luts, value, strict=True):
                assert_same_table(table, expected)
        else:
            assert getattr(again.attributes, name) == value, name


def test_uids_are_keyed_and_consistent_in_an_exam() -> None:
    source = read_image(as_bytes(make_data_set()))
    first = keyed_names(KEY, source, exam="1.2.3", image="1.2.3.4")
    second = keyed_names(KEY, source, exam="1.2.3", image="1.2.3.5")
    assert (first.study_uid, first.series_uid, first.patient) == (
        *(second.study_uid, second.series_uid),
        second.patient,
    )
    assert len({first.study_uid, first.series_uid, first.sop_uid, second.sop_uid}) == 4
    assert keyed_names(b"another key", source, exam="1.2.3", image="1.2.3.4").study_uid != first.study_uid


def test_a_uid_is_a_valid_one_and_no_number_has_no_pseudonym() -> None:
    for value in ("a", "b", "c"):
        uid = pydicom.uid.UID(keyed_uid(KEY, "image", value))
        assert uid.is_valid
        assert len(uid) <= 44
    assert [len(keyed_pseudonym(KEY, "patient", number)) for number in ("", "1")] == [0, 16]


# --- Blacking out in the stored pixel values ---
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


def test_boxes_are_cut_to_the_image_and_two_may_cover_one_together() -> None:
    boxes = [(-5, -5, 10, 10), (95, 45, 50, 50), (200, 0, 5, 5), (0, 0, 0, 4)]
    assert boxes_within(boxes, columns=100, rows=50) == [(0, 0, 5, 5), (95, 45, 5, 5)]
    assert is_covered((0, 0, 10, 10), [(0, 0, 5, 10), (5, 0, 5, 10)])
    assert not is_covered((0, 0, 10, 10), [(0, 0, 5, 10)])


# --- Parts of an image around the text that was found in it ---
@pytest.mark.parametrize(
    ("boxes", "size", "crops"),
    [
        pytest.param(
            [(500, 900, 200, 30), (100, 100, 300, 40)],
            (1000, 1000),
            [(76, 76, 348, 88), (482, 882, 236, 66)],
            id="each with what lies around it",
        ),
        pytest.param(
            [(100, 100, 300, 40), (700, 700, 50, 40), (100, 190, 200, 40), (120, 145, 90, 40)],
            (1000, 1000),
            [(76, 76, 348, 178), (676, 676, 98, 88)],
            id="what lies close together once",
        ),
        pytest.param([(0, 0, 20, 8), (70, 55, 40, 8)], (80, 60), [(0, 0, 25, 13), (65, 50, 15, 10)], id="within it"),
        pytest.param([(500, 500, 9, 9)], (80, 60), [], id="beside it"),
        pytest.param([], (80, 60), [], id="none"),
    ],
)
def test_crops_around_boxes(boxes: list[Box], size: tuple[int, int], crops: list[Box]) -> None:
    assert crops_around(boxes, columns=size[0], rows=size[1]) == crops
