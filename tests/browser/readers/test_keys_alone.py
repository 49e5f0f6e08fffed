"""A new reader from the invitation to the last page without a mouse: no key is missing and no focus is lost."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enrolment.participation import pattern_now
from readerstudy.models import Enrolment, Reading, Remark
from tests.browser.entering import Browse
from tests.browser.readerstudy.reading import Device, answers_of
from tests.browser.screenshots import keep
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.check
N_PRACTICE, N_CASES = 2, 30
MOST_TABS = 60  # to whatever is on a page
FOCUS = """() => {
    const node = document.activeElement;
    const words = node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent;
    return [node.type ?? "", node === document.body ? "" : words.trim().replace(/\\s+/g, " ").slice(0, 90)];
}"""


class Keyboard(Device):
    """Presses keys, and nothing else; counts them."""

    n = 0

    def press(self, *keys: str) -> None:
        self.n += len(keys)
        super().press(*keys)

    def types(self, text: str) -> None:
        self.n += len(text)
        self.page.keyboard.type(text)

    @property
    def focus(self) -> tuple[str, str]:
        kind, words = self.page.evaluate(FOCUS)
        return kind, words

    def goes_to(self, name: str) -> None:
        """By Tab, to what is called so."""
        passed = []
        for _n in range(MOST_TABS):
            self.press("Tab")
            if self.focus[1].startswith(name):
                return
            passed.append(self.focus)
        raise AssertionError(f"no Tab comes to “{name}”: {passed}")

    def goes_on(self, name: str, then: str) -> None:
        """Presses the button, to the page with this heading."""
        self.goes_to(name)
        with self.page.expect_navigation():
            self.press("Enter")
        expect(self.page.get_by_role("heading", name=then)).to_be_visible()

    def chooses(self, name: str) -> None:
        """A radio: by Tab into a group, and there by the arrow."""
        for _n in range(MOST_TABS):
            self.press("Tab")
            first = self.focus
            while self.focus[0] == "radio":
                if self.focus[1] == name:
                    return self.press("Space")
                self.press("ArrowDown")
                if self.focus == first:
                    break
        raise AssertionError(f"no radio is called “{name}”")

    def fills(self, name: str, text: str) -> None:
        self.goes_to(name)
        self.types(text)


def test_thirty_cases_from_the_invitation_to_the_end(browse: Browse, transactional_db: None, cora: User) -> None:
    keyboard = Keyboard(browse())
    rules = Rules(confidence=True, cannot_tell=True, break_every=15, questionnaire=("Was it tiring?",))
    study = make_study(n_cases=N_CASES, n_practice=N_PRACTICE, pixels=True, rules=rules, contact="cora@example.org")
    issued = invite_reader(study, study.sets.get(), email="", name="Nina", actor=cora, at=timezone.now())
    keyboard.page.goto(f"/read/join/{issued.token}/")
    comes_in(keyboard)
    enrolment = Enrolment.objects.get()
    practises(keyboard)
    presses = {position: reads(keyboard, enrolment, position) for position in range(1, N_CASES + 1)}
    ends(keyboard, enrolment)
    print(f"keys: {sum(presses.values())} for {N_CASES} cases, {sorted(presses.items())}")
    assert len(answers_of(enrolment)) == N_PRACTICE + N_CASES
    assert {n for position, n in presses.items() if position % 4} == {3}  # the answer, Enter, how sure


def comes_in(keyboard: Keyboard) -> None:
    for name, text in (
        ("E-mail", "nina@example.org"),
        ("Password", "another staple 77"),
        ("Repeat", "another staple 77"),
    ):
        keyboard.fills(name, text)
    keep(keyboard.page, "keys-account")
    keyboard.goes_on("Create account", "Consent")
    keyboard.goes_to("I have read this and agree")
    keyboard.press("Space")
    keyboard.goes_on("Agree", "About you")
    keyboard.chooses("radiologist in training")
    keyboard.fills("Years of experience", "4")
    keyboard.chooses("no")
    keyboard.fills("Chest radiographs that you read", "60")
    keyboard.chooses("office monitor")
    keyboard.chooses("no, not that I know of")
    keep(keyboard.page, "keys-about")
    keyboard.goes_on("Save and continue", "Instructions")
    keyboard.goes_on("I have read this", "Display check")
    pattern = pattern_now(Enrolment.objects.get())
    keyboard.fills("Letters on black", pattern.dark)
    keyboard.fills("Letters on white", pattern.light)
    keyboard.goes_on("Check", "Trial")
    keyboard.goes_to("Start the practice")
    keyboard.press("Enter")


def practises(keyboard: Keyboard) -> None:
    for key in ("2", "1"):
        expect(keyboard.page.locator("#room-practice")).to_be_visible()
        stands(keyboard)
        keyboard.press(key)
        keyboard.commits()
        says_how_sure(keyboard)
        expect(keyboard.page.locator("#room-feedback")).to_be_visible()
        keep(keyboard.page, f"keys-feedback-{key}")
        expect(keyboard.page.locator("#case-hint")).to_have_text("Enter: continue")
        now = keyboard.page.evaluate("() => performance.now()")
        keyboard.page.wait_for_function(
            "(now) => performance.now() > now + 450", arg=now
        )  # no second press of one Enter
        keyboard.press("Enter")
    keyboard.is_covered("begin")
    assert keyboard.focus[1].startswith("Begin")
    keyboard.press("Enter")


def says_how_sure(keyboard: Keyboard) -> None:
    expect(keyboard.page.locator("#room-confidence")).to_be_visible()
    keyboard.press("4")


def stands(keyboard: Keyboard) -> None:
    """The focus is at the question: screen readers begin there, and Tab goes on from there."""
    expect(keyboard.page.locator("#stem")).to_be_focused()


def reads(keyboard: Keyboard, enrolment: Enrolment, position: int) -> int:
    """How many keys the case took."""
    page, before = keyboard.page, keyboard.n
    keyboard.sees(position)
    stands(keyboard)
    if position == 4:  # a look at the films, and back
        keyboard.press("Shift+Digit2", "i", "+", "Shift+ArrowLeft", "r", "f", "f", "?", "Escape")
        expect(page.locator("#keys-dialog")).to_be_hidden()
        stands(keyboard)
    if position == 8:  # a pause after this case
        keyboard.press("Shift+P")
        expect(page.locator("#pause-dialog")).to_be_visible()
        keyboard.press("Enter")
    if position == 12:  # the case before was a slip
        keyboard.press("Shift+E")
        expect(page.locator("#slip-dialog")).to_be_visible()
        keyboard.press("3")
        expect(page.locator("#slip-dialog")).to_be_hidden()
        stands(keyboard)
    if position == 16:  # a problem of the case
        keyboard.press("g")
        expect(page.locator("#fault-text")).to_be_focused()
        keyboard.types("Cut off.")
        keyboard.press("Control+Enter")
        expect(page.locator("#fault-dialog")).to_be_hidden()
        stands(keyboard)
    declines = position == 20
    keyboard.press("0" if declines else str(1 + position % 4))
    keyboard.commits()
    if declines:
        expect(page.locator("#room-guess")).to_be_visible()
        keyboard.press("2")
    says_how_sure(keyboard)
    if position == 8:
        keyboard.is_covered("paused")
        keep(page, "keys-paused")
        keyboard.press("Enter")
    if position == 15:
        keyboard.is_covered("break")
        keyboard.n -= 1  # the break is none of the case
        keyboard.press("Enter")
    return keyboard.n - before


def ends(keyboard: Keyboard, enrolment: Enrolment) -> None:
    page = keyboard.page
    expect(page).to_have_url(re.compile("/done/"))
    keyboard.fills("Was it tiring?", "A little.")
    keyboard.goes_to("I declare")
    keyboard.press("Space")
    keep(page, "keys-end")
    keyboard.goes_on("Declare", "Thank you")
    keyboard.goes_to("Home")
    keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/$"))
    kinds = sorted(Remark.objects.exclude(kind="confidence").values_list("kind", flat=True))
    assert kinds == ["fault", "guess", "slip"]
    assert Reading.objects.filter(enrolment=enrolment, closed_at=None).count() == 0
