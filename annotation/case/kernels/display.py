"""The check of a display: a pattern in the manner of TG18-QC, what was read of it, and the conditions of reading. Pure.

Its letters are drawn anew for each try, so that whoever does not see them can only guess. They fade as those of
Pelli and Robson do; the first ones stand at 5 % on black and at 95 % on white.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import takewhile
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from annotation.enums import Word, _
from annotation.hashes import keyed_digest


class DisplayUsed(Word):
    MEDICAL = "medical", _("medical display, calibrated")
    MONITOR = "monitor", _("office monitor")
    LAPTOP = "laptop", _("laptop")
    TABLET = "tablet", _("tablet")
    OTHER = "other", _("other")


RULE = "letters-1"  # what is drawn, and what of it has to be read
LETTERS = "CDHKNRSVZ"  # Sloan's, which are equally hard to read, but for the O that looks like C and D
LEVELS = (13, 13, 13, 9, 6, 4)  # of 255, from black and from white, letter by letter
N_NEEDED = 3
PAIRS = (4, 9)  # of lines, the fewest and the most
TRIES = 2  # missed ones, after which somebody may go on without having read the letters
BITS_SHOWN = 8  # of each pixel of an image on screen
# What is known of how somebody read, by its name in a stored check: in forms, pages, exports, protocols and reports.
CONDITIONS = {
    "display": _("Display"),
    "luminance": _("Maximum luminance, cd/m²"),
    "qa_days": _("Days since the last quality control of the display"),
    "room_light": _("Room light, lux"),
    "n_displays": _("Displays in use"),
    "colour_depth": _("Bits per pixel of the screen"),
    "bits_shown": _("Bits of grey with which images are shown"),
    "zoom_percent": _("Zoom of the browser, percent"),
    "read_dark": _("Letters read on black, of 6"),
    "read_light": _("Letters read on white, of 6"),
}
_SCREEN = ("screen_width", "screen_height", "pixel_ratio", "colour_depth", "screen_left", "screen_top", "is_extended")
PROTOCOL: dict[str, Any] = {"rule": RULE, "letters": LETTERS, "levels": LEVELS, "n_needed": N_NEEDED, "n_tries": TRIES}
PROTOCOL |= {"bits_shown": BITS_SHOWN, "conditions": CONDITIONS}  # what a frozen protocol says of the check
NOT_READ = _(
    "The first three letters on black and on white are needed; new ones are drawn. Look again in the light and from "
    "the distance in which you read. Change nothing on a calibrated display: if you still cannot read them, ask your "
    "medical physicist, or whoever looks after the display, to check it."
)


class Pattern(Struct, frozen=True):
    """What has to be read: letters on black and on white, and how many pairs of lines of one pixel and of two."""

    dark: str
    light: str
    fine: int
    wide: int


def next_pattern(key: bytes, who: str, before: Mapping[str, Any]) -> Pattern:
    """For the try after this one of theirs; without the key of the site nobody can tell it."""
    seed = keyed_digest(key, "display", f"{who} {before.get('n_attempts', 0)}")
    draw = random.Random(seed)  # noqa: S311 - the seed is the secret
    dark, light = ("".join(draw.sample(LETTERS, len(LEVELS))) for _end in ("dark", "light"))
    return Pattern(dark, light, draw.randint(*PAIRS), draw.randint(*PAIRS))


def tried(
    before: Mapping[str, Any], pattern: Pattern, told: Mapping[str, Any], *, on: date, goes_on: bool
) -> dict[str, Any]:
    """What is stored of a try after the one ``before`` (empty: the first): measured, asked, answered, conditions.

    ``lets_in``: the letters were read, or somebody goes on without after TRIES missed ones.
    """
    asked = asdict(pattern)
    read = {f"read_{end}": n_read(asked[end], told.get(end, "")) for end in ("dark", "light")}
    passed = min(read.values()) >= N_NEEDED
    missed = 0 if before.get("lets_in", True) else before["n_failed"]
    lets_in = passed or (goes_on and missed >= TRIES)
    since = {"qa_days": max(0, (on - date.fromisoformat(told["checked_on"])).days)} if "checked_on" in told else {}
    return {
        **{name: value for name, value in told.items() if name not in asked},
        **since,
        **read,
        "bits_shown": BITS_SHOWN,
        "rule": RULE,
        "asked": asked,
        "answered": {name: told.get(name) for name in asked},
        "passed": passed,
        "lets_in": lets_in,
        "may_go_on": not lets_in and missed + 1 >= TRIES,
        "n_failed": missed + (not passed),
        "n_attempts": before.get("n_attempts", 0) + 1,
    }


def n_read(asked: str, told: str) -> int:
    """How many letters are right, from the first one on."""
    letters = zip(asked, "".join(told.upper().split()), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], letters)))


def is_passed(stored: Mapping[str, Any]) -> bool:
    """Also of an earlier check, which asked for two grey steps."""
    steps = stored.get("dark_step", True) and stored.get("light_step", True)
    return bool(stored.get("passed", steps))


def conditions_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored[name] for name in CONDITIONS if name in stored}


def in_words(stored: Iterable[Mapping[str, Any]]) -> str:
    """For methods: whether displays were checked, and how several people read; what nobody gave is left out."""
    told = list(stored)
    passed = [is_passed(one) for one in told if one.get("rule") == RULE]
    used = Counter(one["display"] for one in told if "display" in one)
    counts = [f"{kind.label} {used[kind]}" for kind in DisplayUsed if used[kind]]  # who came first, nobody is told
    found = [f"display {', '.join(counts)}"] if used else []
    for name, label in CONDITIONS.items():
        if given := sorted(one[name] for one in told if name in one and name not in {"display", "bits_shown"}):
            words = f"{label[0].lower()}{label[1:]} median {median(given):g}"
            found.append(f"{words} (range {given[0]} to {given[-1]}, n = {len(given)})")
    checked = (
        "Before the first case, and again on another screen, displays were checked by letters of falling contrast on "
    )
    checked += f"black and on white (rule {RULE}): {sum(passed)} of {len(passed)} passed. "
    conditions = f"Reading conditions, as people gave them and browsers told: {'; '.join(found)}. "
    shown = f"Images were shown with {BITS_SHOWN} bits of grey."
    return f"{checked if passed else ''}{conditions if found else ''}{shown}"


def checked_screen(stored: Mapping[str, Any]) -> str:
    """On which screen somebody was let in, for the script of a case; "null": on none."""
    here = {name: stored[name] for name in _SCREEN if name in stored}
    return json.dumps(here if stored.get("lets_in", True) else None)


# --- the pattern --------------------------------------------------------------------------------------
N_STEPS, SIDE = 18, 48
WIDTH, HALF = N_STEPS * SIDE, N_STEPS * SIDE // 2
LETTERS_FROM, LETTERS_TO, LETTER_WIDTH = SIDE, SIDE + 84, 66
LINES_FROM, HEIGHT = LETTERS_TO + 10, LETTERS_TO + 60


def draw_pattern(pattern: Pattern) -> bytes:
    """A PNG of 8 bits, to be shown pixel for pixel.

    Steps from black to white, each with squares four levels apart, the outer ones with the 5 % and the 95 % square; the
    letters; and the lines.
    """
    from PIL import Image, ImageDraw, ImageFont  # not at every start

    image = Image.new("L", (WIDTH, HEIGHT), 128)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(46)
    for n in range(N_STEPS):
        left, level = n * SIDE, round(255 * n / (N_STEPS - 1))
        apart = LEVELS[0] if n in {0, N_STEPS - 1} else 4
        pen.rectangle((left, 0, left + SIDE - 1, SIDE - 1), fill=level)
        pen.rectangle((left + 6, 17, left + 19, 30), fill=min(level + apart, 255))
        pen.rectangle((left + 28, 17, left + 41, 30), fill=max(level - apart, 0))
    for left, letters, ground, sign in ((0, pattern.dark, 0, 1), (HALF, pattern.light, 255, -1)):
        pen.rectangle((left, LETTERS_FROM, left + HALF - 1, LETTERS_TO - 1), fill=ground)
        for n, (letter, apart) in enumerate(zip(letters, LEVELS, strict=True)):
            place = (left + 51 + n * LETTER_WIDTH, (LETTERS_FROM + LETTERS_TO) // 2)
            pen.text(place, letter, font=font, anchor="mm", fill=ground + sign * apart)
    for middle, wide, pairs in ((HALF // 2, 1, pattern.fine), (HALF + HALF // 2, 2, pattern.wide)):
        for n in range(2 * pairs):
            left = middle + (n - pairs) * wide
            pen.rectangle((left, LINES_FROM, left + wide - 1, HEIGHT - 11), fill=0 if n % 2 else 255)
    kept = io.BytesIO()
    image.save(kept, "PNG")
    return kept.getvalue()
