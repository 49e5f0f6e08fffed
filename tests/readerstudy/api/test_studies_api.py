"""Studies over the API: listed, read, made of plans, frozen, opened, closed; by the rules of the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import AuditEvent, Job, User
from annotation.models.people import TokenScope
from readerstudy.design.creating import plan_of
from readerstudy.design.kernels.plan import plan_document
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.conftest import make_person
from tests.readerstudy.api.programs import coordinating, everybody, read_as, statuses
from tests.readerstudy.design.drafts import TEXTS, make_draft, study_coordinator
from tests.readerstudy.design.made import REASON, make_questions
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> ReaderStudy:
    return make_study()


@pytest.fixture
def script(cora: User, study: ReaderStudy) -> Program:
    return coordinating(cora, study)


def plan(**values: Any) -> dict[str, Any]:
    cases = [{"question": number, "accepted_because": REASON} for number in (1, 2, 3)]
    return {"name": "Sent", "bank": "bank", "cases": cases, **TEXTS, **values}


# --- who reads what -------------------------------------------------------------------------------
def test_who_finds_a_study(study: ReaderStudy) -> None:
    programs = everybody(study)
    assert statuses(programs, "studies/trial/") == read_as(programs, overseer=200)
    for address in ("plan/", "protocol/"):
        ReaderStudy.objects.filter(pk=study.pk).update(protocol="{}")
        assert statuses(programs, f"studies/trial/{address}") == read_as(programs, overseer=403)
    strange = programs["other study"].get("studies/trial/").content
    assert strange == programs["other study"].get("studies/never-there/").content


def test_who_lists_which_studies(study: ReaderStudy) -> None:
    listed = {name: one.get("studies/") for name, one in everybody(study).items()}
    refused = {name for name, answer in listed.items() if answer.status_code == 403}
    assert refused == {"reader", "reviewer", "submitter"}
    names = {name: {row["id"] for row in a.json()["results"]} for name, a in listed.items() if name not in refused}
    here, there = {"trial"}, {"elsewhere"}
    assert names == {
        "site": here | there,
        "administrator": here | there,
        "bank": here,
        "study": here,
        "own": here,
        "other bank": there,
        "other study": there,
        "own other": there,
    }


def test_a_token_of_another_role_of_a_coordinator_of_a_study_finds_none(study: ReaderStudy) -> None:
    person = make_person("Both", Role.REVIEWER)
    study.coordinators.create(user=person, granted_at=study.created_at)
    script = program_of(person, Role.REVIEWER)
    problem_of(script.get("studies/"), 403, "forbidden")
    problem_of(script.get("studies/trial/"), 404, "not_found")


def test_a_coordinator_who_reads_a_study_does_not_find_it(study: ReaderStudy, script: Program, cora: User) -> None:
    enrol(study, cora)
    problem_of(script.get("studies/trial/"), 404, "not_found")
    assert script.get("studies/").json()["results"] == []


# --- reading --------------------------------------------------------------------------------------
def test_one_study(script: Program, study: ReaderStudy) -> None:
    told = script.get("studies/trial/")
    assert (told.json()["state"], told.json()["n_cases"], told.json()["bank"]) == ("open", 3, study.bank.slug)
    assert "keys_salt" not in told.content.decode()
    assert script.get("studies/trial/", if_none_match=told["ETag"]).status_code == 304


def test_filters_and_orders_are_those_of_the_page(cora: User, study: ReaderStudy) -> None:
    make_study("Another", bank=study.bank, n_cases=0, state=StudyState.CLOSED)
    script = coordinating(cora, study)

    def found(query: str) -> list[str]:
        return [row["id"] for row in script.get(f"studies/?{query}").json()["results"]]

    assert found("sort=study") == ["another", "trial"]
    assert found("sort=-study&limit=1") == ["trial"]
    assert found("state=closed") == ["another"]
    assert found("name=tri") == ["trial"]
    assert found("archived=true") == []
    problem_of(script.get("studies/?state=lost"), 422, "invalid")


def test_few_queries(
    script: Program, study: ReaderStudy, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        make_study(f"More{number}", bank=study.bank, n_cases=0)
    for address in ("studies/", "studies/trial/", "studies/trial/plan/"):
        with django_assert_max_num_queries(12):
            assert script.get(address).status_code == 200


# --- a plan in, a protocol out --------------------------------------------------------------------
@pytest.fixture
def writer(cora: User) -> Program:
    make_questions(6)
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "bank")


def test_from_a_plan_to_a_closed_study(writer: Program, client: Client, cora: User) -> None:
    made = writer.post("studies/", plan(), idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/studies/sent/")
    assert made.json()["n_cases"] == 3
    again = writer.post("studies/", plan(), idempotency_key="one")
    assert (again.json(), again["Idempotent-Replayed"]) == (made.json(), "true")
    problem_of(writer.get("studies/sent/protocol/"), 404, "not_found")
    problem_of(writer.post("studies/sent/open/"), 409, "wrong_state")
    assert writer.post("studies/sent/freeze/").json()["state"] == "frozen"
    problem_of(writer.post("studies/sent/freeze/", {}), 409, "frozen")
    protocol = writer.get("studies/sent/protocol/")
    client.force_login(cora)
    assert protocol.content == client.get("/studies/sent/protocol.json").content
    assert writer.get("studies/sent/protocol/", if_none_match=protocol["ETag"]).status_code == 304
    assert writer.post("studies/sent/open/").json()["state"] == "open"
    study = ReaderStudy.objects.get()
    enrol(study, make_person("Rea"))
    refused = problem_of(writer.post("studies/sent/close/"), 409, "not_complete")
    assert refused["facts"] == {"n_open": 1}
    assert writer.post("studies/sent/close/", {"confirmed_open": 1}).json()["state"] == "closed"
    assert not Job.objects.exists()  # nothing was read, nothing is analysed
    acts = list(AuditEvent.objects.filter(act__startswith="study.").order_by("pk").values_list("act", flat=True))
    assert acts == ["study.created", "study.frozen", "study.protocol_taken", "study.opened", "study.closed"]


def test_a_plan_that_is_read_makes_the_same_study(writer: Program) -> None:
    writer.post("studies/", plan())
    told = writer.get("studies/sent/plan/").json()
    assert told == plan_document(plan_of(ReaderStudy.objects.get()))
    assert writer.post("studies/", {**told, "name": "Again"}).status_code == 201
    first, second = ReaderStudy.objects.order_by("pk")
    ignored = {"name": ""}
    assert plan_document(plan_of(first)) | ignored == plan_document(plan_of(second)) | ignored


BAD: list[tuple[Any, int, str]] = [
    ([], 422, "invalid"),
    ({}, 422, "bad_value"),
    (plan(colour="red"), 422, "bad_value"),
    (plan(seed="x"), 422, "bad_value"),
    (plan(cases=[{"question": 99}]), 409, "unknown_questions"),
    (plan(rules={"limit": 1}), 422, "bad_value"),
    (plan(name=""), 409, "no_name"),
    (plan(bank="other"), 404, "not_found"),
]


@pytest.mark.parametrize(("body", "status", "code"), BAD, ids=range(len(BAD)))
def test_a_plan_that_makes_no_sense_makes_nothing(writer: Program, body: Any, status: int, code: str) -> None:
    make_questions(1, name="Other")
    before = AuditEvent.objects.count()
    problem_of(writer.post("studies/", body), status, code)
    assert not ReaderStudy.objects.exists()
    assert AuditEvent.objects.count() == before


def test_a_token_of_a_study_makes_no_other(cora: User) -> None:
    study = make_draft(cora)
    script = program_of(study_coordinator(study), Role.COORDINATOR, TokenScope.STUDY, "trial")
    problem_of(script.post("studies/", plan()), 403, "forbidden")
    problem_of(script.post("studies/trial/copy/"), 404, "not_found")
    assert ReaderStudy.objects.count() == 1


def test_copies_archived_and_brought_back(writer: Program) -> None:
    writer.post("studies/", plan())
    copy = writer.post("studies/sent/copy/", {"name": "Copied"}, idempotency_key="1")
    assert (copy.status_code, copy["Location"], copy.json()["state"]) == (201, "/api/v1/studies/copied/", "draft")
    assert writer.post("studies/sent/copy/", {"name": "Copied"}, idempotency_key="1").json() == copy.json()
    problem_of(writer.post("studies/sent/copy/", {"name": "Copied"}), 409, "name_taken")
    etag = writer.get("studies/sent/")["ETag"]
    assert writer.post("studies/sent/archive/", if_match=etag).json()["archived_at"]
    problem_of(writer.post("studies/sent/bring-back/", if_match=etag), 412, "changed_since")
    assert writer.post("studies/sent/bring-back/").json()["archived_at"] is None
