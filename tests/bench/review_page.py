"""What a reviewer waits for in Chromium, against a site that is really served: a turn, a cold page, its weight.

Two views of 2048x2500; the site runs as ``manage.py serve`` does, with compressed static files. Before it comes Label
Studio, where BENCH_LABEL_STUDIO names an environment that has it.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Request

from tests.bench import label_studio
from tests.bench.label_studio import Measured
from tests.bench.measuring import chromium, filled, served_in_chromium, site_env
from tests.bench.rows import Row, median, p50_and_p95

N_TURNS, N_WARM, N_COLD = 40, 2, 5
EARLY, LATE = 10, 200  # cases after which the memory of one page is measured
STEP_ONE = ("2", "e")
STEP_TWO = ("5", "5", "5", "5", "1", "1", "a")
MEGABYTE = 1_000_000
GOALS = "60 ms", "120 ms"
WATCH = """() => addEventListener("keydown", (event) => {
    if (event.key === "Enter") window.pressedAt = performance.now();
}, { capture: true })"""
# The same page without what it prepares: it never hears of the cases that come next.
UNPREPARED = """() => {
    const parse = JSON.parse;
    JSON.parse = (...text) => {
        const found = parse(...text);
        return Array.isArray(found) && Array.isArray(found[0]) ? [] : found;
    };
}"""


def measure() -> list[Row]:
    """Rows of the table. Raises RuntimeError when there is no Chromium."""
    theirs = label_studio.measure(chromium())
    with site_env() as env:
        way_in = filled("review", env, LATE + N_TURNS + N_WARM + 3)
        with served_in_chromium(env) as (browser, address):
            return _rows(browser, address, way_in, theirs)


def _rows(browser: Browser, address: str, way_in: dict[str, Any], theirs: Measured | None) -> list[Row]:
    session, case = way_in["session"], f"/review/{way_in['case']}/"
    start = f"/review/rounds/{way_in['round']}/continue/?begin"
    colds, weights = zip(*(_cold(browser, address, session, case) for _ in range(N_COLD)), strict=True)
    previews, fulls = zip(*colds, strict=True)
    page = logged_in(browser, address, session).new_page()
    page.add_init_script(f"({UNPREPARED})()")
    page.goto(start)
    bare = [turn(page) for _ in range(N_TURNS + N_WARM)][N_WARM:]
    page.context.close()
    page = logged_in(browser, address, session).new_page()
    page.goto(start)
    ready, held = _long_sitting(page)
    page.context.close()
    return [
        *(
            row
            for n, what in enumerate(("the images of the next case painted", "question and images on screen"))
            for row in p50_and_p95(
                f"submit to {what}", [t[n] for t in ready], GOALS, "nothing prepared", [t[n] for t in bare]
            )
        ),
        *_beside([t[1] for t in ready], fulls, theirs),
        Row("cold page to both previews, median", median(previews), "ms", "300 ms"),
        Row("cold page to both at full depth, median", median(fulls), "ms", "700 ms"),
        Row("page weight without images, compressed", max(weights) / 1000, "kB", "120 kB"),
        *held_rows(held),
    ]


def held_rows(held: dict[int, dict[str, float]]) -> list[Row]:
    """The memory of the page, late beside early."""
    return [
        Row(f"{what} at case {LATE}", held[LATE][what], "MB", "bounded", f"at case {EARLY}", held[EARLY][what])
        for what in held[LATE]
    ]


def _beside(turns: list[float], colds: Sequence[float], theirs: Measured | None) -> list[Row]:
    """The same turn and cold page beside Label Studio's: ours at full depth, theirs with previews of 8 bits."""
    if theirs is None:
        return []
    name = theirs.name
    return [
        *p50_and_p95("submit to the whole next case at full depth", turns, GOALS, name, theirs.turns),
        Row("cold page to both images, ours at full depth", median(colds), "ms", "700 ms", name, median(theirs.colds)),
    ]


Times = list[tuple[float, float]]


def _long_sitting(page: Page) -> tuple[Times, dict[int, dict[str, float]]]:
    """The times of the first turns, and the memory of the page early and late; between them nobody waits."""
    times, held = [], {}
    for case in range(1, LATE + 1):
        if case in (EARLY, LATE):
            _prepared(page)
            held[case] = _memory(page)
        if case < LATE:
            times.append(turn(page, hurry=case > N_TURNS + N_WARM))
    return times[N_WARM : N_TURNS + N_WARM], held


def _memory(page: Page) -> dict[str, float]:
    """Megabytes after a forced collection: objects of scripts, the buffers that they hold, the process of the page."""
    session = page.context.new_cdp_session(page)
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")
    found = {"heap of scripts": used["usedSize"] / MEGABYTE}
    if "backingStorageSize" in used:
        found["buffers of scripts"] = used["backingStorageSize"] / MEGABYTE
    session.detach()
    assert page.context.browser is not None
    system = page.context.browser.new_browser_cdp_session()
    processes = system.send("SystemInfo.getProcessInfo")["processInfo"]
    system.detach()
    resident = [_resident(one["id"]) for one in processes if one["type"] == "renderer"]
    return {**found, "largest page process": max(resident) / MEGABYTE}


def _resident(pid: int) -> int:
    """Bytes of a process in memory, on Linux; elsewhere 0."""
    statm = Path(f"/proc/{pid}/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else 0


def logged_in(browser: Browser, address: str, session: str) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=address)
    context.add_cookies([{"name": f"sessionid_{urlsplit(address).port}", "value": session, "url": address}])
    return context


def _cold(browser: Browser, address: str, session: str, case: str) -> tuple[tuple[float, float], int]:
    """Milliseconds from the request for the page to both previews and to full depth, and the bytes of the rest."""
    context = logged_in(browser, address, session)
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


def _prepared(page: Page) -> None:
    """A reader thinks for longer than this: what comes next is fetched and decoded meanwhile."""
    _painted(page, "full")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)


def turn(page: Page, *, hurry: bool = False) -> tuple[float, float]:
    """Milliseconds from the key that submits to the next images at full depth, and to the question beside them."""
    if not hurry:
        _prepared(page)
    _commit(page, *STEP_ONE)
    page.locator("#case-form[data-step=judge]").wait_for()
    page.evaluate(WATCH)
    before = page.url
    _commit(page, *STEP_TWO)
    page.wait_for_function("(before) => location.href !== before", arg=before)
    page.wait_for_function("() => performance.getEntriesByName('case shown').length")
    whole = float(page.evaluate("() => performance.getEntriesByName('case shown')[0].startTime"))
    pressed = float(page.evaluate("() => pressedAt"))
    return _painted(page, "full") - pressed, whole - pressed


def _commit(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    page.locator("#case-go[aria-disabled=false]").wait_for()
    page.keyboard.press("Enter")
