"""Cornerstone3D as the viewer's peer: built into a temporary folder, shown the same images in the same browser.

Nothing of it is shipped. It needs node and npm, and a package registry at its first build.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, ViewportSize

from tests.annotation.imaging.greyscale import ramp
from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import Descriptor, Stage

PEERS = Path(__file__).resolve().parent / "peers"
SCRIPT = "/peer/cornerstone.js"
PAGE = """<!doctype html><meta charset="utf-8"><title>Peer</title><link rel="stylesheet" href="/peer/{name}.css">
{elements}<script type="application/json" id="views">{views}</script><script type="module" src="{script}"></script>"""


def _window(center: float, width: float, function: str = "LINEAR") -> list[dict[str, object]]:
    return [{"center": center, "width": width, "function": function, "label": "scanner"}]


# What is compared at 1:1, and how Cornerstone3D draws it: without WebGL it knows LINEAR only.
IMAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "LINEAR, CPU": ("cpu", {"bits": 12, "windows": _window(1800, 1500)}),
    "LINEAR, WebGL": ("webgl", {"bits": 12, "windows": _window(1800, 1500)}),
    "MONOCHROME1, CPU": ("cpu", {"bits": 12, "invert": True, "windows": _window(2000, 3000)}),
    "MONOCHROME1, WebGL": ("webgl", {"bits": 12, "invert": True, "windows": _window(2000, 3000)}),
    "SIGMOID, WebGL": ("webgl", {"bits": 12, "windows": _window(1800, 1500, "SIGMOID")}),
    "SIGMOID, MONOCHROME1, WebGL": ("webgl", {"bits": 12, "invert": True, "windows": _window(1800, 1500, "SIGMOID")}),
    "slope and intercept, CPU": (
        "cpu",
        {"bits": 12, "slope": 0.5, "intercept": -1000.0, "windows": _window(0, 900)},
    ),
    "16 bits, CPU": ("cpu", {"bits": 16, "windows": _window(30000, 50000)}),
}


class PeerMissing(Exception):
    """Why there is nothing to compare with, as a sentence."""


def build(into: Path) -> bytes:
    """The bundle. Raises PeerMissing."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise PeerMissing("Cornerstone3D is not measured: node and npm are not installed.")
    for source in PEERS.iterdir():
        shutil.copy(source, into)
    commands = (
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        ["node", "build.mjs", "bundle.js"],
    )
    for command in commands:
        try:
            done = subprocess.run(command, cwd=into, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            raise PeerMissing(f"Cornerstone3D is not measured: {command[0]} took more than ten minutes.") from None
        if done.returncode:
            reason = (done.stderr.strip() or "no reason given").splitlines()[0]
            raise PeerMissing(f"Cornerstone3D is not measured: {command[0]} failed ({reason}).")
    return (into / "bundle.js").read_bytes()


def serve(stage: Stage) -> None:
    """Put the bundle on the stage. Raises PeerMissing."""
    home = os.environ.get("REXVQA_HOME")
    with tempfile.TemporaryDirectory(prefix="peer-", dir=home) as folder:
        stage.files[SCRIPT] = ("text/javascript", "", build(Path(folder)))


def add_page(stage: Stage, name: str, views: list[Descriptor], size: tuple[int, int]) -> str:
    """A page that shows `views` side by side, each `size` pixels large; returns its address."""
    width, height = size
    style = f"body {{ margin: 0; display: flex; background: #000 }} .peer {{ width: {width}px; height: {height}px }}"
    stage.files[f"/peer/{name}.css"] = ("text/css", "", style.encode())
    page = PAGE.format(
        name=name, elements='<div class="peer"></div>' * len(views), views=json.dumps(views), script=SCRIPT
    )
    stage.files[f"/peer/{name}.html"] = ("text/html; charset=utf-8", "", page.encode())
    return f"{stage.address}/peer/{name}.html"


def add_raw(stage: Stage, view: Descriptor, pixels: NDArray[np.uint16]) -> Descriptor:
    """The same image with its stored values as they are: the quickest that a loader of Cornerstone3D can be given."""
    address = f"/raw/{view['id']}"
    stage.files[address] = ("application/octet-stream", "", pixels.astype("<u2").tobytes())
    return view | {"raw": address}


def open_peer(browser: Browser, address: str, mode: str, viewport: ViewportSize) -> Page:
    """The page when all its images have been drawn. Its own policy would refuse the styles that it writes."""
    page = browser.new_context(viewport=viewport, bypass_csp=True).new_page()
    page.goto(f"{address}?mode={mode}")
    page.wait_for_function("() => window.shownAt")
    return page


def cold_time(browser: Browser, address: str, mode: str, viewport: ViewportSize) -> float:
    """Milliseconds from navigation until every image has been drawn and a frame has shown it."""
    page = open_peer(browser, address, mode, viewport)
    shown = float(page.evaluate("() => window.shownAt"))
    page.context.close()
    return shown


def levels(page: Page, index: int = 0) -> NDArray[np.uint8]:
    width, height, text = page.evaluate("(index) => levels(index)", index)
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width)


def largest_differences(browser: Browser, stage: Stage) -> dict[str, tuple[float, float]]:
    """Image -> largest and mean difference, in levels of 255, between our canvas and Cornerstone3D's at 1:1."""
    context = browser.new_context(viewport={"width": 1000, "height": 700}, device_scale_factor=1)
    looker = Looker(context.new_page(), stage)
    found = {}
    for number, (name, (mode, display)) in enumerate(IMAGES.items()):
        pixels = ramp(display["bits"])
        view = add_raw(stage, stage.add(f"oracle{number}", pixels, **display), pixels)
        looker.mount_painted(view)
        ours = looker.image_at_one_to_one(view)
        address = add_page(stage, f"oracle{number}", [view], (view["width"], view["height"]))
        page = open_peer(browser, address, mode, {"width": 1000, "height": 700})
        theirs = levels(page)
        page.context.close()
        if ours.shape != theirs.shape or np.ptp(theirs) < 100:
            raise RuntimeError(f"Cornerstone3D did not draw the image at 1:1: {name}")
        off = np.abs(ours.astype(int) - theirs)
        found[name] = float(off.max()), float(off.mean())
    context.close()
    return found


def time_steps(page: Page, count: int) -> list[float]:
    """Milliseconds of each of `count` window steps, from the change until the viewer has drawn.

    Nothing is read back, which would cost Cornerstone3D as much again: its canvas is not made for reading. Frames
    come at once instead of with the screen, in the same way for both viewers: a wait of 16 ms hides all else.
    """
    times: list[float] = page.evaluate(
        """async (count) => {
            const { port1, port2 } = new MessageChannel();
            const waiting = [];
            let frames = 1e9;
            port1.onmessage = () => waiting.shift()(performance.now());
            window.requestAnimationFrame = (callback) => {
                waiting.push(callback);
                port2.postMessage(0);
                return ++frames;
            };
            const times = [];
            const before = level();
            for (let n = 0; n < count; n++) {
                const began = performance.now();
                await step(n);
                times.push(performance.now() - began);
            }
            if (level() === before) throw new Error("the picture did not change");
            return times.slice(5);
        }""",
        count,
    )
    return times
