"""Configuration readers refuse nonsense."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotation.enums import Role
from rexvqa_site.env import (
    HIDDEN,
    cookie_name,
    env_bool,
    env_int,
    env_provider,
    env_receiver,
    env_secret,
    env_site,
    env_word,
    secret_from_file,
    settings_read,
)
from rexvqa_site.settings import database_from


@pytest.mark.parametrize(("word", "value"), [("1", True), ("Yes", True), ("off", False), ("", False)])
def test_a_switch_is_read(monkeypatch: pytest.MonkeyPatch, word: str, value: bool) -> None:
    monkeypatch.setenv("X", word)
    assert env_bool("X") is value


def test_a_word_that_is_no_switch_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "maybe")
    with pytest.raises(ImproperlyConfigured, match="neither yes nor no"):
        env_bool("X")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://reading.example.org/", "https://reading.example.org"),
        ("HTTPS://Reading.Example.ORG", "https://reading.example.org"),
        ("https://reading.example.org:443", "https://reading.example.org"),
        ("http://10.0.0.7:80", "http://10.0.0.7"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://lesung.klinik-müller.example", "https://lesung.xn--klinik-mller-klb.example"),
    ],
)
def test_the_address_of_the_site_is_what_browsers_write(monkeypatch: pytest.MonkeyPatch, said: str, shown: str) -> None:
    """Otherwise the origin of a form is no trusted one, and nobody can log in."""
    monkeypatch.setenv("X", said)
    assert env_site("X", "") == shown


def test_two_sites_on_one_host_do_not_take_each_others_cookies() -> None:
    sites = (
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8222",
        "https://reading.example.org",
        "http://reading.example.org",
    )
    names = [cookie_name("sessionid", site) for site in sites]
    assert names == ["sessionid_8000", "sessionid_8222", "sessionid", "sessionid_80"]


@pytest.mark.parametrize(
    "said",
    [
        "https://reading.example.org/rexvqa",
        "https://reading.example.org/rexvqa?x=1#y",
        "https://reading.example.org?x=1",
        "https://user:pw@reading.example.org",
        "https://reading.example.org.",
        "https://reading.example.org:443000",
        "ftp://reading.example.org",
        "reading.example.org",
        "https://",
    ],
)
def test_an_address_that_could_not_be_served_stops_the_start(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("X", said)
    with pytest.raises(ImproperlyConfigured, match=r"such as https://reading\.example\.org") as refused:
        env_site("X", "")
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize("text", ["ten", "-1"])
def test_a_number_that_makes_no_sense_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(ImproperlyConfigured):
        env_int("X", 5)


def test_the_key_is_random_private_and_stays(tmp_path: Path) -> None:
    first = secret_from_file(tmp_path / "new" / "key")
    assert first == secret_from_file(tmp_path / "new" / "key")
    assert first != secret_from_file(tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "new" / "key").stat().st_mode) == 0o600


def test_an_emptied_key_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("")
    with pytest.raises(ImproperlyConfigured, match="restore it"):
        secret_from_file(tmp_path / "key")


@pytest.mark.parametrize("guessable", ["x", "changeme", "x" * 64, "0123456789abcdef"])
def test_a_key_that_can_be_guessed_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, guessable: str
) -> None:
    monkeypatch.setenv("REXVQA_SECRET_KEY", guessable)
    with pytest.raises(ImproperlyConfigured, match="REXVQA_SECRET_KEY can be guessed") as refused:
        env_secret("REXVQA_SECRET_KEY", tmp_path / "key")
    assert repr(guessable) not in str(refused.value)
    assert not (tmp_path / "key").exists()


def test_a_key_of_the_environment_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REXVQA_SECRET_KEY", "0123456789abcdef" * 2)
    assert env_secret("REXVQA_SECRET_KEY", tmp_path / "key") == "0123456789abcdef" * 2
    assert not (tmp_path / "key").exists()


def test_sqlite_keeps_what_it_acknowledged() -> None:
    options = database_from("sqlite:////tmp/x.sqlite3")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] == 20
    assert "synchronous=FULL" in options["init_command"]
    assert "journal_mode=WAL" in options["init_command"]


def test_a_pooler_of_transactions_is_named_in_the_address() -> None:
    plain, pooled = (database_from(f"postgres://me@host/x{query}") for query in ("", "?pool_mode=transaction"))
    assert (plain["DISABLE_SERVER_SIDE_CURSORS"], pooled["DISABLE_SERVER_SIDE_CURSORS"]) == (False, True)
    assert plain["OPTIONS"] == pooled["OPTIONS"]  # PostgreSQL knows no such option
    with pytest.raises(ImproperlyConfigured, match="pool_mode"):
        database_from("postgres://me@host/x?pool_mode=statement")


def test_another_database_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured):
        database_from("mysql://localhost/x")


OIDC = {"ISSUER": "https://login.example.org", "CLIENT_ID": "room", "CLIENT_SECRET": "a secret of the client"}


def test_no_issuer_is_no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REXVQA_OIDC_ISSUER", raising=False)
    assert env_provider() is None


def test_a_provider_is_read_with_its_table_and_its_secret_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("a secret in a file\n")
    table = "CN=leads,OU=rad=coordinator; CN=leads,OU=rad=reviewer; readers=reviewer;"
    given = {**OIDC, "CLIENT_SECRET": "", "CLIENT_SECRET_FILE": str(tmp_path / "secret"), "ROLES": table}
    for name, value in given.items():
        monkeypatch.setenv(f"REXVQA_OIDC_{name}", value)
    provider = env_provider()
    assert provider is not None
    assert provider.roles_of({"roles": "CN=leads,OU=rad"}) == {Role.COORDINATOR, Role.REVIEWER}
    assert provider.roles_of({"roles": ["readers", 7, "x"]}) == {Role.REVIEWER}
    assert provider.roles_of({"roles": {"readers": 1}}) == provider.roles_of({}) == frozenset()
    assert "in a file" not in repr(provider)
    assert provider.secret == "a secret in a file"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ISSUER", "http://login.example.org"),
        ("ISSUER", "https://user:password@login.example.org"),
        ("ISSUER", "login.example.org"),
        ("ISSUER", "https://[broken"),
        ("CLIENT_ID", ""),
        ("CLIENT_SECRET", ""),
        ("CLIENT_SECRET_FILE", "/nowhere/secret"),
        ("ROLES", "readers"),
        ("ROLES", "readers=king"),
        ("ROLES", "=reviewer"),
        ("LINK", "always"),
        ("CA_FILE", "/nowhere/ca.pem"),
    ],
)
def test_a_provider_that_makes_no_sense_stops_the_start(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    given = {**OIDC, **({"CLIENT_SECRET": ""} if name == "CLIENT_SECRET_FILE" else {}), name: value}
    for key, text in given.items():
        monkeypatch.setenv(f"REXVQA_OIDC_{key}", text)
    with pytest.raises(ImproperlyConfigured) as refused:
        env_provider()
    assert OIDC["CLIENT_SECRET"] not in str(refused.value)


def test_a_word_that_is_none_of_those_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "sometimes")
    with pytest.raises(ImproperlyConfigured, match="none of"):
        env_word("X", ("never", "always"))


DSN = (r"https?://[^/?#@\s]+@[^?#@\s]+/\d+", "https://KEY@sentry.example.org/1")


@pytest.mark.parametrize("said", ["https://the-key@sentry.example.org/17", "http://the-key@10.0.0.7:9000/sentry/1"])
def test_the_key_in_the_address_of_a_receiver_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("X_DSN", said)
    assert env_receiver("X_DSN", *DSN) == said
    assert [value for name, value, _is_set in settings_read() if name == "X_DSN"] == [HIDDEN]


@pytest.mark.parametrize("said", ["https://sentry.example.org/1", "the-key@sentry.example.org/1", "https://the-key@x/"])
def test_an_address_that_is_no_receiver_stops_the_start(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("X_DSN", said)
    with pytest.raises(ImproperlyConfigured, match="X_DSN is not an address such as") as refused:
        env_receiver("X_DSN", *DSN)
    assert "the-key" not in str(refused.value)
