"""The lists of model endpoints and of webhooks, as whoever runs the server writes them. Pure.

The key of a model endpoint: it never shows itself, and takes itself out of what others wrote.

Also how a message is signed: as Standard Webhooks (standardwebhooks.com) says.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import NoReturn
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from annotation.call_enums import EndpointPlace

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
VISIBLE = re.compile(r"[!-~]+")
WORD = re.compile(r"[a-z]{1,12}")  # longer ones are not repeated in a sentence: they may be a password
COUNT = re.compile(r"[1-9][0-9]{0,8}")
WORDS = ("place", "model", "calls", "tokens", "connections")
MOST_CONNECTIONS = 64
LONGEST_MODEL_NAME = 200


class Endpoint(Struct, frozen=True):
    """A server that speaks the OpenAI protocol; ``url`` has no slash at its end.

    ``model``: what it calls the model that is meant where nobody names one; empty: there is none. None: no limit.
    """

    name: str
    url: str
    place: EndpointPlace = EndpointPlace.OUTSIDE
    model: str = ""
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None
    connections: int = 4


def endpoints_from(text: str) -> tuple[Endpoint, ...]:
    """The endpoints of a list, in its order.

    Raises ValueError with a sentence for the first one that is wrong. The sentence does not repeat what is there,
    since it may be a password.
    """
    found: dict[str, Endpoint] = {}
    for name, url, words in named_servers(text, "https://host/v1"):
        plain = Endpoint(name, url.rstrip("/"), place=_place_of(url))
        found[name] = _with_words(plain, words)
    return tuple(found.values())


def named_servers(text: str, example: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, URL and the words behind it, of each entry. Raises ValueError, which does not repeat what is there."""
    seen: set[str] = set()
    for number, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        name, equals, rest = (part.strip() for part in entry.partition("="))
        if not equals:
            raise ValueError(f"entry {number} is not of the form name={example}")
        if not NAME.fullmatch(name):
            raise ValueError(f"the name of entry {number} is not made of small letters, digits and hyphens, 40 at most")
        if name in seen:
            raise ValueError(f"the name {name!r} is listed twice")
        url, *words = rest.split() or [""]
        if problem := problem_of_url(url):
            raise ValueError(f"the URL of {name!r} {problem}")
        seen.add(name)
        yield name, url, words


def problem_of_url(url: str) -> str:
    """What is wrong with a base URL; nothing for a good one."""
    try:
        parts = urlsplit(url)
        has_good_port = parts.port != 0
    except ValueError:
        return "cannot be read"
    if not url:
        return "is missing"
    if not VISIBLE.fullmatch(url) or "\\" in url:
        return "holds a character that does not belong there"
    if parts.scheme not in {"http", "https"} or not parts.hostname or not has_good_port:
        return "is not an address such as https://host/v1"
    if "@" in parts.netloc:
        return "holds a user or a password; give the key as docs/settings.md says"
    if "?" in url or "#" in url:
        return "holds a query or a fragment"
    return ""


def _place_of(url: str) -> EndpointPlace:
    """Where nothing is stated: an address of the loopback is this machine, every other one is outside."""
    host = urlsplit(url).hostname or ""
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    return EndpointPlace.MACHINE if is_here else EndpointPlace.OUTSIDE


def _with_words(endpoint: Endpoint, words: Sequence[str]) -> Endpoint:
    """The endpoint with what is written behind its URL. Raises ValueError."""
    given: dict[str, str] = {}
    for number, text in enumerate(words, start=1):
        word, equals, value = text.partition("=")
        if not equals or word not in WORDS:
            what = f"the word {word!r}" if equals and WORD.fullmatch(word) else f"what is in place {number}"
            raise ValueError(f"{what} behind the URL of {endpoint.name!r} is not known; known are {', '.join(WORDS)}")
        if word in given:
            raise ValueError(f"the word {word!r} of {endpoint.name!r} is there twice")
        given[word] = value
    return replace(
        endpoint,
        place=_place_word(endpoint, given["place"]) if "place" in given else endpoint.place,
        model=_model_word(endpoint, given["model"]) if "model" in given else "",
        calls_per_minute=_count_of(endpoint, "calls", given["calls"]) if "calls" in given else None,
        tokens_per_minute=_count_of(endpoint, "tokens", given["tokens"]) if "tokens" in given else None,
        connections=_connections(endpoint, given["connections"]) if "connections" in given else endpoint.connections,
    )


