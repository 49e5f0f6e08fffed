"""How often something was done within a stretch of time, counted for all web servers together: the cache "counts".

A Redis that does not answer stops no page: for some seconds each process counts by itself, so that limits hold in each.
Wrong passwords are not counted here, but by rows of the database (annotation/people/backend.py).
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.core.cache import cache, caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.redis import RedisCache
from django.db import transaction
from django.utils.crypto import salted_hmac
from msgspec import Struct

from annotation.site.sorted_tables import OneAtATime, lock

PAUSE_SECONDS = 5  # in which a Redis that did not answer is not asked again
AWAY = "redis-is-away"
log = logging.getLogger(__name__)


class Throttle(Struct, frozen=True):
    """At most so many for each name in each stretch of the clock."""

    purpose: str
    most: int
    within: timedelta

    def takes(self, name: str, at: datetime) -> bool:
        """Note one more, unless there are enough."""
        return counted(f"{self.purpose}:{name}", self.within, at=at) <= self.most


def counted(name: str, within: timedelta, *, at: datetime) -> int:
    """Note one more, and say how many that makes since this stretch of the clock began. No name is stored."""
    counts, seconds = caches["counts"], int(within.total_seconds())
    key = salted_hmac("counts", f"{name}:{int(at.timestamp()) // seconds}").hexdigest()
    if isinstance(counts, RedisCache):
        return _in_redis(counts, key, seconds)
    if isinstance(counts, DatabaseCache):
        return _in_database(counts, key, seconds)
    return _one_more(counts, key, seconds)


@transaction.atomic
def _in_database(counts: DatabaseCache, key: str, seconds: int) -> int:
    lock(OneAtATime.COUNT)  # it reads a number, and then writes the next
    return _one_more(counts, key, seconds)


def _in_redis(counts: RedisCache, key: str, seconds: int) -> int:
    from redis.exceptions import RedisError  # half a second, where a Redis is asked

    if cache.get(AWAY) is None:
        try:
            return _one_more(counts, key, seconds)
        except RedisError:
            log.warning("Redis does not answer: each process counts requests by itself for %d s", PAUSE_SECONDS)
            cache.set(AWAY, True, PAUSE_SECONDS)
    return _one_more(cache, key, seconds)


def _one_more(counts: BaseCache, key: str, seconds: int) -> int:
    counts.add(key, 0, 2 * seconds)
    try:
        return counts.incr(key)
    except ValueError:  # gone since the line before
        return 1
