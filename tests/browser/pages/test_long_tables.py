"""Tables of more than 30 rows keep their heads in sight and are sorted by them; shorter ones stay as they are."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from tests.architecture.source import ROOT

VALUES = ["12.50 %", "n/a", "−0.04", "1,204", "", "3 of 9", "0.04"]


PLAIN = "<th>n</th><th>Value</th><th>Name</th>"


def shown(browser: Browser, n_rows: int, beside: str = "", head: str = PLAIN) -> Page:
    rows = "".join(f"<tr><td>{n}</td><td>{VALUES[n % 7]}</td><td>Case {n:02}</td></tr>" for n in range(n_rows))
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    table = f'<div class="table-scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    page.set_content(f'<html class="light"><body><main><h1>Long</h1>{table}{beside}</main></body></html>')
    for name in ("tokens", "site"):
        page.add_style_tag(path=ROOT / f"static/css/{name}.css")
    page.add_script_tag(path=ROOT / "static/annotation/tables.js", type="module")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page


def column(page: Page, place: int) -> list[str]:
    return page.locator(f"tbody tr td:nth-child({place})").all_inner_texts()


def test_a_long_table_is_sorted_by_its_heads_which_stay_in_sight(browser: Browser) -> None:
    page = shown(browser, 70)
    page.get_by_role("button", name="Value").click()
    ordered = ["−0.04", "0.04", "3 of 9", "12.50 %", "1,204"]
    assert list(dict.fromkeys(column(page, 2)))[:5] == ordered
    assert set(column(page, 2)[50:]) == {"n/a", ""}  # what has no value comes last
    assert column(page, 1)[:3] == ["2", "9", "16"]  # equal ones stay in their order
    page.get_by_role("button", name="Value").click()
    assert list(dict.fromkeys(column(page, 2)))[:5] == ordered[::-1]
    assert set(column(page, 2)[50:]) == {"n/a", ""}
    assert [one.get_attribute("aria-sort") for one in page.locator("th").all()] == [None, "descending", None]
    page.mouse.wheel(0, 1500)
    page.wait_for_function("() => scrollY > 1000")
    box = page.get_by_role("button", name="Name").bounding_box()
    assert box
    assert 0 <= box["y"] < 40
    page.close()


def test_a_column_of_dates_is_sorted_by_date(browser: Browser) -> None:
    days = ["3 Feb 2026", "21 Jan 2026, 09:05", "21 Jan 2026, 10:00", "9 Dec 2025", "", "2025-12-31"]
    page = shown(browser, 36)
    page.evaluate(
        "(days) => document.querySelectorAll('tbody tr').forEach((row, n) => row.cells[1].innerText = days[n % 6])",
        days,
    )
    page.get_by_role("button", name="Value").click()
    assert list(dict.fromkeys(column(page, 2))) == [days[3], days[5], days[1], days[2], days[0], ""]
    page.close()


@pytest.mark.parametrize(("n_rows", "beside"), [(30, ""), (50, '<p class="pager"><a rel="next" href="?">Next</a></p>')])
def test_a_short_table_and_a_page_of_many_are_not_sorted(browser: Browser, n_rows: int, beside: str) -> None:
    page = shown(browser, n_rows, beside)
    assert page.get_by_role("button").count() == 0
    assert page.locator(".heads-stay").count() == (n_rows > 30)
    page.close()


def test_heads_that_the_server_sorts_are_links_for_the_keyboard_and_stay_in_sight(browser: Browser) -> None:
    head = (
        '<th aria-sort="descending"><a class="sort" href="#n">n</a></th><th><a class="sort" href="#name">Value</a></th>'
    )
    page = shown(browser, 50, head=f"{head}<th>Name</th>")
    assert page.get_by_role("button").all_inner_texts() == ["Name"]  # the page holds every row, and the server no order
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#name"
    page.evaluate("() => scrollTo(0, 900)")
    box = page.get_by_role("link", name="Value").bounding_box()
    assert box
    assert 0 <= box["y"] < 40
    assert "↓" in page.evaluate("() => getComputedStyle(document.querySelector('a.sort'), '::after').content")
    page.close()
