"""Results on paper, with long names and many raters: nothing leaves the page, no control is printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from annotation.models import User
from readerstudy.models import Analysis, ModelEntry
from readerstudy.results.accuracy_tables import breakdown_tables
from tests.annotation.review.cases import NOON
from tests.architecture.source import ROOT
from tests.browser.entering import Browse
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results import made
from tests.readerstudy.results.made import QUICK, analysed_study

LONG = "consortium/chest_xray_assistant_27B_multimodal_instruct_2026110{day}"
STYLES = ("css/tokens.css", "css/site.css", "readerstudy/results.css")
NAMES = [LONG.format(day=day) for day in (1, 2)]


@pytest.fixture
def page(browse: Browse, cora: User) -> Page:
    return browse(cora)


def address(name: str, analysis: Analysis, *more: int) -> str:
    return reverse(name, args=[analysis.study.slug, analysis.public_id, *more])


def test_two_versions_of_a_model_with_long_names(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair stays in its columns, and in the heatmap its two names are not the same."""
    readers = {NAMES[0]: "BBBA", NAMES[1]: "BBCA"}
    monkeypatch.setattr(made, "READERS", readers)
    analysis = analysed_study(unblinded_at=NOON)
    page.goto(address("study-pair", analysis, 0, 1))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table, panel = (page.locator(one).bounding_box() for one in (".two-by-two", ".columns .panel"))
    assert table
    assert panel
    assert table["x"] + table["width"] <= panel["x"]
    page.goto(address("study-agreement", analysis))
    shown = page.locator(".map.chosen .heatmap tbody th").all_inner_texts()
    assert len(shown) == len(set(shown)) == 4


def test_the_heatmap_its_scale_and_its_cells_on_screen_and_in_print(page: Page) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page.goto(address("study-agreement", analysis))
    table = page.locator("details.as-table table")
    expect(table).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(table).to_be_visible()  # the interval of every pair
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(table).to_be_hidden()
    cell = page.locator(".map.chosen .heatmap a").first
    cell.evaluate("one => Object.assign(one.dataset, {sameLimits: '45.73 to 58.91 %, n = 199', n: '199'})")
    cell.hover()
    card = page.locator("#card").bounding_box()
    assert card
    for said in page.locator("#card dd").all():
        place = said.bounding_box()
        assert place
        assert place["x"] + place["width"] <= card["x"] + card["width"] - 15, "what is said of a cell leaves its card"
        assert said.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.emulate_media(media="print")
    page.goto(address("study-agreement", analysis))
    scale, words = (page.locator(one).bounding_box() for one in (".scale", ".scale-words"))
    assert scale
    assert words
    assert words["width"] == pytest.approx(scale["width"], abs=2), "the numbers do not stay under the scale"
    page.goto(address("study-analysed", analysis))
    breaks = page.locator(".rules").evaluate("one => getComputedStyle(one).breakInside")
    assert breaks == "auto", "how numbers were made takes a page of its own"


def test_no_control_is_printed(page: Page) -> None:
    entry = ModelEntry.objects.create(name="Model", created_at=NOON)
    page.emulate_media(media="print")
    page.goto(reverse("model", args=[entry.public_id]))
    expect(page.get_by_role("heading", name="Model", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Withdraw")).to_be_hidden()
    expect(page.get_by_role("link", name="Import predictions")).to_be_hidden()


@pytest.mark.parametrize("n_models", [8, 11])
def test_every_column_of_the_categories_is_on_the_screen(browser: Browser, n_models: int) -> None:
    rng = np.random.default_rng(1)
    said = ["".join(np.where(rng.random(60) < 0.8, "B", "C")) for _rater in range(3 + n_models)]
    readers = {f"Simulated radiologist {place}": one for place, one in enumerate(said[:3])}
    models = {f"Simulated model {'ABCDEFGHIJK'[place]}": one for place, one in enumerate(said[3:])}
    result: Any = computed(make_arrays(readers, models, "B" * 60, tasks=["presence"] * 60), QUICK)
    context = {"table": breakdown_tables(result)[1], "css": "breakdown"}
    table = render_to_string("readerstudy/results/_table.html", context)
    styles = "".join(f"<style>{(ROOT / 'static' / name).read_text()}</style>" for name in STYLES)
    page = browser.new_page(viewport={"width": 1351, "height": 768})  # 1366 with a scroll bar
    page.set_content(f"{styles}<main class='page wide results'>{table}</main>")
    box = page.locator(".table-scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    page.close()
