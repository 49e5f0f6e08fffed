"""A campaign of calls, planned, priced, permitted and confirmed; each attempt is stored before it is made.

A room that asks adds what is its own: which calls it plans, what becomes of their answers (its function in
``call_batches.completed``), and what its page says. Planning sends nothing; ``call_batches.start`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, Self, TypeVar

from django.db import connection
from django.db.models import Field, Model
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.call_enums import NO_ANSWER, CallOutcome, Ending, PromptPurpose, SentImages
from annotation.endpoints.configured_endpoints import cost_of, endpoint_to_ask, price_on
from annotation.endpoints.kernels.completions import (
    REFUSAL_RULE,
    ChatSettings,
    Completion,
    Usage,
    outcome_of,
    read_completion,
)
from annotation.endpoints.sending_permissions import permission_in_force
from annotation.enums import ImageState
from annotation.model_calls.call_batches import BatchRefused, check_cap
from annotation.model_calls.kernels.extraction import (
    ANSWER_FIELD_RULE,
    RULE,
    RULES,
    answer_in,
    canonical,
    names_two,
    rotated,
)
from annotation.model_calls.probing import newest_probe, refuted
from annotation.models import (
    CallAttempt,
    CallBatch,
    ModelCall,
    Price,
    PromptVersion,
    QuestionBank,
    SendingPermission,
    User,
)
from annotation.site.sorted_tables import analyze

AT_ONCE = 500  # calls in memory
READING_RULE = f"{REFUSAL_RULE}, {ANSWER_FIELD_RULE}, {RULE}"
CHANGED = ("n_attempts", "outcome", "option", "pictures", "request_sha256", "n_input", "n_cached", "n_output", "cost")


class Received(Struct, frozen=True):
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
    outcome, option = outcome_of(received.ending, completion, received.status), ""
    if outcome == CallOutcome.ANSWERED and batch.purpose == PromptPurpose.ANSWER and call.revision is not None:
        outcome, option = read_answer(completion, call.revision.options, call.rotation)
    cost = cost_in(batch.price, usage)
    call.n_attempts += 1
    if call.outcome in NO_ANSWER:
        call.outcome, call.option = outcome, option
    call.n_input, call.n_cached = _sum(call.n_input, usage.n_input), _sum(call.n_cached, usage.n_cached)
    call.n_output = _sum(call.n_output, usage.n_output)
    call.cost = call.cost if cost is None else (call.cost or Decimal(0)) + cost
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
    completion: Completion, options: Sequence[str], rotation: int, rule: str = RULE
) -> tuple[CallOutcome, str]:
    """What an answer to a question counts as, and the canonical option that it names by a rule of extraction."""
    text, shown = answer_in(completion.text), rotated(options, rotation)
    if option := canonical(RULES[rule](text, shown), rotation):
        return CallOutcome.ANSWERED, option
    return CallOutcome.TWO if rule == RULE and names_two(text, shown) else CallOutcome.FAILED, ""


def answers_of(batch: CallBatch) -> Iterator[tuple[ModelCall, str | None]]:
    """By number of the call: the text of the first answer of the model, which no later attempt takes back.

    None: it refused, was cut, or has not answered yet.
    """
    calls = ModelCall.objects.filter(batch=batch).order_by("number")
    last = 0
    while some := list(calls.filter(number__gt=last)[:AT_ONCE]):
        last = some[-1].number
        attempts = CallAttempt.objects.filter(call__in=some).exclude(outcome__in=NO_ANSWER)
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


ROWS_AT_ONCE = 1_000  # rows in one statement
WAITS = (ImageState.PENDING, ImageState.CHECKING, ImageState.QUARANTINED)  # images that cannot be sent yet


class Asking(Struct, frozen=True, kw_only=True):
    """Which model is asked where, and how. Rooms add what it is asked about."""

    endpoint: str
    model: str  # as the endpoint calls it
    chat: ChatSettings = ChatSettings()
    cap: Decimal | None = None


Wanted = TypeVar("Wanted", bound=Asking)
Run = TypeVar("Run", bound=Model)


@dataclass(frozen=True)
class CallPlan(Generic[Wanted, Run]):
    """What would be asked, and on which terms. Rooms add the calls; ``run`` is None until it is stored."""

    wanted: Wanted
    permission: SendingPermission
    price: Price | None  # None: nobody has stated it
    run: Run | None = field(default=None, kw_only=True)

    def stored(self, run: Run) -> Self:
        return replace(self, run=run)

    @property
    def stored_run(self) -> Run:
        assert self.run is not None
        return self.run

    def terms(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "permission": self.permission.public_id,
            "permission_until": self.permission.expires_at.isoformat(),
            "price": str(self.price) if self.price else None,
            "cap": None if self.wanted.cap is None else str(self.wanted.cap),
        }


# --- what is refused before anything is planned ---
def check_not_archived(bank: QuestionBank) -> None:
    if bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name}
        raise BatchRefused("archived", sentence, field="bank")


def check_purpose(prompt: PromptVersion | None, purpose: PromptPurpose) -> None:
    """None: that of the program."""
    if prompt is not None and prompt.purpose != purpose:
        sentence = _("The prompt “%(name)s” is made to %(is)s, not to %(wanted)s.")
        named = {"name": prompt, "is": prompt.get_purpose_display(), "wanted": _(purpose.label)}
        raise BatchRefused("wrong_purpose", sentence % named, status=422, field="prompt")


def check_probe(endpoint: str, model: str, *, n_images: int, has_schema: bool) -> None:
    """Refused where the newest probe of the model saw that it cannot do what the calls need."""
    made = newest_probe(endpoint, model)
    if made is not None and (found := refuted(made, n_images=n_images, has_schema=has_schema)):
        raise BatchRefused("probe_refutes", " ".join(found))


def permitted_and_priced(
    bank: QuestionBank, asking: Asking, *, at: datetime, **parts: bool
) -> tuple[SendingPermission, Price | None]:
    """The permission that calls would name, and what the model costs now; None where nobody has stated it.

    ``parts``: what is sent, as ``permission_in_force`` takes it. Raises EndpointRefused, SendingRefused, and
    BatchRefused for a cap that cannot be kept.
    """
    endpoint_to_ask(asking.endpoint)
    permission = permission_in_force(bank, asking.endpoint, at=at, **parts)
    price = price_on(asking.endpoint, asking.model, at.date())
    if asking.cap is not None:
        check_cap(asking.cap, price)
    return permission, price


# --- what is stored ---
def store_batch(
    plan: CallPlan[Any, Any],
    bank: QuestionBank,
    prompt: PromptVersion,
    *,
    n_calls: int,
    images: str = SentImages.NONE,
    actor: User | None,
    at: datetime,
    **more: Any,
) -> CallBatch:
    """A batch that waits for its start. ``more``: further fields, such as a seed."""
    asking: Asking = plan.wanted
    return CallBatch.objects.create(
        purpose=prompt.purpose,
        bank=bank,
        endpoint=asking.endpoint,
        model=asking.model,
        prompt=prompt,
        permission=plan.permission,
        price=plan.price,
        chat_settings=asking.chat.kept(),
        images=images,
        n_calls=n_calls,
        cap=asking.cap,
        created_by=actor,
        created_at=at,
        **more,
    )


def add_calls(batch: CallBatch, asked: Iterable[Mapping[str, Any]]) -> None:
    """Numbered in this order, from 1. ``asked``: what each call is about, as fields of ModelCall."""
    calls = (ModelCall(batch=batch, number=number, **one) for number, one in enumerate(asked, start=1))
    analyze(len(ModelCall.objects.bulk_create(calls, batch_size=ROWS_AT_ONCE)), ModelCall)
