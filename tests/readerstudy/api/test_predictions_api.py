"""Models and their predictions over the API: entered, edited, withdrawn, sent, compared; and who finds which."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import AuditEvent, Job, QuestionBank, Upload, User
from annotation.models.people import TokenScope
from readerstudy.models import ModelComparison, ModelEntry, PredictionRun, SubmissionCall
from readerstudy.predictions.listing import Target, open_submissions
from tests.annotation.api.asking import V1, Program, problem_of, program_of
from tests.annotation.api.schema import faults_of
from tests.conftest import NOON, make_person
from tests.jobs import work
from tests.readerstudy.api.programs import everybody, statuses
from tests.readerstudy.model_runs.made import name_endpoints, planned
from tests.readerstudy.predictions.made import answers, entry_named, give_keys, import_file, keyed_bank, lines
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def bank() -> QuestionBank:
    return keyed_bank(3)


@pytest.fixture
def script(bank: QuestionBank, cora: User) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


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


# --- models changed, banks opened, models compared -------------------------------------------------
COMPARISON, SUBMISSIONS = "banks/bank/model-comparison/", "banks/bank/submissions/"


@pytest.fixture
def entry(cora: User) -> ModelEntry:
    return entry_named(version="1", link="https://example.org/card", submitter=cora)


# --- models ---------------------------------------------------------------------------------------
def test_an_edit_changes_what_was_sent_and_nothing_else(script: Program, entry: ModelEntry) -> None:
    address = f"models/{entry.public_id}/"
    etag = script.get(address)["ETag"]
    edited = script.post(f"{address}edit/", {"decoding": "greedy", "dated_on": "2026-11-01"}, If_Match=etag).json()
    assert (edited["name"], edited["version"], edited["link"]) == ("Model", "1", "https://example.org/card")
    assert (edited["decoding"], edited["dated_on"]) == ("greedy", "2026-11-01")
    problem_of(script.post(f"{address}edit/", {"decoding": ""}, If_Match=etag), 412, "changed_since")
    assert AuditEvent.objects.filter(act="model.edited").count() == 1


def test_an_edit_that_is_wrong_stores_nothing(script: Program, entry: ModelEntry) -> None:
    entry_named("Other")
    address = f"models/{entry.public_id}/edit/"
    for wrong in ({"name": ""}, {"link": "javascript:1"}, {"dated_on": "soon"}, {"colour": "red"}):
        problem_of(script.post(address, wrong), 422, "invalid")
    problem_of(script.post(address, {"name": "Other", "version": ""}), 409, "listed_already")
    entry.refresh_from_db()
    assert (entry.name, entry.link) == ("Model", "https://example.org/card")


def test_a_replacement_is_made_once(script: Program, entry: ModelEntry) -> None:
    address = f"models/{entry.public_id}/"
    made = [script.post(f"{address}replace/", {"version": "2"}, Idempotency_Key="one") for _twice in range(2)]
    assert [one.status_code for one in made] == [201, 201]
    assert {(one.json()["version"], one.json()["link"]) for one in made} == {("2", "https://example.org/card")}
    old, new = script.get(address).json(), made[0].json()["id"]
    assert (old["state"], old["replaced_by"], made[1]["Location"]) == ("replaced", new, f"/api/v1/models/{new}/")
    problem_of(script.post(f"{address}replace/", {"version": "3"}), 409, "not_listed")


def test_a_model_is_withdrawn_with_its_reason(script: Program, entry: ModelEntry) -> None:
    address = f"models/{entry.public_id}/withdraw/"
    problem_of(script.post(address), 422, "invalid")
    told = script.post(address, {"reason": "trained on these"}).json()
    assert (told["state"], told["withdrawn_because"]) == ("withdrawn", "trained on these")
    problem_of(script.post(address, {"reason": "again"}), 409, "not_listed")


def test_a_submitter_changes_their_own_model_alone(bank: QuestionBank, entry: ModelEntry) -> None:
    person = make_person("Mo", Role.MODEL_SUBMITTER)
    open_submissions(bank, actor=person, at=NOON)
    script = program_of(person, Role.MODEL_SUBMITTER, TokenScope.BANK, bank.slug)
    mine = entry_named("Mine", submitter=person)
    for act, body in {"edit": {}, "replace": {}, "withdraw": {"reason": "x"}}.items():
        problem_of(script.post(f"models/{entry.public_id}/{act}/", body), 404, "not_found")
    assert script.post(f"models/{mine.public_id}/edit/", {"decoding": "greedy"}).json()["decoding"] == "greedy"


def test_who_coordinates_a_study_alone_changes_no_model_of_others() -> None:
    study = make_study()
    give_keys(study.bank, Q1=1)
    entry = entry_named()
    import_file(entry, Target.of_study(study), answers(Q1="B"))
    programs = everybody(study)
    changed = statuses(programs, f"models/{entry.public_id}/edit/", "POST", {})
    read_only = {"site", "administrator", "reviewer", "submitter", "own"}
    found = {"bank": 200, "study": 200}
    assert changed == {name: 403 if name in read_only else found.get(name, 404) for name in programs}


@pytest.mark.parametrize("is_at_work", [True, False])
def test_a_token_of_one_place_changes_no_model_with_runs_elsewhere(
    script: Program, bank: QuestionBank, entry: ModelEntry, settings: Settings, is_at_work: bool
) -> None:
    name_endpoints(settings)
    other = keyed_bank(3, "Other")
    import_file(entry, Target(bank), answers(Q1="B"))
    address = f"models/{entry.public_id}/"
    assert script.post(f"{address}edit/", {"decoding": "greedy"}).status_code == 200
    if is_at_work:
        planned(Target(other), name=entry.name, version=entry.version)
    else:
        import_file(entry, Target(other), answers(Q1="B"))
    for act, body in {"edit": {}, "replace": {"version": "2"}, "withdraw": {"reason": "x"}}.items():
        problem_of(script.post(f"{address}{act}/", body), 403, "forbidden")
    entry.refresh_from_db()
    assert entry.state == "listed"


# --- submitters -----------------------------------------------------------------------------------
def test_a_bank_is_opened_and_closed_to_submitters(script: Program, bank: QuestionBank) -> None:
    assert script.get(SUBMISSIONS).json() == {"bank": "bank", "is_open": False}
    for act, is_open in (("open", True), ("open", True), ("close", False), ("close", False)):
        assert script.post(f"{SUBMISSIONS}{act}/").json()["is_open"] is is_open
        assert SubmissionCall.objects.exists() is is_open
    acts = list(AuditEvent.objects.filter(act__startswith="bank.submissions").values_list("act", flat=True))
    assert sorted(acts) == ["bank.submissions_closed", "bank.submissions_opened"]


def test_only_coordinators_of_the_site_open_banks_by_tokens_that_reach_them() -> None:
    study = make_study()
    programs = everybody(study)
    address = f"banks/{study.bank.slug}/submissions/"
    found = {"site": 200, "bank": 200, "study": 404, "other bank": 404, "other study": 404}
    assert statuses(programs, address) == {name: found.get(name, 403) for name in programs}
    found["site"] = 403
    assert statuses(programs, f"{address}open/", "POST") == {name: found.get(name, 403) for name in programs}


# --- models compared ------------------------------------------------------------------------------
def compared(bank: QuestionBank) -> None:
    import_file(entry_named("Good"), Target(bank), answers(Q1="B", Q2="B", Q3="B"))
    import_file(entry_named("Poor"), Target(bank), answers(Q1="A"))


def test_models_are_compared_and_the_result_is_taken(
    script: Program, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    problem_of(script.post(f"{COMPARISON}start/"), 404, "not_found")  # no model has a run there
    compared(bank)
    problem_of(script.get(COMPARISON), 404, "not_found")
    asked = [script.post(f"{COMPARISON}start/", {}, Idempotency_Key="one") for _twice in range(2)]
    assert {(one.status_code, one["Location"]) for one in asked} == {(202, asked[0]["Location"])}
    assert script.get(asked[0]["Location"]).json()["state"] == "queued"
    work()
    done = script.get(asked[0]["Location"]).json()
    with django_assert_max_num_queries(12):
        told = script.get(COMPARISON).json()
    assert (done["state"], done["result"]["comparison"], told["is_stale"]) == ("succeeded", told["id"], False)
    result = script.get(f"{COMPARISON}result/")
    assert hashlib.sha256(result.content).hexdigest() == told["result_sha256"]
    assert result.content.decode() == ModelComparison.objects.get().result
    assert script.get(f"{COMPARISON}result/", If_None_Match=result["ETag"]).status_code == 304
    assert AuditEvent.objects.filter(act="bank.comparison_taken").count() == 1  # 304 takes nothing
    import_file(entry_named("Late"), Target(bank), answers(Q1="C"))
    assert script.get(COMPARISON).json()["is_stale"]


def test_scores_are_hidden_from_whoever_could_find_out_keys_by_them() -> None:
    study = make_study()
    give_keys(study.bank, Q1=1)
    import_file(entry_named("Good"), Target(study.bank), answers(Q1="B"))
    programs, address = everybody(study), f"banks/{study.bank.slug}/model-comparison/"
    found = {"site": 200, "bank": 200, "administrator": 200}
    found |= dict.fromkeys(("study", "other bank", "other study"), 404)
    starts = found | dict.fromkeys(("site", "administrator"), 403) | {"bank": 202}  # tokens of the site read only
    assert statuses(programs, f"{address}start/", "POST") == {name: starts.get(name, 403) for name in programs}
    work()
    for read in (address, f"{address}result/", f"{address}jobs/{Job.objects.get().public_id}/"):
        assert statuses(programs, read) == {name: found.get(name, 403) for name in programs}


def test_a_job_of_another_bank_is_not_there(script: Program, bank: QuestionBank, cora: User) -> None:
    other = keyed_bank(3, "Other")
    import_file(entry_named("Good"), Target(bank), answers(Q1="B"))
    import_file(entry_named("Poor"), Target(other), answers(Q1="B"))
    there = program_of(cora, Role.COORDINATOR, TokenScope.BANK, other.slug)
    asked = there.post("banks/other/model-comparison/start/")
    problem_of(script.get(f"{COMPARISON}jobs/{asked.json()['id']}/"), 404, "not_found")
