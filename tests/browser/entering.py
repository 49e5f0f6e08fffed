"""How a test comes in: with a session, or with a password as a person does; and how it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from tests.browser.server import wait_until_left

Browse = Callable[..., Page]
SIZE: ViewportSize = {"width": 1366, "height": 768}
# A reload took the page away while the file was loading; the test took the connection away, or asked the cache alone.
EXPECTED_LOSSES = ("net::ERR_ABORTED", "net::ERR_INTERNET_DISCONNECTED", "net::ERR_CACHE_MISS")


@contextmanager
def browsing(browser: Browser, live_server: LiveServer) -> Iterator[Browse]:
    """Each call opens a browser of this person, or of nobody who is logged in; at the end all have left.

    A script error in any of them fails the test. ``more``: other ways of the browser.
    """
    with ExitStack() as browsers:

        def browse(person: User | None = None, **more: Any) -> Page:
            return browsers.enter_context(_page(browser, live_server.url, person, more))

        yield browse
    wait_until_left(live_server)


@contextmanager
def _page(browser: Browser, address: str, person: User | None, more: dict[str, Any]) -> Iterator[Page]:
    context = browser.new_context(**{"viewport": SIZE, "base_url": address, **more})
    if person is not None:
        give_session(context, person, address)
    errors: list[str] = []
    context.on("page", lambda page: _listen(page, errors))
    yield context.new_page()
    for opened in context.pages:
        opened.unroute_all(behavior="ignoreErrors")
        opened.goto("about:blank")  # hands over what is not saved yet
    context.close()
    assert errors == [], errors


def _listen(page: Page, errors: list[str]) -> None:
    page.set_default_timeout(20_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda m: errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None
    )
    page.on("requestfailed", lambda asked: errors.append(asked.url) if _is_lost_file(asked) else None)


def _is_lost_file(asked: Request) -> bool:
    """A script or style that did not come although nothing stood in its way."""
    return asked.url.endswith((".js", ".css")) and asked.failure not in EXPECTED_LOSSES


def give_session(context: BrowserContext, person: User, address: str) -> None:
    """From now on the browser is logged in at this address."""
    client = Client()
    client.force_login(person)
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])


def give_password(page: Page, person: User, address: str = "") -> None:
    page.goto(f"{address}/login/")
    page.get_by_label("E-mail").fill(person.email)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in", exact=True).click()


def log_in(page: Page, person: User, address: str) -> Page:
    """The same page, at home."""
    give_password(page, person, address)
    page.wait_for_url(f"{address}/")
    return page
