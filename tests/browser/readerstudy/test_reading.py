"""A reader's way through a study in Chromium, by keyboard only."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from readerstudy.models import Remark, Response, TimingEvent
from tests.browser.readerstudy.conftest import MakeStudy, NewDevice
from tests.browser.readerstudy.reading import KEPT, Device, answers_of

IN_FRONT = """(shown) => {
    const { x, y, width, height } = shown.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) === shown;
}"""


def test_six_cases_by_keyboard_two_of_them_offline_and_a_change_of_device(
    device: Device, new_device: NewDevice, reads: MakeStudy
) -> None:
    enrolment = device.opens(reads(n_cases=6))
    device.stores("1", then=2)
    device.cut(enrolment)
    device.answers("b", then=3)
    device.says(KEPT)
    expect(device.page.locator("#room-banner")).to_contain_text("Offline.")
    device.answers("3", then=4)
    assert answers_of(enrolment) == ["A"]
    device.mend()
    device.says("saved")
    expect(device.page.locator("#room-banner")).to_contain_text("back")
    assert answers_of(enrolment) == ["A", "B", "C"]
    device.press("4")
    device.says("saved")

    other = new_device()
    other.enter(enrolment)
    other.is_covered("elsewhere")
    other.press("Enter")
    other.sees(4)
    other.has_chosen("D")
    other.answers("d", then=5)
    other.answers("2", then=6)
    other.answers("1")
    expect(other.page).not_to_have_url(re.compile("/room/"))
    assert answers_of(enrolment) == ["A", "B", "C", "D", "B", "A"]


def test_the_clock_and_the_look_of_a_case_are_stored_with_its_answer(device: Device, reads: MakeStudy) -> None:
    device.opens(reads())
    device.press("1", "i", "2")
    device.commits()
    device.sees(2)
    device.says("saved")
    answer = Response.objects.get()
    assert 0 < (answer.active_ms or -1) <= (answer.elapsed_ms or -1)
    assert answer.viewport is not None
    assert [view["invert"] for view in answer.viewport["views"]] == [True, True]
    told = TimingEvent.objects.filter(reading=answer.reading).exclude(page="server")
    kinds = ("painted", "selected", "tool", "submitted")
    assert list(told.filter(kind__in=kinds).order_by("sequence").values_list("kind", flat=True)) == [
        "painted",
        "selected",
        "selected",
        "tool",
        "submitted",
    ]


def test_the_first_events_of_a_case_wait_until_it_is_opened(device: Device, reads: MakeStudy) -> None:
    """Before that the server refuses them, and they would be lost."""
    asked: list[str] = []
    device.page.on("request", lambda request: asked.append(request.url.rstrip("/").rsplit("/", 1)[1]))
    device.opens(reads())
    device.says("saved")
    device.answers("1", then=2)
    assert asked.index("open") < asked.index("events")


def test_all_that_is_needed_is_in_sight(device: Device, reads: MakeStudy) -> None:
    """At 1366x768 nothing scrolls; images have two thirds, the frontal one large on the left; no clock shows."""
    device.opens(reads())
    for place in ("#stem", "#room-options label >> nth=0", "#room-options label >> nth=3", "#case-go"):
        expect(device.page.locator(place)).to_be_in_viewport(ratio=1)
    beyond = "(place) => { const box = document.querySelector(place); return box.scrollHeight - box.clientHeight }"
    assert [device.page.evaluate(beyond, place) for place in (".case-scroll", "html")] == [0, 0]
    images, question, frontal, lateral = (
        device.page.locator(place).bounding_box()
        for place in (".case-images", "#case-panel", ".viewer-pane >> nth=0", ".viewer-pane >> nth=1")
    )
    assert images is not None
    assert question is not None
    assert frontal is not None
    assert lateral is not None
    assert images["width"] / 1366 == pytest.approx(2 / 3, abs=0.05)
    assert question["width"] / 1366 == pytest.approx(1 / 3, abs=0.05)
    assert frontal["x"] < lateral["x"]
    assert frontal["width"] > lateral["width"]
    expect(device.page.get_by_role("img", name="Image 1: PA")).to_be_visible()
    expect(device.page.locator("#room-clock")).to_be_hidden()


def test_nothing_of_a_case_shows_before_all_of_it(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    held: list[Route] = []
    device.page.route("**/images/*", lambda route: held.append(route))
    device.enter(enrolment)
    expect(device.page.locator("#case-wait")).to_have_text("Loading the case")
    expect(device.page.locator("#room-options label").first).to_be_attached()
    for place in ("#stem", "#room-options", "#room-place", ".viewer-canvas >> nth=0"):
        expect(device.page.locator(place)).to_be_hidden()
    device.press("2", "Enter")
    device.has_chosen()
    device.page.route("**/images/*", lambda route: route.continue_())
    for route in held:
        route.continue_()
    device.sees(1)
    device.is_told("before the case was on screen")
    device.has_chosen()


def test_how_sure_is_asked_after_the_answer_and_before_the_next_case(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(confidence=True))
    device.answers("2")
    expect(device.page.locator("#room-confidence")).to_be_visible()
    device.press("Enter", "Enter")
    device.sees(1)
    device.press("4")
    device.sees(2)
    device.answers("3")
    device.press("1")
    device.sees(3)
    device.says("saved")
    assert list(Remark.objects.values_list("kind", "value")) == [("confidence", "80"), ("confidence", "25")]
    assert answers_of(enrolment) == ["B", "C"]
    device.answers("1")
    device.says("saved")
    device.page.reload()
    device.is_covered("confidence")
    device.press("5")
    device.sees(4)
    device.says("saved")
    assert list(Remark.objects.values_list("value", flat=True)) == ["80", "25", "95"]


def test_a_slip_can_be_told_until_the_next_answer(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads())
    device.press("Shift+E")
    expect(device.page.locator("#slip-dialog")).to_be_hidden()
    device.answers("2", then=2)
    device.press("Shift+E")
    expect(device.page.locator("#slip-answer")).to_have_text("Your last answer was B.")
    device.press("2")
    expect(device.page.locator("#slip-dialog")).to_be_visible()
    device.press("4")
    device.is_told("Noted; your answer itself is unchanged.")
    device.says("saved")
    remark = Remark.objects.get()
    assert (remark.kind, remark.value, remark.reading.position) == ("slip", "D", 1)
    assert answers_of(enrolment) == ["B"]
    device.has_chosen()


def test_arrows_choose_nothing_and_who_corrects_a_key_or_looks_keys_up_is_not_reading(
    device: Device, reads: MakeStudy
) -> None:
    device.opens(reads())
    device.answers("2", then=2)
    device.press("2")
    device.page.locator("#room-options input").nth(1).focus()
    device.press("ArrowRight", "ArrowDown")
    device.has_chosen("B")
    for key, dialog in (("Shift+E", "#slip-dialog"), ("?", "#keys-dialog")):
        device.press(key)
        expect(device.page.locator(dialog)).to_be_visible()
        expect(device.page.locator(".viewer-stage")).to_be_hidden()
        device.press("Escape")
        expect(device.page.locator(".viewer-stage")).to_be_visible()  # while it closes, Enter is the dialog's
        device.sees(2)
    device.commits()
    device.sees(3)
    device.says("saved")
    of_second = TimingEvent.objects.filter(reading__position=2, kind__in=("hidden", "visible")).order_by("sequence")
    assert list(of_second.values_list("kind", flat=True)) == ["hidden", "visible"] * 2


def test_a_faulty_case_is_reported_and_answered_all_the_same(device: Device, reads: MakeStudy) -> None:
    device.opens(reads())
    device.press("g")
    expect(device.page.locator("#fault-dialog")).to_be_visible()
    device.page.keyboard.type("2 of the images are of another patient")
    device.press("Tab", "Tab", "Enter")
    device.is_told("The coordinator will read it")
    device.has_chosen()
    device.stores("2", then=2)
    remark = Remark.objects.get()
    assert (remark.kind, remark.text) == ("fault", "2 of the images are of another patient")


def test_a_pause_comes_after_the_case_or_hides_it_at_once(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads())
    device.press("Shift+P", "Enter")
    device.is_told("after this case")
    device.answers("1")
    device.is_covered("paused")
    device.says("saved")
    enrolment.refresh_from_db()
    assert enrolment.paused_at is not None
    device.press("1", "Escape")
    device.is_covered("paused")
    device.press("Enter")
    device.sees(2)
    device.has_chosen()
    device.press("Shift+P")
    device.page.get_by_role("button", name="Pause now").click()
    device.is_covered("paused")
    expect(device.page.locator(".viewer-canvas").first).to_be_hidden()
    device.press("Enter")
    device.sees(2)
    device.stores("2", then=3)
    assert Response.objects.get(reading__position=2).time_flags.count("paused") == 1
    enrolment.refresh_from_db()
    assert enrolment.paused_at is None


def test_a_break_is_offered_when_it_is_due(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads(break_every=2))
    device.is_ready(enrolment)
    device.answers("1", then=2)
    device.cut()
    device.answers("1")
    device.is_covered("break")
    expect(device.page.locator("[data-word=done]")).to_contain_text("2 of 4 read.")
    device.press("Enter")
    device.sees(3)
    device.mend()
    device.says("saved")
    device.answers("1", then=4)


def test_the_clock_of_a_limit_stays_in_sight_in_full_screen_and_covers_nothing_of_the_image(
    device: Device, reads: MakeStudy
) -> None:
    device.opens(reads(time_limit_s=600))
    device.press("f", "2")
    view = device.page.locator(".viewer-wide-root").bounding_box()
    clock = device.page.locator("#room-clock")
    expect(clock).to_contain_text(":")
    assert clock.evaluate(IN_FRONT)
    place = clock.bounding_box()
    assert view is not None
    assert place is not None
    assert place["y"] >= view["y"] + view["height"]


def test_practice_shows_the_key_and_why(device: Device, reads: MakeStudy) -> None:
    device.opens(reads(n_practice=2, practised=False))
    expect(device.page.locator("#room-practice")).to_be_visible()
    device.answers("1")
    expect(device.page.locator("#room-feedback h2")).to_have_text("The correct answer is B.")
    expect(device.page.locator(".room-wrong")).to_have_css("border-color", "rgb(217, 136, 128)")
    expect(device.page.locator("#room-feedback p")).not_to_be_empty()
    expect(device.page.locator("#case-hint")).to_have_text("Enter: continue")
    expect(device.page.locator("#case-go")).to_contain_text("Next case")
    device.page.locator("#case-go").click(delay=500)
    device.sees(2)
    expect(device.page.locator("#room-feedback")).to_be_hidden()


def test_an_image_that_does_not_come_is_said_to_be_unreadable(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        lost.append(route.request.url)
        if route.request.url == lost[0]:
            route.fulfill(status=404)
        else:
            route.continue_()

    device.page.route("**/images/*", lose_the_first)
    device.enter(enrolment)
    expect(device.page.locator(".viewer-error:visible")).to_contain_text("could not be shown")
    device.press("w")
    device.sees(1)
    device.stores("1", then=2)
    assert len(Response.objects.get().unreadable) == 1


def test_a_small_window_shows_nothing_of_a_case(device: Device, reads: MakeStudy) -> None:
    enrolment = reads(least_width=1200, least_height=700)
    device.page.set_viewport_size({"width": 1000, "height": 700})
    device.enter(enrolment)
    expect(device.page.locator("#case-small")).to_contain_text(re.compile("1200.*700.*1000.*700"))
    expect(device.page.locator("#stem")).to_be_hidden()
    device.page.set_viewport_size({"width": 1366, "height": 768})
    device.sees(1)
