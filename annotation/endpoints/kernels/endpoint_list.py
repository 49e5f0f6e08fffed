"""The list of model endpoints, as whoever runs the server writes it: ``name=https://host/v1, other=...``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
VISIBLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks the OpenAI protocol; ``url`` has no slash at its end."""

    name: str
    url: str
    connections: int = 4
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None


def endpoints_from(text: str) -> tuple[Endpoint, ...]:
    """The endpoints of a list, in its order.

    Raises ValueError with a sentence for the first one that is wrong. The sentence does not repeat what stands there,
    since it may be a password.
    """
    found: dict[str, Endpoint] = {}
    entries = [part.strip() for part in text.split(",")]
    for number, entry in enumerate(filter(None, entries), start=1):
        name, equals, url = (part.strip() for part in entry.partition("="))
        if not equals:
            raise ValueError(f"entry {number} is not of the form name=https://host/v1")
        if not NAME.fullmatch(name):
            raise ValueError(f"the name of entry {number} is not made of small letters, digits and hyphens, 40 at most")
        if name in found:
            raise ValueError(f"the name {name!r} stands there twice")
        if problem := _problem_of(url):
            raise ValueError(f"the URL of {name!r} {problem}")
        found[name] = Endpoint(name, url.rstrip("/"))
    return tuple(found.values())


def _problem_of(url: str) -> str:
    """What is wrong with a base URL; nothing for a good one."""
    try:
        parts = urlsplit(url)
        has_good_port = parts.port != 0
    except ValueError:
        return "cannot be read"
    if not url:
        return "is missing"
    if not VISIBLE.fullmatch(url) or "\\" in url:
        return "holds a space or another character that does not belong there"
    if parts.scheme not in {"http", "https"} or not parts.hostname or not has_good_port:
        return "is not an address such as https://host/v1"
    if "@" in parts.netloc:
        return "holds a user or a password; give the key as docs/settings.md says"
    if "?" in url or "#" in url:
        return "holds a query or a fragment"
    return ""
