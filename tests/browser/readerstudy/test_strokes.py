"""Strokes that say nothing answer nothing: not on the reading page, nor where it asks how sure, nor on its covers."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import User
from readerstudy.models import Remark
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device, answers_of
from tests.browser.strokes import DIGITS, SILENT, SPEAKING, Keyboard

UNCHECK = "() => document.querySelectorAll('[name=option]').forEach((one) => { one.checked = false; })"


def test_a_stroke_that_says_nothing_chooses_nothing(device: Device, reads: MakeStudy) -> None:
    device.opens(reads(cannot_tell=True, may_pause=True))
    keyboard = Keyboard(device.page)
    for stroke in SILENT:
        keyboard.strike(stroke)
        assert keyboard.dialogs() == [], f"{stroke.what} must open nothing"
        device.has_chosen()
    for stroke in SPEAKING:
        keyboard.strike(stroke)
        device.has_chosen("B")
        device.page.evaluate(UNCHECK)


def test_a_stroke_that_says_nothing_does_not_say_how_sure(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(confidence=True))
    keyboard = Keyboard(device.page)
    for n, stroke in enumerate(DIGITS, start=1):
        device.answers("1")
        expect(device.page.locator("#room-confidence")).to_be_visible()
        for silent in SILENT:
            keyboard.strike(silent)
            assert device.page.locator("#room-confidence").is_visible(), f"{silent.what} must not say how sure"
        keyboard.strike(stroke)
        device.sees(n + 1)
    device.says("saved")
    assert list(Remark.objects.values_list("kind", "value")) == [("confidence", "40")] * len(DIGITS)
    assert answers_of(enrolment) == ["A"] * len(DIGITS)


@pytest.mark.parametrize("cover", ["confidence", "guess"])
def test_a_stroke_that_says_nothing_answers_no_cover(device: Device, reads: MakeStudy, cover: str) -> None:
    device.opens(reads(cannot_tell=True, confidence=cover == "confidence"))
    keyboard = Keyboard(device.page)
    for n, stroke in enumerate(DIGITS if cover == "confidence" else SPEAKING, start=1):
        device.answers("1" if cover == "confidence" else "0")
        device.says("saved")
        device.page.reload()
        device.is_covered(cover)
        for silent in SILENT:
            keyboard.strike(silent)
            assert keyboard.dialogs() == [cover], f"{silent.what} must not answer what the cover asks"
        keyboard.strike(stroke)
        if n == 4:
            device.page.wait_for_url("**/read/trial/done/")
        else:
            device.sees(n + 1)
            device.says("saved")
    expected = {"confidence": "40", "guess": "B"}[cover]
    assert set(Remark.objects.values_list("kind", "value")) == {(cover, expected)}


PRESSED_TWICE = """() => new Promise((done) => {
  const second = new KeyboardEvent("keydown", { key: "2", code: "Digit2", bubbles: true });
  const place = () => document.querySelector("#room-place b").textContent;
  const look = () => {
    const showing = document.getElementById("content").dataset.showing;
    if (place() !== "2" || showing !== "case") return requestAnimationFrame(look);
    document.dispatchEvent(second);
    done();
  };
  document.getElementById("case-go").click();
  look();
})"""


@pytest.mark.parametrize(("quiet_ms", "chosen"), [(1_000, ()), (0, ("B",))])
def test_a_key_in_the_first_moment_of_a_case_chooses_nothing(
    device: Device, reads: MakeStudy, quiet_ms: int, chosen: tuple[str, ...]
) -> None:
    device.opens(reads(quiet_ms=quiet_ms))
    device.page.locator("#room-options label").first.click()
    expect(device.page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    device.page.evaluate(PRESSED_TWICE)
    device.sees(2)
    device.has_chosen(*chosen)


def test_letters_or_all_characters_can_be_switched_off(device: Device, reads: MakeStudy, rita: User) -> None:
    enrolment = reads(cannot_tell=True, may_pause=True)
    for keys, chosen in (("digits", ["B"]), ("none", [])):
        User.objects.filter(pk=rita.pk).update(keys=keys)
        device.opens(enrolment)
        device.page.evaluate(UNCHECK)
        device.press("a", "g", "Shift+P", "?", "2")
        device.has_chosen(*chosen)
        assert Keyboard(device.page).dialogs() == [], keys
    device.page.locator("#room-options label").first.click()
    device.commits()
    device.sees(2)


def test_keys_of_reviews_mean_the_same_in_studies(device: Device, reads: MakeStudy) -> None:
    """Once T paused here and was the comment there, and M was the input error here and "medium" there."""
    device.opens(reads(may_pause=True))
    device.answers("2", then=2)
    keyboard = Keyboard(device.page)
    device.press("t", "m")
    assert keyboard.dialogs() == []
    device.press("Shift+P")
    assert keyboard.dialogs() == ["pause-dialog"]
    device.press("Escape", "Shift+E")
    assert keyboard.dialogs() == ["slip-dialog"]
