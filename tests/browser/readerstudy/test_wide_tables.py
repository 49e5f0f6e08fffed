"""Tables of results with a column for each rater fit into the width of a small screen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser

from readerstudy.results.accuracy_tables import breakdown_tables
from tests.architecture.source import ROOT
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import QUICK

STYLES = ("css/tokens.css", "css/site.css", "readerstudy/results.css")


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
