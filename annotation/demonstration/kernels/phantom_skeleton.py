"""The bones of a simulated chest as clouds of weighted points.

A point's weight is a volume of compact bone in cubic millimetres; summed on an image plane and divided by the pixel's
area, the weights become the bone thickness along each ray, bright edges included.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from annotation.demonstration.kernels.phantom_spec import ChestSpec
from annotation.demonstration.kernels.phantom_thorax import Array, Build, back_and_front, half_width, spine_y

SPONGY = 0.10
"""Spongy bone over compact bone."""

_RIB_DROP = (36, 62, 84, 100, 114, 124, 130, 128, 118, 98, 66, 38)
_RIB_END = (0.93, 0.91, 0.88, 0.86, 0.84, 0.82, 0.79, 0.72, 0.66, 0.58, 0.40, 0.28)


def skeleton(spec: ChestSpec, build: Build) -> Array:
    """The bones of the trunk, shape (n, 4): x, y, d, weight."""
    rng = np.random.default_rng((spec.seed, 3))
    parts = [_vertebra(level, rng) for level in range(-3, 14)]
    for sign in (-1.0, 1.0):
        parts += [_rib(number, sign, build, rng) for number in range(1, 13)]
        parts += [_clavicle(sign, build, rng), *_scapula(sign, build, rng)]
    parts.append(_sternum(build, rng))
    return np.concatenate(parts).astype(np.float32)


def hanging_arms(spec: ChestSpec, build: Build) -> Array:
    """The upper arms of the frontal view, shape (n, 4)."""
    rng = np.random.default_rng((spec.seed, 7))
    return np.concatenate([_humerus(sign, build, rng) for sign in (-1.0, 1.0)]).astype(np.float32)


def vertebra_depth(level: int) -> float:
    """Depth of the middle of thoracic vertebra ``level`` (0 is C7, 13 is L1)."""
    return -6.0 + 22.0 * (level - 1) + 0.28 * (level - 1) ** 2


def _tube(
    path: Array,
    first: Array,
    second: Array,
    radii: tuple[float, float],
    shell: float,
    rng: np.random.Generator,
    strength: Array | float = 1.0,
    girth: Array | float = 1.0,
) -> Array:
    """Points of a hollow tube along ``path`` (n, 3) whose section is spanned by ``first`` and ``second`` (n, 3).

    ``strength`` (n,) scales the bone and ``girth`` (n,) the section along the path.
    """
    strength = np.broadcast_to(strength, len(path))[:, None]
    girth = np.broadcast_to(girth, len(path))[:, None]
    spacing = 0.55
    around = max(12, int(np.pi * (radii[0] + radii[1]) / spacing))
    length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    angle = rng.uniform(0, 2 * np.pi, (len(path), 1)) + np.linspace(0, 2 * np.pi, around, endpoint=False)[None, :]
    ring = (
        path[:, None, :]
        + (radii[0] * girth * np.cos(angle))[:, :, None] * first[:, None, :]
        + (radii[1] * girth * np.sin(angle))[:, :, None] * second[:, None, :]
    )
    local = np.hypot(radii[0] * np.sin(angle), radii[1] * np.cos(angle))
    weight = strength * girth * local * (2 * np.pi / around) * (length / len(path)) * shell
    filled = max(6, around // 2)
    turn, out = rng.uniform(0, 2 * np.pi, (len(path), filled)), np.sqrt(rng.uniform(0, 1, (len(path), filled)))
    marrow = (
        path[:, None, :]
        + (radii[0] * girth * out * np.cos(turn))[:, :, None] * first[:, None, :]
        + (radii[1] * girth * out * np.sin(turn))[:, :, None] * second[:, None, :]
    )
    volume = strength * girth**2 * np.pi * radii[0] * radii[1] * length * SPONGY / marrow[..., 0].size
    shell_points = np.concatenate([ring.reshape(-1, 3), weight.reshape(-1, 1)], axis=1)
    inner = np.concatenate([marrow.reshape(-1, 3), np.broadcast_to(volume, turn.shape).reshape(-1, 1)], axis=1)
    return np.concatenate([shell_points, inner])


def _smooth_path(knots: list[tuple[float, float, float]], spacing: float = 0.5) -> Array:
    points = np.asarray(knots, dtype=np.float64)
    at = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    dense = np.linspace(0, at[-1], max(8, int(at[-1] / spacing)))
    return np.stack([PchipInterpolator(at, points[:, k])(dense) for k in range(3)], axis=1).astype(np.float32)


def _frame(path: Array, up: tuple[float, float, float]) -> tuple[Array, Array]:
    """Two unit vectors across the path: the one nearest to ``up``, and the other."""
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    guide = np.asarray(up, np.float32)[None, :]
    first = guide - (tangent * guide).sum(axis=1, keepdims=True) * tangent
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return first.astype(np.float32), np.cross(tangent, first).astype(np.float32)


def _rib(number: int, sign: float, build: Build, rng: np.random.Generator) -> Array:
    """One rib: from the vertebra back and outwards, round the wall, down to its cartilage."""
    end = _RIB_END[number - 1]
    t = np.linspace(0.07, end, 760 if number > 2 else 520)
    drop = _RIB_DROP[number - 1] * build.rib_slope
    start = vertebra_depth(number) + 2
    d = start + build.rib_shift * t + drop * (1.05 * t**1.22) - 4 * np.exp(-(((t - 0.2) / 0.1) ** 2))
    if number <= 2:
        d = d + 3
    a = half_width(np.maximum(d, 2), build) + 2.5
    back, front = back_and_front(np.maximum(d, 2), build)
    b, c = (back - front) / 2 + 3.0, (back + front) / 2
    theta = t * np.pi
    power = 2 / 2.25
    x = a * np.sin(theta) ** power
    y = c + b * np.sign(np.cos(theta)) * np.abs(np.cos(theta)) ** power
    joint = np.clip((0.19 - t) / 0.12, 0, 1) ** 1.5
    y_joint = spine_y(start) + 12
    x = x * (1 - joint) + np.maximum(20, x) * joint * 0.75 + x * joint * 0.25
    y = y * (1 - joint) + y_joint * joint
    path = np.stack([sign * x, y, d], axis=1).astype(np.float32)
    first, second = _frame(path, (0, 0, 1))
    # The first rib lies flat; the front parts are thinner and fade into cartilage, which throws no shadow.
    section = (3.0, 5.5) if number == 1 else (5.4 if number in (2, 3, 11, 12) else 6.1, 3.0)
    neck = np.clip((t - 0.07) / 0.13, 0, 1)
    strength = np.clip((end - t) / 0.05, 0, 1) * (1 - 0.42 * np.clip((t - 0.45) / 0.2, 0, 1)) * (0.08 + 0.92 * neck)
    girth = (0.7 + 0.3 * neck) * (1 + 0.12 * np.clip((t - 0.6) / 0.25, 0, 1))
    return _tube(path, first, second, section, 0.62, rng, strength, girth)


def _clavicle(sign: float, build: Build, rng: np.random.Generator) -> Array:
    w = build.width
    knots = [(17, -66, 60), (36, -74, 53), (66, -72, 43), (100, -48, 26), (132, -14, 10), (166, 6, 0)]
    jitter = float(rng.uniform(-4, 4))
    path = _smooth_path([(sign * x * w, y, d + jitter * (x / 160)) for x, y, d in knots])
    first, second = _frame(path, (0, 0, 1))
    return _tube(path, first, second, (5.4, 5.4), 0.9, rng, 1.0, 0.9 + 0.35 * np.linspace(1, 0, len(path)) ** 3)


def _humerus(sign: float, build: Build, rng: np.random.Generator) -> Array:
    """The head and the upper shaft, mostly beyond the edge of the film."""
    n = 40000
    direction: Array = rng.normal(0, 1, (n, 3)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    centre = np.array([sign * 176 * build.width, 16, 38])
    head = np.concatenate([centre + 24 * direction, np.full((n, 1), 4 * np.pi * 24**2 * 0.7 / n)], axis=1)
    inner = centre + 23 * direction * rng.uniform(0, 1, (n, 1)) ** (1 / 3)
    core = np.concatenate([inner, np.full((n, 1), 4.19 * 23**3 * 0.11 / n)], axis=1)
    path = _smooth_path([(sign * 180 * build.width, 16, 46), (sign * 222 * build.width, 0, 82)], 0.8)
    first, second = _frame(path, (0, 1, 0))
    girth = np.clip(np.linspace(0.05, 4, len(path)), 0, 1) ** 0.5
    return np.concatenate([head, core, _tube(path, first, second, (13, 13), 0.9, rng, 1.0, girth)])


def _scapula(sign: float, build: Build, rng: np.random.Generator) -> list[Array]:
    """A thin plate with a thick outer border, its spine, and the socket."""
    w = build.width * sign
    turn = float(rng.uniform(0, 14))
    inner = _smooth_path([(w * (104 + turn), 92, 30), (w * (108 + turn), 104, 90), (w * (118 + turn), 98, 160)])
    outer = _smooth_path([(w * 151, 44, 46), (w * 146, 62, 84), (w * (121 + turn), 96, 163)])
    n = 60000
    at, across = rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    rows_in = inner[(at * (len(inner) - 1)).astype(int)]
    rows_out = outer[(at * (len(outer) - 1)).astype(int)]
    plate = rows_in + (rows_out - rows_in) * across[:, None]
    area = 110 * 38.0
    sheet = np.concatenate([plate, np.full((n, 1), area * 1.3 / n)], axis=1)
    fade = np.linspace(1.0, 0.35, len(outer))
    border = _tube(outer, *_frame(outer, (1, 0, 0)), (3.0, 2.6), 0.7, rng, fade, 0.5 + fade / 2)
    medial = _tube(inner, *_frame(inner, (1, 0, 0)), (1.4, 1.4), 0.4, rng)
    ridge = _smooth_path([(w * (114 + turn), 96, 62), (w * 145, 88, 30), (w * 172, 46, 2)])
    spine = _tube(ridge, *_frame(ridge, (0, 0, 1)), (4.5, 3.0), 0.9, rng)
    beak = _smooth_path([(w * 158, 44, 46), (w * 148, 30, 26), (w * 143, 6, 22)])
    coracoid = _tube(beak, *_frame(beak, (0, 0, 1)), (6, 5), 0.9, rng)
    socket = _smooth_path([(w * 150, 40, 20), (w * 151, 40, 58)])
    swell = np.sqrt(np.maximum(1 - np.linspace(-1, 1, len(socket)) ** 2, 0.01))
    glenoid = _tube(socket, *_frame(socket, (1, 0, 0)), (4.5, 10), 0.6, rng, 1.0, swell)
    return [sheet, border, medial, spine, coracoid, glenoid]


def _sternum(build: Build, rng: np.random.Generator) -> Array:
    depths = np.linspace(52, 212, 330)
    _, front = back_and_front(depths, build)
    path = np.stack([np.zeros_like(depths), front - 9, depths], axis=1).astype(np.float32)
    first, second = _frame(path, (1, 0, 0))
    return _tube(path, first, second, (16, 5), 0.2, rng, 0.6)


def _vertebra(level: int, rng: np.random.Generator) -> Array:
    """A body with dense end plates, two pedicles and a spinous process."""
    middle = vertebra_depth(level)
    size = 0.80 + 0.022 * max(level, -2)
    rx, ry, rd = 18.8 * size * rng.uniform(0.95, 1.05), 15.5 * size, 9.6 * size + rng.uniform(0.5, 1.2)
    y0 = float(spine_y(middle))
    slope = float(spine_y(middle + 5) - spine_y(middle - 5)) / 10
    n = 16000
    turn = rng.uniform(0, 2 * np.pi, n)
    height = rng.uniform(-1, 1, n)
    waist = 1 - 0.2 * (1 - height**2)
    rough = rng.normal(0, 0.5, (n, 3))
    side = np.stack([rx * waist * np.cos(turn), ry * waist * np.sin(turn), rd * height], axis=1) + rough
    out = np.sqrt(rng.uniform(0, 1, n))
    dished = (rd - 1.1 * (1 - out**2)) * np.sign(height)
    plate = np.stack([rx * out * np.cos(turn), ry * out * np.sin(turn), dished], axis=1)
    plate += 0.8 * rough
    inner = np.stack(
        [rx * 0.93 * out * np.cos(turn), ry * 0.93 * out * np.sin(turn), rd * rng.uniform(-1, 1, n)], axis=1
    )
    area = np.pi * (rx + ry) * 2 * rd
    face = np.pi * rx * ry * 2
    groups = [(side, area * 0.20), (plate, face * 0.34), (inner, face * rd * SPONGY * 0.42)]
    cloud = [_placed(part, y0, middle, slope, volume) for part, volume in groups]
    for sign in (-1.0, 1.0):
        knots = [(sign * 11 * size, y0 + 12, middle - 3), (sign * 12 * size, y0 + 24, middle - 3)]
        pedicle = _smooth_path(knots)
        cloud.append(_tube(pedicle, *_frame(pedicle, (0, 0, 1)), (5.2 * size, 3.6 * size), 0.09, rng, 0.8))
        wing = _smooth_path([(sign * 12 * size, y0 + 22, middle - 3), (sign * 30 * size, y0 + 32, middle - 6)])
        cloud.append(_tube(wing, *_frame(wing, (0, 0, 1)), (4.2, 3.2), 0.03, rng, 0.4))
    process = _smooth_path([(0, y0 + 26, middle + 3), (0, y0 + 40, middle + 14), (0, y0 + 48, middle + 21)])
    cloud.append(_tube(process, *_frame(process, (1, 0, 0)), (2.4, 4.2), 0.05, rng, 0.25))
    return np.concatenate(cloud)


def _placed(part: Array, y0: float, d0: float, slope: float, volume: float) -> Array:
    moved = part + np.array([0, y0, d0])
    moved[:, 1] += slope * part[:, 2]
    moved[:, 2] -= slope * part[:, 1]
    return np.concatenate([moved, np.full((len(part), 1), volume / len(part))], axis=1)
