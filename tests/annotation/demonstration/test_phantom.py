"""The simulated radiographs: true to their description, alike in either photometric interpretation, and repeatable."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray

from annotation.demonstration.kernels.phantom import patient_of, phantom_dicom
from annotation.demonstration.kernels.phantom_thorax import (
    D_AXIS,
    ChestSpec,
    Effusion,
    Nodule,
    Pneumothorax,
    build_of,
    half_width,
    heart_reach,
)

PLAIN = ChestSpec(seed=101)


def _displayed(data: bytes) -> NDArray[np.float64]:
    """Grey from 0 to 1 as a viewer shows it: the window, then the inversion of MONOCHROME1."""
    dataset = pydicom.dcmread(BytesIO(data))
    low = float(dataset.WindowCenter) - float(dataset.WindowWidth) / 2
    grey = np.clip((dataset.pixel_array.astype(float) - low) / float(dataset.WindowWidth), 0, 1)
    return 1 - grey if dataset.PhotometricInterpretation == "MONOCHROME1" else grey


@pytest.fixture(scope="module")
def plain_file() -> bytes:
    return phantom_dicom(PLAIN, "PA", modality="CR")


@pytest.fixture(scope="module")
def plain(plain_file: bytes) -> NDArray[np.float64]:
    return _displayed(plain_file)


def _at(image: NDArray[np.float64], x_mm: float, d_mm: float, size_mm: float = 12) -> float:
    """Mean grey of a square of the frontal view, in the patient's millimetres."""
    row, column, half = int((d_mm + 62) / 0.215), int((x_mm + 175) / 0.215), int(size_mm / 0.43)
    return float(image[row - half : row + half, column - half : column + half].mean())


@pytest.mark.parametrize("ratio", [0.40, 0.45, 0.58])
def test_the_widest_heart_over_the_widest_inner_thorax_is_the_ratio_described(ratio: float) -> None:
    spec = ChestSpec(seed=7, cardiothoracic_ratio=ratio)
    build = build_of(spec)
    right, left = heart_reach(spec, build)
    widest = right.max() + left.max()
    assert widest / (2 * half_width(D_AXIS, build).max()) == pytest.approx(ratio, abs=0.001)


def test_the_frontal_view_is_a_twelve_bit_radiograph_of_useful_size(plain_file: bytes) -> None:
    dataset = pydicom.dcmread(BytesIO(plain_file))
    assert (dataset.Rows, dataset.Columns) == (2000, 1632)
    assert dataset.BitsStored == 12
    assert dataset.Modality == "CR"
    assert dataset.ViewPosition == "PA"
    assert dataset.Manufacturer == "Simulated"
    assert dataset.pixel_array.max() <= 4095


def test_lungs_are_darker_than_the_heart_and_the_heart_than_the_abdomen(plain: NDArray[np.float64]) -> None:
    lung, heart, abdomen = _at(plain, -90, 150), _at(plain, 45, 215), _at(plain, -80, 330)
    assert lung + 0.1 < heart < abdomen


def test_the_heart_and_the_gastric_bubble_are_on_the_patients_left(plain: NDArray[np.float64]) -> None:
    assert _at(plain, 66, 215) > _at(plain, -66, 215) + 0.1
    strip = plain[1480:1560]
    assert strip[:, 1060:1180].min() < strip[:, 450:570].min() - 0.1


@pytest.fixture(scope="module")
def ill() -> NDArray[np.float64]:
    """The same chest with an effusion on the right, and a nodule far above it."""
    effusions, nodules = (Effusion("right", 50),), (Nodule("right upper lobe", 14),)
    return _displayed(phantom_dicom(ChestSpec(seed=101, effusions=effusions, nodules=nodules), "PA"))


def test_an_effusion_whitens_its_costophrenic_angle_and_leaves_the_other(
    plain: NDArray[np.float64], ill: NDArray[np.float64]
) -> None:
    assert _at(ill, -132, 268, 8) > _at(plain, -132, 268, 8) + 0.15
    assert _at(ill, 132, 268, 8) == pytest.approx(_at(plain, 132, 268, 8), abs=0.06)


@pytest.mark.check
def test_a_pneumothorax_darkens_and_empties_the_space_around_the_lung(plain: NDArray[np.float64]) -> None:
    air = _displayed(phantom_dicom(ChestSpec(seed=101, pneumothorax=Pneumothorax("left", 36)), "PA"))
    assert _at(plain, 92, 66) == pytest.approx(_at(plain, -92, 66), abs=0.06)
    assert _at(air, 92, 66) < _at(air, -92, 66) - 0.1


def test_a_nodule_is_whiter_than_the_lung_around_it(ill: NDArray[np.float64]) -> None:
    assert _at(ill, -78, 78, 10) > _at(ill, -78, 104, 6) + 0.04


@pytest.mark.check
def test_the_lateral_view_has_its_spine_behind_and_looks_the_same_in_either_photometric_interpretation() -> None:
    one = _displayed(phantom_dicom(PLAIN, "LL", photometric="MONOCHROME1"))
    two = _displayed(phantom_dicom(PLAIN, "LL", photometric="MONOCHROME2"))
    assert np.abs(one - two).max() < 1e-9
    assert one.shape == (2000, 1488)
    assert one[1200, 250] < one[1200, 1000]


@pytest.mark.check
def test_the_same_description_gives_the_same_bytes_and_another_seed_others(plain_file: bytes) -> None:
    patient_of.cache_clear()
    assert phantom_dicom(PLAIN, "PA", modality="CR") == plain_file
    assert phantom_dicom(ChestSpec(seed=102), "PA", modality="CR") != plain_file


def test_the_side_marker_stands_on_its_own_side(plain: NDArray[np.float64]) -> None:
    left = _displayed(phantom_dicom(PLAIN, "PA", marker="L"))
    brighter = left[:400] - plain[:400]
    assert np.flatnonzero((brighter > 0.3).any(axis=0)).min() > 1232
    assert np.flatnonzero((brighter < -0.3).any(axis=0)).max() < 400
