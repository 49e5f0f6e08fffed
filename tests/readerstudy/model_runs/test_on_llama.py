"""The road of runs and of generation on a real engine: nonsense that is read, counted and published."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.call_enums import BatchState, CallOutcome, EndpointPlace, SentImages
from annotation.endpoints.client import Limits
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.generation.kernels.answer_forms import read_bullets, read_questions
from annotation.generation.making import continue_run
from annotation.jobs import queueing
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.attempts import answers_of
from annotation.model_calls.request_bodies import request_of
from annotation.model_calls.versions import OUR_READING, SHIPPED
from annotation.models import Bullet, CallAttempt, CallBatch, GenerationRun
from readerstudy.model_runs.following import ask_first_questions, start_run
from readerstudy.model_runs.publishing import publish
from readerstudy.models import ModelRun, Prediction
from readerstudy.predictions.listing import Target
from tests.annotation.endpoints.llama_server import MODEL, llama_server
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.generation.made import bank_with_reports, begun_run
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import ENDPOINT, make_prompt, planned

pytestmark = pytest.mark.django_db(transaction=True)
N_QUESTIONS = 24
CHAT = ChatSettings(temperature=1, seed=1, max_tokens=6000)
SCHEMA = next(one.schema for one in SHIPPED if one.name == OUR_READING)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(tmp_path_factory.mktemp("llama")) as served:
        yield served


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


def ask(settings: Settings, url: str) -> None:
    settings.MODEL_ENDPOINTS = (Endpoint(ENDPOINT, url, EndpointPlace.MACHINE),)
    assert ask_endpoint(ENDPOINT, clock=lambda: NOON, limits=Limits(total_seconds=60))


@pytest.mark.parametrize("images", [SentImages.NONE, SentImages.ALL])
def test_a_run_becomes_predictions(settings: Settings, url: str, images: SentImages) -> None:
    settings.MODEL_ENDPOINTS = (Endpoint(ENDPOINT, url, EndpointPlace.MACHINE),)
    bank = make_questions(N_QUESTIONS, pixels=images == SentImages.ALL)
    prompt = make_prompt(schema=SCHEMA, images=images)
    run = planned(Target(bank), model=MODEL, prompt=prompt, chat=CHAT)
    ask_first_questions(run, actor=None, at=NOON)
    ask(settings, url)
    run = ModelRun.objects.get(pk=run.pk)
    start_run(run, accepts_unknown_cost=True, actor=None, at=NOON)
    ask(settings, url)
    run = ModelRun.objects.get(pk=run.pk)
    assert run.batch.state == BatchState.COMPLETE
    calls = list(run.batch.calls.all())
    assert [call.outcome for call in calls] == [CallOutcome.ANSWERED] * N_QUESTIONS
    assert {len(call.pictures or ()) for call in calls} == {2 if images == SentImages.ALL else 0}
    assert [request_of(call).sha256 for call in calls] == [call.request_sha256 for call in calls]
    assert set(CallAttempt.objects.values_list("model", "status", "finish_reason")) == {(MODEL, 200, "stop")}
    (published,) = publish(run, actor=None, at=NOON)
    assert {one.option for one in Prediction.objects.filter(run=published)} <= {*"ABCD"}
    assert Prediction.objects.filter(run=published).count() == N_QUESTIONS


def test_reports_become_findings_and_questions_that_can_be_read(settings: Settings, url: str, tmp_path: Path) -> None:
    """Nonsense stands in no report, so that only luck makes it a finding that can be used, or a question.

    The findings for the questions are those of the stand-in.
    """
    settings.MODEL_ENDPOINTS = (Endpoint(ENDPOINT, url, EndpointPlace.MACHINE),)
    bank = bank_with_reports(tmp_path, n_exams=2)
    with StandIn(seed=1) as stand_in:
        for server in (url, stand_in.url):
            run = begun_run(bank, n_exams=2, chat=CHAT)
            ask(settings, server)
            continue_run(GenerationRun.objects.get(pk=run.pk), clock=lambda: NOON)
    nonsense, grounded = GenerationRun.objects.order_by("pk")
    assert [read_bullets(text or "") is not None for _call, text in answers_of(nonsense.bullets_batch)] == [True, True]
    is_usable = Bullet.objects.filter(report__run=nonsense, fault="").exists()
    assert (nonsense.questions_batch is not None, nonsense.finished_at is None) == (is_usable, is_usable)
    assert nonsense.n_made == 0

    assert grounded.questions_batch is not None
    ask(settings, url)
    continue_run(GenerationRun.objects.get(pk=grounded.pk), clock=lambda: NOON)
    grounded = GenerationRun.objects.get(pk=grounded.pk)
    assert grounded.questions_batch is not None
    batch = CallBatch.objects.get(pk=grounded.questions_batch.pk)
    assert (batch.state, grounded.finished_at) == (BatchState.COMPLETE, NOON)
    written = [read_questions(text or "") for _call, text in answers_of(batch)]
    assert len(written) == 2
    refused = [one for one in grounded.not_made if one["step"] == "questions" and one["number"]]
    n_taken = sum(min(grounded.per_exam, len(questions)) for questions in written)
    assert grounded.n_made + len(refused) == n_taken > 0
