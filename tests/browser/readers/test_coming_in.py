"""Somebody new opens a link and comes to the first case; the coordinator sees them come without loading the page."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.models import Enrolment, ReaderStudy
from tests.browser.entering import Browse
from tests.browser.readerstudy.reading import agree_and_tell, read_letters
from tests.readerstudy.studies import make_study


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(rules=Rules(least_width=1200, least_height=700))


def test_from_the_link_to_the_first_case(browse: Browse, study: ReaderStudy, cora: User) -> None:
    issued = invite_reader(study, study.sets.get(), email="", name="Nina", actor=cora, at=timezone.now())
    page = browse(timezone_id="Europe/Berlin", viewport={"width": 1280, "height": 720})
    page.goto(f"/read/join/{issued.token}/")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    page.get_by_label("E-mail").fill("nina@example.org")
    for name in ("Password", "Repeat password"):
        page.get_by_label(name, exact=True).fill("another staple 77")
    page.get_by_role("button", name="Create account").click()
    agree_and_tell(page)
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


def test_the_table_of_the_coordinator_renews_itself(browse: Browse, study: ReaderStudy, cora: User, stan: User) -> None:
    page = browse(cora)
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
