"""Ask an endpoint what the batches at work have not asked yet, until nothing is left.

A thread of the worker process does it, outside of those that run jobs, so that days of calls take no place from an
upload. Whatever it knows is in the rows: a call is counted as sent before it goes out, and its answer is stored
before the next one, so that after a kill another worker goes on, and asks again only what was under way.
"""

from __future__ import annotations

import logging
import queue
import secrets
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.call_enums import BatchState, CallOutcome
from annotation.endpoints.client import Exchange, Limits, ModelClient
from annotation.endpoints.configured_endpoints import endpoint_named, key_for
from annotation.endpoints.kernels.completions import BUSY
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.model_calls.attempts import Received, count_as_sent, read_attempt, store_attempts
from annotation.model_calls.call_batches import BatchRefused, complete, pause, permission_is_over, return_to_plan
from annotation.model_calls.kernels.pacing import AT_WORK, Pace, Rest, passes, seconds_to_wait
from annotation.model_calls.next_calls import (
    BatchWork,
    cap_is_reached,
    is_down_for_good,
    left_unanswered,
    refused_for_good,
)
from annotation.model_calls.probing import LeaseLost, give_lease_back, lock_lease, take_lease
from annotation.model_calls.request_bodies import CallPictures, contents_of, pictures_of
from annotation.models import CallAttempt, CallBatch, ModelCall
from annotation.refusals import Refused

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
LONGEST_GAP = 0.03  # seconds in which others may write, after each step as long as it wrote
LONGEST_WAIT = 0.5  # seconds until the state of the batches is read again
SHORT_TURN = 0.0005  # seconds that a thread keeps the others from going on: an answer waits for several of them


@dataclass(frozen=True)
class Sent:
    """A call that is sent, and what came of it: an exchange, or why nothing was sent."""

    call: ModelCall
    batch: CallBatch
    pictures: CallPictures
    exchange: Exchange | None = None
    refusal: str = ""


def ask_endpoint(
    name: str, *, clock: Clock = timezone.now, limits: Limits | None = None, stop: threading.Event | None = None
) -> bool:
    """Ask until no batch at work has anything left. False where another worker does it.

    ``stop``: send nothing more, store what is under way, and return.
    """
    holder = secrets.token_hex(8)
    if not take_lease(name, holder, at=clock()):
        return False
    try:
        endpoint = endpoint_named(name)
        client = ModelClient(endpoint, key_for(endpoint), limits=limits, connections=endpoint.connections)
        with client, _short_turns():
            Asker(endpoint, client, holder, clock, stop or threading.Event()).run()
    except Refused as refusal:  # the endpoint or its key
        for batch in _at_work(name):
            _pause(batch, str(refusal), clock())
    finally:
        give_lease_back(name, holder)
    return True


def _at_work(endpoint: str) -> QuerySet[CallBatch]:
    batches = CallBatch.objects.filter(endpoint=endpoint, state__in=AT_WORK)
    return batches.select_related("prompt", "permission", "price", "bank").order_by("started_at", "pk")


# What may change in the batches of an endpoint while they are at work: read anew before each call.
_CHANGING = (
    "pk",
    "state",
    "n_first",
    "cap",
    "permission__withdrawn_at",
    "permission__expires_at",
    "bank__holds_quarters",
)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Python lets a thread go on for 5 ms otherwise; an answer needs three turns, which took an eighth of the speed."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _pause(batch: CallBatch, because: str, at: datetime) -> None:
    """Unless a person was faster."""
    try:
        pause(batch, actor=None, at=at, because=because)
    except BatchRefused:
        log.info("batch %s was moved by somebody else", batch.public_id)


