"""A page that was left open learns by itself that its round closed, or that its question was given to somebody else."""

from __future__ import annotations

from datetime import UTC, datetime

from playwright.sync_api import Page, expect

from annotation.models import Assignment, ReviewDraft, ReviewRound, User
from annotation.review.ending import close_round
from annotation.review.reassigning import reassign
from tests.annotation.review.cases import assignments_of
from tests.browser.review.test_clock import has_told
from tests.browser.review.test_journey import BLIND, answer, is_shown, start

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def open_with_a_clock_to_move(page: Page, review_round: ReviewRound) -> None:
    page.clock.install()
    start(page, review_round)
    has_told(page, "painted")


def let_the_heartbeat_go(page: Page) -> None:
    with page.expect_response(lambda answer: answer.url.endswith("/events/") and answer.status == 409):
        page.clock.run_for(15_000)


def test_a_page_left_open_says_that_its_round_closed(page: Page, review_round: ReviewRound, rita: User) -> None:
    open_with_a_clock_to_move(page, review_round)
    close_round(review_round, actor=rita, at=NOON, confirmed_open=3)
    let_the_heartbeat_go(page)
    ended = page.locator("#case-ended")
    expect(ended).to_be_focused()
    expect(ended.get_by_role("heading")).to_have_text("The round is closed")
    expect(ended).to_contain_text("“Pilot” was closed on")
    expect(ended).to_contain_text("You submitted no reviews. 3 questions were not submitted")
    expect(page.locator(BLIND)).to_have_count(0)
    expect(page.get_by_role("button", name="Skip")).to_have_count(0)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.keyboard.press("k")
    page.clock.run_for(60_000)
    assert asked == []  # the clock stands still, and no key enters anything
    assert page.evaluate("sessionStorage.getItem('case-clock')") is None
    ended.get_by_role("link", name="Home page").click()
    expect(page).to_have_url("/")


def test_what_is_typed_after_the_round_closed_says_so_at_once(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    start(page, review_round)
    is_shown(page)
    answer(page, "2", "e")
    close_round(review_round, actor=rita, at=NOON, confirmed_open=3)
    page.keyboard.press("t")
    page.keyboard.type("too late")
    expect(page.locator("#case-ended")).to_contain_text("What you entered for this question was not submitted.")
    assert not ReviewDraft.objects.filter(data__comment="too late").exists()
    page.get_by_role("link", name="Read this question").click()
    expect(page.locator("#case-saving")).to_have_text("closed, read only")


def test_a_folded_panel_and_an_open_dialog_make_room(page: Page, review_round: ReviewRound, rita: User) -> None:
    open_with_a_clock_to_move(page, review_round)
    hiding = page.get_by_role("button", name="Hide question")
    expect(hiding).to_have_attribute("aria-pressed", "false")
    page.keyboard.press(",")
    expect(hiding).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Shift+P")
    close_round(review_round, actor=rita, at=NOON, confirmed_open=3)
    let_the_heartbeat_go(page)
    expect(page.locator("#case-ended")).to_be_visible()
    expect(page.locator("#pause-dialog")).to_be_hidden()
    page.goto(f"/review/{assignments_of(rita, review_round)[0].public_id}/")
    expect(page.locator("#content")).to_have_class("case case-folded")  # as this browser remembers it


def test_a_question_given_to_somebody_else_says_so(
    page: Page, review_round: ReviewRound, rita: User, remo: User
) -> None:
    open_with_a_clock_to_move(page, review_round)
    first = assignments_of(rita, review_round)[0]
    reassign(review_round, [first.public_id], to=remo, actor=rita, at=NOON)
    let_the_heartbeat_go(page)
    ended = page.locator("#case-ended")
    expect(ended.get_by_role("heading")).to_have_text("This question is no longer on your list")
    expect(ended).to_contain_text("The coordinators reassigned it to another reviewer.")
    expect(ended.get_by_role("link", name="Home page")).to_be_visible()
    ended.get_by_role("link", name="Continue with 2 questions").click()
    expect(page.locator(BLIND)).to_be_visible()
    assert Assignment.objects.filter(reviewer=rita, opened_at__isnull=False).count() == 2
