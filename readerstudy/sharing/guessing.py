"""Whoever tries many links that were never given out waits, as after wrong passwords."""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache

SECONDS_AN_HOUR = 3600


def may_try(address: str) -> bool:
    """False after as many wrong links from this address as wrong passwords lock an account."""
    n_wrong: int = cache.get(_name(address), 0)
    return n_wrong < settings.AXES_FAILURE_LIMIT


def note_wrong(address: str) -> None:
    """The count ends with the time that a locked account waits, from the first wrong link on."""
    name, seconds = _name(address), int(settings.AXES_COOLOFF_TIME * SECONDS_AN_HOUR)
    if not cache.add(name, 1, timeout=seconds):
        try:
            cache.incr(name)
        except ValueError:  # it ended in between
            cache.add(name, 1, timeout=seconds)


def _name(address: str) -> str:
    return f"wrong results links {address}".replace(" ", "-")
