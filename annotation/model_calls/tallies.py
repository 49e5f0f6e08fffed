"""What a batch of calls came to: counts that are never mixed, tokens and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Sum

from annotation.call_enums import CallOutcome
from annotation.models import CallBatch, ModelCall


@dataclass(frozen=True)
class CallTally:
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
        """Calls with an answer of the model, whatever it says."""
        return self.n_calls - self.n(CallOutcome.NOT_ASKED)


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
