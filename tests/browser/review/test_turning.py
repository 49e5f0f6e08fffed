"""The turn of a case: what is on screen between the key that submits and the next question, and what keys do then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.enums import AssignmentState, EventKind
from annotation.models import Assignment, BlindAnswer, Review, ReviewEvent, ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.browser.foreign import as_the_site
from tests.browser.review.test_journey import (
    BLIND,
    JUDGE,
    JUDGED,
    answer,
    checked,
    commit,
    is_shown,
    judge,
    press,
    start,
    submit,
)

# For every animation frame: the stem as far as it can be seen, and what the first canvas holds.
RECORD = """() => {
    window.frames = [];
    const look = () => {
        if (!frames) return;
        const stem = document.querySelector("#stem");
        const isSeen = stem && getComputedStyle(stem).visibility === "visible";
        const frame = [isSeen ? stem.textContent : "", picture()].join(" | ");
        if (frames.at(-1) !== frame) frames.push(frame);
        requestAnimationFrame(look);
    };
    look();
}"""
PICTURE = """() => {
    window.picture = () => {
        const canvas = document.querySelector(".viewer-canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0;
        for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i]) % 1000003;
        return sum;
    };
}"""


def picture(page: Page) -> int:
    """A number that stands for what the first canvas holds."""
    page.evaluate(PICTURE)
    held: int = page.evaluate("() => picture()")
    return held


def pictures_of(page: Page, review_round: ReviewRound, rita: User) -> list[int]:
    """What the first canvas holds for each case of the round, each opened on its own."""
    found = []
    for assignment in assignments_of(rita, review_round):
        page.goto(f"/review/{assignment.public_id}/")
        is_shown(page)
        found.append(picture(page))
    return found


def hold(page: Page, address: str) -> list[Route]:
    """Requests for the address wait in the list that is returned."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route))
    return held


def waiting(page: Page, held: list[Route]) -> Route:
    """The first request that waits, as soon as the page has made it: what it shows may be there before."""
    for _ in range(1_000):
        if held:
            break
        page.evaluate("() => new Promise(requestAnimationFrame)")
    return held[0]


def prepared(page: Page) -> None:
    """The next case is in memory. Its images are asked for after those on screen, and nothing else is under way."""
    is_shown(page)
    page.wait_for_load_state("networkidle")


