"""What came back for a call: one attempt, and what the call came to by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from annotation.call_enums import CallOutcome, Ending, PromptPurpose
from annotation.endpoints.kernels.completions import REFUSAL_RULE, Completion, Usage, outcome_of, read_completion
from annotation.endpoints.prices import cost_of
from annotation.model_calls.kernels.extraction import ANSWER_FIELD_RULE, RULE, RULES, answer_in
from annotation.model_calls.kernels.question_text import canonical, rotated
from annotation.models import CallAttempt, CallBatch, ModelCall, Price

AT_ONCE = 500  # calls in memory
READING_RULE = f"{REFUSAL_RULE}, {ANSWER_FIELD_RULE}, {RULE}"
CHANGED = ("n_attempts", "outcome", "option", "pictures", "request_sha256", "n_input", "n_cached", "n_output", "cost")


@dataclass(frozen=True)
class Received:
    """One attempt as it came over the wire, or in a file of responses, which knows neither start nor duration."""

    request_sha256: str
    ending: Ending
    body: bytes = b""
    status: int | None = None
    request_id: str = ""
    problem: str = ""
    started_at: datetime | None = None
    seconds: float | None = None


def read_attempt(batch: CallBatch, call: ModelCall, received: Received) -> CallAttempt:
    """The row of an attempt, not stored yet; the call is brought up to date with it, and not stored either.

    A final answer of the model is never taken back by a later attempt.
    """
    completion = read_completion(received.body)
    usage = completion.usage or Usage()
    outcome, option = outcome_of(received.ending, completion), ""
    if batch.purpose == PromptPurpose.ANSWER and call.revision is not None:
        outcome, option = read_answer(received.ending, completion, call.revision.options, call.rotation)
    cost = cost_in(batch.price, usage)
    call.n_attempts += 1
    if call.outcome == CallOutcome.NOT_ASKED:
        call.outcome, call.option = outcome, option
    call.n_input, call.n_cached = _sum(call.n_input, usage.n_input), _sum(call.n_cached, usage.n_cached)
    call.n_output, call.cost = _sum(call.n_output, usage.n_output), _paid(call.cost, cost)
    call.request_sha256 = received.request_sha256
    return CallAttempt(
        call=call,
        number=call.n_attempts,
        request_sha256=received.request_sha256,
        started_at=received.started_at,
        seconds=received.seconds,
        ending=received.ending,
        status=received.status,
        request_id=received.request_id,
        body=received.body.decode(),
        problem=received.problem[:200],
        model=completion.model[:200],
        fingerprint=completion.fingerprint[:200],
        finish_reason=completion.finish_reason[:40],
        n_input=usage.n_input,
        n_cached=usage.n_cached,
        n_output=usage.n_output,
        cost=cost,
        outcome=outcome,
        rule=READING_RULE,
    )


def read_answer(
    ending: Ending, completion: Completion, options: Sequence[str], rotation: int, rule: str = RULE
) -> tuple[CallOutcome, str]:
    """What an answer to a question counts as, and the canonical option that it names by a rule of extraction."""
    outcome = outcome_of(ending, completion)
    if outcome != CallOutcome.ANSWERED:
        return outcome, ""
    option = canonical(RULES[rule](answer_in(completion.text), rotated(options, rotation)), rotation)
    return CallOutcome.ANSWERED if option else CallOutcome.FAILED, option


def answers_of(batch: CallBatch) -> Iterator[tuple[ModelCall, str | None]]:
    """By number of the call: the text of the first answer of the model, which no later attempt takes back.

    None: it refused, was cut, or has not answered yet.
    """
    calls = ModelCall.objects.filter(batch=batch).order_by("number")
    last = 0
    while some := list(calls.filter(number__gt=last)[:AT_ONCE]):
        last = some[-1].number
        attempts = CallAttempt.objects.filter(call__in=some).exclude(outcome=CallOutcome.NOT_ASKED)
        first: dict[int, CallAttempt] = {}
        for attempt in attempts.order_by("call", "number"):
            first.setdefault(attempt.call_id, attempt)
        for call in some:
            answer = first.get(call.pk)
            is_answer = answer is not None and answer.outcome == CallOutcome.ANSWERED
            yield call, read_completion(answer.body.encode()).text if answer and is_answer else None


def store_attempts(attempts: Sequence[CallAttempt], calls: Iterable[ModelCall]) -> None:
    """In the transaction of the caller, by SQL that takes Django ten times as long to make as to run."""
    own = [each for each in CallAttempt._meta.concrete_fields if not each.primary_key]
    columns, places = ", ".join(f'"{each.column}"' for each in own), ", ".join("%s" for _ in own)
    insert = f'INSERT INTO "{CallAttempt._meta.db_table}" ({columns}) VALUES ({places})'  # noqa: S608 - names of our models
    changed = [each for each in ModelCall._meta.concrete_fields if each.name in CHANGED]
    columns = ", ".join(f'"{each.column}" = %s' for each in changed)
    update = f'UPDATE "{ModelCall._meta.db_table}" SET {columns} WHERE id = %s'  # noqa: S608
    _execute_each(
        {
            insert: [_values(attempt, own) for attempt in attempts],
            update: [[*_values(call, changed), call.pk] for call in calls],
        }
    )


def count_as_sent(calls: Sequence[ModelCall]) -> None:
    """In the transaction of the caller, before they go out."""
    if calls:
        places = ", ".join("%s" for _ in calls)
        sql = f'UPDATE "{ModelCall._meta.db_table}" SET n_sent = n_sent + 1 WHERE id IN ({places})'  # noqa: S608
        with connection.cursor() as cursor:
            cursor.execute(sql, [call.pk for call in calls])


def _values(row: Model, fields: Iterable[Field[Any, Any]]) -> list[Any]:
    """As the database takes them."""
    return [each.get_db_prep_save(getattr(row, each.attname), connection) for each in fields]


def _execute_each(statements: Mapping[str, Sequence[Sequence[Any]]]) -> None:
    """Each once for each of its rows: sent to PostgreSQL together, where each would be a journey of its own."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            for sql, rows in statements.items():
                cursor.executemany(sql, rows)
        elif any(statements.values()):
            every = "; ".join(sql for sql, rows in statements.items() for _row in rows)
            cursor.execute(every, [value for rows in statements.values() for row in rows for value in row])


def cost_in(price: Price | None, usage: Usage) -> Decimal | None:
    """In the currency of the price; None where price or tokens are not known."""
    if price is None or usage.n_input is None or usage.n_output is None:
        return None
    rates = (price.per_million_input, price.per_million_cached, price.per_million_output)
    return cost_of(*rates, n_input=usage.n_input, n_cached=usage.n_cached or 0, n_output=usage.n_output)


def _sum(before: int | None, more: int | None) -> int | None:
    return before if more is None else (before or 0) + more


def _paid(before: Decimal | None, more: Decimal | None) -> Decimal | None:
    return before if more is None else (before or Decimal(0)) + more
