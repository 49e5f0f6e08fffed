"""A best guess after "cannot tell": asked in place of the button, kept like an answer, asked again after a reload."""

from __future__ import annotations

from playwright.sync_api import expect

from readerstudy.models import Enrolment, Remark, Response
from tests.browser.readerstudy.conftest import MakeStudy, NewDevice
from tests.browser.readerstudy.reading import KEPT, Device, answers_of


def said(enrolment: Enrolment) -> list[tuple[int | None, str, str]]:
    rows = Remark.objects.filter(reading__enrolment=enrolment).order_by("pk")
    return list(rows.values_list("reading__position", "kind", "value"))


def decline(device: Device) -> None:
    """Cannot tell: the best guess is asked for."""
    device.answers("0")
    row = device.page.locator("#room-guess")
    expect(row).to_be_visible()
    expect(row).to_be_focused()
    expect(device.page.locator("#case-go")).to_be_hidden()


def test_a_guess_is_asked_where_one_cannot_tell_and_the_next_case_waits_for_it(
    device: Device, reads: MakeStudy
) -> None:
    enrolment = device.opens(reads(cannot_tell=True))
    decline(device)
    device.press("Enter", "Enter", "5", "0")
    device.sees(1)
    expect(device.page.get_by_role("group", name="Best guess?")).to_be_visible()
    expect(device.page.get_by_role("button", name="B: ")).to_be_visible()
    device.press("2")
    device.sees(2)
    device.answers("1", then=3)  # of an option nothing is asked
    decline(device)
    device.press("d")
    device.sees(4)
    decline(device)
    device.page.get_by_role("button", name="C: ").click(delay=500)  # a quick one may belong to the click before
    device.page.wait_for_url("**/read/trial/done/")
    assert answers_of(enrolment) == ["declined", "A", "declined", "declined"]
    assert said(enrolment) == [(1, "guess", "B"), (3, "guess", "D"), (4, "guess", "C")]


def test_the_guess_is_asked_first_and_then_how_sure_it_is(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(cannot_tell=True, confidence=True))
    decline(device)
    device.press("c")
    row = device.page.locator("#room-confidence")
    expect(row).to_be_focused()
    expect(row).to_contain_text("likely is your guess to be correct")
    expect(device.page.locator(".room-guessed")).to_contain_text("C")
    device.press("1")
    device.sees(2)
    device.answers("1")
    expect(row).to_contain_text("likely is your answer to be correct")
    device.press("5")
    device.sees(3)
    device.says("saved")
    assert said(enrolment) == [(1, "guess", "C"), (1, "confidence", "25"), (2, "confidence", "95")]


def test_offline_a_guess_waits_on_the_device_with_its_answer(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(cannot_tell=True, confidence=True))
    device.cut(enrolment)
    decline(device)
    device.press("b", "2")
    device.sees(2)
    device.says(KEPT)
    device.has_kept(enrolment, "commit", "remark", "remark", "open")
    assert said(enrolment) == []
    device.mend()
    device.says("saved")
    assert said(enrolment) == [(1, "guess", "B"), (1, "confidence", "40")]
    assert answers_of(enrolment) == ["declined"]


def test_reload_while_the_guess_is_asked(device: Device, reads: MakeStudy) -> None:
    """The question comes back with its options and without its images; no clock runs."""
    enrolment = device.opens(reads(cannot_tell=True, confidence=True))
    stem = device.page.locator("#stem").inner_text()
    decline(device)
    device.says("saved")
    before = Response.objects.get().active_ms
    device.page.reload()
    device.is_covered("guess")
    cover = device.page.locator("[data-cover=guess]")
    expect(cover).to_contain_text(stem)
    assert cover.get_by_role("button").count() == 4
    expect(device.page.locator(".viewer-canvas").first).to_be_hidden()
    device.press("Enter", "Escape", "5", "0")
    device.is_covered("guess")
    device.press("b")
    device.is_covered("confidence")
    expect(device.page.locator("[data-cover=confidence]")).to_contain_text("your guess to be correct")
    device.page.reload()  # and once more in between
    device.is_covered("confidence")
    device.press("Enter", "3")
    device.sees(2)
    device.says("saved")
    assert said(enrolment) == [(1, "guess", "B"), (1, "confidence", "60")]
    assert Response.objects.get().active_ms == before


def test_reload_while_the_guess_is_asked_and_the_answer_is_still_on_the_device(
    device: Device, reads: MakeStudy
) -> None:
    """The next case does not come in between: the answer goes out first, and then the guess is asked."""
    enrolment = reads(cannot_tell=True, confidence=True)
    device.page.route("**/commit/", lambda route: route.abort("connectionreset"))
    device.opens(enrolment)
    decline(device)
    device.has_kept(enrolment, "commit")
    device.page.reload()
    expect(device.page.locator("#case-wait")).to_contain_text("Waiting for the connection")
    assert answers_of(enrolment) == []
    device.page.unroute("**/commit/")
    device.is_covered("guess")
    device.press("1")
    device.is_covered("confidence")
    device.press("1")
    device.sees(2)
    device.says("saved")
    assert said(enrolment) == [(1, "guess", "A"), (1, "confidence", "25")]
    assert answers_of(enrolment) == ["declined"]


def test_reload_after_the_last_answer_of_all(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(n_cases=1, cannot_tell=True))
    decline(device)
    device.says("saved")
    device.page.reload()
    device.is_covered("guess")
    device.page.locator("#guess-options button").nth(3).click()
    device.page.wait_for_url("**/read/trial/done/")
    assert said(enrolment) == [(1, "guess", "D")]


def test_another_device_takes_over_while_the_guess_is_asked(reads: MakeStudy, new_device: NewDevice) -> None:
    enrolment = reads(cannot_tell=True)
    first, second = new_device(), new_device()
    first.opens(enrolment)
    decline(first)
    first.says("saved")
    second.enter(enrolment)
    second.is_covered("elsewhere")
    second.press("Enter")
    second.is_covered("guess")
    second.press("b")
    second.sees(2)
    second.says("saved")
    assert said(enrolment) == [(1, "guess", "B")]


def test_practice_asks_for_the_guess_and_then_shows_the_key(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(n_practice=2, practised=False, cannot_tell=True))
    feedback = device.page.locator("#room-feedback")
    decline(device)
    expect(feedback).to_be_hidden()
    device.press("b")
    expect(feedback).to_contain_text("The correct answer is B, as you guessed.")
    device.page.locator("#case-go").click(delay=500)
    device.sees(2)
    decline(device)
    device.press("a")
    expect(feedback).to_contain_text("The correct answer is B.")
    expect(device.page.locator(".room-wrong")).to_contain_text("A")
    device.says("saved")
    assert [value for _position, _kind, value in said(enrolment)] == ["B", "A"]
