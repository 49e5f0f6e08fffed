"""The frozen protocol as text: canonical JSON, its hash, and the commitment that holds the keys. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

FORMAT = "reader-study-protocol 1"


def canonical(data: Any) -> str:
    """One text for one content: sorted names, no spaces, plain ASCII. Raises ValueError for nan and infinity."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def commitment(salt: str, sealed: Any) -> str:
    """SHA-256 over the salt and the canonical text of what is sealed. Without the salt it tells nothing about it."""
    return sha256_of(salt + canonical(sealed))


def shown_sha256(
    stem: str,
    options: Sequence[str],
    images: Sequence[Mapping[str, Any]],
    information: Mapping[str, Any] | None = None,
) -> str:
    """Of what a reader is shown of a case: stem, options in the bank's order, each image with its pixels, view and
    caption, and what the arm tells beside them, if anything.
    """
    shown: dict[str, Any] = {"stem": stem, "options": list(options), "images": [dict(one) for one in images]}
    return sha256_of(canonical({**shown, "information": dict(information)} if information else shown))


def earlier_shown_sha256(
    stem: str, options: Sequence[str], pixels: Sequence[str], information: Mapping[str, Any] | None = None
) -> str:
    """The same as it was once hashed: of an image its pixels alone. Studies that were frozen so keep their hash."""
    shown: dict[str, Any] = {"stem": stem, "options": list(options), "pixels": list(pixels)}
    return sha256_of(canonical({**shown, "information": dict(information)} if information else shown))


def text_sha256(stem: str, options: Sequence[str]) -> str:
    """Of the wording alone: by this a plan notices that a bank holds another one."""
    return sha256_of(canonical({"stem": stem, "options": list(options)}))
