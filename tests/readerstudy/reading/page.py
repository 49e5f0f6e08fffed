"""A reading page in a few lines of Python: it keeps its session, counts its events, and sends what the script sends."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Sequence
from typing import Any

from django.test import Client
from django.urls import reverse

from annotation.models import User

Json = dict[str, Any]


def new_key() -> str:
    return str(uuid.uuid4())


class ReadingPage:
    """One tab of one reader. Times are those of its own clock, in milliseconds."""

    def __init__(self, reader: User, slug: str) -> None:
        self.client = Client()
        self.client.force_login(reader)
        self.slug = slug
        self.session = ""
        self.name = new_key()
        self.sequence = itertools.count()
        self.choices = itertools.count(1)

    # --- requests -----------------------------------------------------------------------------
    def post(self, name: str, place: str = "", **fields: Any) -> Any:
        args = [self.slug, place] if place else [self.slug]
        sent = {"session": self.session, **fields}
        return self.client.post(reverse(f"reading-{name}", args=args), sent, HTTP_ACCEPT="application/json")

    def begin(self, **fields: Any) -> Json:
        answer = self.post("session", **fields)
        assert answer.status_code == 200, answer.content
        found: Json = answer.json()
        self.session = found.get("session", "")
        return found

    def state(self) -> Json:
        answer = self.client.get(reverse("reading-state", args=[self.slug]), {"session": self.session})
        assert answer.status_code == 200, answer.content
        found: Json = answer.json()
        return found

    def open(self, place: str) -> Any:
        return self.post("open", place)

    def tell(self, place: str, *events: Json) -> Any:
        return self.post("events", place, page=self.name, events=json.dumps(events))

    def choose(self, place: str, option: str, sequence: int | None = None) -> Any:
        return self.post("choice", place, option=option, sequence=next(self.choices) if sequence is None else sequence)

    def commit(self, place: str, option: str = "", *events: Json, key: str = "", **fields: Any) -> Any:
        sent = {"key": key or new_key(), "option": option, "page": self.name, **fields}
        return self.post("commit", place, **{"events": json.dumps(events), **sent})

    # --- events -------------------------------------------------------------------------------
    def event(self, kind: str, ms: float, **details: Any) -> Json:
        return {
            "sequence": next(self.sequence),
            "kind": kind,
            "client_ms": ms,
            "wall_ms": 1_763_000_000_000 + ms,
            "details": details,
        }

    def painted(self, case: Json, ms: float) -> Json:
        return self.event("painted", ms, views=[view["id"] for view in case["views"]])

    def read(self, case: Json, option: str = "A", *, start_ms: float = 0.0, end_ms: float = 1_500.0) -> Any:
        """Open a case as the state gives it, look at it, and commit."""
        assert self.open(case["id"]).status_code == 200
        told = self.watch(case, start_ms, end_ms)
        return self.commit(case["id"], option, *told)

    def watch(self, case: Json, start_ms: float, end_ms: float) -> Sequence[Json]:
        painted = self.painted(case, start_ms)
        beats = [self.event("heartbeat", start_ms + ms) for ms in range(5_000, int(end_ms - start_ms), 5_000)]
        return [painted, *beats, self.event("submitted", end_ms)]
