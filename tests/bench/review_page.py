"""What a reviewer waits for in Chromium, against a site that is really served: a turn, a cold page, its weight.

Two views of 2048x2500; the site runs as ``manage.py serve`` does, with compressed static files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tests.bench.rows import Row, median, percentile
from tests.browser.conftest import CHROMIUM_ARGUMENTS, find_chromium
from tests.processes import ROOT, environment, manage
from tests.rexvqa_site.test_serve import Server

N_TURNS, N_WARM, N_COLD = 20, 2, 5
STEP_ONE = ("2", "e", "Enter")
STEP_TWO = ("5", "5", "5", "5", "1", "1", "a")


def measure() -> list[Row]:
    """Rows of the table. Raises RuntimeError when there is no Chromium."""
    executable = find_chromium()
    if not executable or not Path(executable).exists():
        raise RuntimeError("The case page is measured in Chromium: install it, or name it in REXVQA_CHROMIUM.")
    with tempfile.TemporaryDirectory(prefix="reading-room-bench-") as folder:
        home = Path(folder) / "home"
        way_in = _fill(home)
        server = Server(environment(home))
        try:
            server.wait_until_greeted()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
                rows = _rows(browser, f"http://127.0.0.1:{server.port}", way_in)
                browser.close()
        finally:
            server.stop()
    return rows


def _fill(home: Path) -> dict[str, Any]:
    env = environment(home, DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    manage("migrate", "--verbosity", "0", env=env).check_returncode()
    command = [sys.executable, "-m", "tests.bench.review_site", str(2 * (N_TURNS + N_WARM) + 2)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    way_in: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return way_in


def _rows(browser: Browser, address: str, way_in: dict[str, Any]) -> list[Row]:
    session, case, start = (
        way_in["session"],
        f"/review/{way_in['case']}/",
        f"/review/rounds/{way_in['round']}/continue/",
    )
    colds, weights = zip(*(_cold(browser, address, session, case) for _ in range(N_COLD)), strict=True)
    previews, fulls = zip(*colds, strict=True)
    page = _context(browser, address, session).new_page()
    page.goto(start)
    ready = [_turn(page, prepared=True) for _ in range(N_TURNS + N_WARM)][N_WARM:]
    page.context.close()
    page = _context(browser, address, session).new_page()
    page.goto(start)
    unready = [_turn(page, prepared=False) for _ in range(N_TURNS + N_WARM)][N_WARM:]
    page.context.close()
    bare = "answered at once"
    return [
        Row("submit to next case painted, prepared, p50", median(ready), "ms", "60 ms", bare, median(unready)),
        Row("the same, p95", percentile(ready, 0.95), "ms", "120 ms", bare, percentile(unready, 0.95)),
        Row("cold page to both previews, median", median(previews), "ms", "300 ms"),
        Row("cold page to both at full depth, median", median(fulls), "ms", "700 ms"),
        Row("page weight without images, compressed", max(weights) / 1000, "kB", "120 kB"),
    ]


def _context(browser: Browser, address: str, session: str) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=address)
    context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
    return context


def _cold(browser: Browser, address: str, session: str, case: str) -> tuple[tuple[float, float], int]:
    """Milliseconds from the request for the page to both previews and to full depth, and the bytes of the rest."""
    context = _context(browser, address, session)
    asked: list[Request] = []
    context.on("requestfinished", lambda one: asked.append(one))
    page = context.new_page()
    page.goto(case)
    first, full = _painted(page, "preview"), _painted(page, "full")
    page.wait_for_load_state("networkidle")
    sizes = {one.url: one.sizes()["responseBodySize"] for one in asked if "/images/" not in one.url}
    context.close()
    return (first, full), sum(sizes.values())


def _painted(page: Page, level: str) -> float:
    """When, on the page's own clock, the last of the views was painted at this level or a better one."""
    return float(
        page.evaluate(
            """async (level) => {
                const names = level === "full" ? ["full"] : ["preview", "full"];
                const n = JSON.parse(document.getElementById("case-views").textContent).length;
                for (;;) {
                    const marks = performance.getEntriesByType("mark").map((m) => [...m.name.split(" "), m.startTime]);
                    const first = Array.from({ length: n }, (_, index) => Math.min(
                        ...marks.filter((m) => m[1] === String(index) && names.includes(m[2])).map((m) => m[3])));
                    if (first.every(Number.isFinite)) return Math.max(...first);
                    await new Promise((done) => setTimeout(done, 2));
                }
            }""",
            level,
        )
    )


def _turn(page: Page, *, prepared: bool) -> float:
    """Milliseconds from the key that submits to the next case painted at full depth, both views."""
    _painted(page, "full")
    if prepared:
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1500)  # a reader thinks for longer: the next case is fetched and decoded meanwhile
    for key in STEP_ONE:
        page.keyboard.press(key)
    page.locator("#case-form[data-step=judge]").wait_for()
    for key in STEP_TWO:
        page.keyboard.press(key)
    page.evaluate(
        """() => addEventListener("keydown", (event) => {
            if (event.key === "Enter") window.pressedAt = performance.now();
        }, { capture: true, once: true })"""
    )
    before = page.url
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => location.href !== before", arg=before)
    return _painted(page, "full") - float(page.evaluate("pressedAt"))
