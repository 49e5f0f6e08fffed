"""Contrast of the two themes, computed from the stylesheets: 4.5:1 for words, 3:1 for borders of controls."""

from __future__ import annotations

import re

import pytest

from tests.architecture.source import ROOT

CSS = ROOT / "static"
GROUNDS = ("ground", "panel", "raised")
WORDS = ("text", "muted", "accent", "good", "warn", "bad")
# Stylesheets of pages on which people look at images.
DARK_SHEETS = ("annotation/case.css", "case/viewer/viewer.css", "readerstudy/room.css")


def tokens(theme: str) -> dict[str, str]:
    block = re.search(rf"\.{theme} {{(.*?)}}", (CSS / "css/tokens.css").read_text(), re.DOTALL)
    assert block
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block[1]))


def luminance(colour: str) -> float:
    """Relative luminance of a colour as #rgb or #rrggbb, as WCAG 2.2 defines it."""
    digits = colour.removeprefix("#")
    pairs = [digit * 2 for digit in digits] if len(digits) == 3 else [digits[at : at + 2] for at in (0, 2, 4)]
    parts = [int(pair, 16) / 255 for pair in pairs]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_of_known_pairs() -> None:
    assert contrast("#fff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_words_and_borders_stand_out(theme: str) -> None:
    colour = tokens(theme)
    pairs = [(word, ground) for word in WORDS for ground in GROUNDS]
    pairs += [("text", "accent-ground"), ("accent", "accent-ground"), ("on-accent", "accent")]
    low = {pair: round(contrast(colour[pair[0]], colour[pair[1]]), 2) for pair in pairs}
    assert {pair: found for pair, found in low.items() if found < 4.5} == {}
    borders = {ground: round(contrast(colour["edge"], colour[ground]), 2) for ground in GROUNDS}
    assert {ground: found for ground, found in borders.items() if found < 3} == {}


def test_nothing_on_dark_pages_is_brighter_than_their_words() -> None:
    colour = tokens("dark")
    most = luminance(colour["text"])
    assert max(luminance(one) for one in colour.values()) <= most
    for sheet in DARK_SHEETS:
        text = (CSS / sheet).read_text()
        literal = re.findall(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", text)
        assert [one for one in literal if luminance(one) > most] == [], sheet
        assert not re.search(r": *white\b|rgb\(2\d\d ", text), sheet


@pytest.mark.parametrize(
    ("sheet", "rule", "words"),
    [
        ("annotation/case.css", ".case-coming", ("muted",)),
        ("annotation/case.css", ".case-wait", ("muted",)),
    ],
)
def test_words_over_images_stand_out_on_their_own_ground(sheet: str, rule: str, words: tuple[str, ...]) -> None:
    """White bone under the black glass of a label is the worst case for what is written on it."""
    found = re.search(rf"^{re.escape(rule)} {{([^}}]*)}}", (CSS / sheet).read_text(), re.MULTILINE)
    glass = found and re.search(r"background: rgb\(0 0 0 / (\d+)%\)", found[1])
    assert found
    assert glass
    under = f"{round(255 * (1 - int(glass[1]) / 100)):02x}" * 3
    own = re.findall(r"color: (#\w+)", found[1])
    assert [one for one in (*own, *(tokens("dark")[word] for word in words)) if contrast(one, under) < 4.5] == []
