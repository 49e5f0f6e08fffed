"""Tools of the case page: layout steps, linked views, measures, and tools that a round hides."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import Descriptor, Stage
from tests.browser.viewer.test_pixels import phantom

POSITIONS = ["PA", "LL", "AP", "unknown"]


def views_of(stage: Stage, n: int) -> list[Descriptor]:
    return [stage.add(f"view{i}", phantom(12, 900, 800), view_position=POSITIONS[i]) for i in range(n)]


def shown(look: Looker) -> list[str]:
    """The positions on screen, in hanging order, as their corners say."""
    texts: list[str] = look.page.locator(".viewer-pane:visible .viewer-tag-position").all_inner_texts()
    return texts


class TestLayout:
    def test_all_two_one_and_all_again(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 4))
        layout = look.page.locator(".viewer-button-layout")
        assert (len(shown(look)), layout.inner_text()) == (4, "All views")
        look.press("p")
        assert (shown(look), layout.inner_text()) == (["PA · 1 / 4", "AP · 2 / 4"], "1–2 of 4")
        look.press("p")
        assert (shown(look), layout.inner_text()) == (["PA · 1 / 4"], "1 of 4")
        look.press("p")
        assert shown(look) == ["PA", "AP", "LL", "unknown"]

    def test_page_keys_step_through_the_views(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 3))
        look.press("PageDown")
        assert len(shown(look)) == 3
        look.press("p", "PageDown")
        assert shown(look) == ["AP · 2 / 3", "LL · 3 / 3"]
        look.press("p", "PageDown")
        assert shown(look) == ["LL · 3 / 3"]
        look.press("PageDown")
        assert shown(look) == ["PA · 1 / 3"]
        look.press("PageUp")
        assert shown(look) == ["LL · 3 / 3"]
        look.press("Escape")
        assert len(shown(look)) == 3

    def test_buttons_do_the_same(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 2))
        forward = look.page.get_by_role("button", name="›")
        assert forward.is_disabled()
        look.page.locator(".viewer-button-layout").click()
        forward.click()
        look.settle()
        assert shown(look) == ["LL · 2 / 2"]

    def test_arrows_on_a_view_bring_the_next_one_with_the_focus(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 2))
        look.page.locator(".viewer-view").first.focus()
        look.press("p", "ArrowRight")
        assert shown(look) == ["LL · 2 / 2"]
        expect(look.page.locator(".viewer-view").nth(1)).to_be_focused()

    def test_one_view_goes_back_to_as_many_as_before(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 4))
        look.press("p", ".", "PageDown")
        assert shown(look) == ["AP · 2 / 4"]
        look.press(".")
        assert shown(look) == ["PA · 1 / 4", "AP · 2 / 4"]
        look.press("f")
        assert shown(look) == ["AP · 2 / 4"]
        look.press("f")
        assert len(shown(look)) == 2

    def test_a_case_opens_with_all_its_views(self, look: Looker, stage: Stage) -> None:
        views = views_of(stage, 2)
        look.mount_painted(*views)
        look.press(".")
        look.page.evaluate("(views) => viewer.show(views, viewer.state())", views)
        look.settle()
        assert shown(look) == ["PA", "LL"]

    def test_nothing_to_step_through_with_one_view(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 1))
        look.press("p", ".", "PageDown", "s")
        assert shown(look) == ["PA"]
        assert look.page.locator(".viewer-button-layout").is_disabled()
        assert look.page.evaluate("() => viewer.state().linked") is False


class TestLinking:
    @pytest.fixture(autouse=True)
    def pair(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 2))

    def test_off_until_asked_for_and_nothing_jumps(self, look: Looker) -> None:
        look.press("+")
        before = look.state()
        assert before[1]["zoom"] is None
        look.press("s")
        assert look.state() == before
        assert look.page.get_by_role("button", name="Link").get_attribute("aria-pressed") == "true"

    def test_keys_change_all_views(self, look: Looker) -> None:
        look.press("s", "Shift+Digit2", "z")
        assert [(one["window"]["source"], one["zoom"]) for one in look.state()] == [("lungs", 1), ("lungs", 1)]
        look.press("s", "=", "Shift+Digit1")
        assert [(one["window"]["source"], one["zoom"]) for one in look.state()] == [("full", None), ("lungs", 1)]

    def test_drag_and_wheel_move_all_views_alike(self, look: Looker) -> None:
        look.press("s")
        look.drag((250, 300), (310, 300), "right")
        first, second = look.state()
        assert first["window"] == second["window"]
        assert first["window"]["source"] == "drag"
        look.press("z")
        look.turns_wheel(-300)
        first, second = look.state()
        assert first["zoom"] == second["zoom"] > 1
        look.drag((250, 300), (280, 330))
        before, after = second["center"], look.state()[1]["center"]
        assert after[0] < before[0]
        assert after[1] < before[1]


class TestMeasures:
    @pytest.fixture(autouse=True)
    def pair(self, look: Looker, stage: Stage) -> list[Descriptor]:
        views = views_of(stage, 2)
        look.mount_painted(*views)
        return views

    def words(self, look: Looker) -> list[str]:
        texts: list[str] = look.page.locator(".viewer-pane").first.locator("svg text").all_text_contents()
        return texts

    def test_a_line_above_the_pixels_that_follows_the_image(self, look: Looker) -> None:
        before = look.levels()
        look.press("l")
        look.drag((200, 200), (320, 290))
        look.press("Escape")
        [line] = look.state()[0]["measures"]
        zoom = look.page.evaluate("() => document.querySelector('.viewer-canvas').height / 900")
        width_zoom = look.page.evaluate("() => document.querySelector('.viewer-canvas').width / 800")
        assert self.words(look) == [f"{round(150 / min(zoom, width_zoom))} px"]
        assert np.array_equal(look.levels(), before)
        drawn = look.page.locator(".viewer-measure").bounding_box()
        look.press("z")
        moved = look.page.locator(".viewer-measure").bounding_box()
        assert drawn
        assert moved
        assert moved["width"] > drawn["width"]
        assert look.state()[0]["measures"] == [line]
        assert look.state()[1]["measures"] == []

    def test_no_line_without_the_tool_and_none_for_a_click(self, look: Looker) -> None:
        look.press("z")
        look.drag((200, 200), (260, 260))
        assert look.state()[0]["measures"] == []
        assert look.state()[0]["center"] != [0.5, 0.5]
        look.press("l")
        look.drag((200, 200), (201, 201))
        assert look.state()[0]["measures"] == []

    def test_cardiothoracic_ratio_by_two_drags(self, look: Looker) -> None:
        hint = look.page.locator(".viewer-on .viewer-tag-hint")
        look.press("q")
        assert "widest transverse cardiac diameter" in hint.inner_text()
        look.drag((200, 300), (320, 330))
        assert "widest internal thoracic diameter" in hint.inner_text()
        look.drag((130, 360), (380, 350))
        assert "CTR 0.48" in hint.inner_text()
        assert self.words(look) == ["CTR 0.48", "thorax"]
        heart, thorax = look.state()[0]["measures"]
        assert [heart["kind"], thorax["kind"]] == ["heart", "thorax"]
        assert heart["ends"][0][1] == heart["ends"][1][1]
        look.press("Escape")
        assert hint.inner_text() == ""

    def test_ends_can_be_dragged_also_when_flipped(self, look: Looker) -> None:
        look.press("q")
        look.drag((200, 300), (320, 300))
        look.drag((130, 360), (380, 360))
        look.press("Escape")
        look.drag((320, 300), (325, 300))
        assert self.words(look) == ["CTR 0.50", "thorax"]
        look.click("Flip")
        box = look.boxes()[0]
        mirrored = round(2 * box["x"] + box["width"] - 325)
        look.drag((mirrored, 300), (mirrored + 50, 300))
        assert self.words(look) == ["CTR 0.30", "thorax"]

    def test_delete_removes_the_one_in_hand_then_the_newest(self, look: Looker) -> None:
        look.press("l")
        for y in (200, 300, 400):
            look.drag((200, y), (300, y))
        first, second, third = look.state()[0]["measures"]
        look.drag((300, 200), (300, 200))
        look.press("Delete")
        assert look.state()[0]["measures"] == [second, third]
        look.press("Backspace")
        assert look.state()[0]["measures"] == [second]
        assert first not in look.state()[0]["measures"]

    def test_reset_keeps_what_was_measured_and_the_state_restores_it(
        self, look: Looker, pair: list[Descriptor]
    ) -> None:
        look.press("l")
        look.drag((200, 200), (320, 290))
        look.press("+", "r")
        stored = look.page.evaluate("() => viewer.state()")
        assert len(stored["views"][0]["measures"]) == 1
        said = self.words(look)
        look.press("Delete")
        assert self.words(look) == []
        look.shows(pair, stored)
        assert self.words(look) == said

    def test_right_button_and_wheel_work_on_with_a_tool_in_hand(self, look: Looker) -> None:
        look.press("l")
        look.drag((250, 300), (310, 300), "right")
        assert look.state()[0]["window"]["source"] == "drag"
        look.turns_wheel(-300)
        assert look.state()[0]["zoom"] is not None
        assert look.state()[0]["measures"] == []


class TestHiddenTools:
    EVERYTHING = ("presets", "window", "invert", "flip", "zoom", "link", "line", "ratio", "layout", "wide")
    KEYS = ("Shift+Digit2", "i", "=", "+", "z", "s", "l", "q", ".", "p", "f")

    def test_a_hidden_tool_has_neither_button_nor_key_nor_gesture(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 2), hidden=list(self.EVERYTHING))
        assert look.page.get_by_role("toolbar").get_by_role("button").all_inner_texts() == ["Reset", "⚙"]
        before = look.page.evaluate("() => viewer.state()")
        look.press(*self.KEYS)
        look.drag((200, 200), (260, 260))
        look.drag((200, 200), (260, 260), "right")
        look.page.mouse.wheel(0, -300)
        look.page.locator(".viewer-view").first.dblclick()
        look.settle()
        assert look.page.evaluate("() => viewer.state()") == before
        assert before["hidden"] == list(self.EVERYTHING)
        assert len(shown(look)) == 2
        assert look.complaints == []

    @pytest.mark.parametrize(
        ("tool", "buttons"),
        [
            ("presets", {"Scanner", "Full", "Lungs", "Mediastinum", "Contrast"}),
            ("zoom", {"Fit", "1:1", "Lens", "Left drag: pan"}),
            ("window", {"Left drag: pan"}),
            ("layout", {"‹", "›", "All views"}),
            ("ratio", {"CTR"}),
            ("link", {"Link"}),
        ],
    )
    def test_the_other_tools_stay(self, look: Looker, stage: Stage, tool: str, buttons: set[str]) -> None:
        bar = look.page.get_by_role("toolbar").get_by_role("button")
        views = views_of(stage, 2)
        look.mount(*views)
        everything = set(bar.all_inner_texts())
        look.mount(*views, hidden=[tool])
        assert everything - set(bar.all_inner_texts()) == buttons

    def test_without_zoom_the_left_button_windows(self, look: Looker, stage: Stage) -> None:
        look.mount_painted(*views_of(stage, 1), hidden=["zoom"])
        look.drag((250, 300), (310, 300))
        assert look.state()[0]["window"]["source"] == "drag"


@pytest.mark.parametrize(("width", "n_before"), [(910, 0), (966, 2)])  # of 1366, beside the question
def test_the_toolbar_keeps_to_one_row_beside_the_question(
    look: Looker, stage: Stage, width: int, n_before: int
) -> None:
    look.page.set_viewport_size({"width": width, "height": 728})
    views = views_of(stage, 4)
    look.mount_painted(*({**view, "prior": True} for view in views[:n_before]), *views[n_before:])
    look.page.evaluate("document.body.style.fontFamily = 'DejaVu Sans'")  # the widest of the usual ones
    for keys in ([], ["p"], ["p"], ["l"]):
        look.press(*keys)
        tops = {button.bounding_box()["y"] for button in look.page.get_by_role("toolbar").get_by_role("button").all()}  # type: ignore[index]
        assert len(tops) == 1


def test_what_is_stored_of_a_case_stays_small(look: Looker, stage: Stage) -> None:
    look.mount_painted(*views_of(stage, 1))
    look.press("l")
    for y in range(100, 590, 20):
        look.drag((200, y), (500, y + 7))
    assert len(look.state()[0]["measures"]) == 20
    assert look.page.evaluate("() => JSON.stringify(viewer.state()).length") < 2500
