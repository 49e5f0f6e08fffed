"""Somebody new opens a link and comes to the first case; the coordinator sees them come without loading the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.models import Enrolment, ReaderStudy
from tests.browser.entering import give_session
from tests.browser.readerstudy.reading import read_letters
from tests.browser.server import leave
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def context(browser: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        base_url=live_server.url, timezone_id="Europe/Berlin", viewport={"width": 1280, "height": 720}
    )
    yield opened
    leave(opened, live_server)


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(rules=Rules(least_width=1200, least_height=700))


def test_from_the_link_to_the_first_case(context: BrowserContext, study: ReaderStudy, cora: User) -> None:
    issued = invite_reader(study, study.sets.get(), email="", name="Nina", actor=cora, at=timezone.now())
    page = context.new_page()
    page.goto(f"/read/join/{issued.token}/")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    page.get_by_label("E-mail").fill("nina@example.org")
    for name in ("Password", "Repeat password"):
        page.get_by_label(name, exact=True).fill("another staple 77")
    page.get_by_role("button", name="Create account").click()
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Agree").click()
    page.get_by_label("radiologist in training").check()
    page.get_by_label("Years of experience").fill("4")
    page.get_by_label("no", exact=True).check()
    page.get_by_label("Chest radiographs that you read").fill("60")
    page.get_by_label("office monitor").check()
    page.get_by_label("no, not that I know of").check()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="I have read this").click()
    expect(page.get_by_text("Your window shows 1280 × 720 pixels.")).to_be_visible()
    page.set_viewport_size({"width": 1100, "height": 720})
    read_letters(page, Enrolment.objects.get())
    expect(page.get_by_role("alert")).to_contain_text("Your window shows 1100 × 720 pixels")
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("3 cases to read.")).to_be_visible()
    expect(page.get_by_role("link", name="Start")).to_have_attribute("href", "/read/trial/room/")
    enrolment = Enrolment.objects.get()
    assert (enrolment.display["width"], enrolment.display["height"], enrolment.display["pixel_ratio"]) == (1280, 720, 1)


def test_the_table_of_the_coordinator_renews_itself(
    context: BrowserContext, live_server: LiveServer, study: ReaderStudy, cora: User, stan: User
) -> None:
    give_session(context, cora, live_server.url)
    page = context.new_page()
    page.clock.install()
    page.goto("/studies/trial/watch/")
    expect(page.get_by_text("Nobody has joined yet.")).to_be_visible()
    page.evaluate("() => { window.same = true; }")
    Enrolment.objects.create(
        study=study, reader=stan, case_set=study.sets.get(), pseudonym="R1", enrolled_at=timezone.now()
    )
    page.clock.run_for(16_000)
    expect(page.get_by_role("link", name="R1")).to_be_visible()
    assert page.evaluate("() => window.same")
