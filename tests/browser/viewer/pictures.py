"""Pictures with shape, and cases of two views."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.browser.viewer.stage import Descriptor, Stage


def smooth(height: int = 1250, width: int = 1024) -> NDArray[np.uint16]:
    """A picture with shape and no symmetry, so that a shift or a flip shows."""
    y, x = np.mgrid[0:height, 0:width]
    body = 2000 + 1200 * np.sin(x / 97 + y / 311) + 700 * np.cos(y / 83 - x / 401)
    body[(y - 300) ** 2 + (x - 260) ** 2 < 90**2] = 3900
    pixels: NDArray[np.uint16] = np.rint(body.clip(0, 4095)).astype(np.uint16)
    return pixels


def two_views(stage: Stage, case: str, **more: Any) -> list[Descriptor]:
    pixels = smooth()
    return [
        stage.add(f"{case}-lateral", pixels[::-1].copy(), view_position="LL", **more),
        stage.add(f"{case}-frontal", pixels, view_position="PA", **more),
    ]
