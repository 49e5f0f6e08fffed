"""How a test comes in: with a session, or with a password as a person does."""

from __future__ import annotations

from django.test import Client
from playwright.sync_api import BrowserContext, Page

from annotation.models import User


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
