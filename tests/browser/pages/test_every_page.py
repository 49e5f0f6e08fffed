"""Every page, as the people who may open it see it: axe-core finds nothing, and the content policy refuses nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from tests.browser.pages.endpoints import ENDPOINTS
from tests.browser.pages.factors import PROVIDER
from tests.browser.pages.furnishing import furnish
from tests.browser.pages.inspection import AXE, axe_problems, policy_problems, source_problems
from tests.browser.pages.look import Shown
from tests.browser.pages.place import LONG, Place, cast
from tests.browser.pages.sending import NAMED
from tests.browser.pages.shown import EMPTY, FULL
from tests.browser.server import leave
from tests.readerstudy.model_runs.made import STAND_IN
from tests.sweeps import in_share

SIZE: ViewportSize = {"width": 1366, "height": 768}
LARGE: ViewportSize = {"width": 1920, "height": 1080}
PHONE: ViewportSize = {"width": 390, "height": 844}
# Once the page has heard of its new size: tables that no longer fit begin to scroll.
WIDER_THAN_WINDOW = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('.case') ? 0 : document.documentElement.scrollWidth - innerWidth))))"""

# A page of parts, of which a form has its own ways, that is longer than three screens leads to them from its beginning.
LONG_WITHOUT_LINKS = """() => document.documentElement.scrollHeight > 3 * innerHeight
  && document.querySelectorAll('main h2[id]').length > 2
  && !document.querySelector('main form h2') && !document.querySelector('main nav.jumps')"""


def photograph(page: Page, shown: Shown) -> None:
    """Both sizes of the page, and how it prints, into the folder REXVQA_SCREENSHOTS where there is one: for people."""
    folder = os.environ.get("REXVQA_SCREENSHOTS")
    if not folder:
        return
    name = re.sub(r"[^a-z0-9]+", "-", shown.title.lower()).strip("-")
    for size in (LARGE, SIZE):
        page.set_viewport_size(size)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot(path=Path(folder) / f"{name}-{size['width']}.png")
    page.emulate_media(media="print")
    page.screenshot(path=Path(folder) / f"{name}-print.png", full_page=True)
    page.emulate_media(media="screen")


