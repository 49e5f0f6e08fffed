"""From a simulated patient to detector values: image planes, rays, beam, scatter, noise and processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from annotation.demonstration.kernels.phantom_thorax import D_AXIS, STEP, X_AXIS, Y_AXIS, Array

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
