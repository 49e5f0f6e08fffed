"""Models edited, replaced and withdrawn over the API, banks opened to submitters, and models compared on a bank."""

from __future__ import annotations

import hashlib

import pytest
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import AuditEvent, Job, QuestionBank, User
from annotation.models.people import TokenScope
from readerstudy.models import ModelComparison, ModelEntry, SubmissionCall
from readerstudy.predictions.listing import Target, open_submissions
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.conftest import NOON, make_person
from tests.jobs import work
from tests.readerstudy.api.programs import everybody, statuses
from tests.readerstudy.model_runs.made import name_endpoints, planned
from tests.readerstudy.predictions.made import answers, entry_named, give_keys, import_file, keyed_bank
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
COMPARISON, SUBMISSIONS = "banks/bank/model-comparison/", "banks/bank/submissions/"


@pytest.fixture
def bank() -> QuestionBank:
    return keyed_bank(3)


@pytest.fixture
def script(bank: QuestionBank, cora: User) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


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
    old = script.get(address).json()
    assert (old["state"], old["replaced_by"], made[1]["Location"]) == (
        "replaced",
        made[0].json()["id"],
        f"/api/v1/models/{made[0].json()['id']}/",
    )
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
