"""Simulated chest radiographs for the demonstration: no patient, no dose, no licence to ask for.

A three-dimensional chest is described in ``phantom_thorax``, ``phantom_lungs`` and ``phantom_skeleton``, seen along
parallel rays by ``phantom_projection`` (Beer-Lambert, scatter, quantum noise) and written here as 12-bit DICOM.
Everything follows from the :class:`ChestSpec`; the same spec gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import (
    UID,
    ComputedRadiographyImageStorage,
    DigitalXRayImageStorageForPresentation,
    ExplicitVRLittleEndian,
)

from annotation.demonstration.kernels.phantom_devices import OPAQUE, TRACHEA_Y, devices, marker_letter
from annotation.demonstration.kernels.phantom_lungs import Air, Tubes, grow_vessels, inflate
from annotation.demonstration.kernels.phantom_projection import (
    BONE,
    FRONTAL,
    LATERAL,
    PITCH,
    WATER,
    Plane,
    capsule,
    expose,
    fractal,
    onto_plane,
    process,
    quantise,
    splat_points,
    splat_tubes,
)
from annotation.demonstration.kernels.phantom_skeleton import hanging_arms, skeleton
from annotation.demonstration.kernels.phantom_spec import ChestSpec, Projection
from annotation.demonstration.kernels.phantom_thorax import (
    CARINA,
    D_AXIS,
    X_AXIS,
    Array,
    Build,
    build_of,
    curve,
    half_width,
    heart_reach,
)

Photometric = Literal["MONOCHROME1", "MONOCHROME2"]
UID_ROOT = "1.2.826.0.1.3680043.10.1338"


@dataclass(frozen=True)
class Patient:
    """A simulated patient, ready to be seen from any side."""

    spec: ChestSpec
    build: Build
    air: Air
    vessels: Tubes
    bones: Array
    arms: Array


@lru_cache(maxsize=1)
def patient_of(spec: ChestSpec) -> Patient:
    """Build ``spec``'s patient; the last one is kept, since both views of an exam need it."""
    build = build_of(spec)
    air = inflate(spec, build)
    bones, arms = _sheared(skeleton(spec, build), build), _sheared(hanging_arms(spec, build), build)
    return Patient(spec, build, air, grow_vessels(spec, air), bones, arms)


def _sheared(points: Array, build: Build) -> Array:
    """A slight turn of the patient: a shear per view keeps each view's own depth order."""
    moved = points.copy()
    moved[:, 0] += points[:, 1] * build.rotation
    moved[:, 1] += points[:, 0] * build.tilt
    return moved


