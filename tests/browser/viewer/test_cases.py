"""The life of a case in the viewer: preview, full depth, the prepared turn, failures, memory, layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import Descriptor, Stage
from tests.browser.viewer.test_pixels import phantom

pytestmark = pytest.mark.browser


def smooth(height: int = 1250, width: int = 1024) -> NDArray[np.uint16]:
    """A picture with shape and no symmetry, so that a shift or a flip shows."""
    y, x = np.mgrid[0:height, 0:width]
    body = 2000 + 1200 * np.sin(x / 97 + y / 311) + 700 * np.cos(y / 83 - x / 401)
    body[(y - 300) ** 2 + (x - 260) ** 2 < 90**2] = 3900
    pixels: NDArray[np.uint16] = np.rint(body.clip(0, 4095)).astype(np.uint16)
    return pixels


def two_views(stage: Stage, case: str, **more: Any) -> list[Descriptor]:
    pixels = smooth()
    return [
        stage.add(f"{case}-lateral", pixels[::-1].copy(), view_position="LL", **more),
        stage.add(f"{case}-frontal", pixels, view_position="PA", **more),
    ]


def test_preview_first_then_full_depth_in_the_same_place(look: Looker, stage: Stage) -> None:
    view = stage.add("one", smooth(), windows=[{"center": 2048, "width": 4096, "function": "LINEAR", "label": ""}])
    gate = stage.hold(view["full"])
    look.mount(view)
    look.wait_for("painted", 0, "preview")
    before = look.levels().astype(int)
    gate.set()
    look.wait_for("painted", 0, "full")
    after = look.levels().astype(int)
    assert before.shape == after.shape
    assert np.abs(before - after).mean() < 3
    shifted = [np.abs(np.roll(before, step, axis) - after).mean() for step in (-2, 2) for axis in (0, 1)]
    assert np.abs(before - after).mean() < min(shifted)
    told = look.page.evaluate("() => told")
    assert [note["what"] for note in told if note["kind"] == "painted"] == ["preview", "full"]
    assert look.complaints == []


def test_preview_obeys_invert_flip_and_zoom(look: Looker, stage: Stage) -> None:
    view = stage.add("one", smooth(), windows=[{"center": 2048, "width": 4096, "function": "LINEAR", "label": ""}])
    gate = stage.hold(view["full"])
    look.mount(view)
    look.wait_for("painted", 0, "preview")
    look.press("i", "+")
    look.page.get_by_role("button", name="Flip").click()
    look.settle()
    before = look.levels().astype(int)
    gate.set()
    look.wait_for("painted", 0, "full")
    assert np.abs(before - look.levels().astype(int)).mean() < 3


def test_prepared_case_is_painted_in_the_next_frame(look: Looker, stage: Stage) -> None:
    look.mount_painted(*two_views(stage, "first"))
    second = two_views(stage, "second")
    prepare(look, second)
    frames = look.page.evaluate(
        """async (views) => {
            told.length = 0;
            viewer.show(views);
            const drawn = levels(0)[2] !== levels(1)[2];
            let frames = 0;
            while (told.filter((n) => n.what === "full").length < 2 && frames < 20) {
                await new Promise(requestAnimationFrame);
                frames++;
            }
            return [frames, drawn, told.filter((n) => n.kind === "painted").map((n) => n.what)];
        }""",
        second,
    )
    assert frames[0] <= 2
    assert frames[1], "the canvases hold the pictures before the next frame"
    assert frames[2] == ["full", "full"], "a prepared case needs no preview"


def prepare(look: Looker, *cases: list[Descriptor]) -> None:
    """Prepare cases, and wait until the first two are decoded."""
    look.page.evaluate(
        """async (cases) => {
            viewer.prepare(...cases);
            const all = cases.slice(0, 2).flat();
            for (let i = 0; i < 1000 && !viewer.isReady(all); i++) await new Promise((go) => setTimeout(go, 10));
        }""",
        list(cases),
    )


def in_memory(look: Looker) -> list[str]:
    kept: list[str] = look.page.evaluate("() => kept()")
    return kept


def addresses(*cases: list[Descriptor]) -> set[str]:
    return {view["full"] for case in cases for view in case}


def test_only_the_current_and_two_prepared_cases_are_kept(look: Looker, stage: Stage) -> None:
    cases = [two_views(stage, f"case{n}") for n in range(5)]
    look.mount_painted(*cases[0])
    prepare(look, *cases[1:4])
    assert set(in_memory(look)) == addresses(*cases[:3]), "two are prepared, however many are given"
    asked = len(stage.asked)
    look.page.evaluate("(views) => { told.length = 0; viewer.show(views) }", cases[2])
    look.wait_for("painted", 1, "full")
    assert len(stage.asked) == asked, "the second case ahead was there, too"
    prepare(look, cases[3], cases[4])
    assert set(in_memory(look)) == addresses(*cases[2:]), "what was on screen before and what was passed over is let go"


def test_a_turn_that_is_not_sure_can_be_taken_back(look: Looker, stage: Stage) -> None:
    first, second, third = (two_views(stage, name) for name in ("first", "second", "third"))
    look.mount_painted(*first)
    prepare(look, second, third)
    look.press("Shift+Digit2", "+", "i")
    left, picture, asked = look.state(), look.levels(), len(stage.asked)
    look.page.evaluate("(views) => { told.length = 0; back = viewer.turnTo(views) }", second)
    look.wait_for("painted", 1, "full")
    assert not look.state()[0]["invert"]
    assert set(in_memory(look)) == addresses(first, second, third), "never more than three cases"
    look.page.evaluate("() => { told.length = 0; back() }")
    look.wait_for("ready", 0)
    look.settle()
    assert look.state() == left
    assert np.array_equal(look.levels(), picture)
    assert len(stage.asked) == asked


def test_the_case_on_screen_does_not_share_the_line_with_what_is_prepared(look: Looker, stage: Stage) -> None:
    shown, ahead = stage.add("shown", smooth()), stage.add("ahead", smooth())
    gate = stage.hold(shown["full"])
    look.mount(shown)
    look.page.evaluate("(views) => viewer.prepare(views)", [ahead])
    look.wait_for("painted", 0, "preview")
    look.settle()
    assert not addresses([ahead]) & set(stage.asked)
    assert ahead["preview"] not in stage.asked
    gate.set()
    look.wait_for("painted", 0, "full")
    look.page.evaluate(
        "async (views) => { while (!viewer.isReady(views)) await new Promise(requestAnimationFrame) }", [ahead]
    )


def test_ready_is_told_once_in_the_frame_that_completes_the_case(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    gate = stage.hold(views[1]["full"])
    look.mount(*views)
    look.wait_for("painted", 0, "full")
    assert look.page.evaluate("() => viewer.missing()") == {"loading": [1], "failed": []}
    look.press(".", "i")  # one view alone: what was painted before counts
    gate.set()
    look.press(".")
    note = look.wait_for("ready", 0)
    assert note["what"]["views"] == [1, 0]
    assert note["what"]["unreadable"] == []
    look.press("i", "+", ".")
    kinds = [note["kind"] for note in look.page.evaluate("() => told")]
    assert kinds.count("ready") == 1
    assert kinds.index("ready") == len(kinds) - 1
    assert look.page.evaluate("() => viewer.missing()") == {"loading": [], "failed": []}


def test_a_view_that_was_never_on_screen_is_not_ready(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    gate = stage.hold(views[0]["full"])
    look.mount(*views)
    look.wait_for("painted", 1, "full")
    look.press(".")  # the frontal view alone
    gate.set()
    look.page.evaluate(
        "async (views) => { while (!viewer.isReady(views)) await new Promise(requestAnimationFrame) }", views
    )
    look.settle()
    assert not [note for note in look.page.evaluate("() => told") if note["kind"] == "ready"]
    look.press(".")
    look.wait_for("ready", 0)


def test_a_case_without_images_is_ready(look: Looker) -> None:
    look.mount()
    assert look.wait_for("ready", 0)["what"]["views"] == []


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
    assert "cannot be read" in box.inner_text()
    look.page.evaluate("() => { told.length = 0 }")
    box.get_by_role("button", name="Take it back").click()
    assert look.wait_for("unreadable", 0)["what"] is False
    assert look.page.evaluate("() => viewer.missing()") == {"loading": [], "failed": [0]}
    stage.broken = set()
    look.press("n")
    look.wait_for("ready", 0)
    look.press("w", "n")  # nothing has failed: the keys do nothing
    assert look.page.evaluate("() => viewer.unreadable()") == []


def test_behind_the_veil_nothing_is_told_and_no_preview_is_fetched(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    gate = stage.hold(views[1]["full"])
    look.mount(*views, veiled=True, previews=False)
    look.page.evaluate(
        "async (views) => { while (!viewer.isReady(views)) await new Promise(requestAnimationFrame) }", views[:1]
    )
    look.settle()
    assert look.page.evaluate("() => told") == []
    gate.set()
    look.wait_for("whole", 0)
    assert [note["kind"] for note in look.page.evaluate("() => told")] == ["whole"]
    look.page.evaluate("() => requestAnimationFrame(() => viewer.unveil())")
    look.wait_for("ready", 0)
    assert not [path for path in stage.asked if path.startswith("/preview/")]


def test_questions_on_the_same_exam_share_its_images(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "exam")
    look.mount_painted(*views)
    look.press("i", "+")
    look.page.evaluate("(views) => { told.length = 0; viewer.show(views) }", views)
    look.wait_for("painted", 0, "full")
    assert stage.asked.count(views[0]["full"]) == 1
    assert all(not state["invert"] and state["zoom"] is None for state in look.state())


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
    look.page.evaluate("(views) => { told.length = 0; viewer.show(views) }", views[:1])
    look.wait_for("painted", 0, "full")
    assert look.page.locator(".viewer-pane:visible").count() == 1
    assert len(look.state()) == 1


def test_words_over_the_image(look: Looker, stage: Stage) -> None:
    views = [
        stage.add("a", phantom(8), bits=8, eight_bit=True, view_position="unknown", caption="simulated"),
        stage.add("b", phantom(12), view_position="AP", windows=[{"center": 2000, "width": 3000}]),
    ]
    look.mount_painted(*views)
    first, second = (box.inner_text() for box in look.page.locator(".viewer-view").all())
    assert "AP" in first
    assert "L 2000 · W 3000" in first
    assert "8-bit" not in first
    assert "unknown" in second
    assert "\n8-bit\n" in second  # a narrow view; a wider one has room for the sentence
    assert "simulated" in second
    assert "mm" not in first + second
    assert "flipped" not in first
    look.page.get_by_role("button", name="Flip").click()
    look.settle()
    assert "flipped left to right" in look.page.locator(".viewer-view").first.inner_text()


def test_state_can_be_stored_and_restored(look: Looker, stage: Stage) -> None:
    views = two_views(stage, "case")
    look.mount_painted(*views)
    look.press("Shift+Digit2", "+", "i")
    stored = look.state()
    picture = look.levels()
    look.press("r", "i")
    look.page.evaluate("([views, stored]) => viewer.show(views, { views: stored })", [views, stored])
    look.settle()
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
    look.mount_painted(view, worker="/static/annotation/viewer/no-such-worker.js")
    assert np.ptp(look.levels()) > 100
