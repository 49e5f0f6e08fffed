"""Logging in by a provider that runs beside the test: who comes in, with which roles, and what is not believed."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.models import Session
from django.core.cache import cache, caches
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import AuditEvent, Membership, User
from annotation.people import provider_accounts as provider_of_settings
from annotation.people.invitations import Grant, invite
from annotation.people.kernels.provider_settings import Provider
from annotation.people.provider_accounts import waiting_place
from annotation.site.permissions import site_roles
from tests.annotation.people.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    FAULTS,
    OPEN_ID_PATH,
    RunningProvider,
    running_provider,
)
from tests.annotation.people.test_links_in_logs import is_told_in_both, log  # noqa: F401 - a fixture
from tests.dripping_server import DrippingServer, dripping_server

PUBLIC = "http://testserver"
ROLES = {"radiology": frozenset({Role.REVIEWER}), "leads": frozenset({Role.COORDINATOR, Role.REVIEWER})}
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def running() -> Iterator[RunningProvider]:
    with running_provider(f"{PUBLIC}/login/provider/answer/") as provider:
        yield provider


@pytest.fixture
def provider(running: RunningProvider, settings: Settings, db: None) -> RunningProvider:
    settings.PUBLIC_URL = PUBLIC
    settings.OIDC_PROVIDER = Provider(running.issuer, CLIENT_ID, "the hospital", CLIENT_SECRET, "groups", ROLES)
    running.says(groups=["radiology"])
    return running


def way_of(client: Client, **sent: Any) -> str:
    """Where the button leads."""
    answer = client.post(sent.pop("page", "/login/provider/"), sent)
    assert answer.status_code == 200, answer.headers
    return str(answer["Refresh"].removeprefix("0; url="))


def back_from(way: str) -> str:
    """The address to which the provider sends the browser."""
    answer = requests.get(way, allow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"].removeprefix(PUBLIC)


def log_in(client: Client, **sent: Any) -> Any:
    return client.get(back_from(way_of(client, **sent)))


def refusals() -> list[str]:
    rows = AuditEvent.objects.filter(act="provider.refused").order_by("pk")
    return [event.facts["reason"] for event in rows]


def test_somebody_new_comes_in_with_the_roles_of_the_table(client: Client, provider: RunningProvider) -> None:
    assert "Log in with the hospital" in client.get("/login/").content.decode()
    assert log_in(client, next="/profile/")["Location"] == "/profile/"
    anna = User.objects.get()
    assert (anna.email, anna.name, anna.has_usable_password()) == ("anna@example.org", "Anna", False)
    assert site_roles(anna) == {Role.REVIEWER}
    assert EmailAddress.objects.get().verified
    told = list(AuditEvent.objects.order_by("pk").values_list("act", flat=True))
    assert told == ["provider.came", "provider.connected", "role.granted"]
    client.post("/logout/")
    log_in(client)
    assert User.objects.count() == SocialAccount.objects.count() == 1
    client.post("/profile/provider/disconnect/")
    assert SocialAccount.objects.exists(), "who has no password would be left without a way in"


def test_the_way_there_proves_itself(client: Client, provider: RunningProvider) -> None:
    asked = parse_qs(urlsplit(way_of(client)).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert len(asked["nonce"][0]) > 40
    assert CLIENT_SECRET not in str(asked)
    assert client.get("/login/provider/").status_code == 405


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_believed_is_refused_logged_and_leaves_nothing(
    client: Client,
    provider: RunningProvider,
    fault: str,
    log: io.StringIO,  # noqa: F811
) -> None:
    provider.says(fault=fault, groups=["radiology"], by_userinfo=fault == "other person")
    answer = log_in(client)
    assert answer.status_code == 502
    assert "could not be believed" in answer.content.decode()
    assert client.get("/").status_code == 302
    assert not User.objects.exists()
    assert not SocialAccount.objects.exists()
    assert len(refusals()) == AuditEvent.objects.count() == 1
    assert is_told_in_both(log, "a log-in by the provider was refused")
    assert "eyJ" not in log.getvalue() + answer.content.decode() + str(AuditEvent.objects.values().get())


def test_an_answer_to_no_question_is_refused(client: Client, provider: RunningProvider) -> None:
    queries = ("", "?code=x", "?state=x&code=y", "?state=x", "?error=access_denied")
    for query in queries:
        assert client.get(f"/login/provider/answer/{query}").status_code == 400, query
    assert refusals() == ["provider_state"] * len(queries)


def test_an_answer_counts_once_and_in_its_own_browser(client: Client, provider: RunningProvider) -> None:
    address = back_from(way_of(client))
    assert Client().get(address).status_code == 400
    assert client.get(address).status_code == 302
    assert client.get(address).status_code == 400


def test_a_wrong_code_and_a_refusal_of_the_provider(client: Client, provider: RunningProvider) -> None:
    state = parse_qs(urlsplit(way_of(client)).query)["state"][0]
    assert client.get("/login/provider/answer/", {"state": state, "code": "guessed"}).status_code == 502
    state = parse_qs(urlsplit(way_of(client)).query)["state"][0]
    assert client.get("/login/provider/answer/", {"state": state, "error": "access_denied"}).status_code == 403
    assert refusals() == ["provider_status 400", "provider_declined"]


def test_roles_follow_the_claim_and_those_given_by_hand_stay(
    client: Client, provider: RunningProvider, ada: User
) -> None:
    provider.says(groups=["leads", "nobody knows"])
    log_in(client)
    anna = User.objects.get(email="anna@example.org")
    assert site_roles(anna) == {Role.REVIEWER, Role.COORDINATOR}
    Membership.objects.create(user=anna, role=Role.DEIDENTIFIER, granted_by=ada, granted_at=timezone.now())
    for groups, roles in (
        ("radiology", {Role.REVIEWER}),
        ([{"x": 1}], set()),
        (["leads"], {Role.COORDINATOR, Role.REVIEWER}),
    ):
        provider.says(groups=groups)
        log_in(client)
        assert site_roles(User.objects.get(pk=anna.pk)) == {Role.DEIDENTIFIER, *roles}


def test_the_last_administrator_stays_one(client: Client, provider: RunningProvider, settings: Settings) -> None:
    settings.OIDC_PROVIDER = replace(settings.OIDC_PROVIDER, roles={"it": frozenset({Role.ADMINISTRATOR})})
    for groups in (["it"], []):
        provider.says(groups=groups)
        log_in(client)
    assert site_roles(User.objects.get()) == {Role.ADMINISTRATOR}


def test_nobody_comes_without_a_role_an_address_or_an_active_account(
    client: Client, provider: RunningProvider, rita: User
) -> None:
    for said in (
        {"groups": ["others"]},
        {"groups": ["radiology"], "email": ""},
        {"groups": ["radiology"], "email": rita.email},
    ):
        provider.says(**said)
        assert log_in(client).status_code == 403
    provider.says(groups=["radiology"])
    log_in(client)
    User.objects.filter(email="anna@example.org").update(is_active=False)
    assert log_in(client).status_code == 403
    assert refusals() == ["provider_unknown", "provider_no_address", "provider_unknown", "provider_deactivated"]


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("verified_there", [False, True, "true"])
@pytest.mark.parametrize("confirmed_here", [False, True])
def test_an_account_is_taken_by_its_address_only_where_both_sides_know_it_and_the_settings_say_so(
    client: Client,
    provider: RunningProvider,
    rita: User,
    settings: Settings,
    links: bool,
    verified_there: Any,
    confirmed_here: bool,
) -> None:
    settings.OIDC_PROVIDER = replace(settings.OIDC_PROVIDER, links_by_email=links)
    EmailAddress.objects.create(user=rita, email=rita.email, primary=True, verified=confirmed_here)
    provider.says(email=rita.email.upper(), email_verified=verified_there)
    is_taken = links and verified_there is True and confirmed_here
    assert log_in(client).status_code == (302 if is_taken else 403)
    assert SocialAccount.objects.filter(user=rita).exists() is is_taken


@pytest.mark.parametrize("invited", ["", "anna@example.org", "other@example.org"])
def test_an_invitation_lets_somebody_in_whom_the_table_does_not_know(
    client: Client, provider: RunningProvider, ada: User, invited: str
) -> None:
    token = invite(Grant(Role.DEIDENTIFIER), email=invited, name="", actor=ada, at=timezone.now()).token
    provider.says(groups=[])
    assert "Log in with the hospital" in client.get(f"/invitation/{token}/").content.decode()
    answer = log_in(client, invitation=token)
    if invited == "other@example.org":
        assert answer.status_code == 409
        assert not User.objects.exclude(pk=ada.pk).exists()
        return
    assert answer.status_code == 302
    anna = User.objects.get(email="anna@example.org")
    assert site_roles(anna) == {Role.DEIDENTIFIER}
    assert EmailAddress.objects.get(user=anna).verified is bool(invited)
    log_in(client)
    assert site_roles(User.objects.get(pk=anna.pk)) == {Role.DEIDENTIFIER}


def test_an_invitation_to_an_address_connects_its_account(
    client: Client, provider: RunningProvider, ada: User, rita: User
) -> None:
    token = invite(Grant(Role.DEIDENTIFIER), email=rita.email, name="", actor=ada, at=timezone.now()).token
    provider.says(email=rita.email, email_verified=False)
    assert log_in(client, invitation=token).status_code == 403
    provider.says(email=rita.email)
    assert log_in(client, invitation=token).status_code == 302
    assert site_roles(User.objects.get(pk=rita.pk)) == {Role.REVIEWER, Role.DEIDENTIFIER}


@pytest.mark.logs("provider.disconnected", "role.withdrawn")
def test_an_account_is_connected_on_the_profile_and_disconnected(
    client: Client, provider: RunningProvider, rita: User, remo: User
) -> None:
    client.post("/login/", {"username": rita.email, "password": PASSWORD})
    provider.says(groups=["leads"])
    assert log_in(client, page="/profile/provider/")["Location"] == "/profile/provider/"
    client.post("/logout/")
    assert log_in(client)["Location"] == "/"
    assert site_roles(User.objects.get(pk=rita.pk)) == {Role.REVIEWER, Role.COORDINATOR}
    other = Client()
    other.post("/login/", {"username": remo.email, "password": PASSWORD})
    assert log_in(other, page="/profile/provider/").status_code == 409
    assert client.post("/profile/provider/disconnect/").status_code == 302
    assert not SocialAccount.objects.exists()
    assert site_roles(User.objects.get(pk=rita.pk)) == {Role.REVIEWER}


def test_an_answer_for_another_person_connects_nobody(
    client: Client, provider: RunningProvider, rita: User, remo: User
) -> None:
    client.post("/login/", {"username": rita.email, "password": PASSWORD})
    way = way_of(client, page="/profile/provider/")
    session = dict(client.session.items())
    client.force_login(remo)
    kept = client.session
    kept["socialaccount_states"] = session["socialaccount_states"]
    kept.save()
    assert client.get(back_from(way)).status_code == 400
    assert not SocialAccount.objects.exists()


def test_a_provider_that_is_away_is_said(client: Client, provider: RunningProvider, settings: Settings) -> None:
    settings.OIDC_PROVIDER = replace(settings.OIDC_PROVIDER, issuer="http://127.0.0.1:9")
    answer = client.post("/login/provider/")
    assert answer.status_code == 502
    assert "does not answer" in answer.content.decode()


@pytest.fixture
def slow(settings: Settings, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[DrippingServer]:
    """A provider whose configuration is there, and which gives a token a byte at a time."""
    caches["counts"].clear()
    cache.clear()
    monkeypatch.setattr(provider_of_settings, "SECONDS", 0.3)
    with dripping_server() as server:
        places = {f"{name}_endpoint": f"{server.url}/{name}" for name in ("authorization", "token")}
        server.answers[OPEN_ID_PATH] = {"issuer": server.url, "jwks_uri": f"{server.url}/jwks", **places}
        settings.OIDC_PROVIDER = Provider(server.url, CLIENT_ID, "the hospital", CLIENT_SECRET, "groups", ROLES)
        yield server


def answer_address(client: Client) -> str:
    state = parse_qs(urlsplit(way_of(client)).query)["state"][0]
    return f"/login/provider/answer/?code=a&state={state}"


def test_a_provider_that_drips_holds_a_page_no_longer_than_its_time(client: Client, slow: DrippingServer) -> None:
    answer = client.get(answer_address(client))
    assert answer.status_code == 502
    assert "does not answer" in answer.content.decode()
    assert slow.was_left.wait(10), "one deadline for all requests of a page: a byte now and then may not extend it"


def test_the_configuration_is_asked_for_once_and_an_answer_that_nobody_asked_for_sends_nothing(
    client: Client, slow: DrippingServer
) -> None:
    for _time in range(3):
        way_of(client)
    assert client.get("/login/provider/answer/?code=a&state=of-nobody").status_code == 400
    assert slow.asked == [OPEN_ID_PATH]


@pytest.mark.parametrize("others", [["10.0.0.1", "10.0.0.2"], ["127.0.0.1"]])
def test_where_others_wait_already_a_page_is_answered_at_once(
    client: Client, provider: RunningProvider, others: list[str]
) -> None:
    address = back_from(way_of(client))
    with ExitStack() as waiting:
        for other in others:
            waiting.enter_context(waiting_place(other))
        answer = client.get(address)
        assert (answer.status_code, answer["Refresh"]) == (503, "3")
        assert "Try again in a few seconds" in answer.content.decode()
        cache.clear()  # the configuration would have to be asked for
        assert client.post("/login/provider/").status_code == 503
    assert client.get(address).status_code == 302, "the answer of the provider must be usable after the wait"
    assert refusals() == []


def test_a_key_that_is_new_at_the_provider_is_asked_for(client: Client, provider: RunningProvider) -> None:
    log_in(client)
    client.post("/logout/")
    issuer = sha256(provider.issuer.encode()).hexdigest()
    cache.set(f"{provider_of_settings.KEYS}-{issuer}", {"keys": []})
    assert log_in(client).status_code == 302


def test_without_a_provider_there_is_no_button_and_no_address(client: Client, db: None) -> None:
    assert "/login/provider/" not in client.get("/login/").content.decode()
    assert client.post("/login/provider/").status_code == 404
    assert client.get("/login/provider/answer/").status_code == 404


def test_nothing_secret_is_kept_or_told(
    client: Client,
    provider: RunningProvider,
    log: io.StringIO,  # noqa: F811
) -> None:
    """Neither the code, the tokens nor the secret stand in the log, in the audit log, or in a row of an account."""
    address = back_from(way_of(client))
    code = parse_qs(urlsplit(address).query)["code"][0]
    with mock.patch.object(logging.getLogger("urllib3"), "level", logging.DEBUG):
        client.get(address)
        client.get(address)  # refused: its address is told by Django
    rows = [str(list(model.objects.values())) for model in (AuditEvent, SocialAccount, User, Membership)]
    sessions = str([one.get_decoded() for one in Session.objects.all()])
    for text in (log.getvalue(), *rows, sessions):
        for secret in (code, "eyJ", CLIENT_SECRET, "access_token", "id_token"):
            assert secret not in text
