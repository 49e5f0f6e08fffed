"""The bones and devices of a simulated chest, and the way from a simulated patient to detector values.

A point's weight is a volume of compact bone in cubic millimetres; summed on an image plane and divided by the pixel's
area, the weights become the bone thickness along each ray, bright edges included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from annotation.demonstration.kernels import phantom_thorax as thorax
from annotation.demonstration.kernels.phantom_thorax import (
    D_AXIS,
    STEP,
    X_AXIS,
    Y_AXIS,
    Array,
    Build,
    ChestSpec,
    Curve,
    Point,
    back_and_front,
    smooth_path,
)

PITCH = 0.43  # ray spacing in mm; the detector's pixel is half of it
WATER, BONE = 0.0188, 0.034  # attenuation per mm at the beam's effective energy; what compact bone adds to water
PHOTONS = 26_000.0  # quanta per detector pixel without a patient


@dataclass(frozen=True)
class Plane:
    """An image plane: columns run along x (``axis`` 0, frontal) or y (1, lateral), rows along d."""

    axis: int
    u0: float
    v0: float
    shape: tuple[int, int]

    def columns(self) -> Array:
        return (self.u0 + PITCH * np.arange(self.shape[1])).astype(np.float32)

    def rows(self) -> Array:
        return (self.v0 + PITCH * np.arange(self.shape[0])).astype(np.float32)

    def pixels_of(self, points: Array) -> tuple[Array, Array]:
        """Row and column (fractional) of points (n, 3)."""
        column = (points[:, self.axis] - self.u0) / PITCH
        return ((points[:, 2] - self.v0) / PITCH).astype(np.float32), column.astype(np.float32)

    def summed(self, row: Array, column: Array, weight: Array) -> Array:
        """An image of ``weight`` at these whole rows and columns; what is beyond the edges is left out."""
        height, width = self.shape
        row, column, weight = np.broadcast_arrays(row, column, weight)
        keep = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        place = row[keep].astype(np.intp) * width + column[keep].astype(np.intp)
        total = np.bincount(place, weights=weight[keep], minlength=height * width)
        return total.reshape(self.shape).astype(np.float32)


FRONTAL = Plane(0, -175.0, -62.0, (1000, 816))
LATERAL = Plane(1, -168.0, -72.0, (1000, 744))


def resize(image: Array, shape: tuple[int, int], how: Image.Resampling) -> Array:
    """``image`` at another size."""
    scaled = Image.fromarray(np.ascontiguousarray(image, dtype=np.float32)).resize((shape[1], shape[0]), how)
    return np.asarray(scaled, dtype=np.float32)


def onto_plane(plane: Plane, air: Array) -> Array:
    """An air projection (rows D_AXIS, columns X_AXIS or Y_AXIS) sampled on ``plane``'s rays; zero beyond."""
    axis = X_AXIS if plane.axis == 0 else Y_AXIS
    height, width = round(len(D_AXIS) * STEP / PITCH), round(len(axis) * STEP / PITCH)
    fine = np.maximum(resize(air, (height, width), Image.Resampling.BICUBIC), 0)
    top = round((float(D_AXIS[0]) - STEP / 2 - plane.v0) / PITCH)
    left = round((float(axis[0]) - STEP / 2 - plane.u0) / PITCH)
    return plane.summed(top + np.arange(0.0, height)[:, None], left + np.arange(0.0, width), fine)


def splat_points(plane: Plane, cloud: Array, blur: float = 0.85) -> Array:
    """Thickness in mm of a cloud (n, 4) of weighted points; ``blur`` in rays hides single points."""
    row, column = plane.pixels_of(cloud)
    top, left = np.floor(row), np.floor(column)
    total = np.zeros(plane.shape, np.float32)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share = np.abs(1 - down - row + top) * np.abs(1 - right - column + left)
        total += plane.summed(top + down, left + right, share * cloud[:, 3] / PITCH**2)
    return gaussian_filter(total, blur)


def splat_tubes(plane: Plane, start: Array, end: Array, radius: Array | float) -> Array:
    """Thickness in mm of straight round tubes with ends (n, 3), summed."""
    spacing = 0.45
    away = np.linalg.norm(end - start, axis=1)
    pieces = np.maximum(1, np.ceil(away / spacing).astype(int))
    which = np.repeat(np.arange(len(start)), pieces)
    first = np.concatenate([[0], np.cumsum(pieces)[:-1]])
    t = (np.arange(len(which)) - first[which] + 0.5) / pieces[which]
    points = (start[which] + (end - start)[which] * t[:, None]).astype(np.float32)
    return _discs(plane, points, np.broadcast_to(radius, len(start))[which], (away / pieces)[which])


