"""A list of people from the template to the file of their links, in a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Invitation, User
from tests.browser.entering import log_in
from tests.browser.server import leave

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, ada: User) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    log_in(page, ada, live_server.url)
    yield page
    leave(context, live_server)


def downloaded(page: Page, name: str) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name).click()
    return Path(waiting.value.path())


def keep(page: Page, name: str) -> None:
    if folder := os.environ.get("REXVQA_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_from_the_template_to_the_links(page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    page.goto(f"{live_server.url}/people/invite/")
    keep(page, "invite-one")
    page.get_by_role("link", name="Invite several people from a CSV file").click()
    keep(page, "invite-file")
    file = tmp_path / "people.csv"
    file.write_bytes(downloaded(page, "Template to fill in").read_bytes() + b"Omar,,emperor\n")
    page.get_by_label("CSV file").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("alert")).to_contain_text("1 cell is wrong")
    keep(page, "invite-file-faults")
    file.write_bytes(file.read_bytes().replace(b"emperor", b"model submitter"))
    page.get_by_label("CSV file").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Preview: nothing has been saved.")).to_be_visible()
    keep(page, "invite-file-preview")
    page.get_by_role("button", name="Invite 3 people").click()
    expect(page.get_by_role("heading", name="The links are ready")).to_be_visible()
    keep(page, "invited-many")
    links = downloaded(page, "Download the links (CSV)").read_text(encoding="utf-8-sig")
    assert links.count("/invitation/") == 3
    assert Invitation.objects.count() == 4
