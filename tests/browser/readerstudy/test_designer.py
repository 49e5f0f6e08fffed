"""The page on which cases are chosen shows its lists as soon as they are wanted."""

from __future__ import annotations

from playwright.sync_api import expect

from annotation.models import User
from tests.browser.entering import Browse
from tests.readerstudy.design.drafts import make_draft


def test_what_the_chosen_way_does_not_use_is_out_of_sight(browse: Browse, cora: User) -> None:
    page = browse(cora)
    page.goto(f"/studies/{make_draft(cora).slug}/cases/")
    page.get_by_role("radio", name="draw them by chance, with a seed").check()
    expect(page.locator("[name=numbers]")).to_be_hidden()
    expect(page.get_by_label("Practice cases")).to_be_visible()
    page.get_by_role("radio", name="use a list of questions").check()
    expect(page.locator("[name=numbers]")).to_be_visible()
    expect(page.get_by_label("Practice cases")).to_be_hidden()  # it would do nothing
    expect(page.get_by_role("heading", name="Draw by chance")).to_be_hidden()
    page.get_by_role("radio", name="draw them by chance, with a seed").check()
    page.get_by_label("Sets", exact=True).fill("0")
    page.get_by_role("radio", name="use a list of questions").check()
    expect(page.get_by_label("Sets", exact=True)).to_be_visible()  # what stops the form is never out of sight
