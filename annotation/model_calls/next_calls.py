"""Which call of a batch comes next, when the batch must stop, and what it came to."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct, field

from annotation.call_enums import NO_ANSWER, OF_SERVER, BatchState, CallOutcome
from annotation.endpoints.kernels.completions import read_completion
from annotation.model_calls.kernels.pacing import passes, seconds_before_retry
from annotation.models import CallAttempt, CallBatch, ModelCall


class CallTally(Struct, frozen=True):
    """``n_asked_twice``: calls that were under way when a worker was killed, so that nobody knows the answer. They were
    asked again, and may have been paid twice.
    """

    by_outcome: Mapping[CallOutcome, int]
    n_sent: int
    n_asked_twice: int
    n_input: int
    n_output: int
    cost: Decimal

    def n(self, outcome: CallOutcome) -> int:
        return self.by_outcome.get(outcome, 0)

    @property
    def n_calls(self) -> int:
        return sum(self.by_outcome.values())

    @property
    def n_done(self) -> int:
        """Calls with an answer, whatever it says."""
        return self.n_calls - sum(map(self.n, NO_ANSWER))


def tally(batch: CallBatch) -> CallTally:
    """One query, which an index answers alone."""
    return tallies([batch.pk])[batch.pk]


def tallies(batches: Collection[int]) -> dict[int, CallTally]:
    """Of several batches by their id, with the same one query."""
    rows = (
        ModelCall.objects.filter(batch__in=batches)
        .order_by()
        .values("batch_id", "outcome")
        .annotate(
            n=Count("pk"),
            sent=Sum("n_sent"),
            stored=Sum("n_attempts"),
            tokens_in=Sum("n_input"),
            tokens_out=Sum("n_output"),
            paid=Sum("cost"),
        )
    )
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["batch_id"]].append(row)
    return {batch: _tally_of(found[batch]) for batch in batches}


def _tally_of(rows: list[Any]) -> CallTally:
    """``rows``: one for each outcome."""
    done = [row for row in rows if row["outcome"] != CallOutcome.NOT_ASKED]
    return CallTally(
        by_outcome={CallOutcome(row["outcome"]): row["n"] for row in rows},
        n_sent=sum(row["sent"] for row in rows),
        n_asked_twice=sum(row["sent"] - row["stored"] for row in done),
        n_input=sum(row["tokens_in"] or 0 for row in rows),
        n_output=sum(row["tokens_out"] or 0 for row in rows),
        cost=sum((row["paid"] or Decimal(0) for row in rows), Decimal(0)),
    )


MOST_TRIES = 5  # of one call before it is set aside until a person resumes the batch
MOST_ALIKE = 20  # equal failures in a row
NO_KEY = (401, 403)
NO_QUOTA = "insufficient_quota"
READ_AHEAD = 50  # calls


class BatchWork(Struct):
    """``now`` is a number of seconds of a clock that only goes forward, as in Pace."""

    spent: Decimal
    last_number: int = 0  # up to here every call was taken once
    n_in_flight: int = 0
    dearest: Decimal = Decimal(0)
    _ahead: deque[ModelCall] = field(default_factory=deque)
    _due: list[tuple[float, int]] = field(default_factory=list)  # heap: when to try again, number
    _n_failures: dict[int, int] = field(default_factory=dict)
    _alike: tuple[object, ...] = ()
    _n_alike: int = 0

    @classmethod
    def of(cls, batch: CallBatch) -> BatchWork:
        return cls(spent=tally(batch).cost)

    def next_calls(self, batch: CallBatch, most: int, now: float) -> list[ModelCall]:
        """Not asked ones: those to be tried again first. They count as taken only by ``took``."""
        again = [number for due, number in heapq.nsmallest(most, self._due) if due <= now]
        found = list(open_calls(batch).filter(number__in=again)) if again else []
        if len(self._ahead) < most - len(found):
            self._read_ahead(batch, most)
        return [*found, *islice(self._ahead, most - len(found))]

    def _read_ahead(self, batch: CallBatch, most: int) -> None:
        """The plan of a batch never changes, so that some more calls may be read than are sent now."""
        fresh = open_calls(batch).filter(number__gt=self.last_number).order_by("number")
        if batch.state == BatchState.TRYING:
            fresh = fresh.filter(number__lte=batch.n_first)
        self._ahead = deque(fresh[: most + READ_AHEAD])

    def took(self, calls: Iterable[ModelCall]) -> None:
        numbers = {call.number for call in calls}
        self._due = [pair for pair in self._due if pair[1] not in numbers]
        heapq.heapify(self._due)
        self.last_number = max(self.last_number, *numbers)
        while self._ahead and self._ahead[0].number <= self.last_number:
            self._ahead.popleft()
        self.n_in_flight += len(numbers)

    def drop_read_ahead(self) -> None:
        """A person paused the batch: by the time it goes on, its calls may have got answers from a file."""
        self._ahead.clear()

    @property
    def waits(self) -> bool:
        """Whether a call is under way or will be tried again."""
        return bool(self.n_in_flight or self._due)

    def affordable(self, batch: CallBatch, most: int) -> int:
        """How many more calls the cap allows, if each costs as much as the dearest one so far."""
        if batch.cap is None:
            return most
        left = batch.cap - self.spent - self.dearest * self.n_in_flight
        if left <= 0:
            return 0
        if not self.dearest:
            return max(0, min(most, 1 - self.n_in_flight))  # the first one tells
        return min(most, int(left / self.dearest))

    def stored(self, call: ModelCall, attempt: CallAttempt, now: float, *, is_down: bool = False) -> None:
        """An answer came, or did not; the call is under way no more.

        ``is_down``: the endpoint rests, so that what passes is no fault of the call.
        """
        cost = attempt.cost or Decimal(0)
        self.spent, self.dearest = self.spent + cost, max(self.dearest, cost)
        if call.outcome not in OF_SERVER:
            self._n_alike = 0
            return
        if is_down and passes(attempt.ending, attempt.status):
            self.try_again(call, now)
            return
        alike = (attempt.ending, attempt.status, attempt.problem)
        self._n_alike = self._n_alike + 1 if alike == self._alike else 1
        self._alike = alike
        if call.outcome != CallOutcome.NOT_ASKED:  # asked again it would be the same
            return
        n_failures = self._n_failures[call.number] = self._n_failures.get(call.number, 0) + 1
        if n_failures < MOST_TRIES:
            self.try_again(call, now + seconds_before_retry(n_failures))

    def try_again(self, call: ModelCall, due: float) -> None:
        heapq.heappush(self._due, (due, call.number))

    def why_to_pause(self, batch: CallBatch, attempt: CallAttempt) -> str:
        """A sentence, once the last attempt says that asking on is of no use."""
        if attempt.status in NO_KEY:
            sentence = _("The endpoint refused the key (status %(status)d). Whoever runs the server gives it another.")
            return sentence % {"status": attempt.status}
        if attempt.outcome == CallOutcome.NOT_ASKED and NO_QUOTA in attempt.body:
            return _("The account at the endpoint has no money or quota left. Resume once it has.")
        if self._n_alike >= MOST_ALIKE:
            sentence = _("%(n)d calls in a row failed alike: %(how)s. Resume when the endpoint is well.")
            return sentence % {"n": MOST_ALIKE, "how": how_it_failed(attempt)}
        if batch.cap is not None and attempt.outcome != CallOutcome.NOT_ASKED and attempt.cost is None:
            return _("The endpoint does not say how many tokens an answer took, so that the cap cannot be kept.")
        return ""


def open_calls(batch: CallBatch) -> QuerySet[ModelCall]:
    """Those that have no answer yet, with what a request of them needs."""
    found = ModelCall.objects.filter(batch=batch, outcome=CallOutcome.NOT_ASKED)
    return found.select_related("revision__question", "exam")


def cap_is_reached(batch: CallBatch, spent: Decimal) -> str:
    """The sentence that a person reads."""
    sentence = _("The cap of %(cap)s %(currency)s is reached: %(spent)s were spent. Raise the cap to go on.")
    currency = batch.price.currency if batch.price else ""
    return sentence % {"cap": batch.cap, "currency": currency, "spent": spent.quantize(Decimal("0.0001"))}


def left_unanswered(n_calls: int) -> str:
    """The sentence for calls that failed too often."""
    return ngettext(
        "%(n)d question could not be asked, however often it was tried. Resume asks it again.",
        "%(n)d questions could not be asked, however often they were tried. Resume asks them again.",
        n_calls,
    ) % {"n": n_calls}


def is_down_for_good(batch: CallBatch) -> str:
    """The sentence for an endpoint that answered nothing for as long as is waited."""
    newest = CallAttempt.objects.filter(call__batch=batch).order_by("-pk").first()
    sentence = _("The endpoint has not answered for %(n)d minutes: %(how)s. Resume when it is well.")
    return sentence % {"n": settings.CALLS_WAIT_SECONDS // 60, "how": how_it_failed(newest) if newest else ""}


def refused_for_good(n_calls: int) -> str:
    """The sentence for calls that the endpoint will not take."""
    return ngettext(
        "The endpoint refused %(n)d question. Resume asks it again; ending the run leaves it missing in tables.",
        "The endpoint refused %(n)d questions. Resume asks them again; ending the run leaves them missing in tables.",
        n_calls,
    ) % {"n": n_calls}


def how_it_failed(attempt: CallAttempt) -> str:
    """A few words: how the exchange ended, with the status or the error; of a broken answer what breaks it."""
    if attempt.outcome == CallOutcome.BROKEN and (trouble := read_completion(attempt.body.encode()).trouble):
        return _(trouble.label).removesuffix(".")
    more = attempt.problem or (f"{attempt.status}" if attempt.status else "")
    return f"{attempt.get_ending_display()} ({more})" if more else str(attempt.get_ending_display())