def cardiothoracic_masks(spec: ChestSpec) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Heart and inner thorax on the frontal plane, rows D_AXIS, columns X_AXIS."""
    build = build_of(spec)
    right, left = heart_reach(spec, build)
    widest_right, widest_left = right.max(axis=1)[:, None], left.max(axis=1)[:, None]
    heart = (X_AXIS[None] >= -widest_right) & (X_AXIS[None] <= widest_left)
    thorax = np.abs(X_AXIS[None]) <= half_width(D_AXIS, build)[:, None]
    return heart, thorax


def attenuation(patient: Patient, plane: Plane) -> Array:
    """Exponent of Beer-Lambert for each ray of ``plane``."""
    spec, build = patient.spec, patient.build
    rng = np.random.default_rng((spec.seed, 10 + plane.axis))
    air = onto_plane(plane, patient.air.frontal if plane.axis == 0 else patient.air.lateral)
    # Free air has no lung texture.
    mottle = 0.02 if spec.pneumothorax is None else 0.005
    water = _body(patient, plane, rng)
    tissue = water - air * (1 + mottle * fractal(plane.shape, rng, (5, 9, 16)))
    tubes = patient.vessels
    start, end = _sheared(tubes.start, build), _sheared(tubes.end, build)
    tissue += 1.0 * splat_tubes(plane, start, end, tubes.radius)
    tissue -= _airways(plane)
    bone = splat_points(plane, patient.bones)
    if plane.axis == 0:
        bone += splat_points(plane, patient.arms, 1.4)
    total = np.maximum(tissue, 0) * WATER + bone * BONE + devices(spec, build, plane)
    return np.asarray(total, dtype=np.float32)


def _airways(plane: Plane) -> Array:
    depths = np.linspace(-80, CARINA, 60, dtype=np.float32)
    middle = np.stack([1 + 0.02 * depths, curve(TRACHEA_Y, depths), depths], axis=1).astype(np.float32)
    trachea = splat_tubes(plane, middle[:-1], middle[1:], np.full(59, 7.6, np.float32))
    right = _bronchus(plane, [(1, 29, CARINA - 2), (-24, 33, CARINA + 24), (-37, 40, CARINA + 64)], 6.2)
    left = _bronchus(plane, [(5, 29, CARINA - 2), (28, 33, CARINA + 22), (47, 40, CARINA + 46)], 5.6)
    widest = np.maximum(np.maximum(trachea, right), left)
    return np.asarray(widest, dtype=np.float32)


def _bronchus(plane: Plane, knots: list[tuple[float, float, float]], radius: float) -> Array:
    at = np.linspace(0, 2, 50)
    path = np.stack([np.interp(at, (0, 1, 2), axis) for axis in zip(*knots, strict=True)], axis=1).astype(np.float32)
    return splat_tubes(plane, path[:-1], path[1:], np.linspace(radius, 1.2, 49).astype(np.float32))


_SKIN_BACK = ((-72, 74), (-40, 84), (0, 106), (50, 124), (120, 133), (200, 130), (300, 120), (370, 116))
_SKIN_FRONT = ((-72, -36), (-40, -38), (0, -46), (40, -66), (100, -98), (160, -113), (230, -121), (370, -124))
_SHOULDERS = (
    (-120, 60),
    (-62, 60),
    (-48, 66),
    (-38, 88),
    (-28, 122),
    (-16, 158),
    (0, 182),
    (30, 194),
    (70, 186),
    (120, 176),
    (180, 170),
    (260, 168),
    (400, 172),
)


def _body(patient: Patient, plane: Plane, rng: np.random.Generator) -> Array:
    """Chord of trunk, neck and arms in mm of water."""
    build = patient.build
    d = plane.rows()
    wall = 9 * (build.wall - 1)
    skin_back = curve(_SKIN_BACK, d) + wall
    skin_front = curve(_SKIN_FRONT, d) * build.depth - wall
    half = curve(_SHOULDERS, d) * build.width + wall
    power = 2.3
    middle, deep = ((skin_back + skin_front) / 2)[:, None], ((skin_back - skin_front) / 2)[:, None]
    if plane.axis == 0:
        chord = 2 * deep * np.maximum(1 - np.abs(plane.columns()[None] / half[:, None]) ** power, 0) ** (1 / power)
    else:
        narrow = np.minimum(half, 152 * build.width + wall) + 12 * np.exp(-(((d + 6) / 26) ** 2))
        rest = np.maximum(1 - np.abs((plane.columns()[None] - middle) / deep) ** power, 0)
        chord = 2 * narrow[:, None] * rest ** (1 / power)
        chord = chord + _arms(plane)
    chord = chord + _breasts(patient, plane, skin_front)
    chord *= 1 + 0.012 * fractal(plane.shape, rng, (28, 60, 130))
    return np.asarray(chord * 0.97, dtype=np.float32)


def _breasts(patient: Patient, plane: Plane, skin_front: Array) -> Array | float:
    if patient.spec.sex == "M":
        return 0.0
    rng = np.random.default_rng((patient.spec.seed, 4))
    low, size = 196 + rng.uniform(-8, 14), rng.uniform(26, 46)
    d, total = plane.rows()[:, None], np.zeros(plane.shape, np.float32)
    for sign in (-1, 1):
        if plane.axis == 0:
            across = (plane.columns()[None] - sign * 80) / 66
            down = (d - low) / np.where(d > low, 44, 78)
            total += size * np.maximum(1 - across**2 - down**2, 0) ** 0.75
        else:
            skin = skin_front[:, None] + 14
            out = (skin - plane.columns()[None]) / (size + 8)
            down = (d - low - sign * 3) / np.where(d > low, 42, 80)
            total += 66 * np.maximum(1 - out**2 - down**2, 0) ** 1.2
    return np.asarray(total, dtype=np.float32)


def _arms(plane: Plane) -> Array:
    """Raised arms of the lateral view."""
    one = capsule(plane, (0, 40, 0), (0, -210, -84), 46)
    other = capsule(plane, (0, 50, 12), (0, -210, -46), 44)
    bones = capsule(plane, (0, -20, -24), (0, -210, -86), 11) + capsule(plane, (0, -20, -12), (0, -210, -48), 10)
    return np.asarray(0.48 * (one + 0.8 * other) + 0.45 * bones, dtype=np.float32)


def pixels_of(
    spec: ChestSpec, view: Projection, marker: Literal["R", "L", ""] = "R"
) -> tuple[NDArray[np.uint16], float, float]:
    """Detector values (more absorption, higher value) with window centre and width."""
    patient = patient_of(spec)
    plane = FRONTAL if view == "PA" else LATERAL
    rng = np.random.default_rng((spec.seed, 20 + plane.axis))
    rays = attenuation(patient, plane)
    if spec.mirrored and plane.axis == 0:
        rays = np.ascontiguousarray(rays[:, ::-1])
    _stamp(rays, marker, plane, rng)
    signal = process(expose(rays, rng), flatten=0.34 if view == "PA" else 0.22, detail=0.55)
    values, centre, width = quantise(signal, 99.5 if view == "PA" else 96.5)
    return (values * _shutter(values.shape, rng)).astype(np.uint16), centre, width


def _stamp(rays: Array, marker: str, plane: Plane, rng: np.random.Generator) -> None:
    height, from_top, from_side = (float(value) for value in rng.uniform((15, 14, 14), (18, 22, 24)))
    if not marker:
        return
    letter = marker_letter(marker, height)
    size, top, from_edge = letter.shape[0], int(from_top / PITCH), int(from_side / PITCH)
    left = from_edge if marker == "R" or plane.axis == 1 else plane.shape[1] - from_edge - size
    rays[top : top + size, left : left + size] += OPAQUE * letter


def _shutter(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The collimated field with a soft edge; some exams are open to the edge of the detector."""
    if rng.uniform() < 0.35:
        return np.ones(shape, np.float32)
    v = np.arange(shape[0], dtype=np.float32)[:, None]
    u = np.arange(shape[1], dtype=np.float32)[None]
    slope = np.float32(rng.uniform(-0.006, 0.006))
    inset = rng.uniform(8, 34, 4).astype(np.float32)
    rising = np.minimum(v - inset[0] + slope * u, shape[0] - inset[1] - v - slope * u)
    crossing = np.minimum(u - inset[2] - slope * v, shape[1] - inset[3] - u + slope * v)
    inside = np.clip(np.minimum(rising, crossing) / np.float32(3), 0, 1)
    return np.asarray(inside, dtype=np.float32)


