"""The page on which cases are chosen shows its lists as soon as they are wanted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from tests.browser.entering import give_session
from tests.browser.server import leave
from tests.readerstudy.design.drafts import make_draft

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_what_the_chosen_way_does_not_use_is_out_of_sight(
    browser: Browser, live_server: LiveServer, cora: User
) -> None:
    study = make_draft(cora)
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=live_server.url)
    give_session(context, cora, live_server.url)
    page = context.new_page()
    try:
        page.goto(f"/studies/{study.slug}/cases/")
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
    finally:
        leave(context, live_server)
