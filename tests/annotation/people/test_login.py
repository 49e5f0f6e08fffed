from __future__ import annotations

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import User
from rexvqa_site.settings import PASSWORD_HASHERS

PASSWORD = "correct horse battery"


def send(client: Client, email: str, password: str = PASSWORD, **more: str) -> int:
    return client.post("/login/", {"username": email, "password": password, **more}).status_code


@pytest.fixture
def _throttled(settings: Settings) -> None:
    settings.AXES_ENABLED = True


def test_log_in_with_an_address_in_any_case(client: Client, rita: User) -> None:
    response = client.post("/login/", {"username": " RITA@example.org", "password": PASSWORD})
    assert response.status_code == 302
    assert response["Location"] == "/"


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


def test_log_in_leads_back_to_the_page_that_was_asked_for(client: Client, rita: User) -> None:
    asked = client.get("/profile/")
    assert asked["Location"] == "/login/?next=/profile/"
    assert 'name="next" value="/profile/"' in client.get(asked["Location"]).content.decode()
    response = client.post("/login/", {"username": rita.email, "password": PASSWORD, "next": "/profile/"})
    assert response["Location"] == "/profile/"


@pytest.mark.parametrize("address", ["https://evil.example", "//evil.example", "javascript:alert(1)"])
def test_log_in_leads_nowhere_else(client: Client, rita: User, address: str) -> None:
    response = client.post("/login/", {"username": rita.email, "password": PASSWORD, "next": address})
    assert response["Location"] == "/"


@pytest.mark.parametrize(
    ("email", "password"),
    [("rita@example.org", "wrong"), ("nobody@example.org", PASSWORD), ("", ""), ("rita\0@example.org", PASSWORD)],
)
def test_wrong_words_are_refused(client: Client, rita: User, email: str, password: str) -> None:
    assert send(client, email, password) == 200
    assert "_auth_user_id" not in client.session


def test_a_deactivated_person_is_out_at_once(reviewer: Client, rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(is_active=False)
    assert reviewer.get("/").status_code == 302
    assert send(reviewer, rita.email) == 200


@pytest.mark.usefixtures("_throttled")
def test_eight_wrong_passwords_lock_the_address_for_a_time_that_is_named(client: Client, rita: User) -> None:
    for spelling in ["rita@example.org", "Rita@example.org", "RITA@EXAMPLE.ORG", " rita@example.org"] * 2:
        response = client.post("/login/", {"username": spelling, "password": "wrong"})
    assert response.status_code == 429
    assert "15 minutes" in response.content.decode()
    assert send(client, rita.email) == 429
    assert send(client, "remo@example.org") == 200


@pytest.mark.usefixtures("_throttled")
def test_seven_wrong_passwords_do_not(client: Client, rita: User) -> None:
    for _ in range(7):
        send(client, rita.email, "wrong")
    assert send(client, rita.email) == 302


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


def test_log_out_clears_what_the_browser_kept(reviewer: Client) -> None:
    response = reviewer.post("/logout/", {"empty": "1"})
    assert response["Clear-Site-Data"] == '"cache", "storage"'
    assert response["Location"] == "/login/"
    assert reviewer.get("/").status_code == 302


def test_log_out_leaves_what_may_wait_to_be_sent(reviewer: Client) -> None:
    assert reviewer.post("/logout/", {"empty": ""})["Clear-Site-Data"] == '"cache"'


def test_log_out_is_never_a_link(reviewer: Client) -> None:
    assert reviewer.get("/logout/").status_code == 405
    assert reviewer.get("/").status_code == 200


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
