"""What a round decides about its images: hidden tools, the smallest window; and a case keeps how it was left."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from annotation.models import BlindAnswer, ReviewEvent, ReviewRound, User
from annotation.review.viewing import newest_check, pattern_now
from tests.annotation.review.cases import assignments_of
from tests.browser.readerstudy.reading import move_to_another_screen, type_letters
from tests.browser.review.test_journey import BLIND, JUDGE, answer, commit, press, start

FIRST_WINDOW = ".viewer-pane:first-child .viewer-tag-window"


def test_hidden_tools_have_neither_button_nor_key_nor_line_in_the_help(page: Page, review_round: ReviewRound) -> None:
    ReviewRound.objects.update(hidden_tools=["line", "ratio", "layout"])
    start(page, review_round)
    expect(page.locator(FIRST_WINDOW)).not_to_be_empty()
    expect(page.get_by_role("button", name="Full screen")).to_be_visible()
    expect(page.get_by_role("button", name="CTR")).to_have_count(0)
    press(page, ".", "p", "l")
    expect(page.locator(".viewer-pane:visible")).to_have_count(2)
    press(page, "?")
    keys = page.locator("#keys-dialog")
    expect(keys.get_by_text("full screen; answer keys keep working")).to_be_visible()
    for words in ("show this view alone, and back", "cardiothoracic ratio", "remove a measurement"):
        expect(keys.get_by_text(words)).to_be_hidden()


def test_the_toolbar_has_room_beside_the_question_and_nothing_in_it_moves(
    page: Page, review_round: ReviewRound
) -> None:
    """At 1366 pixels no word is shortened, whatever the buttons say, and each keeps its place."""
    start(page, review_round)
    layout, drag = page.locator(".viewer-button-layout"), page.locator(".viewer-button-drag")
    places = []
    for view_words, drag_words in (("All views", "Left drag: pan"), ("1 of 2", "Left drag: window")):
        expect(layout).to_have_text(view_words)
        expect(drag).to_have_text(drag_words)
        buttons = page.locator(".viewer-toolbar > .viewer-button:visible")
        assert buttons.evaluate_all("all => all.filter((b) => b.scrollWidth > b.clientWidth).length") == 0
        places.append(buttons.evaluate_all("all => all.map((b) => [b.offsetLeft, b.offsetTop])"))
        press(page, "p")
        drag.click()
    assert places[0] == places[1]
    assert len({top for _left, top in places[0]}) == 1


def test_the_question_stands_on_the_side_that_was_chosen(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    page.get_by_role("button", name="⚙").click()
    page.locator(".viewer-settings").get_by_label("Question").select_option("left")
    page.reload()
    question, images = (page.locator(one).bounding_box() for one in (".case-panel", ".viewer"))
    assert question is not None
    assert images is not None
    assert question["x"] + question["width"] <= images["x"] + 1


def test_full_screen_ends_where_the_answer_begins(page: Page, review_round: ReviewRound) -> None:
    """No gap between the two through which the page behind shows, and the button at the end of the line."""
    start(page, review_round)
    press(page, "f")
    viewer, strip, button = (page.locator(one).bounding_box() for one in (".viewer", ".case-foot", "#case-go"))
    assert viewer is not None
    assert strip is not None
    assert button is not None
    assert 0 <= viewer["y"] + viewer["height"] - strip["y"] < 1
    assert button["x"] + button["width"] > strip["x"] + strip["width"] - 30


def test_nothing_shows_in_a_window_that_is_too_small(page: Page, review_round: ReviewRound) -> None:
    ReviewRound.objects.update(least_width=1280, least_height=700)
    page.set_viewport_size({"width": 1000, "height": 700})
    page.goto(f"/review/rounds/{review_round.slug}/continue/")
    small = page.locator("#case-small")
    expect(small).to_contain_text("at least 1280 × 700 pixels. Yours has 1000 × 700.")
    expect(page.locator("#stem")).to_be_hidden()
    expect(page.locator(".viewer-canvas").first).to_be_hidden()
    press(page, "2", "e", "Enter", "?")
    expect(page.locator("#keys-dialog")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 700})
    expect(small).to_be_hidden()
    expect(page.locator(BLIND)).to_be_visible()
    expect(page.locator("#case-form input:checked")).to_have_count(0)
    assert not BlindAnswer.objects.exists()
    press(page, "2", "e")
    page.set_viewport_size({"width": 1280, "height": 699})
    expect(small).to_be_visible()
    page.set_viewport_size({"width": 1366, "height": 768})
    expect(small).to_be_hidden()  # the page hears of its size a moment later
    expect(page.locator("#case-form input:checked")).to_have_count(2)
    answer(page)
    told = ReviewEvent.objects.filter(kind__in=["hidden", "visible", "painted", "submitted"]).order_by("sequence")
    assert [event.kind for event in told] == ["hidden", "visible", "painted", "hidden", "visible", "submitted"]


def test_a_case_comes_back_as_it_was_left(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    window = page.locator(FIRST_WINDOW)
    expect(window).to_have_text("L 128 · W 256")
    answer(page, "2", "e")
    press(page, "Shift+Digit4")
    expect(window).not_to_have_text("L 128 · W 256")
    changed = window.inner_text()
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    press(page, "5", "5", "5", "5", "1", "1", "a")
    commit(page)
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    expect(window).to_have_text("L 128 · W 256")
    page.go_back()
    expect(page).to_have_url(re.compile(assignments_of(rita, review_round)[0].public_id))
    expect(page.locator(".case-place")).to_have_text("1 / 3")
    expect(window).to_have_text(changed)


COLOURS = "() => [...document.querySelectorAll('.case-option')].map((one) => getComputedStyle(one).backgroundColor)"


def test_forced_colours_show_what_is_chosen(page: Page, review_round: ReviewRound) -> None:
    page.emulate_media(forced_colors="active")
    start(page, review_round)
    press(page, "2")
    a, b, *rest = page.evaluate(COLOURS)
    assert {a, *rest} == {a}
    assert b != a
    pressed, other = (page.get_by_role("button", name=name, exact=True) for name in ("Fit", "Invert"))
    ground = "(one) => getComputedStyle(one).backgroundColor"
    assert pressed.evaluate(ground) != other.evaluate(ground)


CUT = """(choices) => [...document.querySelectorAll(choices)]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
    .map((one) => one.textContent.trim())"""


def test_a_laptop_at_twice_the_size_is_not_too_small(page: Page, review_round: ReviewRound) -> None:
    page.set_viewport_size({"width": 683, "height": 384})
    start(page, review_round)
    expect(page.locator("#case-small")).to_be_hidden()
    expect(page.locator("#stem")).to_be_in_viewport()
    expect(page.locator("#case-go")).to_be_in_viewport(ratio=1)
    answer(page, "3", "e")  # not the key: the row with the longest words is asked, too
    assert page.evaluate(CUT, ".case-seg label > span") == []
    expect(page.locator("#case-go")).to_be_in_viewport(ratio=1)


SMALL = """() => [...document.querySelectorAll("button, label, summary")].filter((one) => one.checkVisibility())
    .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
    .filter(([, { width, height }]) => width && (width < 24 || height < 24)).map(([text]) => text)"""


def test_targets_are_large_and_the_whole_judgement_is_in_sight(page: Page, review_round: ReviewRound) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    start(page, review_round)
    assert page.evaluate(SMALL) == []
    answer(page, "3", "e")
    assert page.evaluate(SMALL) == []
    assert (
        page.evaluate(
            "() => { const s = document.querySelector('.case-scroll'); return s.scrollHeight - s.clientHeight; }"
        )
        == 0
    )
    expect(page.locator("#case-go")).to_contain_text("9 open")


def test_a_round_that_asks_has_the_display_checked_first_and_on_another_screen(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    def read() -> None:
        type_letters(page, pattern_now(review_round, rita, newest_check(review_round, rita)))

    ReviewRound.objects.update(display_check=True)
    page.goto(f"/review/rounds/{review_round.slug}/continue/")
    expect(page).to_have_url(re.compile("/display/$"))
    read()
    expect(page.locator(BLIND)).to_be_visible()
    page.wait_for_load_state()  # keys are heard once its scripts are there
    press(page, "2", "e")
    move_to_another_screen(page)
    expect(page.locator("#case-display")).to_be_visible()
    expect(page.locator(BLIND)).to_be_hidden()
    read()
    expect(page.locator(BLIND)).to_be_visible()
    expect(page.locator("#case-form input:checked")).to_have_count(2)
    press(page, "Enter")
    expect(page.locator(JUDGE)).to_be_visible()
    told = ReviewEvent.objects.filter(kind__in=["hidden", "visible", "submitted"]).order_by("sequence")
    assert [event.kind for event in told] == ["hidden", "visible", "submitted"]
    assert newest_check(review_round, rita)["screen_width"] == 2560
