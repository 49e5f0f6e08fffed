"""Runs of models over the API: planned, estimated, started, watched, ended; and who finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome
from annotation.enums import Role
from annotation.jobs import queueing
from annotation.models import CallBatch, Job, QuestionBank, User
from annotation.models.people import TokenScope
from readerstudy.model_runs.publishing import publish, publish_later
from readerstudy.models import ModelRun, ReaderStudy, StudyRole
from readerstudy.predictions.listing import Target
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.conftest import NOON, make_person
from tests.readerstudy.api.programs import everybody, statuses
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import (
    ENDPOINT,
    MODEL,
    answer,
    end,
    make_prompt,
    name_endpoints,
    permit,
    planned,
    set_price,
)
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db
RUNS = "model-runs/"


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    name_endpoints(settings)
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def bank() -> QuestionBank:
    made = make_questions(25, pixels=False)
    permit(made)
    return made


@pytest.fixture
def script(bank: QuestionBank, cora: User) -> Program:
    make_prompt()
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


def plan(script: Program, key: str = "one", **fields: Any) -> Any:
    given = {"bank": "bank", "name": "MedModel", "endpoint": ENDPOINT, "endpoint_model": MODEL, "prompt": "our reading"}
    if "study" in fields:
        given.pop("bank")
    return script.post(RUNS, {**given, **fields}, Idempotency_Key=key)


def act(script: Program, run: ModelRun, name: str, body: object = None) -> Any:
    return script.post(f"{RUNS}{run.batch.public_id}/{name}/", body)


def test_from_a_plan_to_a_run_that_asks_everything(script: Program) -> None:
    set_price()
    made = plan(script, version="2", n_repeats=10, cap="0.10", max_tokens=300, temperature=None)
    assert (made.status_code, made.json()["state"], made.json()["n_calls"]) == (201, "planned", 250)
    assert made.json()["outcomes"] == {"answered": 0, "failed": 0, "refused": 0, "cut": 0, "not_asked": 250}
    again = plan(script, version="2", n_repeats=10, cap="0.10", max_tokens=300, temperature=None)
    assert again["Location"] == made["Location"]
    run = ModelRun.objects.get()
    assert (str(run.entry), str(run.batch.created_by)) == ("MedModel 2", "Cora")
    assert run.batch.chat_settings == {"max_tokens": 300}
    told = script.get(made["Location"]).json()
    assert (told["estimate"], told["is_at_work"], told["cost"], told["cap"]) == (None, False, "0.00000000", "0.1000")
    assert "ask the first questions" in told["cost_unknown"]
    assert act(script, run, "try").json()["state"] == "trying"
    answer(run, n=20)
    end(run, BatchState.PLANNED)
    told = script.get(made["Location"]).json()
    assert (told["estimate"]["calls"], told["estimate"]["made"], told["cost_unknown"]) == (250, 20, "")
    assert told["estimate"]["cost"] == pytest.approx({"value": 0.26, "low": 0.26, "high": 0.26})
    problem_of(act(script, run, "start"), 409, "cap_under_estimate")
    assert act(script, run, "cap", {"cap": 2.5}).json()["cap"] == "2.5000"
    started = act(script, run, "start").json()
    assert (started["state"], started["estimate"]["calls"], started["is_at_work"]) == ("running", 250, True)
    assert started["estimate"]["at"]
    assert act(script, run, "pause").json()["state"] == "paused"
    assert act(script, run, "resume").json()["state"] == "running"
    stopped = act(script, run, "stop").json()
    assert (stopped["state"], stopped["n_done"], stopped["cost"]) == ("stopped", 20, "0.02080000")
    problem_of(act(script, run, "resume"), 409, "wrong_state")


def test_a_start_of_unknown_cost_has_to_be_accepted(script: Program, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    told = problem_of(act(script, run, "start"), 422, "cost_unknown")
    assert told["errors"][0]["field"] == "accepts_unknown_cost"
    started = act(script, run, "start", {"accepts_unknown_cost": True}).json()
    assert (started["state"], started["estimate"]["calls"], started["cost"]) == ("running", None, None)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"endpoint": "other"}, "endpoint"),
        ({"endpoint_model": ""}, "endpoint_model"),
        ({"name": " "}, "name"),
        ({"prompt": "other"}, "prompt"),
        ({"prompt_number": 9}, "prompt"),
        ({"images": "some"}, "images"),
        ({"picture_policy": "tiny"}, "picture_policy"),
        ({"n_orders": 2}, "n_orders"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"cap": 5}, "cap"),
        ({"temperature": 9}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"study": "trial", "bank": "bank"}, "study"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_with_a_plan_stands_at_its_field(script: Program, wrong: dict[str, Any], field: str) -> None:
    answered = plan(script, **wrong)
    assert answered.status_code == 422
    assert [one["field"] for one in answered.json()["errors"]] == [field]
    assert not CallBatch.objects.exists()


def test_nothing_is_planned_that_nobody_permitted_nor_where_the_token_does_not_reach(script: Program) -> None:
    make_questions(3, pixels=False, name="Other")
    make_study()
    problem_of(plan(script, bank="other"), 404, "not_found")
    problem_of(plan(script, study="trial"), 404, "not_found")
    problem_of(plan(script, bank="none"), 404, "not_found")
    assert not ModelRun.objects.exists()


def test_a_newer_version_of_the_prompt_is_taken_unless_one_is_named(script: Program) -> None:
    make_prompt(number=2, sha256="1" * 64)
    assert plan(script).json()["prompt_number"] == 2
    assert plan(script, "two", name="B", prompt_number=1).json()["prompt_number"] == 1


def test_outcomes_are_counted_each_for_itself_in_the_list_too(
    script: Program, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    set_price()
    run = planned(Target(bank))
    answer(run, outcomes={1: CallOutcome.REFUSED, 2: CallOutcome.CUT, 3: CallOutcome.FAILED}, n=10)
    end(run, BatchState.RUNNING)
    for number in range(3):
        planned(Target(bank), name=f"Model {number}")
    counts = {"answered": 7, "failed": 1, "refused": 1, "cut": 1, "not_asked": 15}
    with django_assert_max_num_queries(12):
        told = script.get(f"{RUNS}{run.batch.public_id}/").json()
    with django_assert_max_num_queries(8):
        rows = script.get(RUNS).json()["results"]
    assert len(rows) == 4
    for row in (told, rows[-1]):
        assert (row["outcomes"], row["n_done"], row["cost"], row["currency"]) == (counts, 10, "0.01040000", "EUR")
    assert [row["id"] for row in script.get(f"{RUNS}?state=running&fields=id").json()["results"]] == [told["id"]]
    for wanted, n in {"bank=bank": 4, "study=trial": 0, f"model={rows[0]['model']}": 1}.items():
        assert len(script.get(f"{RUNS}?{wanted}").json()["results"]) == n


def test_a_list_that_shows_no_counts_counts_no_calls(
    script: Program, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(Target(bank))
    monkeypatch.setattr("readerstudy.api.model_run_list.tallies", None)
    assert script.get(f"{RUNS}?fields=id,state").json()["results"][0]["state"] == "planned"


def test_a_complete_run_names_the_predictions_it_became(script: Program, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    answer(run)
    end(run)
    publish_later(run.batch, NOON)
    told = script.get(f"{RUNS}{run.batch.public_id}/").json()
    assert (told["is_at_work"], told["prediction_runs"]) == (True, [])
    [published] = publish(run, actor=None, at=NOON)
    told = script.get(f"{RUNS}{run.batch.public_id}/").json()
    assert (told["is_at_work"], told["prediction_runs"]) == (False, [published.public_id])
    assert script.get(f"prediction-runs/{published.public_id}/").json()["form"] == "run"
    assert Job.objects.count() == 1


def test_nothing_is_done_to_a_run_that_has_changed_since(script: Program, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    address = f"{RUNS}{run.batch.public_id}/"
    etag = script.get(address)["ETag"]
    assert script.get(address, If_None_Match=etag).status_code == 304
    end(run, BatchState.PAUSED)
    problem_of(script.post(f"{address}stop/", If_Match=etag), 412, "changed_since")


# --- who finds them -------------------------------------------------------------------------------
def test_who_finds_a_run_of_a_study(cora: User) -> None:
    study = make_study()
    run = planned(Target.of_study(study))
    programs = everybody(study)
    inside = {"site", "bank", "study", "own"}
    shut_out = {"administrator", "reader", "reviewer", "submitter"}
    assert statuses(programs, RUNS) == {name: 403 if name in shut_out else 200 for name in programs}
    listed = {name: one.get(RUNS).json().get("results") for name, one in programs.items()}
    assert {name for name, rows in listed.items() if rows} == inside
    address = f"{RUNS}{run.batch.public_id}/"
    assert statuses(programs, address) == {name: 200 if name in inside else 404 for name in programs}
    read_only = {"site", "administrator", "reviewer", "submitter"}
    changed = statuses(programs, f"{address}stop/", "POST")
    allowed = {"bank": 200, "study": 409, "own": 409}  # the first has stopped it
    assert changed == {name: 403 if name in read_only else allowed.get(name, 404) for name in programs}


def test_a_token_of_a_submitter_who_coordinates_a_study_finds_none_of_its_runs() -> None:
    study = make_study()
    run = planned(Target.of_study(study))
    person = make_person("Both", Role.MODEL_SUBMITTER)
    StudyRole.objects.create(study=study, user=person, granted_at=NOON)
    script = program_of(person, Role.MODEL_SUBMITTER)
    problem_of(script.get(RUNS), 403, "forbidden")
    problem_of(script.get(f"{RUNS}{run.batch.public_id}/"), 404, "not_found")
    whole = program_of(person, Role.COORDINATOR, TokenScope.STUDY, study.slug)
    assert len(whole.get(RUNS).json()["results"]) == 1


def test_a_token_of_a_study_finds_no_run_of_its_bank_and_plans_none(cora: User) -> None:
    study = make_study()
    run = planned(Target(study.bank))
    script = program_of(cora, Role.COORDINATOR, TokenScope.STUDY, study.slug)
    assert script.get(RUNS).json()["results"] == []
    problem_of(script.get(f"{RUNS}{run.batch.public_id}/"), 404, "not_found")
    problem_of(plan(script, bank=study.bank.slug), 404, "not_found")
    assert plan(script, study=study.slug).status_code == 201


@pytest.fixture
def read() -> ReaderStudy:
    return make_study()


@pytest.mark.parametrize("of", [Target.of_study, lambda study: Target(study.bank)])
def test_to_a_coordinator_who_reads_runs_do_not_exist_whatever_was_answered(
    read: ReaderStudy, cora: User, of: Callable[[ReaderStudy], Target]
) -> None:
    run = planned(of(read))
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, read.bank.slug)
    enrol(read, cora)
    addresses = (RUNS, f"{RUNS}{run.batch.public_id}/")
    before = [script.get(address).content for address in addresses]
    answer(run, lambda call: "PLANTED-WORDS A")
    end(run, BatchState.RUNNING)
    assert [script.get(address).content for address in addresses] == before
    assert script.get(RUNS).json()["results"] == []
    for name in ("try", "start", "pause", "resume", "stop"):
        problem_of(act(script, run, name), 404, "not_found")
    problem_of(act(script, run, "cap", {"cap": 1}), 404, "not_found")
    problem_of(plan(script, bank=read.bank.slug), 404, "not_found")
    run.batch.refresh_from_db()
    assert run.batch.state == BatchState.RUNNING
