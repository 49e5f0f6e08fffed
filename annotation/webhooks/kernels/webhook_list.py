"""The list of webhooks, as whoever runs the server writes it: ``name=https://host/path events=study.closed+..., ...``.

Also how a message is signed: as Standard Webhooks (standardwebhooks.com) says. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from annotation.endpoints.kernels.endpoint_list import NAME, problem_of_url

# The events that are sent, by their act in the audit log.
EVENTS: Mapping[str, str] = {
    "bank.imported": "import.done",
    "round.completed": "round.complete",
    "study.closed": "study.closed",
    "study.analysed": "analysis.stored",
}
TEST = "test"


@dataclass(frozen=True)
class Webhook:
    """An address that is notified of events; ``events`` are names such as "study.closed"."""

    name: str
    url: str
    events: tuple[str, ...]

    @property
    def acts(self) -> frozenset[str]:
        return frozenset(act for act, event in EVENTS.items() if event in self.events)


def webhooks_from(text: str) -> tuple[Webhook, ...]:
    """The webhooks of a list, in its order; without ``events=`` one is notified of all.

    Raises ValueError with a sentence for the first that is wrong. It does not repeat an address, which may be secret.
    """
    found: dict[str, Webhook] = {}
    for number, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        name, equals, rest = (part.strip() for part in entry.partition("="))
        if not equals or not NAME.fullmatch(name):
            raise ValueError(f"entry {number} is not of the form name=https://host/path, with a name of small letters")
        if name in found:
            raise ValueError(f"the name {name!r} is listed twice")
        url, *words = rest.split() or [""]
        if problem := problem_of_url(url):
            raise ValueError(f"the URL of {name!r} {problem}")
        found[name] = Webhook(name, url, _events_of(name, words))
    return tuple(found.values())


def _events_of(name: str, words: list[str]) -> tuple[str, ...]:
    if not words:
        return tuple(EVENTS.values())
    key, _equals, value = words[0].partition("=")
    events = tuple(value.split("+"))
    if len(words) > 1 or key != "events" or not set(events) <= set(EVENTS.values()):
        known = ", ".join(EVENTS.values())
        raise ValueError(f"after the URL of {name!r} only events= may follow, with names joined by +, of: {known}")
    return events


def signature(secret: bytes, *, message: str, timestamp: int, body: bytes) -> str:
    """The header ``webhook-signature`` of a message of this id, sent at this time in seconds."""
    signed = f"{message}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def secret_bytes(text: str) -> bytes:
    """Of a secret as it is kept: base64 behind ``whsec_``, else its characters. Raises ValueError."""
    return base64.b64decode(text.removeprefix("whsec_"), validate=True) if text.startswith("whsec_") else text.encode()
