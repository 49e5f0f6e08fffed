"""A stage and a person who looks at it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, ConsoleMessage, Error, FloatRect, Page, ViewportSize

from tests.browser.viewer.stage import Descriptor, Stage

BACKENDS = ("canvas2d", "webgl2")
Greys = NDArray[np.uint8]
SIZE: ViewportSize = {"width": 1000, "height": 700}


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as served:
        yield served


class Looker:
    """Drives the viewer on one page and reads its canvases."""

    def __init__(self, page: Page, stage: Stage) -> None:
        self.page, self.stage = page, stage
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", self._suffer)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _suffer(self, error: Error) -> None:
        self.complaints.append(str(error))

    def leave(self) -> None:
        """Away from the stage, which is about to close; what it remembers goes."""
        self.page.remove_listener("console", self._hear)
        self.page.remove_listener("pageerror", self._suffer)
        self.page.goto("about:blank")

    def mount(self, *views: Descriptor, **options: Any) -> None:
        self.page.goto(f"{self.stage.address}/stage.html")
        self.page.evaluate("async () => { while (!window.ready) await new Promise(requestAnimationFrame) }")
        self.page.evaluate("([views, options]) => mount(views, options)", [list(views), options])

    def mount_painted(self, *views: Descriptor, **options: Any) -> None:
        self.mount(*views, **options)
        for index in range(len(views)):
            self.wait_for("painted", index, "full")
        if "backend" in options:
            self.page.locator(f"[data-viewer-backend={options['backend']}]").wait_for()

    def show_painted(self, *views: Descriptor) -> None:
        """Another case in the viewer that is there."""
        self.page.evaluate("(views) => { window.told = []; viewer.show(views) }", list(views))
        for index in range(len(views)):
            self.wait_for("painted", index, "full")

    def wait_for(self, kind: str, index: int, what: str = "") -> dict[str, Any]:
        """The note of that kind, when it comes; fails after half a minute with what came instead."""
        note: dict[str, Any] = self.page.evaluate(
            """async ([kind, index, what]) => {
                const end = performance.now() + 30000;
                const fits = (n) => n.kind === kind && n.index === index && (!what || n.what === what);
                while (!told.some(fits)) {
                    if (performance.now() > end) throw new Error("only " + JSON.stringify(told));
                    await new Promise(requestAnimationFrame);
                }
                return told.find(fits);
            }""",
            [kind, index, what],
        )
        return note

    def settle(self) -> None:
        """Until everything asked for has been drawn with care: two frames, after the hand has rested where it moved."""
        self.page.evaluate(
            """async () => {
                const frame = () => new Promise(requestAnimationFrame);
                await frame();
                while (document.querySelector(".viewer-moving")) await frame();
                await frame();
            }"""
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def drag(self, start: tuple[int, int], end: tuple[int, int], button: Any = "left") -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down(button=button)
        mouse.move((start[0] + end[0]) // 2, (start[1] + end[1]) // 2)
        mouse.move(*end)
        mouse.up(button=button)
        self.settle()

    def click(self, name: str) -> None:
        """The button of this name."""
        self.page.get_by_role("button", name=name).click()
        self.settle()

    def turns_wheel(self, dy: int) -> None:
        self.page.mouse.wheel(0, dy)
        self.settle()

    def shows(self, views: list[Descriptor], *state: Any) -> None:
        """Another case in the viewer that is there; as it was left, where its state is given."""
        self.page.evaluate("([views, ...state]) => viewer.show(views, ...state)", [views, *state])
        self.settle()

    def boxes(self) -> list[FloatRect]:
        """Rectangles of the views on screen, in hanging order."""
        boxes = [pane.bounding_box() for pane in self.page.locator(".viewer-pane:visible").all()]
        return [box for box in boxes if box]

    def state(self) -> list[dict[str, Any]]:
        states: list[dict[str, Any]] = self.page.evaluate("() => viewer.state().views")
        return states

    def levels(self, place: int = 0) -> Greys:
        """What is on the canvas at `place` in hanging order, shape (height, width)."""
        width, height, text = self.page.evaluate("(place) => levels(place)", place)
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width)

    def image_at_one_to_one(self, view: Descriptor, place: int = 0) -> Greys:
        """The image part of the canvas at one image pixel per screen pixel; the image must be the smaller."""
        self.press("z")
        self.page.wait_for_function("() => viewer.state().views.some((view) => view.zoom === 1)")  # the key has come
        self.settle()
        shown = self.levels(place)
        top, left = (
            round((have - want) / 2 + 1e-9)
            for have, want in zip(shown.shape, (view["height"], view["width"]), strict=True)
        )
        return shown[top : top + view["height"], left : left + view["width"]]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE, device_scale_factor=1)
    yield context.new_page()
    context.close()


@pytest.fixture
def look(page: Page, stage: Stage) -> Iterator[Looker]:
    page.set_viewport_size(SIZE)
    looker = Looker(page, stage)
    yield looker
    looker.leave()


@pytest.fixture
def look_closely(browser: Browser, stage: Stage) -> Iterator[Looker]:
    """A screen of one and a half device pixels per CSS pixel, on which nothing falls on whole CSS pixels."""
    context = browser.new_context(viewport={"width": 777, "height": 555}, device_scale_factor=1.5)
    yield Looker(context.new_page(), stage)
    context.close()
