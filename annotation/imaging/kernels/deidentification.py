"""A new DICOM object, built from decoded pixels and an allowlist. Nothing is copied from the file that came in.

Names, numbers, dates, places, free text, private groups, sequences, curves, overlays, icons, file meta, preamble and
trailing bytes cannot survive, because nothing reads them. The procedure is data with a version: an object says
which version made it (PS3.15 annex E).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import UID, ExplicitVRLittleEndian
from pydicom.valuerep import format_number_as_ds

from annotation.enums import ViewPosition
from annotation.hashes import keyed_digest, keyed_pseudonym
from annotation.imaging.kernels.attributes import CR, DX_PRESENTATION, LookupTable
from annotation.imaging.kernels.image_files import SourceImage

VERSION = "allowlist-3"  # since 2: VOI tables have the bits that they hold
METHODS = (
    "Rebuilt from decoded pixels and an allowlist",
    "UIDs replaced by keyed hashes",
    "Age in whole years, 90 and over as 90",
)
METHOD_CODES = (
    ("113100", "Basic Application Confidentiality Profile"),
    ("113108", "Retain Patient Characteristics Option"),
)
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
_IMPLEMENTATION_UID = "2.25.173839206017415238714207301523711306113"


@dataclass(frozen=True)
class KeyedNames:
    """What exam, series, image and patient are called from now on: keyed hashes, the same within an exam."""

    patient: str
    study_uid: str
    series_uid: str
    sop_uid: str


def keyed_uid(key: bytes, kind: str, value: str) -> str:
    """A UID under 2.25 from 122 bits of HMAC-SHA256, built as a UUID version 8 (PS3.5 B.2)."""
    number = int.from_bytes(keyed_digest(key, kind, value)[:16], "big")
    number = (number & ~(0xF << 76)) | (0x8 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    return f"2.25.{number}"


def keyed_names(key: bytes, source: SourceImage, *, exam: str, image: str) -> KeyedNames:
    """Names for one image of one exam. `exam` and `image` are what tells them apart at the source, or random text."""
    patient = keyed_pseudonym(key, "patient", source.identifiers.patient_id)
    return KeyedNames(
        patient or keyed_pseudonym(key, "exam", exam),
        keyed_uid(key, "study", exam),
        keyed_uid(key, "series", exam),
        keyed_uid(key, "image", image),
    )


Rule = Callable[[SourceImage], Any]

# The allowlist: keyword -> how its value is made. None leaves the attribute out. Change it only with a new VERSION.
ALLOWLIST: Mapping[str, Rule] = {
    "SOPClassUID": lambda s: {"CR": CR, "DX": DX_PRESENTATION}.get(s.attributes.modality, SECONDARY_CAPTURE),
    "Modality": lambda s: s.attributes.modality if s.attributes.modality in ("CR", "DX") else "OT",
    "ConversionType": lambda s: None if s.attributes.modality in ("CR", "DX") else "WSD",
    "BodyPartExamined": lambda s: "CHEST" if s.attributes.is_chest else None,
    "ViewPosition": lambda s: _view_code(s.attributes.view_position),
    "Laterality": lambda s: s.attributes.laterality or None,
    "PatientOrientation": lambda s: list(s.attributes.patient_orientation) or None,
    "PatientSex": lambda s: s.attributes.sex.value,
    "PatientAge": lambda s: None if s.attributes.age_years is None else f"{s.attributes.age_years:03d}Y",
    "SamplesPerPixel": lambda _s: 1,
    "PhotometricInterpretation": lambda s: "MONOCHROME1" if s.attributes.is_inverted else "MONOCHROME2",
    "Rows": lambda s: s.pixels.shape[0],
    "Columns": lambda s: s.pixels.shape[1],
    "BitsAllocated": lambda s: 8 * s.pixels.dtype.itemsize,
    "BitsStored": lambda s: s.attributes.bits_stored,
    "HighBit": lambda s: s.attributes.bits_stored - 1,
    "PixelRepresentation": lambda s: int(s.pixels.dtype.kind == "i"),
    "RescaleSlope": lambda s: None if s.attributes.modality_lut else _decimal(s.attributes.slope),
    "RescaleIntercept": lambda s: None if s.attributes.modality_lut else _decimal(s.attributes.intercept),
    "RescaleType": lambda s: None if s.attributes.modality_lut else "US",
    "ModalityLUTSequence": lambda s: _modality_lut_sequence(s),
    "WindowCenter": lambda s: _decimals(window.center for window in s.attributes.windows),
    "WindowWidth": lambda s: _decimals(window.width for window in s.attributes.windows),
    "VOILUTFunction": lambda s: s.attributes.voi_function if s.attributes.windows else None,
    "VOILUTSequence": lambda s: Sequence(_lut_item(lut) for lut in s.attributes.voi_luts) or None,
    "PixelPaddingValue": lambda s: s.attributes.padding[0] if s.attributes.padding else None,
    "PixelPaddingRangeLimit": lambda s: _range_limit(s.attributes.padding),
    "PixelSpacing": lambda s: _spacing(s, calibrated=True),
    "PixelSpacingCalibrationType": lambda s: "FIDUCIAL" if s.attributes.spacing_calibrated else None,
    "ImagerPixelSpacing": lambda s: _spacing(s, calibrated=False),
    "PixelAspectRatio": lambda s: _aspect_ratio(s),
    "LossyImageCompression": lambda s: "01" if s.attributes.lossy else "00",
}


def deidentified(source: SourceImage, names: KeyedNames, *, burned_in: bool | None) -> Dataset:
    """The new object. `burned_in` is what is known about text in its pixels; None leaves (0028,0301) out."""
    made = Dataset()
    for keyword, rule in ALLOWLIST.items():
        value = rule(source)
        if value is not None:
            setattr(made, keyword, value)
    for keyword in ("PatientName", "PatientBirthDate", "StudyDate", "StudyTime", "AccessionNumber", "StudyID"):
        setattr(made, keyword, "")
    made.ReferringPhysicianName = ""
    made.PatientID = names.patient
    made.StudyInstanceUID, made.SeriesInstanceUID = names.study_uid, names.series_uid
    made.SOPInstanceUID = names.sop_uid
    made.SeriesNumber, made.InstanceNumber = 1, 1
    made.PatientIdentityRemoved = "YES"
    made.DeidentificationMethod = [f"{VERSION}: {METHODS[0]}", *METHODS[1:]]
    made.DeidentificationMethodCodeSequence = Sequence(_code_item(*pair) for pair in METHOD_CODES)
    made.LongitudinalTemporalInformationModified = "REMOVED"
    if burned_in is not None:
        made.BurnedInAnnotation = "YES" if burned_in else "NO"
    pixels = np.ascontiguousarray(source.pixels).tobytes()
    made.PixelData = pixels + b"\0" * (len(pixels) % 2)
    made["PixelData"].VR = "OW" if source.pixels.dtype.itemsize == 2 else "OB"
    return made


def as_file(made: Dataset) -> bytes:
    """The object as a DICOM file: empty preamble, explicit little endian, nothing in its header but what must be."""
    made.file_meta = FileMetaDataset()
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID
    made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.file_meta.ImplementationClassUID = UID(_IMPLEMENTATION_UID)
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def _view_code(view: ViewPosition) -> str | None:
    return view.value if view in (ViewPosition.PA, ViewPosition.AP, ViewPosition.LL, ViewPosition.RL) else None


def _range_limit(padding: tuple[int, int] | None) -> int | None:
    return padding[1] if padding and padding[1] != padding[0] else None


def _spacing(source: SourceImage, *, calibrated: bool) -> list[str] | None:
    attributes = source.attributes
    if attributes.spacing is None or attributes.spacing_calibrated != calibrated:
        return None
    return _decimals(attributes.spacing)


def _aspect_ratio(source: SourceImage) -> list[int] | None:
    """The shape of a pixel where no spacing says it, as a ratio of whole numbers."""
    aspect = source.attributes.aspect
    if source.attributes.spacing or aspect == 1:
        return None
    return list(Fraction(aspect).limit_denominator(1000).as_integer_ratio())


def _decimals(values: Iterable[float]) -> list[str] | None:
    """Decimal Strings of at most 16 characters; None for an empty list."""
    return [_decimal(value) for value in values] or None


def _decimal(value: float) -> str:
    return format_number_as_ds(float(value))


def _modality_lut_sequence(source: SourceImage) -> Sequence | None:
    if source.attributes.modality_lut is None:
        return None
    item = _lut_item(source.attributes.modality_lut)
    item.ModalityLUTType = "US"
    return Sequence([item])


def _lut_item(lut: LookupTable) -> Dataset:
    item = Dataset()
    n_entries = len(lut.data) % 65536
    if lut.first < 0:  # one representation for all three numbers, though a count is never negative
        item.add_new(0x00283002, "SS", [n_entries - 65536 * (n_entries > 32767), lut.first, lut.bits])
    else:
        item.add_new(0x00283002, "US", [n_entries, lut.first, lut.bits])
    item.add_new(0x00283006, "OW", lut.data.astype("<u2").tobytes())
    return item


def _code_item(value: str, meaning: str) -> Dataset:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "DCM", meaning
    return item
