"""Hashes of texts, and short numbers by which restricted values are looked up. Pure: kernels and models share them."""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache


def sha256_of(text: str) -> str:
    """In hex; a text that UTF-8 cannot hold has one, too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=4096)  # an import looks a name up before it writes it down
def identifier_digest(kind: str, value: str) -> int:
    """64 bits of SHA-256, as a signed integer: a small index, not a secret.

    The first 24 bits are of the value without a number at its end ("study_7"), so that an exam and its questions,
    whose keys differ in that number, are together in the index; the other 40 are of kind and value. Values with
    equal digests are distinguished by the value.
    """
    stem, line, number = value.rpartition("_")
    if not (line and 0 < len(number) < 5 and number.isdigit() and number.isascii()):
        stem = value
    whole = hashlib.sha256(f"{kind}\n{value}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(_digest_of_stem(stem) + whole[:5], "big", signed=True)


def image_path_digest(root: str, path: str) -> int:
    """The digest of an image path: of root and path together, so that any root that leads to the file finds it."""
    return identifier_digest("image_path", f"{root.rstrip('/')}/{path}")


@lru_cache(maxsize=8)
def _digest_of_stem(stem: str) -> bytes:
    return hashlib.sha256(stem.encode("utf-8", "surrogatepass")).digest()[:3]


def keyed_pseudonym(key: bytes, kind: str, value: str) -> str:
    """Sixteen characters that represent a person or an exam; empty when there is nothing to represent."""
    return keyed_digest(key, kind, value).hex()[:16] if value else ""


def shown_pseudonym(pseudonym: str) -> str:
    """As it leaves in a table: with a letter first, since programs take some hexadecimal digits for a number."""
    return f"x{pseudonym}" if pseudonym else ""


def keyed_digest(key: bytes, kind: str, value: str) -> bytes:
    return hmac.digest(key, f"{kind}\n{value}".encode("utf-8", "surrogatepass"), hashlib.sha256)
