"""A program that asks the API: with a token, or with the session of a browser."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from annotation.models import User
from annotation.models.people import TokenScope
from annotation.people.tokens import make_token, place_named
from tests.annotation.api.schema import faults_of
from tests.conftest import NOON

V1 = "/api/v1/"


class Program:
    """Asks with one token."""

    def __init__(self, token: str) -> None:
        self.token, self.client = token, Client(raise_request_exception=False)

    def ask(self, method: str, address: str, body: Any = None, **headers: str) -> Any:
        sent = {"authorization": f"Bearer {self.token}", **{n.replace("_", "-"): v for n, v in headers.items()}}
        more: dict[str, Any] = {} if body is None else {"data": text_of(body), "content_type": "application/json"}
        whole = address_of(address)
        answer = self.client.generic(method, whole, headers=sent, **more)
        faults = faults_of(method, whole.removeprefix("http://testserver"), answer)
        assert faults == [], faults
        return answer

    def get(self, address: str, **headers: str) -> Any:
        return self.ask("GET", address, **headers)

    def post(self, address: str, body: Any = None, **headers: str) -> Any:
        return self.ask("POST", address, body, **headers)


def send_json(person: User, address: str, body: Any) -> Any:
    """By the session of a browser."""
    browser = Client(raise_request_exception=False)
    browser.force_login(person)
    return browser.post(address_of(address), text_of(body), content_type="application/json")


def text_of(body: Any) -> str | bytes:
    return body if isinstance(body, str | bytes) else json.dumps(body)


def address_of(address: str) -> str:
    return address if address.startswith(("/", "http")) else V1 + address


def program_of(person: User, role: str, scope: TokenScope = TokenScope.SITE, slug: str = "") -> Program:
    """With a token that works for many years: views look at the clock."""
    place = place_named(person, scope, slug)
    made = make_token(person, "test", role=role, place=place, days=365, actor=person, at=NOON)
    type(made.row).objects.filter(pk=made.row.pk).update(expires_at=NOON.replace(year=2999))
    return Program(made.text)


def problem_of(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of a refusal, of which every one has the same shape."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    told: dict[str, Any] = json.loads(answer.content)
    assert (
        {"type", "title", "status", "detail", "code"}
        <= set(told)
        <= {*("type", "title", "status", "detail", "code", "errors", "facts")}
    )
    assert (told["status"], told["code"], told["type"]) == (status, code, f"urn:rexvqa:problem:{code}")
    assert told["detail"]
    return told
