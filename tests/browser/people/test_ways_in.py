"""Every way in, one after the other, in one browser: provider, passkey, app, recovery code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.enums import Role
from annotation.models import AuditEvent, User
from annotation.people.kernels.provider_settings import Provider
from tests.annotation.people.oidc_provider import CLIENT_ID, CLIENT_SECRET, RunningProvider, running_provider
from tests.browser.entering import Browse, give_password

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def page(browse: Browse) -> Page:
    opened = browse()
    devices = opened.context.new_cdp_session(opened)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    return opened


@pytest.fixture
def hospital(live_server: LiveServer, settings: Settings) -> Iterator[RunningProvider]:
    settings.PUBLIC_URL = live_server.url
    roles = {"leads": frozenset({Role.COORDINATOR})}
    with running_provider(f"{live_server.url}/login/provider/answer/") as running:
        settings.OIDC_PROVIDER = Provider(running.issuer, CLIENT_ID, "the hospital", CLIENT_SECRET, "groups", roles)
        running.says(groups=["leads"])
        yield running


def code_of(secret: str, *, ahead: int) -> str:
    return format_hotp_value(hotp_value(secret, int(timezone.now().timestamp()) // 30 + ahead))


def log_out(page: Page) -> None:
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/")


def give_code(page: Page, code: str) -> None:
    page.get_by_label("Code of your app").fill(code)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(lambda address: address.endswith("/"))


def is_in(page: Page, name: str) -> None:
    expect(page.locator("header .bar-end")).to_contain_text(name)


def test_every_way_in(
    page: Page, live_server: LiveServer, hospital: RunningProvider, cora: User, settings: Settings
) -> None:
    settings.SECOND_FACTOR_REQUIRED, settings.MFA_TOTP_TOLERANCE = True, 4  # however long a slow browser takes
    # a passkey, which the site asks for, and the codes that come with it
    give_password(page, cora)
    page.wait_for_url("**/profile/factors/")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**/profile/factors/codes/")
    codes = page.locator(".codes li").all_inner_texts()
    # an app beside it
    page.goto("/profile/factors/app/")
    secret = page.locator(".key").inner_text()
    page.get_by_label("Code that the app shows").fill(code_of(secret, ahead=-1))
    page.get_by_role("button", name="Set up").click()
    page.wait_for_url("**/profile/factors/")
    log_out(page)
    # in by passkey alone
    page.get_by_role("button", name="Log in with a passkey").click()
    page.wait_for_url(f"{live_server.url}/")
    is_in(page, "Cora")
    log_out(page)
    # by password and passkey
    give_password(page, cora)
    page.get_by_role("button", name="Use your passkey").click()
    page.wait_for_url(f"{live_server.url}/")
    log_out(page)
    # by password and app
    give_password(page, cora)
    give_code(page, code_of(secret, ahead=0))
    is_in(page, "Cora")
    log_out(page)
    # by password and recovery code
    give_password(page, cora)
    give_code(page, codes[3])
    is_in(page, "Cora")
    assert AuditEvent.objects.filter(act="recovery_code.used", actor=cora).count() == 1
    log_out(page)
    # by the provider: somebody new, of whom the site asks a second factor as well
    page.get_by_role("button", name="Log in with the hospital").click()
    page.wait_for_url("**/profile/factors/")
    is_in(page, "Anna")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**/profile/factors/codes/")
    page.goto("/banks/")
    is_in(page, "Anna")
