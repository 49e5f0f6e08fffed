"""A list of people from the template to the file of their links, in a browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from annotation.models import Invitation, User
from tests.browser.entering import Browse
from tests.browser.screenshots import keep


def downloaded(page: Page, name: str) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name).click()
    return Path(waiting.value.path())


def test_from_the_template_to_the_links(browse: Browse, ada: User, tmp_path: Path) -> None:
    page = browse(ada)
    page.goto("/people/invite/")
    keep(page, "invite-one", full_page=True)
    page.get_by_role("link", name="Invite several people from a CSV file").click()
    keep(page, "invite-file", full_page=True)
    file = tmp_path / "people.csv"
    file.write_bytes(downloaded(page, "Template to fill in").read_bytes() + b"Omar,,emperor\n")
    page.get_by_label("CSV file").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("alert")).to_contain_text("1 cell is wrong")
    keep(page, "invite-file-faults", full_page=True)
    file.write_bytes(file.read_bytes().replace(b"emperor", b"model submitter"))
    page.get_by_label("CSV file").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Preview: nothing has been saved.")).to_be_visible()
    keep(page, "invite-file-preview", full_page=True)
    page.get_by_role("button", name="Invite 3 people").click()
    expect(page.get_by_role("heading", name="The links are ready")).to_be_visible()
    keep(page, "invited-many", full_page=True)
    links = downloaded(page, "Download the links (CSV)").read_text(encoding="utf-8-sig")
    assert links.count("/invitation/") == 3
    assert Invitation.objects.count() == 4
