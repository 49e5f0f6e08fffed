"""The one scale of agreement: from -0.2 to 1 in steps of 0.05, the same colours on the page and in the figure. Pure.

Sequential from pale yellow over green to dark blue (YlGnBu of ColorBrewer): each step is darker than the one before,
so that it reads in grey and without colour vision, and the range in which kappas lie spans several hues. The classes
``k0`` to ``k23`` of static/readerstudy/results.css hold the same colours; a test compares them.
"""

from __future__ import annotations

from math import floor

LOWEST, HIGHEST = -0.2, 1.0
STEP = 0.05
N_STEPS = 24
ANCHORS = (  # at even distances from -0.2 to 1
    (255, 255, 229), (237, 248, 190), (199, 233, 180), (127, 205, 187), (65, 182, 196), (29, 145, 192), (34, 94, 168),
    (37, 52, 148), (8, 29, 88),
)  # fmt: skip
DARK_WORDS, LIGHT_WORDS = "#000000", "#ffffff"


def step_of(value: float) -> int:
    """0 to 23; values below or above the scale take its ends. A value on an edge belongs to the upper step."""
    return min(max(floor((value - LOWEST) / STEP + 1e-9), 0), N_STEPS - 1)


def colour_of(step: int) -> str:
    """The middle of the step on straight lines from anchor to anchor; as #rrggbb."""
    place = (step + 0.5) / N_STEPS * (len(ANCHORS) - 1)
    low, high = ANCHORS[int(place)], ANCHORS[int(place) + 1]
    part = place % 1
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high, strict=True))


def words_on(step: int) -> str:
    """Black or white, whichever stands out more."""
    return DARK_WORDS if luminance(colour_of(step)) > 0.179 else LIGHT_WORDS  # where both have the same contrast


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


COLOURS: tuple[str, ...] = tuple(colour_of(step) for step in range(N_STEPS))
