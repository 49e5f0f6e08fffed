"""How the views of a case hang, what stands over them, and what is kept of how they were left."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.pictures import smooth, two_views
from tests.browser.viewer.stage import Stage
from tests.browser.viewer.test_pixels import phantom


def test_frontal_hangs_left_and_larger(look: Looker, stage: Stage) -> None:
    views = [*two_views(stage, "case"), stage.add("third", smooth(), view_position="unknown")]
    look.mount_painted(views[2], views[0], views[1])
    labels = [view.get_attribute("aria-label") for view in look.page.get_by_role("img").all()]
    assert labels == ["Image 3: PA", "Image 2: LL", "Image 1: unknown"]
    look.mount_painted(*views[:2])
    boxes = look.boxes()
    assert boxes[0]["x"] < boxes[1]["x"]
    assert boxes[0]["width"] > boxes[1]["width"]
    look.page.set_viewport_size({"width": 600, "height": 700})
    look.settle()
    boxes = look.boxes()
    assert boxes[0]["width"] / boxes[1]["width"] == pytest.approx(1.35, rel=0.01)


@pytest.mark.parametrize(("n", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 2, 2), (6, 3, 2)])
def test_layout_by_number_of_views(look: Looker, stage: Stage, n: int, columns: int, rows: int) -> None:
    small = [stage.add(f"view{i}", phantom(12, 240, 180), view_position="AP") for i in range(n)]
    look.mount_painted(*small)
    boxes = look.boxes()
    assert len(boxes) == n
    assert len({box["x"] for box in boxes}) == columns
    assert len({box["y"] for box in boxes}) == rows


def test_fewer_views_in_the_next_case(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    look.mount_painted(*views)
    look.show_painted(*views[:1])
    assert look.page.locator(".viewer-pane:visible").count() == 1
    assert len(look.state()) == 1


def test_words_below_the_image(look: Looker, stage: Stage) -> None:
    views = [
        stage.add("a", phantom(8), bits=8, eight_bit=True, view_position="unknown", caption="simulated"),
        stage.add("b", phantom(12), view_position="AP", windows=[{"center": 2000, "width": 3000}]),
    ]
    look.mount_painted(*views)
    first, second = (pane.inner_text().split("\n") for pane in look.page.locator(".viewer-pane").all())
    assert first == ["AP", "L 2000 · W 3000", first[-1]]
    assert second == ["unknown", "8-bit", "simulated", *second[-2:]]  # a wider view has room for the sentence
    look.click("Flip")
    assert "\nflipped\n" in look.page.locator(".viewer-pane").first.inner_text()


def test_state_can_be_stored_and_restored(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    look.mount_painted(*views)
    look.press("Shift+Digit2", "+", "i")
    stored = look.state()
    picture = look.levels()
    look.press("r", "i")
    look.shows(views, {"views": stored})
    assert look.state() == stored
    assert np.array_equal(look.levels(), picture)


def test_resizing_keeps_the_image_fitted(look: Looker, stage: Stage) -> None:
    look.mount_painted(stage.add("a", smooth()))
    look.page.set_viewport_size({"width": 700, "height": 500})
    look.settle()
    shown = look.levels()
    size = look.page.evaluate("() => viewer_size().toJSON()")
    assert shown.shape == (int(size["height"]), int(size["width"]))
    rows = np.flatnonzero(shown.any(axis=1))
    assert (rows[0], rows[-1]) == (0, shown.shape[0] - 1)
