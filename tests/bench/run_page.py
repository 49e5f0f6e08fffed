"""The pages of a run of 164,028 calls (41,007 questions in four orders): milliseconds, queries, on both databases.

Beside each page stands one query that counts the calls by their option, for which there is no index. Milliseconds of
processors.
"""

from __future__ import annotations

from typing import Any

from tests.bench.measuring import analyze, asked_in_turns, coordinator, processor, told_in_tests
from tests.bench.rows import Row, median, on_both_databases, percentile

N_QUESTIONS, N_ORDERS = 41_007, 4
TIMES = 30  # each address
AT_ONCE = 10_000
DATABASE = "rexvqa_bench_run_page"


def measure() -> list[Row]:
    return on_both_databases(_measured, DATABASE)


def _measured(name: str, url: str) -> list[Row]:
    told = told_in_tests(run, N_QUESTIONS, database_url=url)
    name = f"{name}: {N_QUESTIONS * N_ORDERS:,} calls"
    return [
        *(
            Row(f"{name}, {page}, p95", percentile(spent, 0.95), "ms", "100", "one count", told["count"])
            for page, (spent, _n) in told["pages"].items()
        ),
        Row(f"{name}, most queries of one page", max(n for _spent, n in told["pages"].values()), "queries", "12"),
    ]


def run(n: int) -> dict[str, Any]:
    from django.test import override_settings
    from django.urls import reverse

    from tests.readerstudy.model_runs.made import STAND_IN

    client = coordinator()
    with override_settings(MODEL_ENDPOINTS=(STAND_IN,)):
        batch = asked(n)
        analyze()
        whole, raw = reverse("model-run", args=[batch.public_id]), reverse("model-run-calls", args=[batch.public_id])
        pages = {"page of the run": whole, "raw answers": raw, "list of runs": reverse("model-runs")}
        for address in pages.values():
            client.get(address)  # what is made once is not counted
        return {"pages": asked_in_turns(client, pages, TIMES), "count": median(_count() for _ in range(5))}


def _count() -> float:
    from django.db.models import Count

    from annotation.models import ModelCall

    begun = processor()
    list(ModelCall.objects.order_by().values_list("option").annotate(n=Count("pk")))
    return processor() - begun


def asked(n: int) -> Any:
    """A run at work: one call in a hundred failed, one in twenty is not asked yet; each answer has its attempt."""
    from decimal import Decimal

    from annotation.call_enums import BatchState, CallOutcome, Ending
    from annotation.enums import OptionLetter
    from annotation.models import CallAttempt, ModelCall
    from readerstudy.predictions.listing import Target
    from tests.annotation.review.cases import NOON, make_bank, make_revisions
    from tests.readerstudy.model_runs.made import MODEL, answer, end, planned, set_price

    bank = make_bank("Asked")
    for first in range(1, n + 1, AT_ONCE):
        make_revisions(bank, {number: {} for number in range(first, min(first + AT_ONCE, n + 1))})
    set_price()
    run = planned(Target(bank), n_orders=N_ORDERS)
    answer(run, n=20)
    made = {"n_attempts": 1, "n_sent": 1, "n_input": 1000, "n_cached": 0, "n_output": 10, "cost": Decimal("0.00104")}
    waiting = ModelCall.objects.filter(batch=run.batch, n_sent=0, number__lte=n * N_ORDERS * 19 // 20)
    numbers = range(100, n * N_ORDERS, 100)
    for start in range(0, len(numbers), 500):
        some = waiting.filter(number__in=numbers[start : start + 500])
        some.update(outcome=CallOutcome.FAILED, pictures=[], **made)
    waiting.update(outcome=CallOutcome.ANSWERED, option=OptionLetter.B, pictures=[], **made)
    kept = {"number": 1, "started_at": NOON, "seconds": 2.0, "ending": Ending.ANSWERED, "status": 200, "model": MODEL}
    calls = ModelCall.objects.filter(batch=run.batch, n_sent=1, attempts=None).only("pk", "outcome")
    CallAttempt.objects.bulk_create(
        (CallAttempt(call=call, outcome=call.outcome, rule="made", **kept) for call in calls.iterator()),
        batch_size=AT_ONCE,
    )
    end(run, BatchState.RUNNING)
    return run.batch