class Visitor:
    """Goes from page to page as whoever is asked for, and notes what is wrong with each."""

    def __init__(self, context: BrowserContext, address: str, place: Place) -> None:
        self.context, self.address, self.place = context, address, place
        self.page = context.new_page()
        self.page.on("console", lambda m: self.hear(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.hear(str(error)))
        self.person: str | None = None
        self.complaints: list[str] = []
        self.problems: dict[str, list[str]] = {}
        self.sessions = {name: self._session(person) for name, person in place.people.items()}

    def _session(self, person: User) -> str:
        client = Client()
        client.force_login(person)
        return client.cookies["sessionid"].value

    def hear(self, text: str) -> None:
        if "Failed to load resource" not in text:  # what a browser writes for every answer of 400 or more
            self.complaints.append(text)

    def become(self, name: str) -> None:
        if name == self.person:
            return
        self.page.goto("about:blank")  # the page before would go on asking the server, as somebody else now
        self.person = name
        self.context.clear_cookies()
        if name:
            cookie = {"name": "sessionid", "value": self.sessions[name], "url": self.address}
            self.context.add_cookies([cookie])  # type: ignore[list-item]

    def look_at(self, shown: Shown) -> None:
        page = self.page
        self.become(shown.person)
        self.complaints.clear()
        page.set_viewport_size(SIZE)
        response = page.goto(shown.address(self.place))
        assert response
        found = [*policy_problems(response), *source_problems(response.text())]
        if response.status != shown.status:
            found.append(f"status {response.status}, not {shown.status}")
        if shown.act:
            shown.act(page)
        if page.evaluate(LONG_WITHOUT_LINKS):
            found.append("long, and no links to its parts")
        photograph(page, shown)
        found += axe_problems(page) + self.complaints
        page.set_viewport_size(PHONE)
        if (wider := page.evaluate(WIDER_THAN_WINDOW)) > 0:
            found.append(f"on a phone it is {wider} pixels too wide")
        if found:
            self.problems[shown.title] = found

    def look_at_all(self, pages: Sequence[Shown]) -> dict[str, list[str]]:
        for shown in pages:
            self.look_at(shown)
        return self.problems


def share_of(pages: Sequence[Shown]) -> list[Shown]:
    """All looks at one thing together: a later one sees what an earlier one did there."""
    return [page for page in pages if in_share(" ".join((page.name, *page.keys)))]


@pytest.fixture
def context(browser: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport=SIZE, base_url=live_server.url)
    opened.set_default_timeout(15_000)
    opened.add_init_script(script=AXE)
    yield opened
    leave(opened, live_server)


@pytest.mark.journey
@pytest.mark.sweep
def test_full_pages(context: BrowserContext, live_server: LiveServer, settings: Settings) -> None:
    """With long names and texts, which is where a page breaks."""
    settings.MODEL_ENDPOINTS = (*NAMED, *ENDPOINTS, STAND_IN)
    settings.EMBEDDING_FOLDERS = {"all-minilm-l6-v2": Path("/srv/models/all-MiniLM-L6-v2")}
    settings.CLASSIFIER_FOLDERS = {"compliance": Path("/srv/models/compliance")}
    settings.OIDC_PROVIDER = PROVIDER
    assert Visitor(context, live_server.url, furnish(LONG)).look_at_all(share_of(FULL)) == {}


def test_a_faint_text_is_found_on_a_page_seen_before(context: BrowserContext, db: None) -> None:
    """Contrast is looked at where the elements around a text are not those of a page before."""
    page = context.new_page()
    for found in ([], [], ["color-contrast"]):
        page.goto("/login/")
        if found:
            page.locator("h1").evaluate("(node) => { node.style.color = '#999'; node.style.background = '#aaa'; }")
        assert [problem.split(" | ")[1] for problem in axe_problems(page)] == found


def test_empty_pages(context: BrowserContext, live_server: LiveServer) -> None:
    place = Place()
    cast(place)
    assert Visitor(context, live_server.url, place).look_at_all(EMPTY) == {}


def send_all_at_once(page: Page) -> None:
    """More fields than a form may have."""
    page.evaluate(
        """() => {
          const form = document.querySelector("main form");
          for (let n = 0; n < 1100; n++) form.append(Object.assign(document.createElement("input"), { name: `n${n}` }));
          form.noValidate = true;
          form.requestSubmit();
        }"""
    )


def send_without_token(page: Page) -> None:
    page.locator("main [name=csrfmiddlewaretoken]").first.evaluate("(node) => { node.value = 'x'.repeat(64); }")
    log_in(page)


def log_in(page: Page) -> None:
    page.get_by_label("E-mail").fill("nobody@example.org")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Log in", exact=True).click()


REFUSALS = {
    "This request could not be read": send_all_at_once,
    "This form was not accepted": send_without_token,
    "Locked for a while": log_in,
}


@pytest.mark.parametrize("heading", REFUSALS)
def test_refusals(context: BrowserContext, live_server: LiveServer, settings: Settings, db: None, heading: str) -> None:
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 1
    page = context.new_page()
    page.goto("/login/")
    with page.expect_navigation() as told:
        REFUSALS[heading](page)
    assert told.value.status >= 400
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert [*policy_problems(told.value), *source_problems(told.value.text()), *axe_problems(page)] == []


def test_a_broken_page(
    context: BrowserContext, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, rita: User
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the page is broken")

    monkeypatch.setattr("annotation.views.people.account.render", broken)
    visitor = Visitor(context, live_server.url, Place(people={"rita": rita}))
    assert visitor.look_at_all([Shown("profile", "rita", status=500)]) == {}
