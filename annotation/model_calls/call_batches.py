"""People start, pause, resume and stop the calls of a batch; the worker that asks reads the state before each call."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import NO_ANSWER, WITH_IMAGES_OF_PEOPLE, BatchState, CallOutcome, PromptPurpose
from annotation.contributions import contributed
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.sending_permissions import SendingRefused, permission_in_force
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.model_calls.kernels.pacing import may_become
from annotation.model_calls.next_calls import CallTally
from annotation.models import CallBatch, ModelCall, Price, PromptVersion, User
from annotation.refusals import Refused


class BatchRefused(Refused):
    """Something cannot be done with a batch of calls."""


def ask_first(batch: CallBatch, n_calls: int, *, actor: User | None, at: datetime) -> None:
    """Ask the first calls of a planned batch, for its estimate. They count as part of it."""
    with transaction.atomic():
        lock_batch(batch)
        _check_may_be_asked(batch, at)
        batch.n_first = n_calls
        _move(batch, BatchState.TRYING, actor=actor, at=at, facts={"first": n_calls})


def start(batch: CallBatch, *, actor: User | None, at: datetime) -> None:
    """Ask all calls. A paused batch goes on with those that have no answer of the model yet, refused ones included."""
    with transaction.atomic():
        lock_batch(batch)
        _check_may_be_asked(batch, at)
        batch.calls.filter(outcome=CallOutcome.REJECTED).update(outcome=CallOutcome.NOT_ASKED)
        batch.started_at = batch.started_at or at
        _move(batch, BatchState.RUNNING, actor=actor, at=at)


def pause(batch: CallBatch, *, actor: User | None, at: datetime, because: str = "") -> None:
    """Calls under way are still stored; no other is sent. What asks its first calls is planned again.

    ``because``: a sentence where the program does it.
    """
    with transaction.atomic():
        lock_batch(batch)
        was_tried = batch.state == BatchState.TRYING
        after = BatchState.PLANNED if was_tried else BatchState.PAUSED
        _move(batch, after, actor=actor, at=at, because=because)


def stop(batch: CallBatch, *, actor: User | None, at: datetime) -> None:
    """For good. What was answered stays."""
    with transaction.atomic():
        lock_batch(batch)
        batch.finished_at = at
        _move(batch, BatchState.STOPPED, actor=actor, at=at)


def end(batch: CallBatch, *, actor: User | None, at: datetime) -> None:
    """Complete it although the endpoint refused some calls: their questions stay missing, and count nowhere.

    Raises BatchRefused where a call was not asked, or none was refused.
    """
    with transaction.atomic():
        lock_batch(batch)
        if not may_end(batch):
            sentence = _("Only a run at rest whose every question was asked, and some refused, can be ended.")
            raise BatchRefused("not_ended", sentence)
        n_refused = batch.calls.filter(outcome=CallOutcome.REJECTED).count()
        complete(batch, at=at, actor=actor, facts={"refused": n_refused})


def may_end(batch: CallBatch) -> bool:
    """Whether nothing of a batch at rest is left but what the endpoint refuses."""
    open_calls = batch.calls.filter(outcome__in=NO_ANSWER).values_list("outcome", flat=True).order_by()
    is_at_rest = batch.state in (BatchState.PLANNED, BatchState.PAUSED)
    return is_at_rest and set(open_calls.distinct()) == {CallOutcome.REJECTED}


_ACTS = {  # with the words of the button, and the state afterwards
    "pause": (pause, "Pause", BatchState.PAUSED),
    "resume": (start, "Resume", BatchState.RUNNING),
    "end": (end, "End without the refused questions", BatchState.COMPLETE),
    "stop": (stop, "Stop for good", BatchState.STOPPED),
}


def act_named(batch: CallBatch, act: str, *, actor: User | None, at: datetime) -> None:
    """Pause, resume, end or stop it. Raises BatchRefused, also for another word."""
    if act not in _ACTS:
        raise BatchRefused("no_act", _("A run is paused, resumed, ended or stopped."), status=404)
    done, _label, _after = _ACTS[act]
    done(batch, actor=actor, at=at)


def acts_now(batch: CallBatch) -> list[tuple[str, str]]:
    """What can be done with it, with the words of the button."""
    possible = [(name, label) for name, (_do, label, after) in _ACTS.items() if may_become(batch.state, after)]
    return [(name, label) for name, label in possible if name != "end" or may_end(batch)]


def rest_in_words(batch: CallBatch, counted: CallTally) -> str:
    """Of one that is planned or paused."""
    if batch.state == BatchState.PLANNED:
        return batch.paused_because or _("Planned: nothing is sent yet.")
    facts = {"done": counted.n_done, "all": batch.n_calls}
    return batch.paused_because or _("Paused after %(done)d of %(all)d calls. Nothing is sent.") % facts


def change_cap(batch: CallBatch, cap: Decimal, *, actor: User | None, at: datetime) -> None:
    """What the calls may cost in all, at any time. A lower one holds from the next call on."""
    with transaction.atomic():
        lock_batch(batch)
        check_cap(cap, batch.price)
        before, batch.cap = batch.cap, cap
        batch.save(update_fields=["cap"])
        facts = {"cap": str(cap), "before": "" if before is None else str(before)}
        record("calls.cap_changed", actor=actor, at=at, subject=batch, facts=facts)


def check_cap(cap: Decimal, price: Price | None) -> None:
    """Raises BatchRefused (``cap_without_price``, ``bad_cap``)."""
    if price is None:
        sentence = _("No price is known for this model at this endpoint, so that no cap can be kept. Enter its price.")
        raise BatchRefused("cap_without_price", sentence, status=422, field="cap")
    if cap <= 0:
        raise BatchRefused("bad_cap", _("The cap must be more than 0."), status=422, field="cap")


def return_to_plan(batch: CallBatch, *, at: datetime) -> None:
    """The first calls are asked."""
    _move(batch, BatchState.PLANNED, actor=None, at=at)


def complete(
    batch: CallBatch, *, at: datetime, actor: User | None = None, facts: dict[str, object] | None = None
) -> None:
    """Every call has an answer, or was refused. Whoever made the batch hears of it in the same transaction."""
    batch.finished_at = at
    _move(batch, BatchState.COMPLETE, actor=actor, at=at, facts=facts)
    for follow in contributed().completed:
        follow(batch, at)


def batch_named(public_id: str) -> CallBatch:
    """Raises BatchRefused (``unknown``)."""
    found = CallBatch.objects.filter(public_id=public_id).select_related("prompt", "permission", "price", "bank")
    batch = found.first()
    if batch is None:
        raise BatchRefused("unknown", _("There is no run with the id “%(id)s”.") % {"id": public_id}, status=404)
    return batch


def call_named(name: str) -> ModelCall:
    """By the id of its batch and its number, with a hyphen between. Raises BatchRefused (``unknown``)."""
    run, _hyphen, number = name.rpartition("-")
    calls = ModelCall.objects.select_related("batch__prompt", "revision", "exam")
    is_number = number.isdecimal() and len(number) < 10
    call = calls.filter(batch__public_id=run, number=int(number)).first() if is_number else None
    if call is None:
        raise BatchRefused("unknown", _("There is no call with the id “%(id)s”.") % {"id": name}, status=404)
    return call


@transaction.atomic
def show_call(name: str, *, actor: User | None, at: datetime) -> ModelCall:
    """The same for somebody who is shown what was asked and answered, which the audit log keeps."""
    call = call_named(name)
    record("call.shown", actor=actor, at=at, subject=call.batch, facts={"number": call.number})
    return call


def lock_batch(batch: CallBatch) -> None:
    """Bring the row up to date and lock it until the transaction ends."""
    batch.refresh_from_db(from_queryset=CallBatch.objects.select_for_update(of=("self",)).select_related("price"))


def _check_may_be_asked(batch: CallBatch, at: datetime) -> None:
    endpoint_named(batch.endpoint)
    if batch.bank.archived_at is not None:
        raise BatchRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": batch.bank.name})
    if over := permission_is_over(batch, at):
        raise BatchRefused("permission_over", over)


def sent_parts(prompt: PromptVersion | ShippedPrompt, images: str) -> dict[str, bool]:
    """What of a bank calls with this prompt and these images send, as ``permission_in_force`` takes it."""
    of_reports = prompt.purpose in (PromptPurpose.BULLETS, PromptPurpose.QUESTIONS)
    return {
        "questions": not of_reports,
        "images": images in WITH_IMAGES_OF_PEOPLE,
        "reports": of_reports or "report" in prompt.variables,
    }


def permission_is_over(batch: CallBatch, at: datetime) -> str:
    """The sentence that a person reads where a batch is stopped by it; empty while it holds.

    Others have to hold, too, for what the permission that the batch names leaves out.
    """
    named, parts = batch.permission, sent_parts(batch.prompt, batch.images)
    others = {name: is_sent and not getattr(named, name) for name, is_sent in parts.items()}
    try:
        if any(others.values()):
            permission_in_force(batch.bank, batch.endpoint, at=at, **others)
        if named.holds_at(at):
            return ""
    except SendingRefused:
        pass
    sentence = _(
        "The permission to send “%(bank)s” to the endpoint “%(endpoint)s” was withdrawn or has expired. "
        "Plan the calls again under a new one."
    )
    return sentence % {"bank": batch.bank.name, "endpoint": batch.endpoint}


def _move(
    batch: CallBatch,
    after: BatchState,
    *,
    actor: User | None,
    at: datetime,
    because: str = "",
    facts: dict[str, object] | None = None,
) -> None:
    before = batch.state
    if not may_become(before, after):
        sentence = _("These calls are %(state)s: reload the page.")
        raise BatchRefused("wrong_state", sentence % {"state": batch.get_state_display()})
    batch.state, batch.paused_because = after, because
    batch.save(update_fields=["state", "paused_because", "n_first", "started_at", "finished_at"])
    noted = {"before": before, "endpoint": batch.endpoint, "model": batch.model, **(facts or {})}
    record(
        f"calls.{after.value}", actor=actor, at=at, subject=batch, facts=noted | ({"why": because} if because else {})
    )
