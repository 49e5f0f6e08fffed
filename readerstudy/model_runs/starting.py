"""What a planned run will come to, by its first questions; its start, and its going on after a pause."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.call_enums import BatchState, CallOutcome
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoint_named
from annotation.ingest.model_pictures import PictureRefused
from annotation.model_calls.call_batches import ask_first, lock_batch, start
from annotation.model_calls.campaigns import check_probe
from annotation.model_calls.request_bodies import CallContent, contents_of
from annotation.models import ModelCall, User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.kernels.estimates import N_FIRST, AskingSpeed, MadeCall, RunEstimate, estimate
from readerstudy.model_runs.publishing import target_of_run
from readerstudy.model_runs.run_access import check_may_run
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


def ask_first_questions(run: ModelRun, *, actor: User | None, at: datetime) -> None:
    """Ask the questions by which the others are estimated. Their answers are part of the run."""
    check_may_run(actor, target_of_run(run))
    _check_probe(run)
    ask_first(run.batch, min(N_FIRST, run.batch.n_calls), actor=actor, at=at)


@transaction.atomic
def start_run(run: ModelRun, *, accepts_unknown_cost: bool = False, actor: User | None, at: datetime) -> None:
    """Ask all questions of a planned run; the estimate of this moment is kept with it.

    Refused where nobody knows what it will cost, unless that is accepted, and where the cap is below the estimate.
    """
    check_may_run(actor, target_of_run(run))
    _check_state(run, BatchState.PLANNED)
    _check_probe(run)
    found = estimate_of(run)
    _check_cost(run, found, accepts_unknown_cost=accepts_unknown_cost)
    run.estimate = {**(run.estimate or {}), **(found.as_json() if found else {}), "at": at.isoformat()}
    run.save(update_fields=["estimate"])
    start(run.batch, actor=actor, at=at)


def resume_run(run: ModelRun, *, actor: User | None, at: datetime) -> None:
    """Go on with what has no answer of the model yet."""
    check_may_run(actor, target_of_run(run))
    with transaction.atomic():
        _check_state(run, BatchState.PAUSED)
        start(run.batch, actor=actor, at=at)


def _check_probe(run: ModelRun) -> None:
    batch, n_images = run.batch, max(calls_by_images(run), default=0)
    check_probe(batch.endpoint, batch.model, n_images=n_images, has_schema=bool(batch.prompt.schema))


def _check_state(run: ModelRun, wanted: BatchState) -> None:
    """Locks the batch until the transaction ends."""
    lock_batch(run.batch)
    if run.batch.state != wanted:
        sentence = _("This run is %(state)s by now: reload the page.")
        raise RunningRefused("wrong_state", sentence % {"state": run.batch.get_state_display()})


def _check_cost(run: ModelRun, found: RunEstimate | None, *, accepts_unknown_cost: bool) -> None:
    cost = found.cost if found else None
    if cost is None:
        if accepts_unknown_cost:
            return
        raise RunningRefused("cost_unknown", why_unknown(run, found), status=422, field="accepts_unknown_cost")
    cap = run.batch.cap
    if cap is not None and cap < Decimal(cost.value):
        sentence = _("The cap of %(cap)s is below the estimated cost of %(cost).2f %(currency)s. Raise the cap first.")
        currency = run.batch.price.currency if run.batch.price else ""
        facts = {"cap": cap.normalize(), "cost": cost.value, "currency": currency}
        raise RunningRefused("cap_under_estimate", sentence % facts, field="cap")


def why_unknown(run: ModelRun, found: RunEstimate | None) -> str:
    if run.batch.price is None:
        return _("The cost is unknown: no price is entered for this model. Tick that you start it all the same.")
    if found is None:
        return _("The cost is unknown: ask the first questions, or tick that you start it all the same.")
    return _("The cost is unknown: the endpoint does not count tokens. Tick that you start it all the same.")
