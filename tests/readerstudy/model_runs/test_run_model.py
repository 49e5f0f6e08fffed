"""manage.py run_model: planned, estimated, started and told as JSON; each bad input with status 2."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.call_enums import EndpointPlace
from annotation.enums import JobState
from annotation.jobs import queueing
from annotation.jobs.running import run as run_job
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.call_batches import pause
from annotation.models import CallBatch, Job, ModelCall, QuestionBank, WorkerBeat
from readerstudy.management.commands import run_model
from readerstudy.models import PredictionRun
from rexvqa_site.celery_settings import QUEUES
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.model_calls.simulated_calls import ENDPOINT, SHORT, asked_server
from tests.annotation.review.cases import NOON, images_are_there
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import MODEL, make_prompt, permit, set_price
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def server() -> Iterator[StandIn]:
    with asked_server(place=EndpointPlace.MACHINE, model=MODEL) as found:
        yield found


@pytest.fixture
def bank(server: StandIn) -> QuestionBank:
    """24 questions, a prompt without images, a permission."""
    made = make_questions(24, pixels=False)
    images_are_there(made)
    make_prompt()
    permit(made)
    return made


def told(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("run_model", *arguments, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def plan(*more: str) -> tuple[str, ...]:
    return ("--model", "MedModel", "--version", "2", "--endpoint", ENDPOINT, "--bank", "bank", *more)


def ask() -> None:
    assert ask_endpoint(ENDPOINT, clock=lambda: NOON, limits=SHORT)


@pytest.mark.usefixtures("bank")
def test_planned_estimated_started_and_published(server: StandIn) -> None:
    set_price(valid_from="2026-01-01")
    first = told(*plan("--max-cost", "5"))
    assert (first["state"], first["calls"], first["cap"]) == ("trying", 24, "5.0000")
    ask()
    found = told("--run", first["run"])
    assert (found["state"], found["outcomes"]["answered"], found["estimate"]["made"]) == ("planned", 20, 20)
    assert found["estimate"]["cost"]["low"] <= found["estimate"]["cost"]["high"]
    assert len(server.ledger) == 20
    assert told("--run", first["run"], "--start")["state"] == "running"
    ask()
    job = Job.objects.get(state=JobState.QUEUED)
    run_job(job.public_id, clock=lambda: NOON)
    last = told("--run", first["run"])
    assert (last["state"], last["outcomes"]["not_asked"], last["asked_twice"]) == ("complete", 0, 0)
    assert last["published"] == [PredictionRun.objects.get().public_id]
    assert last["estimate"]["made"] == 20


@pytest.mark.usefixtures("bank")
def test_it_is_told_in_words_as_well() -> None:
    out = io.StringIO()
    call_command("run_model", *plan(), stdout=out)
    assert "The first 20 questions are being asked" in out.getvalue()
    assert f"manage.py run_model --run {CallBatch.objects.get().public_id}" in out.getvalue()


@pytest.mark.usefixtures("bank", "server")
def test_an_estimate_is_told_in_units() -> None:
    set_price(valid_from="2026-01-01")
    run, out = told(*plan())["run"], io.StringIO()
    ask()
    call_command("run_model", "--run", run, stdout=out)
    [cost] = [line.split() for line in out.getvalue().splitlines() if line.strip().startswith("cost") and "(" in line]
    assert re.fullmatch(r"cost \d+\.\d\d EUR \(\d+\.\d\d EUR - \d+\.\d\d EUR\)", " ".join(cost))
    assert re.search(r"bytes sent +[\d.]+\s(KB|MB) \(", out.getvalue())


@pytest.mark.usefixtures("bank")
def test_a_dry_run_stores_and_sends_nothing(server: StandIn) -> None:
    found = told(*plan("--dry-run", "--images", "all", "--orders", "4", "--repeats", "2"))
    assert (found["run"], found["calls"], found["images"]) == (None, 24 * 8, "all")
    assert not CallBatch.objects.exists()
    assert not server.ledger


@pytest.mark.usefixtures("bank")
def test_settings_of_the_model_reach_the_request(server: StandIn) -> None:
    told(*plan("--temperature", "0.5", "--max-tokens", "64", "--model-seed", "7"))
    assert CallBatch.objects.get().chat_settings == {"temperature": 0.5, "max_tokens": 64, "seed": 7}


@pytest.mark.usefixtures("bank")
def test_a_version_of_a_prompt_can_be_named() -> None:
    make_prompt(number=2)
    assert told(*plan("--dry-run"))["prompt"] == "our reading v2"
    assert told(*plan("--dry-run", "--prompt", "our reading@1"))["prompt"] == "our reading v1"


@pytest.mark.usefixtures("bank")
def test_a_paused_run_goes_on() -> None:
    run = told(*plan("--start", "--accept-unknown-cost"))["run"]
    pause(CallBatch.objects.get(), actor=None, at=NOON)
    assert told("--run", run)["state"] == "paused"
    assert told("--run", run, "--start")["state"] == "running"


def test_a_study_is_asked(server: StandIn) -> None:
    study = make_study()
    make_prompt()
    permit(study.bank)
    found = told("--model", "M", "--endpoint", ENDPOINT, "--study", study.slug, "--dry-run")
    assert (found["study"], found["calls"]) == ("trial", 3)


def refused(*arguments: str, match: str) -> None:
    with pytest.raises(CommandError, match=match) as caught:
        call_command("run_model", *arguments, stdout=io.StringIO())
    assert caught.value.returncode == 2


@pytest.mark.usefixtures("bank")
@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("--prompt", "another"), "There is no prompt “another”. Prompts: our reading"),
        (("--prompt", "our reading@9"), "There is no prompt"),
        (("--max-cost", "much"), "--max-cost: a number"),
        (("--max-cost", "5"), "no cap can be kept"),
        (("--repeats", "0"), "1 to 20 times"),
    ],
)
def test_bad_input_plans_nothing(more: tuple[str, ...], match: str) -> None:
    refused(*plan(*more), match=match)
    assert not CallBatch.objects.exists()
    assert not ModelCall.objects.exists()


@pytest.mark.usefixtures("bank")
def test_what_is_missing_is_named() -> None:
    refused(match="Give --model, --endpoint, --bank or --study")
    refused("--run", "nonsense", match="There is no run 'nonsense'")
    refused("--model", "M", "--endpoint", "other", "--bank", "bank", match="REXVQA_MODEL_ENDPOINTS")
    refused("--model", "M", "--endpoint", ENDPOINT, "--bank", "none", match="There is no bank named 'none'")


def test_a_refused_plan_has_status_2_as_well(server: StandIn) -> None:
    make_questions(3, pixels=False)
    make_prompt()
    refused(*plan(), match="Nobody has permitted")
    assert not CallBatch.objects.exists()


@pytest.mark.usefixtures("bank")
def test_a_start_that_is_refused_says_that_the_run_is_planned(server: StandIn) -> None:
    refused(*plan("--start"), match="The cost is unknown.* is planned, and not started")
    assert CallBatch.objects.get().state == "planned"
    assert not server.ledger


def test_an_endpoint_without_a_model_name_asks_for_one() -> None:
    with asked_server(place=EndpointPlace.MACHINE):
        make_questions(3, pixels=False)
        make_prompt()
        refused(*plan(), match="Say what the endpoint “stand-in” calls the model")


@pytest.mark.usefixtures("bank")
def test_a_start_in_one_go_waits_for_the_first_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a price, the cost is known before anything else is asked."""
    set_price(valid_from="2026-01-01")
    refused(*plan("--start"), match="No worker is there to ask the first questions")
    WorkerBeat.objects.create(name="worker", queues=" ".join(QUEUES), beat_at=timezone.now())
    monkeypatch.setattr(run_model.Command, "wait", lambda _self, _seconds: ask())
    found = told(*plan("--start", "--max-cost", "5"))
    assert (found["state"], found["outcomes"]["not_asked"]) == ("running", 4)
    refused(*plan("--start", "--max-cost", "0.0001"), match="The cap of 0.0001 EUR is reached")


@pytest.mark.usefixtures("bank")
def test_a_start_in_one_go_tells_why_the_first_questions_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    set_price(valid_from="2026-01-01")
    WorkerBeat.objects.create(name="worker", queues=" ".join(QUEUES), beat_at=timezone.now())

    def pause_all(_self: object, _seconds: float) -> None:
        pause(CallBatch.objects.get(), actor=None, at=NOON, because="The key is refused.")

    monkeypatch.setattr(run_model.Command, "wait", pause_all)
    refused(*plan("--start"), match="The key is refused.* is planned, and not started")
