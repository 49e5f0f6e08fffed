"""What holds in Chromium holds in Firefox: a reviewer's whole way, both steps on a small screen, every grey."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from annotation.models import ReviewRound, User
from tests.browser.review import test_foreign_answers as foreign
from tests.browser.review import test_journey as journeys
from tests.browser.viewer import test_pixels as pixels
from tests.browser.viewer.conftest import SIZE, Looker
from tests.browser.viewer.stage import Stage

pytestmark = pytest.mark.firefox

FULL_DEPTH = """async () => {
  const painted = () => performance.getEntriesByType("mark").filter((m) => /^view . full$/.test(m.name)).length;
  while (painted() < 2) await new Promise(requestAnimationFrame);
  const greys = (c) => new Set(c.getContext("2d").getImageData(0, 0, c.width, c.height).data).size;
  return [...document.querySelectorAll(".viewer-canvas")].slice(0, 2).map(greys);
}"""


@pytest.fixture
def look(browser: Browser, stage: Stage) -> Iterator[Looker]:
    context = browser.new_context(viewport=SIZE, device_scale_factor=1)
    yield Looker(context.new_page(), stage)
    context.close()


def test_it_is_firefox(page: Page, review_round: ReviewRound) -> None:
    """The images of a case come compressed, are decoded by the worker and painted; the window key repaints them."""
    journeys.start(page, review_round)
    assert "Firefox" in page.evaluate("() => navigator.userAgent")
    assert min(page.evaluate(FULL_DEPTH)) > 50
    page.keyboard.press("Shift+Digit2")
    expect(page.get_by_role("button", name="Lungs")).to_have_attribute("aria-pressed", "true")


def test_three_questions_by_keyboard_only(page: Page, review_round: ReviewRound, rita: User) -> None:
    journeys.test_three_questions_by_keyboard_only(page, review_round, rita)


def test_both_steps_fit_without_scrolling(page: Page, review_round: ReviewRound) -> None:
    journeys.test_both_steps_fit_without_scrolling(page, review_round, (1366, 768))


def test_every_foreign_answer_at_every_step(page: Page, review_round: ReviewRound) -> None:
    foreign.test_every_answer_at_every_step_of_a_review(page, review_round)


def test_greys_of_the_window_and_of_the_scanner_s_table(look: Looker, stage: Stage) -> None:
    pixels.test_window_functions_of_12_bits(look, stage, "canvas2d", "LINEAR")
    pixels.test_voi_table_goes_before_a_window(look, stage, "canvas2d")
    pixels.test_16_bits_signed_with_slope_and_intercept(look, stage, "canvas2d")
