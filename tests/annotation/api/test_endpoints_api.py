"""Over the API endpoints are read without a key, probed and priced; a bank is compared and embedded."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import Role
from annotation.models import Job, Price, QuestionBank, User
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of, send_json
from tests.annotation.endpoints.simulated_models import EMBEDDING_MODEL, GOOD
from tests.annotation.model_calls.simulated_calls import ENDPOINT, make_permission
from tests.annotation.review.cases import make_bank, make_revisions
from tests.conftest import NOON

LOCAL = Endpoint(ENDPOINT, "http://127.0.0.1:9/v1", EndpointPlace.MACHINE, GOOD, 60, 100_000, 8)
HOSTED = Endpoint("hosted", "https://models.example.org/v1")
PRICE = {"model": GOOD, "currency": "EUR", "per_million_input": "2.5", "per_million_output": "10"}
PRICE |= {"valid_from": "2026-11-20"}


@pytest.fixture(autouse=True)
def endpoints_are_named(db: None) -> Any:
    with override_settings(MODEL_ENDPOINTS=(LOCAL, HOSTED)):
        yield


@pytest.fixture
def script(cora: User, db: None) -> Program:
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


def test_administrators_probe_and_price_by_their_session(script: Program, ada: User, cora: User) -> None:
    probed = send_json(ada, f"endpoints/{ENDPOINT}/probe/", {})
    assert (probed.status_code, probed.json()["is_being_probed"]) == (202, True)
    assert Job.objects.get().params["model"] == GOOD
    priced = send_json(ada, f"endpoints/{ENDPOINT}/prices/", PRICE)
    assert (priced.status_code, priced.json()["per_million_cached"]) == (201, "2.5000")
    assert script.get(f"endpoints/{ENDPOINT}/prices/").json()["results"] == [priced.json()]
    assert script.get(f"endpoints/{ENDPOINT}/").json()["price"]["currency"] == "EUR"
    for wrong in ({"currency": "1"}, {"per_million_input": "-1"}, {"valid_from": "x"}, {"per_million_output": "NaN"}):
        assert send_json(ada, f"endpoints/{ENDPOINT}/prices/", {**PRICE, **wrong}).status_code == 422
    for address, body in ((f"endpoints/{ENDPOINT}/probe/", {}), (f"endpoints/{ENDPOINT}/prices/", PRICE)):
        problem_of(send_json(cora, address, body), 403, "forbidden")
        problem_of(script.post(address, body), 403, "forbidden")
        problem_of(program_of(ada, Role.ADMINISTRATOR).post(address, body), 403, "forbidden")
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
