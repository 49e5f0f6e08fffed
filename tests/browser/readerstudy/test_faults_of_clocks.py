"""Faults of time: limits that end, clocks that are wrong, devices that sleep.

One test for each row of the table of faults, named after it; see docs/reading.md.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone
from playwright.sync_api import expect

from annotation.case.kernels.durations import is_counted
from readerstudy.models import Enrolment, Reading, Remark, Response
from readerstudy.reading.case_opening import close_reading
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device, answers_of, lose

HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def let_time_pass(reading: Reading) -> None:
    """For the server the time of this case ended two minutes ago."""
    Reading.objects.filter(pk=reading.pk).update(deadline_at=timezone.now() - timedelta(minutes=2))


def test_answer_after_the_limit(device: Device, reads: MakeStudy) -> None:
    """Made in time and received later: it takes the place of what the server closed, and scores as usual."""
    enrolment = device.opens(reads(time_limit_s=600))
    device.press("2")
    device.says("saved")
    device.cut(enrolment)
    device.commits()
    device.is_covered("offline")
    reading = Reading.objects.get()
    let_time_pass(reading)
    assert close_reading(reading.pk, at=timezone.now())
    assert Response.objects.get().state == "unconfirmed"
    device.mend()
    expect(device.page.locator("[data-cover=offline] [data-unsent]")).to_be_hidden()
    answer = Response.objects.get(is_confirmed=True)
    assert (answer.option, answer.state, answer.delivered_late) == ("B", "answered", True)
    device.press("Enter")
    device.sees(2)


def test_timer_ends_without_submit(device: Device, reads: MakeStudy) -> None:
    """The choice is kept as not confirmed; nothing is committed; the next case waits for the reader."""
    enrolment = reads(time_limit_s=60)
    sent: list[str] = []
    device.page.on("request", lambda asked: sent.append(asked.url) if "/commit/" in asked.url else None)
    device.page.clock.install()
    device.opens(enrolment)
    device.press("2")
    device.says("saved")
    expect(device.page.locator("#room-clock")).to_be_visible()
    device.page.clock.run_for(61_000)
    device.is_covered("over")
    expect(device.page.locator("[data-cover=over]")).to_contain_text(
        "B was marked but not submitted; it is recorded as unconfirmed and counts as your answer."
    )
    let_time_pass(Reading.objects.get())
    device.press("Enter")
    device.page.clock.resume()
    device.sees(2)
    expect(device.page.locator("#room-clock")).to_be_visible()
    device.says("saved")
    answer = Response.objects.get()
    assert (answer.option, answer.state, answer.is_confirmed) == ("B", "unconfirmed", False)
    assert sent == []
    assert answers_of(enrolment) == []


def test_timer_ends_over_an_unfinished_report(device: Device, reads: MakeStudy) -> None:
    """What was written so far reaches the coordinator, and the page says so."""
    enrolment = reads(time_limit_s=60)
    device.page.clock.install()
    device.opens(enrolment)
    device.press("g")
    device.page.keyboard.type("The side mark is mirr")
    device.page.clock.run_for(61_000)
    device.is_covered("over")
    expect(device.page.locator("[data-cover=over]")).to_contain_text("Your unfinished report of this case was sent.")
    device.says("saved")
    remark = Remark.objects.get()
    assert (remark.kind, remark.text) == ("fault", "The side mark is mirr")


def test_timer_ends_without_submit_and_without_a_connection(device: Device, reads: MakeStudy) -> None:
    """The server closes the case without the choice, which is made in time: it counts when it gets there."""
    enrolment = reads(time_limit_s=60)
    device.page.clock.install()
    device.opens(enrolment)
    device.says("saved")
    device.cut()
    device.press("2")
    device.has_kept(enrolment, "choice")
    device.page.clock.run_for(61_000)
    device.is_covered("over")
    counts = device.page.locator("[data-cover=over] [data-word=counts]")
    expect(counts).to_contain_text("it is kept on this device and counts as your answer, unconfirmed, if it reaches")
    expect(counts).to_contain_text("Otherwise the case counts as not answered.")
    let_time_pass(Reading.objects.get())
    assert close_reading(Reading.objects.get().pk, at=timezone.now())
    device.mend()
    device.page.clock.resume()
    expect(counts).to_have_text(
        "B was marked but not submitted; it is recorded as unconfirmed and counts as your answer."
    )
    device.press("Enter")
    device.sees(2)
    device.says("saved")
    rows = Response.objects.order_by("pk").values_list("state", "option", "is_confirmed", "delivered_late")
    assert list(rows) == [("timed_out", "", False, False), ("unconfirmed", "B", False, True)]
    assert answers_of(enrolment) == []


def test_a_choice_outlives_a_reload_after_its_time(device: Device, reads: MakeStudy) -> None:
    """Asking for the write lease closes the case before the choice is sent."""
    enrolment = reads(time_limit_s=60)
    device.page.clock.install()
    device.opens(enrolment)
    device.says("saved")
    device.page.route("**/read/trial/cases/**", lose)
    device.press("2")
    device.has_kept(enrolment, "choice")
    device.page.clock.run_for(61_000)
    device.is_covered("over")
    let_time_pass(Reading.objects.get())
    device.page.unroute_all(behavior="ignoreErrors")
    device.page.reload()
    device.sees(2)
    device.page.clock.resume()
    device.says("saved")
    rows = Response.objects.order_by("pk").values_list("state", "option", "choice_sequence")
    assert list(rows) == [("timed_out", "", 0), ("unconfirmed", "B", 1)]


def test_client_clock_wrong(device: Device, reads: MakeStudy) -> None:
    """The time that is left does not follow the time of day, which is years off here and jumps back an hour."""
    enrolment = reads(time_limit_s=600)
    device.page.clock.install(time="1999-12-31T23:59:00Z")
    device.opens(enrolment)
    clock = device.page.locator("#room-clock")
    expect(clock).to_contain_text(":")
    device.page.clock.set_system_time("1999-12-31T22:59:00Z")
    device.page.clock.run_for(1_000)
    assert 540 < left_s(device) < 600
    device.stores("2", then=2)
    answer = Response.objects.get()
    assert (answer.option, answer.state) == ("B", "answered")
    assert "clock_set" in answer.time_flags
    assert is_counted(answer.active_ms, {*answer.time_flags} - {"above_server"})  # the clock of the test runs ahead


def test_laptop_sleeps_tab_hidden(device: Device, reads: MakeStudy) -> None:
    """Spans without the reader are told, and left to the analysis; the case is still there."""
    enrolment = reads()
    device.page.clock.install()
    device.opens(enrolment)
    device.press("2")
    device.page.clock.run_for(6_000)
    device.page.evaluate(HIDE, True)
    device.page.clock.run_for(60_000)
    device.page.evaluate(HIDE, False)
    device.page.clock.fast_forward(20 * 60_000)
    device.page.clock.run_for(6_000)
    device.sees(1)
    device.has_chosen("B")
    device.commits()
    device.sees(2)
    device.page.clock.resume()
    device.says("saved")
    answer = Response.objects.get()
    assert {"hidden", "asleep"} <= set(answer.time_flags)
    assert answer.time_parts is not None
    assert abs(answer.time_parts["asleep"] - 20 * 60_000) <= 250
    assert answer.active_ms is not None
    assert answer.elapsed_ms is not None
    assert answer.active_ms < 60_000 < 20 * 60_000 < answer.elapsed_ms
    assert answers_of(enrolment) == ["B"]


def left_s(device: Device) -> int:
    minutes, seconds = (int(part) for part in device.page.inner_text("#room-clock").split(":"))
    return minutes * 60 + seconds


@pytest.mark.parametrize("hours", [1, -1])
def test_the_time_of_day_is_corrected_and_the_page_loaded_again(device: Device, reads: MakeStudy, hours: int) -> None:
    """The server has heard of the case on screen: the clock goes on near 9:55."""
    device.opens(reads(time_limit_s=600))
    device.says("saved")
    device.page.add_init_script(f"const now = Date.now; Date.now = () => now() + {hours * 3_600_000};")
    device.page.reload()
    device.sees(1)
    assert 570 < left_s(device) <= 600, "a time of day that was set must not end the time of a case"
    device.stores("2", then=2)
    answer = Response.objects.get()
    assert (answer.option, answer.state, "apart_from_server" in answer.time_flags) == ("B", "answered", False)


def test_a_page_that_tells_less_time_than_the_server_knows(device: Device, reads: MakeStudy) -> None:
    """For the server 25 seconds more have gone by since the opening than for the clock of the page."""
    device.opens(reads(time_limit_s=8))
    device.says("saved")
    for name in ("opened_at", "painted_at", "deadline_at"):
        Reading.objects.update(**{name: F(name) - timedelta(seconds=25)})
    device.stores("2", then=2)
    answer = Response.objects.get(is_confirmed=True)
    assert (answer.option, answer.state, answer.delivered_late) == ("B", "answered", True)
    assert "apart_from_server" in answer.time_flags


def test_offline_when_a_case_with_a_limit_opens(device: Device, reads: MakeStudy) -> None:
    """Its question comes with the opening: the page waits, its time does not run, and the reader opens it."""
    enrolment = device.opens(reads(time_limit_s=600))
    device.cut(enrolment)
    device.answers("2")
    device.is_covered("offline")
    cover = device.page.locator("[data-cover=offline]")
    expect(cover).to_contain_text("It is not open yet, and its time does not run.")
    expect(cover.locator("[data-unsent]")).to_contain_text("not sent yet: 1.")
    expect(device.page.locator("#room-clock")).to_be_hidden()
    device.press("Enter")
    device.is_covered("offline")
    device.mend()
    expect(cover.locator("[data-unsent]")).to_be_hidden()
    assert Reading.objects.count() == 1, "a case must not be opened while its reader may be away"
    device.press("Enter")
    device.sees(2)
    assert 590 < left_s(device) <= 600
    device.stores("3", then=3)
    assert answers_of(enrolment) == ["B", "C"]
    flags = Response.objects.order_by("pk").values_list("time_flags", flat=True)
    assert "apart_from_server" not in list(flags)[1]


def test_an_opening_that_is_refused_waits_for_its_reason(device: Device, reads: MakeStudy) -> None:
    """Another device began a break: the next case opens when the reader goes on."""
    enrolment = device.opens(reads(time_limit_s=600))
    device.says("saved")
    Enrolment.objects.update(paused_at=timezone.now())
    device.answers("2")
    device.is_covered("paused")
    assert Reading.objects.count() == 1
    device.press("Enter")
    device.sees(2)
    assert answers_of(enrolment) == ["B"]


def test_refresh_of_a_case_that_the_server_has_not_heard_of(device: Device, reads: MakeStudy) -> None:
    """Opened, then shown without a connection and loaded again: the time goes on, and all of it is told."""
    enrolment = device.opens(reads(time_limit_s=600))
    device.is_ready(enrolment)
    device.page.route("**/read/trial/cases/*/events/", lose)
    device.answers("1", then=2)
    device.page.wait_for_timeout(5_000)
    device.page.reload()
    device.sees(2)
    assert 500 < left_s(device) <= 595
    device.page.unroute_all(behavior="ignoreErrors")
    device.says("saved")
    device.page.reload()  # the server counts from now on, the device from before
    device.sees(2)
    assert 500 < left_s(device) <= 595
    device.stores("2", then=3)
    answer = Response.objects.get(reading__position=2)
    assert answer.active_ms is not None
    assert answer.active_ms >= 5_000
    assert "reloaded" in answer.time_flags


def test_the_time_of_the_last_case_ends(device: Device, reads: MakeStudy) -> None:
    """The reader goes on to the end of the study at once; no worker runs here."""
    enrolment = reads(n_cases=1, time_limit_s=60)
    device.page.clock.install()
    device.opens(enrolment)
    device.press("2")
    device.says("saved")
    device.page.clock.run_for(61_000)
    device.is_covered("over")
    let_time_pass(Reading.objects.get())
    device.press("Enter")
    device.page.clock.resume()
    device.page.wait_for_url("**/read/trial/done/")
    assert Response.objects.get().state == "unconfirmed"
