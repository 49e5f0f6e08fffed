"""Keys, pointer and toolbar."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.stage import Descriptor, Stage
from tests.browser.viewer.test_pixels import phantom

SCANNER = [
    {"center": 2000, "width": 3000, "function": "LINEAR", "label": "normal"},
    {"center": 1500, "width": 1000, "function": "LINEAR", "label": "hard"},
]


@pytest.fixture
def pair(look: Looker, stage: Stage) -> list[Descriptor]:
    views = [
        stage.add("frontal", phantom(12, 900, 800), view_position="PA", windows=SCANNER),
        stage.add("lateral", phantom(12, 900, 700), view_position="LL"),
    ]
    look.mount_painted(*views)
    return views


@pytest.mark.usefixtures("pair")
class TestKeys:
    def test_invert_is_for_all_views(self, look: Looker) -> None:
        before = look.levels(1)
        look.press("i")
        assert [state["invert"] for state in look.state()] == [True, True]
        inside = before.any(axis=0)
        assert np.array_equal(255 - before[:, inside][300], look.levels(1)[:, inside][300])
        look.press("i")
        assert np.array_equal(look.levels(1), before)

    def test_presets_by_place_of_the_key_on_the_active_view_only(self, look: Looker) -> None:
        look.page.locator(".viewer-view").nth(1).focus()
        look.press("Shift+Digit4")
        first, second = (state["window"] for state in look.state())
        assert (first["center"], first["width"]) == (2000, 3000)
        assert (second["source"], second["function"]) == ("contrast", "CURVE")

    def test_digits_without_shift_are_the_answer(self, look: Looker) -> None:
        before = look.state()
        look.press("1", "2", "3", "4", "a", "b", "c", "d", "Enter")
        assert look.state() == before

    def test_zoom_one_to_one_fit_and_reset(self, look: Looker) -> None:
        look.press("z")
        assert look.state()[0]["zoom"] == 1
        look.press("+", "-")
        assert look.state()[0]["zoom"] == pytest.approx(1)
        look.press("=")
        assert look.state()[0]["zoom"] is None
        opening = look.state()[0]
        look.press("+", "Shift+Digit2", "r")
        assert look.state()[0] == opening

    def test_repeat_counts_for_zoom_only(self, look: Looker) -> None:
        keyboard = look.page.keyboard
        for _ in range(3):
            keyboard.down("i")
        keyboard.up("i")
        for _ in range(3):
            keyboard.down("+")
        look.settle()
        fit = look.page.evaluate("() => document.querySelector('.viewer-canvas').height / 900")
        width_fit = look.page.evaluate("() => document.querySelector('.viewer-canvas').width / 800")
        assert look.state()[0]["invert"] is True
        assert look.state()[0]["zoom"] == pytest.approx(min(fit, width_fit) * 1.25**3)

    def test_silent_while_typing_and_in_dialogs(self, look: Looker) -> None:
        before = look.state()
        look.page.locator("#comment").focus()
        look.press("i", "z", "+", ".", "f", "Shift+Digit2")
        assert look.state() == before
        assert look.page.locator("#comment").input_value() == "iz+.f@"
        look.page.locator("#comment").blur()
        look.page.evaluate("() => document.getElementById('dialog').showModal()")
        look.press("i", "z", "f")
        assert look.state() == before

    def test_shortcuts_of_the_browser_stay(self, look: Looker) -> None:
        before = look.state()
        look.press("Control+i", "Alt+z", "Meta+i")
        assert look.state() == before

    def test_arrows_move_between_views_from_anywhere(self, look: Looker) -> None:
        views = look.page.locator(".viewer-view")
        look.press("ArrowDown")
        assert views.nth(1).evaluate("(node) => node !== document.activeElement")
        look.press("ArrowRight")
        assert views.nth(1).evaluate("(node) => node === document.activeElement")
        views.nth(0).focus()
        look.press("ArrowRight")
        assert views.nth(1).evaluate("(node) => node === document.activeElement")
        look.press("ArrowRight")
        assert views.nth(0).evaluate("(node) => node === document.activeElement")

    def test_one_view_and_back(self, look: Looker) -> None:
        shown = look.page.locator(".viewer-pane:visible")
        look.press(".")
        assert shown.count() == 1
        assert look.boxes()[0]["width"] == 1000
        look.press("Escape")
        assert shown.count() == 2
        look.page.locator(".viewer-view").nth(1).dblclick()
        assert shown.count() == 1
        assert "LL" in shown.first.inner_text()
        look.page.locator(".viewer-view:visible").dblclick()
        assert shown.count() == 2

    def test_full_screen_covers_the_page_with_keys_live(self, look: Looker) -> None:
        heard = "() => { window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key)) }"
        look.page.evaluate(heard)
        look.press("f")
        box = look.boxes()[0]
        assert (box["x"], box["y"], box["width"]) == (0, 0, 1000)
        assert box["height"] > 640
        look.press("2", "Enter")
        assert look.page.evaluate("() => heard") == ["f", "2", "Enter"]
        look.press("f")
        assert look.page.locator(".viewer-pane:visible").count() == 2


@pytest.mark.usefixtures("pair")
class TestPointer:
    def test_left_drag_pans_and_the_image_follows_the_hand(self, look: Looker) -> None:
        look.press("z")
        before = look.levels()
        look.drag((250, 300), (290, 330))
        assert np.array_equal(look.levels()[100:400, 100:400], before[70:370, 60:360])
        assert look.state()[1]["center"] == [0.5, 0.5]

    def test_right_drag_windows_wider_to_the_right_darker_downwards(self, look: Looker) -> None:
        look.drag((250, 300), (310, 300), "right")
        first, second = (state["window"] for state in look.state())
        assert first["width"] > 3000
        assert first["center"] == 2000
        assert second["width"] != first["width"]
        brightness = look.levels().mean()
        look.drag((250, 300), (250, 360), "right")
        assert look.levels().mean() < brightness

    def test_modifier_does_what_the_right_button_does(self, look: Looker) -> None:
        look.page.keyboard.down("Shift")
        look.drag((250, 300), (310, 300))
        look.page.keyboard.up("Shift")
        assert look.state()[0]["window"]["width"] > 3000
        assert look.state()[0]["zoom"] is None

    def test_toolbar_swaps_what_the_left_button_drags(self, look: Looker) -> None:
        look.page.get_by_role("button", name="Left drag: pan").click()
        look.drag((250, 300), (310, 300))
        assert look.state()[0]["window"]["width"] > 3000
        look.drag((250, 300), (310, 300), "right")
        assert look.state()[0]["center"] != [0.5, 0.5]

    def test_window_never_gets_narrower_than_its_function_allows(self, look: Looker) -> None:
        look.drag((250, 300), (10, 300), "right")
        look.drag((250, 300), (10, 300), "right")
        assert look.state()[0]["window"]["width"] >= 1
        assert look.complaints == []

    def test_wheel_zooms_at_the_pointer(self, look: Looker) -> None:
        before = look.levels()[300, 250]
        look.page.mouse.move(250, 300)
        look.turns_wheel(-300)
        assert look.state()[0]["zoom"] is not None
        assert abs(int(look.levels()[300, 250]) - int(before)) <= 8
        look.page.mouse.move(100, 100)
        look.turns_wheel(300)


@pytest.mark.usefixtures("pair")
class TestToolbar:
    def test_one_tab_stop_and_arrows_inside(self, look: Looker) -> None:
        bar = look.page.get_by_role("toolbar")
        assert bar.locator('button[tabindex="0"]').count() == 1
        bar.get_by_role("button").first.focus()
        look.press("ArrowRight", "ArrowRight")
        assert bar.get_by_role("button", name="Full", exact=True).evaluate("(node) => node === document.activeElement")
        look.press("Enter")
        assert look.state()[0]["window"]["source"] == "full"

    def test_scanner_windows_in_turn(self, look: Looker) -> None:
        button = look.page.get_by_role("button", name="Scanner")
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
        assert look.state()[0]["window"]["label"] == "hard"
        button.click()
        assert look.state()[0]["window"]["label"] == "normal"
        look.page.locator(".viewer-view").nth(1).focus()
        assert button.is_disabled()

    def test_the_scanner_window_in_use_is_named_where_there_are_several(self, look: Looker) -> None:
        tag = look.page.locator(".viewer-tag-window").first
        assert tag.inner_text() == "window 1 of 2 · L 2000 · W 3000"
        look.click("Scanner")
        assert tag.inner_text() == "window 2 of 2 · L 1500 · W 1000"
        look.press("Shift+Digit1")
        assert "window" not in tag.inner_text()

    def test_every_button_has_a_title(self, look: Looker) -> None:
        for button in look.page.get_by_role("toolbar").get_by_role("button").all():
            assert button.get_attribute("title")
            assert button.inner_text()

    def test_no_element_carries_a_style_of_the_page(self, look: Looker) -> None:
        assert look.complaints == []


def test_a_table_is_named_and_keeps_its_name_when_dragged(look: Looker, stage: Stage) -> None:
    data = base64.b64encode(np.linspace(0, 4095, 3000).astype("<u2").tobytes()).decode()
    tables = [{"first": 0, "bits": 12, "data": data}]
    alone, beside = (
        stage.add(name, phantom(12, 900, 800), voi_luts=tables, windows=windows)
        for name, windows in (("alone", []), ("beside", SCANNER[:1]))
    )
    look.mount_painted(alone, beside)
    tags = look.page.locator(".viewer-tag-window")
    assert tags.all_inner_texts() == ["L 1500 · W 3000", "table 1 of 2 · L 1500 · W 3000"]
    view = look.page.locator(".viewer-view").nth(1)
    view.focus()
    look.click("Scanner")
    assert tags.nth(1).inner_text() == "window 2 of 2 · L 2000 · W 3000"
    look.page.get_by_role("button", name="Scanner").click()
    view.hover()
    look.page.mouse.down(button="right")
    look.page.mouse.move(500, 500)
    look.page.mouse.up(button="right")
    look.settle()
    assert tags.nth(1).inner_text().startswith("table, stretched · L ")
