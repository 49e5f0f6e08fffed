"""How quick the viewer is: two views of 2048x2500 and 12 bits in Chromium, against a server on this machine."""

from __future__ import annotations

import io
import json
import statistics

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.bench import cornerstone
from tests.bench.measuring import chromium
from tests.bench.rows import Row, as_table, p50_and_p95
from tests.browser.viewer.stage import HERE, Descriptor, Stage
from tests.browsers import CHROMIUM_ARGUMENTS

WIDTH, HEIGHT = 2048, 2500
WIDE: ViewportSize = {"width": 1366, "height": 768}
NAMES = {"cpu": "Cornerstone3D without WebGL", "webgl": "Cornerstone3D with WebGL"}


def radiograph(seed: int) -> NDArray[np.uint16]:
    """Smooth anatomy with the noise of a real chest radiograph (sigma 10 of 4095), so that it packs like one."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    body = 2000 + 900 * np.sin(x / 310 + seed) + 600 * np.cos(y / 270) + 60 * np.sin(x / 23) * np.sin(y / 31)
    noisy = body + rng.normal(0, 10, body.shape)
    pixels: NDArray[np.uint16] = np.rint(noisy).clip(0, 4095).astype(np.uint16)
    return pixels


def case(stage: Stage) -> list[Descriptor]:
    window = {"center": 2048, "width": 3600, "function": "LINEAR", "label": "scanner"}
    return [
        stage.add("frontal", radiograph(1), view_position="PA", windows=[window]),
        stage.add("lateral", radiograph(2), view_position="LL", windows=[window], invert=True),
    ]


def renamed(views: list[Descriptor], n: int) -> list[Descriptor]:
    """The same images under other addresses, as the images of another case."""
    return [view | {"full": f"{view['full']}?case={n}", "preview": f"{view['preview']}?case={n}"} for view in views]


def measure(*, cold: int = 5, turns: int = 40, plain_turns: int = 10, steps: int = 120) -> list[Row]:
    """Rows of the table. Raises RuntimeError when there is no Chromium."""
    executable = chromium()
    with Stage() as stage, sync_playwright() as playwright:
        views = case(stage)
        page = (HERE / "pages" / "stage.html").read_text()
        block = f'<script type="application/json" id="views">{json.dumps(views)}</script></body>'
        stage.files["/cold.html"] = ("text/html", "", page.replace("</body>", block).encode())
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        files = png_page(stage)
        pictures = [picture_time(browser, f"{stage.address}{files}") for _ in range(cold)]
        previews, fulls = zip(*(cold_times(browser, stage) for _ in range(cold)), strict=True)
        browser.close()
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        warm = open_page(browser, stage)
        drags = drag_times(warm, steps)
        shader = drag_times(open_page(browser, stage, "webgl2"), steps // 4)
        plain = turn_times(warm, views, plain_turns, prepare=False)
        prepared = turn_times(warm, views, turns, prepare=True)
        browser.close()
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        beside = peer_rows(browser, stage, views, cold, steps)
        browser.close()
    png, software, unprepared = "16-bit PNG in img", "WebGL2, same browser", "same turn without prepare"
    bare = statistics.median(pictures)
    return [
        Row("cold page to both previews, median", statistics.median(previews), "ms", "300 ms", png, bare),
        Row("cold page to both at full depth, median", statistics.median(fulls), "ms", "700 ms", png, bare),
        *p50_and_p95("window drag, one frame, Canvas2D", drags, ("16.7 ms", "16.7 ms"), software, shader),
        *p50_and_p95("prepared case shown to painted", prepared, ("60 ms", "120 ms"), unprepared, plain),
        *beside,
    ]


def peer_rows(browser: Browser, stage: Stage, views: list[Descriptor], cold: int, steps: int) -> list[Row]:
    """Our viewer beside Cornerstone3D: the grey levels, then the speed; nothing but a sentence where it is missing.

    Raises RuntimeError when a picture of ours is more than one grey level from theirs.
    """
    try:
        cornerstone.serve(stage)
    except cornerstone.PeerMissing as missing:
        print(missing, flush=True)
        return []
    found = cornerstone.largest_differences(browser, stage)
    wrong = {name: most for name, (most, _mean) in found.items() if most > 1}
    if wrong:
        raise RuntimeError(f"The canvas differs from Cornerstone3D by more than one grey level: {wrong}")
    levels = [
        Row(f"1:1 against Cornerstone3D, {name}: largest (mean {mean:.2f})", most, "of 255", "1 of 255")
        for name, (most, mean) in found.items()
    ]
    raw = [cornerstone.add_raw(stage, view, radiograph(n)) for n, view in enumerate(views, 1)]
    address = cornerstone.add_page(stage, "pair", raw, (WIDE["width"] // 2, WIDE["height"] - 40))
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    for _ in range(cold):
        ours.append(cold_times(browser, stage)[1])
        for mode in ("cpu", "webgl"):
            theirs.setdefault(mode, []).append(cornerstone.cold_time(browser, address, mode, WIDE))
    drawn = statistics.median(ours)
    page = open_page(browser, stage, "canvas2d")
    page.mouse.move(300, 200)
    page.mouse.down(button="right")
    own = cornerstone.time_steps(page, steps)
    page.context.close()
    peer = {}
    for mode in ("cpu", "webgl"):
        page = cornerstone.open_peer(browser, address, mode, WIDE)
        peer[mode] = cornerstone.time_steps(page, steps)
        page.context.close()
    return [
        *levels,
        *(
            Row(f"cold page to both drawn, beside {NAMES[m]}", drawn, "ms", "", NAMES[m], statistics.median(times))
            for m, times in theirs.items()
        ),
        *(
            row
            for mode, times in peer.items()
            for row in p50_and_p95(f"window step, beside {NAMES[mode]}", own, ("", ""), NAMES[mode], times)
        ),
    ]


def png_page(stage: Stage) -> str:
    """The baseline of a cold page: the same two images as files that the browser shows by itself, in 8 bits."""
    for n in (1, 2):
        stream = io.BytesIO()
        Image.fromarray(radiograph(n) << 4).save(stream, "PNG", compress_level=1)
        stage.files[f"/plain-{n}.png"] = ("image/png", "", stream.getvalue())
    images = "".join(f'<img src="/plain-{n}.png" width="450" alt="">' for n in (1, 2))
    stage.files["/plain.html"] = ("text/html", "", f"<!doctype html><title>Plain</title>{images}".encode())
    return "/plain.html"


def picture_time(browser: Browser, address: str) -> float:
    """Milliseconds from navigation until both pictures are decoded and a frame has shown them."""
    page = browser.new_context(viewport=WIDE).new_page()
    page.goto(address)
    shown = page.evaluate(
        """async () => {
            await Promise.all([...document.images].map((image) => image.decode()));
            await new Promise(requestAnimationFrame);
            return performance.now();
        }"""
    )
    page.context.close()
    return float(shown)


def open_page(browser: Browser, stage: Stage, backend: str = "") -> Page:
    """The page with the case on it, both views at full depth, in a browser profile of its own."""
    page = browser.new_context(viewport=WIDE).new_page()
    page.goto(f"{stage.address}/cold.html?viewer={backend}")
    if backend:
        page.locator(f"[data-viewer-backend={backend}]").wait_for()
    page.evaluate(
        """async () => {
            while (!window.told || told.filter((note) => note.what === "full").length < 2) {
                await new Promise((done) => setTimeout(done, 5));
            }
        }"""
    )
    return page


def cold_times(browser: Browser, stage: Stage) -> tuple[float, float]:
    """Milliseconds from navigation until both previews, and both full-depth pictures, are on screen.

    Where full depth came before the preview, the moment of full depth counts for both.
    """
    page = open_page(browser, stage)
    told = page.evaluate("() => told")
    page.context.close()
    first = [min(note["at"] for note in told if note["index"] == index) for index in (0, 1)]
    return max(first), max(note["at"] for note in told if note["what"] == "full")


def drag_times(page: Page, steps: int) -> list[float]:
    """Main-thread milliseconds of each frame that shows a new window during a drag over one view."""
    page.mouse.move(300, 200)
    page.mouse.down(button="right")
    page.evaluate("() => record()")
    for step in range(steps):
        page.mouse.move(300 + step, 200 + (step % 40))
    page.mouse.up(button="right")
    frames: list[float] = page.evaluate("() => { window.recording = false; return frames }")
    return frames


def turn_times(page: Page, views: list[Descriptor], turns: int, *, prepare: bool) -> list[float]:
    """Milliseconds from show() until both views are painted at full depth, one number per turn."""
    times = []
    for n in range(turns):
        following = renamed(views, n + (1000 if prepare else 0))
        if prepare:
            page.evaluate("(views) => prepareWhole(views)", following)
        times.append(float(page.evaluate("(views) => turn(views)", following)))
    return times


if __name__ == "__main__":
    print(as_table(measure()))
