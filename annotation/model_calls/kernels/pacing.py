"""How fast an endpoint is asked: few connections first, half of them when it has too many calls. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_CONNECTIONS = 2
MINUTE = 60.0
SHORTEST_REST, LONGEST_REST = 1.0, 600.0  # seconds after a 429


def seconds_to_wait(retry_after: str, now: datetime) -> float | None:
    """What a header Retry-After says, a number of seconds or a date; None where it says nothing that can be read."""
    text = retry_after.strip()
    if text.isdecimal():
        return min(float(text), LONGEST_REST)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max((then - now).total_seconds(), 0.0), LONGEST_REST)


def seconds_before_retry(n_failures: int) -> float:
    """Of one call: 1, 2, 4, 8 and so on, a minute at most."""
    return min(2.0 ** (n_failures - 1), MINUTE)


@dataclass
class Pace:
    """Of one endpoint. ``now`` is the time in seconds of one clock that only goes forward.

    Connections double with each round of answers until the endpoint says for the first time that it has too many;
    then they halve, and grow by one in a round.
    """

    most_connections: int
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None
    connections: float = FIRST_CONNECTIONS
    closed_until: float = 0.0
    n_rests: int = 0  # in a row
    had_too_many: bool = False
    _sent: deque[float] = field(default_factory=deque)
    _tokens: deque[tuple[float, int]] = field(default_factory=deque)

    def free(self, n_in_flight: int, now: float) -> int:
        """How many calls may be sent now."""
        if now < self.closed_until:
            return 0
        places = [min(int(self.connections), self.most_connections) - n_in_flight]
        if self.calls_per_minute is not None:
            _forget(self._sent, now - MINUTE)
            places.append(self.calls_per_minute - len(self._sent))
        if self.tokens_per_minute is not None:
            places.append(self._places_by_tokens(n_in_flight, now))
        return max(0, min(places))

    def sent(self, n_calls: int, now: float) -> None:
        if self.calls_per_minute is not None:
            self._sent.extend([now] * n_calls)

    def answered(self, n_tokens: int | None, now: float) -> None:
        """An answer, of whatever kind, that was not "too many"."""
        self.n_rests = 0
        step = 1 / self.connections if self.had_too_many else 1.0
        self.connections = min(self.connections + step, float(self.most_connections))
        if self.tokens_per_minute is not None:
            self._tokens.append((now, n_tokens or 0))

    def too_many(self, wait: float | None, now: float) -> None:
        """The endpoint refused with 429, and asks to wait so long. Those of one round count as one."""
        if now >= self.closed_until:
            self.connections = max(self.connections / 2, 1.0)
            self.n_rests += 1
        self.had_too_many = True
        rest = wait if wait is not None else min(SHORTEST_REST * 2.0 ** (self.n_rests - 1), LONGEST_REST)
        self.closed_until = max(self.closed_until, now + rest)

    def _places_by_tokens(self, n_in_flight: int, now: float) -> int:
        """By what the answers of the last minute took on average; one at a time before the first answer."""
        while self._tokens and self._tokens[0][0] <= now - MINUTE:
            self._tokens.popleft()
        taken = sum(n_tokens for _at, n_tokens in self._tokens)
        if not taken:
            return 1 - n_in_flight
        assert self.tokens_per_minute is not None
        mean = max(taken / len(self._tokens), 1.0)
        return int((self.tokens_per_minute - taken) / mean) - n_in_flight


def _forget(times: deque[float], before: float) -> None:
    while times and times[0] <= before:
        times.popleft()
