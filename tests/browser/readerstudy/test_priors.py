"""A reader's case with a prior exam: whole in one frame, labelled, away and back by a key."""

from __future__ import annotations

from playwright.sync_api import expect

from annotation.models import Exam, User
from readerstudy.models import Response, TimingEvent
from tests.annotation.review.priors import give_prior
from tests.browser.readerstudy.reading import Device, answers_of
from tests.readerstudy.studies import enrol, make_study

PRIORS = ".viewer-prior:visible"


def test_a_case_with_a_prior_is_read(transactional_db: None, device: Device, rita: User) -> None:
    study = make_study(n_cases=2, pixels=True, give_images=lambda: give_prior(Exam.objects.get(questions__number=1)))
    enrolment = enrol(study, rita)
    device.opens(enrolment)
    page = device.page
    expect(page.locator(PRIORS)).to_have_count(2)
    expect(page.locator(f"{PRIORS} .viewer-tag-position")).to_have_text(["Prior · AP", "Prior · lateral"])
    device.press("2", ";")
    expect(page.locator(PRIORS)).to_have_count(0)
    expect(page.locator(".viewer-pane:visible")).to_have_count(2)
    device.has_chosen("B")
    device.press(";")
    expect(page.locator(PRIORS)).to_have_count(2)
    device.press(";")
    device.commits()
    device.sees(2)
    expect(page.locator(".viewer-pane:visible")).to_have_count(2)
    expect(page.get_by_role("button", name="Prior", exact=True)).to_have_count(0)
    device.says("saved")
    assert answers_of(enrolment) == ["B"]
    [painted] = TimingEvent.objects.filter(reading__position=1, kind="painted").values_list("details", flat=True)
    assert len(painted["views"]) == 4
    viewport = Response.objects.get(is_confirmed=True).viewport
    assert viewport is not None
    assert (viewport["prior"], len(viewport["views"])) == ("away", 4)
