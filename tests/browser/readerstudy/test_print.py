"""Results on paper and with long names: nothing leaves the page, no control is printed, numbers keep intervals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.enums import Role
from readerstudy.models import Analysis, ModelEntry
from tests.annotation.review.cases import NOON
from tests.browser.server import leave
from tests.conftest import make_person
from tests.readerstudy.results import made
from tests.readerstudy.results.made import analysed_study

LONG = "consortium/chest_xray_assistant_27B_multimodal_instruct_2026110{day}"
NAMES = [LONG.format(day=day) for day in (1, 2)]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, client: Client) -> Iterator[Page]:
    client.force_login(make_person("Cora", Role.COORDINATOR))
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1366, "height": 768})
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    context.add_cookies([cookie])  # type: ignore[list-item]
    yield context.new_page()
    leave(context, live_server)


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


def test_the_heatmap_is_printed_with_the_interval_of_every_pair(page: Page) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page.goto(address("study-agreement", analysis))
    table = page.locator("details.as-table table")
    expect(table).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(table).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(table).to_be_hidden()


def test_what_is_said_of_a_cell_stays_in_its_card(page: Page) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page.goto(address("study-agreement", analysis))
    cell = page.locator(".map.chosen .heatmap a").first
    cell.evaluate("one => Object.assign(one.dataset, {sameLimits: '45.73 to 58.91 %, n = 199', n: '199'})")
    cell.hover()
    card = page.locator("#card").bounding_box()
    assert card
    for said in page.locator("#card dd").all():
        place = said.bounding_box()
        assert place
        assert place["x"] + place["width"] <= card["x"] + card["width"] - 15
        assert said.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_how_numbers_were_made_takes_no_page_of_its_own(page: Page) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page.emulate_media(media="print")
    page.goto(address("study-analysed", analysis))
    assert page.locator(".rules").evaluate("one => getComputedStyle(one).breakInside") == "auto"


def test_the_numbers_under_the_scale_stay_under_it_in_print(page: Page) -> None:
    analysis = analysed_study(unblinded_at=NOON)
    page.emulate_media(media="print")
    page.goto(address("study-agreement", analysis))
    scale, words = (page.locator(one).bounding_box() for one in (".scale", ".scale-words"))
    assert scale
    assert words
    assert words["width"] == pytest.approx(scale["width"], abs=2)


def test_no_control_is_printed(page: Page) -> None:
    entry = ModelEntry.objects.create(name="Model", created_at=NOON)
    page.emulate_media(media="print")
    page.goto(reverse("model", args=[entry.public_id]))
    expect(page.get_by_role("heading", name="Model", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Withdraw")).to_be_hidden()
    expect(page.get_by_role("link", name="Import predictions")).to_be_hidden()
