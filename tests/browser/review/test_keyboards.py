"""Keys on keyboards that are not American: digits and presets go by place, letters by what is printed on the key."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Review, ReviewRound, User
from tests.browser.review.test_journey import BLIND, answer, checked, judge, press, start
from tests.browser.strokes import DIGITS, SILENT, SPEAKING, Keyboard


class Stroke(NamedTuple):
    """What a browser tells of one key: its place, and what it writes in the layout of the person."""

    code: str
    key: str
    shift: bool = False
    repeat: bool = False


AZERTY = {
    "A": [Stroke("Digit1", "&"), Stroke("KeyQ", "a"), Stroke("Numpad1", "1"), Stroke("KeyQ", "A", shift=True)],
    "B": [Stroke("Digit2", "é"), Stroke("KeyB", "b"), Stroke("Numpad2", "2")],
    "C": [Stroke("Digit3", '"'), Stroke("KeyC", "c"), Stroke("Numpad3", "3")],
    "D": [Stroke("Digit4", "'"), Stroke("KeyD", "d"), Stroke("Numpad4", "4")],
    "none": [Stroke("Digit0", "à"), Stroke("Numpad0", "0")],
}
CYRILLIC = {
    "A": [Stroke("Digit1", "1"), Stroke("KeyA", "ф")],
    "B": [Stroke("Digit2", "2"), Stroke("KeyB", "и")],
    "C": [Stroke("Digit3", "3"), Stroke("KeyC", "с")],
    "D": [Stroke("Digit4", "4"), Stroke("KeyD", "в")],
}
PRESETS = {
    "Full": [Stroke("Digit1", "1", shift=True), Stroke("Digit1", "!", shift=True), Stroke("Digit1", "+", shift=True)],
    "Lungs": [Stroke("Digit2", "2", shift=True), Stroke("Digit2", '"', shift=True), Stroke("Digit2", "@", shift=True)],
    "Mediastinum": [Stroke("Digit3", "3", shift=True), Stroke("Digit3", "№", shift=True)],
    "Contrast": [Stroke("Digit4", "4", shift=True), Stroke("Digit4", ";", shift=True)],
}


def strike(page: Page, stroke: Stroke) -> None:
    page.evaluate(
        """([code, key, shiftKey, repeat]) => (document.activeElement ?? document.body).dispatchEvent(
             new KeyboardEvent("keydown", { code, key, shiftKey, repeat, bubbles: true, cancelable: true }))""",
        list(stroke),
    )


def best(page: Page) -> list[str]:
    return checked(page).get("best", [])


@pytest.mark.parametrize("layout", [AZERTY, CYRILLIC], ids=["azerty", "cyrillic"])
def test_answers(page: Page, review_round: ReviewRound, layout: dict[str, list[Stroke]]) -> None:
    start(page, review_round)
    expect(page.get_by_role("button", name="Lungs")).to_be_enabled()
    for option, strokes in layout.items():
        for stroke in strokes:
            page.evaluate("() => document.querySelectorAll('[name=best]').forEach((one) => { one.checked = false; })")
            strike(page, stroke)
            assert best(page) == [option], stroke


def test_presets_by_place_leave_the_answer_alone(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    for name, strokes in PRESETS.items():
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_enabled()
        for stroke in strokes:
            press(page, "r")
            strike(page, stroke)
            expect(button).to_have_attribute("aria-pressed", "true")
    assert checked(page) == {}


def test_a_key_that_is_held_counts_once(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    press(page, "1", "e")
    for held in (Stroke("Digit3", "3"), Stroke("KeyD", "d"), Stroke("KeyM", "m"), Stroke("Enter", "Enter")):
        strike(page, held._replace(repeat=True))
    assert checked(page) == {"best": ["A"], "difficulty": ["easy"]}
    expect(page.locator(BLIND)).to_be_visible()


def test_a_text_and_a_dialog_keep_their_keys(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    press(page, "k")
    expect(page.locator("#skip-dialog")).to_be_visible()
    for stroke in (*AZERTY["B"], *CYRILLIC["C"], PRESETS["Lungs"][0]):
        strike(page, stroke)
    press(page, "Escape")
    assert checked(page) == {}
    answer(page, "2", "e")
    press(page, "t")
    for stroke in (Stroke("Digit5", "("), Stroke("KeyA", "ф"), Stroke("KeyV", "м"), PRESETS["Lungs"][0]):
        strike(page, stroke)
    assert checked(page) == {}
    expect(page.get_by_role("button", name="Lungs")).to_have_attribute("aria-pressed", "false")


def test_grades_and_verdict(page: Page, review_round: ReviewRound) -> None:
    """On AZERTY the minus is the 6 without Shift: it still says that one cannot judge."""
    judge(page, review_round)
    for stroke in (Stroke("Digit5", "("), Stroke("Digit6", "-"), Stroke("Numpad4", "4"), Stroke("Digit5", "5")):
        strike(page, stroke)
    strike(page, Stroke("KeyV", "м"))  # Cyrillic
    assert checked(page) == {
        "clinical_quality": ["5"],
        "factual_correctness": ["cannot_judge"],
        "explanation_clarity": ["4"],
        "image_alignment": ["5"],
        "verdict": ["revise"],
    }
    assert not Review.objects.exists()


UNCHECK = "() => document.querySelectorAll('#case-form input').forEach((one) => { one.checked = false; })"


def test_in_the_blind_step_a_stroke_that_says_nothing_chooses_nothing(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    keyboard = Keyboard(page)
    for stroke in SILENT:
        keyboard.strike(stroke)
        assert (checked(page), keyboard.dialogs()) == ({}, []), f"{stroke.what} must choose and open nothing"
    for stroke in SPEAKING:
        keyboard.strike(stroke)
        assert checked(page) == {"best": ["B"]}, f"{stroke.what} must choose B"
        page.evaluate(UNCHECK)


def test_in_the_judgement_a_stroke_that_says_nothing_grades_nothing(page: Page, review_round: ReviewRound) -> None:
    judge(page, review_round)
    keyboard = Keyboard(page)
    for stroke in SILENT:
        keyboard.strike(stroke)
        assert (checked(page), keyboard.dialogs()) == ({}, []), f"{stroke.what} must grade and open nothing"
    press(page, "Home")
    for stroke, row in zip(DIGITS, ("clinical_quality", "factual_correctness"), strict=True):
        keyboard.strike(stroke)
        assert checked(page).get(row) == ["2"], f"{stroke.what} must grade the marked row with 2"


def test_the_third_level_of_a_key_is_not_its_letter(page: Page, review_round: ReviewRound) -> None:
    """Where a layout has a plain letter or digit there, only the state of AltGr tells."""
    start(page, review_round)
    page.evaluate(
        """() => [["KeyA", "a"], ["Digit2", "2"], ["KeyI", "i"]].forEach(([code, key]) => document.body.dispatchEvent(
             new KeyboardEvent("keydown", { code, key, modifierAltGraph: true, bubbles: true, cancelable: true })))"""
    )
    assert checked(page) == {}
    expect(page.get_by_role("button", name="Invert", exact=True)).to_have_attribute("aria-pressed", "false")


def test_letters_or_all_characters_can_be_switched_off(page: Page, review_round: ReviewRound, rita: User) -> None:
    """Dictated text answers nothing; buttons and Enter do all that the keys did."""
    for keys, chosen in (("none", {}), ("digits", {"best": ["B"]})):
        User.objects.filter(pk=rita.pk).update(keys=keys)
        start(page, review_round)
        press(page, "a", "e", "x", "k", "Shift+P", "?", ",", "i", "2", "Numpad2")
        assert (checked(page), Keyboard(page).dialogs()) == (chosen, []), keys
        expect(page.get_by_role("button", name="Invert", exact=True)).to_have_attribute("aria-pressed", "false")
    User.objects.filter(pk=rita.pk).update(keys="none")
    page.reload()
    page.locator(".case-none").click()
    page.locator(".case-seg label").first.click()
    answer(page)
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("#keys-dialog .case-keys-off")).to_be_visible()
