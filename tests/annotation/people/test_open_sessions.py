from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from annotation.models import AuditEvent, User

PASSWORD = "correct horse battery"
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
