"""No part of a link with which somebody could come in stands in the log: planted, and searched for."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import product
from unittest import mock

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import User
from annotation.people.invitations import Grant, invite
from annotation.site.logs import SECRET_ADDRESSES, AsJson, WithoutSecrets
from rexvqa_site import settings as shipped

PLANTED = "planted-Token_0123456789"


class InBothForms(logging.Formatter):
    """Each record as text and, in the next lines, as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(form().format(record) for form in (WithoutSecrets, AsJson))


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the handler of the site writes of everything that any logger says, in both forms that it has."""
    (console,) = (one for one in logging.getLogger().handlers if one.name == "console")
    assert isinstance(console, logging.StreamHandler)
    written, before = io.StringIO(), console.setStream(io.StringIO())
    console.setStream(written)
    with (
        mock.patch.object(logging.getLogger(), "level", logging.DEBUG),
        mock.patch.object(console, "formatter", InBothForms()),
    ):
        yield written
    console.setStream(before)


def is_told_in_both(log: io.StringIO, words: str) -> bool:
    lines = log.getvalue().splitlines()
    return all(any(words in line for line in lines if line.startswith("{") == as_json) for as_json in (True, False))


def test_nothing_else_writes_a_log() -> None:
    assert logging.getLogger("django").handlers == []


def test_a_mistyped_password_does_not_tell_the_invitation(client: Client, ada: User, log: io.StringIO) -> None:
    token = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=timezone.now()).token
    sent = {"email": "new@example.org", "name": "New", "password": "one staple 77", "password_again": "two"}
    assert client.post(f"/invitation/{token}/", sent).status_code == 422
    assert is_told_in_both(log, "/invitation/...")
    assert token not in log.getvalue()


def test_an_address_that_is_refused_is_told_without_its_secret(client: Client, db: None, log: io.StringIO) -> None:
    for start, rest in product(SECRET_ADDRESSES, ("", "more/", "figures/x/1.svg")):
        address = f"{start}{PLANTED}/"
        client.get(address + rest, headers={"referer": f"http://testserver{address}"})
        client.post(address + rest)
        assert PLANTED not in log.getvalue(), start + rest


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_traceback_is_told_without_its_secret_and_with_the_number_of_its_page(
    client: Client, db: None, log: io.StringIO, settings: Settings, is_trusted: bool
) -> None:
    client.raise_request_exception = False
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.0/8")] if is_trusted else []
    failing = mock.patch(
        "annotation.views.people.invitations.find_invitation", side_effect=KeyError(f"/invitation/{PLANTED}/")
    )
    with failing:
        answer = client.get(f"/invitation/{PLANTED}/", headers={"X-Request-ID": "the-proxys-own"})
    assert answer.status_code == 500
    number = re.search(r"this number: ([\w-]+)", answer.content.decode())
    assert number is not None
    assert (number[1] == "the-proxys-own") == is_trusted
    for words in (f"[request {number[1]}]", f'"request": "{number[1]}"'):
        assert words in log.getvalue()
    assert is_told_in_both(log, "KeyError")
    assert PLANTED not in log.getvalue()


def test_a_letter_that_cannot_be_sent_is_not_printed(
    client: Client, rita: User, settings: Settings, log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not shipped.EMAIL_HOST
    settings.EMAIL_BACKEND = shipped.EMAIL_BACKEND
    with mock.patch("annotation.people.accounts.link_tokens.make_token", return_value=PLANTED):
        sent = client.post("/password/forgotten/", {"email": rita.email}, follow=True)
    assert "No e-mail was sent" in sent.content.decode()
    told = capfd.readouterr()
    assert PLANTED not in log.getvalue() + told.out + told.err


def test_every_link_with_a_secret_is_known() -> None:
    def routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
        for one in patterns:
            inner = getattr(one, "url_patterns", None)
            if inner is None:
                yield before + str(one.pattern)
            else:
                yield from routes(inner, before + str(one.pattern))

    secret = [route for route in routes(get_resolver().url_patterns) if "token>" in route]
    assert secret
    assert [route for route in secret if not route.startswith(SECRET_ADDRESSES)] == []
