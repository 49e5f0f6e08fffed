"""A window that moves to another screen: the display is checked before anything of a case shows there."""

from __future__ import annotations

from playwright.sync_api import expect

from readerstudy.models import Enrolment, ReadingSession, Response
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device, move_to_another_screen, read_letters

HERE = "() => ({screen_width: screen.width, screen_height: screen.height, pixel_ratio: devicePixelRatio})"
SHOWN = """() => {
    const pattern = document.getElementById("display-pattern");
    return [pattern.naturalWidth, Math.round(pattern.getBoundingClientRect().width * devicePixelRatio)];
}"""


def checked_here(device: Device, enrolment: Enrolment) -> None:
    enrolment.display = device.page.evaluate(HERE)
    enrolment.save()


def test_a_reading_waits_for_the_check_and_keeps_its_case_and_its_time(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    checked_here(device, enrolment)
    page, cover = device.page, device.page.locator("#case-display")
    device.opens(enrolment)
    device.press("2")
    device.says("saved")
    move_to_another_screen(page)
    expect(cover).to_contain_text("for which the display was not checked")
    expect(page.locator("#stem")).to_be_hidden()
    expect(page.get_by_label("Letters on black")).to_be_focused()
    drawn, shown = page.evaluate(SHOWN)
    assert drawn == shown, "one pixel of the pattern is one of the screen"
    device.press("A")  # a letter that was read, not an option of the case
    page.get_by_label("Display", exact=True).select_option(label="laptop")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("The first three letters on black and on white are needed")).to_be_visible()
    assert not Response.objects.exists()
    read_letters(page, enrolment)
    expect(cover).to_be_hidden()
    device.sees(1)
    device.has_chosen("B")
    device.commits()
    device.sees(2)
    device.says("saved")
    response = Response.objects.get()
    assert (response.option, response.n_sittings) == ("B", 1)
    assert "hidden" in response.time_flags, "the time of the check does not count"
    assert "resumed" not in response.time_flags, "the time of the case does"
    enrolment.refresh_from_db()
    assert (enrolment.display["screen_width"], enrolment.display["pixel_ratio"]) == (2560, 2)
    [sitting] = ReadingSession.objects.all()
    assert [one["read_dark"] for one in sitting.device["conditions"] if "read_dark" in one] == [6]
    page.reload()
    device.sees(2)


def test_a_case_with_a_time_limit_is_answered_first(device: Device, reads: MakeStudy) -> None:
    enrolment = reads(time_limit_s=600)
    checked_here(device, enrolment)
    device.opens(enrolment)
    move_to_another_screen(device.page)
    device.answers("1")
    expect(device.page.locator("#case-display")).to_be_visible()
    assert enrolment.readings.count() == 1, "the time of the next case does not run"
    read_letters(device.page, enrolment)
    device.sees(2)


def test_a_room_on_another_screen_than_the_checked_one_begins_with_the_check(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    checked_here(device, enrolment)
    move_to_another_screen(device.page)
    device.enter(enrolment)
    expect(device.page.locator("#case-display")).to_be_visible()
    expect(device.page.locator("#stem")).to_be_hidden()
    read_letters(device.page, enrolment)
    device.sees(1)
