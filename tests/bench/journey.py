"""``python -m tests.bench journey``: a keyboard alone through 40 cases in Chromium, filmed, with the time of each step.

Not part of ``make bench``: it shows how a sitting feels. The film, an animated WebP, is written to the folder in which
the command is run; a browser plays it.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.bench.measuring import filled, served_in_chromium, site_env
from tests.bench.review_page import logged_in
from tests.bench.rows import Row, p50_and_p95

N_CASES = 40
FILM = Path("journey.webp")
# The answer is the key: who was wrong is asked what that means first.
STEP_ONE = (("2", "e"), ("2", "m"), ("2", "h"))
STEP_TWO = (
    ("5", "5", "4", "5", "1", "1", "a"),
    ("5", "4", "4", "5", "2", "1", "a", "y"),
    ("5", "5", "5", "5", "1", "1", "a", "y"),
)


def measure() -> list[Row]:
    """Rows of the table; the film beside them."""
    with site_env() as env:
        way_in = filled("review", env, N_CASES)
        with served_in_chromium(env) as (browser, address):
            times = _journey(browser, address, way_in)
    return [row for what, of_one in times.items() for row in p50_and_p95(what, of_one, ("", ""))]


class Film:
    """What the page looked like, a few frames a second, at half size."""

    def __init__(self, page: Page) -> None:
        self.frames: list[tuple[float, bytes]] = []
        self.session = page.context.new_cdp_session(page)
        self.session.on("Page.screencastFrame", self._take)
        form = {"format": "jpeg", "quality": 60, "maxWidth": 683, "maxHeight": 384, "everyNthFrame": 4}
        self.session.send("Page.startScreencast", form)

    def _take(self, frame: dict[str, Any]) -> None:
        self.frames.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        self.session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def write(self, path: Path) -> None:
        """Each frame stays for as long as it did."""
        self.session.send("Page.stopScreencast")
        pictures = [Image.open(io.BytesIO(data)) for _, data in self.frames]
        ends = [at for at, _ in self.frames[1:]] + [self.frames[-1][0] + 1]
        stays = [max(20, round((end - at) * 1000)) for (at, _), end in zip(self.frames, ends, strict=True)]
        pictures[0].save(path, "WEBP", save_all=True, append_images=pictures[1:], duration=stays, quality=50, method=0)


def _journey(browser: Browser, address: str, way_in: dict[str, Any]) -> dict[str, list[float]]:
    context = logged_in(browser, address, way_in["session"])
    page = context.new_page()
    page.goto(f"/review/rounds/{way_in['round']}/continue/?begin")
    film = Film(page)
    times: dict[str, list[float]] = {"Enter to the key on screen": [], "Enter to the next case on screen": []}
    for case in range(N_CASES):
        page.locator("#case-form[data-step=blind]").wait_for()
        _press(page, *STEP_ONE[case % len(STEP_ONE)])
        _enter(page)
        page.locator("#case-form[data-step=judge]").wait_for()
        times["Enter to the key on screen"].append(_since_enter(page, "performance.now()"))
        _press(page, *STEP_TWO[case % len(STEP_TWO)])
        if case % len(STEP_TWO):
            page.keyboard.type("The pleural line is seen.", delay=20)
            _press(page, "Escape")
        if case == N_CASES - 1:
            break
        _enter(page)
        expect(page.locator(".case-place")).to_have_text(f"{case + 2} / {N_CASES}")
        page.wait_for_function("() => performance.getEntriesByName('case shown').length")
        shown = "performance.getEntriesByName('case shown')[0].startTime"
        times["Enter to the next case on screen"].append(_since_enter(page, shown))
    _enter(page)
    page.wait_for_url(f"**/review/rounds/{way_in['round']}/")
    film.write(FILM)
    context.close()
    return times


def _press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key, delay=60)


def _enter(page: Page) -> None:
    page.locator("#case-go[aria-disabled=false]").wait_for()
    page.evaluate(
        """() => addEventListener("keydown", () => {
            window.pressedAt = performance.now();
        }, { capture: true, once: true })"""
    )
    page.keyboard.press("Enter")


def _since_enter(page: Page, moment: str) -> float:
    return float(page.evaluate(f"() => {moment} - pressedAt"))
