"""The life of a case in the viewer: preview, full depth, the prepared turn, memory, when it is ready."""

from __future__ import annotations

import numpy as np

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.pictures import smooth, two_views
from tests.browser.viewer.stage import Descriptor, Stage


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
    look.click("Flip")
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
    look.show_painted(*cases[2])
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
    look.show_painted(*views)
    assert stage.asked.count(views[0]["full"]) == 1
    assert all(not state["invert"] and state["zoom"] is None for state in look.state())
