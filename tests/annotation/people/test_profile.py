from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unicodedata import normalize

import pytest
from django.test import Client
from django.utils.html import escape

from annotation.enums import Role
from annotation.models import Invitation, User
from annotation.people.invitations import Grant, invite
from annotation.site.sentences import zone_of


@pytest.mark.logs("profile.changed")
def test_name_and_zone_are_stored_and_nonsense_is_not(reviewer: Client, rita: User) -> None:
    assert "Rita" in reviewer.get("/profile/").content.decode()
    assert reviewer.put("/profile/").status_code == 405
    assert reviewer.post("/profile/", {"name": "Rita R.", "time_zone": "Asia/Tokyo"}).status_code == 302
    for name, zone in (
        ("", "UTC"), ("x" * 201, "UTC"), ("Rita", "Mars/Olympus"), ("Rita", "../../etc/passwd"), ("Ri\0ta", "UTC"),
    ):  # fmt: skip
        assert reviewer.post("/profile/", {"name": name, "time_zone": zone}).status_code == 422, (name, zone)
        rita.refresh_from_db()
        assert (rita.name, rita.time_zone) == ("Rita R.", "Asia/Tokyo")


def test_strangers_log_in_first(client: Client, db: None) -> None:
    assert client.get("/profile/")["Location"] == "/login/?next=/profile/"
    assert client.get("/profile/", headers={"HX-Request": "true"}).status_code == 401


def test_times_are_shown_in_the_zone_of_the_reader(administrator: Client, ada: User, noon: datetime) -> None:
    invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    Invitation.objects.update(expires_at=datetime(2999, 12, 1, 22, 30, tzinfo=UTC))
    User.objects.filter(pk=ada.pk).update(time_zone="Asia/Tokyo")
    assert "2 Dec 2999, 07:30" in administrator.get("/people/").content.decode()


def test_a_stored_zone_that_is_unknown_here_breaks_no_page(reviewer: Client, rita: User) -> None:
    for zone in ("Mars/Olympus", "", "Europe", "../../etc/passwd", "a\0b", "x" * 64):
        assert zone_of(zone).key == "UTC"
        if "\0" not in zone:
            User.objects.filter(pk=rita.pk).update(time_zone=zone)
        assert reviewer.get("/profile/").status_code == 200, zone


def test_hostile_names_are_stored_in_nfc_and_shown_exactly(administrator: Client, ada: User, shared_data: Path) -> None:
    names = (shared_data / "hostile/text/naughty_strings.txt").read_text(encoding="utf-8").split("\n")
    for name in filter(None, map(partial(normalize, "NFC"), names)):
        assert administrator.post("/profile/", {"name": name, "time_zone": "UTC"}).status_code == 302
        ada.refresh_from_db()
        assert ada.name == name
        pages = (f"/people/{ada.pk}/", "/", "/profile/", "/people/")
        for page in pages if escape(name) != name else pages[:1]:  # the others differ in what they escape alone
            response = administrator.get(page)
            assert f"<bdi>{escape(name)}</bdi>" in response.content.decode(), page
            assert "<script>window" not in response.content.decode()
            assert "<svg onload" not in response.content.decode()
