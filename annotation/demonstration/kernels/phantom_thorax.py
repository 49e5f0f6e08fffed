"""What a simulated chest shows, and its soft parts as surfaces, the air between them as a volume, its vessels.

Frame of the patient in millimetres: ``x`` to the patient's left, ``y`` to the back, ``d`` downwards from the top of
the lungs. Shapes are mean adult shapes drawn by hand; no measured patient is in them.

Lengths are millimetres of the patient. Sides are the patient's sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.ndimage import gaussian_filter

Side = Literal["right", "left"]
Projection = Literal["PA", "LL"]
Lobe = Literal["right upper lobe", "right middle lobe", "right lower lobe", "left upper lobe", "left lower lobe"]


class Effusion(NamedTuple):
    """Free pleural fluid of a standing patient; ``depth`` is its height above the dome's rim."""

    side: Side
    depth: float


class Nodule(NamedTuple):
    """A solid round opacity; ``radius`` 6 to 20."""

    lobe: Lobe
    radius: float


class Pneumothorax(NamedTuple):
    """Air around a collapsed lung; ``gap`` is the width of the air at the apex."""

    side: Side
    gap: float


@dataclass(frozen=True)
class ChestSpec:
    """One simulated patient.

    ``cardiothoracic_ratio`` is the widest heart over the widest inner thorax of the frontal view, and is exact.
    ``tube_above_carina`` is the distance from the tip of an endotracheal tube to the carina (None: no tube).
    ``mirrored`` is situs inversus: every organ on the other side. Everything else varies with ``seed``.
    """

    seed: int
    sex: Literal["F", "M"] = "M"
    age: int = 55
    cardiothoracic_ratio: float = 0.45
    hyperinflated: bool = False
    raised_dome: Side | None = None
    effusions: tuple[Effusion, ...] = ()
    nodules: tuple[Nodule, ...] = ()
    pneumothorax: Pneumothorax | None = None
    consolidation: Lobe | None = None
    tube_above_carina: float | None = None
    venous_catheter: bool = False
    pacemaker: bool = False
    sternal_wires: bool = False
    mirrored: bool = False


Array = NDArray[np.floating[Any]]
Point = tuple[float, float, float]
Curve = tuple[Sequence[float], Sequence[float]]  # at these depths, these values

STEP = 1.25  # edge of a voxel
X_AXIS: Array = np.arange(-155, 155.1, STEP, dtype=np.float32)
Y_AXIS: Array = np.arange(-118, 112.1, STEP, dtype=np.float32)
D_AXIS: Array = np.arange(-8, 372.1, STEP, dtype=np.float32)
_D, _Y = np.meshgrid(D_AXIS, Y_AXIS, indexing="ij")
CARINA = 108.0
LOBE_CENTRES: dict[Lobe, Point] = {
    "right upper lobe": (-78, 0, 78),
    "right middle lobe": (-88, -60, 188),
    "right lower lobe": (-88, 50, 186),
    "left upper lobe": (80, -8, 92),
    "left lower lobe": (98, 48, 192),
}
"""Where a nodule of each lobe is put: clear of the heart, the domes and the clavicles."""

_WIDTH: Curve = (
    (-6, 0, 4, 10, 20, 30, 50, 80, 120, 170, 230, 300, 400),
    (40, 58, 69, 81, 94, 103, 115, 125, 133, 139, 143, 144, 142),
)
_BACK: Curve = (-10, 0, 30, 80, 140, 220, 300, 400), (48, 58, 76, 91, 98, 96, 88, 80)
_FRONT: Curve = (-10, 0, 20, 50, 100, 150, 200, 260, 400), (22, 4, -22, -48, -72, -87, -95, -99, -98)
_SPINE: Curve = (-90, -40, 0, 60, 130, 220, 320, 420), (40, 40, 44, 58, 66, 62, 48, 34)


def curve(points: Curve, at: Array | float) -> Array:
    """A smooth monotone-between-knots curve through ``points``; level beyond its ends."""
    depths, values = points
    found: Array = PchipInterpolator(depths, values)(np.clip(at, depths[0], depths[-1]))
    return np.asarray(found, dtype=np.float32)


