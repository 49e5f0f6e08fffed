"""Presets measured: how much of a film turns black or white, and how far apart its greys lie on the screen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.rendering import prepare
from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import ROOT
from tests.browser.viewer.test_pixels import phantom

FILMS = ROOT.parent / "shared/data"
PRESETS = ("full", "lungs", "mediastinum", "contrast")
MOST_LOST = 5.0  # percent
Film = tuple[dict[str, Any], list[int]]  # descriptor, count of each stored value


def film(pixels: NDArray[Any], *, bits: int = 8, **display: Any) -> Film:
    full = [float(v) for v in np.percentile(pixels, (0.1, 99.9))]
    base = {"bits": bits, "slope": 1, "intercept": 0, "invert": False, "presets": {"full": full}, "windows": []}
    return {**base, **display}, np.bincount(pixels.ravel(), minlength=2**bits).tolist()


MEASURE = """async ([films, lost]) => {
    const { buildTable, defaultWindow, presetWindows, rangeWindow } = await import("/static/case/viewer/grey.js");
    const measure = (levels, counts) => {
        let [n, sum, squares, black, white] = [0, 0, 0, 0, 0];
        counts.forEach((count, v) => {
            n += count;
            sum += count * levels[v];
            squares += count * levels[v] ** 2;
            if (levels[v] <= lost) black += count;
            if (levels[v] >= 255 - lost) white += count;
        });
        return [(100 * black) / n, (100 * white) / n, Math.sqrt(squares / n - (sum / n) ** 2)];
    };
    return films.map(([view, counts]) => {
        const fixed = { opening: defaultWindow(view), full: rangeWindow(view.presets.full) };
        const windows = Object.entries({ ...fixed, ...presetWindows(view, counts) });
        return Object.fromEntries(windows.map(([name, one]) => [name, measure(buildTable(view, one), counts)]));
    });
}"""


def measured(look: Looker, *films: Film, lost: int = 0) -> list[dict[str, list[float]]]:
    """Of each film by the name of the window: percent within ``lost`` levels of black and of white, and the standard
    deviation of the levels.
    """
    look.page.goto(f"{look.stage.address}/stage.html")
    found: list[dict[str, list[float]]] = look.page.evaluate(MEASURE, json.loads(json.dumps([films, lost])))
    return found


def shared_films() -> dict[str, Film]:
    pictures = sorted(path for path in (FILMS / "cxr").glob("*.*") if path.suffix in {".jpg", ".png"})
    films = {path.name: film(np.asarray(Image.open(path).convert("L"))[::3, ::3]) for path in pictures}
    for path in sorted((FILMS / "dicom").glob("chest_pa*.dcm")):
        payload, display = prepare(read_image(path.read_bytes()))
        counts = np.bincount(payload.ravel(), minlength=2**display.bits)
        if display.padding:
            counts[display.padding[0] : display.padding[1] + 1] = 0
        films[path.name] = display.as_json(), counts.tolist()
    return films


@pytest.mark.skipif(not (FILMS / "cxr").is_dir(), reason="the shared films are not here")
def test_no_preset_loses_more_than_a_twentieth_of_a_real_film_at_either_end(look: Looker) -> None:
    films = shared_films()
    assert len(films) > 40
    found = dict(zip(films, measured(look, *films.values()), strict=True))
    lost = {(name, preset): max(one[preset][:2]) for name, one in found.items() for preset in PRESETS}
    assert {place: share for place, share in lost.items() if share > MOST_LOST} == {}
    flatter = {name: one for name, one in found.items() if one["contrast"][2] <= max(one["opening"][2], one["full"][2])}
    assert flatter == {}
    steeper = [one for one in found.values() if min(one["lungs"][2], one["mediastinum"][2]) > one["full"][2]]
    assert len(steeper) > 0.9 * len(found)


@pytest.mark.parametrize("invert", [False, True])
def test_presets_follow_brightness(look: Looker, invert: bool) -> None:
    pixels = phantom(12, 300, 300)
    shown = 4095 - pixels if invert else pixels
    [found] = measured(look, film(shown, bits=12, invert=invert))
    assert max(share for preset in PRESETS for share in found[preset][:2]) < MOST_LOST
    [plain] = measured(look, film(pixels, bits=12))
    for preset in PRESETS:
        assert found[preset] == pytest.approx(plain[preset], abs=1.5)


def test_a_black_or_white_background_is_no_part_of_the_film(look: Looker) -> None:
    """Two thirds of it are collimated away: what is left decides where the lungs are."""
    pixels = phantom(8, 300, 300)
    wide = np.full((900, 300), 0, np.uint16)
    wide[:300] = np.clip(pixels, 1, 254)
    ask = """async (films) => {
        const { presetWindows } = await import("/static/case/viewer/grey.js");
        return films.map(([view, counts]) => presetWindows(view, counts).lungs.curve[16]);
    }"""
    look.page.goto(f"{look.stage.address}/stage.html")
    alone, framed = look.page.evaluate(ask, json.loads(json.dumps([film(np.clip(pixels, 1, 254)), film(wide)])))
    assert framed == pytest.approx(alone, abs=0.05)


@pytest.mark.parametrize("value", [0, 7, 255])
def test_a_flat_image_has_presets(look: Looker, value: int) -> None:
    [found] = measured(look, film(np.full((20, 20), value, np.uint16)))
    assert set(found) == {"opening", *PRESETS}
