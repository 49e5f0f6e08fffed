"""Faults that come from how people use pages: back, jumps, reloads, two tabs, two clicks, two answers, a crash.

One test for each row of the table of faults, named after it; see docs/reading.md.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Playwright, Route, expect
from pytest_django.live_server_helper import LiveServer

from annotation.audit.deleting import BinRefused, move_to_bin
from annotation.models import AuditEvent, User
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design.voiding import void_case
from readerstudy.models import ReaderStudy, Reading, ReadingSession, RefusedAnswer, Response, Voiding
from tests.browser.conftest import own_browser
from tests.browser.entering import Browse
from tests.browser.readerstudy.conftest import MakeStudy, NewDevice
from tests.browser.readerstudy.reading import KEPT, Device, answers_of, lose
from tests.browser.server import wait_until_left
from tests.readerstudy.studies import places_of

COME_BACK = "() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
POST = """async ([address, fields]) => {
    const token = /csrftoken=([^;]*)/.exec(document.cookie)[1];
    const session = sessionStorage.getItem(Object.keys(sessionStorage).find((key) => /^reading \\S+$/.test(key)));
    const body = new URLSearchParams([...fields, ["session", session]]);
    const answer = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token } });
    return [answer.status, await answer.text()];
}"""


def post(page: Page, address: str, *fields: tuple[str, str]) -> tuple[int, str]:
    """Send something past the page, with its own session."""
    status, said = page.evaluate(POST, [address, [list(pair) for pair in fields]])
    return status, said


def test_back_button(device: Device, new_device: NewDevice, reads: MakeStudy) -> None:
    """Back leads to where the reader is now, never to an answer that is final."""
    enrolment = device.opens(reads())
    device.stores("2", then=2)
    device.page.goto("/")
    device.page.go_back()
    device.sees(2)
    other = new_device()  # meanwhile case 2 is answered elsewhere, and an old page comes out of the browser's memory
    other.enter(enrolment)
    other.is_covered("elsewhere")
    other.press("Enter")
    other.sees(2)
    other.stores("3", then=3)
    device.page.evaluate(COME_BACK)
    device.is_covered("elsewhere")
    device.press("Enter")
    device.sees(3)
    assert answers_of(enrolment) == ["B", "C"]


def test_jump_ahead_by_url(device: Device, reads: MakeStudy) -> None:
    """What is not prefetched does not exist; what is prefetched opens in its order, also from the outbox."""
    enrolment = device.opens(reads(n_cases=5))
    device.says("saved")
    places = [f"/read/trial/cases/{place.public_id}" for place in places_of(enrolment)]
    assert [post(device.page, f"{place}/open/")[0] for place in places] == [200, 409, 409, 404, 404]
    key = ("key", str(uuid.uuid4()))
    assert post(device.page, f"{places[3]}/commit/", key, ("option", "B"))[0] == 404
    image = places_of(enrolment)[4].case.revision.question.exam.images.first()
    assert image is not None
    rendition = image.renditions.get(kind="full").name
    assert device.page.evaluate("async (name) => (await fetch(`/images/${name}`)).status", rendition) == 404
    device.cut(enrolment)
    device.answers("2", then=2)
    assert Reading.objects.count() == 1
    device.mend()
    device.says("saved")
    assert [(one.position, one.closed_at is None) for one in Reading.objects.order_by("position")] == [
        (1, False),
        (2, True),
    ]


def test_refresh(device: Device, reads: MakeStudy) -> None:
    """The same case with its choice; its time goes on where it was."""
    device.opens(reads(time_limit_s=600))
    device.press("c")
    device.says("saved")
    reading = Reading.objects.get()
    assert reading.deadline_at is not None
    earlier = reading.deadline_at - timedelta(seconds=330)  # as if time had gone by
    Reading.objects.update(deadline_at=earlier)
    painted_at = reading.painted_at
    device.page.reload()
    device.sees(1)
    device.has_chosen("C")
    minutes = int(device.page.inner_text("#room-clock").split(":")[0])
    assert minutes == 4
    device.says("saved")
    reading.refresh_from_db()
    assert (reading.painted_at, reading.deadline_at, reading.choice) == (painted_at, earlier, "C")


def test_two_tabs_two_devices(device: Device, new_device: NewDevice, reads: MakeStudy) -> None:
    """One page writes. The other looks on, may take over, and what it had not sent yet is sent then."""
    enrolment = device.opens(reads())
    device.cut(enrolment)
    device.answers("1", then=2)
    other = new_device()
    other.enter(enrolment)
    other.is_covered("elsewhere")
    other.press("1", "Escape")
    other.is_covered("elsewhere")
    other.page.get_by_role("button", name="Continue here").click()
    other.sees(1)
    device.mend()
    device.is_covered("elsewhere")
    device.has_kept(enrolment, "commit", "open")
    assert answers_of(enrolment) == []
    device.page.get_by_role("button", name="Continue here").click()
    device.sees(2)
    device.says("saved")
    assert answers_of(enrolment) == ["A"]
    assert list(ReadingSession.objects.values_list("end", flat=True)) == ["taken_over", "taken_over", ""]
    assert AuditEvent.objects.filter(act="reading.session_taken_over").count() == 2

    copy = Device(device.page.context.new_page())  # another tab shares the outbox, not the write lease
    copy.enter(enrolment)
    copy.is_covered("elsewhere")
    copy.page.close()


def test_a_copied_tab_does_not_hold_the_pen(device: Device, reads: MakeStudy) -> None:
    device.opens(reads())
    with device.page.expect_popup() as opened:  # it takes a copy of what the tab has stored
        device.page.evaluate("() => void open(location.href)")
    Device(opened.value).is_covered("elsewhere")
    device.stores("1", then=2)


def test_double_click_double_submit(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()

    def send_twice(route: Route) -> None:
        first, second = route.fetch(), route.fetch()
        assert first.json()["stored"] == second.json()["stored"]
        route.fulfill(response=second)

    device.page.route("**/commit/", send_twice)
    device.opens(enrolment)
    device.press("1")
    expect(device.page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    device.page.locator("#case-go").dblclick()
    device.sees(2)
    expect(device.page.locator("#case-message")).to_be_hidden()
    device.press("2", "Enter", "Enter")
    device.sees(3)
    device.says("saved")
    assert answers_of(enrolment) == ["A", "B"]
    assert Response.objects.count() == 2


def test_replay_with_another_answer(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()

    def be_late(route: Route) -> None:
        """Another answer of the same reader was there first."""
        sent = dict(parse_qsl(route.request.post_data or "", keep_blank_values=True))
        other = {**sent, "option": "C", "key": str(uuid.uuid4())}
        assert route.fetch(post_data=urlencode(other)).ok
        route.continue_()

    device.page.route("**/commit/", be_late, times=1)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.is_told("An earlier answer, C, is already stored and remains.")
    device.says("saved")
    assert answers_of(enrolment) == ["C"]
    refused = RefusedAnswer.objects.get()
    assert (refused.option, refused.reason) == ("B", "other_answer")
    device.stores("1", then=3)
    assert answers_of(enrolment) == ["C", "A"]


def test_study_edited_while_open(device: Device, reads: MakeStudy, cora: User) -> None:
    """Nothing of it can be changed. A case that is voided is answered all the same; a closed study takes nothing."""
    enrolment = reads()
    study = enrolment.study
    device.opens(enrolment)
    case = places_of(enrolment)[0].case
    with pytest.raises(BinRefused):
        move_to_bin(study, actor=cora, at=timezone.now())
    void_case(case, "the images are of another patient", actor=cora, at=timezone.now())
    device.stores("1", then=2)
    assert answers_of(enrolment) == ["A"]
    assert Voiding.objects.count() == 1
    close_study(study, actor=cora, at=timezone.now(), confirmed_open=1)
    device.press("2")
    device.is_covered("ended")
    assert answers_of(enrolment) == ["A"]


def test_coordinator_peeks(browse: Browse, device: Device, reads: MakeStudy, cora: User) -> None:
    """Before closing no page and no file has a result; looking before needs a reason, is logged and stays."""
    device.opens(reads())
    device.answers("2", then=2)  # right: the key is B
    device.says("saved")
    page = browse(cora)
    for address in ("", "watch/", "results/"):
        assert page.goto(f"/studies/trial/{address}")
        assert "Accuracy" not in page.inner_text("main")
    for table, status in (("responses", 403), ("events", 403), ("orders", 200)):
        assert post(page, f"/studies/trial/export/{table}/csv/")[0] == status
    for reason, n_looks in (("curious", 0), ("The sponsor asked for a look.", 1)):
        page.goto("/studies/trial/watch/")
        page.get_by_text("Break-glass access").click()
        glass = page.locator("form[action$='/interim/']")
        glass.locator("[name=reason]").evaluate("(field, text) => { field.value = text }", reason)
        glass.evaluate("(form) => { form.noValidate = true; form.requestSubmit() }")
        expect(page.get_by_text("Results were seen before closing")).to_have_count(n_looks)
        assert AuditEvent.objects.filter(act="study.glass_broken").count() == n_looks
    expect(page.locator("h1")).to_have_text("Interim results")
    expect(page.get_by_role("row").filter(has_text="R1")).to_contain_text("100")
    log = AuditEvent.objects.get(act="study.glass_broken")
    assert log.facts["reason"] == "The sponsor asked for a look."
    assert ReaderStudy.objects.get().unblinded_at is not None


@pytest.fixture
def open_browser(
    playwright: Playwright, live_server: LiveServer, rita: User, tmp_path: Path
) -> Iterator[Callable[[], Device]]:
    """Each call starts a browser of Rita's, always with the same profile."""
    with ExitStack() as browsers:
        yield lambda: Device(browsers.enter_context(own_browser(playwright, tmp_path, live_server.url, rita)).pages[0])
    wait_until_left(live_server)


