"""Looking closely, by keyboard, by touch, and in the way that this browser remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.browser.viewer.conftest import Greys, Looker
from tests.browser.viewer.stage import Descriptor, Stage
from tests.browser.viewer.test_pixels import phantom

TOUCH = """(touches) => {
    const surface = document.querySelector(".viewer-view");
    const { left, top } = surface.getBoundingClientRect();
    for (const [type, pointerId, x, y] of touches) {
        const at = { clientX: left + x, clientY: top + y, pointerType: "touch", pointerId, bubbles: true };
        surface.dispatchEvent(new PointerEvent(type, at));
    }
}"""


@pytest.fixture
def pair(look: Looker, stage: Stage) -> list[Descriptor]:
    views = [
        stage.add("frontal", phantom(12, 900, 800), view_position="PA"),
        stage.add("lateral", phantom(12, 900, 700), view_position="LL"),
    ]
    look.mount_painted(*views)
    return views


def lens(look: Looker) -> Any:
    return look.page.locator(".viewer-lens")


@pytest.mark.usefixtures("pair")
class TestClosely:
    def test_the_magnifier_is_there_while_its_key_is_held(self, look: Looker) -> None:
        look.page.mouse.move(300, 300)
        before = look.state()
        look.page.keyboard.down("Backslash")
        box = lens(look).bounding_box()
        assert (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) == pytest.approx((300, 300), abs=1)
        look.page.mouse.move(340, 300)
        assert lens(look).bounding_box()["x"] - box["x"] == pytest.approx(40, abs=1)
        look.page.keyboard.up("Backslash")
        assert lens(look).count() == 0
        assert look.state() == before

    def test_the_magnifier_shows_the_image_pixels_under_the_pointer(self, look: Looker, stage: Stage) -> None:
        """Of an image that is shown at half its size, twice as large is one to one."""
        view = stage.add("large", phantom(12, 1200, 1400), view_position="PA")
        look.show_painted(view)
        look.page.mouse.move(500, 300)
        look.page.keyboard.down("Backslash")
        shown = look.page.evaluate(
            """() => {
                const lens = document.querySelector(".viewer-lens");
                const { data } = lens.getContext("2d").getImageData(0, lens.height / 2, lens.width, 1);
                return [lens.width, Array.from({ length: lens.width }, (_, i) => data[4 * i])];
            }"""
        )
        look.page.keyboard.up("Backslash")
        width, middle = shown
        whole = look.levels()
        assert np.ptp(middle) <= np.ptp(whole[300])
        assert abs(int(middle[width // 2]) - int(whole[300, 500])) <= 3

    def test_one_to_one_keeps_what_is_under_the_pointer(self, look: Looker) -> None:
        look.page.mouse.move(100, 120)
        under = look.levels()[120, 100]
        look.press("z")
        [one, _] = look.state()
        assert (one["zoom"], one["center"] == [0.5, 0.5]) == (1, False)
        assert abs(int(look.levels()[120, 100]) - int(under)) <= 12

    def test_the_zoom_stands_in_the_corner(self, look: Looker) -> None:
        tag = look.page.locator(".viewer-tag-zoom").first
        fit = tag.inner_text()
        assert 30 < int(fit.removesuffix(" %")) < 90
        look.press("z")
        assert tag.inner_text() == "100 %"
        look.press("=")
        assert tag.inner_text() == fit

    def test_a_ratio_is_measured_on_frontal_views_only(self, look: Looker) -> None:
        button = look.page.get_by_role("button", name="CTR")
        look.press("Shift+Digit6")
        assert button.is_disabled()
        look.press("q", "Shift+Digit5")
        assert (button.is_disabled(), button.get_attribute("aria-pressed")) == (False, "false")
        look.press("q", "Shift+Digit6")
        look.drag((800, 300), (860, 300))
        assert [one["measures"] for one in look.state()] == [[], []]


@pytest.mark.usefixtures("pair")
class TestKeys:
    def test_each_view_has_a_key_that_leaves_the_focus_where_it_is(self, look: Looker) -> None:
        active = "() => viewer.state().active"
        focused = "() => document.activeElement.className"
        before = look.page.evaluate(focused)
        for key, place in (("Shift+Digit6", 1), ("Shift+Digit5", 0), ("Shift+Digit8", 0)):
            look.press(key)
            assert look.page.evaluate(active) == place
        assert look.page.evaluate(focused) == before
        look.press(".", "Shift+Digit6")
        assert look.page.locator(".viewer-pane:visible .viewer-tag-position").all_inner_texts() == ["LL · 2 / 2"]

    def test_arrows_pan_with_shift_and_window_with_control(self, look: Looker) -> None:
        look.press("z")
        start = look.state()[0]
        look.press("Shift+ArrowRight", "Shift+ArrowDown")
        panned = look.state()[0]
        assert (panned["center"][0] < start["center"][0], panned["center"][1] < start["center"][1]) == (True, True)
        look.press("Control+ArrowRight")
        wider = look.state()[0]["window"]
        assert (wider["width"] > start["window"]["width"], wider["center"]) == (True, start["window"]["center"])
        look.press("Control+ArrowDown")
        assert look.state()[0]["window"]["center"] > wider["center"]  # darker, as dragged
        assert look.page.evaluate("() => viewer.state().active") == 0

    def test_reset_resets_all(self, look: Looker) -> None:
        before = look.page.evaluate("() => viewer.state()")
        look.press("i", "z", "s", "Shift+Digit2", "Shift+Digit6", "z", ".", "l")
        assert look.page.evaluate("() => viewer.state()") != before
        look.press("Shift+Digit5", "r")
        assert look.page.evaluate("() => viewer.state()") == before
        assert look.page.get_by_role("button", name="Line").get_attribute("aria-pressed") == "false"

    def test_two_fingers_zoom_between_them_and_one_ends(self, look: Looker) -> None:
        fit = look.page.evaluate("() => document.querySelector('.viewer-tag-zoom').innerText")
        look.page.evaluate(
            TOUCH,
            [
                ["pointerdown", 7, 200, 300],
                ["pointerdown", 8, 300, 300],
                ["pointermove", 8, 400, 300],
                ["pointerup", 8, 400, 300],
                ["pointermove", 7, 260, 300],
                ["pointerup", 7, 260, 300],
            ],
        )
        look.settle()
        zoom = int(look.page.locator(".viewer-tag-zoom").first.inner_text().removesuffix(" %"))
        assert zoom == pytest.approx(2 * int(fit.removesuffix(" %")), abs=2)


class TestRemembered:
    def test_settings_are_for_this_browser(self, look: Looker, stage: Stage, pair: list[Descriptor]) -> None:
        look.page.get_by_role("button", name="⚙").click()
        group = look.page.get_by_role("group")
        group.get_by_label("Left button").select_option("window")
        group.get_by_label("Lateral view").select_option("left")
        group.get_by_label("Images open with").select_option("lungs")
        look.page.keyboard.press("Escape")
        assert not group.is_visible()
        frontal, lateral = look.boxes()
        assert lateral["x"] < frontal["x"]
        look.mount_painted(*pair)
        frontal, lateral = look.boxes()
        assert lateral["x"] < frontal["x"]
        assert look.page.get_by_role("button", name="Left drag: window").is_visible()
        look.settle()
        assert [one["window"]["source"] for one in look.state()] == ["lungs", "lungs"]
        look.press("r")
        assert [one["window"]["source"] for one in look.state()] == ["full", "full"]

    def test_what_cannot_be_read_is_as_it_comes(self, look: Looker, pair: list[Descriptor]) -> None:
        for kept in ('{"drag": "swing", "lateral": 7}', "[", "null"):
            look.page.evaluate("(kept) => localStorage.setItem('viewer-preferences', kept)", kept)
            look.mount_painted(*pair)
            assert look.page.get_by_role("button", name="Left drag: pan").is_visible()
        look.page.evaluate("() => localStorage.clear()")


def test_a_film_is_turned_by_quarters_and_says_so(look: Looker, stage: Stage) -> None:
    pixels = phantom(12, 300, 200)
    view = stage.add("lying", pixels, view_position="PA")
    look.mount_painted(view)
    upright = look.image_at_one_to_one(view)
    button, badge = look.page.get_by_role("button", name="Turn a quarter"), look.page.locator(".viewer-tag-badge")
    button.click()
    look.settle()
    turned = {**view, "width": view["height"], "height": view["width"]}
    assert np.array_equal(look.image_at_one_to_one(turned), np.rot90(upright, -1))
    assert badge.inner_text() == "turned"
    stored = look.state()
    look.shows([view], {"views": stored})
    assert np.array_equal(look.image_at_one_to_one(turned), np.rot90(upright, -1))
    look.press("r", "z")
    assert np.array_equal(look.image_at_one_to_one(view), upright)
    assert badge.inner_text() == ""


def difference(one: Greys, other: Greys) -> int:
    """The largest in grey, where the two lie best on each other: a turn may move a picture by a pixel."""
    inner = one[1:-1, 1:-1].astype(int)
    rows, columns = inner.shape
    shifted = (other[y : y + rows, x : x + columns] for y in range(3) for x in range(3))
    return min(int(np.abs(inner - one_of).max()) for one_of in shifted)


@pytest.mark.parametrize("flip", [False, True])
def test_a_turn_in_either_direction_keeps_place_window_and_measures(
    look: Looker, stage: Stage, backend: str, flip: bool
) -> None:
    view = stage.add("lying", phantom(12, 300, 200), spacing=[0.2, 0.2], spacing_calibrated=True)
    look.mount_painted(view, backend=backend)
    state = {**look.state()[0], "zoom": 2, "center": [0.4, 0.6], "flip": flip}
    look.shows([view], {"views": [state]})
    look.press("Shift+Digit2")
    for tool, *drags in (("l", (450, 300, 550, 340)), ("q", (430, 250, 530, 250), (400, 280, 600, 280))):
        look.press(tool)
        for x0, y0, x1, y1 in drags:
            look.drag((x0, y0), (x1, y1))
        look.press("Escape")

    def seen() -> tuple[Greys, list[str], Any]:
        look.settle()
        shown, [now] = look.levels(), look.state()
        side, (height, width) = min(shown.shape), shown.shape
        y, x = (height - side) // 2, (width - side) // 2
        words = look.page.locator(".viewer-measure text").all_text_contents()
        return shown[y : y + side, x : x + side], words, {name: now[name] for name in ("window", "zoom", "flip")}

    before, words, kept = seen()
    assert [words[0][-3:], words[1]] == [" mm", "CTR 0.50"]
    assert before.std() > 20
    for quarters in (1, 2, 3, 4):  # three clockwise are one the other way
        look.page.get_by_role("button", name="Turn a quarter").click()
        now, said, left = seen()
        assert look.page.locator(f"[data-viewer-backend={backend}]").count() == 1
        assert difference(now, np.rot90(before, -quarters)) <= 2, quarters
        assert (said, left) == (words, kept), quarters
    assert np.array_equal(now, before)


def test_a_turned_film_of_uneven_spacing_keeps_its_size(look: Looker, stage: Stage) -> None:
    view = stage.add("uneven", phantom(12, 300, 200), spacing=[0.4, 0.2], spacing_calibrated=True, aspect=2)
    look.mount_painted(view)
    look.press("-", "l")
    look.drag((450, 300), (550, 340))
    size = "() => document.querySelector('.viewer-measure path').getTotalLength()"
    before, words = look.page.evaluate(size), look.page.locator(".viewer-measure text").text_content()
    look.click("Turn a quarter")
    assert look.page.evaluate(size) == pytest.approx(before, rel=0.01)
    assert look.page.locator(".viewer-measure text").text_content() == words


@pytest.mark.usefixtures("pair")
def test_preset_inversion_and_typed_figures_stand_at_the_film(look: Looker) -> None:
    look.page.get_by_role("button", name="Lungs").click()
    look.press("i")
    assert look.page.locator(".viewer-tag-window").first.inner_text().startswith("Lungs · L ")
    assert look.page.locator(".viewer-tag-badge").first.inner_text() == "inverted"
    look.page.get_by_role("button", name="⚙").click()
    for label, figure in (("Level", "1200"), ("Width", "800")):
        look.page.get_by_label(label, exact=True).fill(figure)
        look.page.get_by_label(label, exact=True).press("Enter")
    look.settle()
    assert look.page.locator(".viewer-tag-window").first.inner_text() == "L 1200 · W 800"


@pytest.mark.usefixtures("pair")
def test_the_magnifier_has_a_button(look: Looker) -> None:
    button = look.page.get_by_role("button", name="Lens")
    for on in (True, False):
        button.click()
        assert lens(look).count() == on
        assert button.get_attribute("aria-pressed") == str(on).lower()
