"""A whole study in Chromium: designed, frozen, two readers invited, read under faults, closed, exported."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.enums import QuestionState
from annotation.models import Assignment, Image, QuestionBank, Review, User
from readerstudy.models import Enrolment
from tests.annotation.review.cases import NOON, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels
from tests.browser.entering import Browse
from tests.browser.journeys.steps import close_study, confirm
from tests.browser.readerstudy.reading import KEPT, Device, agree_and_tell, read_letters

N_CASES = 20
MOST_APART_MS = 50  # the stored time of a case, and what was seen beside the page; where its own frame was longer, that
WATCH = Path(__file__).with_name("watch.js")
Watched = dict[str, dict[str, float]]


@pytest.fixture
def bank(transactional_db: None, rita: User) -> QuestionBank:
    """Twenty-two questions of as many exams, all accepted by Rita."""
    review_round = make_round(rita, n_questions=N_CASES + 2, name="Pilot")
    for assignment in Assignment.objects.filter(round=review_round):
        grades = dict(good_judgement().grades)
        Review.objects.create(assignment=assignment, grades=grades, verdict="accept", submitted_at=NOON)
    review_round.plan.bank.questions.update(state=QuestionState.ACCEPTED)
    for seed, image in enumerate(Image.objects.order_by("pk")):
        give_pixels(image, seed=seed)
    return review_round.plan.bank


@pytest.mark.journey
def test_two_readers_from_the_design_to_the_export(
    browse: Browse, bank: QuestionBank, cora: User, remo: User, stan: User
) -> None:
    cora_page = browse(cora)
    design(cora_page)
    links = [invite(cora_page, name) for name in ("Remo", "Stan")]

    first, second = browse(remo), browse(stan)
    watched: dict[str, Watched] = {}
    for page, link in ((first, links[0]), (second, links[1])):
        page.add_init_script(path=WATCH)
        come_in(page, link)
    names = [Enrolment.objects.get(reader=person).pseudonym for person in (remo, stan)]  # drawn
    watched[names[0]] = read_with_the_network_gone_for_five(first, remo)
    watched[names[1]] = read_on_two_devices(second, browse, stan)

    expect_progress(cora_page)
    close_study(cora_page, "journey")
    rows = export(cora_page)
    assert len(rows) == 2 * N_CASES
    assert {row["state"] for row in rows} == {"answered"}
    gaps = {
        (row["reader"], row["position"]): (abs(float(row["active_ms"]) - (span["to"] - span["from"])), span["frame"])
        for row in rows
        if "to" in (span := watched[row["reader"]].get(row["position"], {})) and "reloaded" not in row["time_flags"]
    }
    every = {(reader, str(position)) for reader in watched for position in range(1, N_CASES + 1)}
    assert every - gaps.keys() == {(names[1], "10")}
    assert {where: (gap, frame) for where, (gap, frame) in gaps.items() if gap > max(MOST_APART_MS, frame)} == {}


# --- the coordinator ------------------------------------------------------------------------------
def design(page: Page) -> None:
    page.goto("/studies/")
    page.get_by_role("link", name="New study").click()
    page.fill("[name=name]", "Journey")
    page.select_option("[name=bank]", label="Bank of Pilot")
    with page.expect_navigation():
        page.get_by_role("button", name="Create draft").click()
    page.goto("/studies/journey/cases/")
    page.fill("[name=n]", str(N_CASES))
    page.fill("[name=n_practice]", "1")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name=re.compile("^Store th")).click()
    page.get_by_role("link", name="Go on to the arms").click()
    page.get_by_role("button", name="Store and go on to the rules").click()
    page.fill("[name=n_ready]", "6")
    page.fill("[name=quiet_ms]", "0")  # keys are struck here before anybody could have looked
    page.fill("[name=instructions]", "Choose one option.")
    page.fill("[name=consent]", "You agree to take part.")
    page.fill("[name=contact]", "cora@example.org")
    page.get_by_role("button", name="Store and go on to the readers").click()
    page.fill("[name=n_readers]", "2")
    with page.expect_navigation():
        page.get_by_role("button", name="Store and go on to the dry run").click()
    page.goto("/studies/journey/freeze/")
    expect(page.get_by_text("Nothing. The design can be frozen.")).to_be_visible()
    page.get_by_role("button", name="Freeze the design").click()
    confirm(page)
    page.goto("/studies/journey/")
    page.get_by_role("button", name=re.compile("^Open")).click()
    confirm(page)
    page.goto("/studies/journey/")
    expect(page.locator("main .tag").first).to_have_text("open")


def invite(page: Page, name: str) -> str:
    page.goto("/studies/journey/invite/")
    page.fill("[name=name]", name)
    page.get_by_role("button", name="Make the link").click()
    link = page.locator("#one-time-link").input_value()
    return "/" + link.split("/", 3)[3]


def expect_progress(page: Page) -> None:
    page.goto("/studies/journey/watch/")
    for pseudonym in ("R1", "R2"):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=pseudonym))
        expect(row).to_contain_text(f"{N_CASES} / {N_CASES}")


def export(page: Page) -> list[dict[str, str]]:
    """The main block, as the coordinator's CSV has it."""
    page.get_by_role("navigation", name="Study").get_by_role("link", name="Data").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="responses: CSV").click()
    rows = csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8")))
    return [row for row in rows if row["block"] == "main"]


