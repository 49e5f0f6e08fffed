"""Logging out while the device holds answers that the server does not have."""

from __future__ import annotations

from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import User
from readerstudy.conducting.lifecycle import close_study
from readerstudy.enums import Refusal
from readerstudy.models import RefusedAnswer
from tests.browser.entering import give_session
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device, answers_of, lose
from tests.browser.screenshots import keep

DATABASES = "async () => (await indexedDB.databases()).length"


def log_in(device: Device, person: User) -> None:
    address = device.page.url.partition("/login/")[0]
    give_session(device.page.context, person, address)


def test_an_answer_that_was_not_sent_survives_logging_out(device: Device, reads: MakeStudy, rita: User) -> None:
    enrolment = reads()
    device.page.route("**/commit/", lose)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.has_kept(enrolment, "commit", "open")
    device.page.goto("/")
    device.page.get_by_role("button", name="Log out", exact=True).click()
    dialog = device.page.get_by_role("dialog")
    expect(dialog).to_contain_text("does not have yet: 1")
    keep(device.page, "log-out-dialog")
    assert (dialog.get_by_role("link", name="Send them").get_attribute("href")) == f"/read/{enrolment.study.slug}/room/"
    dialog.get_by_role("button", name="Log out and keep them").click()
    expect(device.page).to_have_url("/login/")
    device.has_kept(enrolment, "commit", "open")
    device.page.unroute("**/commit/")
    log_in(device, rita)
    device.enter(enrolment)
    device.says("saved")
    assert answers_of(enrolment) == ["B"]
    device.page.goto("/")
    device.page.get_by_role("button", name="Log out", exact=True).click()
    expect(device.page).to_have_url("/login/")
    assert device.page.evaluate(DATABASES) == 0


def test_what_the_device_holds_is_sent_when_the_study_has_closed(device: Device, reads: MakeStudy, cora: User) -> None:
    """The page of the cases is not there any more: the entry sends it, and says what became of it."""
    enrolment = reads()
    device.page.route("**/commit/", lose)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.has_kept(enrolment, "commit", "open")
    device.page.goto("/")
    close_study(enrolment.study, actor=cora, at=timezone.now(), confirmed_open=1)
    device.page.unroute("**/commit/")
    device.enter(enrolment)
    expect(device.page.get_by_role("status")).to_contain_text("Answers that were only on this device: 1.")
    late = RefusedAnswer.objects.get()
    assert (late.option, late.reason) == ("B", Refusal.STUDY_CLOSED)
    assert answers_of(enrolment) == []
    keep(device.page, "answers-after-the-end")


def test_a_reader_is_told_at_a_case_that_the_study_has_closed(device: Device, reads: MakeStudy, cora: User) -> None:
    """Once the page said "saved" while the server refused what its clock told, 29 times."""
    enrolment = reads()
    device.page.clock.install()
    device.enter(enrolment)
    device.page.clock.run_for(1_000)
    device.sees(1)
    device.stores("2", then=2)
    device.press("3")
    device.says("saved")
    close_study(enrolment.study, actor=cora, at=timezone.now(), confirmed_open=1)
    device.page.clock.run_for(20_000)
    device.is_covered("ended")
    ended = device.page.locator("[data-cover=ended]")
    expect(ended).to_contain_text("The study has closed")
    expect(ended).to_contain_text("1 of 4 answers are stored and count.")
    expect(ended).to_contain_text("C was chosen for this case but not submitted")
    device.press("Enter")  # meant for the case
    device.is_covered("ended")
    device.press("Tab", "Enter")
    expect(device.page).to_have_url(f"/read/{enrolment.study.slug}/")


def test_a_paused_reader_is_told_that_the_study_has_closed_and_what_is_not_sent(
    device: Device, reads: MakeStudy, cora: User
) -> None:
    """Once a page that paused between two cases asked nothing, and told it on resuming."""
    enrolment = reads()
    device.page.clock.install()
    device.enter(enrolment)
    device.page.clock.run_for(1_000)
    device.sees(1)
    device.page.route("**/commit/", lose)
    device.press("Shift+P", "Enter", "2")
    device.commits()
    device.is_covered("paused")
    asked: list[str] = []
    device.page.on("request", lambda request: asked.append(request.url.rpartition("/read/")[2]))
    device.page.clock.run_for(20_000)
    device.is_covered("paused")
    assert asked.count(f"{enrolment.study.slug}/state/") == 1
    close_study(enrolment.study, actor=cora, at=timezone.now(), confirmed_open=1)
    device.page.clock.run_for(20_000)
    device.is_covered("ended")
    ended = device.page.locator("[data-cover=ended]")
    expect(ended).to_contain_text("The study has closed")
    expect(ended).to_contain_text("0 of 4 answers are stored and count.")
    expect(ended).to_contain_text("Answers on this device that are not sent yet: 1.")
    device.page.unroute("**/commit/")
    device.page.clock.run_for(20_000)
    expect(ended).to_contain_text("Answers sent after the end: 1.")


def test_an_answer_that_comes_after_closing_is_said_to_be_late(device: Device, reads: MakeStudy, cora: User) -> None:
    enrolment = device.opens(reads())
    device.press("2")
    device.says("saved")
    close_study(enrolment.study, actor=cora, at=timezone.now(), confirmed_open=1)
    device.commits()
    device.is_covered("ended")
    ended = device.page.locator("[data-cover=ended]")
    expect(ended).to_contain_text("0 of 4 answers are stored and count.")
    expect(ended).to_contain_text("Answers sent after the end: 1.")