def test_the_next_images_come_at_once_and_never_beside_the_old_question(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    first, second, _third = pictures_of(page, review_round, rita)
    judge(page, review_round)
    prepared(page)
    held = hold(page, "**/submit/")
    page.evaluate(PICTURE)
    page.evaluate(RECORD)
    submit(page)
    page.wait_for_function("(second) => picture() === second", arg=second)
    expect(page.locator("#content")).to_have_attribute("data-showing", "turning")
    expect(page.locator("#stem")).to_be_hidden()
    expect(page.locator(".case-place")).to_be_hidden()
    waiting(page, held).continue_()
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    expect(page.locator(BLIND)).to_be_visible()
    is_shown(page)
    frames = page.evaluate("() => { const all = frames; frames = null; return all }")
    old, new = (f"Which finding is absent on these radiographs ({number})?" for number in (1, 2))
    assert set(frames) == {f"{old} | {first}", f" | {second}", f"{new} | {second}"}
    assert Review.objects.count() == 1


def test_keys_between_two_cases_go_to_the_images_and_to_no_question(page: Page, review_round: ReviewRound) -> None:
    judge(page, review_round)
    prepared(page)
    before = picture(page)
    held = hold(page, "**/submit/")
    submit(page)
    expect(page.locator("#content")).to_have_attribute("data-showing", "turning")
    page.wait_for_function("(before) => picture() !== before", arg=before)
    plain = picture(page)
    press(page, "i", "1", "e", "k", "Enter", "Control+Enter")
    page.wait_for_function("(plain) => picture() !== plain", arg=plain)
    inverted = picture(page)
    expect(page.locator("#skip-dialog")).to_be_hidden()
    waiting(page, held).continue_()
    expect(page.locator(BLIND)).to_be_visible()
    expect(page.locator("#case-message")).to_contain_text("before the question was on screen")
    assert checked(page) == {}
    assert picture(page) == inverted, "what was done to the images stays"
    press(page, "1")
    expect(page.locator("#case-message")).to_be_hidden()
    assert checked(page) == {"best": ["A"]}
    assert Review.objects.count() == 1


@pytest.mark.parametrize(
    ("status", "said", "sentence"),
    [
        (409, {"message": "This question was given to another reviewer."}, "given to another reviewer"),
        (422, {"problems": [{"field": "comment", "code": "x", "message": "Say more."}]}, "Say more."),
    ],
)
def test_a_refused_case_comes_back_untouched(
    page: Page, review_round: ReviewRound, status: int, said: dict[str, object], sentence: str
) -> None:
    judge(page, review_round)
    prepared(page)
    press(page, *JUDGED, "t")
    page.keyboard.type("as I typed it")
    press(page, "Escape", "i", "+")
    left, values = picture_at_rest(page), checked(page)
    held = hold(page, "**/submit/")
    commit(page)
    page.wait_for_function("(left) => picture() !== left", arg=left)
    as_the_site(waiting(page, held), status, **said)
    expect(page.locator(JUDGE)).to_be_visible()
    expect(page.get_by_text(sentence)).to_be_visible()
    page.wait_for_function("(left) => picture() === left", arg=left)
    assert checked(page) == values
    assert page.input_value("#comment") == "as I typed it"
    page.unroute("**/submit/")
    commit(page, "Control+Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    assert Review.objects.get().comment == "as I typed it"


def picture_at_rest(page: Page) -> int:
    page.wait_for_function("() => !document.querySelector('.viewer-moving')")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return picture(page)


def test_without_a_connection_the_case_comes_back_and_waits(page: Page, review_round: ReviewRound) -> None:
    judge(page, review_round)
    prepared(page)
    before = picture(page)
    press(page, *JUDGED)
    expect(page.locator("#case-saving")).to_have_text("saved")
    page.context.set_offline(True)
    commit(page)
    expect(page.locator("#case-saving")).to_have_text("not saved, trying again")
    expect(page.locator(JUDGE)).to_be_visible()
    assert picture(page) == before
    press(page, "j", "t")  # what is on its way cannot be changed any more
    assert checked(page)["verdict"] == ["accept"]
    page.context.set_offline(False)
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    assert Review.objects.get().verdict == "accept"


def test_another_case_than_the_prepared_one_brings_its_own_images(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    _first, _second, third = pictures_of(page, review_round, rita)
    judge(page, review_round)
    prepared(page)
    second = assignments_of(rita, review_round)[1]
    Assignment.objects.filter(pk=second.pk).update(state=AssignmentState.WITHDRAWN)
    submit(page)
    expect(page.locator("#stem")).to_contain_text("(3)?")
    is_shown(page)
    assert picture(page) == third


def test_going_back_while_a_case_is_submitted_ends_at_that_case(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    start(page, review_round)
    first = page.url
    answer(page, "2", "e")
    submit(page, then=2)
    answer(page, "2", "e")
    prepared(page)
    held = hold(page, "**/submit/")
    submit(page)
    expect(page.locator("#content")).to_have_attribute("data-showing", "turning")
    page.evaluate("() => history.back()")
    page.wait_for_url(first)
    waiting(page, held).continue_()
    expect(page.locator(".case-place")).to_have_text("1 / 3")
    expect(page.locator("#content")).to_have_attribute("data-showing", "case")
    is_shown(page)
    assert [a.state for a in assignments_of(rita, review_round)] == ["submitted", "submitted", "waiting"]


# --- a case is not submitted unseen -----------------------------------------------------------------
def fail(route: Route) -> None:
    route.fulfill(status=503, body="{}", content_type="application/json")


def first_image(page: Page) -> str:
    address: str = page.evaluate("() => JSON.parse(document.getElementById('case-views').textContent)[0].full")
    return f"**{address}"


@pytest.fixture
def with_a_broken_image(page: Page, review_round: ReviewRound) -> Callable[[], None]:
    """Open the first case with its first image out of order; what is returned repairs it."""
    start(page, review_round)
    address = first_image(page)
    page.route(address, fail)
    page.reload()
    expect(page.locator(".viewer-error:visible")).to_contain_text("could not be shown")
    return lambda: page.unroute(address)


def test_nothing_is_submitted_before_every_image_is_on_screen(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    held = hold(page, first_image(page))
    page.reload()
    press(page, "2", "e", "Enter")
    expect(page.locator("#case-message")).to_have_text("Loading full-resolution image")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    waiting(page, held).continue_()
    expect(page.locator("#case-message")).to_be_hidden()
    expect(page.locator("#case-wait")).to_be_empty()
    answer(page)


def test_a_failed_image_says_so_and_can_be_tried_again(page: Page, with_a_broken_image: Callable[[], None]) -> None:
    expect(page.locator("#case-wait")).to_contain_text("An image could not be shown")
    press(page, "2", "e", "Enter")
    expect(page.locator("#case-message")).to_contain_text("try again (N)")
    with_a_broken_image()
    press(page, "n")
    expect(page.locator(".viewer-error:visible")).to_have_count(0)
    expect(page.locator("#case-message")).to_be_hidden()
    answer(page)


def test_an_image_that_got_no_answer_comes_by_itself_when_the_connection_is_back(
    page: Page, with_a_broken_image: Callable[[], None]
) -> None:
    with_a_broken_image()
    page.evaluate("() => { dispatchEvent(new Event('online')); }")
    expect(page.locator(".viewer-error:visible")).to_have_count(0)
    answer(page, "2", "e")


def test_the_person_says_that_an_image_cannot_be_read(page: Page, with_a_broken_image: Callable[[], None]) -> None:
    press(page, "2", "e", "w")
    expect(page.locator(".viewer-error:visible")).to_contain_text("Marked as unreadable.")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false")
    press(page, "w")
    expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Mark unreadable").click()
    answer(page)
    broken, other = page.evaluate(
        "() => JSON.parse(document.getElementById('case-views').textContent).map((v) => v.id)"
    )
    assert BlindAnswer.objects.get().unreadable == [broken]
    assert painted()[-1] == {"views": [other], "unreadable": [broken]}


def painted() -> list[dict[str, list[str]]]:
    """What the page told of each time that a case stood on screen."""
    return list(
        ReviewEvent.objects.filter(kind=EventKind.PAINTED).order_by("sequence").values_list("details", flat=True)
    )


def test_what_was_on_screen_and_how_is_stored_with_each_step(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    is_shown(page)
    press(page, "i")
    answer(page, "2", "e")
    prepared(page)
    press(page, *JUDGED, "t")
    page.keyboard.type("plain")
    press(page, "Escape")
    commit(page)
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    is_shown(page)
    answer(page, "2", "e")
    images = [
        [image.public_id for image in assignment.revision.question.exam.images.order_by("position")]
        for assignment in assignments_of(rita, review_round)
    ]
    assert [sorted(one["views"]) for one in painted()] == [sorted(images[0]), sorted(images[1])]
    of_first = ReviewEvent.objects.filter(assignment__reviewer=rita, assignment__position=1).order_by("sequence")
    others = ("heartbeat", "opened", "focused", "blurred", "quiet", "tool")  # when these come depends on the machine
    told = list(of_first.exclude(kind__in=others).values_list("kind", "details"))
    assert told[:4] == [
        ("painted", {"views": painted()[0]["views"], "unreadable": []}),
        ("selected", {"option": "B"}),
        ("changed", {"field": "difficulty"}),
        ("submitted", {"step": "blind"}),
    ]
    assert of_first.get(kind="tool").details == {"invert": 1}
    assert told[-1] == ("submitted", {"step": "judge"})
    review = Review.objects.get()
    assert review.viewport is not None
    assert [view["invert"] for view in review.viewport["views"]] == [True, True]
    assert 0 <= (review.active_ms or -1) <= (review.elapsed_ms or -1)