# --- the readers ----------------------------------------------------------------------------------
def come_in(page: Page, link: str) -> None:
    """From the link to the first main case: every step that a reader goes through."""
    page.goto(link)
    page.locator("main form button.primary").first.click()
    agree_and_tell(page)
    expect(page.get_by_text("Your window shows")).to_be_visible()
    read_letters(page, Enrolment.objects.latest("pk"))
    page.locator("main a.primary").click()
    device = Device(page)
    device.sees(1)
    device.answers("2")
    expect(page.locator("#case-hint")).to_have_text("Enter: continue")
    page.locator("#case-go").click(delay=500)  # a second Enter at once would be taken for the same one
    device.is_covered("begin")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#room-practice")).to_be_hidden()
    device.sees(1)


def watched_on(page: Page) -> Watched:
    found: Watched = page.evaluate("() => JSON.parse(sessionStorage.getItem('watched') ?? '{}')")
    return found


def read_with_the_network_gone_for_five(page: Page, person: User) -> Watched:
    device = Device(page)
    for position in range(1, 6):
        device.stores("1", then=position + 1)
    device.is_ready(Enrolment.objects.get(reader=person))
    device.cut()
    for position in range(6, 11):
        device.answers("2", then=position + 1)
    device.says(KEPT)
    device.mend()
    device.says("saved")
    for position in range(11, N_CASES):
        device.answers("3", then=position + 1)
    device.answers("4")
    expect(page).not_to_have_url(re.compile("/room/"))
    return watched_on(page)


def read_on_two_devices(page: Page, browse: Browse, person: User) -> Watched:
    device = Device(page)
    for position in range(1, 10):
        device.answers("1", then=position + 1)
    device.press("2")
    device.says("saved")
    watched = {place: span for place, span in watched_on(page).items() if "to" in span}  # not the one under way
    other = Device(browse(person))
    other.page.add_init_script(path=WATCH)
    other.enter(Enrolment.objects.get(reader=person))
    other.is_covered("elsewhere")
    other.press("Enter")
    other.sees(10)
    other.has_chosen("B")
    other.commits()
    other.sees(11)
    for position in range(11, N_CASES):
        other.answers("2", then=position + 1)
    other.answers("3")
    expect(other.page).not_to_have_url(re.compile("/room/"))
    seen = watched_on(other.page)
    del seen["10"]  # begun on one device and answered on another: nothing beside one page saw all of it
    return {**seen, **watched}
