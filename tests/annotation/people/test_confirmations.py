"""An address is confirmed by whoever named it, or by a link that was sent there."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import User
from annotation.people.accounts import add_person
from annotation.people.invitations import Grant, invite
from annotation.people.mailing import is_confirmed
from tests.emails import delivered

NEW = {"name": "Nina", "password": "another staple 77", "password_again": "another staple 77", "time_zone": "UTC"}


def come_in(client: Client, ada: User, invited: str) -> User:
    """The account of somebody who gives nina@example.org behind a link for that address, or for none."""
    token = invite(Grant(Role.REVIEWER), email=invited, name="", actor=ada, at=timezone.now()).token
    assert client.post(f"/invitation/{token}/", {**NEW, "email": "nina@example.org"}).status_code == 302
    return User.objects.get(email="nina@example.org")


def link_in_mail() -> str:
    found = re.search(r"http://[^/]+(/profile/email/\S+)", str(delivered()[-1].body))
    assert found
    return found[1]


@pytest.mark.parametrize(("invited", "confirmed"), [("nina@example.org", True), ("", False)])
def test_an_invitation_to_the_address_confirms_it(client: Client, ada: User, invited: str, confirmed: bool) -> None:
    assert is_confirmed(come_in(client, ada, invited)) is confirmed
    assert "not confirmed" not in client.get("/profile/").content.decode()  # nobody could send a link


def test_a_person_whom_an_administrator_adds_is_confirmed(ada: User) -> None:
    given = {"email": "nina@example.org", "name": "Nina", "time_zone": "UTC", "roles": [Role.REVIEWER]}
    assert is_confirmed(add_person(**given, actor=ada, at=timezone.now()))  # type: ignore[arg-type]


@pytest.mark.logs("email.confirmed")
def test_a_link_confirms_where_a_server_sends_it(client: Client, ada: User, rita: User, settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    nina = come_in(client, ada, "")
    first = link_in_mail()
    assert "not confirmed" in client.get("/profile/").content.decode()
    assert client.post("/profile/email/ask/").status_code == 302
    assert len(delivered()) == 2
    assert client.get(first).status_code == 200
    assert not is_confirmed(nina)  # a look is not enough
    other = Client()
    other.force_login(rita)
    other.post(first)
    assert not is_confirmed(nina)
    client.post(first)
    assert is_confirmed(nina)
    assert client.post("/profile/email/x:y:z/").status_code == 302
