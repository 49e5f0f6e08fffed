"""A bank whose questions are asked of the stand-in server: everything but its address stands in rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from annotation.call_enums import BatchState, Ending, EndpointPlace, PromptPurpose, SentImages
from annotation.endpoints.client import Limits
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.model_calls import asking, next_calls
from annotation.model_calls.attempts import Received, read_attempt, store_attempts
from annotation.model_calls.call_batches import complete
from annotation.model_calls.kernels import pacing
from annotation.model_calls.request_bodies import contents_of
from annotation.models import CallBatch, ModelCall, Price, PromptVersion, QuestionBank, SendingPermission
from tests.annotation.endpoints.simulated_models import GOOD
from tests.annotation.endpoints.stand_in import StandIn, StandInFault
from tests.annotation.review.cases import make_bank, make_revisions

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEXT = "{{question}}\n{{options}}"
ENDPOINT = "stand-in"
HERE = Endpoint(ENDPOINT, "http://127.0.0.1:9/v1", place=EndpointPlace.MACHINE)  # where nobody listens
SHORT = Limits(read_seconds=0.5, total_seconds=1.0)


def make_prompt(**fields: Any) -> PromptVersion:
    given = {
        "name": "plain",
        "number": 1,
        "purpose": PromptPurpose.ANSWER,
        "text": TEXT,
        "variables": ["question", "options"],
        "reason": "a test",
        "made_at": NOON,
        "sha256": "0" * 64,
    }
    return PromptVersion.objects.create(**given | fields)


def make_permission(bank: QuestionBank, **fields: Any) -> SendingPermission:
    given = {
        "bank": bank,
        "endpoint": ENDPOINT,
        "questions": True,
        "images": True,
        "reason": "a test",
        "agreement": "none needed",
        "given_at": NOON,
        "expires_at": NOON.replace(year=2999),
    }
    return SendingPermission.objects.create(**given | fields)


def make_price(**fields: Any) -> Price:
    given = {
        "endpoint": ENDPOINT,
        "model": GOOD,
        "currency": "EUR",
        "per_million_input": Decimal(1000),
        "per_million_cached": Decimal(100),
        "per_million_output": Decimal(2000),
        "valid_from": NOON.date(),
        "set_at": NOON,
    }
    return Price.objects.create(**given | fields)


def make_batch(n_questions: int = 6, *, state: BatchState = BatchState.RUNNING, **fields: Any) -> CallBatch:
    """Each question of a new bank once, without images."""
    bank = fields.pop("bank", None) or make_bank("Asked")
    prompt = fields.pop("prompt", None) or make_prompt()
    permission = fields.pop("permission", None) or make_permission(bank)
    given = {"model": GOOD, "endpoint": ENDPOINT, "images": SentImages.NONE, "started_at": NOON, "created_at": NOON}
    batch = CallBatch.objects.create(
        purpose=PromptPurpose.ANSWER,
        bank=bank,
        prompt=prompt,
        permission=permission,
        n_calls=n_questions,
        state=state,
        **given | fields,
    )
    revisions = make_revisions(bank, {number: {} for number in range(1, n_questions + 1)})
    ModelCall.objects.bulk_create(
        ModelCall(batch=batch, number=number, revision=revision) for number, revision in enumerate(revisions, start=1)
    )
    return batch


@transaction.atomic
def answer_calls(batch: CallBatch, body_of: Callable[[int, bytes], dict[str, Any]]) -> None:
    """Without a server: each call gets the body for its place and its request, and the batch is complete."""
    calls = list(ModelCall.objects.filter(batch=batch).select_related("revision", "batch").order_by("number"))
    attempts = []
    for place, (call, content) in enumerate(zip(calls, contents_of(batch, calls), strict=True)):
        request, call.pictures = content.request(), []
        body = json.dumps(body_of(place, request.body)).encode()
        attempts.append(read_attempt(batch, call, Received(request.sha256, Ending.ANSWERED, body, 200)))
    store_attempts(attempts, calls)
    ModelCall.objects.filter(batch=batch).update(n_sent=1)
    complete(batch, at=NOON)


def answer_with(batch: CallBatch, *texts: str, finish_reason: str = "stop") -> None:
    """These texts in turn, over and over."""
    message = {"finish_reason": finish_reason}
    answer_calls(
        batch, lambda place, _request: {"choices": [{**message, "message": {"content": texts[place % len(texts)]}}]}
    )


@contextmanager
def asked_server(*faults: StandInFault, seed: int = 1, **limits: Any) -> Iterator[StandIn]:
    """The stand-in, named in the settings. Whoever asks it waits hundredths of a second where it would wait seconds."""
    server = StandIn(seed=seed, faults=faults)
    named = override_settings(MODEL_ENDPOINTS=(Endpoint(ENDPOINT, server.url, **limits),))
    with server, named, pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "LONGEST_WAIT", 0.02)
        patch.setattr(pacing, "SHORTEST_REST", 0.02)
        patch.setattr(pacing, "LONGEST_REST", 0.05)
        patch.setattr(next_calls, "seconds_before_retry", lambda n_failures: 0.01 * n_failures)
        yield server
