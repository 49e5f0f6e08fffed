"""Chromium for the tests that need a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from tests.browser.server import PATIENCE, served_in_one_piece

expect.set_options(timeout=PATIENCE * 1000)  # for every browser test, whichever is run alone

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """REXVQA_CHROMIUM, else Debian's place, else the first Chromium or Chrome on the PATH."""
    named = os.environ.get("REXVQA_CHROMIUM")
    if named:
        return named
    if Path("/usr/bin/chromium").exists():
        return "/usr/bin/chromium"
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def find_headless_chromium() -> str | None:
    """REXVQA_CHROMIUM, else the same browser without its windows, of which a page costs a third; else a whole one."""
    return os.environ.get("REXVQA_CHROMIUM") or shutil.which("chromium-headless-shell") or find_chromium()


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
