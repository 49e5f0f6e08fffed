"""The air of a simulated chest: lungs, pleura, fluid, consolidation, bubble, and the vessels inside the lungs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.demonstration.kernels.phantom_spec import ChestSpec, Side
from annotation.demonstration.kernels.phantom_thorax import (
    D_AXIS,
    EXPONENT,
    LOBE_CENTRES,
    LUNG_DENSITY,
    STEP,
    X_AXIS,
    Y_AXIS,
    Array,
    Build,
    back_and_front,
    dome_depth,
    half_width,
    lobe_distance,
    mediastinal_reach,
)

_SLAB = 16


@dataclass(frozen=True)
class Air:
    """Missing water along the rays, in mm, and where vessels may grow.

    ``frontal`` has shape (len(D_AXIS), len(X_AXIS)), ``lateral`` (len(D_AXIS), len(Y_AXIS)); the points are (n, 3)
    in the order x, y, d.
    """

    frontal: Array
    lateral: Array
    right_points: Array
    left_points: Array


def inflate(spec: ChestSpec, build: Build) -> Air:
    """Sum the air of ``spec``'s chest along both directions."""
    frontal = np.zeros((len(D_AXIS), len(X_AXIS)), np.float32)
    lateral = np.zeros((len(D_AXIS), len(Y_AXIS)), np.float32)
    reach = mediastinal_reach(spec, build)
    domes = np.where(X_AXIS[None, :] < 0, dome_depth(spec, build, "right"), dome_depth(spec, build, "left"))
    domes = domes.astype(np.float32)
    points: list[Array] = []
    for start in range(0, len(D_AXIS), _SLAB):
        rows = slice(start, start + _SLAB)
        missing, lung = _slab(spec, build, rows, reach, domes)
        frontal[rows] = _sheared_sum(missing, 1, build.rotation)
        lateral[rows] = _sheared_sum(missing, 2, build.tilt)
        points.append(_coarse(lung, rows))
    inside = np.concatenate(points)
    return Air(frontal * STEP, lateral * STEP, inside[inside[:, 0] < 0], inside[inside[:, 0] > 0])


def _coarse(lung: NDArray[np.bool_], rows: slice) -> Array:
    depth, back, across = np.nonzero(lung[::4, ::4, ::4])
    return np.stack([X_AXIS[across * 4], Y_AXIS[back * 4], D_AXIS[rows][depth * 4]], axis=1)


def _sheared_sum(volume: Array, axis: int, slope: float) -> Array:
    """Sum over ``axis`` (1: y, 2: x), moving each layer along the other by ``slope`` times its coordinate."""
    along = Y_AXIS if axis == 1 else X_AXIS
    layers = np.moveaxis(volume, axis, 0)
    total = np.zeros(layers.shape[1:], np.float32)
    shifts = along * slope / STEP
    for layer, shift in zip(layers, shifts, strict=True):
        whole = int(np.floor(shift))
        part = float(shift) - whole
        total += (1 - part) * np.roll(layer, whole, axis=1) + part * np.roll(layer, whole + 1, axis=1)
    return total


