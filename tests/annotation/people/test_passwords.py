from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import AccessToken, AuditEvent, User
from annotation.people.accounts import add_person, issue_password_link
from annotation.people.invitations import Grant, invite
from annotation.people.mailing import is_confirmed
from tests.annotation.api.asking import Program, program_of
from tests.conftest import NOON
from tests.emails import delivered

OLD = "correct horse battery"
NEW = "another staple 77"


@pytest.fixture(autouse=True)
def mail_server(settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"


def change(client: Client, present: str = OLD, new: str = NEW, again: str = NEW) -> int:
    data = {"present": present, "password": new, "password_again": again}
    return client.post("/password/", data).status_code


def test_change_keeps_this_session_and_ends_the_others(client: Client, rita: User) -> None:
    elsewhere = Client()
    elsewhere.force_login(rita)
    client.force_login(rita)
    assert client.get("/password/").status_code == 200
    assert change(client) == 302
    assert client.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302
    assert AuditEvent.objects.get().act == "password.set"
    assert NEW not in str(AuditEvent.objects.values().get())


def status_of(program: Program) -> int:
    return int(program.get("me/").status_code)


def test_change_lists_tokens_and_sessions_and_ends_the_tokens_that_are_not_kept(client: Client, cora: User) -> None:
    kept, ended = (program_of(cora, Role.COORDINATOR) for _twice in range(2))
    first, second = AccessToken.objects.order_by("pk")
    AccessToken.objects.filter(pk=first.pk).update(name="Nightly export")
    elsewhere = Client(HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0")
    for one in (elsewhere, client):
        assert one.post("/login/", {"username": cora.email, "password": OLD}).status_code == 302
    page = " ".join(client.get("/password/").content.decode().split())
    assert "Nightly export, never used" in page, "the page lists the tokens with their last use"
    assert "Firefox on Linux" in page, "the page lists the other places"
    data = {"present": OLD, "password": NEW, "password_again": NEW, "kept": [first.public_id]}
    assert client.post("/password/", data).status_code == 302
    assert (status_of(kept), status_of(ended), elsewhere.get("/").status_code) == (200, 401, 302)
    assert AuditEvent.objects.get(act="token.revoked").facts == {"reason": "password"}
    assert AuditEvent.objects.get(act="password.set").facts == {"kept": [first.public_id]}
    assert AccessToken.objects.get(pk=second.pk).revoked_at is not None


def test_nobody_keeps_the_token_of_somebody_else(reviewer: Client, cora: User, rita: User) -> None:
    for person, role in ((rita, Role.REVIEWER), (cora, Role.COORDINATOR)):
        program_of(person, role)
    theirs = AccessToken.objects.get(owner=cora).public_id
    data = {"present": OLD, "password": NEW, "password_again": NEW, "kept": [theirs]}
    assert reviewer.post("/password/", data).status_code == 422


@pytest.mark.parametrize("by_administrator", [False, True])
def test_a_password_set_by_a_link_ends_tokens_and_sessions(
    client: Client, cora: User, ada: User, settings: Settings, by_administrator: bool
) -> None:
    script, browser = program_of(cora, Role.COORDINATOR), Client()
    browser.force_login(cora)
    link = issue_password_link(cora, actor=ada, at=NOON) if by_administrator else asked_link(client, cora.email)
    form_at = client.get(link.removeprefix(settings.PUBLIC_URL))["Location"]
    assert client.post(form_at, {"password": NEW, "password_again": NEW})["Location"] == "/login/"
    assert (status_of(script), browser.get("/").status_code) == (401, 302)


def test_bad_passwords_change_nothing(reviewer: Client, rita: User) -> None:
    for present, new, again in (
        ("wrong", NEW, NEW),
        (OLD, NEW, NEW + "x"),
        (OLD, "short", "short"),
        (OLD, "12345678901234", "12345678901234"),
        (OLD, "rita@example.org", "rita@example.org"),
        (OLD, "", ""),
    ):
        assert change(reviewer, present, new, again) == 422, (present, new, again)
    assert change(Client()) == 302, "who is not logged in comes to the page of log-in"
    assert User.objects.get(pk=rita.pk).check_password(OLD)


def asked_link(client: Client, email: str) -> str:
    assert client.post("/password/forgotten/", {"email": email})["Location"] == "/password/forgotten/sent/"
    found = re.search(r"http\S+", str(delivered()[-1].body))
    assert found
    return found.group(0)


def test_reset_by_letter(client: Client, rita: User, settings: Settings) -> None:
    settings.AXES_ENABLED = True
    for _ in range(8):
        client.post("/login/", {"username": rita.email, "password": "wrong"})
    link = asked_link(client, "Rita@Example.org")
    assert link.startswith(settings.PUBLIC_URL)
    assert delivered()[0].to == [rita.email]
    form_at = client.get(link.removeprefix(settings.PUBLIC_URL))["Location"]
    assert "Set a password" in client.get(form_at).content.decode()
    assert client.post(form_at, {"password": "short", "password_again": "short"}).status_code == 200
    assert client.post(form_at, {"password": NEW, "password_again": NEW})["Location"] == "/login/"
    assert client.post("/login/", {"username": rita.email, "password": NEW}).status_code == 302  # the lock is lifted
    client.post("/logout/")
    used = client.get(link.removeprefix(settings.PUBLIC_URL), follow=True).content.decode()
    assert "This link does not work" in used


def test_reset_needs_an_address_and_tells_nobody_who_is_here(client: Client, stan: User) -> None:
    User.objects.filter(pk=stan.pk).update(is_active=False)
    assert client.post("/password/forgotten/", {"email": "not an address"}).status_code == 200
    for email in ("nobody@example.org", stan.email):
        response = client.post("/password/forgotten/", {"email": email})
        assert response["Location"] == "/password/forgotten/sent/"
    assert not delivered()
    assert client.get("/password/forgotten/sent/").status_code == 200


def test_a_host_header_cannot_bend_the_link(client: Client, rita: User, settings: Settings) -> None:
    client.post("/password/forgotten/", {"email": rita.email}, headers={"host": "localhost:9999"})
    assert f"{settings.PUBLIC_URL}/password/new/" in str(delivered()[0].body)
    assert "9999" not in str(delivered()[0].body)


def test_a_wrong_link_says_so(client: Client, rita: User) -> None:
    for path in ("/password/new/x/y/", "/password/new/MQ/set-password/"):
        assert "This link does not work" in client.get(path).content.decode()


# --- an address is confirmed by whoever named it, or by a link that was sent there ---
NINA = {"name": "Nina", "password": "another staple 77", "password_again": "another staple 77", "time_zone": "UTC"}


def come_in(client: Client, ada: User, invited: str) -> User:
    """The account of somebody who gives nina@example.org behind a link for that address, or for none."""
    token = invite(Grant(Role.REVIEWER), email=invited, name="", actor=ada, at=timezone.now()).token
    assert client.post(f"/invitation/{token}/", {**NINA, "email": "nina@example.org"}).status_code == 302
    return User.objects.get(email="nina@example.org")


def link_in_mail() -> str:
    found = re.search(r"http://[^/]+(/profile/email/\S+)", str(delivered()[-1].body))
    assert found
    return found[1]


@pytest.mark.parametrize(("invited", "confirmed"), [("nina@example.org", True), ("", False)])
def test_an_invitation_to_the_address_confirms_it(
    client: Client, ada: User, settings: Settings, invited: str, confirmed: bool
) -> None:
    settings.EMAIL_HOST = ""
    assert is_confirmed(come_in(client, ada, invited)) is confirmed
    assert "not confirmed" not in client.get("/profile/").content.decode()  # nobody could send a link


def test_a_person_whom_an_administrator_adds_is_confirmed(ada: User) -> None:
    given = {"email": "nina@example.org", "name": "Nina", "time_zone": "UTC", "roles": [Role.REVIEWER]}
    assert is_confirmed(add_person(**given, actor=ada, at=timezone.now()))  # type: ignore[arg-type]


@pytest.mark.logs("email.confirmed")
def test_a_link_confirms_where_a_server_sends_it(client: Client, ada: User, rita: User) -> None:
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