def smooth_path(knots: Sequence[Point], spacing: float) -> Array:
    """Points (n, 3) of a smooth line through ``knots``, about ``spacing`` apart."""
    points = np.asarray(knots, dtype=np.float64)
    at = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    dense = np.linspace(0, at[-1], max(8, int(at[-1] / spacing)))
    found: Array = CubicSpline(at, points, bc_type="natural")(dense)
    return np.asarray(found, dtype=np.float32)


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
    dome = 243 + rng.normal(0, 5) + (24 if spec.hyperinflated else 0)
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
    return curve(_WIDTH, d) * np.float32(build.width)


def back_and_front(d: Array | float, build: Build) -> tuple[Array, Array]:
    """Inner back and front wall in the midline."""
    back, front = curve(_BACK, d), curve(_FRONT, d)
    return back, back + (front - back) * np.float32(build.depth)


def _ellipsoid(centre: Point, radii: Point, lean: float = 0.0) -> Array:
    """Right and left reach (2, d, y) of an ellipsoid leaning ``lean`` degrees in the frontal plane; ``-inf`` beside."""
    (x0, y0, d0), (rx, ry, rd) = centre, radii
    c, s, down = np.cos(np.radians(lean)), np.sin(np.radians(lean)), _D - d0
    a = (c / rx) ** 2 + (s / rd) ** 2
    b = c * s * down * (1 / rx**2 - 1 / rd**2)
    e = (s * down / rx) ** 2 + (c * down / rd) ** 2 + ((_Y - y0) / ry) ** 2 - 1
    root = b * b - a * e
    half, middle = np.sqrt(np.maximum(root, 0)) / a, x0 - b / a
    return np.where(root > 0, np.stack([half - middle, half + middle]), -np.inf).astype(np.float32)


def heart_reach(spec: ChestSpec, build: Build) -> Array:
    """Right and left reach (2, d, y) of the heart, ``-inf`` where it is not.

    The widths are scaled so that the widest heart over the widest inner thorax is ``spec.cardiothoracic_ratio``.
    """
    sag = 0.45 * (build.dome - 243) + (8 if spec.hyperinflated else 0)
    tall = 1.0 + 0.45 * (spec.cardiothoracic_ratio - 0.45)
    lean = 30 + build.heart_lean
    parts = [
        _ellipsoid((-3, -20, 212 + sag), (37, 40, 66 * tall), -6),
        _ellipsoid((27, -22, 222 + sag), (66, 46, 52 * tall), lean),
        _ellipsoid((16, -55, 224 + sag), (52, 33, 54 * tall), lean),
        _ellipsoid((0, 12, 182 + sag), (34, 27, 36 * tall)),
        _ellipsoid((20, -30, 158 + sag), (32, 28, 56 * tall), 24),
    ]
    reach: Array = np.maximum.reduce(parts)
    wanted = spec.cardiothoracic_ratio * 2 * half_width(D_AXIS, build).max() / reach.max(axis=(1, 2)).sum()
    # A large heart is large below; the great vessels above keep their size.
    low = np.clip((_D - 120 - sag) / 60, 0, 1)
    return np.asarray(reach * (1 + (wanted - 1) * low * low * (3 - 2 * low)), dtype=np.float32)


def mediastinal_reach(spec: ChestSpec, build: Build) -> Array:
    """Right and left reach (2, d, y) of everything between the lungs; at least a thin septum."""
    d, y, ys = _D, _Y, spine_y(D_AXIS)[:, None]
    arch, knob = 82.0 - 0.6 * build.aorta, 1.0 + 0.035 * build.aorta
    # The lungs meet before the heart along a slanting seam; a straight one would be a bright line.
    seam = (0.4 * (y + 64) + (d - 150) / 16) * np.clip((-20 - y) / 12, 0, 1)
    spine = 21 * np.sqrt(np.maximum(1 - ((y - ys) / 25) ** 2, 0))
    core = (22 + 5 * np.exp(-(((d - 150) / 60) ** 2))) * np.exp(-(((y - 6) / 54) ** 4))
    upper = 25 / (1 + np.exp((d - 58) / 9)) * np.exp(-(((y - 8) / 46) ** 4))
    cava = np.where((d > 5) & (d < 215), 29 * np.exp(-(((y + 8) / 26) ** 4)), 0)
    subclavian = np.where(d < 88, (20 + 6 * np.exp(-(((d - 30) / 30) ** 2))) * np.exp(-(((y - 22) / 16) ** 4)), 0)
    across = np.sqrt(np.maximum(1 - ((y - ys + 24) / (13 * knob)) ** 2, 0))
    descending = np.where(d > arch, (19 + 12 * knob) * across, 0)
    ascending = _ellipsoid((-11, -26, 130), (21 * knob, 19, 62))
    knuckle = _ellipsoid((11, 16, arch + 2), (24 * knob, 30, 20 * knob), -8)
    trunk = _ellipsoid((14, -20, 130), (29, 32, 40), 14)
    heart = heart_reach(spec, build)
    right = np.maximum.reduce([0.9 - seam, spine, core, upper, cava, ascending[0], heart[0]])
    left = np.maximum.reduce([0.9 + seam, spine, core, upper, subclavian, descending, knuckle[1], trunk[1], heart[1]])
    smooth = gaussian_filter(np.stack([right, left]), (0, 4.0 / STEP, 4.0 / STEP))
    # Smoothing must not shave the heart's widest point: its ratio is promised to be exact.
    return np.where(d > 165, np.maximum(smooth, heart), smooth).astype(np.float32)


