"""Models that are asked, over the API: a plan first, then a confirmed number of calls; runs read, paused, stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from pytest_django import DjangoAssertNumQueries

from annotation.call_enums import BatchState, EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import Role
from annotation.models import (
    CallBatch,
    GenerationRun,
    Job,
    Price,
    PromptVersion,
    QuestionBank,
    SendingPermission,
    User,
    ValidatorRun,
)
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of, send_json
from tests.annotation.endpoints.simulated_models import EMBEDDING_MODEL, GOOD, JUDGES, OBEYS_SCHEMA
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, make_permission
from tests.annotation.prompts.flagged import two_versions
from tests.annotation.review.cases import make_bank, make_revisions
from tests.annotation.validators.validated import begun, judged, judged_bank
from tests.conftest import NOON

RUNS, CHECKS = "banks/reports/generation-runs/", "banks/judged/validator-runs/"


@pytest.fixture
def reports(tmp_path: Path, db: None) -> QuestionBank:
    return bank_with_reports(tmp_path, 4)


@pytest.fixture
def writer(cora: User, reports: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "reports")


@pytest.fixture
def judging(cora: User, db: None) -> Program:
    judged_bank(4)
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "judged")


# --- questions from reports -------------------------------------------------------------------------
def test_a_run_is_planned_confirmed_and_begun(writer: Program) -> None:
    asked = {"endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "exams": 3, "per_exam": 2}
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        plan = writer.post(f"{RUNS}plan/", asked).json()
        assert (plan["calls"], plan["reports"], plan["questions_at_most"]) == (6, 3, 6)
        told = problem_of(writer.post(RUNS, asked), 409, "not_confirmed")
        assert told["facts"] == {"n": 6}
        assert not CallBatch.objects.exists()
        sent = {**asked, "confirmed_calls": 6}
        made = writer.post(RUNS, sent, idempotency_key="one")
        assert (made.status_code, made.json()["state"]) == (201, "running")
        assert writer.post(RUNS, sent, idempotency_key="one").json() == made.json()
    assert GenerationRun.objects.count() == 1
    one = writer.get(made["Location"]).json()
    assert (one["n_reports"], one["acts"], one["calls"][0]["n_calls"]) == (3, ["pause", "stop"], 3)
    assert one["calls"][0]["cost"] == "0.00000000"
    problem_of(writer.post(f"{made['Location']}pause/", if_match='"old"'), 412, "changed_since")
    now = writer.get(made["Location"])["ETag"]
    assert writer.post(f"{made['Location']}pause/", if_match=now).json()["state"] == "paused"
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        assert writer.post(f"{made['Location']}resume/").json()["state"] == "running"
    assert writer.post(f"{made['Location']}stop/").json()["acts"] == []
    problem_of(writer.post(f"{made['Location']}pause/"), 409, "wrong_state")
    problem_of(writer.post(f"{made['Location']}burn/"), 404, "not_found")


def test_what_is_wrong_with_a_run_is_refused_before_anything_is_sent(writer: Program) -> None:
    asked = {"endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "exams": 3}
    problem_of(writer.post(f"{RUNS}plan/", asked), 404, "not_found")  # no such endpoint here
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        for wrong in ({"exams": 0}, {"bullets_prompt": "none"}, {"cap": "x"}, {"temperature": 3}, {"colour": 1}):
            problem_of(writer.post(f"{RUNS}plan/", {**asked, **wrong}), 422, "invalid")
        problem_of(writer.post(f"{RUNS}plan/", {**asked, "cap": "5"}), 422, "cap_without_price")
        SendingPermission.objects.all().delete()
        assert writer.post(f"{RUNS}plan/", asked).status_code == 409
    assert not CallBatch.objects.exists()


def test_reports_are_sent_held_back_and_masked(writer: Program) -> None:
    asked = {"endpoint": ENDPOINT, "model": OBEYS_SCHEMA}
    sent = [
        {"exam": "study-1", "report": "A nodule."},
        {"study_id": "study-2", "Findings": "Seen by Dr. Miller. Clear."},
    ]
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        answer = writer.post(f"{RUNS}plan/", {**asked, "reports": sent})
        plan = answer.json()
        assert (plan["reports"], plan["calls"], plan["masked"]) == (1, 2, [])
        assert plan["refused"] == [{"exam": "row 2", "rules": ["identifier_name"]}]
        assert b"Miller" not in answer.content
        begun = writer.post(RUNS, {**asked, "reports": sent, "mask": True, "confirmed_calls": 4})
        told = writer.get(begun["Location"]).json()
        assert (told["reports_of"], told["n_reports"], told["refused"]) == ("pasted", 2, [])
        assert told["masked"] == [{"exam": "row 2", "rules": ["identifier_name"]}]
        for chosen, n_calls in (({"chosen": ["study-1"]}, 2), ({"every_exam": True}, 8)):
            assert writer.post(f"{RUNS}plan/", {**asked, **chosen}).json()["calls"] == n_calls
        for wrong, code in (
            ({"exams": 1, "chosen": ["study-1"]}, "no_source"),
            ({"chosen": ["nobody"]}, "no_exam"),
            ({"reports": []}, "invalid"),
            ({"reports": ["A nodule."]}, "invalid"),
            ({"reports": [{"exam": {"a": 1}, "report": "A."}]}, "bad_reports"),
        ):
            problem_of(writer.post(f"{RUNS}plan/", {**asked, **wrong}), 422, code)
    assert GenerationRun.objects.count() == 1


def test_runs_are_listed_and_hold_no_word_of_a_report(
    writer: Program, reports: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = written_run(reports, per_exam=6, server_seed=7)
    writer.get(RUNS)
    with django_assert_max_num_queries(12):
        [row] = writer.get(RUNS).json()["results"]
    assert (row["id"], row["n_made"], row["state"]) == (run.public_id, run.n_made, "complete")
    answer = writer.get(f"{RUNS}{run.public_id}/")
    told = answer.json()
    assert told["n_not_made"] == sum(1 for one in run.not_made if one["number"] > 0 and one["step"] != "bullets")
    assert [one["purpose"] for one in told["calls"]] == ["bullets", "questions"]
    assert b"nodule" not in answer.content


# --- validators -------------------------------------------------------------------------------------
def test_validators_are_planned_confirmed_and_asked(judging: Program) -> None:
    asked = {"check": "all", "endpoint": ENDPOINT, "model": JUDGES}
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        plan = judging.post(f"{CHECKS}plan/", {**asked, "check": "c1"}).json()
        assert (plan["calls"], plan["plans"][0]["questions"]) == (4, 4)
        problem_of(judging.post(f"{CHECKS}begin/", {**asked, "check": "c1"}), 409, "not_confirmed")
        sent = {**asked, "check": "c1", "confirmed_calls": 4}
        made = judging.post(f"{CHECKS}begin/", sent, idempotency_key="one")
        assert made.status_code == 201
        [run] = made.json()["runs"]
        assert judging.post(f"{CHECKS}begin/", sent, idempotency_key="one").json() == made.json()
        problem_of(judging.post(f"{CHECKS}begin/", {**sent, "check": "c7"}), 422, "invalid")
    assert ValidatorRun.objects.count() == 1
    one = f"{CHECKS}{run['id']}/"
    assert judging.get(one).json() == run
    assert judging.post(f"{one}pause/").json()["state"] == "paused"
    assert judging.post(f"{one}stop/").json()["state"] == "stopped"
    problem_of(judging.post(f"{one}burn/"), 404, "not_found")


def test_nobody_waits_while_reports_are_searched(judging: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has one writer: a bank of the paper's size is searched for half a minute."""
    outside, found = len(connection.savepoint_ids), list[int]()

    def searched(_text: str) -> list[str]:
        found.append(len(connection.savepoint_ids))
        return []

    monkeypatch.setattr("annotation.validators.validator_plans.identifiers_in", searched)
    asked = {"check": "c3", "endpoint": ENDPOINT, "model": JUDGES, "confirmed_calls": 4}
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        for key in ("one", "one"):
            assert judging.post(f"{CHECKS}begin/", asked, idempotency_key=key).status_code == 201
    assert found == [outside] * 4


