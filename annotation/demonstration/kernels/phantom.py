"""Simulated chest radiographs for the demonstration: no patient, no dose, no licence to ask for.

A three-dimensional chest is described in ``phantom_thorax`` and ``phantom_solids``, seen along parallel rays by
``phantom_projection`` (Beer-Lambert, scatter, quantum noise) and written here as 12-bit DICOM.
Everything follows from the :class:`ChestSpec`; the same spec gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ComputedRadiographyImageStorage, DigitalXRayImageStorageForPresentation, ExplicitVRLittleEndian

from annotation.demonstration.kernels import phantom_solids as seen
from annotation.demonstration.kernels import phantom_thorax as thorax
from annotation.demonstration.kernels.phantom_solids import FRONTAL, LATERAL, PITCH, TRACHEA_Y, Plane, devices, skeleton
from annotation.demonstration.kernels.phantom_thorax import (
    CARINA,
    Air,
    Array,
    Build,
    ChestSpec,
    Curve,
    Point,
    Projection,
    Tubes,
    curve,
)

Photometric = Literal["MONOCHROME1", "MONOCHROME2"]
Marker = Literal["R", "L", ""]
UID_ROOT = "1.2.826.0.1.3680043.10.1338"
OPAQUE = 3.2  # exponent of the lead of a side marker
_SKIN_BACK: Curve = (-72, -40, 0, 50, 120, 200, 300, 370), (74, 84, 106, 124, 133, 130, 120, 116)
_SKIN_FRONT: Curve = (-72, -40, 0, 40, 100, 160, 230, 370), (-36, -38, -46, -66, -98, -113, -121, -124)
_SHOULDERS: Curve = (
    (-120, -62, -48, -38, -28, -16, 0, 30, 70, 120, 180, 260, 400),
    (60, 60, 66, 88, 122, 158, 182, 194, 186, 176, 170, 168, 172),
)


@dataclass(frozen=True)
class Patient:
    """A simulated patient, ready to be seen from any side."""

    spec: ChestSpec
    build: Build
    air: Air
    vessels: Tubes
    bones: Array


@lru_cache(maxsize=1)
def patient_of(spec: ChestSpec) -> Patient:
    """Build ``spec``'s patient; the last one is kept, since both views of an exam need it."""
    build = thorax.build_of(spec)
    air = thorax.inflate(spec, build)
    vessels = thorax.grow_vessels(spec, air)
    turned = Tubes(_turned(vessels.start, build), _turned(vessels.end, build), vessels.radius)
    return Patient(spec, build, air, turned, _turned(skeleton(spec, build), build))


def _turned(points: Array, build: Build) -> Array:
    """A slight turn of the patient: a shear per view keeps each view's own depth order."""
    moved = points.copy()
    moved[:, 0] += points[:, 1] * build.rotation
    moved[:, 1] += points[:, 0] * build.tilt
    return moved


def attenuation(patient: Patient, plane: Plane) -> Array:
    """Exponent of Beer-Lambert for each ray of ``plane``."""
    spec = patient.spec
    rng = np.random.default_rng((spec.seed, 10 + plane.axis))
    air = seen.onto_plane(plane, patient.air.frontal if plane is FRONTAL else patient.air.lateral)
    mottle = 0.02 if spec.pneumothorax is None else 0.005  # free air has no lung texture
    tissue = _body(patient, plane, rng) - air * (1 + mottle * seen.fractal(plane.shape, rng, (5, 9, 16)))
    tissue += seen.splat_tubes(plane, *patient.vessels) - _airways(plane)
    bone = seen.splat_points(plane, patient.bones)
    total = np.maximum(tissue, 0) * seen.WATER + bone * seen.BONE + devices(spec, patient.build, plane)
    return np.asarray(total, dtype=np.float32)


def _airways(plane: Plane) -> Array:
    """Trachea and main bronchi."""
    depths = np.linspace(-80, CARINA, 60)
    trachea = np.stack([1 + 0.02 * depths, curve(TRACHEA_Y, depths), depths], axis=1)
    right: list[Point] = [(1, 29, CARINA - 2), (-24, 33, CARINA + 24), (-37, 40, CARINA + 64)]
    left: list[Point] = [(5, 29, CARINA - 2), (28, 33, CARINA + 22), (47, 40, CARINA + 46)]
    widest = seen.splat_path(plane, trachea, 7.6)
    for knots, radius in ((right, 6.2), (left, 5.6)):
        path = thorax.smooth_path(knots, 1.5)
        widest = np.maximum(widest, seen.splat_path(plane, path, np.linspace(radius, 1.2, len(path) - 1)))
    return widest


def _body(patient: Patient, plane: Plane, rng: np.random.Generator) -> Array:
    """Chord of trunk and neck in mm of water; arms are out of the field."""
    build, d = patient.build, plane.rows()[:, None]
    wall = 9 * (build.wall - 1)
    back, front = curve(_SKIN_BACK, d) + wall, curve(_SKIN_FRONT, d) * build.depth - wall
    half = curve(_SHOULDERS, d) * build.width + wall
    if plane.axis == 0:
        thick, out = back - front, plane.columns() / half
    else:
        narrow = np.minimum(half, 152 * build.width + wall) + 12 * np.exp(-(((d + 6) / 26) ** 2))
        thick, out = 2 * narrow, (plane.columns() - (back + front) / 2) / ((back - front) / 2)
    chord = thick * np.maximum(1 - np.abs(out) ** 2.3, 0) ** (1 / 2.3) + _breasts(patient.spec, plane, front)
    return np.asarray(chord * (1 + 0.012 * seen.fractal(plane.shape, rng, (28, 60, 130))) * 0.97, dtype=np.float32)


