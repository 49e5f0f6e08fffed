"""Strokes of keys that were once taken for an answer, or not taken for one, and the browser that is told of them.

The table is that of the cases with which the fault was reported (keys.json), and some of their kind: what a browser
tells of the key, and whether it may choose, grade or open something.
"""

from __future__ import annotations

from typing import NamedTuple

from playwright.sync_api import Page

OPEN_DIALOGS = "() => [...document.querySelectorAll('dialog[open]')].map((one) => one.id || one.dataset.cover)"


class Told(NamedTuple):
    what: str
    code: str
    key: str
    may_choose: bool = False

    @property
    def is_digit(self) -> bool:
        return self.may_choose and self.key.isascii()


TOLD = (
    Told("numpad 1, NumLock off", "Numpad1", "End"),
    Told("numpad 2, NumLock off (or Shift with NumLock on, Windows)", "Numpad2", "ArrowDown"),
    Told("numpad 3, NumLock off", "Numpad3", "PageDown"),
    Told("numpad 4, NumLock off", "Numpad4", "ArrowLeft"),
    Told("numpad 0, NumLock off", "Numpad0", "Insert"),
    Told("numpad 2, NumLock on", "Numpad2", "2", may_choose=True),
    Told("digit without a place (virtual key only)", "", "2", may_choose=True),
    Told("AltGr+E, Linux", "KeyE", "€"),
    Told("AltGr+M, Linux", "KeyM", "\u00b5"),
    Told("AltGr+A, Linux", "KeyA", "æ"),
    Told("dead key where C is", "KeyC", "Dead"),
    Told("taken by an input method", "KeyA", "Process"),
    Told("Turkish F, c with cedilla where B is", "KeyB", "ç"),
    Told("Bepo, e with grave where T is (opens the pause)", "KeyT", "è"),
    Told("Cyrillic where B is", "KeyB", "и", may_choose=True),
    # The same by kind: digits and letters that another key took.
    Told("dead key where 1 is", "Digit1", "Dead"),
    Told("2 taken by an input method", "Digit2", "Process"),
    Told("a key without a name where 1 is", "Digit1", "Unidentified"),
    Told("Thai, a vowel sign where B is", "KeyB", "ิ", may_choose=True),
)
SILENT = tuple(stroke for stroke in TOLD if not stroke.may_choose)
SPEAKING = tuple(stroke for stroke in TOLD if stroke.may_choose)
DIGITS = tuple(stroke for stroke in SPEAKING if stroke.is_digit)  # all of them a 2


class Keyboard:
    """Tells a page of strokes as the operating system would, below the events of the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)

    def strike(self, stroke: Told) -> None:
        told: dict[str, object] = {"code": stroke.code, "key": stroke.key}
        if stroke.code.startswith("Numpad"):
            told |= {"location": 3, "isKeypad": True}
        for kind in ("rawKeyDown", "keyUp"):
            self.session.send("Input.dispatchKeyEvent", {"type": kind, **told})

    def dialogs(self) -> list[str]:
        opened: list[str] = self.page.evaluate(OPEN_DIALOGS)
        return opened
