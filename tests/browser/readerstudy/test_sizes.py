"""From a small laptop's window, and a page zoomed to 150 %, to a large screen: nothing overlaps, no word is cut."""

from __future__ import annotations

import re
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
from tests.readerstudy.studies import keep_again

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Two of them are 1366x768 and 1920x1080 at 150 %.
SIZES = ((911, 512), (1280, 640), (1280, 720), (1366, 640), (1366, 768), (1920, 1080), (2560, 1440))
SHAPE = (122, 100)  # height and width, as of a chest radiograph

FAULTS = Path(__file__).with_name("overlaps.js").read_text(encoding="utf-8")
# Width and height of each image as it hangs, in CSS pixels.
HUNG = """([height, width]) => [...document.querySelectorAll(".viewer-pane:not([hidden])")].map((pane) => {
    const box = pane.getBoundingClientRect();
    const zoom = Math.min(box.width / width, box.height / height);
    return [width * zoom, height * zoom];
})"""


# Words that lie over the upper corners of an image as it hangs, where side marks are burned in.
OVER_MARKS = """([height, width]) => [...document.querySelectorAll(".viewer-pane:not([hidden])")].flatMap((pane) => {
    const box = pane.getBoundingClientRect();
    const zoom = Math.min(box.width / width, box.height / height);
    const [left, top] = [box.left + (box.width - width * zoom) / 2, box.top + (box.height - height * zoom) / 2];
    const corner = [0.22 * width * zoom, 0.15 * height * zoom];
    const right = left + width * zoom;
    return [...pane.querySelectorAll(".viewer-tag-position, .viewer-tag-badge")].filter((tag) => {
        const words = tag.getBoundingClientRect();
        const isBeside = words.right <= left + 1 || words.left >= right - 1 || words.bottom <= top + 1;
        const isBetween = words.left >= left + corner[0] && words.right <= right - corner[0];
        return words.width && !isBeside && !isBetween && words.top < top + corner[1];
    }).map((tag) => tag.textContent);
})"""


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


def test_no_label_of_a_view_covers_a_side_mark(device: Device, review_round: ReviewRound) -> None:
    page = device.page
    start(page, review_round)

    def covering() -> dict[str, list[str]]:
        found = {}
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            hung(page)
            found[f"{width}x{height}"] = page.evaluate(OVER_MARKS, list(SHAPE))
        return {size: words for size, words in found.items() if words}

    assert covering() == {}
    page.get_by_role("button", name="Flip").click()
    expect(page.locator(".viewer-tag-badge").first).to_contain_text("flipped")
    assert covering() == {}
    press(page, ".")  # two of three views: the label says which
    assert covering() == {}


def test_a_reading_from_a_small_window_to_a_large_screen(device: Device, reads: MakeStudy) -> None:
    page = device.page
    enrolment = reads(cannot_tell=True, confidence=True)
    Image.objects.update(display={}, pixels_sha256="")
    for image in Image.objects.all():
        image.renditions.all().delete()
        give_pixels(image, seed=image.pk, shape=SHAPE)
    keep_again(enrolment.study)
    device.enter(enrolment)
    device.sees(1)
    assert look_at_all(page) == {}
    assert share(page, (1366, 768)) > 55
    assert share(page, (1920, 1080)) > 66
    device.press(",")
    assert look_at_all(page) == {}
    assert share(page, (1366, 768)) > 65
    page.reload()
    expect(page.locator("#content")).to_have_attribute("data-showing", "case")
    expect(page.locator("#stem")).to_be_hidden()  # this browser remembers
    device.press("2", ",")
    device.commits()
    expect(page.locator("#room-confidence")).to_be_visible()
    assert look_at_all(page) == {}
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#case-small")).to_contain_text("Please use a computer")
    expect(page.locator("#viewer")).to_be_hidden()


def test_the_display_is_checked_again_on_another_screen(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    here = device.page.evaluate("() => [screen.width, screen.height, devicePixelRatio]")
    for width, address in ((here[0], "room/"), (here[0] + 500, "display/")):
        enrolment.display = {"screen_width": width, "screen_height": here[1], "pixel_ratio": 1.0}
        enrolment.save()
        device.page.goto("/read/trial/room/")
        expect(device.page).to_have_url(re.compile(f"/read/trial/{address}$"))
    shown = "() => { const c = document.querySelector('canvas'); return c.width / c.getBoundingClientRect().width; }"
    ratio = device.page.evaluate(shown)
    assert ratio == pytest.approx(here[2], abs=0.01)  # one pixel of the pattern on one of the screen
    pixels = "() => [...document.getElementById('display-pattern').getContext('2d').getImageData(0, 5, 864, 1).data]"
    row = device.page.evaluate(pixels)[::4]
    assert row[::48] == [round(255 * n / 17) for n in range(18)]
