"""The display check: two grey steps that have to be found, and a window that is large enough. Pure.

A patch of 5 % on black and one of 95 % on white (the pair of the SMPTE RP 133 test pattern) stand in one of four
corners; the reader says in which. The corners follow from the reader and the attempt, so that nobody guesses twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from annotation.enums import Word


def _(label: str) -> str:
    """Mark a label for translation; pages translate it where it is shown."""
    return label


class Corner(Word):
    UPPER_LEFT = "upper_left", _("upper left")
    UPPER_RIGHT = "upper_right", _("upper right")
    LOWER_LEFT = "lower_left", _("lower left")
    LOWER_RIGHT = "lower_right", _("lower right")
    NOWHERE = "nowhere", _("I do not see it")


CORNERS = (Corner.UPPER_LEFT, Corner.UPPER_RIGHT, Corner.LOWER_LEFT, Corner.LOWER_RIGHT)


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What the browser tells, in CSS pixels; ``pixel_ratio`` is device pixels for one of them."""

    width: int
    height: int
    screen_width: int
    screen_height: int
    pixel_ratio: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def corners_of(name: str, attempt: int) -> tuple[Corner, Corner]:
    """Where the patches stand, dark one first, for the ``attempt``-th try (from 0) of a reader."""
    digest = hashlib.sha256(f"{name} {attempt}".encode()).digest()
    return CORNERS[digest[0] % 4], CORNERS[digest[1] % 4]


def is_large_enough(screen: Screen, least: tuple[int, int] | None) -> bool:
    return least is None or (screen.width >= least[0] and screen.height >= least[1])
