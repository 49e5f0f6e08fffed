"""How often the same may be tried: wrong passwords from one network address and for one account, and password links."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime, timedelta

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import QuerySet, Sum

MOST_NAMES = 10_000  # that a throttle remembers at a time


def has_failed_too_often(account: str, address: str, *, at: datetime) -> bool:
    """Whether so many wrong passwords came for this account, or from this address, that none is looked at now.

    Beside the lock of an account at one address, which axes holds: asked before anything is hashed.
    """
    since = at - timedelta(hours=settings.AXES_COOLOFF_TIME)
    attempts = AccessAttempt.objects.filter(attempt_time__gte=since)
    return (
        _failures(attempts.filter(username=account)) >= settings.FAILURES_OF_ACCOUNT
        or _failures(attempts.filter(ip_address=address)) >= settings.FAILURES_OF_ADDRESS
    )


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return attempts.aggregate(n=Sum("failures_since_start"))["n"] or 0


class Throttle:
    """At most so many within a stretch of time for each name; in the memory of one process."""

    def __init__(self, most: int, within: timedelta) -> None:
        self.most, self.within = most, within
        self._times: dict[str, deque[datetime]] = {}
        self._lock = threading.Lock()

    def takes(self, name: str, at: datetime) -> bool:
        """Note one more, unless there are enough."""
        with self._lock:
            times = self._times.pop(name, deque())  # put back last: the names in front are the oldest
            while times and at - times[0] >= self.within:
                times.popleft()
            self._times[name] = times
            if len(self._times) > MOST_NAMES:
                del self._times[next(iter(self._times))]
            if len(times) >= self.most:
                return False
            times.append(at)
            return True

    def forget(self) -> None:
        with self._lock:
            self._times.clear()
