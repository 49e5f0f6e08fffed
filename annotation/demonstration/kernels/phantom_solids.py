"""The bones of a simulated chest as clouds of weighted points, and its devices as metal on an image plane.

A point's weight is a volume of compact bone in cubic millimetres; summed on an image plane and divided by the pixel's
area, the weights become the bone thickness along each ray, bright edges included.
"""

from __future__ import annotations

import numpy as np

from annotation.demonstration.kernels import phantom_thorax as thorax
from annotation.demonstration.kernels.phantom_projection import Plane, splat_path
from annotation.demonstration.kernels.phantom_spec import ChestSpec
from annotation.demonstration.kernels.phantom_thorax import Array, Build, Curve, Point, back_and_front, smooth_path

SPONGY = 0.10  # spongy bone over compact bone
TRACHEA_Y: Curve = (-90, -20, 40, 108), (2, 8, 20, 30)
_RIB_DROP = (36, 62, 84, 100, 114, 124, 130, 128, 118, 98, 66, 38)
_RIB_END = (0.93, 0.91, 0.88, 0.86, 0.84, 0.82, 0.79, 0.72, 0.66, 0.58, 0.40, 0.28)
_SIDEWAYS, _DOWN = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def skeleton(spec: ChestSpec, build: Build) -> Array:
    """The bones of the trunk, shape (n, 4): x, y, d, weight."""
    rng = np.random.default_rng((spec.seed, 3))
    parts = [_vertebra(level, rng) for level in range(-3, 14)]
    for sign in (-1.0, 1.0):
        parts += [_rib(number, sign, build, rng) for number in range(1, 13)]
        parts += [_clavicle(sign, build, rng), _scapula(sign * build.width, rng)]
    depths = np.linspace(52, 212, 330)
    sternum = np.stack([0 * depths, back_and_front(depths, build)[1] - 9, depths], axis=1)
    return np.concatenate([*parts, _bone(sternum, _SIDEWAYS, (16, 5), 0.2, rng, 0.6)]).astype(np.float32)


def _weighted(points: Array, volume: float | Array) -> Array:
    """Points (..., 3) with their weights: of each, or together as one number."""
    n = points[..., 0].size
    weight = np.full(n, volume / n) if np.ndim(volume) == 0 else np.ravel(volume)
    return np.column_stack([points.reshape(-1, 3), weight])


