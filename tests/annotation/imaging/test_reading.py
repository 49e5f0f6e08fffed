"""What comes in, what stays out, and which attributes a file may bring."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence
from pydicom.uid import RLELossless

from annotation.enums import Sex, ViewPosition
from annotation.imaging.kernels.attributes import Window, age_in_years
from annotation.imaging.kernels.codestreams import SENTENCES, WARNINGS, ImageRefused
from annotation.imaging.kernels.decoding import JPEG_2000_LOSSLESS, JPEG_BASELINE, JPEG_LS_LOSSLESS
from annotation.imaging.kernels.image_files import SourceImage, SourceKind, read_image
from annotation.imaging.kernels.rendering import as_8bit, prepare
from tests.annotation.imaging.dicomfiles import CR, as_bytes, chest, make_compressed, make_data_set, make_dicom
from tests.refusals import refuses

SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"


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
        ({"Modality": None, "SOPClassUID": SECONDARY_CAPTURE}, "modality"),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.1.2"}, "modality"),
        ({"NumberOfFrames": 2}, "frames"),
        ({"NumberOfFrames": 999999}, "frames"),
        ({"SamplesPerPixel": 3}, "samples"),
        ({"PhotometricInterpretation": None}, "photometric"),
        ({"PhotometricInterpretation": "RGB"}, "samples"),
        ({"PhotometricInterpretation": "HSV", "SamplesPerPixel": 3}, "photometric"),
        ({"PhotometricInterpretation": "YBR_FULL_422", "SamplesPerPixel": 3}, "samples"),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "lookup_table"),
        ({"Rows": 0}, "size"),
        ({"Rows": 65535, "Columns": 65535}, "size"),
        ({"Rows": None}, "size"),
        ({"BitsAllocated": 64}, "bits"),
        ({"BitsStored": 17, "HighBit": 16}, "bits"),
        ({"HighBit": 20}, "high_bit"),
        ({"Rows": 71}, "truncated"),
        ({"Rows": 60}, "pixel_length"),
        ({"PixelData": None}, "not_an_image"),
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


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("LLAT", "LL"), ("RLAT", "RL"), ("CHEST PA", "PA"), ("PA CHEST", "PA"), ("AP SUPINE", "AP"),
        ("CHEST LAT", "lateral"),
        ("left lateral", "LL"), ("LAT RT", "RL"), ("POSTERO_ANTERIOR", "PA"), ("PA ERECT", "PA"), ("AP AXIAL", "AP"),
        ("A-P 2", "AP"), ("CHEST RAO", "oblique"), ("04", "unknown"), ("SUPINE", "unknown"), ("PA LAT", "unknown"),
        ("L5 LAT", "unknown"), ("LAT DECUBITUS", "unknown"), ("SALLY PA", "unknown"),
    ],
)  # fmt: skip
def test_a_view_in_words(text: str, view: str) -> None:
    image = read(ViewPosition=text)
    assert image.attributes.view_position == view
    assert image.warnings == (("view",) if view == "unknown" else ())
    assert image.identifiers.missed_view == (text if view == "unknown" else "")


def coded(value: str, meaning: str = "") -> Sequence:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "SNM3", meaning
    return Sequence([item])


@pytest.mark.parametrize(
    ("value", "meaning", "view"),
    [
        ("R-10206", "", "AP"), ("R-10214", "", "PA"), ("272479007", "", "PA"), ("399348003", "", "AP"),
        ("R-10236", "", "LL"),
        ("399173006", "", "LL"), ("R-10232", "", "RL"), ("399067008", "", "lateral"), ("R-102CD", "", "lateral"),
        ("399135007", "", "oblique"), ("X1", "postero-anterior", "PA"), ("R-10202", "frontal", "unknown"),
    ],
)  # fmt: skip
def test_a_view_in_a_code(value: str, meaning: str, view: str) -> None:
    image = read(ViewPosition="", ViewCodeSequence=coded(value, meaning))
    assert image.attributes.view_position == view
    assert image.identifiers.missed_view == (value if view == "unknown" else "")
    assert read(ViewPosition="AP", ViewCodeSequence=coded("R-10214")).attributes.view_position == "AP"


def test_a_view_in_the_name_of_a_menu() -> None:
    menu = read(ViewPosition=None, AcquisitionDeviceProcessingDescription="CHEST,LAT")
    assert (menu.attributes.view_position, menu.warnings) == ("lateral", ())
    other = read(ViewPosition=None, AcquisitionDeviceProcessingDescription="SALLY")
    assert (other.attributes.view_position, other.warnings, other.identifiers.missed_view) == ("unknown", (), "")


def test_a_view_that_is_no_code_string_is_not_repeated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = read(ViewPosition="Sally Secret, born 1961")
    assert image.identifiers.missed_view == "?"


def test_class_and_uid_may_stand_in_the_file_meta_alone() -> None:
    """As VinDr-CXR releases its files; they have no modality either."""
    made = make_data_set(chest(), SOPClassUID=None, SOPInstanceUID=None, StudyInstanceUID=None, Modality=None)
    made.ImageType = ["ORIGINAL", "PRIMARY"]
    image = read_image(as_bytes(made))
    assert (image.attributes.modality, image.identifiers.sop_uid) == ("CR", "1.2")
    with refuses(ImageRefused, "modality"):
        read_image(as_bytes(made, header=False))
    made.Modality = "CR"
    with refuses(ImageRefused, "uid"):
        read_image(as_bytes(made, header=False))


@pytest.mark.parametrize("sop_class", [CR, SECONDARY_CAPTURE])
def test_digitised_film_comes_in(sop_class: str) -> None:
    assert read(Modality="RG", SOPClassUID=sop_class).attributes.modality == "RG"


@pytest.mark.parametrize(
    ("syntax", "code"), [("1.2.840.10008.1.2.2", "big_endian"), ("1.2.840.10008.1.2.4.110", "jpeg_xl")]
)
def test_a_transfer_syntax_that_is_not_read_is_named(syntax: str, code: str) -> None:
    data = make_dicom()
    longer = syntax.encode() + b"\0" * (len(syntax) % 2)
    at = data.index(EXPLICIT := b"1.2.840.10008.1.2.1\0")
    data = data[: at - 2] + len(longer).to_bytes(2, "little") + longer + data[at + len(EXPLICIT) :]
    with refuses(ImageRefused, code):
        read_image(data)


GREY = (chest(top=255) // 2 + 60).astype(np.uint8)
CHROMA = np.full_like(GREY, 128)
COLOURED: dict[str, tuple[NDArray[np.uint8], ...]] = {"RGB": (GREY, GREY, GREY), "YBR_FULL": (GREY, CHROMA, CHROMA)}


def coloured(kind: str, planes: tuple[NDArray[np.uint8], ...], *, is_planar: bool = False) -> Dataset:
    pixels = np.stack(planes, axis=0 if is_planar else 2)
    made = make_data_set(GREY, bits=8, SamplesPerPixel=3, PhotometricInterpretation=kind, PixelData=pixels.tobytes())
    made.PlanarConfiguration = int(is_planar)
    return made


@pytest.mark.parametrize("is_planar", [False, True])
@pytest.mark.parametrize("kind", COLOURED)
def test_a_grey_picture_kept_in_colour_comes_in_and_a_coloured_one_does_not(kind: str, is_planar: bool) -> None:
    made = coloured(kind, COLOURED[kind], is_planar=is_planar)
    image = read_image(as_bytes(made))
    assert np.array_equal(image.pixels, GREY)
    assert (image.attributes.bits_stored, image.attributes.windows) == (8, ())
    with refuses(ImageRefused, "samples"):
        read_image(as_bytes(coloured(kind, (*COLOURED[kind][:2], CHROMA + 40), is_planar=is_planar)))


def test_a_grey_picture_in_run_lengths_of_colour_comes_in() -> None:
    made = coloured("YBR_FULL", COLOURED["YBR_FULL"])
    as_bytes(made)
    made.compress(RLELossless, generate_instance_uid=False)
    assert np.array_equal(read_image(as_bytes(made, RLELossless)).pixels, GREY)


@pytest.mark.parametrize(
    ("syntax", "kind"),
    [
        (JPEG_BASELINE, "RGB"),
        (JPEG_BASELINE, "YBR_FULL_422"),
        (JPEG_2000_LOSSLESS, "YBR_RCT"),
        (JPEG_LS_LOSSLESS, "RGB"),
    ],
)
def test_a_grey_picture_in_compressed_colour_comes_in(syntax: str, kind: str) -> None:
    pixels = np.stack(COLOURED["RGB"], axis=2)
    frame = {
        "RGB": lambda: imagecodecs.jpeg8_encode(pixels, level=98, colorspace="RGB", outcolorspace="RGB"),
        "YBR_FULL_422": lambda: imagecodecs.jpeg8_encode(pixels, level=98, subsampling="422"),
        "YBR_RCT": lambda: imagecodecs.jpeg2k_encode(pixels, level=0, codecformat="j2k", mct=True),
    }[kind]() if syntax != JPEG_LS_LOSSLESS else imagecodecs.jpegls_encode(pixels)  # fmt: skip
    values = {"bits": 8, "SamplesPerPixel": 3, "PhotometricInterpretation": kind, "PlanarConfiguration": 0}
    image = read_image(make_compressed(bytes(frame), syntax, GREY, **values))
    assert np.abs(image.pixels.astype(int) - GREY).max() <= (8 if syntax == JPEG_BASELINE else 0)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_picture_with_a_grey_palette_comes_in(bits: int) -> None:
    entries = (np.arange(256) * (257 if bits == 16 else 1)).astype(np.uint16)[::-1]
    made = make_data_set(GREY, bits=8, PhotometricInterpretation="PALETTE COLOR")
    for n in range(3):
        made.add_new(0x00281101 + n, "US", [256, 0, bits])
        made.add_new(0x00281201 + n, "OW", entries.astype("<u2").tobytes())
    image = read_image(as_bytes(made))
    assert np.array_equal(image.pixels, entries[GREY])
    assert (image.attributes.bits_stored, image.attributes.windows) == (bits, ())
    made[0x00281203].value = entries[::-1].astype("<u2").tobytes()
    with refuses(ImageRefused, "samples"):
        read_image(as_bytes(made))


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
        ({"PixelData": chest().tobytes() + bytes(512)}, "padding"),
        ({"PixelData": chest().tobytes() + b"\1\2\3\4"}, "padding"),
    ],
)
def test_what_is_odd_comes_in_with_a_warning(values: dict[str, Any], warning: str) -> None:
    image = read(**values)
    assert image.warnings == (warning,)
    assert WARNINGS[warning]
    assert (image.attributes.slope, image.attributes.intercept) == (1.0, 0.0)


def test_a_window_for_the_bits_that_were_named_is_not_used_for_those_that_are_held() -> None:
    image = read(pixels=chest() * 16)
    assert (image.attributes.windows, image.warnings) == ((), ("bits_stored", "window"))
    assert read(pixels=chest() * 16, WindowCenter="32768", WindowWidth="65536").warnings == ("bits_stored",)


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


# --- Files that hold what public trackers report of DICOM in the field: each comes in right, or is refused by name ---
REFUSED = {"13_big_endian": "big_endian", "14_jxl": "jpeg_xl"}
WARNED = {
    "01_voilut_declares16_holds12": "voi_lut_bits",
    "01b_voilut_declares16_holds12_with_window": "voi_lut_bits",
    "04_bitsstored12_values16": "bits_stored",
    "06_excess_padding_512": "padding",
}
TURNS = {"11_PatientOrientation_RF": "mirrored", "11c_PatientOrientation_LH_upside_down": "upended"}
VIEWS = {
    "10_view_by_code_sequence_lateral": "lateral",
    "40_vindr_style_header": "unknown",  # states none
    "40b_vindr_style_plus_modality": "unknown",
    "42_fuji_view_in_processing_description": "lateral",
}


@pytest.fixture
def cases(shared_data: Path) -> dict[str, bytes]:
    files = sorted((shared_data.parent / "cases" / "dicom").glob("*.dcm"))
    if not files:
        pytest.skip("the case files (../shared/cases/dicom) are not on this machine")
    return {path.stem: path.read_bytes() for path in files}


def test_every_case_shows_the_same_phantom_or_is_refused_by_name(cases: dict[str, bytes]) -> None:
    right = as_8bit(*prepare(read_image(cases["10_view_by_code_sequence_lateral"]))).astype(int)
    for name, data in cases.items():
        if name in REFUSED:
            with pytest.raises(ImageRefused) as caught:
                read_image(data)
            assert caught.value.code == REFUSED[name], name
            continue
        image = read_image(data)
        assert np.abs(as_8bit(*prepare(image)).astype(int) - right).max() <= 1, name
        assert image.warnings == ((WARNED[name],) if name in WARNED else ()), name
        assert image.attributes.turn == TURNS.get(name, ""), name
        assert image.attributes.view_position == VIEWS.get(name, "PA"), name
