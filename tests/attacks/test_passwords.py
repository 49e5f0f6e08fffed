"""Somebody tries passwords, behind a proxy that all share or from everywhere, and asks who has an account."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_network

import pytest
from django.contrib.auth import hashers
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.models import Job, User
from annotation.people import mailing
from annotation.site.counting import Throttle
from annotation.views.site.middleware import client_address
from tests.conftest import NOON, make_person
from tests.emails import delivered

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def site(settings: Settings) -> None:
    settings.AXES_ENABLED = True
    settings.EMAIL_HOST = "smtp.example.org"


def log_in(client: Client, email: str, password: str = "wrong", **meta: str) -> int:
    return client.post("/login/", {"username": email, "password": password}, **meta).status_code  # type: ignore[arg-type]


@pytest.mark.django_db
def test_behind_a_proxy_wrong_passwords_of_one_lock_out_nobody_else(
    client: Client, rita: User, settings: Settings
) -> None:
    settings.TRUSTED_PROXIES = (ip_network("127.0.0.1"),)
    for _ in range(8):
        tried = log_in(client, rita.email, HTTP_X_FORWARDED_FOR="203.0.113.9")
    assert tried == 429
    assert log_in(client, rita.email, PASSWORD, HTTP_X_FORWARDED_FOR="203.0.113.9") == 429
    assert log_in(client, rita.email, PASSWORD, HTTP_X_FORWARDED_FOR="198.51.100.1") == 302


@pytest.mark.django_db
def test_who_is_no_proxy_cannot_choose_an_address(client: Client, rita: User, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ()
    for number in range(9):
        tried = log_in(client, rita.email, HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
    assert tried == 429


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "6.6.6.6, 203.0.113.9", "203.0.113.9"),  # the first is claimed, the last was heard
        ("127.0.0.1", "203.0.113.9, 10.1.2.3", "203.0.113.9"),  # two proxies
        ("127.0.0.1", "10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "nonsense, 10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
        ("127.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("203.0.113.5", "198.51.100.1", "203.0.113.5"),  # no proxy of ours
        ("", "198.51.100.1", ""),
    ],
)
def test_the_address_is_the_last_that_a_trusted_proxy_heard(
    settings: Settings, peer: str, forwarded: str, found: str
) -> None:
    settings.TRUSTED_PROXIES = (ip_network("127.0.0.1"), ip_network("10.0.0.0/8"))
    assert client_address(peer, forwarded) == found


@pytest.mark.django_db
def test_one_address_does_not_try_all_accounts(client: Client, rita: User, settings: Settings) -> None:
    settings.FAILURES_OF_ADDRESS = 12
    for number in range(12):
        assert log_in(client, f"n{number}@example.org") == 200
    assert log_in(client, rita.email, PASSWORD) == 429
    assert log_in(client, rita.email, PASSWORD, REMOTE_ADDR="198.51.100.1") == 302


@pytest.mark.django_db
def test_many_addresses_do_not_try_one_account(
    client: Client, rita: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FAILURES_OF_ACCOUNT = 12
    for number in range(12):
        assert log_in(client, rita.email, REMOTE_ADDR=f"203.0.113.{number}") == 200
    assert log_in(client, make_person("Remo").email, PASSWORD, REMOTE_ADDR="198.51.100.1") == 302
    hashed: list[str] = []
    monkeypatch.setattr(hashers, "check_password", lambda *said, **more: hashed.append("one"))
    client.logout()
    refused = client.post("/login/", {"username": "RITA@example.org", "password": PASSWORD}, REMOTE_ADDR="198.51.100.2")
    assert (refused.status_code, hashed) == (429, [])
    assert "15 minutes" in refused.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("email", ["rita@example.org", "nobody@example.org", "gone@example.org"])
def test_asking_for_a_link_takes_the_same_work_whoever_is_here(client: Client, rita: User, email: str) -> None:
    """What differs, to make a link and to speak to a mail server, is left to the job."""
    User.objects.create_user("gone@example.org", "correct horse battery", name="Gone", is_active=False)
    with CaptureQueriesContext(connection) as queries:
        answer = client.post("/password/forgotten/", {"email": email})
    acts = [query["sql"].split()[0] for query in queries]
    assert (answer["Location"], acts.count("SELECT"), acts.count("INSERT")) == ("/password/forgotten/sent/", 1, 1)
    assert email not in str(Job.objects.values().get())
    assert [letter.to for letter in delivered()] == ([[email]] if email == rita.email else [])


@pytest.mark.django_db
def test_links_are_not_sent_without_end_and_nobody_is_told(client: Client, rita: User) -> None:
    answers = {client.post("/password/forgotten/", {"email": rita.email})["Location"] for _ in range(9)}
    assert (answers, len(delivered())) == ({"/password/forgotten/sent/"}, mailing.LINKS_OF_ACCOUNT.most)
    for number in range(2 * mailing.LINKS_OF_ADDRESS.most):
        client.post("/password/forgotten/", {"email": f"n{number}@example.org"})
    assert Job.objects.count() < mailing.LINKS_OF_ADDRESS.most


def test_a_throttle_counts_by_name_and_forgets_with_time() -> None:
    throttle = Throttle("tries", 2, timedelta(minutes=10))
    assert [throttle.takes("a", NOON) for _ in range(3)] == [True, True, False]
    assert throttle.takes("b", NOON)
    assert throttle.takes("a", NOON + timedelta(minutes=10))
