"""How the client asks: again only where nothing can be made twice, and nobody but the site gets its token."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from client import Client, Multipart, Problem
from requests.adapters import BaseAdapter

Answer = tuple[int, Mapping[str, str], bytes]
AGAIN: Answer = (429, {"Retry-After": "7"}, b"")
AWAY: Answer = (503, {"Content-Type": "application/problem+json", "Retry-After": "2"}, b'{"code": "database_away"}')
GOOD: Answer = (200, {}, b'{"state": "succeeded"}')


class Site(BaseAdapter):
    """Answers what it was told to, in this order, and keeps what it was sent."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers, self.asked = list(answers), list[requests.PreparedRequest]()
        self.bodies: list[bytes] = []

    def send(self, request: requests.PreparedRequest, **_how: Any) -> requests.Response:  # type: ignore[override]
        self.asked.append(request)
        body: Any = request.body
        self.bodies.append(b"".join(body) if isinstance(body, Multipart) else body or b"")
        status, headers, content = self.answers.pop(0)
        answer = requests.Response()
        answer.status_code, answer.raw, answer.url = status, io.BytesIO(content), request.url or ""
        answer.headers.update(headers)
        answer.request = request
        return answer

    def close(self) -> None:
        pass


def client_of(site: Site, pauses: list[float] | None = None, patience: float = 60) -> Client:
    told = [] if pauses is None else pauses
    client = Client("https://reading.example.org", "rexvqa_x", patience=patience, pause=told.append)
    client.session.mount("https://", site)
    return client


def test_too_often_waits_as_long_as_the_site_says() -> None:
    site, pauses = Site(AGAIN, AGAIN, GOOD), list[float]()
    assert client_of(site, pauses).post("rounds/spring/open/")["state"] == "succeeded"
    assert pauses == [7, 7]


def test_it_waits_no_longer_than_it_is_patient() -> None:
    site, pauses = Site(AGAIN, AGAIN), list[float]()
    with pytest.raises(Problem) as refused:
        client_of(site, pauses, patience=10).get("me/")
    assert refused.value.status == 429
    assert pauses == [7]


@pytest.mark.parametrize("how", ["get", "make"])
def test_a_site_that_is_away_is_asked_again_where_nothing_is_made_twice(how: str) -> None:
    site, pauses = Site(AWAY, GOOD), list[float]()
    getattr(client_of(site, pauses), how)("samples/")
    assert pauses == [2]
    keys = {one.headers.get("Idempotency-Key") for one in site.asked}
    assert len(keys) == 1
    assert (keys != {None}) is (how == "make")


def test_an_act_without_a_key_is_not_sent_again_to_a_site_that_was_away() -> None:
    site = Site(AWAY)
    with pytest.raises(Problem) as refused:
        client_of(site).post("studies/trial/close/")
    assert (refused.value.status, refused.value.code) == (503, "database_away")


def test_files_are_sent_whole_again(tmp_path: Path) -> None:
    file = tmp_path / "b%nk.json"
    file.write_bytes(b"x" * 3_000_000)
    site = Site(AGAIN, (202, {"Location": "/api/v1/here/"}, b"{}"))
    form = ({"bank": "ünïcode"}, [("file", file)])
    assert client_of(site).make("uploads/", form=form) == {"location": "/api/v1/here/"}
    first, second = site.bodies
    assert first == second
    assert first.count(b"x" * 3_000_000) == 1
    assert {one.headers["Content-Length"] for one in site.asked} == {str(len(first))}


def test_what_a_proxy_says_is_a_problem_too() -> None:
    site = Site(
        (502, {"Content-Type": "text/html"}, b"<h1>Bad gateway"), (302, {"Location": "https://evil.example"}, b"")
    )
    client = client_of(site)
    for status in (502, 302):
        with pytest.raises(Problem) as refused:
            client.get("me/")
        assert (refused.value.status, refused.value.code, refused.value.errors) == (status, "", [])
    assert len(site.asked) == 2


def test_a_problem_carries_what_the_document_says() -> None:
    told = {"status": 422, "code": "rows_refused", "detail": "Nothing was stored.", "facts": {"n": 1}}
    told["errors"] = [{"field": "4.case", "message": "There is no such case."}]
    site = Site((422, {"Content-Type": "application/problem+json"}, json.dumps(told).encode()))
    with pytest.raises(Problem, match=r"4\.case: There is no such case") as refused:
        client_of(site).get("me/")
    assert (refused.value.detail, refused.value.facts) == ("Nothing was stored.", {"n": 1})
    assert refused.value.errors == told["errors"]


def test_the_token_goes_to_the_site_alone_and_wins_over_a_netrc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine reading.example.org login other password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    pages: list[dict[str, Any]] = [{"next": "http://evil.example/api/v1/banks/?cursor=abc", "results": [{"id": "a"}]}]
    pages.append({"next": None, "results": [{"id": "b"}]})
    site = Site(*((200, {}, json.dumps(page).encode()) for page in pages))
    assert [row["id"] for row in client_of(site).rows("banks/", archived="false")] == ["a", "b"]
    assert [one.url for one in site.asked] == [
        "https://reading.example.org/api/v1/banks/?archived=false&limit=1000",
        "https://reading.example.org/api/v1/banks/?cursor=abc",
    ]
    assert {one.headers["Authorization"] for one in site.asked} == {"Bearer rexvqa_x"}
