"""The soft parts of a simulated chest as surfaces, and the air in them as a small volume.

Frame of the patient in millimetres: ``x`` to the patient's left, ``y`` to the back, ``d`` downwards from the top of
the lungs. Shapes are mean adult shapes drawn by hand; no measured patient is in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter

from annotation.demonstration.kernels.phantom_spec import ChestSpec, Lobe, Side

Array = NDArray[np.floating[Any]]

STEP = 1.25
"""Edge of a voxel."""
X_AXIS: Array = np.arange(-155, 155.1, STEP, dtype=np.float32)
Y_AXIS: Array = np.arange(-118, 112.1, STEP, dtype=np.float32)
D_AXIS: Array = np.arange(-8, 372.1, STEP, dtype=np.float32)
EXPONENT = 2.35
"""Superellipse exponent of the thorax's cross-section."""
LUNG_DENSITY = 0.26
"""Inflated lung over water."""
CARINA = 108.0

_WIDTH = (
    (-6, 40),
    (0, 58),
    (4, 69),
    (10, 81),
    (20, 94),
    (30, 103),
    (50, 115),
    (80, 125),
    (120, 133),
    (170, 139),
    (230, 143),
    (300, 144),
    (400, 142),
)
_BACK = ((-10, 48), (0, 58), (30, 76), (80, 91), (140, 98), (220, 96), (300, 88), (400, 80))
_FRONT = ((-10, 22), (0, 4), (20, -22), (50, -48), (100, -72), (150, -87), (200, -95), (260, -99), (400, -98))
_SPINE = ((-90, 40), (-40, 40), (0, 44), (60, 58), (130, 66), (220, 62), (320, 48), (420, 34))


def curve(points: tuple[tuple[float, float], ...], at: Array | float) -> Array:
    """A smooth monotone-between-knots curve through ``points``."""
    knots = np.asarray(points, dtype=np.float64)
    inside = np.clip(at, knots[0, 0], knots[-1, 0])
    found: Array = np.asarray(PchipInterpolator(knots[:, 0], knots[:, 1])(inside), dtype=np.float32)
    return found


def spine_y(d: Array | float) -> Array:
    """Centre line of the vertebral bodies."""
    return curve(_SPINE, d)


@dataclass(frozen=True)
class Build:
    """What the seed decides about one patient, once, so that all parts agree."""

    width: float
    depth: float
    wall: float
    dome: float
    heart_lean: float
    aorta: float
    rotation: float
    tilt: float
    rib_slope: float
    rib_shift: float


def build_of(spec: ChestSpec) -> Build:
    """The individual variation of ``spec``'s patient."""
    rng = np.random.default_rng((spec.seed, 1))
    small = 0.92 if spec.sex == "F" else 1.0
    dome = 243 + rng.normal(0, 5) + spec.inspiration + (24 if spec.hyperinflated else 0)
    return Build(
        width=float(small * np.clip(rng.normal(1.0, 0.03), 0.95, 1.06)),
        depth=float(np.clip(rng.normal(1.0, 0.04), 0.92, 1.07) * (1.05 if spec.hyperinflated else 1.0)),
        wall=float(np.clip(rng.normal(1.0, 0.18), 0.7, 1.5)),
        dome=float(dome),
        heart_lean=float(np.clip(rng.normal(0, 5), -8, 8)),
        aorta=float(np.clip((spec.age - 50) / 10, -2, 4) + rng.normal(0, 1)),
        rotation=float(np.clip(rng.normal(0, 0.02), -0.035, 0.035)),
        tilt=float(rng.choice([-1, 1]) * rng.uniform(0.02, 0.05)),
        rib_slope=float(np.clip(rng.normal(1.0, 0.1), 0.8, 1.2)),
        rib_shift=float(rng.uniform(-7, 7)),
    )


def half_width(d: Array | float, build: Build) -> Array:
    """Inner half width of the thorax."""
    return np.asarray(curve(_WIDTH, d) * np.float32(build.width), dtype=np.float32)


