"""From a simulated patient to detector values: image planes, rays, beam, scatter, noise and processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from annotation.demonstration.kernels.phantom_thorax import D_AXIS, STEP, X_AXIS, Y_AXIS, Array

PITCH = 0.43
"""Ray spacing in mm; the detector's pixel is half of it."""
WATER = 0.0188
"""Attenuation of water per mm at the beam's effective energy."""
BONE = 0.034
"""What compact bone adds to water, per mm."""
PHOTONS = 26_000.0
"""Quanta per detector pixel without a patient."""


@dataclass(frozen=True)
class Plane:
    """An image plane: columns run along x (frontal) or y (lateral), rows along d."""

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
    out = np.zeros(plane.shape, np.float32)
    top = round((float(D_AXIS[0]) - STEP / 2 - plane.v0) / PITCH)
    left = round((float(axis[0]) - STEP / 2 - plane.u0) / PITCH)
    bottom, right = min(top + height, plane.shape[0]), min(left + width, plane.shape[1])
    out[max(top, 0) : bottom, max(left, 0) : right] = fine[max(-top, 0) : bottom - top, max(-left, 0) : right - left]
    return out


def splat_points(plane: Plane, cloud: Array, blur: float = 0.85) -> Array:
    """Thickness in mm of a cloud (n, 4) of weighted points; ``blur`` in rays hides single points."""
    row, column = plane.pixels_of(cloud)
    height, width = plane.shape
    r0, c0 = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    keep = (r0 >= 0) & (r0 < height - 1) & (c0 >= 0) & (c0 < width - 1)
    r0, c0, fr, fc = r0[keep], c0[keep], row[keep] - r0[keep], column[keep] - c0[keep]
    weight = cloud[keep, 3] / PITCH**2
    total = np.zeros(height * width)
    for dr, dc, part in (
        (0, 0, (1 - fr) * (1 - fc)),
        (0, 1, (1 - fr) * fc),
        (1, 0, fr * (1 - fc)),
        (1, 1, fr * fc),
    ):
        total += np.bincount((r0 + dr) * width + c0 + dc, weights=part * weight, minlength=height * width)
    return gaussian_filter(total.reshape(plane.shape).astype(np.float32), blur)


def splat_tubes(plane: Plane, start: Array, end: Array, radius: Array) -> Array:
    """Thickness in mm of straight round tubes with ends (n, 3), summed."""
    spacing = 0.45
    pieces = np.maximum(1, np.ceil(np.linalg.norm(end - start, axis=1) / spacing).astype(int))
    which = np.repeat(np.arange(len(start)), pieces)
    first = np.concatenate([[0], np.cumsum(pieces)[:-1]])
    t = (np.arange(len(which)) - first[which] + 0.5) / pieces[which]
    points = start[which] + (end - start)[which] * t[:, None]
    length = (np.linalg.norm(end - start, axis=1) / pieces)[which]
    return _discs(plane, points.astype(np.float32), radius[which], length)


def _discs(plane: Plane, points: Array, radius: Array, length: Array) -> Array:
    # A row of flat discs, each as high as the step between them, sums to the chord of a round tube.
    row, column = plane.pixels_of(points)
    height, width = plane.shape
    total = np.zeros(height * width)
    reach = np.ceil(radius / PITCH + 0.5).astype(int)
    for size in np.unique(reach):
        ours = reach == size
        r, c = row[ours], column[ours]
        grid = np.arange(-size, size + 1)
        rr = np.rint(r).astype(int)[:, None, None] + grid[None, :, None]
        cc = np.rint(c).astype(int)[:, None, None] + grid[None, None, :]
        away = np.hypot(rr - r[:, None, None], cc - c[:, None, None])
        value = np.clip(0.5 + radius[ours, None, None] / PITCH - away, 0, 1) * length[ours, None, None]
        rr, cc = np.broadcast_arrays(rr, cc)
        keep = (rr >= 0) & (rr < height) & (cc >= 0) & (cc < width)
        total += np.bincount((rr * width + cc)[keep], weights=value[keep], minlength=height * width)
    return total.reshape(plane.shape).astype(np.float32)


def capsule(plane: Plane, start: tuple[float, float, float], end: tuple[float, float, float], radius: float) -> Array:
    """Thickness of one thick rod with round ends, seen on ``plane``."""
    v, u = np.meshgrid(plane.rows(), plane.columns(), indexing="ij")
    u0, v0, u1, v1 = start[plane.axis], start[2], end[plane.axis], end[2]
    du, dv = u1 - u0, v1 - v0
    length = max(du * du + dv * dv, 1e-6)
    t = np.clip(((u - u0) * du + (v - v0) * dv) / length, 0, 1)
    away = (u - u0 - t * du) ** 2 + (v - v0 - t * dv) ** 2
    full = float(np.linalg.norm(np.subtract(end, start)))
    slant = min(2.2, full / max(length**0.5, 1e-3)) if full > 0 else 1.0
    return np.asarray(2 * slant * np.sqrt(np.maximum(radius**2 - away, 0)), dtype=np.float32)


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
    primary *= _fall_off(shape, rng)
    primary += _scatter(np.minimum(primary, 0.35))
    noise = rng.standard_normal(shape, dtype=np.float32)
    noise = (0.55 * noise + 0.9 * gaussian_filter(noise, 0.7)).astype(np.float32)
    counted = primary + np.sqrt(primary / np.float32(PHOTONS)) * noise
    return np.asarray(-np.log(np.maximum(counted, 2e-4)), dtype=np.float32)


def _fall_off(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Heel effect and slight unevenness of the field."""
    v, u = np.linspace(-1, 1, shape[0], dtype=np.float32), np.linspace(-1, 1, shape[1], dtype=np.float32)
    tilt = rng.uniform(-0.07, 0.07, 2)
    return np.asarray(1 + tilt[0] * v[:, None] + tilt[1] * u[None, :] - 0.08 * (v[:, None] ** 2 + u**2), np.float32)


def _scatter(primary: Array) -> Array:
    small = (primary.shape[0] // 16, primary.shape[1] // 16)
    wide = gaussian_filter(resize(primary, small, Image.Resampling.BOX), 7, mode="nearest")
    return 0.075 * resize(wide, primary.shape[:2], Image.Resampling.BILINEAR)


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
    sample = sample[sample > 1.0]
    low, high = (float(value) for value in np.percentile(sample, (1.0, brightest)))
    span = high - low
    level = (signal - low) / span
    # The scanner's tone curve: lungs a little lighter, dense parts together.
    toned = np.where(level > 0, 1.24 * level / (0.24 + np.maximum(level, 0)) * 0.45 + 0.55 * level, level)
    values = np.clip(900 + toned * 2200, 0, 4095)
    return values.astype(np.uint16), 900 + 2200 * 0.55, 2200 * 1.28
