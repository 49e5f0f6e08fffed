"""Models and their predictions over the API: who finds which, and a file from its check to its run."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import QuestionBank, Upload, User
from annotation.models.people import TokenScope
from readerstudy.models import ModelEntry, PredictionRun
from readerstudy.predictions.listing import Target, open_submissions
from tests.annotation.api.asking import V1, Program, problem_of, program_of
from tests.annotation.api.schema import faults_of
from tests.conftest import NOON, make_person
from tests.jobs import work
from tests.readerstudy.api.programs import everybody, statuses
from tests.readerstudy.predictions.made import answers, entry_named, give_keys, import_file, keyed_bank, lines
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def script(cora: User) -> Program:
    keyed_bank(3)
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "bank")


def submitting(name: str = "Mo") -> Program:
    """A submitter, and a bank that is open to submitters."""
    bank = keyed_bank(3)
    person = make_person(name, Role.MODEL_SUBMITTER)
    open_submissions(bank, actor=person, at=NOON)
    return program_of(person, Role.MODEL_SUBMITTER, TokenScope.BANK, "bank")


def send(script: Program, content: bytes, key: str = "", **fields: str) -> Any:
    headers = {"Authorization": f"Bearer {script.token}", **({"Idempotency-Key": key} if key else {})}
    sent = {"file": SimpleUploadedFile("a.jsonl", content), **fields}
    answer = script.client.post(f"{V1}prediction-imports/", sent, headers=headers)
    assert faults_of("POST", f"{V1}prediction-imports/", answer) == []
    return answer


def test_from_a_model_to_its_run(script: Program) -> None:
    model = script.post("models/", {"name": "Model", "version": "2", "dated_on": "2026-11-01"})
    assert (model.status_code, model.json()["dated_on"]) == (201, "2026-11-01")
    content = answers(Q1="B", Q2="I cannot tell", Q9="A")
    sent = send(script, content, "one", model=model.json()["id"], bank="bank")
    assert (sent.status_code, sent.json()["state"], sent.json()["may_be_stored"]) == (202, "queued", False)
    again = send(script, content, "one", model=model.json()["id"], bank="bank")
    assert (again["Location"], Upload.objects.count()) == (sent["Location"], 1)
    problem_of(script.post(f"{sent['Location']}store/"), 409, "not_checked")
    work()
    assert script.get(sent["Location"]).json()["may_be_stored"]
    assert not PredictionRun.objects.exists()
    for _twice in range(2):
        assert script.post(f"{sent['Location']}store/").status_code == 202
    work()
    told = script.get(sent["Location"]).json()
    assert (told["is_stored"], told["result"]["run_id"]) == (True, PredictionRun.objects.get().public_id)
    [run] = script.get("prediction-runs/?bank=bank").json()["results"]
    assert (run["n_read"], run["n_failed"], run["n_unknown"], run["imported_by"]) == (3, 1, 1, "Cora")
    withdrawn = script.post(f"prediction-runs/{run['id']}/withdraw/", {"reason": "another prompt"})
    assert withdrawn.json()["withdrawn_because"] == "another prompt"
    problem_of(script.post(f"prediction-runs/{run['id']}/name/"), 409, "run_withdrawn")


def test_what_a_file_says_wrong_is_told(script: Program) -> None:
    content = lines({"id": "Q1", "pred_answer": "B"}, {"id": "Q1", "pred_answer": "A"})
    sent = send(script, content, model=entry_named(submitter=User.objects.get()).public_id, bank="bank")
    work()
    told = script.get(sent["Location"]).json()
    assert not told["may_be_stored"]
    assert told["refusals"]
    problem_of(script.post(f"{sent['Location']}store/"), 409, "not_checked")


def test_what_is_refused_at_once_keeps_nothing(script: Program, cora: User) -> None:
    mine = entry_named(submitter=cora).public_id
    make_study("Other")
    problem_of(send(script, b"", model="none", bank="bank"), 404, "not_found")
    problem_of(send(script, b"", model=mine, bank="none"), 404, "not_found")
    problem_of(send(script, b"", model=mine, study="other"), 404, "not_found")  # of another bank than the token
    problem_of(send(script, b"", model=mine), 422, "which_target")
    problem_of(send(script, b"", model=mine, bank="bank", study="other"), 422, "which_target")
    problem_of(send(script, b"", model=mine, bank="bank", form="stone"), 422, "invalid")
    problem_of(script.post("models/", {"name": "x", "link": "javascript:1"}), 422, "invalid")
    problem_of(script.post("models/", {"name": "Model"}), 409, "listed_already")
    ModelEntry.objects.update(state="withdrawn")
    problem_of(send(script, b"", model=mine, bank="bank"), 403, "forbidden")
    assert not Upload.objects.exists()


def test_who_finds_which_models_and_runs() -> None:
    """Of a study: its coordinators and those of the site, by tokens that reach it; readers and submitters none."""
    study = make_study()
    give_keys(study.bank, Q1=1)
    entry = entry_named(submitter=None)
    run = import_file(entry, Target.of_study(study), answers(Q1="B")).run
    assert run is not None
    programs = everybody(study)
    inside = {"site", "bank", "study", "own", "administrator"}
    hidden = {"reader": 403, "reviewer": 403}
    lists = {name: hidden.get(name, 200) for name in programs}
    assert statuses(programs, "models/") == lists
    assert statuses(programs, "prediction-runs/") == lists
    found = {name: 200 if name in inside else 404 for name in programs}
    for address in (f"models/{entry.public_id}/", f"prediction-runs/{run.public_id}/"):
        assert statuses(programs, address) == found
    listed = {name: one.get("prediction-runs/").json().get("results") for name, one in programs.items()}
    assert {name for name, rows in listed.items() if rows} == inside
    changed = statuses(programs, f"prediction-runs/{run.public_id}/name/", "POST")
    allowed = {"bank": 200, "study": 200, "own": 403}  # who coordinates the study alone did not enter the model
    read_only = {"site", "administrator", "reviewer", "submitter"}
    assert changed == {name: 403 if name in read_only else allowed.get(name, 404) for name in programs}


def test_who_works_with_no_models_is_told_nothing_of_what_is_wrong_with_a_file() -> None:
    problem_of(send(everybody(make_study())["reader"], b""), 404, "not_found")


def test_a_submitter_sees_their_own() -> None:
    script = submitting()
    bank = Target(QuestionBank.objects.get())
    other = entry_named("Other", submitter=make_person("Oda", Role.MODEL_SUBMITTER))
    run = import_file(other, bank, answers(Q1="B")).run
    assert run is not None
    mine = script.post("models/", {"name": "Mine"}).json()["id"]
    sent = send(script, answers(Q1="B"), model=mine, bank="bank")
    work()
    script.post(f"{sent['Location']}store/")
    work()
    assert [row["id"] for row in script.get("models/").json()["results"]] == [mine]
    [row] = script.get("prediction-runs/").json()["results"]
    assert row["model"] == mine
    assert not {"n_right", "accuracy"} & set(row)
    for address in (f"models/{other.public_id}/", f"prediction-runs/{run.public_id}/"):
        problem_of(script.get(address), 404, "not_found")
    problem_of(send(script, b"", model=other.public_id, bank="bank"), 404, "not_found")
    foreign = program_of(other.submitter, Role.MODEL_SUBMITTER, TokenScope.BANK, "bank")  # type: ignore[arg-type]
    problem_of(foreign.get(sent["Location"]), 404, "not_found")
    problem_of(foreign.post(f"{sent['Location']}store/"), 404, "not_found")


def test_a_submitter_sends_for_no_study_and_no_closed_bank() -> None:
    script = submitting()
    mine = script.post("models/", {"name": "Mine"}).json()["id"]
    make_study()
    keyed_bank(1, name="Closed")
    problem_of(send(script, b"", model=mine, study="trial"), 404, "not_found")
    problem_of(send(script, b"", model=mine, bank="closed"), 404, "not_found")


def test_a_token_of_a_submitter_who_coordinates_a_study_finds_none_of_its_runs() -> None:
    study = make_study()
    give_keys(study.bank, Q1=1)
    import_file(entry_named(), Target.of_study(study), answers(Q1="B"))
    person = make_person("Both", Role.MODEL_SUBMITTER)
    study.coordinators.create(user=person, granted_at=NOON)
    script = program_of(person, Role.MODEL_SUBMITTER)
    assert script.get("prediction-runs/").json()["results"] == script.get("models/").json()["results"] == []
    assert program_of(person, Role.COORDINATOR, TokenScope.STUDY, "trial").get("models/").json()["results"]


def test_few_queries(script: Program, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    bank = Target(QuestionBank.objects.get())
    entries = [entry_named(f"Model {number}", submitter=cora) for number in range(3)]
    for entry in entries:
        import_file(entry, bank, answers(Q1="B"))
    run = PredictionRun.objects.latest("pk")
    sent = send(script, answers(Q1="B"), model=entries[0].public_id, bank="bank")
    addresses = ("models/", f"models/{entries[0].public_id}/", "prediction-runs/", f"prediction-runs/{run.public_id}/")
    for address in (*addresses, sent["Location"]):
        with django_assert_max_num_queries(12):
            assert script.get(address).status_code == 200
