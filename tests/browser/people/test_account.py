"""Log-out leaves nothing in the browser; a new account starts in the time zone of the browser."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from annotation.enums import Role
from annotation.models import User
from annotation.people.invitations import Grant, invite
from tests.browser.entering import Browse, log_in

IS_KEPT = """async (address) => {
  try {
    return (await fetch(address, { cache: "only-if-cached", mode: "same-origin" })).ok;
  } catch {
    return false;
  }
}"""
KEEP = """async () => {
  localStorage.setItem("note", "1");
  const store = await caches.open("images");
  await store.put("/kept", new Response("pixels"));
}"""
COUNT_KEPT = "async () => (await caches.keys()).length + localStorage.length"


@pytest.fixture
def page(browse: Browse) -> Page:
    return browse(timezone_id="Europe/Berlin")


def test_log_out_empties_the_caches(page: Page, live_server: LiveServer, rita: User) -> None:
    log_in(page, rita, live_server.url)
    only_here = f"{live_server.url}/static/annotation/people.css"  # the log-in page does not load it again
    assert page.evaluate(IS_KEPT, only_here)
    page.evaluate(KEEP)
    assert page.evaluate(COUNT_KEPT) == 2
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{live_server.url}/login/")
    assert not page.evaluate(IS_KEPT, only_here)
    assert page.evaluate(COUNT_KEPT) == 0


@pytest.mark.journey
def test_a_new_account_starts_in_the_zone_of_the_browser(page: Page, live_server: LiveServer, ada: User) -> None:
    issued = invite(Grant(Role.REVIEWER), email="nina@example.org", name="Nina", actor=ada, at=timezone.now())
    page.goto(f"{live_server.url}/invitation/{issued.token}/")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    page.get_by_label("Password", exact=True).fill("another staple 77")
    page.get_by_label("Repeat password").fill("another staple 77")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(f"{live_server.url}/")
    assert User.objects.get(email="nina@example.org").time_zone == "Europe/Berlin"


def test_people_log_in_behind_a_proxy_that_hides_where_forms_come_from(
    page: Page, live_server: LiveServer, rita: User
) -> None:
    """It puts its header on every answer; the page says otherwise, and so the browser sends the origin."""

    def hide(route: Route) -> None:
        if route.request.method != "GET":
            return route.continue_()
        answer = route.fetch()
        return route.fulfill(response=answer, headers=answer.headers | {"referrer-policy": "no-referrer"})

    page.route("**/login/", hide)
    log_in(page, rita, live_server.url)
