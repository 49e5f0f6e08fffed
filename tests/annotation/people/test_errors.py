from __future__ import annotations

from unittest import mock

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory

from annotation.models import User
from annotation.views import errors


def test_404_says_what_to_do(client: Client, db: None) -> None:
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert "Start again from your home page" in response.content.decode()


def test_403_names_the_role_that_is_missing(client: Client, rita: User) -> None:
    client.force_login(rita)
    response = client.get("/people/")
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


def test_500_renders_while_the_database_is_down(client: Client, rita: User) -> None:
    client.force_login(rita)
    client.raise_request_exception = False
    with mock.patch.object(connection, "cursor", side_effect=OSError("gone")):
        response = client.get("/")
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