def _bone(
    path: Array,
    up: Point,
    radii: tuple[float, float],
    shell: float,
    rng: np.random.Generator,
    strength: Array | float = 1.0,
    girth: Array | float = 1.0,
) -> Array:
    """A hollow tube along ``path`` (n, 3), filled with spongy bone; the first of ``radii`` is nearest to ``up``.

    ``strength`` (n,) scales the bone and ``girth`` (n,) the section along the path.
    """
    tangent = np.gradient(path, axis=0)
    length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    first = np.asarray(up) - (tangent @ np.asarray(up))[:, None] * tangent
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(tangent, first)
    strength, girth = (np.broadcast_to(one, len(path))[:, None] for one in (strength, girth))

    def placed(turn: Array, out: Array | float) -> Array:
        across, along = radii[0] * girth * out * np.cos(turn), radii[1] * girth * out * np.sin(turn)
        points: Array = path[:, None] + across[..., None] * first[:, None] + along[..., None] * second[:, None]
        return points

    around = max(12, int(np.pi * sum(radii) / 0.55))
    turn = rng.uniform(0, 2 * np.pi, (len(path), 1)) + np.linspace(0, 2 * np.pi, around, endpoint=False)
    local = np.hypot(radii[0] * np.sin(turn), radii[1] * np.cos(turn)) * 2 * np.pi / around
    cortex = _weighted(placed(turn, 1.0), strength * girth * local * length / len(path) * shell)
    turn, out = (rng.uniform(0, high, (len(path), around // 2)) for high in (2 * np.pi, 1))
    spongy = strength * girth**2 * np.pi * radii[0] * radii[1] * length * SPONGY / turn.size
    return np.concatenate([cortex, _weighted(placed(turn, np.sqrt(out)), np.broadcast_to(spongy, turn.shape))])


def vertebra_depth(level: int) -> float:
    """Depth of the middle of thoracic vertebra ``level`` (0 is C7, 13 is L1)."""
    return -6.0 + 22.0 * (level - 1) + 0.28 * (level - 1) ** 2


def _rib(number: int, sign: float, build: Build, rng: np.random.Generator) -> Array:
    """One rib: from the vertebra back and outwards, round the wall, down to its cartilage."""
    end, start = _RIB_END[number - 1], vertebra_depth(number) + 2
    t = np.linspace(0.07, end, 760 if number > 2 else 520)
    drop = _RIB_DROP[number - 1] * build.rib_slope * 1.05 * t**1.22
    d = start + build.rib_shift * t + drop - 4 * np.exp(-(((t - 0.2) / 0.1) ** 2)) + (3 if number <= 2 else 0)
    back, front = back_and_front(np.maximum(d, 2), build)
    power = 2 / 2.25
    x = (thorax.half_width(np.maximum(d, 2), build) + 2.5) * np.sin(t * np.pi) ** power
    round_wall = np.sign(np.cos(t * np.pi)) * np.abs(np.cos(t * np.pi)) ** power
    y = (back + front) / 2 + ((back - front) / 2 + 3.0) * round_wall
    joint = np.clip((0.19 - t) / 0.12, 0, 1) ** 1.5
    x = x + 0.75 * joint * (np.maximum(20, x) - x)
    y = y + joint * (thorax.spine_y(start) + 12 - y)
    # The first rib lies flat; the front parts are thinner and fade into cartilage, which throws no shadow.
    section = (3.0, 5.5) if number == 1 else (5.4 if number in (2, 3, 11, 12) else 6.1, 3.0)
    neck = np.clip((t - 0.07) / 0.13, 0, 1)
    strength = np.clip((end - t) / 0.05, 0, 1) * (1 - 0.42 * np.clip((t - 0.45) / 0.2, 0, 1)) * (0.08 + 0.92 * neck)
    girth = (0.7 + 0.3 * neck) * (1 + 0.12 * np.clip((t - 0.6) / 0.25, 0, 1))
    return _bone(np.stack([sign * x, y, d], axis=1), _DOWN, section, 0.62, rng, strength, girth)


def _clavicle(sign: float, build: Build, rng: np.random.Generator) -> Array:
    knots = [(17, -66, 60), (36, -74, 53), (66, -72, 43), (100, -48, 26), (132, -14, 10), (166, 6, 0)]
    jitter = float(rng.uniform(-4, 4))
    path = smooth_path([(sign * x * build.width, y, d + jitter * (x / 160)) for x, y, d in knots], 0.5)
    return _bone(path, _DOWN, (5.4, 5.4), 0.9, rng, 1.0, 0.9 + 0.35 * np.linspace(1, 0, len(path)) ** 3)


def _scapula(w: float, rng: np.random.Generator) -> Array:
    """A thin plate with a thick outer border, its spine, and the socket; ``w`` is width, negative to the right."""
    turn = float(rng.uniform(0, 14))
    inner = smooth_path([(w * (104 + turn), 92, 30), (w * (108 + turn), 104, 90), (w * (118 + turn), 98, 160)], 0.5)
    outer = smooth_path([(w * 151, 44, 46), (w * 146, 62, 84), (w * (121 + turn), 96, 163)], 0.5)
    ridge = smooth_path([(w * (114 + turn), 96, 62), (w * 145, 88, 30), (w * 172, 46, 2)], 0.5)
    beak = smooth_path([(w * 158, 44, 46), (w * 148, 30, 26), (w * 143, 6, 22)], 0.5)
    socket = smooth_path([(w * 150, 40, 20), (w * 151, 40, 58)], 0.5)
    at, across = rng.uniform(0, 1, 60_000), rng.uniform(0, 1, (60_000, 1))
    rows_in, rows_out = (edge[(at * (len(edge) - 1)).astype(int)] for edge in (inner, outer))
    fade = np.linspace(1.0, 0.35, len(outer))
    swell = np.sqrt(np.maximum(1 - np.linspace(-1, 1, len(socket)) ** 2, 0.01))
    return np.concatenate(
        [
            _weighted(rows_in + (rows_out - rows_in) * across, 110 * 38.0 * 1.3),
            _bone(outer, _SIDEWAYS, (3.0, 2.6), 0.7, rng, fade, 0.5 + fade / 2),
            _bone(inner, _SIDEWAYS, (1.4, 1.4), 0.4, rng),
            _bone(ridge, _DOWN, (4.5, 3.0), 0.9, rng),
            _bone(beak, _DOWN, (6, 5), 0.9, rng),
            _bone(socket, _SIDEWAYS, (4.5, 10), 0.6, rng, 1.0, swell),
        ]
    )


def _vertebra(level: int, rng: np.random.Generator) -> Array:
    """A body with dense end plates, two pedicles, two wings and a spinous process."""
    middle, size, n = vertebra_depth(level), 0.80 + 0.022 * max(level, -2), 16_000
    rx, ry, rd = 18.8 * size * rng.uniform(0.95, 1.05), 15.5 * size, 9.6 * size + rng.uniform(0.5, 1.2)
    y0, slope = float(thorax.spine_y(middle)), float(thorax.spine_y(middle + 5) - thorax.spine_y(middle - 5)) / 10
    turn, height, out = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n), np.sqrt(rng.uniform(0, 1, n))
    rough = rng.normal(0, 0.5, (n, 3))

    def placed(wide: Array, deep: Array, volume: float) -> Array:
        x, y = rx * wide * np.cos(turn), ry * wide * np.sin(turn)
        return _weighted(np.stack([x, y0 + y + slope * deep, middle + deep - slope * y], axis=1) + rough, volume)

    dished = (rd - 1.1 * (1 - out**2)) * np.sign(height)
    face = np.pi * rx * ry * 2
    parts = [
        placed(1 - 0.2 * (1 - height**2), rd * height, np.pi * (rx + ry) * 2 * rd * 0.20),
        placed(out, dished, face * 0.34),
        placed(out * 0.93, rd * height, face * rd * SPONGY * 0.42),
    ]
    for x in (-size, size):
        pedicle = smooth_path([(x * 11, y0 + 12, middle - 3), (x * 12, y0 + 24, middle - 3)], 0.5)
        wing = smooth_path([(x * 12, y0 + 22, middle - 3), (x * 30, y0 + 32, middle - 6)], 0.5)
        parts.append(_bone(pedicle, _DOWN, (5.2 * size, 3.6 * size), 0.09, rng, 0.8))
        parts.append(_bone(wing, _DOWN, (4.2, 3.2), 0.03, rng, 0.4))
    process = smooth_path([(0, y0 + 26, middle + 3), (0, y0 + 40, middle + 14), (0, y0 + 48, middle + 21)], 0.5)
    return np.concatenate([*parts, _bone(process, _SIDEWAYS, (2.4, 4.2), 0.05, rng, 0.25)])


# --- devices: what they add to the attenuation, as an exponent -------------------------------------
_JUGULAR: list[Point] = [(-30, 14, -62), (-28, 0, -10), (-24, -14, 50), (-22, -14, 110), (-22, -14, 142)]
_VEIN: list[Point] = [(48, -38, 38), (12, -30, 48), (-18, -16, 72)]
_ATRIUM: list[Point] = [(-23, -14, 120), (-24, -18, 170), (-26, -34, 186), (-20, -46, 178)]
_VENTRICLE: list[Point] = [
    (-22, -13, 122),
    (-22, -16, 176),
    (-6, -40, 214),
    (28, -60, 228),
    (38, -63, 232),
    (48, -66, 236),
]


def devices(spec: ChestSpec, build: Build, plane: Plane) -> Array:
    """All devices of ``spec``."""
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


def _line(knots: list[Point], radius: float, per_mm: float, plane: Plane) -> Array:
    return per_mm * splat_path(plane, smooth_path(knots, 1.5), radius)


def _endotracheal(above_carina: float, plane: Plane) -> Array:
    depths = np.linspace(-88, thorax.CARINA - above_carina, 60, dtype=np.float32)
    middle = np.stack([1.5 + 1.5 * np.sin(depths / 45), thorax.curve(TRACHEA_Y, depths), depths], axis=1)
    wall = splat_path(plane, middle, 4.6) - splat_path(plane, middle, 3.5)
    return 0.017 * wall + 0.30 * splat_path(plane, middle + np.array([4.0, -1.0, 0]), 0.6)


def _pacemaker(build: Build, plane: Plane) -> Array:
    """A generator with its header below the left clavicle, and two leads with thick tips."""
    x0, d0 = 100.0 * build.width, 66.0
    skin = float(back_and_front(d0, build)[1]) - 15
    centre, half, thick = (x0, 24.0, 7.0) if plane.axis == 0 else (skin, 3.6, 44.0)
    across, down = (plane.columns()[None] - centre) / half, plane.rows()[:, None] - d0
    shape = np.abs(across) ** 3.2 + np.abs(down / 20.0) ** 3.2
    case = np.clip((1 - shape) * 6, 0, 1) * 0.20 + np.clip((0.55 - shape) * 4, 0, 1) * 0.05
    header = np.clip((1 - np.abs(across / 0.7) ** 4 - np.abs((down + 24) / 6) ** 4) * 4, 0, 1) * 0.035
    vein = [(x0 - 8, skin, d0 - 22), (76, skin + 14, d0 - 32), *_VEIN]
    leads = _line([*vein, *_ATRIUM], 0.75, 0.42, plane) + _line([*vein, *_VENTRICLE], 0.8, 0.42, plane)
    tips = _line(_ATRIUM[-2:], 1.1, 0.3, plane) + _line(_VENTRICLE[-2:], 1.2, 0.3, plane)
    return np.asarray(np.maximum(case, header) * thick + leads + tips, dtype=np.float32)


def _wires(build: Build, plane: Plane) -> Array:
    total, turn = np.zeros(plane.shape, np.float32), np.linspace(0, 2 * np.pi, 50)
    for depth in (70.0, 96.0, 122.0, 148.0, 174.0):
        front = float(back_and_front(depth, build)[1]) - 9
        lift = 1.1 * np.sin(turn) + 0.10 * ((depth * 7) % 31 - 15) * np.cos(turn)
        ring = np.stack([9 * np.cos(turn), front + 7 * np.sin(turn), depth + lift], axis=1)
        total += 0.75 * splat_path(plane, ring, 0.5)
        total += _line([(3, front - 6, depth), (6, front - 7, depth + 6)], 0.9, 0.4, plane)
    return total
