"""An image as a model gets it: the 8-bit grey that a reviewer sees, at a size that a named policy says. Pure.

Many public scripts open a 16-bit PNG and convert it to RGB, by which every value over 255 becomes white. Here the grey
is that of the screen, by the window with which the image first appears.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from PIL import Image

    from annotation.imaging.kernels.rendering import Payload

STORED, QUARTER, BLANK = "stored-1", "quarter-1", "blank-1"
LONGEST = re.compile(r"longest-(\d{2,5})-1")
SMALLEST_SIDE, LARGEST_SIDE = 64, 8192
BLANK_GREY = 128


class PicturePolicy(Struct, frozen=True):
    """``name`` carries the version: what a policy does never changes under it. 0: as large as it is."""

    name: str
    longest_side: int = 0
    divisor: int = 1

    def resized(self, picture: Image.Image) -> Image.Image:
        """Never enlarged. A pixel of a quarter is the mean of four by four."""
        from PIL import Image

        if self.divisor > 1:
            return picture.reduce(self.divisor)
        scale = self.longest_side / max(picture.size)
        if not 0 < scale < 1:
            return picture
        width, height = (max(1, round(side * scale)) for side in picture.size)
        return picture.resize((width, height), Image.Resampling.HAMMING)


def policy_named(name: str) -> PicturePolicy:
    """Raises ValueError with a sentence."""
    if name in (STORED, BLANK):
        return PicturePolicy(name)
    if name == QUARTER:
        return PicturePolicy(name, divisor=4)
    sides = LONGEST.fullmatch(name)
    if sides and SMALLEST_SIDE <= int(sides[1]) <= LARGEST_SIDE:
        return PicturePolicy(name, longest_side=int(sides[1]))
    raise ValueError(
        f"There is no policy {name!r} for pictures: {STORED}, {QUARTER}, or longest-N-1 with N from {SMALLEST_SIDE} to "
        f"{LARGEST_SIDE}."
    )


def picture_of(payload: Payload, display: Mapping[str, Any], policy: PicturePolicy) -> tuple[bytes, int, int]:
    """PNG of 8-bit grey without any other data, its width and its height. Equal input gives equal bytes.

    ``payload``: shape (rows, columns). ``display``: as ``Image.display`` keeps it.
    """
    import numpy as np  # not at every start
    from PIL import Image

    from annotation.imaging.kernels.rendering import grey_png, table_of, through_table

    is_blank = policy.name == BLANK
    greys = np.full(payload.shape, BLANK_GREY, np.uint8) if is_blank else through_table(payload, table_of(display))
    picture = policy.resized(Image.fromarray(greys))
    return grey_png(np.asarray(picture)), picture.width, picture.height
