"""Runs of models, made in code: an endpoint, a prompt, a permission, and answers as an engine stores them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome, Ending, EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.model_calls.attempts import CHANGED, Received, read_attempt
from annotation.models import CallAttempt, CallBatch, ModelCall, Price, PromptVersion, QuestionBank, SendingPermission
from readerstudy.model_runs.planning import RunWanted, plan_run, store_run
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target
from tests.annotation.endpoints.simulated_models import GOOD
from tests.annotation.model_calls import simulated_calls as calls
from tests.annotation.review.cases import NOON

ENDPOINT, MODEL = "stand-in", GOOD
REFUSAL = b'{"error": {"code": 400, "message": "At most 1 image(s) may be provided."}}'
STAND_IN = Endpoint(ENDPOINT, "http://127.0.0.1:9/v1", place=EndpointPlace.MACHINE)


def name_endpoints(settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = (STAND_IN,)


def make_prompt(name: str = "our reading", **fields: Any) -> PromptVersion:
    return calls.make_prompt(name=name, **fields)


def permit(bank: QuestionBank, **fields: Any) -> SendingPermission:
    return calls.make_permission(bank, **fields)


def set_price(**fields: Any) -> Price:
    """What the answers of ``answer`` cost: 0.00104 each."""
    of_a_million = {"per_million_input": 1, "per_million_cached": Decimal("0.5"), "per_million_output": 4}
    return calls.make_price(**{**of_a_million, "set_at": NOON, "valid_from": NOON.date(), **fields})


def wanted(target: Target, prompt: PromptVersion | None = None, **fields: Any) -> RunWanted:
    prompt = prompt or PromptVersion.objects.filter(name="our reading").first() or make_prompt()
    given = {"name": "Model", "version": "1", "endpoint": ENDPOINT, "model": MODEL}
    return RunWanted(target=target, prompt=prompt, **(given | fields))


def planned(target: Target, **fields: Any) -> ModelRun:
    """A run of a permitted bank by the command line."""
    if not SendingPermission.objects.filter(bank=target.bank).exists():
        permit(target.bank)
    return store_run(plan_run(wanted(target, **fields), actor=None, at=NOON), actor=None, at=NOON).stored_run


def letter_b(call: ModelCall) -> str:
    return "B"


def answer(
    run: ModelRun,
    say: Callable[[ModelCall], str] = letter_b,
    *,
    outcomes: dict[int, CallOutcome] | None = None,
    n: int | None = None,
) -> None:
    """Store an answer to the first ``n`` calls, as the engine does; ``outcomes``: of calls by their number."""
    calls = list(ModelCall.objects.filter(batch=run.batch).select_related("revision").order_by("number")[:n])
    attempts = []
    for call in calls:
        outcome = (outcomes or {}).get(call.number, CallOutcome.ANSWERED)
        way = (Ending.HTTP_ERROR, REFUSAL, 400) if outcome == CallOutcome.REJECTED else (Ending.ANSWERED, b"", 200)
        ending, body, status = way
        body = body or _body(say(call), outcome)
        received = Received("0" * 64, ending, body, status, started_at=NOON, seconds=2.0)
        attempt = read_attempt(run.batch, call, received)
        call.n_sent, call.pictures = 1, []
        attempt.cost = call.cost = Decimal("0.00104")
        attempts.append(attempt)
    CallAttempt.objects.bulk_create(attempts)
    ModelCall.objects.bulk_update(calls, [*CHANGED, "n_sent"])


def _body(said: str, outcome: CallOutcome) -> bytes:
    """A response that counts as this outcome; of an answered one its words say whether they name an option."""
    reason = {CallOutcome.REFUSED: "content_filter", CallOutcome.CUT: "length"}.get(outcome, "stop")
    instead = {CallOutcome.FAILED: "none of these", CallOutcome.TWO: "A or B", CallOutcome.BROKEN: ""}
    message = {"role": "assistant", "content": instead.get(outcome, said)}
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    choice = {"message": message, "finish_reason": reason}
    return json.dumps({"choices": [choice], "model": MODEL, "usage": usage}).encode()


def end(run: ModelRun, state: BatchState = BatchState.COMPLETE) -> None:
    """As the engine does once every call has an answer, without telling anybody."""
    CallBatch.objects.filter(pk=run.batch_id).update(state=state)
    run.batch.refresh_from_db(fields=["state"])
