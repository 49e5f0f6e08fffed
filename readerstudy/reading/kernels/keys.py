"""Idempotency keys: made by the page, once for each answer and remark, and sent again with it. Pure."""

from __future__ import annotations

import re

_KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class KeyMissing(Exception):
    """What a page sends once has no key: a UUID in small letters."""


def check_key(key: str) -> None:
    """Raises KeyMissing."""
    if not _KEY.fullmatch(key):
        raise KeyMissing("no key")
