"""The next step of runs in which a model writes or checks questions: at home, and on their own pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.call_enums import BatchState
from annotation.generation.generation_progress import GenerationProgress
from annotation.models import CallBatch, GenerationRun, QuestionBank, Revision, SampledQuestion, ValidatorRun
from annotation.people.open_work import NextStep
from annotation.validators.taking_verdicts import run_rows
from readerstudy.model_runs.next_steps import next_of_check, next_of_generation
from tests.annotation.generation.made import bank_with_reports, begun_run, written_run
from tests.annotation.model_calls.simulated_calls import HERE
from tests.annotation.review.cases import images_are_there, make_round
from tests.annotation.validators.validated import begun, judged_bank
from tests.conftest import NOON
from tests.pages import markup

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

Step = tuple[str, bool]
NOTHING: Step = ("", False)
GENERATION_STEPS: list[tuple[BatchState, dict[str, Any], Step]] = [
    (BatchState.PLANNED, {}, ("Resume", True)),
    (BatchState.RUNNING, {}, ("Progress", False)),
    (BatchState.PAUSED, {}, ("Resume", True)),
    (BatchState.COMPLETE, {}, ("Progress", False)),
    (BatchState.COMPLETE, {"finished_at": NOON}, NOTHING),
    (BatchState.COMPLETE, {"finished_at": NOON, "n_made": 3}, ("Draw a sample to review", False)),
    (BatchState.STOPPED, {}, NOTHING),
]
CHECK_STEPS: list[tuple[BatchState, dict[str, Any], Step]] = [
    (BatchState.PLANNED, {}, ("Resume", True)),
    (BatchState.RUNNING, {}, ("Progress", False)),
    (BatchState.PAUSED, {}, ("Resume", True)),
    (BatchState.COMPLETE, {}, ("Progress", False)),
    (BatchState.COMPLETE, {"taken_at": NOON}, NOTHING),
    (BatchState.STOPPED, {}, NOTHING),
    (BatchState.STOPPED, {"taken_at": NOON}, NOTHING),
]


@pytest.fixture(autouse=True)
def _endpoint(settings: Any) -> None:
    settings.MODEL_ENDPOINTS = (HERE,)


def label_of(step: NextStep | None) -> Step:
    return (step.label, step.is_due) if step else NOTHING


def told_alike(client: Client, step: NextStep, page: str) -> None:
    """Home says it as a line and, being due first, in its panel; the page of the run says the same sentence."""
    images_are_there(QuestionBank.objects.get())
    home = markup(client.get("/"))
    assert step.sentence in home.split('<section class="panel next"')[1].split("</section>")[0]
    assert f"<bdi>{step.about}</bdi>" in home.split("Runs of models")[1]
    assert step.sentence in markup(client.get(page))


@pytest.mark.parametrize(("state", "fields", "expected"), GENERATION_STEPS)
def test_each_state_of_a_run_that_writes_questions(
    coordinator: Client, tmp_path: Path, state: BatchState, fields: dict[str, Any], expected: Step
) -> None:
    run = begun_run(bank_with_reports(tmp_path))
    CallBatch.objects.update(state=state)
    GenerationRun.objects.update(**fields)
    run = GenerationRun.objects.select_related("bank", "bullets_batch").get()
    step = next_of_generation(GenerationProgress(run))
    assert label_of(step) == expected
    page = reverse("generation-run", args=[run.bank.slug, run.public_id])
    if step and step.is_due:
        told_alike(coordinator, step, page)
    assert (f'href="{page}"' in markup(coordinator.get("/"))) == (step is not None and not fields)


@pytest.mark.parametrize(("state", "fields", "expected"), CHECK_STEPS)
def test_each_state_of_a_run_of_a_validator(
    coordinator: Client, state: BatchState, fields: dict[str, Any], expected: Step
) -> None:
    run = begun(judged_bank())
    CallBatch.objects.update(state=state)
    ValidatorRun.objects.update(**fields)
    [row] = run_rows([ValidatorRun.objects.select_related("batch", "bank").get()])
    step = next_of_check(row)
    assert label_of(step) == expected
    page = reverse("bank-validators", args=[run.bank.slug])
    if step and step.is_due:
        told_alike(coordinator, step, page)
    assert (f'href="{page}#runs"' in markup(coordinator.get("/"))) == bool(step)


@pytest.mark.parametrize("steps", [GENERATION_STEPS, CHECK_STEPS])
def test_no_state_of_a_run_is_left_out(steps: list[tuple[BatchState, dict[str, Any], Step]]) -> None:
    assert {state for state, *_rest in steps} == set(BatchState) - {BatchState.TRYING}  # only of runs that answer


def test_written_questions_wait_for_a_sample_until_one_is_drawn(coordinator: Client, tmp_path: Path) -> None:
    run = written_run(bank_with_reports(tmp_path, 3), per_exam=6, server_seed=7)
    sentence = "Finished. Its questions wait for review; no study takes one before a review accepts it."
    page = reverse("generation-run", args=[run.bank.slug, run.public_id])
    for address in ("/", page):
        assert f"{reverse('sample-new')}?bank=reports&amp;written={run.public_id}" in markup(coordinator.get(address))
    assert sentence in markup(coordinator.get(page))
    drawn = make_round(name="Drawn").plan
    SampledQuestion.objects.create(plan=drawn, position=9, revision=Revision.objects.in_bank(run.bank).latest("pk"))
    assert "written=" not in markup(coordinator.get("/"))


def test_a_run_of_an_archived_bank_is_not_asked_for(coordinator: Client) -> None:
    begun(judged_bank())
    QuestionBank.objects.update(archived_at=NOON)
    assert "Runs of models" not in markup(coordinator.get("/"))