def _place_word(endpoint: Endpoint, value: str) -> EndpointPlace:
    if value not in EndpointPlace.values():
        raise ValueError(f"the place of {endpoint.name!r} is none of {', '.join(EndpointPlace.values())}")
    return EndpointPlace(value)


def _model_word(endpoint: Endpoint, value: str) -> str:
    if not VISIBLE.fullmatch(value) or len(value) > LONGEST_MODEL_NAME:
        raise ValueError(f"the model of {endpoint.name!r} is missing, or has other than 1 to 200 visible characters")
    return value


def _count_of(endpoint: Endpoint, word: str, value: str) -> int:
    if not COUNT.fullmatch(value):
        raise ValueError(f"{word} of {endpoint.name!r} is not a whole number above 0, such as {word}=60")
    return int(value)


def _connections(endpoint: Endpoint, value: str) -> int:
    if not COUNT.fullmatch(value) or int(value) > MOST_CONNECTIONS:
        raise ValueError(f"connections of {endpoint.name!r} is not a whole number from 1 to {MOST_CONNECTIONS}")
    return int(value)


# --- The key of a model endpoint: it never shows itself, and takes itself out of what -------------
REMOVED = "[key removed]"
NAMED_IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
FORM = re.compile(r"""[!#-&(-\[\]-~]{8,500}""")  # visible ASCII without quotes and backslash


class ApiKey:
    """Neither ``repr`` nor ``str`` shows it, and it cannot be pickled: no job and no log gets it by mistake."""

    __slots__ = ("_in_bytes", "_in_text", "_secret")

    def __init__(self, secret: str) -> None:
        """Raises ValueError, with a sentence that does not hold the key."""
        if not FORM.fullmatch(secret):
            raise ValueError("a key has 8 to 500 visible characters, without spaces, quotes and backslashes")
        pattern = _pattern_of(secret)
        self._secret = secret
        self._in_text, self._in_bytes = re.compile(pattern), re.compile(pattern.encode())

    def __repr__(self) -> str:
        return "ApiKey(hidden)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not stored")

    def authorization(self) -> str:
        """The value of the header that shows the key to its own endpoint; for nothing else."""
        return f"Bearer {self._secret}"

    def taken_out(self, text: str) -> str:
        """The text with ``[key removed]`` wherever it holds the key, however it is escaped there."""
        return self._in_text.sub(REMOVED, text)

    def taken_out_of_bytes(self, content: bytes) -> bytes:
        """The same for bytes of UTF-8."""
        return self._in_bytes.sub(REMOVED.encode(), content)


def _pattern_of(secret: str) -> str:
    """Finds the key plain, escaped for JSON, HTML or a URL, also letter by letter, and inside base64."""
    return "|".join(["".join(map(_forms_of_character, secret)), *map(re.escape, _base64_forms(secret.encode()))])


def _forms_of_character(character: str) -> str:
    # Up to four backslashes: JSON within a string of JSON.
    # No form twice, and none of any length: what nearly is a key, many times over, would take minutes.
    code = f"{ord(character):02x}"
    named = f"{NAMED_IN_HTML[character]}|" if character in NAMED_IN_HTML else ""
    escapes = rf"(?i:u00{code}|x{code}|%(?:25)?{code}|&#0{{0,4}}{ord(character)};|&#x0{{0,4}}{code};)"
    return rf"\\{{0,4}}(?:{named}{re.escape(character)}|{escapes})"


def _base64_forms(secret: bytes) -> set[str]:
    """What stays of the key in base64, both alphabets, behind a prefix of any length: without shared characters."""
    found = set()
    for n_before in range(3):
        n_shared_first = (0, 2, 3)[n_before]
        n_shared_last = (0, 3, 2)[(n_before + len(secret)) % 3]
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * n_before + secret).decode()
            found.add(text[n_shared_first : len(text) - n_shared_last])
    return found


# The events that are sent, by their act in the audit log.
EVENTS: Mapping[str, str] = {
    "bank.imported": "import.done",
    "round.completed": "round.complete",
    "study.closed": "study.closed",
    "study.analysed": "analysis.stored",
}
TEST = "test"


class Webhook(Struct, frozen=True):
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
    servers = named_servers(text, "https://host/path")
    return tuple(Webhook(name, url, _events_of(name, words)) for name, url, words in servers)


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
