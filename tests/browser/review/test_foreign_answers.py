"""Something else answers in place of the site: nothing counts as saved, nothing is gone, and later it all arrives."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.models import BlindAnswer, Review, ReviewDraft, ReviewRound
from tests.browser.foreign import ANSWERS, Line, answer_always
from tests.browser.review.test_journey import BLIND, answer, checked, commit, press, start

CHOSEN = {"best": ["B"], "difficulty": ["easy"]}
TRYING = "not saved, trying again"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_foreign_answer_saves_nothing_and_loses_nothing(page: Page, review_round: ReviewRound, name: str) -> None:
    start(page, review_round)
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    answer_always(page, name)
    press(page, "2", "e")
    expect(page.locator("#case-saving")).to_have_text(TRYING)
    commit(page)
    expect(page.locator("#case-form")).to_have_css("opacity", "0.4")  # held until it is stored
    expect(page.locator("#case-saving")).to_have_text(TRYING)
    assert checked(page) == CHOSEN
    assert not BlindAnswer.objects.exists()
    page.reload()
    expect(page.locator(BLIND)).to_be_visible()
    assert checked(page) == CHOSEN
    page.unroute_all(behavior="ignoreErrors")
    expect(page.locator("#case-saving")).to_have_text("saved")
    assert ReviewDraft.objects.get().data == {"best": "B", "difficulty": "easy"}


def test_every_answer_at_every_step_of_a_review(page: Page, review_round: ReviewRound) -> None:
    line = Line(page.context)
    start(page, review_round)
    press(page, "2", "e")
    expect(page.locator("#case-saving")).to_have_text("saved")
    answer(page)
    press(page, "5", "5", "5", "5", "1", "1", "o")
    expect(page.locator("#case-report")).to_contain_text("FINDINGS-WORDS")
    press(page, "t")
    page.keyboard.type("kept")
    expect(page.locator("#case-saving")).to_have_text("saved")
    press(page, "Escape", "a")
    commit(page)
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    press(page, "k")
    page.keyboard.type("later")
    press(page, "Enter")
    expect(page.locator(".case-place")).to_have_text("3 / 3")
    page.unroute_all(behavior="ignoreErrors")
    page.context.unroute_all(behavior="ignoreErrors")
    assert set(line.stored()) >= {"answer", "draft", "events", "report", "skip", "submit"}
    assert (line.stored()["answer"], line.stored()["submit"], line.stored()["skip"]) == (1, 1, 1)
    [review] = Review.objects.all()
    assert (review.verdict, review.comment) == ("accept", "kept")