@dataclass
class Asker:
    """One endpoint, while this process holds its lease: a thread that stores and chooses, and others that send."""

    endpoint: Endpoint
    client: ModelClient
    holder: str
    clock: Clock
    stop: threading.Event
    works: dict[int, BatchWork] = field(default_factory=dict)
    rests: defaultdict[str, Rest] = field(default_factory=lambda: defaultdict(Rest))  # by model
    n_in_flight: int = 0
    _known: Sequence[object] = ()
    _batches: list[CallBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = self.endpoint
        self.pace = Pace(limits.connections, limits.calls_per_minute, limits.tokens_per_minute)
        self.to_send: queue.SimpleQueue[Sent | None] = queue.SimpleQueue()
        self.returned: queue.SimpleQueue[Sent] = queue.SimpleQueue()

    def run(self) -> None:
        senders = [threading.Thread(target=self._send_all, daemon=True) for _ in range(self.endpoint.connections)]
        for sender in senders:
            sender.start()
        try:
            while self._step():
                pass
        except LeaseLost:
            log.warning("endpoint %s is asked by another worker by now", self.endpoint.name)
        finally:
            for _sender in senders:
                self.to_send.put(None)
            for sender in senders:
                sender.join()

    # --- one step: store what came back, send what may be sent ---
    def _step(self) -> bool:
        """False at the end."""
        returned = self._gather()
        began = time.monotonic()
        with transaction.atomic():
            lock_lease(self.endpoint.name, self.holder, at=self.clock())
            self._store(returned)
            batches = [] if self.stop.is_set() else self._at_work_now()
            self._leave_out_others(batches)
            chosen = self._choose(batches)
        writing_time = time.monotonic() - began
        for batch, calls in chosen:
            for call, pictures in zip(calls, pictures_of(batch, calls), strict=True):
                self.to_send.put(Sent(call, batch, pictures))
        if connection.vendor == "sqlite":  # which has one writer: a reviewer's answer waits until it meets a gap
            time.sleep(min(writing_time, LONGEST_GAP))
        return bool(self.n_in_flight or batches)

    def _gather(self) -> list[Sent]:
        """What came back by now; waits a little for the first."""
        found: list[Sent] = []
        try:
            found.append(self.returned.get(timeout=LONGEST_WAIT if self.works else 0.001))
            while True:
                found.append(self.returned.get_nowait())
        except queue.Empty:
            return found

    def _at_work_now(self) -> list[CallBatch]:
        """Loaded anew only where something has changed: five models for each batch take longer than a look."""
        known = list(_at_work(self.endpoint.name).values_list(*_CHANGING))
        was_paused = any(batch.state not in AT_WORK for batch in self._batches)  # by us; a person may have resumed it
        if known != self._known or was_paused:
            self._known, self._batches = known, list(_at_work(self.endpoint.name))
        return self._batches

    def _leave_out_others(self, batches: Sequence[CallBatch]) -> None:
        """What was known of a batch that a person paused or stopped; one that goes on begins anew."""
        gone = self.works.keys() - {batch.pk for batch in batches}
        for pk in gone:
            if self.works[pk].n_in_flight:
                self.works[pk].drop_read_ahead()
            else:
                del self.works[pk]

    def _store(self, returned: Sequence[Sent]) -> None:
        attempts, calls = [], []
        for sent in returned:
            self.n_in_flight -= 1
            self.works[sent.batch.pk].n_in_flight -= 1
            if sent.exchange is None:  # it was counted as sent, and was not
                ModelCall.objects.filter(pk=sent.call.pk).update(n_sent=F("n_sent") - 1)
                _pause(sent.batch, sent.refusal, self.clock())
                continue
            attempts.append(self._read(sent, sent.exchange))
            calls.append(sent.call)
        store_attempts(attempts, calls)

    def _read(self, sent: Sent, exchange: Exchange) -> CallAttempt:
        now, at = time.monotonic(), self.clock()
        attempt = read_attempt(sent.batch, sent.call, _received(exchange))
        rest, is_busy = self.rests[sent.batch.model], exchange.status in BUSY
        if sent.call.outcome != CallOutcome.NOT_ASKED:
            rest.answered()
            self.pace.answered((attempt.n_input or 0) + (attempt.n_output or 0), now)
        elif passes(exchange.ending, exchange.status):
            wait = seconds_to_wait(dict(exchange.headers).get("retry-after", ""), at)
            if rest.failed(sent.call.pk, now, wait=wait, is_busy=is_busy):
                self.pace.too_many()
        work = self.works[sent.batch.pk]
        work.stored(sent.call, attempt, now, is_down=bool(rest.n_rests))
        if because := work.why_to_pause(sent.batch, attempt):
            _pause(sent.batch, because, at)
        return attempt

    def _choose(self, batches: Sequence[CallBatch]) -> list[tuple[CallBatch, list[ModelCall]]]:
        """The calls that are sent now, counted as sent. The oldest batch comes first."""
        chosen = [(batch, self._take(batch)) for batch in batches]
        count_as_sent([call for _batch, calls in chosen for call in calls])
        return chosen

    def _take(self, batch: CallBatch) -> list[ModelCall]:
        now, at = time.monotonic(), self.clock()
        if because := self._why_to_pause(batch, at):
            _pause(batch, because, at)
            return []
        work = self.works.get(batch.pk)
        if work is None:
            work = self.works[batch.pk] = BatchWork.of(batch)
        is_closed = now < self.rests[batch.model].closed_until
        free = 0 if is_closed else self.pace.free(self.n_in_flight, now)
        n_calls = work.affordable(batch, free)
        calls = work.next_calls(batch, n_calls, now) if n_calls else []
        if calls:
            work.took(calls)
            self.n_in_flight += len(calls)
            self.pace.sent(len(calls), now)
        elif n_calls and not work.waits:
            self._end(batch, at)
        elif free and not n_calls and not work.n_in_flight:
            _pause(batch, cap_is_reached(batch, work.spent), at)
        return calls

    def _why_to_pause(self, batch: CallBatch, at: datetime) -> str:
        if over := permission_is_over(batch, at):
            return over
        rest = self.rests[batch.model]
        if rest.since is None or time.monotonic() - rest.since <= settings.CALLS_WAIT_SECONDS:
            return ""
        del self.rests[batch.model]
        return is_down_for_good(batch)

    def _end(self, batch: CallBatch, at: datetime) -> None:
        """Nothing more can be asked: every call was, or some failed too often."""
        asked = ModelCall.objects.filter(batch=batch, outcome=CallOutcome.NOT_ASKED)
        is_first = batch.state == BatchState.TRYING
        n_left = (asked.filter(number__lte=batch.n_first) if is_first else asked).count()
        n_rejected = 0 if is_first else ModelCall.objects.filter(batch=batch, outcome=CallOutcome.REJECTED).count()
        if n_left:
            _pause(batch, left_unanswered(n_left), at)
        elif n_rejected:
            _pause(batch, refused_for_good(n_rejected), at)
        elif is_first:
            return_to_plan(batch, at=at)
        else:
            complete(batch, at=at)
        del self.works[batch.pk]

    # --- in the threads that send ---
    def _send_all(self) -> None:
        try:
            while (sent := self.to_send.get()) is not None:
                self.returned.put(self._send(sent))
        finally:
            connection.close()

    def _send(self, sent: Sent) -> Sent:
        call, at = sent.call, self.clock()
        try:
            call.pictures = sent.pictures.made(at=at)
            request = contents_of(sent.batch, [call])[0].request()
        except Refused as refusal:
            return replace(sent, refusal=str(refusal))
        except Exception as error:
            log.exception("call %s cannot be made", call.pk)
            return replace(
                sent, refusal=_("Call %(n)d cannot be made: %(error)s.") % {"n": call.number, "error": error}
            )
        return replace(sent, exchange=self.client.send(request, at=at))


def _received(exchange: Exchange) -> Received:
    headers = dict(exchange.headers)
    return Received(
        exchange.request_sha256,
        exchange.ending,
        exchange.body,
        exchange.status,
        headers.get("x-request-id") or headers.get("request-id", ""),
        exchange.problem,
        exchange.started_at,
        exchange.seconds,
    )


# --- in the worker process --------------------------------------------------------------------------
_threads: dict[str, threading.Thread] = {}
_stop = threading.Event()


def ask_in_background(at: datetime) -> None:
    """A sweep: every endpoint with batches at work gets a thread, unless this or another process has one."""
    names = set(CallBatch.objects.filter(state__in=AT_WORK).values_list("endpoint", flat=True))
    for name in names:
        thread = _threads.get(name)
        if (thread is None or not thread.is_alive()) and not _stop.is_set():
            thread = threading.Thread(target=_ask_in_thread, args=(name,), name=f"calls to {name}", daemon=True)
            _threads[name] = thread
            thread.start()


def stop_asking(seconds: float) -> None:
    """Send nothing more, and wait so long for what is under way, which would otherwise be asked again."""
    _stop.set()
    until = time.monotonic() + seconds
    for thread in _threads.values():
        thread.join(timeout=max(0.0, until - time.monotonic()))


def _ask_in_thread(name: str) -> None:
    try:
        ask_endpoint(name, stop=_stop)
    except Exception:
        log.exception("asking the endpoint %s ended; the next sweep begins again", name)
    finally:
        connection.close()
