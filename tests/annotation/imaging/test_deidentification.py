"""The new object holds nothing but pixels and the allowlist."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

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
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set
from tests.annotation.imaging.test_windowing import CURVE, lut

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


def test_nothing_that_tells_survives() -> None:
    data, _made = rebuilt(read_image(telling_file()))
    lowered = data.upper()
    assert not [secret for secret in SECRETS if secret.encode() in lowered]
    assert data[:128] == bytes(128)


def test_the_procedure_is_named_in_the_object() -> None:
    _data, made = rebuilt(read_image(telling_file()))
    assert made.PatientIdentityRemoved == "YES"
    assert made.DeidentificationMethod[0].startswith(VERSION)
    assert [item.CodeValue for item in made.DeidentificationMethodCodeSequence] == ["113100", "113108"]
    assert made.LongitudinalTemporalInformationModified == "REMOVED"
    assert (made.PatientAge, made.PatientSex) == ("090Y", "F")


def test_only_allowed_attributes_are_there() -> None:
    _data, made = rebuilt(read_image(telling_file()))
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


def test_a_uid_is_a_valid_one() -> None:
    for value in ("a", "b", "c"):
        uid = pydicom.uid.UID(keyed_uid(KEY, "image", value))
        assert uid.is_valid
        assert len(uid) <= 44


def test_no_number_has_no_pseudonym() -> None:
    assert keyed_pseudonym(KEY, "patient", "") == ""
    assert len(keyed_pseudonym(KEY, "patient", "1")) == 16