def _breasts(spec: ChestSpec, plane: Plane, front: Array) -> Array | float:
    if spec.sex == "M":
        return 0.0
    rng = np.random.default_rng((spec.seed, 4))
    low, size = 196 + rng.uniform(-8, 14), rng.uniform(26, 46)
    d, total = plane.rows()[:, None], np.zeros(plane.shape, np.float32)
    for sign in (-1, 1):
        down = (d - low - sign) / np.where(d > low, 44, 78)
        if plane.axis == 0:
            total += size * np.maximum(1 - ((plane.columns() - sign * 80) / 66) ** 2 - down**2, 0) ** 0.75
        else:
            out = (front + 14 - plane.columns()) / (size + 8)
            total += 66 * np.maximum(1 - out**2 - down**2, 0) ** 1.2
    return total


def pixels_of(spec: ChestSpec, view: Projection, marker: Marker = "R") -> tuple[NDArray[np.uint16], float, float]:
    """Detector values (more absorption, higher value) with window centre and width."""
    plane = FRONTAL if view == "PA" else LATERAL
    rng = np.random.default_rng((spec.seed, 20 + plane.axis))
    rays = attenuation(patient_of(spec), plane)
    if spec.mirrored and view == "PA":
        rays = np.ascontiguousarray(rays[:, ::-1])
    _stamp(rays, marker, rng)
    signal = seen.process(seen.expose(rays, rng), flatten=0.34 if view == "PA" else 0.22, detail=0.55)
    values, centre, width = seen.quantise(signal, 99.5 if view == "PA" else 96.5)
    return (values * _shutter(values.shape, rng)).astype(np.uint16), centre, width


def _stamp(rays: Array, marker: Marker, rng: np.random.Generator) -> None:
    """A letter of lead in the upper corner: ``R`` on the left of the picture, ``L`` on the right of a frontal view."""
    size, top, side = (int(value / PITCH) for value in rng.uniform((15, 14, 14), (18, 22, 24)))
    letter = Image.new("L", (4 * size, 4 * size))
    font = ImageFont.load_default(4.2 * size)
    ImageDraw.Draw(letter).text((2 * size, 2 * size), marker, 255, font, anchor="mm", stroke_width=size // 7)
    left = rays.shape[1] - side - size if marker == "L" and rays.shape == FRONTAL.shape else side
    lead = np.asarray(letter.resize((size, size), Image.Resampling.BOX), dtype=np.float32) / 255
    rays[top : top + size, left : left + size] += OPAQUE * lead


def _shutter(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The collimated field with a soft edge; some exams are open to the edge of the detector."""
    if rng.uniform() < 0.35:
        return np.ones(shape, np.float32)
    v, u = np.arange(shape[0], dtype=np.float32)[:, None], np.arange(shape[1], dtype=np.float32)
    slope, inset = rng.uniform(-0.006, 0.006), rng.uniform(8, 34, 4)
    rising = np.minimum(v - inset[0] + slope * u, shape[0] - inset[1] - v - slope * u)
    crossing = np.minimum(u - inset[2] - slope * v, shape[1] - inset[3] - u + slope * v)
    return np.asarray(np.clip(np.minimum(rising, crossing) / 3, 0, 1), dtype=np.float32)


def phantom_dicom(
    spec: ChestSpec,
    view: Projection,
    *,
    photometric: Photometric = "MONOCHROME2",
    modality: Literal["DX", "CR"] = "DX",
    marker: Marker = "R",
    study_uid: str = f"{UID_ROOT}.1",
    patient_number: str = "SIM00001",
) -> bytes:
    """One view of ``spec``'s chest as a DICOM file; bones are white in either photometric interpretation."""
    values, centre, width = pixels_of(spec, view, marker)
    if photometric == "MONOCHROME1":
        values, centre = (4095 - values).astype(np.uint16), 4095 - centre
    number = 1 if view == "PA" else 2
    dataset = _dataset(f"{study_uid}.{number}", study_uid, modality)
    dataset.PatientID, dataset.PatientSex, dataset.PatientAge = patient_number, spec.sex, f"{spec.age:03d}Y"
    dataset.ViewPosition, dataset.InstanceNumber = view, number
    dataset.PatientOrientation = ["L", "F"] if view == "PA" else ["P", "F"]
    dataset.PresentationLUTShape = "INVERSE" if photometric == "MONOCHROME1" else "IDENTITY"
    dataset.WindowCenter, dataset.WindowWidth = f"{centre:.1f}", f"{width:.1f}"
    dataset.set_pixel_data(values, photometric, bits_stored=12, generate_instance_uid=False)
    buffer = BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def _dataset(instance_uid: str, study_uid: str, modality: str) -> Dataset:
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    is_digital = modality == "DX"
    dataset.SOPClassUID = DigitalXRayImageStorageForPresentation if is_digital else ComputedRadiographyImageStorage
    dataset.SOPInstanceUID, dataset.StudyInstanceUID = instance_uid, study_uid
    dataset.SeriesInstanceUID, dataset.Modality = f"{study_uid}.0", modality
    dataset.Manufacturer, dataset.BodyPartExamined, dataset.BurnedInAnnotation = "Simulated", "CHEST", "NO"
    dataset.PixelSpacing = dataset.ImagerPixelSpacing = [PITCH / 2, PITCH / 2]
    dataset.RescaleIntercept, dataset.RescaleSlope = "0", "1"
    return dataset