def back_and_front(d: Array | float, build: Build) -> tuple[Array, Array]:
    """Inner back and front wall in the midline."""
    back, front = curve(_BACK, d), curve(_FRONT, d)
    scale = np.float32(build.depth)
    return np.asarray(back, dtype=np.float32), np.asarray(back + (front - back) * scale, dtype=np.float32)


def _ellipsoid(
    y: Array,
    d: Array,
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    lean: float = 0.0,
) -> tuple[Array, Array]:
    """Right and left reach of an ellipsoid leaning ``lean`` degrees in the frontal plane; ``-inf`` beside it."""
    x0, y0, d0 = centre
    rx, ry, rd = radii
    c, s = np.cos(np.radians(lean)), np.sin(np.radians(lean))
    dd = d - d0
    a = (c / rx) ** 2 + (s / rd) ** 2
    b = c * s * dd * (1 / rx**2 - 1 / rd**2)
    e = (s * dd / rx) ** 2 + (c * dd / rd) ** 2 + ((y - y0) / ry) ** 2 - 1
    root = b * b - a * e
    reach = np.sqrt(np.maximum(root, 0)) / a
    middle = x0 - b / a
    inside = root > 0
    right = np.where(inside, -(middle - reach), -np.inf)
    left = np.where(inside, middle + reach, -np.inf)
    return right.astype(np.float32), left.astype(np.float32)


