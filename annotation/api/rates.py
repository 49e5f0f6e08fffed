"""How often a program may ask: so many requests a minute with each token, and of each person with a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.cache import cache

_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of this minute."""

    most: int
    left: int
    resets_in: int  # seconds

    @property
    def is_used_up(self) -> bool:
        return self.left < 0

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.most),
            "RateLimit-Remaining": str(max(0, self.left)),
            "RateLimit-Reset": str(self.resets_in),
        }


def count_request(caller: str, *, at: datetime) -> Allowance:
    """Counted in each process of the server by itself: a limit against runaway scripts, no accounting."""
    minute, second = divmod(int(at.timestamp()), _MINUTE)
    name, most = f"api-rate:{caller}:{minute}", settings.API_REQUESTS_PER_MINUTE
    cache.add(name, 0, 2 * _MINUTE)
    try:
        used = cache.incr(name)
    except ValueError:  # gone since the line before
        used = 1
    return Allowance(most, most - used, _MINUTE - second)
