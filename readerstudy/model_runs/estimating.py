"""What a run will come to before it is started, from the questions that are asked first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from annotation.call_enums import CallOutcome
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoint_named
from annotation.ingest.model_pictures import PictureRefused
from annotation.model_calls.request_bodies import CallContent, contents_of
from annotation.models import ModelCall
from readerstudy.model_runs.kernels.estimates import AskingSpeed, MadeCall, RunEstimate, estimate
from readerstudy.model_runs.kernels.first_questions import N_FIRST
from readerstudy.models import ModelRun

LEAST_MADE = 2  # with fewer there is no range


def estimate_of(run: ModelRun) -> RunEstimate | None:
    """By the first questions as far as they are answered; None before two of them are."""
    first = ModelCall.objects.filter(batch=run.batch_id, number__lte=N_FIRST).exclude(outcome=CallOutcome.NOT_ASKED)
    calls = list(first.select_related("revision").prefetch_related("attempts"))
    if len(calls) < LEAST_MADE:
        return None
    contents = contents_of(run.batch, calls)
    made = [_made(call, content) for call, content in zip(calls, contents, strict=True)]
    return estimate(made, calls_by_images(run), speed_of(run.batch.endpoint))


def _made(call: ModelCall, content: CallContent) -> MadeCall:
    """Seconds are those of the answer; tokens and cost those of every attempt."""
    seconds = [attempt.seconds for attempt in call.attempts.all() if attempt.seconds is not None]
    return MadeCall(
        n_images=len(call.pictures or ()),
        n_bytes=_size(content),
        n_input=call.n_input,
        n_output=call.n_output,
        seconds=seconds[-1] if seconds else None,
        cost=None if call.cost is None else float(call.cost),
    )


def _size(content: CallContent) -> int | None:
    """Bytes of the request; None where a picture of it is gone."""
    try:
        return len(content.request().body)
    except PictureRefused:
        return None


def calls_by_images(run: ModelRun) -> Mapping[int, int]:
    """How many calls of the run go with how many images, as it was planned."""
    kept = (run.estimate or {})["questions_by_images"]
    times = run.batch.n_orders * run.batch.n_repeats
    return {int(n_images): n_questions * times for n_images, n_questions in kept.items()}


def speed_of(endpoint: str) -> AskingSpeed | None:
    """None for an endpoint that is not in the list any more: nobody knows how fast it could be asked."""
    try:
        named = endpoint_named(endpoint)
    except EndpointRefused:
        return None
    return AskingSpeed(named.connections, named.calls_per_minute, named.tokens_per_minute)


def outlasts_permission(run: ModelRun, found: RunEstimate, at: datetime) -> bool:
    """Whether the run, begun now, may still be going on when its permission ends."""
    if found.hours is None:
        return False
    return at + timedelta(hours=found.hours.high) > run.batch.permission.expires_at
