"""How fast an endpoint is asked, and the lines and states of calls that go as a batch. Pure.

A request: ``{"custom_id", "method", "url", "body"}``. A response: ``{"id", "custom_id", "response": {"status_code",
"request_id", "body"}, "error"}``.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import field

from annotation.call_enums import BatchState as State
from annotation.call_enums import Ending
from annotation.endpoints.kernels.completions import BUSY, ModelRequest, is_text

FIRST_CONNECTIONS = 2
MINUTE = 60.0
SHORTEST_REST, LONGEST_REST = 1.0, 300.0  # seconds, where the endpoint names none
LONGEST_ASKED = 7200.0  # seconds that an endpoint can ask for
FEW = 3  # calls that fail one after the other before it is the endpoint and not the calls
_seconds = re.compile(r"\d+(?:\.\d*)?")


def seconds_to_wait(retry_after: str, now: datetime) -> float | None:
    """What a header Retry-After says, a number of seconds or a date; None where it says nothing that can be read."""
    text = retry_after.strip()
    if _seconds.fullmatch(text):
        return min(float(text), LONGEST_ASKED)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max((then - now).total_seconds(), 0.0), LONGEST_ASKED)


def passes(ending: str, status: int | None) -> bool:
    """Whether a failure may be over later: of the connection or the server, not of the request."""
    return ending not in (Ending.HTTP_ERROR, Ending.REDIRECT) or status in BUSY or (status or 0) >= 500


def seconds_before_retry(n_failures: int) -> float:
    """Of one call: 1, 2, 4, 8 and so on, a minute at most."""
    return min(2.0 ** (n_failures - 1), MINUTE)


class Rest(msgspec.Struct):
    """Of one model at an endpoint, which is asked again by itself after rests that grow. ``now`` as in Pace."""

    since: float | None = None  # of the first failure after the last answer
    closed_until: float = 0.0
    n_rests: int = 0  # in a row
    _failing: set[int] = field(default_factory=set)

    def answered(self) -> None:
        """An answer of whatever kind."""
        self.since, self.closed_until, self.n_rests = None, 0.0, 0
        self._failing.clear()

    def failed(self, call: int, now: float, *, wait: float | None = None, is_busy: bool = False) -> bool:
        """A call failed; ``wait``: how long the endpoint asks for. Whether a rest begins: those of a round are one.

        Never shorter than the own rest: a time in the past, or 0 seconds, would be asked again at once.
        """
        self.since = now if self.since is None else self.since
        self._failing.add(call)
        if not is_busy and len(self._failing) < FEW:
            return False
        rest, begins = wait or 0.0, now >= self.closed_until
        if begins:
            self.n_rests += 1
            rest = max(rest, min(SHORTEST_REST * 2.0 ** min(self.n_rests - 1, 20), LONGEST_REST))
        self.closed_until = max(self.closed_until, now + rest)
        return begins


class Pace(msgspec.Struct):
    """Of one endpoint. ``now`` is the time in seconds of one clock that only goes forward.

    Connections double with each round of answers until the endpoint says for the first time that it has too many;
    then they halve, and grow by one in a round.
    """

    most_connections: int
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None
    connections: float = FIRST_CONNECTIONS
    had_too_many: bool = False
    _sent: deque[float] = field(default_factory=deque)
    _tokens: deque[tuple[float, int]] = field(default_factory=deque)

    def free(self, n_in_flight: int, now: float) -> int:
        """How many calls may be sent now."""
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
        step = 1 / self.connections if self.had_too_many else 1.0
        self.connections = min(self.connections + step, float(self.most_connections))
        if self.tokens_per_minute is not None:
            self._tokens.append((now, n_tokens or 0))

    def too_many(self) -> None:
        """A rest begins: half as many connections afterwards."""
        self.connections = max(self.connections / 2, 1.0)
        self.had_too_many = True

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


MOST_REQUESTS = 50_000  # of one file
MOST_BYTES = 200_000_000
LONGEST_ANSWER = 4 * 1024 * 1024


class ResponseLine(msgspec.Struct, frozen=True):
    """``body`` as it is in the file; empty where the line reports an error instead."""

    row: int
    id: str
    status: int | None = None
    request_id: str = ""
    body: bytes = b""
    problem: str = ""


class _Response(msgspec.Struct):
    status_code: int = 0
    request_id: str = ""
    body: msgspec.Raw = msgspec.Raw(b"")


class _ResponseDocument(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_ResponseDocument)


def request_line(custom_id: str, request: ModelRequest) -> bytes:
    """The body is in it byte by byte, so that its SHA-256 is that of a request over the wire."""
    head = json.dumps({"custom_id": custom_id, "method": "POST", "url": f"/v1/{request.route}"}, separators=(",", ":"))
    return head[:-1].encode() + b',"body":' + request.body + b"}\n"


def read_line(row: int, line: bytes) -> ResponseLine | str:
    """A response, or what is wrong with the line."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"The line is no response in the batch form: {error}."
    if found.response is None or found.error is not None:
        problem = found.error.get("message", "") if isinstance(found.error, dict) else str(found.error or "")
        return ResponseLine(row, found.custom_id, problem=_one_line(problem or "no response"))
    body = bytes(found.response.body)
    if len(body) > LONGEST_ANSWER:
        return f"The answer has more than {LONGEST_ANSWER} bytes."
    if not is_text(body):
        return "The answer is not UTF-8, or holds a NUL character."
    return ResponseLine(row, found.custom_id, found.response.status_code, found.response.request_id[:200], body)


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())[:200]


# A planned batch asks its first calls for the estimate and is planned again. The last responses may come in a file.
# Nothing leads out of the last two.
BATCH_TRANSITIONS: Mapping[State, tuple[State, ...]] = {
    State.PLANNED: (State.TRYING, State.RUNNING, State.STOPPED, State.COMPLETE),
    State.TRYING: (State.PLANNED, State.STOPPED),
    State.RUNNING: (State.PAUSED, State.STOPPED, State.COMPLETE),
    State.PAUSED: (State.RUNNING, State.STOPPED, State.COMPLETE),
    State.STOPPED: (),
    State.COMPLETE: (),
}
AT_WORK = (State.TRYING, State.RUNNING)


def may_become(before: str, after: State) -> bool:
    return after in BATCH_TRANSITIONS[State(before)]