def test_browser_crash(open_browser: Callable[[], Device], reads: MakeStudy, tmp_path: Path) -> None:
    """The browser is killed with an answer that was not sent and a choice that was not confirmed: both are back."""
    enrolment = reads()
    device = open_browser()
    device.opens(enrolment)
    device.is_ready(enrolment)
    device.page.route("**/read/trial/**", lose)
    device.answers("4", then=2)
    device.press("3")
    device.says(KEPT)
    device.has_kept(enrolment, "commit", "open", "choice")
    for process in _processes(tmp_path):
        os.kill(process, signal.SIGKILL)
    device = open_browser()
    device.enter(enrolment)
    device.is_covered("elsewhere")  # the server has heard of the page that is gone only a moment ago
    device.press("Enter")
    device.sees(2)
    device.has_chosen("C")
    device.says("saved")
    assert answers_of(enrolment) == ["D"]
    device.has_kept(enrolment)
    device.commits()
    device.sees(3)
    device.says("saved")
    assert answers_of(enrolment) == ["D", "C"]


def _processes(profile: Path) -> list[int]:
    """The browser that this test started, and a script around it: they have its profile and are no part of another."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_text().split("\0")
            if f"--user-data-dir={profile}" in words and not any(word.startswith("--type=") for word in words):
                found.append(int(process.name))
    assert found, f"no browser with {profile}"
    return found
