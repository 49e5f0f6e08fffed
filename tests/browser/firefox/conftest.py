"""The same pages in Firefox: here `browser` is Debian's Firefox."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright

from tests.browser.firefox import launcher
from tests.browser.review.conftest import page, review_round
from tests.browser.viewer.conftest import stage
from tests.browsers import FIREFOX, find_browser

__all__ = ["page", "review_round", "stage"]


@pytest.fixture(scope="session")
def browser(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = find_browser("REXVQA_FIREFOX", FIREFOX)
    if not executable:
        pytest.skip("Firefox is not installed (apt-get install firefox-esr)")
    between = tmp_path_factory.mktemp("firefox") / "firefox"
    between.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(launcher.__file__)}" "$@"\n')
    between.chmod(0o755)
    environment: dict[str, str | float | bool] = {**os.environ, "REXVQA_FIREFOX": executable}
    firefox = playwright.firefox.launch(channel="moz-firefox", executable_path=between, env=environment)
    yield firefox
    firefox.close()
