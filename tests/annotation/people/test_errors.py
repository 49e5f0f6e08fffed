from __future__ import annotations

import errno
from unittest import mock

import psycopg2
import pytest
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest
from django.test import Client, RequestFactory

from annotation.views.site import errors


def test_404_says_what_to_do(client: Client, db: None) -> None:
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert "Start again from your home page" in response.content.decode()


def test_403_names_the_role_that_is_missing(reviewer: Client) -> None:
    response = reviewer.get("/site/settings/")
    assert response.status_code == 403
    assert "This page is for people with the role: administrator." in response.content.decode()


def test_400_for_an_address_that_is_not_ours(client: Client, db: None) -> None:
    response = client.get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "compare it with the one that you were given" in response.content.decode()


def test_500_renders_without_a_database(rf: RequestFactory) -> None:
    """No database mark: any query would fail this test."""
    response = errors.server_error(rf.get("/"))
    assert response.status_code == 500
    assert "Nothing that was shown as saved is lost" in response.content.decode()


def test_500_renders_while_the_database_is_down(reviewer: Client) -> None:
    reviewer.raise_request_exception = False
    with mock.patch.object(connection, "cursor", side_effect=OSError("gone")):
        response = reviewer.get("/")
    assert response.status_code == 500
    assert "<html" in response.content.decode()


def test_500_renders_even_when_templates_fail(rf: RequestFactory) -> None:
    with mock.patch.object(errors, "render_to_string", side_effect=ValueError("no style sheet")):
        response = errors.server_error(rf.get("/"))
    assert response.status_code == 500
    assert response["Content-Type"].startswith("text/plain")
    assert "Load the page again" in response.content.decode()


@pytest.mark.parametrize("view", [errors.bad_request, errors.server_error])
def test_a_request_without_a_person_is_enough(view: object) -> None:
    assert view(HttpRequest()).status_code in {400, 500}  # type: ignore[operator]


class Restarting(psycopg2.OperationalError):
    pgcode = "57P03"  # only a server sets it on an instance


class Deadlock(psycopg2.OperationalError):
    pgcode = "40P01"


def django_error(kind: type[Exception], cause: Exception) -> Exception:
    """As Django wraps what the driver of a database raises."""
    wrapped = kind(*cause.args)
    wrapped.__cause__ = cause
    return wrapped


AWAY = {
    "no answer": django_error(OperationalError, psycopg2.OperationalError("connection refused")),
    "restarting": django_error(OperationalError, Restarting("starting up")),
    "closed": django_error(InterfaceError, psycopg2.InterfaceError("connection already closed")),
}


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_503_while_the_database_is_away(reviewer: Client, away: Exception) -> None:
    """Met by the session already, before any view is called."""
    reviewer.raise_request_exception = False
    with mock.patch.object(connection, "cursor", side_effect=away):
        response = reviewer.get("/")
        told = reviewer.post("/profile/", headers={"HX-Request": "true"})
        asked = reviewer.get("/profile/", headers={"Accept": "application/json"})
    assert response.status_code == told.status_code == asked.status_code == 503
    assert int(response["Retry-After"]) == int(told["Retry-After"]) > 0
    assert "Your answers are kept" in response.content.decode()
    assert told.json()["reason"] == asked.json()["reason"] == "database_away"


def test_503_where_a_view_meets_it(reviewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.views.people.account.ProfileForm", mock.Mock(side_effect=AWAY["no answer"]))
    assert reviewer.get("/profile/").status_code == 503


def test_507_where_the_disk_is_full_before_a_view_is_called(reviewer: Client) -> None:
    reviewer.raise_request_exception = False
    with mock.patch.object(connection, "cursor", side_effect=OSError(errno.ENOSPC, "No space left on device")):
        told = reviewer.post("/profile/", headers={"HX-Request": "true"})
    assert (told.status_code, told.json()["reason"]) == (507, "storage_full")


def test_a_fault_of_the_program_is_none_of_the_database(reviewer: Client) -> None:
    reviewer.raise_request_exception = False
    deadlock = django_error(OperationalError, Deadlock("deadlock detected"))
    with mock.patch.object(connection, "cursor", side_effect=deadlock):
        told = reviewer.get("/", headers={"Accept": "application/json"})
    assert (told.status_code, told.json()["reason"]) == (500, "server_error")


@pytest.mark.parametrize("path", ["/banks/%00/", "/invitation/a%00b/", "/rounds/x/?page=%00", "/image/%00/"])
def test_400_for_an_address_with_a_nul(coordinator: Client, path: str) -> None:
    assert coordinator.get(path).status_code == 400


def test_400_for_a_nul_that_only_the_database_refuses(reviewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = ValueError("A string literal cannot contain NUL (0x00) characters.")
    monkeypatch.setattr("annotation.views.people.account.ProfileForm", mock.Mock(side_effect=refusal))
    assert reviewer.post("/profile/").status_code == 400


@pytest.mark.parametrize("path", ["/", "/people/", "/banks/", "/nothing/", "/login/", "/healthz"])
def test_no_browser_keeps_a_page(administrator: Client, path: str) -> None:
    assert "no-store" in administrator.get(path)["Cache-Control"]


@pytest.mark.parametrize(("origin", "why"), [("null", "no-referrer"), ("https://evil.example", "refuses cookies")])
def test_a_log_in_behind_a_proxy_that_hides_the_origin_names_it(db: None, origin: str, why: str) -> None:
    client = Client(enforce_csrf_checks=True)
    token = client.get("/login/").cookies["csrftoken"].value
    sent = {"username": "rita@example.org", "password": "x", "csrfmiddlewaretoken": token}
    answer = client.post("/login/", sent, headers={"Origin": origin})
    assert answer.status_code == 403
    assert why in answer.content.decode()
