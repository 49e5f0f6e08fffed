"""A translated page shows another question than the one that is reviewed: it says so, and the review carries it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from annotation.exports.reviews import columns_of_reviews, review_rows
from annotation.models import BlindAnswer, Review, ReviewRound
from tests.browser.review.test_journey import answer, press, start
from tests.browser.translating import IN_PLACE, is_told, is_untouched, translate, translate_all_the_same

FLAG = "translated"


def judge(page: Page, place: str) -> None:
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    expect(page.locator(".case-place")).to_have_text(place)


def test_a_translator_that_heeds_the_page_changes_nothing(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    translate(page)
    is_untouched(page)
    answer(page, "2", "e")
    translate(page)
    is_untouched(page)
    judge(page, "2 / 3")
    assert FLAG not in BlindAnswer.objects.get().time_flags + Review.objects.get().time_flags


def test_one_that_does_not_is_told_to_the_reviewer_and_noted_with_the_review(
    page: Page, review_round: ReviewRound
) -> None:
    start(page, review_round)
    translate_all_the_same(page)
    is_told(page)
    answer(page, "2", "e")
    is_told(page)
    judge(page, "2 / 3")
    is_told(page)  # it stays, until the page is loaded again
    answer(page, "2", "e")
    judge(page, "3 / 3")
    answer(page, "2", "e")
    page.evaluate(IN_PLACE)
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    page.wait_for_url(f"**/review/rounds/{review_round.slug}/")
    names = [column.name for column in columns_of_reviews(review_round, source_ids=False)]
    rows = [dict(zip(names, row, strict=True)) for row in review_rows(review_round)]
    carried = [(FLAG in str(row["blind_time_flags"]), FLAG in str(row["time_flags"])) for row in rows]
    assert carried == [(True, True), (False, False), (False, True)], "a review carries that its question was translated"
