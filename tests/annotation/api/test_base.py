"""What every address of the API does: who may ask, what is refused and how, pages, fields, ETags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import JobState, Role
from annotation.models import AccessToken, AuditEvent, Job, KeptAnswer, User
from annotation.models.people import TokenScope
from annotation.people.tokens import revoke_token
from annotation.views.site.decorators import patterns
from tests.annotation.api.asking import V1, Program, problem_of, program_of
from tests.annotation.api.unreached import NOT, REACHED
from tests.annotation.review.cases import make_bank, make_revision
from tests.conftest import NOON
from tests.permissions.table import methods_of


@pytest.fixture
def script(cora: User) -> Program:
    """Reads the whole site for Cora, who coordinates."""
    return program_of(cora, Role.COORDINATOR)


@pytest.fixture
def writer(cora: User) -> Program:
    """Works in one bank for Cora."""
    bank = make_bank("Mine")
    make_revision(bank, 1)
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "mine")


def make_jobs(n: int, person: User | None = None) -> None:
    for number in range(n):
        Job.objects.create(kind="rehearsal", title=f"Job {number // 2}", created_by=person, created_at=NOON)


# --- who asks -------------------------------------------------------------------------------------
def test_a_token_says_who_asks(script: Program) -> None:
    told = script.get("me/").json()
    assert told["roles"] == ["coordinator"]
    assert told["token"]["scope"] == "site"
    assert AccessToken.objects.get().last_used_at is not None


def test_a_session_does_too_and_needs_its_csrf_token_to_change_something(cora: User) -> None:
    make_jobs(1, cora)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cora)
    assert browser.get(f"{V1}me/").json()["token"] is None
    cancel = f"{V1}jobs/{Job.objects.get().public_id}/cancel/"
    problem_of(browser.post(cancel), 403, "forbidden")
    browser.get("/profile/")
    token = browser.cookies["csrftoken"].value
    answer = browser.post(cancel, content_type="application/json", headers={"X-CSRFToken": token})
    assert answer.status_code == 200


def test_nobody_is_told_to_send_a_token(db: None) -> None:
    for header in ("", "Bearer", "Bearer x", "Basic abc", "Bearer rexvqa_\udc80", "rexvqa_"):
        answer = Client().get(f"{V1}banks/", headers={"Authorization": header} if header else {})
        assert (answer.status_code, json.loads(answer.content)["status"]) == (401, 401), header
        assert answer["WWW-Authenticate"] == "Bearer"


def test_a_token_is_refused_while_a_second_factor_is_due_and_once_it_is_over(
    script: Program, cora: User, settings: Settings
) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    problem_of(script.get("me/"), 403, "second_factor_due")
    settings.SECOND_FACTOR_REQUIRED = False
    AccessToken.objects.update(networks=["10.0.0.0/8"])
    problem_of(script.get("me/"), 403, "token_address")
    assert AuditEvent.objects.get(act="token.refused").facts == {"address": "127.0.0.1"}
    AccessToken.objects.update(networks=[], expires_at=NOON.replace(year=2020))
    problem_of(script.get("me/"), 401, "token_expired")
    revoke_token(AccessToken.objects.get(), actor=cora, at=NOON)
    problem_of(script.get("me/"), 401, "token_unknown")


def test_a_token_in_an_address_is_refused(script: Program, cora: User) -> None:
    problem_of(Client().get(f"{V1}me/?access_token={script.token}"), 400, "token_in_address")
    problem_of(Client().get(f"{V1}me/?x={script.token}"), 400, "token_in_address")
    problem_of(script.get(f"banks/?name={script.token}"), 400, "token_in_address")


def test_a_token_for_reading_changes_nothing(script: Program, cora: User) -> None:
    make_jobs(1, cora)
    problem_of(script.post(f"jobs/{Job.objects.get().public_id}/cancel/"), 403, "forbidden")
    assert Job.objects.get().state == JobState.QUEUED


def test_another_role_of_its_owner_counts_for_nothing(cora: User, rita: User) -> None:
    problem_of(program_of(rita, Role.REVIEWER).get("banks/"), 403, "forbidden")


def test_a_token_of_one_bank_finds_no_other(writer: Program) -> None:
    make_revision(make_bank("Other"), 1)
    assert [bank["id"] for bank in writer.get("banks/").json()["results"]] == ["mine"]
    problem_of(writer.get("banks/other/"), 404, "not_found")
    assert writer.get("banks/other/").content == writer.get("banks/never-there/").content
    assert writer.get("jobs/").json()["results"] == []


def test_there_is_a_limit_a_minute_and_headers_say_so(script: Program, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    first = script.get("me/")
    assert (first["RateLimit-Limit"], first["RateLimit-Remaining"]) == ("2", "1")
    assert 0 < int(first["RateLimit-Reset"]) <= 60
    answers = [script.get("me/") for _more in range(4)]  # a minute may begin in between
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    problem_of(refused[0], 429, "too_many_requests")
    assert int(refused[0]["Retry-After"]) <= 61


# --- refusals -------------------------------------------------------------------------------------
def test_every_refusal_is_a_problem_document(script: Program, writer: Program) -> None:
    problem_of(script.get("nothing/"), 404, "not_found")
    problem_of(script.get("/api/v2/"), 404, "not_found")
    problem_of(script.get("jobs/none/"), 404, "not_found")
    problem_of(script.ask("DELETE", "me/"), 403, "forbidden")
    problem_of(writer.ask("DELETE", "me/"), 405, "method_not_allowed")
    problem_of(writer.ask("OPTIONS", "me/"), 405, "method_not_allowed")
    problem_of(script.get("banks/?colour=red"), 400, "unknown_parameter")
    problem_of(script.get("banks/?sort=colour"), 400, "unknown_order")
    problem_of(script.get("banks/?limit=0"), 400, "bad_number")
    problem_of(script.get("banks/?limit=1001"), 400, "bad_number")
    problem_of(script.get("banks/?fields=name,keys"), 400, "unknown_field")
    problem_of(script.get("jobs/?state=lost"), 422, "invalid")
    problem_of(script.get("jobs/?created_after=yesterday"), 422, "invalid")
    problem_of(script.get("banks/mine/questions/?task=dance"), 422, "invalid")
    problem_of(script.get("me/%00/"), 400, "bad_request")


BODIES: list[tuple[str | bytes, int, str]] = [
    ("{", 400, "not_json"),
    ("", 422, "invalid"),
    (b"\xff\xfe", 400, "not_json"),
    ('{"reason": NaN}', 400, "not_json"),
    ('{"reason": "a", "reason": "b"}', 400, "not_json"),
    ("[1]", 422, "invalid"),
    ("[" * 100_000 + "]" * 100_000, 422, "too_deep"),
    ("[" * 30 + "]" * 30, 422, "too_deep"),
    (json.dumps({"reason": "x" * (5 * 1024 * 1024)}), 413, "too_large"),
    ("[" + "1," * 200_000 + "1]", 413, "too_large"),
    ('{"reason": "a\\u0000b"}', 422, "nul_character"),
    ('{"reason": "\\ud800"}', 422, "lone_surrogate"),
    ('{"reason": {"a": 1}}', 422, "invalid"),
    ('{"reason": ""}', 422, "invalid"),
    ('{"reason": "wrong", "colour": "red"}', 422, "invalid"),
]


def test_a_body_that_makes_no_sense_changes_nothing(writer: Program) -> None:
    before = AuditEvent.objects.count()
    for body, status, code in BODIES:
        problem_of(writer.post("banks/mine/questions/1/withdraw/", body), status, code)
    assert AuditEvent.objects.count() == before


def test_an_unknown_field_is_named(writer: Program) -> None:
    answer = writer.post("banks/mine/questions/1/withdraw/", {"reason": "wrong", "colour": "red"})
    assert problem_of(answer, 422, "invalid")["errors"] == [{"field": "colour", "message": "There is no such field."}]


def test_a_form_is_not_taken_where_json_is_asked_for(writer: Program) -> None:
    headers = {"authorization": f"Bearer {writer.token}"}
    answer = Client().post(f"{V1}banks/mine/questions/1/withdraw/", {"reason": "x"}, headers=headers)
    problem_of(answer, 415, "unsupported_media_type")


def test_what_a_room_refuses_has_its_word_and_sentence(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    assert writer.post(f"{address}withdraw/", {"reason": "wrong image"}).json()["state"] == "withdrawn"
    answer = writer.post(f"{address}withdraw/", {"reason": "again"})
    assert answer.status_code == 409
    assert json.loads(answer.content)["code"] not in {"invalid", "refused"}
    assert writer.post(f"{address}bring-back/").json()["state"] == "imported"


def test_who_decides_on_an_old_state_is_told(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    old = writer.get(address)["ETag"]
    assert writer.post(f"{address}withdraw/", {"reason": "x"}, if_match=old).status_code == 200
    problem_of(writer.post(f"{address}bring-back/", if_match=old), 412, "changed_since")
    assert writer.get(address).json()["state"] == "withdrawn"
    assert writer.post(f"{address}bring-back/", if_match=writer.get(address)["ETag"]).status_code == 200


# --- lists ----------------------------------------------------------------------------------------
def test_a_list_is_walked_page_by_page(script: Program, cora: User, rita: User) -> None:
    for person in (cora, None, rita):
        make_jobs(5, person)
    for sort in ("", "job", "-job", "when", "-when", "who", "-who", "state"):
        found, address = [], f"jobs/?limit=4&fields=id&sort={sort}"
        while address:
            page = script.get(address).json()
            found += [job["id"] for job in page["results"]]
            address = page["next"]
            assert len(page["results"]) <= 4
        assert sorted(found) == sorted(Job.objects.values_list("public_id", flat=True)), sort


def test_a_cursor_that_makes_no_sense_or_is_of_another_order_is_refused(script: Program) -> None:
    make_jobs(3)
    for cursor in ("x", "AAAA", "W10", "WyIiLCBudWxsLCAieCJd", "WyIiLCAxLCAxZTQwMF0", "WyIiLCBudWxsLCAxZTMwXQ"):
        problem_of(script.get(f"jobs/?cursor={cursor}"), 400, "bad_cursor")
    following = script.get("jobs/?limit=1&sort=job").json()["next"]
    problem_of(script.get(following.replace("sort=job", "sort=when")), 400, "bad_cursor")


def test_filters_and_fields(script: Program, cora: User) -> None:
    make_jobs(2)
    Job.objects.filter(title="Job 0").update(state=JobState.FAILED)
    assert script.get("jobs/?state=running&fields=id").json() == {"next": None, "results": []}
    found = script.get("jobs/?state=failed&fields=state,done").json()["results"]
    assert found == [{"state": "failed", "done": 0}] * 2


def test_one_thing_has_an_etag_and_is_not_sent_again(script: Program) -> None:
    make_jobs(1)
    address = f"jobs/{Job.objects.get().public_id}/"
    first = script.get(address)
    again = script.get(address, if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    Job.objects.update(progress_done=3)
    assert script.get(address, if_none_match=first["ETag"]).status_code == 200


def test_few_queries(script: Program, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    make_jobs(30)
    for number in range(3):
        make_revision(make_bank(f"Bank {number}"), 1)
    for address in ("me/", "jobs/", "banks/", "banks/bank-1/"):
        with django_assert_max_num_queries(12):
            assert script.get(address).status_code == 200


def test_nothing_is_kept_of_requests_that_make_nothing(script: Program) -> None:
    script.get("me/", idempotency_key="one")
    assert not KeptAnswer.objects.exists()


def test_the_paths_of_the_api_are_pages_for_nobody(coordinator: Client, tmp_path: Path) -> None:
    assert coordinator.get(f"{V1}me/", headers={"Accept": "text/html"})["Content-Type"] == "application/json"


# --- every act that a page offers is reachable over the API, or stands here with the reason why it is not ---
ALL = {str(one.name): one for _before, one in patterns(get_resolver())}


def acts() -> Iterator[str]:
    for name, pattern in ALL.items():
        if not name.startswith("api-") and "POST" in methods_of(pattern.callback):
            yield name


def test_every_act_of_a_page_is_in_one_of_the_tables() -> None:
    tables = (set(REACHED), set(NOT))
    assert set(acts()) == set().union(*tables)
    assert sum(map(len, tables)) == len(set().union(*tables))


def test_what_is_said_to_be_reached_is_there() -> None:
    assert {name for name in REACHED.values() if name not in ALL} == set()
    for name in set(REACHED.values()):
        view: Any = ALL[name].callback
        assert [one for one in ("post", "put", "patch", "delete") if hasattr(view.cls, one)], name


def test_every_reason_is_a_sentence() -> None:
    assert all(len(reason) > 10 for reason in NOT.values())