def phantom_dicom(
    spec: ChestSpec,
    view: Projection,
    *,
    photometric: Photometric = "MONOCHROME2",
    modality: Literal["DX", "CR"] = "DX",
    marker: Literal["R", "L", ""] = "R",
    study_uid: str = f"{UID_ROOT}.1",
    patient_number: str = "SIM00001",
) -> bytes:
    """One view of ``spec``'s chest as a DICOM file; bones are white in either photometric interpretation."""
    values, centre, width = pixels_of(spec, view, marker)
    if photometric == "MONOCHROME1":
        values, centre = (4095 - values).astype(np.uint16), 4095 - centre
    number = 1 if view == "PA" else 2
    dataset = _dataset(f"{study_uid}.{number}", study_uid, modality)
    dataset.PatientID = patient_number
    dataset.PatientSex = spec.sex
    dataset.PatientAge = f"{spec.age:03d}Y"
    dataset.ViewPosition = view
    dataset.InstanceNumber = number
    dataset.PhotometricInterpretation = photometric
    dataset.PresentationLUTShape = "INVERSE" if photometric == "MONOCHROME1" else "IDENTITY"
    dataset.WindowCenter, dataset.WindowWidth = f"{centre:.1f}", f"{width:.1f}"
    dataset.Rows, dataset.Columns = values.shape
    dataset.PixelData = values.astype("<u2").tobytes()
    buffer = BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def _dataset(instance_uid: str, study_uid: str, modality: str) -> Dataset:
    meta = FileMetaDataset()
    storage = DigitalXRayImageStorageForPresentation if modality == "DX" else ComputedRadiographyImageStorage
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = storage, UID(instance_uid)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SOPClassUID, dataset.SOPInstanceUID = storage, instance_uid
    dataset.StudyInstanceUID, dataset.SeriesInstanceUID = study_uid, f"{study_uid}.0"
    dataset.Modality, dataset.Manufacturer = modality, "Simulated"
    dataset.BodyPartExamined, dataset.BurnedInAnnotation = "CHEST", "NO"
    dataset.PatientOrientation = ["L", "F"] if instance_uid.endswith(".1") else ["P", "F"]
    dataset.PixelSpacing = [PITCH / 2, PITCH / 2]
    dataset.ImagerPixelSpacing = [PITCH / 2, PITCH / 2]
    dataset.SamplesPerPixel, dataset.BitsAllocated, dataset.BitsStored = 1, 16, 12
    dataset.HighBit, dataset.PixelRepresentation = 11, 0
    dataset.RescaleIntercept, dataset.RescaleSlope = "0", "1"
    return dataset
