"""No key changes an answer by accident."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from annotation.models import ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.browser.review.test_journey import answer, checked, commit, press, start, submit

ARROWS = ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp")
HAS_FOCUS = """() => {
    const { activeElement } = document;
    return activeElement.closest(".viewer-view")?.getAttribute("aria-label") ?? activeElement.id;
}"""


def test_arrows_are_for_the_images_and_nothing_is_graded_unseen(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    page.locator("[name=best][value=B]").focus()
    press(page, "b")
    assert page.evaluate(HAS_FOCUS) == ""
    press(page, "ArrowRight")
    assert page.evaluate(HAS_FOCUS) == "Image 2: lateral"
    for arrow in ARROWS:
        page.locator("[name=best][value=B]").focus()
        press(page, arrow)
        assert checked(page) == {"best": ["B"]}
    press(page, "e")
    commit(page)
    expect(page.locator("[data-field=clinical_quality][data-marked]")).to_be_visible()
    assert page.evaluate(HAS_FOCUS) == "stem"
    press(page, *ARROWS, "f")
    expect(page.locator(".viewer-wide")).to_be_attached()
    press(page, "1", "x", "1", "-")
    assert checked(page) == {}
    expect(page.locator("#case-message")).to_contain_text("not on screen")
    press(page, "a", "f", "4")
    assert checked(page) == {"verdict": ["accept"], "clinical_quality": ["4"]}


def test_a_change_says_that_it_is_not_submitted_and_keys_stop_the_clock(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    start(page, review_round)
    first = page.url
    answer(page, "2", "e")
    submit(page, then=2)
    press(page, "k")
    page.keyboard.type("image missing")
    press(page, "Enter")
    expect(page.locator(".case-place")).to_have_text("3 / 3")
    press(page, "k")
    expect(page.locator("#skip-reason")).to_have_value("")
    press(page, "Escape", "?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    expect(page.locator(".viewer-stage")).to_be_hidden()
    told = page.evaluate("() => JSON.parse(sessionStorage.getItem('case-clock')).at(-1).events.at(-1).kind")
    assert told == "hidden"
    press(page, "Escape")
    expect(page.locator(".viewer-stage")).to_be_visible()
    page.goto(first)
    press(page, "v")
    expect(page.locator("#case-saving")).to_have_text("changed, not submitted")
    page.goto(f"/review/rounds/{review_round.slug}/")
    expect(page.locator("tbody tr").first).to_contain_text("changed, not submitted")
    page.goto(first)
    expect(page.locator("#case-saving")).to_have_text("changed, not submitted")
    assert assignments_of(rita, review_round)[0].reviews.count() == 1


def double_click(page: Page, option: int) -> None:
    page.locator("#case-form .case-option-best").nth(option).dblclick()


def test_a_double_click_submits_where_the_round_says_so(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    press(page, "e")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    double_click(page, 1)
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    assert checked(page) == {"best": ["B"], "difficulty": ["easy"]}
    press(page, "?")
    expect(page.locator("#keys-dialog")).not_to_contain_text("double-click", use_inner_text=True)

    ReviewRound.objects.update(double_click=True)
    page.reload()
    expect(page.locator("#case-form[data-step=blind]")).to_be_visible()
    press(page, "?")
    expect(page.locator("#keys-dialog")).to_contain_text("double-click", use_inner_text=True)
    press(page, "Escape")
    expect(page.locator("#stem")).to_be_visible()
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    option, other = (page.locator("#case-form .case-option-best").nth(n) for n in (0, 1))
    option.click(click_count=1)
    other.click(click_count=1)  # two clicks on two options choose the second one, and submit nothing
    assert checked(page) == {"best": ["B"], "difficulty": ["easy"]}
    double_click(page, 2)
    expect(page.locator("#case-form[data-step=judge]")).to_be_visible()
    assert assignments_of(rita, review_round)[0].blind_answer.best == "C"


def test_a_blind_answer_can_be_called_an_input_error(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    press(page, "2", "Shift+E")  # nothing is answered yet, and Shift+E is not "easy"
    assert checked(page) == {"best": ["B"]}
    answer(page, "e")
    press(page, "1", "Shift+E")
    expect(page.get_by_role("button", name="B Pneumothorax")).to_be_disabled()
    page.get_by_role("button", name="C Visible ribs").press("Enter")
    expect(page.locator("#case-meant")).to_have_text("meant: C")
    assert checked(page)["clinical_quality"] == ["1"]
    stored = assignments_of(rita, review_round)[0].blind_answer
    assert (stored.best, stored.meant) == ("B", "C")
    page.reload()
    expect(page.locator("#case-meant")).to_have_text("meant: C")
