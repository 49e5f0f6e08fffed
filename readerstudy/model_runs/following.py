"""What a planned run will come to, its start, its going on, and how far it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db import transaction
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.call_enums import NO_ANSWER, BatchState, CallOutcome
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoint_named
from annotation.endpoints.kernels.completions import read_completion
from annotation.ingest.serving import PictureRefused
from annotation.model_calls.attempts import check_probe
from annotation.model_calls.call_batches import ask_first, lock_batch, may_end, start
from annotation.model_calls.kernels.pacing import may_become
from annotation.model_calls.next_calls import CallTally, tally
from annotation.model_calls.request_bodies import CallContent, contents_of
from annotation.models import CallAttempt, Job, ModelCall, User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.kernels.estimates import N_FIRST, AskingSpeed, MadeCall, RunEstimate, estimate
from readerstudy.model_runs.planning import check_may_run, shows_results
from readerstudy.model_runs.publishing import KIND, is_plain, target_of_run
from readerstudy.models import ModelRun, PredictionRun

MOST_SENTENCES = 3  # of an endpoint, why it refuses
LEAST_MADE = 2  # with fewer there is no range


def estimate_of(run: ModelRun) -> RunEstimate | None:
    """By the first questions as far as they are answered; None before two of them are."""
    first = ModelCall.objects.filter(batch=run.batch_id, number__lte=N_FIRST).exclude(outcome__in=NO_ANSWER)
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


class OutcomeCount(Struct, frozen=True):
    outcome: CallOutcome
    label: str
    n: int
    percent: float


@dataclass
class RunProgress:
    """Everything of one run, from its batch, a tally in one query, and the runs of predictions that it became."""

    run: ModelRun

    @property
    def state(self) -> BatchState:
        return BatchState(self.run.batch.state)

    @cached_property
    def tally(self) -> CallTally:
        return tally(self.run.batch)

    @property
    def outcomes(self) -> list[OutcomeCount]:
        """Each of its own; not asked last."""
        n_calls = max(1, self.run.batch.n_calls)
        return [
            OutcomeCount(one, _(one.label), self.tally.n(one), 100 * self.tally.n(one) / n_calls) for one in CallOutcome
        ]

    @cached_property
    def refusals(self) -> list[tuple[str, int]]:
        """What the endpoint said where it refused a question for good, with the number of calls; the first few."""
        if not self.tally.n(CallOutcome.REJECTED):
            return []
        rejected = CallAttempt.objects.filter(call__batch=self.run.batch_id, call__outcome=CallOutcome.REJECTED)
        said = {call: read_completion(body.encode()).error for call, body in rejected.values_list("call", "body")}
        return Counter(said.values()).most_common(MOST_SENTENCES)

    @property
    def counts(self) -> dict[str, int]:
        """How many calls came to each outcome, by its word."""
        return {one.value: self.tally.n(one) for one in CallOutcome}

    @property
    def spent(self) -> str | None:
        """In the currency of the price; None without one."""
        return f"{self.tally.cost:.8f}" if self.run.batch.price else None

    @property
    def shown_estimate(self) -> dict[str, Any] | None:
        """Before the start the present estimate, afterwards that of the start, as JSON."""
        if self.estimate is not None:
            return self.estimate.as_json()
        return {name: one for name, one in (self.run.estimate or {}).items() if name != "questions_by_images"} or None

    @cached_property
    def published(self) -> Sequence[PredictionRun]:
        return list(PredictionRun.objects.filter(made_by__model_run=self.run).order_by("made_by__repeat"))

    @cached_property
    def estimate(self) -> RunEstimate | None:
        """Of a run that was not started yet; the estimate at the start is kept with the run."""
        return estimate_of(self.run) if self.state in (BatchState.PLANNED, BatchState.TRYING) else None

    @property
    def time_left(self) -> str:
        """Of a run at work, in words: its share of what was estimated at the start; empty where that is not known."""
        hours = (self.run.estimate or {}).get("hours")
        if self.state != BatchState.RUNNING or not hours:
            return ""
        return hours_words(hours["value"] * (1 - self.tally.n_done / max(1, self.run.batch.n_calls)))

    @property
    def n_first(self) -> int:
        return min(N_FIRST, self.run.batch.n_calls)

    @property
    def n_first_done(self) -> int:
        return min(self.tally.n_done, self.n_first)

    @property
    def target_name(self) -> str:
        return target_of_run(self.run).name

    @property
    def currency(self) -> str:
        return self.run.batch.price.currency if self.run.batch.price else ""

    @property
    def is_at_work(self) -> bool:
        """Whether the page looks again by itself."""
        return self.state in (BatchState.TRYING, BatchState.RUNNING) or self.is_being_published

    @property
    def is_being_published(self) -> bool:
        return self._job is not None and self._job.is_unfinished

    @property
    def may_publish(self) -> bool:
        return self._is_to_be_published and not self.is_being_published

    @cached_property
    def _is_to_be_published(self) -> bool:
        is_free = is_plain(self.run) and not self.is_for_benchmark
        return self.state == BatchState.COMPLETE and is_free and not self.published

    @cached_property
    def shows_results(self) -> bool:
        return shows_results(self.run)

    @property
    def is_for_benchmark(self) -> bool:
        """Of runs on a bank nothing else keeps results from being seen."""
        return self.run.study is None and not self.shows_results

    @cached_property
    def _job(self) -> Job | None:
        """The newest that publishes the run, until it is published."""
        jobs = Job.objects.filter(kind=KIND, params__run=self.run.batch.public_id)
        return jobs.order_by("-pk").first() if self._is_to_be_published else None

    @property
    def failed_job(self) -> Job | None:
        """The job that could not publish the run; it says why, and can be tried again."""
        return None if self.is_being_published else self._job

    @property
    def may_end(self) -> bool:
        return may_end(self.run.batch)

    @property
    def may_stop(self) -> bool:
        return may_become(self.state, BatchState.STOPPED)

    @property
    def sentence(self) -> str:
        """How far the run is, and what can be done."""
        batch, counts = self.run.batch, {"done": self.tally.n_done, "all": self.run.batch.n_calls}
        if self.state == BatchState.PLANNED:
            return batch.paused_because or self._planned()
        if self.state == BatchState.TRYING:
            return _("The first %(n)d questions are being asked; their answers are part of the run.") % {
                "n": self.n_first
            }
        if self.state == BatchState.RUNNING:
            return _("Questions are being asked. You can leave this page and come back.")
        if self.state == BatchState.PAUSED:
            return batch.paused_because or _("Somebody paused this run. Nothing is sent until it is resumed.")
        if self.state == BatchState.STOPPED:
            sentence = _(
                "Stopped for good after %(done)d of %(all)d calls. What was answered stays; nothing of it is published."
            )
            return sentence % counts
        return self._complete()

    def _planned(self) -> str:
        if self.tally.n_done:
            return ngettext(
                "%(n)d question was asked. The estimate says what the run will take; start it when you agree.",
                "%(n)d questions were asked. The estimate says what the run will take; start it when you agree.",
                self.tally.n_done,
            ) % {"n": self.tally.n_done}
        return _("Planned; nothing was sent. Ask the first %(n)d questions to see what the run will take.") % {
            "n": self.n_first
        }

    def _complete(self) -> str:
        if not is_plain(self.run):
            return _(
                "Complete. It asks with %(images)s, its prompt with %(named)s: it is compared with the plain run, and "
                "never represents the model in figures."
            ) % {"images": self.run.batch.get_images_display(), "named": self.run.batch.prompt.get_images_display()}
        if self.is_for_benchmark and not self.published:
            return _("Complete. Its questions are a benchmark: a coordinator hands it in for a team.")
        if self.failed_job is not None:
            return _("Complete, but its answers could not be published: %(why)s") % {"why": self.failed_job.error}
        if self.may_publish:
            return _("Complete. Its answers are not published yet as predictions of the model.")
        if not self.published:
            return _("Complete. Its answers are being published as predictions of the model.")
        return _("Complete, and published as predictions of the model.")


class EstimateRow(Struct, frozen=True):
    """One line of the estimate, in words."""

    label: str
    expected: str
    low: str = ""
    high: str = ""


def estimate_rows(estimate: Mapping[str, Any], n_calls: int, currency: str) -> list[EstimateRow]:
    """What a run comes to, of an estimate as JSON; what nobody knows yet says so."""
    parts: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        (_("Bytes sent"), "bytes", lambda n: str(filesizeformat(n))),
        (_("Tokens read by the model"), "input_tokens", count_words),
        (_("Tokens written by the model"), "output_tokens", count_words),
        (_("Time"), "hours", hours_words),
        (_("Cost"), "cost", lambda cost: f"{cost:,.2f} {currency}"),
    )
    rows = [
        EstimateRow(label, *(words(one[end]) for end in ("value", "low", "high")))
        if (one := estimate.get(name))
        else EstimateRow(label, _("unknown"))
        for label, name, words in parts
    ]
    return [EstimateRow(_("Calls"), count_words(n_calls)), *rows]


def count_words(number: float) -> str:
    return f"{number:,.0f}"


def hours_words(hours: float) -> str:
    if hours < 1 / 60:
        return _("under a minute")
    if hours < 2:
        return _("%(n)d min") % {"n": round(60 * hours)}
    return _("%(n)s h") % {"n": f"{hours:,.1f}"} if hours < 72 else _("%(n)s days") % {"n": f"{hours / 24:,.1f}"}


def run_as_json(run: ModelRun) -> dict[str, Any]:
    """What the command prints."""
    run.batch.refresh_from_db()
    found = RunProgress(run)
    batch, counted = run.batch, found.tally
    return {
        "run": batch.public_id,
        "model": run.entry.name,
        "version": run.entry.version,
        "study" if run.study else "bank": target_of_run(run).slug,
        "endpoint": batch.endpoint,
        "endpoint_model": batch.model,
        "prompt": str(batch.prompt),
        "images": batch.images,
        "orders": batch.n_orders,
        "repeats": batch.n_repeats,
        "state": batch.state,
        "says": found.sentence,
        "calls": batch.n_calls,
        "outcomes": found.counts,
        "asked_twice": counted.n_asked_twice,
        "input_tokens": counted.n_input,
        "output_tokens": counted.n_output,
        "cost": found.spent,
        "currency": found.currency or None,
        "cap": None if batch.cap is None else str(batch.cap),
        "estimate": found.shown_estimate,
        "published": [one.public_id for one in found.published],
    }
