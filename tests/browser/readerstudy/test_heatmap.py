"""The heatmap of agreement by mouse and by keyboard, down to the cases behind a cell."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import User
from tests.annotation.review.cases import NOON
from tests.browser.entering import Browse
from tests.readerstudy.figures.test_figures import of_eleven
from tests.readerstudy.results.made import analysed_study, stored

OUTSIDE = """() => [...document.querySelectorAll(".panel dd")].filter((one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  return words.getBoundingClientRect().right > one.closest(".panel").getBoundingClientRect().right - 4;
}).map((one) => one.textContent)"""


def test_from_a_cell_to_the_cases_without_a_mouse(browse: Browse, cora: User) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page = browse(cora)
    page.goto(reverse("study-agreement", args=["trial", analysis.public_id]))
    title = page.locator("#card h2")
    page.locator(".map.chosen .heatmap a").nth(5).hover()
    expect(title).to_have_text("R2 · Poor")
    expect(page.locator(".map.chosen .heatmap a[tabindex='0']")).to_have_count(1)
    page.locator(".map.chosen .heatmap a").first.focus()  # R1 and R2, right of the diagonal
    for key, pair in (("ArrowRight", "R1 · Good"), ("ArrowDown", "R2 · Good"), ("ArrowLeft", "R2 · R1")):
        page.keyboard.press(key)
        expect(title).to_have_text(pair)
    page.keyboard.press("ArrowLeft")  # nothing lies further left
    expect(title).to_have_text("R2 · R1")
    expect(page.locator("#card [data-of=n]")).to_have_text("4")
    expect(page.locator("#card-cases")).to_have_text("1 case on which they disagree")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 case with another option")).to_be_visible()
    expect(page.locator("#case-3")).to_be_visible()
    assert page.evaluate(OUTSIDE) == []  # values stay in their panel
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(reverse("study-agreement", args=["trial", analysis.public_id]))
    expect(page.locator(".heatmap:visible")).to_have_count(3)  # all tasks and each of the two


NOT_IN_CELL = """() => [...document.querySelectorAll(".heatmap td a")].filter((one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  const [inner, outer] = [words.getBoundingClientRect(), one.closest("td").getBoundingClientRect()];
  return inner.left < outer.left + 2 || inner.right > outer.right - 2;
}).map((one) => one.textContent)"""

FRAMES_OUTSIDE = """() => [...document.querySelectorAll(".heatmap .dotted a")].filter((one) => {
  const frame = getComputedStyle(one, "::before");
  const [link, cell] = [one.getBoundingClientRect(), one.closest("td").getBoundingClientRect()];
  return frame.borderTopStyle !== "dotted" || parseFloat(frame.left) < 1 || parseFloat(frame.right) < 1 ||
    parseFloat(frame.top) < 1 || link.left < cell.left || link.right > cell.right;
}).length"""

TICKS = """() => {
  const scale = document.querySelector(".scale").getBoundingClientRect();
  return [...document.querySelectorAll(".scale-words span")].map((one) => {
    const words = document.createRange();
    words.selectNodeContents(one);
    const box = words.getBoundingClientRect();
    return [one.textContent, (-0.2 + (1.2 * ((box.left + box.right) / 2 - scale.left)) / scale.width).toFixed(2)];
  });
}"""


@pytest.mark.parametrize(("width", "height", "whole"), [(1351, 768, 2), (1920, 1080, 6)])
def test_the_heatmaps_of_a_paper_stand_whole_beside_each_other(
    browse: Browse, cora: User, width: int, height: int, whole: int
) -> None:
    """The chosen one and another on a laptop, all six on a wide screen, with numbers of twelve pixels."""
    analysis = stored(analysed_study(unblinded_at=NOON).study, of_eleven("Simulated model "))
    page = browse(cora, viewport={"width": width, "height": height})
    page.goto(reverse("study-agreement", args=["trial", analysis.public_id]) + "?task=location")
    expect(page.locator(".heatmap:visible")).to_have_count(6)
    boxes = [one.bounding_box() for one in page.locator(".heatmap").all()]
    seen = [box for box in boxes if box and box["y"] + box["height"] <= height and box["x"] + box["width"] <= width]
    assert len(seen) == whole
    chosen = page.locator(".map.chosen .heatmap").bounding_box()
    assert chosen
    assert chosen in seen
    assert page.evaluate(NOT_IN_CELL) == []
    assert page.locator(".heatmap .dotted a:visible").count()
    assert page.evaluate(FRAMES_OUTSIDE) == 0  # on the ground of the page those of dark cells, which are white, vanish
    ticks = page.evaluate(TICKS)
    assert [name for name, _at in ticks] == ["−0.2", "0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert all(abs(float(name.replace("−", "-")) - float(at)) < 0.01 for name, at in ticks), ticks
    assert page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('.heatmap td a')).fontSize)") >= 12
    cut = """() => [...document.querySelectorAll('.heatmap th, .heatmap th span')].some(
      (one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)"""
    assert not page.evaluate(cut)  # by the style sheet, at their ends, in which names of one family differ
    fits = "() => [...document.querySelectorAll('html, .maps')].every((one) => one.scrollWidth <= one.clientWidth)"
    assert page.evaluate(fits)
