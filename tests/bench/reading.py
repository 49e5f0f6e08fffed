"""What a reader of a study waits for in Chromium: from the key that submits to the next case, whole, at full depth.

Two views of 2048x2500, two cases ready ahead; the site runs as ``manage.py serve`` does. Every turn of a
sitting of 200 cases counts, and the memory of the page is looked at early and late.
"""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, Page

from tests.bench.measuring import filled, served_in_chromium, site_env
from tests.bench.review_page import EARLY, GOALS, LATE, WATCH, _memory, held_rows, logged_in
from tests.bench.rows import Row, p50_and_p95

N_WARM = 2
SHOWN = "() => performance.getEntriesByName('case shown').length"


def measure() -> list[Row]:
    """Rows of the table. Raises RuntimeError when there is no Chromium."""
    with site_env() as env:
        way_in = filled("reading", env, N_WARM + LATE + 3)
        with served_in_chromium(env) as (browser, address):
            return _rows(browser, address, way_in)


def _rows(browser: Browser, address: str, way_in: dict[str, Any]) -> list[Row]:
    page = logged_in(browser, address, way_in["session"]).new_page()
    page.goto(f"/read/{way_in['study']}/room/")
    page.wait_for_function(SHOWN)
    page.evaluate(WATCH)
    times, held = [], {}
    for case in range(1, LATE + 1):
        if case in (EARLY, LATE):
            held[case] = _memory(page)
        times.append(_turn(page))
    page.context.close()
    turns = times[N_WARM:]
    return [
        *p50_and_p95("submit to the next case, whole", turns, GOALS),
        *held_rows(held),
    ]


def _turn(page: Page) -> float:
    """Milliseconds; a reader thinks for longer than what comes next takes to be fetched and decoded."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    page.keyboard.press("2")
    page.locator("#case-go[aria-disabled=false]").wait_for()
    before = page.inner_text("#room-place")
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => document.querySelector('#room-place').textContent !== before", arg=before)
    page.wait_for_function(SHOWN)
    return float(page.evaluate("() => performance.getEntriesByName('case shown')[0].startTime - pressedAt"))
