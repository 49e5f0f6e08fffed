"""The server is killed while somebody types: the page says so, and nothing is lost over a reload."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.bench.measuring import filled
from tests.bench.review_page import logged_in
from tests.browser.review.test_journey import JUDGE, answer, checked, press
from tests.processes import Server, environment, migrated_home


def test_nothing_typed_is_lost_when_the_server_is_killed(browser: Browser, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(migrated_home(), home)
    way_in = filled("review", environment(home, DJANGO_SETTINGS_MODULE="rexvqa_site.settings"), 2)
    server = Server(environment(home))
    context = logged_in(browser, f"http://127.0.0.1:{server.port}", way_in["session"])
    page = context.new_page()
    try:
        server.wait_until_greeted()
        page.goto(f"/review/{way_in['case']}/")
        answer(page, "2", "e")
        press(page, "4", "t")
        page.keyboard.type("typed before, ")
        expect(page.locator("#case-saving")).to_have_text("saved")
        server.kill()
        page.keyboard.type("typed after")
        expect(page.locator("#case-saving")).to_have_text("not saved, trying again")
        server = Server(environment(home), server.port)
        server.wait_until_greeted()
        page.reload()
        expect(page.locator(JUDGE)).to_be_visible()
        expect(page.locator("#comment")).to_have_value("typed before, typed after")
        assert checked(page) == {"clinical_quality": ["4"]}
        # Nothing to say where the page that is gone could still send it, as soon as the server was there.
        expect(page.locator("#case-saving")).to_have_text(re.compile(r"^\s*(saved)?\s*$"))
        page.evaluate("sessionStorage.clear()")
        page.reload()
        expect(page.locator("#comment")).to_have_value("typed before, typed after")
    finally:
        context.close()
        server.stop()
