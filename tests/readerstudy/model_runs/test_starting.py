"""From a plan to predictions against the stand-in server, with the engine that makes the calls."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.call_enums import BatchState, CallOutcome, EndpointPlace, SentImages
from annotation.enums import ImageState, JobState
from annotation.jobs import queueing
from annotation.jobs.running import run as run_job
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.call_batches import BatchRefused, pause, stop
from annotation.model_calls.request_bodies import request_of
from annotation.models import EndpointProbe, Image, Job, QuestionBank, User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.following import (
    ask_first_questions,
    estimate_of,
    outlasts_permission,
    resume_run,
    start_run,
)
from readerstudy.model_runs.kernels.estimates import METHOD, N_FIRST
from readerstudy.models import ModelRun, PredictionRun
from readerstudy.predictions.listing import Target
from tests.annotation.endpoints.stand_in import StandIn, StandInFault
from tests.annotation.model_calls.simulated_calls import ENDPOINT, SHORT, asked_server
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import make_prompt, permit, planned, set_price
from tests.refusals import refuses

pytestmark = pytest.mark.django_db(transaction=True)
N_QUESTIONS = 30


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def bank() -> QuestionBank:
    return make_questions(N_QUESTIONS, pixels=False)


def ask(run: ModelRun) -> None:
    assert ask_endpoint(ENDPOINT, clock=lambda: NOON, limits=SHORT)
    run.batch.refresh_from_db()


def served(*faults: StandInFault) -> AbstractContextManager[StandIn]:
    return asked_server(*faults, place=EndpointPlace.MACHINE)


def try_first(run: ModelRun) -> None:
    ask_first_questions(run, actor=None, at=NOON)
    ask(run)


def work() -> None:
    for job in Job.objects.filter(state=JobState.QUEUED):
        run_job(job.public_id, clock=lambda: NOON)


def n_asked(server: StandIn) -> int:
    return len(server.ledger)


def test_from_plan_to_predictions(bank: QuestionBank) -> None:
    set_price()
    with served() as server:
        run = planned(Target(bank), cap=Decimal(1))
        try_first(run)
        assert (run.batch.state, n_asked(server)) == (BatchState.PLANNED, N_FIRST)
        start_run(run, actor=None, at=NOON)
        ask(run)
        assert (run.batch.state, n_asked(server)) == (BatchState.COMPLETE, N_QUESTIONS)
    work()
    published = PredictionRun.objects.get()
    assert (published.n_matched, published.form) == (N_QUESTIONS, "run")
    by_engine = dict(run.batch.calls.values_list("revision", "option"))
    assert dict(published.predictions.values_list("revision", "option")) == by_engine
    run.refresh_from_db()
    assert run.estimate is not None
    assert (run.estimate["calls"], run.estimate["made"], run.estimate["method"]) == (N_QUESTIONS, N_FIRST, METHOD)


def test_what_the_newest_probe_refuted_sends_nothing(bank: QuestionBank) -> None:
    found = {"code": "text", "state": "no", "sentence": "Status 404.", "numbers": {}}
    with served() as server:
        run = planned(Target(bank))
        probe = {"endpoint": ENDPOINT, "model": run.batch.model}
        EndpointProbe.objects.create(findings=[found], probed_at=NOON, **probe)
        for act in (ask_first_questions, start_run):
            with refuses(BatchRefused, "probe_refutes", match="The model answers no text. Status 404."):
                act(run, actor=None, at=NOON)
        EndpointProbe.objects.create(findings=[], probed_at=NOON + timedelta(hours=1), **probe)
        try_first(run)
        assert n_asked(server) == N_FIRST


def test_the_estimate_is_of_what_was_measured(bank: QuestionBank) -> None:
    set_price()
    with served():
        run = planned(Target(bank))
        assert estimate_of(run) is None
        try_first(run)
        found = estimate_of(run)
        assert found is not None
        assert found.cost is not None
        assert found.bytes is not None
        first = list(run.batch.calls.filter(number__lte=N_FIRST))
        sizes = [len(request_of(call).body) for call in first]
        assert found.bytes.value == pytest.approx(N_QUESTIONS * sum(sizes) / N_FIRST)
        assert found.cost.low <= found.cost.value <= found.cost.high
        start_run(run, actor=None, at=NOON)
        ask(run)
    spent = float(sum(call.cost or 0 for call in run.batch.calls.all()))
    assert found.cost.low <= spent <= found.cost.high


def test_pictures_are_sent_estimated_and_shown(cora: User, client: Client) -> None:
    """Half of the questions are asked with one image; what two images take is not mixed with what one takes."""
    bank = make_questions(N_QUESTIONS)
    halves = Image.objects.filter(exam__bank=bank, position=1, exam__questions__number__gt=15)
    halves.update(state=ImageState.REMOVED)
    prompt = make_prompt("with images", images=SentImages.ALL)
    with served() as server:
        run = planned(Target(bank), prompt=prompt, picture_policy="stored-1")
        assert run.estimate == {"questions_by_images": {"1": 15, "2": 15}}
        try_first(run)
        first = run.batch.calls.filter(number__lte=N_FIRST)
        assert sorted(len(call.pictures or ()) for call in first) == [1] * 10 + [2] * 10
        found = estimate_of(run)
        assert found is not None
        assert found.bytes is not None
        start_run(run, accepts_unknown_cost=True, actor=None, at=NOON)
        ask(run)
        sizes = [len(request_of(call).body) for call in run.batch.calls.select_related("batch__prompt", "revision")]
        assert found.bytes.low <= sum(sizes) <= found.bytes.high
        assert n_asked(server) == N_QUESTIONS
    client.force_login(cora)
    [sha256, *_rest] = run.batch.calls.get(number=1).pictures or [""]
    picture = reverse("model-run-picture", args=[run.batch.public_id, 1, sha256])
    assert picture in client.get(reverse("model-run-call", args=[run.batch.public_id, 1])).content.decode()
    shown = client.get(picture)
    assert (shown["Content-Type"], shown.content[:4]) == ("image/png", b"\x89PNG")
    assert client.get(reverse("model-run-picture", args=[run.batch.public_id, 1, "0" * 64])).status_code == 404


def test_a_cost_that_nobody_knows_needs_a_tick(bank: QuestionBank) -> None:
    with served() as server:
        run = planned(Target(bank))
        try_first(run)
        with refuses(RunningRefused, "cost_unknown", match="no price is entered"):
            start_run(run, actor=None, at=NOON)
        assert n_asked(server) == N_FIRST
        run.batch.refresh_from_db()
        assert run.batch.state == BatchState.PLANNED
        start_run(run, accepts_unknown_cost=True, actor=None, at=NOON)
        ask(run)
    assert run.batch.state == BatchState.COMPLETE


def test_without_first_questions_the_cost_is_unknown_as_well(bank: QuestionBank) -> None:
    set_price()
    with served():
        run = planned(Target(bank))
        with refuses(RunningRefused, "cost_unknown", match="ask the first questions"):
            start_run(run, actor=None, at=NOON)


def test_an_endpoint_that_counts_no_tokens_leaves_the_cost_unknown(bank: QuestionBank) -> None:
    set_price()
    with served(*[StandInFault.NO_USAGE] * N_FIRST):
        run = planned(Target(bank))
        try_first(run)
        with refuses(RunningRefused, "cost_unknown", match="does not count tokens"):
            start_run(run, actor=None, at=NOON)


def test_a_cap_below_the_estimate_starts_nothing(bank: QuestionBank) -> None:
    set_price(per_million_input=1_000_000)
    with served() as server:
        run = planned(Target(bank), cap=Decimal(100_000))
        try_first(run)
        found = estimate_of(run)
        assert found is not None
        assert found.cost is not None
        run.batch.cap = Decimal(found.cost.value) - 1
        run.batch.save(update_fields=["cap"])
        with refuses(RunningRefused, "cap_under_estimate", match="Raise the cap first"):
            start_run(run, actor=None, at=NOON)
        assert n_asked(server) == N_FIRST
    run.refresh_from_db()
    assert "cost" not in (run.estimate or {})


def test_a_run_that_may_outlast_its_permission_is_named(bank: QuestionBank) -> None:
    permit(bank, expires_at=NOON + timedelta(milliseconds=1))
    with served():
        run = planned(Target(bank))
        try_first(run)
        found = estimate_of(run)
    assert found is not None
    assert outlasts_permission(run, found, NOON)
    assert not outlasts_permission(run, found, NOON - timedelta(days=1))


def test_paused_and_resumed_it_asks_only_what_is_left(bank: QuestionBank) -> None:
    with served() as server:
        run = planned(Target(bank))
        try_first(run)
        start_run(run, accepts_unknown_cost=True, actor=None, at=NOON)
        pause(run.batch, actor=None, at=NOON)
        with refuses(RunningRefused, "wrong_state"):
            start_run(run, accepts_unknown_cost=True, actor=None, at=NOON)
        resume_run(run, actor=None, at=NOON)
        ask(run)
        assert (run.batch.state, n_asked(server)) == (BatchState.COMPLETE, N_QUESTIONS)


def test_a_planned_run_is_not_resumed_past_its_estimate(bank: QuestionBank) -> None:
    with served():
        run = planned(Target(bank))
        with refuses(RunningRefused, "wrong_state", match="planned"):
            resume_run(run, actor=None, at=NOON)


def test_a_stopped_run_never_becomes_predictions(bank: QuestionBank) -> None:
    with served():
        run = planned(Target(bank))
        try_first(run)
        stop(run.batch, actor=None, at=NOON)
    work()
    assert not PredictionRun.objects.exists()
    assert run.batch.calls.exclude(outcome=CallOutcome.NOT_ASKED).count() == N_FIRST
