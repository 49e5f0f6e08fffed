"""Images that do not come, bytes that are wrong, a browser without workers, and a viewer that is taken away."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.pictures import two_views
from tests.browser.viewer.stage import Stage
from tests.browser.viewer.test_pixels import phantom


def test_an_image_that_cannot_be_read_is_said_and_taken_back(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    stage.broken = {views[0]["full"], views[0]["preview"]}
    look.mount(*views)
    look.wait_for("error", 0)
    look.wait_for("painted", 1, "full")
    look.press("w")
    note = look.wait_for("ready", 0)
    assert (note["what"]["views"], note["what"]["unreadable"]) == ([1], [0])
    assert look.wait_for("unreadable", 0)["what"] is True
    box = look.page.locator(".viewer-error:visible")
    assert "Marked as unreadable" in box.inner_text()
    look.page.evaluate("() => { told.length = 0 }")
    box.get_by_role("button", name="Undo").click()
    assert look.wait_for("unreadable", 0)["what"] is False
    assert look.page.evaluate("() => viewer.missing()") == {"loading": [], "failed": [0]}
    stage.broken = set()
    look.press("n")
    look.wait_for("ready", 0)
    look.press("w", "n")  # nothing has failed: the keys do nothing
    assert look.page.evaluate("() => viewer.unreadable()") == []


def test_a_failed_image_says_so_and_can_be_tried_again(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    stage.broken = {views[0]["full"], views[0]["preview"]}
    look.mount(*views)
    note = look.wait_for("error", 0)
    look.wait_for("painted", 1, "full")
    assert "could not be shown" in note["what"]
    assert "503" in note["what"]
    assert look.page.locator(".viewer-error:visible").count() == 1
    stage.broken = set()
    look.page.get_by_role("button", name="Try again").click()
    look.wait_for("painted", 0, "full")
    assert look.page.locator(".viewer-error:visible").count() == 0


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (("application/octet-stream", "", b"too short"), "incomplete"),
        (("application/octet-stream", "zstd", b"this is not zstd"), "incomplete"),
        (("text/html", "", b"<p>Please log in</p>"), "refused"),
        (("image/webp", "", b"not a picture"), "incomplete"),
    ],
)
def test_wrong_bytes_are_told_and_not_drawn(
    look: Looker, stage: Stage, answer: tuple[str, str, bytes], sentence: str
) -> None:
    view = stage.add("bad", phantom(12))
    stage.files[view["full"]] = answer
    look.mount(view)
    assert sentence in look.wait_for("error", 0)["what"]


def test_destroy_leaves_nothing_behind(look: Looker, stage: Stage) -> None:
    look.mount_painted(*two_views(stage, "case"))
    look.press("f")
    look.page.evaluate("() => viewer.destroy()")
    assert look.page.locator("#case-images *").count() == 0
    assert "viewer-wide" not in (look.page.locator("html").get_attribute("class") or "")
    look.press("i", "r")
    assert look.complaints == []


def test_without_workers_the_page_decodes_itself(look: Looker, stage: Stage) -> None:
    view = stage.add("a", phantom(12))
    look.mount_painted(view, worker="/static/case/viewer/no-such-worker.js")
    assert np.ptp(look.levels()) > 100
