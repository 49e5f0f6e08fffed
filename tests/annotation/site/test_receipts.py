"""The receipt by which a script knows that an answer is the site's, and that what it sent came whole."""

from __future__ import annotations

import zlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import User

NUMBER = "1234567890"


def received(client: Client, path: str, body: str | None, number: str = NUMBER) -> str | None:
    headers = {"X-Sent": number, "HX-Request": "true"}
    if body is None:
        return client.get(path, headers=headers).headers.get("X-Received")
    kind = "application/x-www-form-urlencoded"
    return client.post(path, body, content_type=kind, headers=headers).headers.get("X-Received")


@pytest.mark.django_db
def test_every_answer_has_one_also_a_refusal_and_only_a_number_is_repeated(client: Client, rita: User) -> None:
    for number in ("", "x", "1; a=b", "²"):
        assert received(client, "/login/", None, number) is None, number
    paths = ("/", "/nowhere/", "/login/")
    for path in paths:
        for body in (None, "a=1&text=%C3%A9"):
            assert received(client, path, body) == f"{NUMBER} {zlib.crc32((body or '').encode())}", path
    client.force_login(rita)
    for path in paths:
        assert received(client, path, None) == f"{NUMBER} 0", path


@pytest.mark.django_db
def test_of_files_the_sizes_are_repeated(coordinator: Client) -> None:
    files = [SimpleUploadedFile("b.dcm", b"1234567"), SimpleUploadedFile("a.dcm", b"12")]
    answer = coordinator.post(
        "/uploads/new/", {"files": files}, headers={"X-Sent": NUMBER, "Accept": "application/json"}
    )
    assert answer.headers["X-Received"] == f"{NUMBER} {zlib.crc32(b'2,7')}"


@pytest.mark.django_db
def test_a_form_of_the_browser_s_own_is_told_by_a_cookie(coordinator: Client) -> None:
    assert coordinator.post("/nowhere/", {"sent_as": "<b>"}).cookies.get("received") is None
    assert coordinator.post("/logout/", {"sent_as": NUMBER}).cookies["received"].value == NUMBER


@pytest.mark.django_db
def test_what_was_not_taken_did_not_come(cora: User) -> None:
    """The session has ended, the token is wrong, or nothing of that name is there: the page keeps what was written."""
    client = Client(enforce_csrf_checks=True)
    token = client.get("/login/").cookies["csrftoken"].value
    for path, sent, status in (
        ("/samples/new/", token, 302),
        ("/samples/new/", "wrong", 403),
        ("/nowhere/", token, 404),
    ):
        answer = client.post(path, {"sent_as": NUMBER, "csrfmiddlewaretoken": sent})
        assert answer.status_code == status
        assert "received" not in answer.cookies, f"{path} answered {status}: say only of what was taken that it came"
