"""Models at work in the demonstration: asked of the stand-in, labelled simulated, made once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.demonstration.building import add_people
from annotation.demonstration.simulated_exams import EXAMS
from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.probing import take_lease
from annotation.endpoints.sending_permissions import permission_in_force
from annotation.endpoints.simulated_endpoint import SIMULATED, WRITER, port_file
from annotation.jobs import queueing
from annotation.model_calls.asking import Clock, ask_endpoint
from annotation.models import (
    CallBatch,
    EndpointProbe,
    Finding,
    GenerationRun,
    Image,
    ModelCall,
    Price,
    PromptVersion,
    QuestionBank,
    User,
)
from readerstudy.demonstration import models_at_work
from readerstudy.demonstration.models_at_work import BANK, add_models_at_work
from readerstudy.models import ModelRun, PredictionRun
from tests.annotation.review.cases import NOON, make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.check]


@pytest.fixture(autouse=True)
def _demonstration(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DEMO, settings.HOME = True, tmp_path
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    add_people(at=NOON)


@pytest.fixture
def bank() -> QuestionBank:
    """Two exams whose images come again as small pictures."""
    bank = make_bank("Demonstration")
    bank.simulated = True
    bank.save()
    make_revisions(bank, {1: {}, 2: {}})
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    return bank


def build(bank: QuestionBank, folder: Path) -> None:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total

    cora = User.objects.get(email="cora@demo.example")
    add_models_at_work(bank, exams=EXAMS[1:3], folder=folder / "files", coordinator=cora, at=NOON, tell=tell)


def test_a_probe_a_run_and_made_questions_are_there(bank: QuestionBank, tmp_path: Path) -> None:
    build(bank, tmp_path)
    own = QuestionBank.objects.get(name=BANK)
    assert own.simulated
    run = ModelRun.objects.get(batch__images=SentImages.ALL)
    assert "imulated" in run.entry.name
    variant = ModelRun.objects.get(batch__images=SentImages.NONE)
    assert (variant.batch.state, variant.entry) == (BatchState.COMPLETE, run.entry)
    assert (run.batch.state, run.batch.n_calls, run.batch.model) == (BatchState.COMPLETE, 10, WRITER)
    calls = ModelCall.objects.filter(batch=run.batch)
    assert {(call.outcome, len(call.pictures or ())) for call in calls} == {(CallOutcome.ANSWERED, 1)}
    assert all(call.cost for call in calls)
    assert (run.estimate or {})["cost"]
    assert PredictionRun.objects.get().bank == own
    generation = GenerationRun.objects.filter(bank=own).order_by("pk")[0]
    verdicts = Finding.objects.filter(bank=own, rule="c3").exclude(call=None)
    assert set(verdicts.values_list("verdict", flat=True)) >= {"pass", "fail"}
    assert generation.finished_at is not None
    assert generation.finished_at <= NOON
    assert generation.n_made > 0
    assert EndpointProbe.objects.get().model == WRITER
    for one in (bank, own):
        permission = permission_in_force(one, SIMULATED, at=NOON, images=True, reports=True)
        assert permission.reason == "demonstration"
        assert permission.given_by == User.objects.get(email="ada@demo.example")
    assert not port_file().exists()
    assert endpoints() == ()

    def stored() -> list[int]:
        kinds = (CallBatch, ModelCall, EndpointProbe, Price, PredictionRun, Image, Finding, PromptVersion)
        return [one.objects.count() for one in kinds]

    before = stored()
    build(bank, tmp_path)
    assert stored() == before


@pytest.mark.parametrize("n_asked", [0, 1, 3, 5, 6])
def test_a_build_that_was_broken_off_is_taken_up(
    bank: QuestionBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_asked: int
) -> None:
    """Wherever it was killed: the lease that it held is no hindrance."""
    asked: list[str] = []

    def killed(name: str, *, clock: Clock) -> bool:
        if len(asked) == n_asked:
            take_lease(SIMULATED, "killed", at=NOON)
            raise KeyboardInterrupt
        asked.append(name)
        return ask_endpoint(name, clock=clock)

    monkeypatch.setattr(models_at_work, "ask_endpoint", killed)
    with pytest.raises(KeyboardInterrupt):
        build(bank, tmp_path)
    monkeypatch.setattr(models_at_work, "ask_endpoint", ask_endpoint)
    build(bank, tmp_path)
    assert set(CallBatch.objects.values_list("state", flat=True)) == {BatchState.COMPLETE}
    assert (ModelRun.objects.count(), PredictionRun.objects.count()) == (2, 1)
    assert set(GenerationRun.objects.values_list("finished_at", flat=True)) == {NOON - timedelta(hours=1)}
    assert GenerationRun.objects.count() == 1