def _largest(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    rights, lefts = zip(*parts, strict=True)
    return np.maximum.reduce(rights), np.maximum.reduce(lefts)


def heart_reach(spec: ChestSpec, build: Build) -> tuple[Array, Array]:
    """Right and left reach of the heart on the (d, y) plane, ``-inf`` where it is not.

    The widths are scaled so that the widest heart over the widest inner thorax is ``spec.cardiothoracic_ratio``.
    """
    d, y = np.meshgrid(D_AXIS, Y_AXIS, indexing="ij")
    sag = 0.45 * (build.dome - 243) + (8 if spec.hyperinflated else 0)
    tall = 1.0 + 0.45 * (spec.cardiothoracic_ratio - 0.45)
    lean = 30 + build.heart_lean
    parts = [
        _ellipsoid(y, d, (-3, -20, 212 + sag), (37, 40, 66 * tall), -6),
        _ellipsoid(y, d, (27, -22, 222 + sag), (66, 46, 52 * tall), lean),
        _ellipsoid(y, d, (16, -55, 224 + sag), (52, 33, 54 * tall), lean),
        _ellipsoid(y, d, (0, 12, 182 + sag), (34, 27, 36 * tall)),
        _ellipsoid(y, d, (20, -30, 158 + sag), (32, 28, 56 * tall), 24),
    ]
    right, left = _largest(parts)
    base = float(np.max(right) + np.max(left))
    wanted = spec.cardiothoracic_ratio * thoracic_width(build)
    # A large heart is large below; the great vessels above keep their size.
    low = np.clip((d - 120 - sag) / 60, 0, 1)
    scale = (1 + (wanted / base - 1) * low * low * (3 - 2 * low)).astype(np.float32)
    return right * scale, left * scale


def thoracic_width(build: Build) -> float:
    """Widest inner diameter of the thorax."""
    return float(2 * half_width(D_AXIS, build).max())


def mediastinal_reach(spec: ChestSpec, build: Build) -> tuple[Array, Array]:
    """Right and left reach of everything between the lungs on the (d, y) plane; at least a thin septum."""
    d, y = np.meshgrid(D_AXIS, Y_AXIS, indexing="ij")
    ys = spine_y(D_AXIS)[:, None]
    arch = 82.0 - 0.6 * build.aorta
    knob = 1.0 + 0.035 * build.aorta
    # The lungs meet before the heart along a slanting seam; a straight one would be a bright line.
    seam = (0.4 * (y + 64) + (d - 150) / 16) * np.clip((-20 - y) / 12, 0, 1)
    spine = 21 * np.sqrt(np.maximum(1 - ((y - ys) / 25) ** 2, 0))
    core_y = np.exp(-(((y - 6) / 54) ** 4))
    core = (22 + 5 * np.exp(-(((d - 150) / 60) ** 2))) * core_y
    top = 1 / (1 + np.exp((d - 58) / 9))
    upper = top * 25 * np.exp(-(((y - 8) / 46) ** 4))
    cava = np.where((d > 5) & (d < 215), 29 * np.exp(-(((y + 8) / 26) ** 4)), 0)
    subclavian = np.where(d < 88, (20 + 6 * np.exp(-(((d - 30) / 30) ** 2))) * np.exp(-(((y - 22) / 16) ** 4)), 0)
    aorta_y = ys - 24
    descending = np.where(
        d > arch, (19 + 12 * knob) * np.sqrt(np.maximum(1 - ((y - aorta_y) / (13 * knob)) ** 2, 0)), 0
    )
    ascending = _ellipsoid(y, d, (-11, -26, 130), (21 * knob, 19, 62))
    knuckle = _ellipsoid(y, d, (11, 16, arch + 2), (24 * knob, 30, 20 * knob), -8)
    trunk = _ellipsoid(y, d, (14, -20, 130), (29, 32, 40), 14)
    heart = heart_reach(spec, build)
    right = np.maximum.reduce([0.9 - seam, spine, core, upper, cava, ascending[0], heart[0]])
    left = np.maximum.reduce([0.9 + seam, spine, core, upper, subclavian, descending, knuckle[1], trunk[1], heart[1]])
    smooth = 4.0 / STEP
    right, left = gaussian_filter(right, smooth), gaussian_filter(left, smooth)
    # Smoothing must not shave the heart's widest point: its ratio is promised to be exact.
    wide = d > 165
    right = np.where(wide, np.maximum(right, heart[0]), right)
    left = np.where(wide, np.maximum(left, heart[1]), left)
    return right.astype(np.float32), left.astype(np.float32)


def dome_depth(spec: ChestSpec, build: Build, side: Side) -> Array:
    """Depth of the diaphragm below the lungs' top on the (y, x) plane of one side."""
    sign = -1.0 if side == "right" else 1.0
    x = sign * X_AXIS[None, :] / np.float32(build.width)
    y = Y_AXIS[:, None]
    top = build.dome + (0 if side == "right" else 11)
    if spec.raised_dome == side:
        top -= 46
    flat = 0.45 if spec.hyperinflated else 1.0
    outward = np.maximum(x - 62, 0) / 82
    inward = np.maximum(62 - x, 0) / 62
    behind = np.maximum(y + 18, 0) / 112
    before = np.maximum(-18 - y, 0) / 80
    drop = 50 * outward**2.5 + 9 * inward**2 + 66 * behind**2.2 + 14 * before**2 + 18 * outward * behind
    return np.asarray(top + flat * drop, dtype=np.float32)


def lobe_distance(lobe: Lobe, x: Array, y: Array, d: Array) -> Array:
    """Signed distance to the fissures of ``lobe``; negative inside (the chest wall is not part of it)."""
    oblique = (d - 150) * 0.80 - (-y + 5) * 0.60
    minor = d - 152 - 0.0018 * (np.abs(x) - 66) ** 2 - 0.05 * y
    side = x if lobe.startswith("right") else -x
    if lobe.endswith("lower lobe"):
        inside = -oblique
    elif lobe == "right middle lobe":
        inside = np.maximum(oblique, -minor)
    elif lobe == "right upper lobe":
        inside = np.maximum(oblique, minor)
    else:
        inside = oblique
    return np.asarray(np.maximum(inside, side), dtype=np.float32)


LOBE_CENTRES: dict[Lobe, tuple[float, float, float]] = {
    "right upper lobe": (-78, 0, 78),
    "right middle lobe": (-88, -60, 188),
    "right lower lobe": (-88, 50, 186),
    "left upper lobe": (80, -8, 92),
    "left lower lobe": (98, 48, 192),
}
"""Where a nodule of each lobe is put: clear of the heart, the domes and the clavicles."""
