"""The one scale of agreement: from -0.2 to 1 in steps of 0.05, the same colours on the page and in the figure. Pure.

Sequential and of one hue, so that it reads in grey and without colour vision. The classes ``k0`` to ``k23`` of
static/readerstudy/results.css hold the same colours; a test compares them.
"""

from __future__ import annotations

from math import floor

LOWEST, HIGHEST = -0.2, 1.0
STEP = 0.05
N_STEPS = 24
PALE, MIDDLE, DEEP = (250, 249, 252), (158, 134, 193), (63, 20, 115)  # at -0.2, 0.4 and 1
DARK_WORDS, LIGHT_WORDS = "#000000", "#ffffff"


def step_of(value: float) -> int:
    """0 to 23; values below or above the scale take its ends. A value on an edge belongs to the upper step."""
    return min(max(floor((value - LOWEST) / STEP + 1e-9), 0), N_STEPS - 1)


def colour_of(step: int) -> str:
    """The middle of the step on two straight lines: pale to middle, middle to deep; as #rrggbb."""
    place = (step + 0.5) / N_STEPS * 2
    low, high = (PALE, MIDDLE) if place < 1 else (MIDDLE, DEEP)
    part = place if place < 1 else place - 1
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