def dome_depth(spec: ChestSpec, build: Build, side: Side) -> Array:
    """Depth of the diaphragm below the lungs' top on the (y, x) plane of one side."""
    x = (-1.0 if side == "right" else 1.0) * X_AXIS[None, :] / np.float32(build.width)
    y = Y_AXIS[:, None]
    top = build.dome + (0 if side == "right" else 11) - (46 if spec.raised_dome == side else 0)
    outward, inward = np.maximum(x - 62, 0) / 82, np.maximum(62 - x, 0) / 62
    behind, before = np.maximum(y + 18, 0) / 112, np.maximum(-18 - y, 0) / 80
    drop = 50 * outward**2.5 + 9 * inward**2 + 66 * behind**2.2 + 14 * before**2 + 18 * outward * behind
    return np.asarray(top + (0.45 if spec.hyperinflated else 1.0) * drop, dtype=np.float32)


_SLAB = 16  # layers at once
_EXPONENT = 2.35  # of the superellipse that is the thorax's cross-section
_LUNG_DENSITY = 0.26  # of inflated lung over water


class Air(NamedTuple):
    """Missing water along the rays, in mm, and where vessels may grow.

    ``frontal`` has shape (len(D_AXIS), len(X_AXIS)), ``lateral`` (len(D_AXIS), len(Y_AXIS)); ``inside`` are points
    (n, 3) in the order x, y, d.
    """

    frontal: Array
    lateral: Array
    inside: Array


def inflate(spec: ChestSpec, build: Build) -> Air:
    """Sum the air of ``spec``'s chest along both directions."""
    reach = mediastinal_reach(spec, build)
    domes = np.where(X_AXIS[None, :] < 0, dome_depth(spec, build, "right"), dome_depth(spec, build, "left"))
    frontal, lateral, points = [], [], []
    for start in range(0, len(D_AXIS), _SLAB):
        rows = slice(start, start + _SLAB)
        missing, lung = _slab(spec, build, D_AXIS[rows][:, None, None], reach[:, rows, :, None], domes)
        frontal.append(_sheared_sum(missing, 1, Y_AXIS * build.rotation))
        lateral.append(_sheared_sum(missing, 2, X_AXIS * build.tilt))
        depth, back, across = np.nonzero(lung[::4, ::4, ::4])
        points.append(np.stack([X_AXIS[across * 4], Y_AXIS[back * 4], D_AXIS[rows][depth * 4]], axis=1))
    return Air(np.concatenate(frontal) * STEP, np.concatenate(lateral) * STEP, np.concatenate(points))


def _sheared_sum(volume: Array, axis: int, shifts: Array) -> Array:
    """Sum over ``axis`` (1: y, 2: x), moving each layer along the other by its shift in mm."""
    total = np.zeros(np.delete(volume.shape, axis), np.float32)
    for layer, shift in zip(np.moveaxis(volume, axis, 0), shifts / STEP, strict=True):
        whole = int(np.floor(shift))
        part = float(shift) - whole
        total += (1 - part) * np.roll(layer, whole, axis=1) + part * np.roll(layer, whole + 1, axis=1)
    return total


