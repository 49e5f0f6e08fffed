"""Everything that the server sends to one reader, byte for byte, and where two recordings part."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.core.cache import caches
from django.db import connection
from django.http import HttpResponse
from django.test import Client, override_settings

from annotation.models import User
from tests.annotation.review.cases import NOON
from tests.readerstudy.blinding.worlds import Chance


@dataclass(frozen=True)
class Exchange:
    """One answer of the server, and what was asked for."""

    asked: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def everything(self) -> bytes:
        """All that was sent, as one text to search."""
        head = "\n".join(f"{name}: {value}" for name, value in self.headers)
        return f"{self.asked}\n{self.status}\n{head}\n\n".encode() + self.body


class Clock:
    """The time of the server: half a second later at each request."""

    def __init__(self) -> None:
        self.n = 0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.n / 2)

    def seconds(self) -> float:
        return self.now().timestamp()


class Recorder:
    """The browser of a reader that keeps all that it is sent."""

    def __init__(self, person: User, clock: Clock) -> None:
        self.client = Client(raise_request_exception=False)
        self.client.force_login(person)
        self.clock = clock
        self.exchanges: list[Exchange] = []
        self.statements: list[tuple[str, str]] = []  # what was asked for, and the SQL that answered it
        self.hear: Callable[[], None] = lambda: None  # after each answer

    def get(self, address: str, **headers: str) -> HttpResponse:
        return self._keep(f"GET {address} {headers or ''}", lambda: self.client.get(address, headers=headers))

    def head(self, address: str) -> HttpResponse:
        return self._keep(f"HEAD {address}", lambda: self.client.head(address))

    def post(self, address: str, data: dict[str, Any] | None = None, **headers: str) -> HttpResponse:
        return self._keep(f"POST {address}", lambda: self.client.post(address, data or {}, headers=headers))

    def _keep(self, asked: str, ask: Callable[[], Any]) -> HttpResponse:
        def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            self.statements.append((asked, sql))
            return execute(sql, *rest)

        with connection.execute_wrapper(watch):
            response = ask()
            body = b"".join(response.streaming_content) if response.streaming else response.content
        cookies = [("Set-Cookie", response.cookies[name].OutputString()) for name in sorted(response.cookies)]
        headers = (*sorted(response.items()), *cookies)
        self.exchanges.append(Exchange(f"{len(self.exchanges)} {asked}", response.status_code, headers, body))
        self.clock.n += 1
        self.hear()
        kept: HttpResponse = response
        return kept


@contextmanager
def fixed(media: Path) -> Iterator[tuple[Chance, Clock]]:
    """Random names and the time are those of the test, and files lie in a folder of their own."""
    chance, clock = Chance(), Clock()
    for name in ("default", "counts"):
        caches[name].clear()  # what was counted and kept in the other world
    with pytest.MonkeyPatch.context() as patch, override_settings(MEDIA_ROOT=media):
        for name in ("token_bytes", "token_hex", "token_urlsafe", "choice"):
            patch.setattr(f"secrets.{name}", getattr(chance, name))
        patch.setattr("uuid.uuid4", chance.uuid4)
        patch.setattr("django.utils.timezone.now", clock.now)
        for module in ("django.http.response", "django.utils.cache", "django.core.signing"):
            patch.setattr(f"{module}.time", SimpleNamespace(time=clock.seconds))
        patch.setattr(UserSession._meta.get_field("created_at"), "_get_default", clock.now, raising=False)
        yield chance, clock


def first_difference(one: list[Exchange], other: list[Exchange], *, hashes: tuple[str, str] = ("", "")) -> str:
    """Where two recordings part, in words; empty when every byte is equal.

    The hash of the protocol stands for a salted commitment to the keys: it differs by design, and only it is left out.
    """
    for a, b in zip(one, other, strict=False):
        for part in ("asked", "status", "headers", "body"):
            left, right = _without(getattr(a, part), hashes[0]), _without(getattr(b, part), hashes[1])
            if left != right:
                return f"{a.asked}: {part}: {_around(left, right)}"
    return "" if len(one) == len(other) else f"{len(one)} and {len(other)} answers"


def _without(value: Any, sha256: str) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else json.dumps(value)
    for part in (sha256, sha256[:12], sha256[:8]):
        text = text.replace(part, "PROTOCOL") if part else text
    return text


def _around(left: str, right: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return f"{left[max(0, at - 60) : at + 60]!r} | {right[max(0, at - 60) : at + 60]!r}"
