"""Small DICOM files made for the tests: a CR of a chest that nobody has."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import UID, ExplicitVRLittleEndian

CR = "1.2.840.10008.5.1.4.1.1.1"


def chest(rows: int = 70, columns: int = 80, *, top: int = 4095, seed: int = 1) -> NDArray[np.uint16]:
    """A noisy slope, 12 bit unless `top` says otherwise."""
    noise = np.random.default_rng(seed).integers(0, max(top // 16, 2), (rows, columns))
    slope = np.linspace(0, top * 0.9, rows * columns).reshape(rows, columns)
    return np.minimum(slope + noise, top).astype(np.uint16)


def make_data_set(pixels: NDArray[Any] | None = None, *, bits: int = 12, **values: Any) -> Dataset:
    """A CR of a chest, PA. Keywords set attributes; None leaves one out."""
    pixels = chest() if pixels is None else pixels
    given: dict[str, Any] = {
        "SOPClassUID": CR,
        "SOPInstanceUID": "1.2.3.4",
        "StudyInstanceUID": "1.2.3",
        "PatientID": "MRN-0001",
        "PatientName": "Secret^Sally",
        "PatientSex": "F",
        "PatientAge": "061Y",
        "Modality": "CR",
        "BodyPartExamined": "CHEST",
        "ViewPosition": "PA",
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "BitsAllocated": 8 * pixels.dtype.itemsize,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        "WindowCenter": "2048",
        "WindowWidth": "4096",
        "PixelData": pixels.tobytes(),
        **values,
    }
    made = Dataset()
    for keyword, value in given.items():
        if value is not None:
            setattr(made, keyword, value)
    if "PixelData" in made:
        made["PixelData"].VR = "OW"
    return made


def as_bytes(made: Dataset, transfer_syntax: str = ExplicitVRLittleEndian, *, header: bool = True) -> bytes:
    """The file of a data set; without its header when asked."""
    made.file_meta = FileMetaDataset()
    made.file_meta.MediaStorageSOPClassUID = made.get("SOPClassUID", CR)
    made.file_meta.MediaStorageSOPInstanceUID = made.get("SOPInstanceUID", "1.2")
    made.file_meta.TransferSyntaxUID = UID(transfer_syntax)
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    data = stream.getvalue()
    if header:
        return data
    group_length = int.from_bytes(data[140:144], "little")
    return data[144 + group_length :]


def make_dicom(pixels: NDArray[Any] | None = None, **values: Any) -> bytes:
    return as_bytes(make_data_set(pixels, **values))


def make_compressed(frame: bytes, transfer_syntax: str, pixels: NDArray[Any], **values: Any) -> bytes:
    made = make_data_set(pixels, **values, PixelData=encapsulate([frame]))
    made["PixelData"].VR = "OB"
    made["PixelData"].is_undefined_length = True
    return as_bytes(made, transfer_syntax)
