"""Tubes, lines and devices of a simulated chest, as metal thickness on an image plane."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw
from scipy.interpolate import CubicSpline

from annotation.demonstration.kernels.phantom_projection import PITCH, Plane, splat_tubes
from annotation.demonstration.kernels.phantom_spec import ChestSpec
from annotation.demonstration.kernels.phantom_thorax import CARINA, Array, Build, back_and_front, curve

Point = tuple[float, float, float]

_JUGULAR: list[Point] = [(-30, 14, -62), (-28, 0, -10), (-24, -14, 50), (-22, -14, 110), (-22, -14, 142)]
TRACHEA_Y = ((-90, 2), (-20, 8), (40, 20), (108, 30))


def devices(spec: ChestSpec, build: Build, plane: Plane) -> Array:
    """What all devices of ``spec`` add to the attenuation, as an exponent."""
    total = np.zeros(plane.shape, np.float32)
    if spec.tube_above_carina is not None:
        total += _endotracheal(spec.tube_above_carina, plane)
    if spec.venous_catheter:
        total += _line(_JUGULAR, 0.95, 0.11, plane)
    if spec.pacemaker:
        total += _pacemaker(build, plane)
    if spec.sternal_wires:
        total += _wires(build, plane)
    return total


def tube_tip(above_carina: float) -> float:
    """Depth of an endotracheal tube's tip."""
    return CARINA - above_carina


def _spline(knots: list[Point]) -> Array:
    points = np.asarray(knots, dtype=np.float64)
    at = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    dense = np.linspace(0, at[-1], max(20, int(at[-1] / 1.5)))
    return np.stack([_natural(at, points[:, k], dense) for k in range(3)], axis=1).astype(np.float32)


def _natural(at: Array, values: Array, dense: Array) -> Array:
    found: Array = np.asarray(CubicSpline(at, values, bc_type="natural")(dense), dtype=np.float32)
    return found


def _line(knots: list[Point], radius: float, per_mm: float, plane: Plane) -> Array:
    path = _spline(knots)
    return per_mm * splat_tubes(plane, path[:-1], path[1:], np.full(len(path) - 1, radius, np.float32))


def _endotracheal(above_carina: float, plane: Plane) -> Array:
    tip = tube_tip(above_carina)
    depths = np.linspace(-88, tip, 60, dtype=np.float32)
    middle = np.stack([1.5 + 1.5 * np.sin(depths / 45), curve(TRACHEA_Y, depths), depths], axis=1).astype(np.float32)
    radii = np.full(len(depths) - 1, 4.6, np.float32)
    wall = splat_tubes(plane, middle[:-1], middle[1:], radii)
    bore = splat_tubes(plane, middle[:-1], middle[1:], radii * 0.76)
    stripe = middle + np.array([4.0, -1.0, 0], np.float32)
    dense = splat_tubes(plane, stripe[:-1], stripe[1:], np.full(len(depths) - 1, 0.6, np.float32))
    return 0.017 * (wall - bore) + 0.30 * dense


def _pacemaker(build: Build, plane: Plane) -> Array:
    x0, d0 = 100.0 * build.width, 66.0
    skin = float(back_and_front(d0, build)[1]) - 15
    v, u = np.meshgrid(plane.rows(), plane.columns(), indexing="ij")
    if plane.axis == 0:
        across, thick = (u - x0) / 24.0, 7.0
    else:
        across, thick = (u - skin) / 3.6, 44.0
    shape = np.abs(across) ** 3.2 + np.abs((v - d0) / 20.0) ** 3.2
    case = np.clip((1 - shape) * 6, 0, 1) * thick * 0.20
    core = np.clip((0.55 - shape) * 4, 0, 1) * thick * 0.05
    header = np.clip((1 - np.abs(across / 0.7) ** 4 - np.abs((v - d0 + 24) / 6) ** 4) * 4, 0, 1) * thick * 0.035
    vein: list[Point] = [
        (x0 - 8, skin, d0 - 22),
        (76, skin + 14, d0 - 32),
        (48, -38, 38),
        (12, -30, 48),
        (-18, -16, 72),
    ]
    atrium: list[Point] = [*vein, (-23, -14, 120), (-24, -18, 170), (-26, -34, 186), (-20, -46, 178)]
    ventricle: list[Point] = [*vein, (-22, -13, 122), (-22, -16, 176), (-6, -40, 214), (28, -60, 228), (48, -66, 236)]
    leads = _line(atrium, 0.75, 0.42, plane) + _line(ventricle, 0.8, 0.42, plane)
    tips = _line(atrium[-2:], 1.1, 0.5, plane) * 0.6 + _line([(38, -63, 232), ventricle[-1]], 1.2, 0.5, plane) * 0.6
    return np.asarray(np.maximum(case + core, header) + leads + tips, dtype=np.float32)


def _wires(build: Build, plane: Plane) -> Array:
    total = np.zeros(plane.shape, np.float32)
    for depth in (70.0, 96.0, 122.0, 148.0, 174.0):
        front = float(back_and_front(depth, build)[1]) - 9
        turn = np.linspace(0, 2 * np.pi, 50)
        lift = 1.1 * np.sin(turn) + 0.10 * ((depth * 7) % 31 - 15) * np.cos(turn)
        ring = np.stack([9 * np.cos(turn), front + 7 * np.sin(turn), depth + lift], axis=1)
        ring = ring.astype(np.float32)
        total += 0.75 * splat_tubes(plane, ring[:-1], ring[1:], np.full(len(ring) - 1, 0.5, np.float32))
        knot: list[Point] = [(3, front - 6, depth), (6, front - 7, depth + 6)]
        total += _line(knot, 0.9, 0.4, plane)
    return total


def marker_letter(letter: str, height_mm: float) -> Array:
    """A lead ``R`` or ``L`` as coverage (0 to 1) at the ray pitch."""
    size = max(12, round(height_mm / PITCH))
    fine = Image.new("L", (size * 4, size * 4), 0)
    pen = ImageDraw.Draw(fine)
    s, w = size * 4, int(size * 4 * 0.17)
    left, top, bottom = int(s * 0.2), int(s * 0.06), int(s * 0.94)
    pen.rectangle([left, top, left + w, bottom], fill=255)
    if letter == "L":
        pen.rectangle([left, bottom - w, int(s * 0.78), bottom], fill=255)
    elif letter == "R":
        middle = int(s * 0.52)
        pen.rectangle([left, top, int(s * 0.55), top + w], fill=255)
        pen.rectangle([left, middle - w // 2, int(s * 0.55), middle + w // 2], fill=255)
        radius = (middle + w // 2 - top) // 2
        box = [int(s * 0.55) - radius, top, int(s * 0.55) + radius, middle + w // 2]
        pen.arc(box, -90, 90, fill=255, width=w)
        knee, foot = int(s * 0.42), int(s * 0.86)
        leg = [(knee, middle), (knee + int(w * 1.15), middle), (foot, bottom), (foot - int(w * 1.2), bottom)]
        pen.polygon(leg, fill=255)
    else:
        raise ValueError(f"a side marker is R or L, not {letter!r}")
    small = fine.resize((size, size), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / 255


OPAQUE = 3.2
"""Exponent of the lead of a side marker."""
