"""Text in pixels: found, told apart from side marks, and never kept."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr", reason="the search for text is not installed (requirements-text-search.txt)")
pytest.importorskip("cv2", reason="the search for text is not installed (requirements-text-search.txt)")

from annotation.enums import Turn
from annotation.imaging.kernels import text, textwords
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.text import TextFinding, find_text, is_suspicious, whole_range
from tests.processes import ROOT
from tests.sweeps import share

Grey = NDArray[np.uint8]


def shadow(rows: int = 900, columns: int = 800, seed: int = 5) -> Grey:
    """Something soft and noisy, without text: two dark ovals on grey."""
    y, x = np.mgrid[0:rows, 0:columns]
    lungs = sum(
        np.exp(-((x - columns * c) ** 2 / (2 * 90.0**2) + (y - rows * 0.5) ** 2 / (2 * 200.0**2))) for c in (0.3, 0.7)
    )
    noise = np.random.default_rng(seed).normal(0, 4, (rows, columns))
    greys: Grey = np.clip(150 - 110 * lungs + noise, 0, 255).astype(np.uint8)
    return greys


def written(base: Grey, words: str, at: tuple[int, int], *, size: int, contrast: int) -> Grey:
    """The image with words added to its values, brighter by ``contrast``."""
    layer = Image.new("L", (base.shape[1], base.shape[0]), 0)
    ImageDraw.Draw(layer).text(at, words, fill=255, font=ImageFont.load_default(size))
    greys: Grey = np.clip(base + contrast * (np.asarray(layer) / 255.0), 0, 255).astype(np.uint8)
    return greys


def test_no_text_in_an_image_without() -> None:
    assert not is_suspicious(find_text(shadow()))


def test_a_name_is_found_where_it_stands() -> None:
    image = shadow()
    for at in (places := [(30, 20), (420, 860), (300, 430)]):
        image = written(image, "ZORA QUILL", at, size=30, contrast=40)
    boxes = [finding.box for finding in find_text(image) if not finding.is_allowed]
    for left, top in places:
        assert any(
            x - 12 <= left <= x + width and y - 12 <= top + 15 <= y + height + 12 for x, y, width, height in boxes
        )


def test_faint_text_is_found() -> None:
    assert is_suspicious(find_text(written(shadow(300), "ZORA QUILL 1931", (60, 60), size=40, contrast=20)))


def test_a_number_is_not_allowed() -> None:
    assert is_suspicious(find_text(written(shadow(300), "17.04.1931", (60, 40), size=36, contrast=90)))


def test_side_and_position_marks_are_allowed_and_of_a_side_mark_only_the_side_is_kept() -> None:
    image, places = shadow(), {(60, 40): "L", (560, 40): "Re", (60, 260): "Sin", (480, 260): "ERECT"}
    for at, word in {**places, (60, 660): "AP PORTABLE"}.items():
        image = written(image, word, at, size=64, contrast=100)
    findings = sorted(find_text(image), key=lambda one: (one.box[1] // 200, one.box[0]))
    assert not is_suspicious(findings)
    assert [finding.side for finding in findings][:4] == ["L", "R", "L", ""]
    assert {finding.side for finding in findings[4:]} == {""}


def test_a_mirrored_side_mark_is_allowed() -> None:
    image = written(shadow(300), "Sin", (560, 60), size=64, contrast=100)
    assert not is_suspicious(find_text(np.ascontiguousarray(image[:, ::-1])))


def test_a_bright_corner_is_no_side_mark() -> None:
    image = shadow(440, 440)
    image[-146:, :73] = 18
    image[-3:, :2] = [[33, 18], [208, 42], [255, 190]]
    assert [(finding.box[2:], finding.side) for finding in find_text(image)] == [((4, 4), "")]


def test_a_film_upside_down_is_searched_as_it_would_be_seen() -> None:
    image = np.ascontiguousarray(written(shadow(300), "ZORA QUILL 1931", (60, 60), size=40, contrast=60)[::-1])
    x, y, width, _height = next(f.box for f in find_text(image, turn=Turn.UPENDED) if not f.is_allowed)
    assert 300 - 60 - 50 <= y <= 300 - 60 - 20
    assert x < 80 < x + width


def test_a_tiny_image_is_no_error() -> None:
    assert find_text(np.zeros((4, 4), np.uint8)) == []


def test_a_finding_does_not_say_what_was_read() -> None:
    names = {field.name for field in dataclasses.fields(TextFinding)}
    assert names == {"box", "is_allowed", "length", "score", "side"}


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("the search for text went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    text._reader.cache_clear()
    assert is_suspicious(find_text(written(shadow(180, 400), "ZORA QUILL", (60, 60), size=40, contrast=90)))


def test_whole_range_keeps_text_that_a_window_would_hide() -> None:
    pixels = np.full((200, 200), 3000, np.uint16)
    pixels[:, :100] = 100
    pixels[50:60, 120:160] = 3600
    greys = whole_range(pixels)
    assert int(greys[55, 130]) - int(greys[100, 130]) > 20


def deep_film(seed: int = 3) -> NDArray[np.uint16]:
    """Twelve bits, with a black border above and a white one below as collimators leave them, and detector noise."""
    noise = np.random.default_rng(seed).integers(0, 16, (900, 800))
    film = shadow().astype(np.uint16) * 16 + noise
    film[:80] = 24 + noise[:80]
    film[-80:] = 4031 + noise[-80:]
    deep: NDArray[np.uint16] = film.astype(np.uint16)
    return deep


def written_deep(film: NDArray[np.uint16], words: str, at: tuple[int, int], *, turned: int, by: int) -> None:
    """Words 25 pixels high into the film itself, ``turned`` quarters against the clock, differing ``by`` values."""
    layer = Image.new("L", (len(words) * 26, 44), 0)
    ImageDraw.Draw(layer).text((6, 6), words, fill=255, font=ImageFont.load_default(34))
    letters = np.rot90(np.asarray(layer) / 255.0, turned)
    part = film[at[1] : at[1] + letters.shape[0], at[0] : at[0] + letters.shape[1]]
    part[:] = np.clip(np.rint(part + by * letters[: part.shape[0], : part.shape[1]]), 0, 4095)


@pytest.mark.parametrize("places", [{(300, 20): 8}, {(60, 840): -8, (480, 840): 8}], ids=["dark", "light"])
def test_text_that_shows_only_when_windowed_is_found(places: dict[tuple[int, int], int]) -> None:
    """It differs from its ground by less than one of 256 greys of the whole range."""
    film = deep_film()
    for at, by in places.items():
        written_deep(film, "ZORA QUILL", at, turned=0, by=by)
    findings = [finding for finding in find_text(film) if not finding.is_allowed]
    assert [at for at in places if not any(_covers(finding.box, at) for finding in findings)] == []


@pytest.mark.check
def test_windowed_text_turned_by_a_quarter_is_found() -> None:
    film = deep_film()
    film[:, :80] = 24 + film[:, :80] % 16
    film[:, -80:] = 24 + film[:, -80:] % 16
    written_deep(film, "ZORA QUILL", (18, 300), turned=1, by=12)
    written_deep(film, "ZORA QUILL", (738, 300), turned=3, by=12)
    found = [finding.box for finding in find_text(film) if not finding.is_allowed]
    assert any(x < 80 for x, _y, _width, _height in found)
    assert any(x + width > 720 for x, _y, width, _height in found)


def test_a_deep_film_without_text_raises_no_alarm() -> None:
    assert not is_suspicious(find_text(deep_film()))


def _covers(box: text.Box, at: tuple[int, int]) -> bool:
    x, y, width, height = box
    return x <= at[0] + 100 <= x + width and y <= at[1] + 22 <= y + height


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("l", True),
        ("Dx", True),
        ("(L)", True),
        ("AP Portable", True),
        ("APPORTABLE", True),
        ("PORTABIE", True),
        ("5UPINE", True),
        ("SUPINE 12", False),
        ("MEIER", False),
        ("A", False),
        ("1", False),
        ("1956", False),
        ("PAUL", False),
        ("", False),
        ("R. MEIER", False),
        ("李", False),
    ],
)
def test_words(words: str, allowed: bool) -> None:
    assert textwords.is_allowed(textwords.letters_of(words)) is allowed


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [("ERECT", "ERECT", True), ("ERECT", "EREGT", True), ("ERECT", "EREC", True), ("ERECT", "ECRET", False)],
)
def test_one_letter_apart(one: str, other: str, near: bool) -> None:
    assert textwords.differ_by_one(one, other) is near
    assert textwords.differ_by_one(other, one) is near


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("file", "suspicious"),
    share(
        [
            ("cxr/art103_pa.jpg", True),  # a date, half of it cut off by the upper edge
            ("cxr/art334_pa.png", True),  # a panel letter in an image of 375 x 277 pixels
            ("cxr/hn_255_19073f37.jpg", True),  # a word cut off at the right
            ("cxr/wm_normal_pa.jpg", False),  # Dx and Sin
            ("cxr/wm_lobar_pneumonia_pa.jpg", False),  # Sin, mirrored
            ("cxr/nih_00000013_028.png", False),  # AP PORTABLE, L
            ("cxr/nih_00000116_027.png", False),  # an L cut out of a plate
        ]
    ),
)
def test_real_radiographs(shared_data: Path, file: str, suspicious: bool) -> None:
    image = np.asarray(Image.open(shared_data / file).convert("L"))
    assert is_suspicious(find_text(image)) is suspicious


@pytest.mark.sweep
@pytest.mark.parametrize("name", share(["burned_in_flag_lies_no.dcm", "burned_in_flag_yes.dcm"]))
def test_planted_text_is_found_whatever_the_flag_says(shared_data: Path, name: str) -> None:
    source = read_image((shared_data / "hostile" / "phi" / name).read_bytes())
    assert is_suspicious(find_text(whole_range(source.pixels.astype(np.uint16))))


def test_the_search_writes_nothing_into_the_home_of_the_person_who_runs_it(tmp_path: Path) -> None:
    """onnxruntime keeps a telemetry database there unless it is told not to."""
    program = (
        "import numpy; from annotation.imaging.kernels import text; text.find_text(numpy.zeros((64, 64), numpy.uint8))"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], env={**kept, "HOME": str(tmp_path)}, cwd=ROOT, check=False, timeout=120
    )
    assert done.returncode == 0
    assert list(tmp_path.rglob("*")) == []
