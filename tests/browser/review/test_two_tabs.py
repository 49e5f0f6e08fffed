"""One review in two tabs: what the other tab stored is not replaced before the person has seen both."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Review, ReviewDraft, ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.browser.review.test_journey import JUDGE, commit, judge, press

GRADES = ("5", "5", "5", "5", "1", "1")


def two_tabs(page: Page, review_round: ReviewRound) -> Page:
    """Both at step 2 of the first question."""
    judge(page, review_round)
    other = page.context.new_page()

    other.goto(page.url)
    expect(other.locator(JUDGE)).to_be_visible()
    return other


def submit(page: Page, verdict: str, reasoning: str) -> None:
    press(page, *GRADES, verdict, "y")
    page.keyboard.type(reasoning)
    commit(page, "Control+Enter")


def rows_of_both(page: Page) -> list[str]:
    expect(page.locator("#both-dialog")).to_be_visible()
    return [re.sub(r"\s+", " ", row) for row in page.locator("#both-dialog tbody tr").all_inner_texts()]


@pytest.mark.parametrize("choice", ["Use what is on this page", "Use what is stored"])
def test_the_stale_tab_asks_which_review_counts(page: Page, review_round: ReviewRound, rita: User, choice: str) -> None:
    other = two_tabs(page, review_round)
    other.route("**/draft/", lambda route: route.abort())  # what it enters is known there alone
    submit(page, "v", "The newer one.")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    submit(other, "j", "The stale one.")
    assert rows_of_both(other) == [
        "Clinical reasoning The stale one. The newer one.",
        "Verdict reject revise",
    ]
    assert [review.verdict for review in Review.objects.all()] == ["revise"]
    other.unroute_all(behavior="ignoreErrors")
    other.get_by_role("button", name=choice).click()
    if choice == "Use what is stored":
        expect(other.locator("#reasoning")).to_have_value("The newer one.")
        expect(other.locator("#case-saving")).to_contain_text("submitted, version 1")
        assert Review.objects.count() == 1
    else:
        expect(other.locator(".case-place")).to_have_text("2 / 3")
        versions = assignments_of(rita, review_round)[0].reviews.order_by("version")
        assert [review.verdict for review in versions] == ["revise", "reject"]


def test_what_was_typed_in_a_stale_tab_is_there_after_a_reload(page: Page, review_round: ReviewRound) -> None:
    other = two_tabs(page, review_round)
    other.route("**/draft/", lambda route: route.abort())
    press(other, "t")
    other.keyboard.type("typed there")
    submit(page, "a", "")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    other.unroute_all(behavior="ignoreErrors")
    other.reload()
    assert "Comment typed there –" in rows_of_both(other)
    other.get_by_role("button", name="Decide later").click()
    expect(other.locator("#comment")).to_have_value("typed there")
    expect(other.locator("#case-saving")).to_have_text("not saved: something else is stored")


def test_a_draft_of_another_tab_is_not_replaced_unseen(page: Page, review_round: ReviewRound) -> None:
    other = two_tabs(page, review_round)
    press(page, "t")
    page.keyboard.type("of the first")
    expect(page.locator("#case-saving")).to_have_text("saved")
    press(other, "t")
    other.keyboard.type("o")
    assert rows_of_both(other) == ["Comment o of the first"]
    assert ReviewDraft.objects.get().data["comment"] == "of the first"
    other.reload()  # undecided: both are still there
    assert rows_of_both(other) == ["Comment o of the first"]
    other.get_by_role("button", name="Use what is on this page").click()
    expect(other.locator("#case-saving")).to_have_text("saved")
    assert ReviewDraft.objects.get().data["comment"] == "o"
    press(page, "x")
    page.keyboard.type("x")
    assert rows_of_both(page) == ["Comment of the firstxx o"]
    page.get_by_role("button", name="Use what is stored").click()
    expect(page.locator("#comment")).to_have_value("o")