def _discs(plane: Plane, points: Array, radius: Array, length: Array) -> Array:
    # A row of flat discs, each as high as the step between them, sums to the chord of a round tube.
    row, column = plane.pixels_of(points)
    total = np.zeros(plane.shape, np.float32)
    reach = np.ceil(radius / PITCH + 0.5).astype(int)
    for size in np.unique(reach):
        r, c, wide, high = (one[reach == size][:, None, None] for one in (row, column, radius, length))
        grid = np.arange(-size, size + 1)
        rr, cc = np.rint(r) + grid[:, None], np.rint(c) + grid
        total += plane.summed(rr, cc, np.clip(0.5 + wide / PITCH - np.hypot(rr - r, cc - c), 0, 1) * high)
    return total


def splat_path(plane: Plane, path: Array, radius: Array | float) -> Array:
    """Thickness in mm of one tube along ``path`` (n, 3); ``radius`` may be given for each of its n - 1 pieces."""
    return splat_tubes(plane, path[:-1], path[1:], radius)


def fractal(shape: tuple[int, int], rng: np.random.Generator, sizes: tuple[float, ...]) -> Array:
    """Smooth random variation of unit spread with details of the given ``sizes`` in pixels."""
    total = np.zeros(shape, np.float32)
    for size in sizes:
        small = (max(4, int(shape[0] / size)), max(4, int(shape[1] / size)))
        total += resize(rng.standard_normal(small, dtype=np.float32), shape, Image.Resampling.BICUBIC)
    return np.asarray(total / max(float(total.std()), 1e-6), dtype=np.float32)


def expose(attenuation: Array, rng: np.random.Generator) -> Array:
    """Beer-Lambert, scatter behind a grid, focal blur and quantum noise.

    ``attenuation`` has one value per ray; the answer is the logarithmic signal per detector pixel, twice as fine,
    higher where more was absorbed.
    """
    shape = (attenuation.shape[0] * 2, attenuation.shape[1] * 2)
    fine = gaussian_filter(resize(attenuation, shape, Image.Resampling.BICUBIC), 0.9)
    primary = np.exp(-np.maximum(fine, 0))
    small = (shape[0] // 16, shape[1] // 16)
    wide = gaussian_filter(resize(np.minimum(primary, 0.35), small, Image.Resampling.BOX), 7, mode="nearest")
    primary += 0.075 * resize(wide, shape, Image.Resampling.BILINEAR)
    noise = rng.standard_normal(shape, dtype=np.float32)
    noise = (0.55 * noise + 0.9 * gaussian_filter(noise, 0.7)).astype(np.float32)
    counted = primary + np.sqrt(primary / np.float32(PHOTONS)) * noise
    return np.asarray(-np.log(np.maximum(counted, 2e-4)), dtype=np.float32)


def process(signal: Array, *, flatten: float, detail: float) -> Array:
    """The scanner's processing: compress what is large, lift what is small. Returns a signal on the same scale."""
    small = (signal.shape[0] // 10, signal.shape[1] // 10)
    # Beyond the body the signal is near zero; it must not darken the skin line from afar.
    coarse = np.maximum(resize(signal, small, Image.Resampling.BOX), 1.7)
    large = resize(gaussian_filter(coarse, 9, mode="nearest"), signal.shape[:2], Image.Resampling.BICUBIC)
    middle = gaussian_filter(signal, 7)
    return np.asarray(signal - flatten * (large - 2.6) + detail * (signal - middle), dtype=np.float32)


def quantise(signal: Array, brightest: float = 99.5) -> tuple[NDArray[np.uint16], float, float]:
    """12-bit values with the window that shows them: (values, centre, width); more absorption, higher value."""
    inner = signal[signal.shape[0] // 10 : -signal.shape[0] // 12, signal.shape[1] // 8 : -signal.shape[1] // 8]
    sample = inner[::4, ::4]
    low, high = (float(value) for value in np.percentile(sample[sample > 1.0], (1.0, brightest)))
    level = (signal - low) / (high - low)
    # The scanner's tone curve: lungs a little lighter, dense parts together.
    toned = np.where(level > 0, 1.24 * level / (0.24 + np.maximum(level, 0)) * 0.45 + 0.55 * level, level)
    values = np.clip(900 + toned * 2200, 0, 4095)
    return values.astype(np.uint16), 900 + 2200 * 0.55, 2200 * 1.28


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
