"""A case over 20 Mbit/s with 80 ms: the preview first in a review; nothing before everything where people read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.shortcuts import render
from playwright.sync_api import Page, Request, Route, expect

from annotation.enums import RenditionKind
from annotation.models import Rendition, ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.annotation.review.pixels import give_pixels
from tests.browser.review.test_journey import BLIND, JUDGED, answer, commit, press

# When a view reaches a level: where the pictures of the first look stand, and where canvases hold one, as left, top,
# right and bottom on the page.
WATCH_VIEWS = """
window.seen = [];
const edges = ({ left, top, right, bottom }) => [left, top, right, bottom].map(Math.round).join();
const drawn = (canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const at = [];
    for (let i = 0; i < width * height; i++) if (data[4 * i] > 20) at.push(i);
    if (!at.length) return null;
    const columns = at.map((i) => i % width);
    const [first, last] = [Math.min, Math.max].map((f) => columns.reduce((a, b) => f(a, b), columns[0]));
    const { left, top } = canvas.getBoundingClientRect();
    const [upper, lower] = [Math.floor(at[0] / width), Math.floor(at.at(-1) / width)];
    return edges({ left: left + first, top: top + upper, right: left + last + 1, bottom: top + lower + 1 });
};
const mark = performance.mark.bind(performance);
performance.mark = (name, ...rest) => { // an observer would hear of it later, when the first look may be gone
    if (name.startsWith("view ")) {
        const all = (selector, act) => [...document.querySelectorAll(selector)].map(act);
        const looks = all(".viewer-first img", (image) => edges(image.getBoundingClientRect()));
        seen.push([name, looks, all(".viewer-pane:not([hidden]) .viewer-canvas", drawn)]);
    }
    return mark(name, ...rest);
};
"""

# For every animation frame: what of a case can be seen. A canvas counts when it holds a picture.
WATCH_FRAMES = """
window.frames = [];
const kinds = {
    stem: "#stem", option: ".case-option, .case-answers li", tag: ".viewer-tag:not(:empty)", tools: ".viewer-toolbar",
    place: ".case-place", note: ".case-meta", canvas: ".viewer-canvas", commit: "#case-go",
};
const isSeen = (node) => getComputedStyle(node).visibility === "visible" && node.getClientRects().length > 0;
const isDrawn = (node) => node.tagName !== "CANVAS" || [0.3, 0.5, 0.7].some((part) => {
    const [x, y] = [node.width * part, node.height * part].map(Math.floor);
    return node.getContext("2d").getImageData(x, y, 1, 1).data[0] > 0;
});
const look = () => {
    const found = {};
    for (const [kind, selector] of Object.entries(kinds)) {
        const n = [...document.querySelectorAll(selector)].filter((node) => isSeen(node) && isDrawn(node)).length;
        if (n) found[kind] = n;
    }
    const wait = document.querySelector("#case-wait");
    const at = performance.now();
    if (wait) frames.push({ at, found, stem: found.stem ? document.querySelector("#stem").textContent : "",
        waiting: isSeen(wait) ? wait.textContent : "" });
    requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
WHOLE = {"stem": 1, "option": 4, "canvas": 2, "tools": 1, "place": 1, "note": 1, "commit": 1}


SetSpeed = Callable[[int], Any]


@pytest.fixture
def set_speed(page: Page) -> SetSpeed:
    """What comes over the line from now on, in bytes per second."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    conditions = {"offline": False, "latency": 80, "uploadThroughput": 20_000_000 / 8}
    return lambda rate: session.send("Network.emulateNetworkConditions", {**conditions, "downloadThroughput": rate})


@pytest.fixture
def slow(page: Page, review_round: ReviewRound, rita: User, set_speed: SetSpeed) -> Page:
    """A slow line, and images that take their time on it."""
    for assignment in assignments_of(rita, review_round)[:2]:
        for image in assignment.revision.question.exam.images.all():
            image.renditions.all().delete()
            give_pixels(image, seed=assignment.position * 2 + image.position, shape=(750, 600))
    set_speed(20_000_000 // 8)
    return page


def is_shown(page: Page) -> float:
    """When question and images of the case on the page were on screen, on the page's clock."""
    page.wait_for_function("() => performance.getEntriesByName('case shown').length")
    at: float = page.evaluate("() => performance.getEntriesByName('case shown')[0].startTime")
    return at


def test_a_review_shows_the_preview_first_and_full_depth_in_the_same_place(
    slow: Page, review_round: ReviewRound
) -> None:
    held: list[Route] = []
    slow.add_init_script(WATCH_VIEWS)
    slow.route("**/viewer/viewer*.js", lambda route: held.append(route))  # else a busy machine may have it at once
    slow.goto(f"/review/rounds/{review_round.slug}/continue/", wait_until="commit")
    slow.wait_for_function("() => window.seen?.length === 2")
    for route in held:
        route.continue_()
    is_shown(slow)
    slow.wait_for_function("() => seen.filter(([name]) => name.endsWith('full')).length === 2")
    seen: list[tuple[str, list[str], list[str | None]]] = slow.evaluate("() => seen")
    names = [name for name, _, _ in seen]
    for view in (0, 1):
        assert names.index(f"view {view} preview") < names.index(f"view {view} full")
    assert len(seen[0][1]) == 2, "the first look comes before the viewer"
    for place in (0, 1):
        stood: set[str | None] = {looks[place] for _, looks, _ in seen if looks}
        stood |= {places[place] for _, _, places in seen if places and places[place]}
        assert len(stood) == 1, "the picture jumped"
    expect(slow.locator(".viewer-first")).to_have_count(0)


def test_a_slow_line_says_how_much_has_come(slow: Page, review_round: ReviewRound, set_speed: SetSpeed) -> None:
    def slow_down(route: Route) -> None:
        set_speed(100_000)
        route.continue_()

    for name in Rendition.objects.filter(kind=RenditionKind.FULL).values_list("name", flat=True):
        slow.route(f"**/*{name}*", slow_down)
    slow.goto(f"/review/rounds/{review_round.slug}/continue/")
    expect(slow.locator("#case-progress:visible span")).to_have_text(re.compile(r"^[01]\.\d of [01]\.\d MB$"))
    slow.unroute_all()
    set_speed(-1)
    is_shown(slow)
    expect(slow.locator("#case-progress")).to_be_hidden()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch of the page that studies set."""

    def rendered(request: Any, template: str, context: dict[str, Any], **more: Any) -> Any:
        return render(request, template, {**context, "reading": True}, **more)

    monkeypatch.setattr("annotation.views.review.cases.render", partial(rendered))


def since(page: Page, start: int) -> list[dict[str, Any]]:
    """The frames from that one on, and two after the one that is there now."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    frames: list[dict[str, Any]] = page.evaluate("(start) => frames.slice(start)", start)
    return frames


def reveal_is_one_frame(frames: list[dict[str, Any]], shown: float) -> None:
    """Nothing, and only "loading", in every frame until all of it; from then on all of it."""
    first = next(place for place, frame in enumerate(frames) if frame["found"])
    assert first > 0
    assert {frame["waiting"] for frame in frames[:first]} == {"Loading the case"}
    for frame in frames[first:]:
        assert {kind: frame["found"].get(kind) for kind in WHOLE} == WHOLE
        assert frame["waiting"] == ""
    assert frames[first - 1]["at"] < shown
    assert not [frame for frame in frames[:first] if frame["at"] > shown]


def test_reading_shows_nothing_before_everything_stands_at_full_depth(
    slow: Page, reading: None, review_round: ReviewRound
) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    slow.on("request", note)
    slow.add_init_script(WATCH_FRAMES)
    slow.goto(f"/review/rounds/{review_round.slug}/continue/")
    shown = is_shown(slow)
    reveal_is_one_frame(since(slow, 0), shown)
    expect(slow.locator("#stem")).to_be_focused()
    views = slow.evaluate("() => JSON.parse(document.getElementById('case-views').textContent)")
    assert any(views[0]["full"] in url for url in asked)

    # The turn: an image of the next case is late.
    second = slow.evaluate("() => JSON.parse(document.getElementById('next-cases').textContent)[0][1].full")
    held: list[Route] = []
    slow.context.route(f"**{second}", lambda route: held.append(route))
    with slow.expect_request(f"**{second}"):
        slow.reload()
    is_shown(slow)
    answer(slow, "2", "e")
    press(slow, *JUDGED)
    start = slow.evaluate("() => frames.length")
    commit(slow)
    expect(slow.locator("#content")).to_have_attribute("data-showing", "loading")
    expect(slow.locator(BLIND)).to_be_attached()
    press(slow, "1", "e", "i")
    expect(slow.locator("#case-wait")).to_have_text("Loading the case")
    assert held, "the image was asked for ahead"
    held[0].continue_()
    expect(slow.locator("#content")).to_have_attribute("data-showing", "case")
    shown = is_shown(slow)
    frames = since(slow, start)
    turned = next(place for place, frame in enumerate(frames) if not frame["found"])
    reveal_is_one_frame(frames[turned:], shown)
    assert slow.evaluate("() => document.querySelectorAll('#case-form input:checked').length") == 0
    previews = [view["preview"] for view in views]
    assert not [url for url in asked if any(url.endswith(preview) for preview in previews)]


def test_reading_says_that_an_image_failed_and_shows_nothing_else(
    slow: Page, reading: None, review_round: ReviewRound, rita: User
) -> None:
    first = assignments_of(rita, review_round)[0]
    slow.route("**/images/**", lambda route: route.fulfill(status=503, body="{}", content_type="application/json"))
    slow.goto(f"/review/{first.public_id}/")
    expect(slow.locator(".viewer-error:visible")).to_have_count(2)
    expect(slow.locator("#case-wait")).to_contain_text("An image could not be shown")
    expect(slow.locator("#stem")).to_be_hidden()
    expect(slow.locator(".viewer-toolbar")).to_be_hidden()
    slow.unroute("**/images/**")
    press(slow, "n", "w")
    expect(slow.locator("#stem")).to_be_visible()
