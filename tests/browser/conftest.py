"""Chromium for the tests that need a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from tests.browser.entering import SIZE, Browse, browsing, give_session
from tests.browser.server import PATIENCE, served_in_one_piece
from tests.browsers import CHROMIUM_ARGUMENTS, find_headless_chromium

expect.set_options(timeout=PATIENCE * 1000)  # for every browser test, whichever is run alone


def pytest_itemcollected(item: pytest.Item) -> None:
    """A site that is served is asked from other threads: what a test stores for it is committed."""
    names = getattr(item, "fixturenames", ())
    if "playwright" in names:
        item.add_marker("browser")
    if "live_server" in names:
        item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session", autouse=True)
def _live_servers() -> Iterator[None]:
    with served_in_one_piece():
        yield


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright once for all browsers of a run."""
    # It keeps an event loop in this thread; Django would otherwise refuse database calls of the tests.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all browser tests; each test opens a context of its own."""
    executable = find_headless_chromium()
    if not executable or not Path(executable).exists():
        pytest.fail(
            "Browser tests need Chromium: `apt-get install chromium-headless-shell`, or name a Chromium or Chrome "
            "in the environment variable REXVQA_CHROMIUM.",
            pytrace=False,
        )
    chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
    yield chromium
    chromium.close()


@pytest.fixture
def browse(browser: Browser, live_server: LiveServer) -> Iterator[Browse]:
    """Each call is another browser of this person, or of nobody."""
    with browsing(browser, live_server) as open_page:
        yield open_page


@contextmanager
def own_browser(playwright: Playwright, profile: Path, address: str, person: User) -> Iterator[BrowserContext]:
    """Of this person, with a folder of its own, in which everything lies that it keeps."""
    context = playwright.chromium.launch_persistent_context(
        profile,
        executable_path=find_headless_chromium(),
        args=CHROMIUM_ARGUMENTS,
        viewport=SIZE,
        base_url=address,
    )
    give_session(context, person, address)
    try:
        yield context
    finally:
        context.close()
