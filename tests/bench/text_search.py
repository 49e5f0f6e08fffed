"""How much text in pixels is found, how many films without text are held back, and what a film costs.

``python -m tests.bench text_search``: the real radiographs of the sample, as they are and with words planted into them
(spread to 12 bits, so that a difference can be smaller than one grey level of eight bits). With
``REXVQA_TEXT_BEFORE=FILE`` an older module of the search is measured on the same films. Shares stand with
Wilson's interval; time is that of the processor, one thread.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from annotation.imaging.kernels import text
from annotation.imaging.kernels.textwords import is_allowed, letters_of
from annotation.statistics.kernels.intervals import wilson
from tests.bench.rows import Row, median
from tests.processes import ROOT

SAMPLE = Path(os.environ.get("REXVQA_SAMPLE", ROOT.parent / "shared" / "data")) / "cxr"
WORDS = ("ZORA QUILL", "MEIER 1931", "17.04.1931", "MRN 77410093", "HANNA BERG", "STATION 4B")
RANGE = 4095
BORDER = 0.08  # of the height: black above, white below, with the noise of a detector

Pixels = NDArray[np.uint16]
Box = tuple[int, int, int, int]
Find = Callable[[Pixels], list[Any]]


@dataclass(frozen=True)
class Planted:
    """How words are written: height as a share of the longer side, contrast in grey levels of 255, place, turned by."""

    name: str
    height: float
    contrast: float
    ground: str  # any, dark, light: of the film; upper, lower: in a border as a collimator leaves it
    turned: int = 0  # quarter turns against the clock


PLANTED = (
    Planted("plain: 2.5 % high, contrast 60", 0.025, 60, "any"),
    Planted("low contrast: 2.5 %, 12", 0.025, 12, "any"),
    Planted("darkest place: 2.5 %, 12", 0.025, 12, "dark"),
    Planted("lightest place: 2.5 %, 12", 0.025, 12, "light"),
    Planted("dark border, only when windowed: 2.5 %, 0.75", 0.025, 0.75, "upper"),
    Planted("light border, only when windowed: 2.5 %, 0.75", 0.025, 0.75, "lower"),
    Planted("small: 1 %, 60", 0.010, 60, "any"),
    Planted("small and low: 1.2 %, 25", 0.012, 25, "any"),
    Planted("turned left: 2 %, 60", 0.020, 60, "any", 1),
    Planted("turned right: 2 %, 60", 0.020, 60, "any", 3),
    Planted("turned left and low: 2.5 %, 16", 0.025, 16, "any", 1),
    Planted("upside down: 2 %, 60", 0.020, 60, "any", 2),
)


@dataclass
class Measured:
    """What one search found over all films."""

    found: dict[str, int] = field(default_factory=dict)
    n: dict[str, int] = field(default_factory=dict)
    false_films: list[str] = field(default_factory=list)
    missed_films: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def films() -> Iterator[tuple[str, Pixels, bool]]:
    """Name, pixels of 12 bits, and whether other text than side marks stands in it, as its list says."""
    with (SAMPLE / "metadata.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            written = [words for words in row["burned_in_text"].split(";") if words.strip() not in ("", "arrow")]
            other = any(not is_allowed(letters_of(words)) for words in written)
            yield row["file"], spread(np.asarray(Image.open(SAMPLE / row["file"]).convert("L"))), other


def spread(greys: NDArray[np.uint8]) -> Pixels:
    """Eight bits as twelve, with noise of one old grey level, as a detector has it; the same each time."""
    noise = np.random.default_rng(greys.size).integers(0, 16, greys.shape)
    pixels: Pixels = (greys.astype(np.uint16) * 16 + noise).astype(np.uint16)
    return pixels


def bordered(pixels: Pixels) -> Pixels:
    made, high = pixels.copy(), round(BORDER * pixels.shape[0])
    made[:high] = made[:high] % 16 + 24
    made[-high:] = made[-high:] % 16 + RANGE - 64
    return made


def plant(pixels: Pixels, seed: int) -> tuple[Pixels, dict[str, Box]]:
    """One piece of text of each kind, where nothing else was planted, and the box of each."""
    rng = np.random.default_rng(seed)
    made, boxes = bordered(pixels), dict[str, Box]()
    film, made = made, made.astype(np.float32)
    for kind in sorted(PLANTED, key=lambda kind: kind.ground == "any"):
        letters = _written(WORDS[int(rng.integers(len(WORDS)))], max(8, round(kind.height * max(pixels.shape))))
        letters = np.rot90(letters, kind.turned)
        place = _place(film, letters.shape, kind.ground, list(boxes.values()), rng)
        if place is None:
            continue
        x, y = place
        rows, columns = letters.shape
        part = made[y : y + rows, x : x + columns]
        sign = -1.0 if float(part.mean()) > RANGE / 2 else 1.0
        part[:] = part + sign * kind.contrast * (RANGE / 255) * letters
        boxes[kind.name] = (x, y, columns, rows)
    return np.clip(np.rint(made), 0, RANGE).astype(np.uint16), boxes


def _written(words: str, height: int) -> NDArray[np.float32]:
    """Letters whose capitals are about ``height`` pixels high, 0 to 1, with nothing around them."""
    font = ImageFont.load_default(height / 0.72)
    left, top, right, bottom = font.getbbox(words)
    layer = Image.new("L", (int(right - left) + 2, int(bottom - top) + 2), 0)
    ImageDraw.Draw(layer).text((1 - left, 1 - top), words, fill=255, font=font)
    greys: NDArray[np.float32] = np.asarray(layer).astype(np.float32) / np.float32(255)
    return greys


def _place(
    pixels: Pixels, shape: tuple[int, int], ground: str, taken: list[Box], rng: np.random.Generator
) -> tuple[int, int] | None:
    """Of forty places that are free: any, or the one whose ground is darkest or lightest."""
    rows, columns = shape
    high = round(BORDER * pixels.shape[0])
    first, last = {"upper": (0, high), "lower": (pixels.shape[0] - high, pixels.shape[0])}.get(
        ground, (high, pixels.shape[0] - high)
    )
    if rows >= last - first or columns >= pixels.shape[1]:
        return None
    best: tuple[float, int, int] | None = None
    for _ in range(40):
        x, y = int(rng.integers(pixels.shape[1] - columns)), int(rng.integers(first, last - rows))
        if any(_meet((x - 20, y - 20, columns + 40, rows + 40), box) for box in taken):
            continue
        grey = float(pixels[y : y + rows, x : x + columns].mean()) * {"dark": 1, "light": -1}.get(ground, 0)
        if best is None or grey < best[0]:
            best = grey, x, y
    return best[1:] if best else None


def _meet(one: Box, other: Box) -> bool:
    wide = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    high = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return wide > 0 and high > 0


def _is_met(box: Box, findings: list[Any]) -> bool:
    """Whether some finding covers a third of the box at least."""
    for finding in findings:
        x, y, width, height = finding.box
        wide = min(box[0] + box[2], x + width) - max(box[0], x)
        high = min(box[1] + box[3], y + height) - max(box[1], y)
        if not finding.is_allowed and wide > 0 and high > 0 and wide * high > box[2] * box[3] / 3:
            return True
    return False


def measured(find: Find) -> Measured:
    total = Measured()
    for number, (name, pixels, other) in enumerate(films()):
        start = time.process_time()
        alarmed = any(not finding.is_allowed for finding in find(pixels))
        total.seconds.append(time.process_time() - start)
        (total.false_films if alarmed and not other else total.missed_films if other and not alarmed else []).append(
            name
        )
        total.n["held"] = total.n.get("held", 0) + other
        total.n["free"] = total.n.get("free", 0) + (not other)
        with_words, boxes = plant(pixels, number)
        findings = find(with_words)
        for kind, box in boxes.items():
            total.n[kind] = total.n.get(kind, 0) + 1
            total.found[kind] = total.found.get(kind, 0) + _is_met(box, findings)
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return total


def _older(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("older_text", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["older_text"] = module
    spec.loader.exec_module(module)
    return module


def measure() -> list[Row]:
    now = measured(text.find_text)
    before: Measured | None = None
    if file := os.environ.get("REXVQA_TEXT_BEFORE"):
        older = _older(file)
        before = measured(lambda pixels: older.find_text(older.whole_range(pixels)))
    rows = []
    for kind in PLANTED:
        n = now.n[kind.name]
        old = before.found[kind.name] * 100 / n if before else None
        rows.append(_share(f"found, {kind.name}", now.found[kind.name], n, old))
    wrong = len(before.false_films) * 100 / before.n["free"] if before else None
    rows.append(_share("false alarms per 100 films without other text", len(now.false_films), now.n["free"], wrong))
    kept = (before.n["held"] - len(before.missed_films)) * 100 / before.n["held"] if before else None
    rows.append(_share("films with other text held", now.n["held"] - len(now.missed_films), now.n["held"], kept))
    slow = median(before.seconds) * 1000 if before else None
    rows.append(Row("one film, median", median(now.seconds) * 1000, "ms", "", "before", slow))
    print("false alarms:", ", ".join(now.false_films) or "none", "| missed:", ", ".join(now.missed_films) or "none")
    return rows


def _share(name: str, k: int, n: int, before: float | None) -> Row:
    low, high = wilson(k, n)
    label = f"{name}: {k} of {n}, 95% CI {low * 100:.0f} to {high * 100:.0f}"
    return Row(label, k * 100 / n, "%", "", "before" if before is not None else "", before)
