"""From a small laptop's window, and a page zoomed to 150 %, to a large screen: nothing overlaps, no word is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.enums import ImageState, ViewPosition
from annotation.models import Image, ReviewRound, User
from tests.annotation.review.cases import assignments_of, make_round
from tests.annotation.review.pixels import give_pixels
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device
from tests.browser.review.test_journey import answer, press, start
from tests.browser.review.test_tools import CUT
from tests.readerstudy.studies import keep_again

# Two of them are 1366x768 and 1920x1080 at 150 %.
SIZES = ((911, 512), (1280, 640), (1280, 720), (1366, 640), (1366, 768), (1920, 1080), (2560, 1440))
SHAPE = (122, 100)  # height and width, as of a chest radiograph

FAULTS = Path(__file__).with_name("overlaps.js").read_text(encoding="utf-8")
# Width and height of each image as it hangs, in CSS pixels.
HUNG = """([height, width]) => [...document.querySelectorAll(".viewer-pane:not([hidden]) .viewer-view")].map((view) => {
    const box = view.getBoundingClientRect();
    const zoom = Math.min(box.width / width, box.height / height);
    return [width * zoom, height * zoom];
})"""

# How much of the place of the one film is film, and the words that lie over it.
OVER_FILM = """([height, width]) => {
    const place = document.querySelector(".viewer-pane:not([hidden]) canvas").getBoundingClientRect();
    const zoom = Math.min(place.width / width, place.height / height);
    const left = place.left + (place.width - width * zoom) / 2, top = place.top + (place.height - height * zoom) / 2;
    const film = new DOMRect(left, top, width * zoom, height * zoom);
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), over = [], range = new Range();
    while (words.nextNode()) {
        const node = words.currentNode;
        const isShown = node.data.trim() && node.parentElement.checkVisibility({ visibilityProperty: true });
        range.selectNodeContents(node);
        for (const { left, right, top, bottom } of isShown ? range.getClientRects() : []) {
            const x = Math.min(right, film.right) - Math.max(left, film.left);
            const y = Math.min(bottom, film.bottom) - Math.max(top, film.top);
            if (x > 0.5 && y > 0.5) over.push(node.data.trim());
        }
    }
    return [(width * height * zoom * zoom) / (place.width * place.height), over];
}"""
PLACE = """() => {
    const { width, height } = document.querySelector(".viewer-pane:not([hidden]) canvas");
    return [height, width];
}"""


def hung(page: Page) -> list[tuple[float, float]]:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return [(width, height) for width, height in page.evaluate(HUNG, list(SHAPE))]


def look(page: Page, size: tuple[int, int]) -> dict[str, list[str]]:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    hung(page)
    found: list[str] = page.evaluate(FAULTS)
    return {f"{size[0]}x{size[1]}": found} if found else {}


def look_at_all(page: Page) -> dict[str, list[str]]:
    return {name: faults for size in SIZES for name, faults in look(page, size).items()}


def share(page: Page, size: tuple[int, int]) -> float:
    """What part of the window is image, in percent."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    return 100 * sum(width * height for width, height in hung(page)) / (size[0] * size[1])


@pytest.fixture
def review_round(transactional_db: None, rita: User) -> ReviewRound:
    """The first question has three images, the second two."""
    made = make_round(rita, n_questions=2, name="Pilot")
    for assignment in assignments_of(rita, made):
        exam = assignment.revision.question.exam
        if assignment.position == 1:
            Image.objects.create(exam=exam, position=2, state=ImageState.PENDING, view_position=ViewPosition.AP)
        for image in exam.images.all():
            give_pixels(image, seed=assignment.position * 3 + image.position, shape=SHAPE)
    return made


def test_a_review_from_a_small_window_to_a_large_screen(device: Device, review_round: ReviewRound) -> None:
    page = device.page
    start(page, review_round)
    assert look_at_all(page) == {}
    frontal, *others = hung(page)
    assert len(others) == 2
    assert frontal[1] > 1.9 * others[0][1]
    for size in SIZES:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        before = hung(page)[0]
        for key in (".", "f"):
            press(page, key)
            (alone,) = hung(page)
            press(page, key)
            assert alone[1] > before[1] - 1, (size, key)
    answer(page, "3", "x", "4", "e")  # two flags follow
    press(page, "o")
    expect(page.locator("#case-report")).to_contain_text("FINDINGS-WORDS")
    assert look_at_all(page) == {}
    press(page, "f")
    assert look_at_all(page) == {}


def check_no_word_lies_over_a_film(page: Page, load: Callable[[], None]) -> None:
    """Over one of the shape of its place, so that it fills it, with all that can stand at it; at every size."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        load()
        press(page, ".")
        hung(page)
        shape = tuple(side // 4 for side in page.evaluate(PLACE))
        for image in Image.objects.all():
            image.renditions.all().delete()
            give_pixels(image, seed=image.pk, shape=shape)
        load()
        expect(page.get_by_role("button", name="Mediastinum")).to_be_enabled()  # the film has come
        page.get_by_role("button", name="Flip").click()
        press(page, ".", "i", "Shift+Digit3")
        expect(page.locator(".viewer-tag-badge:visible")).to_contain_text("inverted · flipped")
        expect(page.locator(".viewer-tag-window:visible")).to_contain_text("Mediastinum · L ")
        expect(page.get_by_text("Loading full-resolution image").filter(visible=True)).to_have_count(0)
        full, words = page.evaluate(OVER_FILM, shape)
        assert full > 0.97, (width, height, "the film does not fill its place")
        assert words == [], (width, height)


def test_no_word_lies_over_a_film_that_is_reviewed(device: Device, review_round: ReviewRound) -> None:
    check_no_word_lies_over_a_film(device.page, lambda: start(device.page, review_round))


def test_no_word_lies_over_a_film_that_is_read(device: Device, reads: MakeStudy) -> None:
    enrolment = reads(time_limit_s=600)

    def load() -> None:
        keep_again(enrolment.study)
        device.opens(enrolment)

    check_no_word_lies_over_a_film(device.page, load)


def test_a_reading_from_a_small_window_to_a_large_screen(device: Device, reads: MakeStudy) -> None:
    page = device.page
    enrolment = reads(cannot_tell=True, confidence=True)
    Image.objects.update(display={}, pixels_sha256="")
    for image in Image.objects.all():
        image.renditions.all().delete()
        give_pixels(image, seed=image.pk, shape=SHAPE)
    keep_again(enrolment.study)
    device.opens(enrolment)
    assert look_at_all(page) == {}
    assert share(page, (1366, 768)) > 55
    assert share(page, (1920, 1080)) > 65
    device.press(",")
    assert look_at_all(page) == {}
    assert share(page, (1366, 768)) > 63
    page.reload()
    expect(page.locator("#content")).to_have_attribute("data-showing", "case")
    expect(page.locator("#stem")).to_be_hidden()  # this browser remembers
    device.press("2", ",")
    device.commits()
    expect(page.locator("#room-confidence")).to_be_visible()
    assert look_at_all(page) == {}
    page.set_viewport_size({"width": 683, "height": 384})  # 1366x768 at 200 %
    assert page.evaluate(CUT, ".room-chances button") == []
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#case-small")).to_contain_text("Please use a computer")
    expect(page.locator("#viewer")).to_be_hidden()
