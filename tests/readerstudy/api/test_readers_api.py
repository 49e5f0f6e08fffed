"""Readers, invitations, answers, events, tables and voided cases over the API."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.enums import Role
from annotation.models import AuditEvent, Invitation, KeptAnswer, SeenKey, User
from annotation.models.people import TokenScope
from annotation.people.invitations import find_invitation
from readerstudy.enrolment.inviting import KIND
from readerstudy.enums import StudyState
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, StudyTable
from readerstudy.models import Enrolment, ReaderStudy
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.conftest import NOON
from tests.readerstudy.api.programs import coordinating, everybody, read_as, statuses
from tests.readerstudy.exports.read_study import read_study

SEEN = {"unblinded_at": NOON, "state": StudyState.CLOSED}


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    """Open, and read by Rita; Remo has left."""
    return read_study(rita, remo)


@pytest.fixture
def script(cora: User, study: ReaderStudy) -> Program:
    return coordinating(cora, study)


def over(**values: object) -> None:
    ReaderStudy.objects.filter(slug="trial").update(**{"state": StudyState.CLOSED, **values})


# --- who ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.CLOSED])
def test_who_reads_what(study: ReaderStudy, state: StudyState) -> None:
    """Answers and the clock: nobody while readers read; afterwards coordinators, once somebody has looked."""
    over(state=state, unblinded_at=NOON)
    programs = everybody(study)
    assert statuses(programs, "studies/trial/readers/") == read_as(programs, overseer=200)
    reader = Enrolment.objects.filter(study=study).order_by("pk")[0]
    assert statuses(programs, f"studies/trial/readers/{reader.public_id}/") == read_as(programs, overseer=200)
    for address in ("invitations/", "voidings/", "tables/orders/csv/"):
        assert statuses(programs, f"studies/trial/{address}") == read_as(programs, overseer=403), address
    for address in ("responses/", "events/", "tables/responses/csv/", "tables/events/jsonl/"):
        found = read_as(programs, overseer=403)
        if state == StudyState.OPEN:
            found = {name: 403 if status == 200 else status for name, status in found.items()}
        assert statuses(programs, f"studies/trial/{address}") == found, address


def test_a_reader_who_coordinates_the_site_finds_no_answers(study: ReaderStudy, client: Client, rita: User) -> None:
    over(unblinded_at=NOON)
    client.force_login(rita)
    for address in ("readers/", "responses/", "events/", "voidings/", "tables/responses/csv/"):
        assert client.get(f"/api/v1/studies/trial/{address}").status_code == 404


# --- readers --------------------------------------------------------------------------------------
def test_readers_with_their_progress(script: Program) -> None:
    first, second = script.get("studies/trial/readers/").json()["results"]
    assert (first["pseudonym"], first["name"], first["step"], first["n_done"], first["n_cases"]) == (
        "R1", "Rita", "main", 7, 8,
    )  # fmt: skip
    assert (second["step"], second["withdrawn_at"] is None) == ("left", False)


def test_a_reader_leaves(script: Program) -> None:
    reader = Enrolment.objects.get(reader__name="Rita")
    address = f"studies/trial/readers/{reader.public_id}/"
    problem_of(script.post(f"{address}withdraw/", {"reason": " "}), 422, "invalid")
    problem_of(script.post(f"{address}withdraw/", {"reason": "ill"}, if_match='"other"'), 412, "changed_since")
    assert script.post(f"{address}withdraw/", {"reason": "ill"}).json()["step"] == "left"
    assert AuditEvent.objects.get(act="reader.withdrawn").facts["reason"] == "ill"


def test_an_invitation_shows_its_link_once(script: Program) -> None:
    sent = {"email": "Nina@example.org", "name": "Nina"}
    made = script.post("studies/trial/invitations/", sent, idempotency_key="n")
    token = made.json()["link"].rstrip("/").rpartition("/")[2]
    found = find_invitation(token, KIND)
    assert (made.status_code, found) == (201, Invitation.objects.get())
    assert (made.json()["email"], made.json()["was_sent"]) == ("nina@example.org", False)
    again = script.post("studies/trial/invitations/", sent, idempotency_key="n").json()
    assert again == {**made.json(), "link": None, "was_sent": None}
    assert token not in json.dumps(KeptAnswer.objects.get().body)
    [listed] = script.get("studies/trial/invitations/").json()["results"]
    assert (listed["id"], listed["link"]) == (made.json()["id"], None)
    assert script.post(f"studies/trial/invitations/{listed['id']}/revoke/").status_code == 200
    assert script.get("studies/trial/invitations/").json()["results"] == []


def test_an_invitation_that_cannot_be(script: Program) -> None:
    problem_of(script.post("studies/trial/invitations/", {"email": "nobody"}), 422, "invalid")
    problem_of(script.post("studies/trial/invitations/", {"case_set": 2}), 422, "which_set")
    problem_of(script.post("studies/trial/invitations/", {"email": "rita@example.org"}), 409, "in_study")
    problem_of(script.post("studies/trial/invitations/9/revoke/"), 404, "not_found")
    over()
    problem_of(script.post("studies/trial/invitations/", {}), 409, "closed")
    assert not Invitation.objects.exists()


# --- tables and answers ---------------------------------------------------------------------------
@pytest.mark.parametrize("table", list(StudyTable))
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_table_is_byte_by_byte_that_of_the_button(
    script: Program, client: Client, cora: User, table: StudyTable, form: str
) -> None:
    over()
    client.force_login(cora)
    taken = script.post(f"studies/trial/tables/{table}/{form}/?source_ids")
    shown = client.post(f"/studies/trial/export/{table}/{form}/", {"source_ids": "1"})
    assert b"".join(taken.streaming_content) == b"".join(shown.streaming_content)  # type: ignore[attr-defined]
    assert taken["Content-Disposition"] == shown["Content-Disposition"]


@pytest.mark.parametrize("table", list(StudyTable))
def test_the_first_look_is_never_a_get(script: Program, table: StudyTable) -> None:
    hidden = table in HIDDEN_BEFORE_RESULTS
    address = f"studies/trial/tables/{table}/csv/"
    for ask in (script.get, script.post):
        assert ask(address).status_code == (403 if hidden else 200)
    over()
    assert script.get(address).status_code == (403 if hidden else 200)
    assert ReaderStudy.objects.get().unblinded_at is None
    assert not SeenKey.objects.exists()
    assert script.post(address).status_code == 200
    assert (ReaderStudy.objects.get().unblinded_at is not None) is hidden
    assert script.get(address).status_code == 200


def test_tables_that_are_not_there(script: Program) -> None:
    over()
    for address in ("tables/people/csv/", "tables/orders/docx/"):
        problem_of(script.get(f"studies/trial/{address}"), 404, "not_found")
    problem_of(script.get("studies/trial/tables/orders/csv/?all"), 400, "unknown_parameter")


@pytest.mark.parametrize(("address", "table"), [("responses/", "responses"), ("events/", "events")])
def test_rows_page_by_page_are_those_of_the_table(script: Program, cora: User, address: str, table: str) -> None:
    over(unblinded_at=NOON)
    script.post("studies/trial/voidings/", {"case": 1, "reason": "two keys"})
    walked, following = [], f"studies/trial/{address}?limit=3"
    while following:
        page = script.get(following).json()
        walked += page["results"]
        following = page["next"]
    file = b"".join(script.get(f"studies/trial/tables/{table}/jsonl/").streaming_content)
    rows = [json.loads(line) for line in file.decode().splitlines()]
    wanted = [row for row in rows if row["reading_id"]]
    assert [row["reading_id"] for row in walked] == [row["reading_id"] for row in wanted]
    for row, whole in zip(walked, wanted, strict=True):
        assert set(whole) - set(row) == ({"key", "correct"} if table == "responses" else set())
        times = {name for name in row if name.endswith("_at")}
        assert {n: v for n, v in row.items() if n not in times} == {n: whole[n] for n in row if n not in times}
    noted = AuditEvent.objects.filter(act="study.answers_read", facts__table=table)
    assert sum(event.facts["rows"] for event in noted) == len(walked)


def test_filters(script: Program) -> None:
    over(unblinded_at=NOON)
    assert script.get("studies/trial/responses/?reader=R2").json()["results"] == []
    [one] = script.get("studies/trial/responses/?block=practice&fields=option,block").json()["results"]
    assert one == {"option": "A", "block": "practice"}
    [event] = script.get("studies/trial/events/?kind=selected&fields=details").json()["results"]
    assert json.loads(event["details"]) == {"option": "B"}
    problem_of(script.get("studies/trial/responses/?fields=key"), 400, "unknown_field")


# --- voided cases ---------------------------------------------------------------------------------
def test_a_case_is_voided_once_and_for_a_reason(script: Program) -> None:
    sent = {"case": 2, "reason": "two keys"}
    made = script.post("studies/trial/voidings/", sent, idempotency_key="v")
    assert (made.status_code, made.json()["before_unblinding"], made.json()["declared_by"]) == (201, True, "Cora")
    assert script.post("studies/trial/voidings/", sent, idempotency_key="v").json() == made.json()
    problem_of(script.post("studies/trial/voidings/", sent), 409, "may_not_void")
    refused = problem_of(script.post("studies/trial/voidings/", {**sent, "case": 99}), 422, "no_such_case")
    assert refused["errors"][0]["field"] == "case"
    problem_of(script.post("studies/trial/voidings/", {"case": 1, "reason": ""}), 422, "invalid")
    problem_of(script.post("studies/trial/voidings/", {"case": 1, "reason": "x", "all": 1}), 422, "invalid")
    assert [row["case"] for row in script.get("studies/trial/voidings/").json()["results"]] == [2]


NOTING = re.compile("SAVEPOINT|pg_advisory")


def test_few_queries(cora: User, study: ReaderStudy) -> None:
    """Twelve, without the savepoint and the lock of the log with which a read of answers is noted."""
    over(unblinded_at=NOON)
    script = program_of(cora, Role.COORDINATOR, TokenScope.STUDY, "trial")
    reader = Enrolment.objects.get(reader__name="Rita").public_id
    for address in ("readers/", f"readers/{reader}/", "invitations/", "voidings/", "responses/", "events/"):
        with CaptureQueriesContext(connection) as asked:
            assert script.get(f"studies/trial/{address}").status_code == 200
        found = [one for one in asked.captured_queries if not NOTING.search(one["sql"])]
        assert len(found) <= 12, address
