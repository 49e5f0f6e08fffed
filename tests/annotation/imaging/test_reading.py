"""What comes in, what stays out, and which attributes a file may bring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annotation.enums import Sex, ViewPosition
from annotation.imaging.kernels.attributes import Window, age_in_years
from annotation.imaging.kernels.codestreams import SENTENCES, WARNINGS, ImageRefused
from annotation.imaging.kernels.image_files import SourceImage, SourceKind, read_image
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_data_set, make_dicom


def read(**values: Any) -> SourceImage:
    return read_image(make_dicom(**values))


def test_a_chest_radiograph_comes_in() -> None:
    image = read()
    assert image.kind is SourceKind.DICOM
    assert np.array_equal(image.pixels, chest())
    attributes = image.attributes
    assert (attributes.view_position, attributes.sex, attributes.age_years) == (ViewPosition.PA, Sex.FEMALE, 61)
    assert attributes.windows == (Window(2048.0, 4096.0),)
    assert image.identifiers.study_uid == "1.2.3"
    assert image.warnings == ()


def test_a_file_without_header_comes_in_with_a_warning() -> None:
    image = read_image(as_bytes(make_data_set(), "1.2.840.10008.1.2", header=False))
    assert np.array_equal(image.pixels, chest())
    assert image.warnings == ("no_header",)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"Modality": "CT"}, "modality"),
        ({"Modality": None}, "modality"),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.1.2"}, "modality"),
        ({"NumberOfFrames": 2}, "frames"),
        ({"NumberOfFrames": 999999}, "frames"),
        ({"SamplesPerPixel": 3}, "samples"),
        ({"PhotometricInterpretation": None}, "photometric"),
        ({"PhotometricInterpretation": "RGB"}, "photometric"),
        ({"Rows": 0}, "size"),
        ({"Rows": 65535, "Columns": 65535}, "size"),
        ({"Rows": None}, "size"),
        ({"BitsAllocated": 64}, "bits"),
        ({"BitsStored": 17, "HighBit": 16}, "bits"),
        ({"HighBit": 20}, "high_bit"),
        ({"Rows": 71}, "truncated"),
        ({"Rows": 60}, "pixel_length"),
        ({"PixelData": None}, "not_an_image"),
        ({"SOPInstanceUID": None}, "uid"),
        ({"SOPInstanceUID": "../../tmp/owned"}, "uid"),
        ({"SOPInstanceUID": "1' OR '1'='1"}, "uid"),
        ({"StudyInstanceUID": "1." * 40}, "uid"),
        ({"PixelRepresentation": 1}, "signed"),
    ],
)
def test_what_is_not_a_radiograph_of_one_frame_is_refused(values: dict[str, Any], code: str) -> None:
    with pytest.raises(ImageRefused) as caught:
        read(**values)
    assert caught.value.code == code
    assert caught.value.sentence == SENTENCES[code]


@pytest.mark.parametrize("data", [b"", b"x", b"%PDF-1.4", b"<svg/>", b"BM" * 40])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ImageRefused) as caught:
        read_image(data)
    assert caught.value.code in ("empty", "format")


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        ({"BodyPartExamined": "HAND"}, "body_part"),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.1.1.1", "Modality": "DX"}, "for_processing"),
        ({"WindowWidth": "0"}, "window"),
        ({"WindowCenter": "1e309"}, "window"),
        ({"RescaleSlope": "0", "RescaleIntercept": "5"}, "rescale"),
        ({"LossyImageCompression": "01"}, "lossy"),
        ({"BitsStored": 10, "HighBit": 9}, "bits_stored"),
    ],
)
def test_what_is_odd_comes_in_with_a_warning(values: dict[str, Any], warning: str) -> None:
    image = read(**values)
    assert image.warnings == (warning,)
    assert WARNINGS[warning]
    assert (image.attributes.slope, image.attributes.intercept) == (1.0, 0.0)


def test_an_overlay_that_the_file_names_is_not_read_as_values() -> None:
    made = make_data_set(chest() | 0x8000)
    made.add_new(0x60020100, "US", 16)
    image = read_image(as_bytes(made))
    assert np.array_equal(image.pixels, chest())
    assert image.warnings == ()


def test_signed_values_are_told_by_a_window_of_rescaled_values() -> None:
    pixels = np.where(chest() > 2047, np.uint16(3500), np.uint16(900))
    values = {"PixelRepresentation": 1, "RescaleSlope": "-1", "RescaleIntercept": "2048", "WindowWidth": "4096"}
    image = read_image(make_dicom(pixels, **values, WindowCenter="2048"))
    assert np.unique(image.pixels).tolist() == [3500 - 4096, 900]
    with pytest.raises(ImageRefused):
        read_image(make_dicom(pixels, **values, WindowCenter="0"))


def test_free_text_cannot_travel_in_a_coded_field() -> None:
    attributes = read(
        ViewPosition="SALLY", BodyPartExamined="SALLY", PatientSex="S", ImageLaterality="S", VOILUTFunction="SALLY"
    ).attributes
    assert "SALLY" not in repr(attributes)
    assert attributes.view_position is ViewPosition.UNKNOWN
    assert attributes.sex is Sex.UNKNOWN


@pytest.mark.parametrize(
    ("text", "years"),
    [("061Y", 61), ("089Y", 89), ("090Y", 90), ("094Y", 90), ("018M", 1), ("002D", 0), ("61", None), ("", None)],
)
def test_age_is_whole_years_and_capped(text: str, years: int | None) -> None:
    assert age_in_years(text) == years


def test_spacing_counts_as_calibrated_only_when_the_file_says_so() -> None:
    at_detector = read(ImagerPixelSpacing=["0.14", "0.14"], PixelSpacing=["0.14", "0.14"]).attributes
    assert (at_detector.spacing, at_detector.spacing_calibrated) == ((0.14, 0.14), False)
    magnified = read(ImagerPixelSpacing=["0.14", "0.14"], PixelSpacing=["0.12", "0.12"]).attributes
    assert (magnified.spacing, magnified.spacing_calibrated) == ((0.12, 0.12), True)
    stated = read(PixelSpacing=["0.2", "0.1"], PixelSpacingCalibrationType="FIDUCIAL").attributes
    assert (stated.spacing_calibrated, stated.aspect) == (True, 2.0)
    assert read(PixelSpacing=["0", "0"]).attributes.spacing is None


def test_no_sentence_has_room_for_a_value() -> None:
    assert not [text for text in (*SENTENCES.values(), *WARNINGS.values()) if "%" in text or "{" in text]
