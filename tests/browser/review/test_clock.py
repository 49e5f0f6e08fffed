"""The clock of a case in Chromium: what a page tells the server, and what it keeps until the server has it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from playwright.sync_api import Page, Request, Route, expect

from annotation.models import Assignment, BlindAnswer, Review, ReviewEvent, ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.browser.review.test_journey import answer, is_shown, press, start, submit


def has_told(page: Page, kind: str) -> None:
    """Wait for an event of the case; also with a clock that the test moves, which has no marks of performance."""
    page.wait_for_function(
        "(kind) => (JSON.parse(sessionStorage.getItem('case-clock')) ?? [])"
        ".some(({ events }) => events.some((event) => event.kind === kind))",
        arg=kind,
    )


def told(request: Request) -> list[dict[str, Any]]:
    """The events of a request, in the order of their numbers."""
    sent = parse_qs(request.post_data or "", keep_blank_values=True)
    return sorted(json.loads(sent["events"][0]), key=lambda event: event["sequence"])


def test_a_review_by_keyboard_has_its_times(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    is_shown(page)
    answer(page, "2", "i", "e")
    submit(page, then=2)
    blind, review = BlindAnswer.objects.get(), Review.objects.get()
    assert blind.active_ms is not None
    assert review.active_ms is not None
    assert 0 < blind.active_ms < review.active_ms
    assert review.elapsed_ms == review.active_ms
    assert {*blind.time_flags, *review.time_flags} <= {"blurred"}


def test_events_that_were_not_acknowledged_are_sent_after_a_reload(page: Page, review_round: ReviewRound) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=503)

    for address in ("**/events/", "**/draft/"):
        page.route(address, refuse)
    start(page, review_round)
    is_shown(page)
    press(page, "2")
    expect(page.locator("#case-saving")).to_have_text("not saved, trying again")
    before = page.evaluate("() => JSON.parse(sessionStorage.getItem('case-clock'))")
    assert {"painted", "selected"} <= {event["kind"] for event in before[0]["events"]}
    page.unroute_all()
    with page.expect_response(lambda r: r.url.endswith("/events/") and r.ok):
        page.reload()
    is_shown(page)
    stored = ReviewEvent.objects.filter(page=before[0]["page"])
    assert {"painted", "selected", "hidden"} <= set(stored.values_list("kind", flat=True))
    page.wait_for_function(
        "(old) => !(JSON.parse(sessionStorage.getItem('case-clock')) ?? []).some((batch) => batch.page === old)",
        arg=before[0]["page"],
    )


def test_a_clock_out_of_order_costs_no_answer(page: Page, review_round: ReviewRound) -> None:
    """A browser that tells no time: everything that it sends is unreadable, and refused until the answer comes."""
    page.clock.install()
    page.add_init_script("Date.now = () => -1")
    start(page, review_round)
    with page.expect_response("**/events/") as refused:
        page.clock.run_for(16_000)
    assert refused.value.status == 422
    answer(page, "2", "e")
    blind = BlindAnswer.objects.get()
    assert (blind.best, blind.active_ms, blind.time_flags) == ("B", None, ["malformed"])


def test_hidden_time_and_heartbeats_by_a_clock_that_the_test_moves(page: Page, review_round: ReviewRound) -> None:
    page.clock.install()
    start(page, review_round)
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with page.expect_request("**/events/") as posted:
        page.clock.run_for(6_000)
        page.evaluate(hide, True)
        page.clock.run_for(6_000)
        page.evaluate(hide, False)
        page.clock.run_for(6_000)
    events = [event for event in told(posted.value) if event["kind"] in {"heartbeat", "hidden", "visible"}]
    assert [event["kind"] for event in events][-4:] == ["heartbeat", "hidden", "visible", "heartbeat"]
    hidden, visible = events[-3], events[-2]
    assert 6_000 <= visible["client_ms"] - hidden["client_ms"] < 7_000
    assert 6_000 <= visible["wall_ms"] - hidden["wall_ms"] < 7_000


def test_another_case_of_the_page_has_its_own_events(page: Page, review_round: ReviewRound, rita: User) -> None:
    start(page, review_round)
    is_shown(page)
    press(page, "k")
    page.keyboard.type("later")
    press(page, "Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 3")
    is_shown(page)
    first, second, _third = assignments_of(rita, review_round)
    answer(page, "2", "e")
    assert list(ReviewEvent.objects.filter(kind="painted").values_list("assignment", flat=True)) == [
        first.pk,
        second.pk,
    ]
    assert Assignment.objects.get(pk=first.pk).state == "skipped"
    pages = set(ReviewEvent.objects.exclude(page="server").values_list("page", flat=True))
    assert len(pages) == 1


def test_a_pause_hides_the_case_and_counts_for_nothing(page: Page, review_round: ReviewRound) -> None:
    page.clock.install()
    start(page, review_round)
    has_told(page, "painted")
    page.clock.run_for(1_000)
    press(page, "2", "Shift+P")
    expect(page.locator("#pause-dialog")).to_be_visible()
    expect(page.locator("#viewer")).to_be_hidden()
    press(page, "3", "e")
    page.clock.run_for(8_000)
    press(page, "Enter")
    expect(page.locator("#viewer")).to_be_visible()
    page.clock.run_for(1_000)
    answer(page, "e")
    blind = BlindAnswer.objects.get()
    assert blind.best == "B"
    assert blind.active_ms is not None
    assert blind.elapsed_ms is not None
    assert blind.elapsed_ms - blind.active_ms >= 8_000