def test_validity_is_counted_and_what_fails_is_kept_out(
    judging: Program, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bank = QuestionBank.objects.get(slug="judged")
    judged(bank, "fail", "pass", "undecided", "fail", validator="c3")
    told = judging.get("banks/judged/validity/").json()
    assert told["n_questions"] == 4
    [part] = [one for one in told["parts"] if one["code"] == "c3"]
    assert (part["n_pass"], part["n_fail"], part["n_undecided"], part["keeps_out"]) == (1, 2, 1, False)
    [never] = [one for one in told["parts"] if one["code"] == "c1"]
    counts = [never[f"n_{name}"] for name in ("pass", "fail", "undecided", "not_examined")]
    assert counts == [None, None, None, 4], "a validator that was not asked has found nothing, and not 0"
    kept = judging.post("banks/judged/validity/keeping-out/", {"parts": ["c3"]}).json()
    assert (kept["kept_out_by"], kept["n_kept_out"]) == (["c3"], 2)
    problem_of(judging.post("banks/judged/validity/keeping-out/", {"parts": ["c9"]}), 422, "invalid")
    for code in ("c1", "c2"):
        judged(bank, "pass", validator=code)
    judging.get(CHECKS)
    with django_assert_max_num_queries(10):
        rows = judging.get(CHECKS).json()["results"]
    assert [(row["check"], row["state"], row["calls"]["n_done"]) for row in rows] == [
        (code, "complete", 4) for code in ("c2", "c1", "c3")
    ]
    assert [row["check"] for row in judging.get(f"{CHECKS}?check=c3").json()["results"]] == ["c3"]


def test_whoever_reads_questions_of_the_bank_asks_no_validator(
    judging: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(QuestionBank.objects.get(slug="judged"))
    monkeypatch.setattr("annotation.validators.validator_plans.reads_in_bank", lambda person, bank: "Trial")
    for answer in (
        judging.get("banks/judged/validity/"),
        judging.get(CHECKS),
        judging.get(f"{CHECKS}{run.public_id}/"),
        judging.post(f"{CHECKS}{run.public_id}/stop/"),
        judging.post("banks/judged/validity/keeping-out/", {"parts": []}),
        judging.get("banks/judged/near-duplicates/"),
        judging.post("banks/judged/near-duplicates/compare/", {}),
    ):
        problem_of(answer, 403, "reads_them")
    assert CallBatch.objects.get().state == BatchState.RUNNING


# --- prompts ----------------------------------------------------------------------------------------
def test_prompts_are_read_and_written_anew(
    writer: Program, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = two_versions()
    writer.get("prompts/")
    with django_assert_max_num_queries(12):
        rows = writer.get(f"prompts/?name={first.name}".replace(" ", "%20")).json()["results"]
    assert [row["number"] for row in rows] == [second.number, first.number]
    whole = writer.get(f"prompts/{first.public_id}/").json()
    assert (whole["text"], whole["made_from"]) == (first.text, None)
    address = f"prompts/{second.public_id}/next/"
    problem_of(writer.post(address, {"reason": "Nothing changes."}), 422, "unchanged")
    sent = {"text": f"{second.text}\nBe brief.", "reason": "Answers were long."}
    made = writer.post(address, sent, idempotency_key="one")
    assert (made.status_code, made.json()["number"], made.json()["made_from"]) == (201, 3, second.public_id)
    assert writer.get(made["Location"]).json()["text"].endswith("Be brief.")
    assert writer.post(address, sent, idempotency_key="one").json() == made.json()
    for wrong in ({"images": "swapped"}, {"text": "{{patient}}"}, {"reason": ""}, {"schema": "{"}):
        assert writer.post(address, {**sent, **wrong}).status_code == 422
    assert PromptVersion.objects.filter(name=first.name).count() == 3


# --- over the API endpoints are read without a key, probed and priced; a bank is compared and embedded ---
LOCAL = Endpoint(ENDPOINT, "http://127.0.0.1:9/v1", EndpointPlace.MACHINE, GOOD, 60, 100_000, 8)
HOSTED = Endpoint("hosted", "https://models.example.org/v1")
PRICE = {"model": GOOD, "currency": "EUR", "per_million_input": "2.5", "per_million_output": "10"}
PRICE |= {"valid_from": "2026-11-20"}


@pytest.fixture
def endpoints_are_named(db: None) -> Any:
    with override_settings(MODEL_ENDPOINTS=(LOCAL, HOSTED)):
        yield


@pytest.fixture
def script(cora: User, endpoints_are_named: None) -> Program:
    bank = make_bank("Chest")
    make_revisions(bank, {1: {}, 2: {}})
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")


def test_endpoints_are_read_with_neither_key_nor_address(script: Program) -> None:
    answer = script.get("endpoints/")
    assert [one["id"] for one in answer.json()["endpoints"]] == [ENDPOINT, "hosted"]
    assert b"127.0.0.1" not in answer.content
    one = script.get(f"endpoints/{ENDPOINT}/").json()
    assert (one["model"], one["place"], one["probe"], one["is_being_probed"]) == (GOOD, "machine", None, False)
    problem_of(script.get("endpoints/none/"), 404, "not_found")
    problem_of(script.get("endpoints/none/prices/"), 404, "not_found")


def test_administrators_probe_and_price_by_their_session(script: Program, ada: User) -> None:
    probed = send_json(ada, f"endpoints/{ENDPOINT}/probe/", {})
    assert (probed.status_code, probed.json()["is_being_probed"]) == (202, True)
    assert Job.objects.get().params["model"] == GOOD
    priced = send_json(ada, f"endpoints/{ENDPOINT}/prices/", PRICE)
    assert (priced.status_code, priced.json()["per_million_cached"]) == (201, "2.5000")
    assert script.get(f"endpoints/{ENDPOINT}/prices/").json()["results"] == [priced.json()]
    assert script.get(f"endpoints/{ENDPOINT}/").json()["price"]["currency"] == "EUR"
    for wrong in ({"currency": "1"}, {"per_million_input": "-1"}, {"valid_from": "x"}, {"per_million_output": "NaN"}):
        assert send_json(ada, f"endpoints/{ENDPOINT}/prices/", {**PRICE, **wrong}).status_code == 422
    assert (Price.objects.count(), Job.objects.count()) == (1, 1)


def test_a_bank_is_compared_by_a_job(script: Program) -> None:
    address = "banks/chest/near-duplicates/compare/"
    asked = script.post(address, {}, idempotency_key="one")
    assert asked.status_code == 202
    assert script.get(asked["Location"]).json() == asked.json()
    assert script.post(address, {}).json()["id"] == asked.json()["id"]  # one under way is enough
    problem_of(script.post("banks/chest/near-duplicates/compare/", {"across": True}), 409, "none_public")
    assert script.get("banks/chest/near-duplicates/?rule=near_duplicate").json()["results"] == []
    problem_of(script.get("banks/chest/near-duplicates/?rule=x"), 422, "invalid")
    QuestionBank.objects.update(archived_at=NOON)
    problem_of(script.post(address, {}), 409, "archived")


def test_vectors_are_asked_for_once_their_number_is_confirmed(script: Program) -> None:
    asked = {"endpoint": ENDPOINT, "model": EMBEDDING_MODEL}
    assert script.post("banks/chest/near-duplicates/embed/", asked).status_code == 409  # nobody permits it
    make_permission(QuestionBank.objects.get(), images=False)
    told = problem_of(script.post("banks/chest/near-duplicates/embed/", asked), 409, "not_confirmed")
    assert told["facts"]["n"] == 2
    assert not Job.objects.exists()
    made = script.post("banks/chest/near-duplicates/embed/", {**asked, "confirmed_texts": 2})
    assert (made.status_code, made.json()["kind"]) == (202, "embed_questions")
    assert script.get("banks/chest/embeddings/").json() == {"embeddings": []}
    make_bank("Other")
    problem_of(script.get(f"banks/other/jobs/{made.json()['id']}/"), 404, "not_found")