def _slab(
    spec: ChestSpec, build: Build, rows: slice, reach: tuple[Array, Array], domes: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Missing density (0 to 1) and the lung's own voxels of a few layers, shape (layer, y, x)."""
    d = D_AXIS[rows][:, None, None]
    y, x = Y_AXIS[None, :, None], X_AXIS[None, None, :]
    wall = _wall_distance(build, d, y, x)
    medial = np.minimum(x + reach[0][rows][:, :, None], reach[1][rows][:, :, None] - x)
    below = d - domes[None]
    cavity = np.maximum(np.maximum(wall, medial), below)
    room = np.clip(0.5 - cavity / STEP, 0, 1)
    density = np.broadcast_to(LUNG_DENSITY * (0.86 + 0.28 * d / 250), room.shape).astype(np.float32)
    if spec.hyperinflated:
        density = density * np.float32(0.72)
    lung = room > 0.99
    if spec.consolidation is not None:
        density = density + _consolidation(spec, x, y, d) * (0.93 - density)
    if spec.pneumothorax is not None:
        density, lung = _collapse(spec, density, lung, wall, x, d)
    for effusion in spec.effusions:
        level = build.dome + 62 - effusion.depth - 30 * np.exp(np.minimum(wall, 0) / 12)
        near = np.clip(0.5 + (d - level) / 2.0, 0, 1)
        ours = (x < 0) == (effusion.side == "right")
        density = np.where(ours, density + near * (1 - density), density)
        lung = lung & ~(ours & (near > 0.1))
    for nodule in spec.nodules:
        density = density + _ball(LOBE_CENTRES[nodule.lobe], nodule.radius, build, x, y, d) * (1 - density)
    missing = room * (1 - density)
    _add_bubble(spec, missing, domes, build, d)
    return missing.astype(np.float32), lung


def _wall_distance(build: Build, d: Array, y: Array, x: Array) -> Array:
    """About the distance to the inner chest wall, negative inside."""
    a = np.maximum(half_width(d, build), 8)
    back, front = back_and_front(d, build)
    b, c = np.maximum((back - front) / 2, 8), (back + front) / 2
    sum_ = np.abs(x / a) ** EXPONENT + np.abs((y - c) / b) ** EXPONENT
    wall = (sum_ - 1) / EXPONENT * np.minimum(a, b)
    inward = np.maximum(50 - np.abs(x) / build.width, 0)
    apex = 1 + 12 * (inward / 26) ** 2 + np.minimum(10 * ((y - 32) / 36) ** 2, 24) - d
    return np.asarray(np.maximum(wall, apex), dtype=np.float32)


def _ball(centre: tuple[float, float, float], radius: float, build: Build, x: Array, y: Array, d: Array) -> Array:
    x0, y0, d0 = centre
    away = np.sqrt((x - x0 * build.width) ** 2 + (y - y0) ** 2 + (d - d0) ** 2)
    # A slightly lobed outline: a perfect disc looks like a coin.
    away = away + 0.5 * np.sin((x + 2 * y) / 7.0) + 0.4 * np.sin((d - y + x) / 5.0)
    return np.asarray(np.clip(0.5 - (away - radius) / 1.8, 0, 1), dtype=np.float32)


def _consolidation(spec: ChestSpec, x: Array, y: Array, d: Array) -> Array:
    assert spec.consolidation is not None
    x0, y0, d0 = LOBE_CENTRES[spec.consolidation]
    rng = np.random.default_rng((spec.seed, 5))
    phase = rng.uniform(0, 6, 6)
    away = np.sqrt(((x - x0 * 0.9) / 52) ** 2 + ((y - y0) / 58) ** 2 + ((d - d0) / 46) ** 2)
    patchy = np.sin(x / 7.5 + phase[0]) * np.sin(y / 8.5 + phase[1]) * np.sin(d / 6.5 + phase[2]) + 0.6 * np.sin(
        x / 3.4 + phase[3]
    ) * np.sin(y / 3.9 + phase[4]) * np.sin(d / 3.1 + phase[5])
    fill = 1 / (1 + np.exp((away - 1.0 + 0.22 * patchy) / 0.13))
    fissure = np.clip(0.5 - lobe_distance(spec.consolidation, x, y, d) / 2.5, 0, 1)
    return np.asarray(fill * fissure * (0.82 + 0.1 * patchy), dtype=np.float32)


def _collapse(
    spec: ChestSpec, density: Array, lung: NDArray[np.bool_], wall: Array, x: Array, d: Array
) -> tuple[Array, NDArray[np.bool_]]:
    assert spec.pneumothorax is not None
    gap = spec.pneumothorax.gap * np.clip(1.12 - d / 240, 0, 1) ** 0.8 + 0.5
    depth = -wall - gap
    ours = ((x < 0) == (spec.pneumothorax.side == "right")) & (gap > 1.5)
    inflated = np.clip(0.5 + depth / STEP, 0, 1)
    line = 0.75 * np.exp(-((depth / 0.9) ** 2))
    packed = np.minimum(density * 1.25, 1)
    new = np.maximum(inflated * packed, line)
    return np.where(ours, new, density).astype(np.float32), lung & (~ours | (depth > 4))


def _add_bubble(spec: ChestSpec, missing: Array, domes: Array, build: Build, d: Array) -> None:
    """Air in the stomach under the left dome, with a flat level of a standing patient."""
    rng = np.random.default_rng((spec.seed, 6))
    x0, y0 = 66 + rng.uniform(-7, 7), -22 + rng.uniform(-8, 8)
    rx, tall = rng.uniform(28, 40), rng.uniform(32, 48)
    x, y = X_AXIS[None, None, :], Y_AXIS[None, :, None]
    top = float(domes[np.abs(Y_AXIS - y0).argmin(), np.abs(X_AXIS - x0).argmin()])
    if d[-1, 0, 0] < top or d[0, 0, 0] > top + 80:
        return
    away = (np.sqrt(((x - x0) / rx) ** 2 + ((y - y0) / 34) ** 2 + ((d - top - 27) / 24) ** 2) - 1) * 24
    shape = np.maximum(np.maximum(away, domes[None] + 5.5 - d), d - top - tall)
    missing += np.clip(0.5 - shape / STEP, 0, 1) * 0.97


_HILA: dict[Side, tuple[float, float, float]] = {"right": (-36, 2, 138), "left": (37, 6, 126)}
_TRUNKS: dict[Side, tuple[tuple[float, float, float], ...]] = {
    "right": ((-24, -4, 130), (-40, 2, 134), (-50, 10, 152), (-56, 16, 176), (-62, 26, 202)),
    "left": ((28, 4, 126), (42, 14, 129), (52, 24, 144), (57, 30, 166), (63, 36, 192)),
}
_UPPER: dict[Side, tuple[tuple[float, float, float], ...]] = {
    "right": ((-34, 0, 130), (-46, -4, 112), (-54, -4, 90)),
    "left": ((36, 6, 126), (48, 0, 110), (57, -6, 88)),
}


@dataclass(frozen=True)
class Tubes:
    """Short straight pieces: ends (n, 3) and radii (n,)."""

    start: Array
    end: Array
    radius: Array


def grow_vessels(spec: ChestSpec, air: Air) -> Tubes:
    """Branching vessels from the hila to points spread through the lungs; wider towards the hila (Murray's law)."""
    rng = np.random.default_rng((spec.seed, 2))
    sides: list[tuple[Side, Array]] = [("right", air.right_points), ("left", air.left_points)]
    grown = [_grow(rng, side, points) for side, points in sides if len(points) > 200]
    return Tubes(
        np.concatenate([tubes.start for tubes in grown]),
        np.concatenate([tubes.end for tubes in grown]),
        np.concatenate([tubes.radius for tubes in grown]),
    )


def _grow(rng: np.random.Generator, side: Side, points: Array, n_ends: int = 620) -> Tubes:
    nodes = np.zeros((60_000, 3), np.float32)
    parent = np.full(60_000, -1)
    root_distance = np.zeros(60_000, np.float32)
    count = 0
    for chain in (_TRUNKS[side], _UPPER[side]):
        dense = _resample(np.asarray(chain, np.float32), 3.0)
        for index, node in enumerate(dense):
            nodes[count] = node
            parent[count] = count - 1 if index else (-1 if count == 0 else 0)
            root_distance[count] = np.linalg.norm(node - dense[0])
            count += 1
    hilum = np.asarray(_HILA[side], np.float32)
    chosen = points[rng.choice(len(points), min(n_ends, len(points)), replace=False)]
    chosen = chosen + rng.uniform(-2.4, 2.4, chosen.shape).astype(np.float32)
    ends = 0.0
    leaves: list[int] = []
    for target in chosen[np.argsort(np.linalg.norm(chosen - hilum, axis=1))]:
        known = nodes[:count]
        away = np.linalg.norm(known - target, axis=1)
        outward = np.linalg.norm(known - hilum, axis=1) - np.linalg.norm(target - hilum)
        heading = ((target - known) * (known - hilum)).sum(axis=1)
        turn = heading / (away * np.linalg.norm(known - hilum, axis=1) + 1e-3)
        near = int(np.argmin(away * (1.6 - turn) + 0.10 * root_distance[:count] + 2.0 * np.maximum(outward, 0)))
        ends = float(away[near])
        if ends < 2.5:
            continue
        steps = max(2, int(ends / 3.5))
        bend = rng.normal(0, 0.035 * ends, 3)
        t = np.linspace(0, 1, steps + 1)[1:, None]
        path = nodes[near] + (target - nodes[near]) * t + bend * np.sin(np.pi * t)
        last = near
        for node in path:
            nodes[count], parent[count] = node, last
            root_distance[count] = root_distance[last] + np.linalg.norm(node - nodes[last])
            last, count = count, count + 1
        leaves.append(last)
    return _with_radii(nodes[:count], parent[:count], leaves, rng)


def _with_radii(nodes: Array, parent: NDArray[np.int_], leaves: list[int], rng: np.random.Generator) -> Tubes:
    power = 2.55
    carried = np.zeros(len(nodes))
    carried[leaves] = rng.uniform(0.42, 0.62, len(leaves)) ** power
    for index in range(len(nodes) - 1, 0, -1):
        if parent[index] >= 0:
            carried[parent[index]] += carried[index]
    radius = np.minimum(carried ** (1 / power), 5.8)
    child = np.flatnonzero(parent >= 0)
    child = child[carried[child] > 0]
    return Tubes(nodes[parent[child]], nodes[child], radius[child].astype(np.float32))


def _resample(chain: Array, spacing: float) -> Array:
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(chain, axis=0), axis=1))])
    at = np.linspace(0, lengths[-1], max(2, int(lengths[-1] / spacing)))
    return np.stack([np.interp(at, lengths, chain[:, k]) for k in range(3)], axis=1).astype(np.float32)