def _slab(spec: ChestSpec, build: Build, d: Array, reach: Array, domes: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Missing density (0 to 1) and the lung's own voxels of a few layers, shape (layer, y, x)."""
    y, x = Y_AXIS[None, :, None], X_AXIS[None, None, :]
    wall = _wall_distance(build, d, y, x)
    medial = np.minimum(x + reach[0], reach[1] - x)
    cavity = np.maximum(np.maximum(wall, medial), d - domes[None])
    room = np.clip(0.5 - cavity / STEP, 0, 1)
    inflated = _LUNG_DENSITY * (0.72 if spec.hyperinflated else 1.0)
    density = np.broadcast_to(inflated * (0.86 + 0.28 * d / 250), room.shape).astype(np.float32)
    lung = room > 0.99
    if spec.consolidation is not None:
        density = density + _consolidation(spec.consolidation, spec.seed, x, y, d) * (0.93 - density)
    if spec.pneumothorax is not None:
        density, lung = _collapse(spec.pneumothorax, density, lung, wall, x, d)
    for effusion in spec.effusions:
        level = build.dome + 62 - effusion.depth - 30 * np.exp(np.minimum(wall, 0) / 12)
        near = np.clip(0.5 + (d - level) / 2.0, 0, 1)
        ours = (x < 0) == (effusion.side == "right")
        density = np.where(ours, density + near * (1 - density), density)
        lung = lung & ~(ours & (near > 0.1))
    for nodule in spec.nodules:
        density = density + _ball(nodule, build, x, y, d) * (1 - density)
    missing = room * (1 - density) + _bubble(spec, domes, x, y, d)
    return missing.astype(np.float32), lung


def _wall_distance(build: Build, d: Array, y: Array, x: Array) -> Array:
    """About the distance to the inner chest wall, negative inside."""
    back, front = back_and_front(d, build)
    a, b, c = np.maximum(half_width(d, build), 8), np.maximum((back - front) / 2, 8), (back + front) / 2
    outside = np.abs(x / a) ** _EXPONENT + np.abs((y - c) / b) ** _EXPONENT - 1
    inward = np.maximum(50 - np.abs(x) / build.width, 0)
    apex = 1 + 12 * (inward / 26) ** 2 + np.minimum(10 * ((y - 32) / 36) ** 2, 24) - d
    return np.asarray(np.maximum(outside / _EXPONENT * np.minimum(a, b), apex), dtype=np.float32)


def _ball(nodule: Nodule, build: Build, x: Array, y: Array, d: Array) -> Array:
    x0, y0, d0 = LOBE_CENTRES[nodule.lobe]
    away = np.sqrt((x - x0 * build.width) ** 2 + (y - y0) ** 2 + (d - d0) ** 2)
    # A slightly lobed outline: a perfect disc looks like a coin.
    away = away + 0.5 * np.sin((x + 2 * y) / 7.0) + 0.4 * np.sin((d - y + x) / 5.0)
    return np.asarray(np.clip(0.5 - (away - nodule.radius) / 1.8, 0, 1), dtype=np.float32)


def _consolidation(lobe: Lobe, seed: int, x: Array, y: Array, d: Array) -> Array:
    x0, y0, d0 = LOBE_CENTRES[lobe]
    phase = np.random.default_rng((seed, 5)).uniform(0, 6, 6)
    away = np.sqrt(((x - x0 * 0.9) / 52) ** 2 + ((y - y0) / 58) ** 2 + ((d - d0) / 46) ** 2)
    coarse = np.sin(x / 7.5 + phase[0]) * np.sin(y / 8.5 + phase[1]) * np.sin(d / 6.5 + phase[2])
    fine = np.sin(x / 3.4 + phase[3]) * np.sin(y / 3.9 + phase[4]) * np.sin(d / 3.1 + phase[5])
    patchy = coarse + 0.6 * fine
    fill = 1 / (1 + np.exp((away - 1.0 + 0.22 * patchy) / 0.13))
    within = np.clip(0.5 - _beyond_fissures(lobe, x, y, d) / 2.5, 0, 1)
    return np.asarray(fill * within * (0.82 + 0.1 * patchy), dtype=np.float32)


def _beyond_fissures(lobe: Lobe, x: Array, y: Array, d: Array) -> Array:
    """Signed distance to the fissures of ``lobe``; negative inside (the chest wall is not part of it)."""
    oblique, minor = (d - 150) * 0.80 + (y - 5) * 0.60, d - 152 - 0.0018 * (np.abs(x) - 66) ** 2 - 0.05 * y
    side, level, _lobe = lobe.split()
    beyond = -oblique if level == "lower" else oblique
    if side == "right" and level != "lower":
        beyond = np.maximum(oblique, minor if level == "upper" else -minor)
    return np.asarray(np.maximum(beyond, x if side == "right" else -x), dtype=np.float32)


def _collapse(
    pneumothorax: Pneumothorax, density: Array, lung: NDArray[np.bool_], wall: Array, x: Array, d: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Air between wall and lung, and the pleural line; the lung is denser."""
    gap = pneumothorax.gap * np.clip(1.12 - d / 240, 0, 1) ** 0.8 + 0.5
    depth = -wall - gap
    ours = ((x < 0) == (pneumothorax.side == "right")) & (gap > 1.5)
    packed = np.clip(0.5 + depth / STEP, 0, 1) * np.minimum(density * 1.25, 1)
    line = 0.75 * np.exp(-((depth / 0.9) ** 2))
    return np.where(ours, np.maximum(packed, line), density).astype(np.float32), lung & (~ours | (depth > 4))


def _bubble(spec: ChestSpec, domes: Array, x: Array, y: Array, d: Array) -> Array | float:
    """Air in the stomach under the left dome, with a flat level of a standing patient."""
    rng = np.random.default_rng((spec.seed, 6))
    x0, y0 = 66 + rng.uniform(-7, 7), -22 + rng.uniform(-8, 8)
    rx, tall = rng.uniform(28, 40), rng.uniform(32, 48)
    top = float(domes[np.abs(Y_AXIS - y0).argmin(), np.abs(X_AXIS - x0).argmin()])
    if d[-1, 0, 0] < top or d[0, 0, 0] > top + 80:
        return 0.0
    away = (np.sqrt(((x - x0) / rx) ** 2 + ((y - y0) / 34) ** 2 + ((d - top - 27) / 24) ** 2) - 1) * 24
    shape = np.maximum(np.maximum(away, domes[None] + 5.5 - d), d - top - tall)
    return np.asarray(np.clip(0.5 - shape / STEP, 0, 1) * 0.97, dtype=np.float32)


class Tubes(NamedTuple):
    """Short straight pieces: ends (n, 3) and radii (n,)."""

    start: Array
    end: Array
    radius: Array


_HILA: dict[Side, Point] = {"right": (-34, 2, 136), "left": (37, 6, 126)}
_N_ENDS = 620  # of vessels in a lung
_CAPILLARY = 0.52  # radius of the last branches


def grow_vessels(spec: ChestSpec, air: Air) -> Tubes:
    """Branching vessels from the hila to points spread through the lungs."""
    rng = np.random.default_rng((spec.seed, 2))
    pieces: list[tuple[Array, Array, float]] = []
    for side, hilum in _HILA.items():
        points = air.inside[(air.inside[:, 0] < 0) == (side == "right")]
        if len(points) > 200:
            ends = points[rng.choice(len(points), min(_N_ENDS, len(points)), replace=False)]
            ends = ends + rng.uniform(-2.4, 2.4, ends.shape)
            _branch(np.asarray(hilum, float), np.zeros(3), ends, rng, pieces)
    start, end, radius = (np.asarray(one, np.float32) for one in zip(*pieces, strict=True))
    return Tubes(start, end, radius)


def _branch(
    root: Array, heading: Array, ends: Array, rng: np.random.Generator, pieces: list[tuple[Array, Array, float]]
) -> None:
    """A bent vessel from ``root`` towards the middle of the ``ends``, then two with half of the ends each.

    It is as wide as what it carries, by Murray's law.
    """
    middle = ends.mean(axis=0)
    share = 1.0 if len(ends) == 1 else rng.uniform(0.35, 0.6) / (1 + 0.4 * np.log2(len(ends)))
    goal = root + (middle - root) * share
    away = float(np.linalg.norm(goal - root))
    bend = root + heading * away * 0.4 + rng.normal(0, 0.05 * away, 3) + (goal - root) * 0.1
    t = np.linspace(0, 1, max(2, int(away / 3.5)) + 1)[1:, None]
    radius = min(_CAPILLARY * len(ends) ** (1 / 2.55), 5.0)
    for node in (1 - t) ** 2 * root + 2 * t * (1 - t) * bend + t**2 * goal:
        pieces.append((root, node, radius))
        root = node
    if len(ends) > 1:
        _values, axes = np.linalg.eigh(np.cov((ends - middle).T))
        beyond = (ends - middle) @ axes[:, -1]
        halves = beyond > np.median(beyond) if len(ends) > 2 else beyond > 0
        onward = (goal - bend) / max(float(np.linalg.norm(goal - bend)), 1e-3)
        for half in (ends[halves], ends[~halves]):
            if len(half):
                _branch(goal, onward, half, rng, pieces)
