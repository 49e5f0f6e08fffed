from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import make_password
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import AuditEvent, User
from rexvqa_site.settings import PASSWORD_HASHERS

PASSWORD = "correct horse battery"


def send(client: Client, email: str, password: str = PASSWORD, **more: str) -> int:
    return client.post("/login/", {"username": email, "password": password, **more}).status_code


@pytest.fixture
def _throttled(settings: Settings) -> None:
    settings.AXES_ENABLED = True


def test_log_in_leads_back_to_the_page_that_was_asked_for_and_nowhere_else(client: Client, rita: User) -> None:
    asked = client.get("/profile/")
    assert asked["Location"] == "/login/?next=/profile/"
    assert 'name="next" value="/profile/"' in client.get(asked["Location"]).content.decode()
    for address, place in {
        "/profile/": "/profile/",
        "": "/",
        "https://evil.example": "/",
        "//evil.example": "/",
        "javascript:alert(1)": "/",
    }.items():
        sent = {"username": " RITA@example.org", "password": PASSWORD, "next": address}
        assert client.post("/login/", sent)["Location"] == place, address
        client.post("/logout/")


def test_a_password_is_stored_by_argon2_and_one_from_before_at_its_next_log_in(
    client: Client, rita: User, settings: Settings
) -> None:
    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    rita.password = make_password(PASSWORD, hasher="pbkdf2_sha256")
    rita.save()
    assert send(client, rita.email) == 302
    rita.refresh_from_db()
    assert rita.password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$"), "as decision 0026 says"
    assert send(client, rita.email) == 302


def test_wrong_words_are_refused(client: Client, rita: User) -> None:
    for email, password in (
        (rita.email, "wrong"), ("nobody@example.org", PASSWORD), ("", ""), ("rita\0@example.org", PASSWORD),
    ):  # fmt: skip
        assert send(client, email, password) == 200, email
        assert "_auth_user_id" not in client.session


def test_a_deactivated_person_is_out_at_once(reviewer: Client, rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(is_active=False)
    assert reviewer.get("/").status_code == 302
    assert send(reviewer, rita.email) == 200


@pytest.mark.usefixtures("_throttled")
def test_eight_wrong_passwords_lock_the_address_for_a_time_that_is_named(client: Client, rita: User) -> None:
    for _seven in range(7):
        send(client, rita.email, "wrong")
    assert send(client, rita.email) == 302
    client.post("/logout/")
    for spelling in ["rita@example.org", "Rita@example.org", "RITA@EXAMPLE.ORG", " rita@example.org"] * 2:
        response = client.post("/login/", {"username": spelling, "password": "wrong"})
    assert response.status_code == 429
    assert "15 minutes" in response.content.decode()
    assert send(client, rita.email) == 429
    assert send(client, "remo@example.org") == 200


@pytest.mark.usefixtures("_throttled")
def test_passkeys_that_say_nothing_lock_their_address_and_nobody_else(
    client: Client, rita: User, settings: Settings
) -> None:
    def status(address: str) -> int:
        return client.post("/login/passkey/", {"credential": "{}"}, REMOTE_ADDR=address).status_code

    for number in range(settings.FAILURES_OF_ACCOUNT + 10):
        assert status(f"10.0.0.{number % 5}") == 302, "a try without an account may count for its address alone"
    assert status("10.0.1.1") == 302
    for _more in range(settings.FAILURES_OF_ADDRESS):
        status("10.0.0.1")
    assert (status("10.0.0.1"), status("10.0.0.2")) == (429, 302)
    assert send(client, rita.email) == 302


def test_log_out_is_never_a_link_and_clears_what_the_browser_kept_but_what_may_wait_to_be_sent(
    reviewer: Client, rita: User
) -> None:
    assert reviewer.get("/logout/").status_code == 405
    assert reviewer.get("/").status_code == 200
    response = reviewer.post("/logout/", {"empty": "1"})
    assert (response["Clear-Site-Data"], response["Location"]) == ('"cache", "storage"', "/login/")
    assert reviewer.get("/").status_code == 302
    reviewer.force_login(rita)
    assert reviewer.post("/logout/", {"empty": ""})["Clear-Site-Data"] == '"cache"'


def test_log_out_needs_the_token_of_the_page(rita: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(rita)
    response = client.post("/logout/")
    assert response.status_code == 403
    assert "load the page again" in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_pages_of_log_in_take_no_other_method(client: Client, method: str) -> None:
    for address in ("/login/", "/login/factor/", "/login/passkey/", "/password/new/a/b/"):
        assert client.generic(method, address).status_code == 405, address


# --- where a person is logged in ---


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"


def logged_in(person: User, **more: Any) -> Client:
    client = Client(**more)
    assert client.post("/login/", {"username": person.email, "password": PASSWORD}).status_code == 302
    return client


def test_each_place_is_listed_and_can_be_ended(rita: User) -> None:
    here, there = logged_in(rita), logged_in(rita, HTTP_USER_AGENT=FIREFOX, REMOTE_ADDR="10.1.2.3")
    page = " ".join(here.get("/profile/sessions/").content.decode().split())
    assert "Firefox on Linux" in page
    assert "10.1.2.3" in page
    assert page.count("Log out there") == 1
    row = UserSession.objects.get(ip="10.1.2.3")
    assert here.post(f"/profile/sessions/{row.pk}/end/").status_code == 302
    assert there.get("/").status_code == 302
    assert here.get("/").status_code == 200
    assert AuditEvent.objects.get().act == "session.ended"


@pytest.mark.logs("session.ended")
def test_all_others_end_at_once(rita: User) -> None:
    here, *others = [logged_in(rita) for _n in range(3)]
    assert here.post("/profile/sessions/end-others/").status_code == 302
    assert [one.get("/").status_code for one in (here, *others)] == [200, 302, 302]


def test_nobody_ends_the_session_of_another(rita: User, remo: User) -> None:
    theirs = logged_in(rita)
    row = UserSession.objects.get()
    assert logged_in(remo).post(f"/profile/sessions/{row.pk}/end/").status_code == 404
    assert theirs.get("/").status_code == 200


def test_a_new_password_leaves_this_one_alone_in_the_list(rita: User) -> None:
    here, there = logged_in(rita), logged_in(rita)
    new = {"present": PASSWORD, "password": "another staple 77", "password_again": "another staple 77"}
    assert here.post("/password/", new).status_code == 302
    page = here.get("/profile/sessions/").content.decode()
    assert there.get("/").status_code == 302
    assert "Log out there" not in page
    assert UserSession.objects.get().session_key == here.session.session_key
