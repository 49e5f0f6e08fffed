"""A reviewer's way through a round in Chromium, by keyboard only."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.enums import GradeName, ImageState, ViewPosition
from annotation.models import Image, Review, ReviewRound, User
from annotation.review.kernels.form_design import PAPER
from tests.annotation.review.cases import SECRETS, assignments_of

BLIND = "#case-form[data-step=blind]"
JUDGE = "#case-form[data-step=judge]"
JUDGED = ("5", "5", "5", "5", "1", "1", "a")
GOOD = {name: 4 if name == GradeName.EXPLANATION_CLARITY else 5 for name in PAPER.grades}


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def start(page: Page, review_round: ReviewRound) -> None:
    page.goto(f"/review/rounds/{review_round.slug}/continue/")
    expect(page.locator(BLIND)).to_be_visible()


def checked(page: Page) -> dict[str, list[str]]:
    found: dict[str, list[str]] = page.evaluate(
        "() => [...document.querySelectorAll('#case-form input:checked')].reduce("
        "(all, i) => ({...all, [i.name]: [...(all[i.name] ?? []), i.value]}), {})"
    )
    return found


def commit(page: Page, key: str = "Enter") -> None:
    """As soon as it can be: everything is chosen, and every image is on screen."""
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    press(page, key)


def answer(page: Page, *keys: str) -> None:
    press(page, *keys)
    commit(page)
    expect(page.locator(JUDGE)).to_be_visible()


def judge(page: Page, review_round: ReviewRound) -> None:
    """At step 2 of the first case, with the right answer."""
    start(page, review_round)
    answer(page, "2", "e")


def is_shown(page: Page) -> None:
    """Question and images stand on screen at full depth."""
    page.wait_for_function("() => performance.getEntriesByName('case shown').length")


def submit(page: Page, *, then: int = 0) -> None:
    """A judgement without a fault; then the case of this place."""
    press(page, *JUDGED)
    commit(page)
    if then:
        expect(page.locator(".case-place")).to_have_text(f"{then} / 3")


@pytest.mark.journey
def test_three_questions_by_keyboard_only(page: Page, review_round: ReviewRound, rita: User) -> None:
    bodies: list[str] = []
    page.on("response", lambda r: bodies.append(r.text()) if "/review/" in r.url and r.ok and r.status == 200 else None)
    start(page, review_round)
    assert not any(SECRETS["explanation"] in body for body in bodies)
    assert checked(page) == {}

    # 1: the answer is the key, everything is fine
    answer(page, "2", "e")
    expect(page.locator(".case-explanation")).to_contain_text(SECRETS["explanation"])
    press(page, *map(str, GOOD.values()), "1", "1", "a", "Enter")
    expect(page.locator(BLIND)).to_be_visible()
    expect(page.locator(".case-place")).to_have_text("2 / 3")

    # 2: by letters; two are defensible; a low grade, a flag, the report, reasoning
    answer(page, "a", "x", "2", "h")
    expect(page.locator("#label-disagreement")).to_have_text("You: A, key: B")
    press(page, "1", "a", "Enter")  # a wrong key is not accepted
    press(page, "ArrowUp", "3", "3", "-", "4", "2", "2", "3", "o")
    expect(page.locator("#case-report")).to_contain_text("FINDINGS-WORDS")
    press(page, "x", "2", "v", "y")
    page.keyboard.type("Both are absent: 1 and 2.")
    press(page, "Escape", "c")
    page.keyboard.type("Pleura")
    press(page, "Escape", "Enter")
    expect(page.locator(".case-place")).to_have_text("3 / 3")

    # 3: nothing is defensible
    answer(page, "0", "m")
    press(page, "1", "5", "5", "5", "5", "1", "1", "j", "t")
    page.keyboard.type("no option fits")
    press(page, "Escape", "y")
    page.keyboard.type("All four are visible.")
    press(page, "Control+Enter")
    expect(page).to_have_url(re.compile(rf"/review/rounds/{review_round.slug}/$"))

    first, second, third = Review.objects.order_by("submitted_at")
    assert (first.verdict, first.flags) == ("accept", [])
    assert first.grades == GOOD
    assert (second.verdict, second.flags) == ("revise", ["several_valid", "hallucinated"])
    assert (second.grades["clinical_quality"], second.grades["factual_correctness"]) == (3, "cannot_judge")
    assert (second.needs_image, second.relevant, second.category) == ("partly", "no", "Pleura")
    assert second.reasoning == "Both are absent: 1 and 2."
    assert (third.verdict, third.flags, third.comment) == ("reject", ["no_valid_option"], "no option fits")
    assert assignments_of(rita, review_round)[2].blind_answer.best == ""


@pytest.mark.parametrize("size", [(1366, 768), (1920, 1080)])
def test_both_steps_fit_without_scrolling(page: Page, review_round: ReviewRound, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    start(page, review_round)
    hidden = "() => { const s = document.querySelector('.case-scroll'); return s.scrollHeight - s.clientHeight }"
    assert page.evaluate(hidden) == 0
    answer(page, "3", "x", "4", "e")  # not the key: one more row is asked
    page.evaluate("words => document.querySelector('.case-explanation').textContent = words", "An explanation. " * 10)
    assert page.locator("[data-row][data-field=disagreement]").count() == 1
    assert page.evaluate(hidden) == 0
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")


def test_keys_are_silent_in_texts_and_dialogs(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    press(page, "?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    press(page, "1", "e")
    press(page, "Escape")
    expect(page.locator("#stem")).to_be_visible()  # until the case is back on screen no key is for it
    assert checked(page) == {}
    answer(page, "2", "e")
    press(page, "t")
    page.keyboard.type("a1x2")
    assert checked(page) == {}
    assert page.input_value("#comment") == "a1x2"


def test_submitting_is_quiet_until_everything_is_there(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    press(page, "2", "Enter")
    expect(page.locator("[data-problem=difficulty]")).to_be_visible()
    answer(page, "e")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    press(page, "5", "5", "3", "5", "1", "1", "a", "Enter")
    expect(page.locator("[data-problem=comment]")).to_be_visible()
    expect(page.locator("#comment")).to_be_focused()
    page.keyboard.type("restates the key")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    assert not Review.objects.exists()


def test_anchors_show_on_the_row_that_has_the_focus(page: Page, review_round: ReviewRound) -> None:
    judge(page, review_round)
    expect(page.locator("#anchor-clinical_quality")).to_be_visible()
    press(page, "ArrowDown")
    expect(page.locator("#anchor-factual_correctness")).to_be_visible()
    expect(page.locator("#anchor-clinical_quality")).to_be_hidden()


def test_a_draft_comes_back_after_a_reload_even_if_the_server_never_got_it(
    page: Page, review_round: ReviewRound
) -> None:
    judge(page, review_round)

    def fail(route: Route) -> None:
        route.abort()

    page.route("**/draft/", fail)
    press(page, "4", "t")
    page.keyboard.type("typed while away")
    expect(page.locator("#case-saving")).to_have_text("not saved, trying again")
    page.unroute("**/draft/")
    page.reload()
    expect(page.locator("#comment")).to_have_value("typed while away")
    # "saved", or nothing to say: the page that went away may have handed it over at the last moment
    expect(page.locator("#case-saving")).to_have_text(re.compile(r"^\s*(saved)?\s*$"))
    assert checked(page)["clinical_quality"] == ["4"]
    page.evaluate("sessionStorage.clear()")
    page.reload()
    expect(page.locator("#comment")).to_have_value("typed while away")  # now from the server


def test_a_draft_stays_on_the_page_when_the_reload_overtakes_it(page: Page, review_round: ReviewRound) -> None:
    """The server draws the page, then stores the draft, and the old page hears of that before it goes."""
    judge(page, review_round)
    drawn_before = page.evaluate("fetch(location.href).then((answer) => answer.text())")
    press(page, "t")
    page.keyboard.type("typed just before the reload")
    expect(page.locator("#case-saving")).to_have_text("saved")
    page.route(page.url, lambda route: route.fulfill(body=drawn_before, content_type="text/html"))
    page.reload()
    expect(page.locator("#comment")).to_have_value("typed just before the reload")
    page.unroute_all()
    page.reload()
    expect(page.locator("#comment")).to_have_value("typed just before the reload")


def test_a_submission_waits_for_the_connection(page: Page, review_round: ReviewRound) -> None:
    judge(page, review_round)
    page.context.set_offline(True)
    press(page, "5", "5", "5", "5", "1", "1", "a", "Enter")
    expect(page.locator("#case-saving")).to_have_text("not saved, trying again")
    expect(page.locator("#case-banner")).to_contain_text("Input is disabled until then")
    expect(page.locator("#case-form")).to_have_css("opacity", "0.4")
    page.context.set_offline(False)
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    expect(page.locator("#case-banner")).to_be_hidden()
    assert Review.objects.count() == 1


def test_back_and_forward_show_the_case_as_it_stands(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    first = page.url
    answer(page, "2", "e")
    submit(page, then=2)
    page.go_back()
    expect(page.locator(JUDGE)).to_be_visible()
    assert page.url == first
    expect(page.locator("#case-saving")).to_contain_text("submitted, version 1")
    press(page, "v", "y")
    page.keyboard.type("on second thought")
    commit(page, "Control+Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    assert [review.verdict for review in Review.objects.order_by("version")] == ["accept", "revise"]


def test_identifying_text_hides_the_images_at_once(page: Page, review_round: ReviewRound, rita: User) -> None:
    judge(page, review_round)
    press(page, "x", "7")
    expect(page.locator("#case-cover")).to_be_visible()
    expect(page.locator(".viewer-stage")).to_be_hidden()
    press(page, "Escape")
    expect(page.locator(".viewer-stage")).to_be_visible()
    assert "flags" not in checked(page)
    press(page, "x", "7", "Space", "Enter")
    expect(page.locator("#case-note")).to_contain_text("withheld")
    exam = assignments_of(rita, review_round)[0].revision.question.exam
    assert list(Image.objects.filter(exam=exam).values_list("state", flat=True)) == [
        ImageState.QUARANTINED,
        ImageState.AVAILABLE,
    ]
    assert checked(page)["flags"] == ["identifies"]


COVERED = """() => {
    const box = (element) => element.getBoundingClientRect();
    const note = box(document.getElementById("case-note"));
    return [...document.querySelectorAll(".viewer-pane:not([hidden]) > *")]
        .filter((part) => box(part).top < note.bottom && note.top < box(part).bottom)
        .map((part) => part.className);
}"""


def test_what_is_said_of_a_missing_image_covers_nothing_of_the_others(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    exam = assignments_of(rita, review_round)[0].revision.question.exam
    Image.objects.create(exam=exam, position=2, view_position=ViewPosition.LL, state=ImageState.QUARANTINED)
    start(page, review_round)
    page.get_by_role("button", name="Flip").click()  # a flipped view says so in a corner
    expect(page.locator(".viewer-tag-badge").first).not_to_be_empty()
    expect(page.locator("#case-note")).to_contain_text("withheld")
    for width, height in ((1366, 768), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(COVERED) == []


def test_skipping_asks_for_a_reason_and_goes_on(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    press(page, "k")
    expect(page.locator("#skip-dialog")).to_be_visible()
    page.keyboard.type("image cannot be read")
    press(page, "Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    assert assignments_of(rita, review_round)[0].skip_reason == "image cannot be read"
