"""Second factors of the people of a place, and how one comes to their pages."""

from __future__ import annotations

from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.mfa.webauthn.internal.auth import WebAuthn
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from annotation.people.kernels.provider_settings import Provider
from tests.annotation.people.authenticator import Passkey
from tests.browser.pages.place import Place

PROVIDER = Provider("https://login.example.org", "reading-room", "the hospital", "a secret")


def prove(page: Page) -> None:
    """Who it is, once more."""
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_load_state("load")


def log_in(page: Page) -> None:
    """Judy's password, after which the second factor is asked for."""
    page.get_by_label("E-mail").fill("judy@example.org")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/login/factor/")


def equip(place: Place) -> None:
    """Judy has everything, Rita nothing."""
    judy, now = place.people["judy"], timezone.now()
    TOTP.activate(judy, generate_totp_secret())
    made = Passkey().made(
        {"creation_options": {"publicKey": {"challenge": "AAAAAAAAAAAAAAAAAAAAAA", "user": {"id": "1"}}}}
    )
    place.things["passkey"] = WebAuthn.add(judy, place.named("Laptop")[:100], made).instance
    RecoveryCodes.activate(judy)
    Authenticator.objects.filter(user=judy).update(last_used_at=now - timedelta(days=3))
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"
    elsewhere = Client()
    elsewhere.force_login(judy)
    key = elsewhere.session.session_key
    UserSession.objects.create(user=judy, session_key=key, ip="2001:db8::8a2e:370:7334", user_agent=agent)
    EmailAddress.objects.create(user=judy, email=judy.email, primary=True)
