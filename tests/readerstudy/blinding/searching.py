"""Looking for planted words in what was sent, however they are wrapped."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import zstandard
from django.contrib.staticfiles import finders

from tests.readerstudy.blinding.recording import Exchange


def unpacked(exchange: Exchange) -> bytes:
    """Everything that was sent, and the body as the browser unpacks it."""
    encoding = dict(exchange.headers).get("Content-Encoding", "")
    body = exchange.body
    if body and encoding == "gzip":
        body = gzip.decompress(body)
    elif body and encoding == "zstd":
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    return exchange.everything() + b"\n" + body


def wrappings(token: str) -> set[bytes]:
    """The ways in which a word could stand in what is sent: plain, backwards, as hex, base64 at each offset."""
    raw = token.encode()
    found = {raw, raw.upper(), raw[::-1], raw.hex().encode(), quote(token).encode(), token.encode("utf-16-le")}
    for pad in range(3):
        coded = base64.b64encode(b"\0" * pad + raw).rstrip(b"=")
        found.add(coded[4 if pad else 0 : -2])
    return found


def static_files() -> list[Path]:
    """The scripts, styles and pictures of the site, which are the same for everybody."""
    return [Path(storage.path(path)) for finder in finders.get_finders() for path, storage in finder.list([])]


class Search:
    """Many words at once: only where the first eight bytes of one stand is looked at closer."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.asked = {wrapped: token for token in tokens for wrapped in wrappings(token)}
        self.by_head = _grouped(self.asked)
        self.heads = np.sort(np.frombuffer(b"".join(self.by_head), dtype="<u8"))  # once, not at every look

    def leaks(self, exchanges: Iterable[Exchange]) -> list[str]:
        """Each place where a planted word was sent to the reader."""
        return [f"{exchange.asked}: {token}" for exchange in exchanges for token in self.within(unpacked(exchange))]

    def within(self, sent: bytes) -> list[str]:
        if len(sent) < 8:
            return []
        windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(sent, dtype=np.uint8), 8)
        words = np.ascontiguousarray(windows).view("<u8").ravel()
        nearest = np.minimum(np.searchsorted(self.heads, words), len(self.heads) - 1)
        places = np.flatnonzero(self.heads[nearest] == words)
        return [
            self.asked[wrapped]
            for place in places.tolist()
            for wrapped in self.by_head[sent[place : place + 8]]
            if sent.startswith(wrapped, place)
        ]


def _grouped(asked: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    groups: dict[bytes, list[bytes]] = {}
    for wrapped in asked:
        groups.setdefault(wrapped[:8], []).append(wrapped)
    return groups
