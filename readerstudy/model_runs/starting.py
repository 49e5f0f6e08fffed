"""A planned run asks its first questions, is started, and goes on after a pause. What may not be sent is never sent."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.call_enums import BatchState
from annotation.model_calls.call_batches import ask_first, lock_batch, start
from annotation.model_calls.campaigns import check_probe
from annotation.models import User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.estimating import calls_by_images, estimate_of
from readerstudy.model_runs.kernels.estimates import RunEstimate
from readerstudy.model_runs.kernels.first_questions import N_FIRST
from readerstudy.model_runs.publishing import target_of_run
from readerstudy.model_runs.run_access import check_may_run
from readerstudy.models import ModelRun


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
