"""Readers over the API: invitations, answers, tables, voided cases; more time, reminders, successors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import AuditEvent, Invitation, KeptAnswer, ReviewRound, SeenKey, User
from annotation.models.people import TokenScope
from annotation.people.invitations import find_invitation
from readerstudy.enrolment.inviting import KIND
from readerstudy.enums import Block, StudyState
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, StudyTable
from readerstudy.models import Enrolment, ReaderStudy
from tests.annotation.api.asking import V1, Program, problem_of, program_of
from tests.annotation.api.schema import faults_of
from tests.conftest import NOON
from tests.emails import delivered
from tests.readerstudy.api.programs import coordinating, everybody, read_as, statuses
from tests.readerstudy.exports.read_study import read, read_study
from tests.readerstudy.studies import enrol, make_study, places_of

SEEN = {"unblinded_at": NOON, "state": StudyState.CLOSED}


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    """Open, and read by Rita; Remo has left."""
    return read_study(rita, remo, deadline_at=NOON.replace(year=2998))


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


# --- while readers read ----------------------------------------------------------------------------
FUTURE, LATER = "2999-07-01T16:00:00Z", "2999-08-01T16:00:00Z"
INVITED = b"name,email,roles\nNina,nina@example.org,reader\nOmar,,\n"
FILE = "studies/trial/invitations/file/"


@pytest.fixture
def mail_server(settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"


def reader(name: str = "Rita") -> str:
    return f"studies/trial/readers/{Enrolment.objects.get(reader__name=name).public_id}/"


def send_file(script: Program, content: bytes = INVITED, key: str = "", **fields: str) -> Any:
    headers = {"Authorization": f"Bearer {script.token}", **({"Idempotency-Key": key} if key else {})}
    sent = {"file": SimpleUploadedFile("readers.csv", content), **fields}
    answer = script.client.post(f"{V1}{FILE}", sent, headers=headers)
    assert faults_of("POST", f"{V1}{FILE}", answer) == []
    return answer


# --- more time ------------------------------------------------------------------------------------
def test_more_time_for_all_and_for_one(script: Program) -> None:
    extended = script.post("studies/trial/extend/", {"deadline_at": "2999-07-01T18:00:00+02:00"})
    assert extended.json()["deadline_at"] == FUTURE
    assert script.post(f"{reader()}extend/", {"deadline_at": LATER}).json()["deadline_at"] == LATER
    acts = AuditEvent.objects.filter(act__endswith="deadline_extended").order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["study.deadline_extended", "reader.deadline_extended"]
    for address in ("studies/trial/extend/", f"{reader()}extend/"):
        problem_of(script.post(address, {"deadline_at": FUTURE}), 409, "not_later")
        for wrong in ({}, {"deadline_at": None}, {"deadline_at": "soon"}, {"deadline_at": "9999-12-31T23:59:00Z"}):
            told = problem_of(script.post(address, wrong), 422, "invalid")
            assert [one["field"] for one in told["errors"]] == ["deadline_at"]
        problem_of(script.post(address, {"deadline_at": FUTURE}, if_match='"old"'), 412, "changed_since")
    problem_of(script.post(f"{reader('Remo')}extend/", {"deadline_at": LATER}), 409, "has_left")


# --- reminders ------------------------------------------------------------------------------------
def test_without_a_mail_server_nobody_is_reminded(script: Program) -> None:
    for address in ("studies/trial/remind/", f"{reader()}remind/"):
        problem_of(script.post(address), 409, "no_mail_server")


@pytest.mark.usefixtures("mail_server")
def test_a_reminder_with_a_key_is_sent_once(script: Program) -> None:
    for _twice in range(2):
        assert script.post("studies/trial/remind/", {}, idempotency_key="one").json() == {"n_sent": 1}
    assert [one.to for one in delivered()] == [["rita@example.org"]]
    assert script.post(f"{reader()}remind/").json() == {"n_sent": 1}
    assert script.post(f"{reader('Remo')}remind/").json() == {"n_sent": 0}  # who has left
    assert len(delivered()) == 2


# --- readers --------------------------------------------------------------------------------------
def test_a_reader_goes_on_who_did_not_pass(cora: User, rita: User) -> None:
    study = make_study(n_practice=1)
    script = coordinating(cora, study)
    enrolment = enrol(study, rita)
    Enrolment.objects.update(practised_at=None)
    problem_of(script.post(f"{reader()}pass/", {"reason": "pressed the wrong key"}), 409, "practice_left")
    read(places_of(enrolment, Block.PRACTICE)[0], {"option": "A", "is_confirmed": True})
    problem_of(script.post(f"{reader()}pass/", {"reason": " "}), 422, "invalid")
    assert script.post(f"{reader()}pass/", {"reason": "pressed the wrong key"}).json()["step"] == "main"
    assert AuditEvent.objects.get(act="enrolment.practice_let_pass").facts == {"reason": "pressed the wrong key"}


def test_a_successor_takes_the_next_order_and_the_link_is_told_once(script: Program) -> None:
    sent = {"reason": "ill", "email": "Nina@example.org"}
    address = f"{reader()}replace/"
    made = script.post(address, sent, idempotency_key="n")
    token = made.json()["link"].rstrip("/").rpartition("/")[2]
    assert (made.status_code, made.json()["email"]) == (201, "nina@example.org")
    assert find_invitation(token, KIND) == Invitation.objects.get()
    assert script.post(address, sent, idempotency_key="n").json() == {**made.json(), "link": None, "was_sent": None}
    assert token not in json.dumps(KeptAnswer.objects.get().body)
    assert script.get(reader()).json()["step"] == "left"
    problem_of(script.post(address, sent), 409, "replaced")
    problem_of(script.post(address, {"reason": ""}), 422, "invalid")


# --- invitations ----------------------------------------------------------------------------------
def test_a_new_link_ends_the_old_one_and_a_revoked_one_is_restored(script: Program) -> None:
    first = script.post("studies/trial/invitations/", {"name": "Nina"}).json()
    address = f"studies/trial/invitations/{first['id']}/"
    second = script.post(f"{address}remind/", {}, idempotency_key="n")
    links = [one["link"].rstrip("/").rpartition("/")[2] for one in (first, second.json())]
    assert (second.status_code, find_invitation(links[0], KIND)) == (200, None)
    assert find_invitation(links[1], KIND) == Invitation.objects.get()
    assert links[1] not in json.dumps(KeptAnswer.objects.get().body)
    problem_of(script.post(f"{address}restore/"), 409, "link_ended")  # it is not revoked
    assert script.post(f"{address}revoke/").json()["revoked_at"]
    problem_of(script.post(f"{address}remind/"), 409, "link_ended")
    assert script.post(f"{address}restore/").json()["revoked_at"] is None
    assert find_invitation(links[1], KIND) == Invitation.objects.get()
    for act in ("remind", "restore"):
        problem_of(script.post(f"studies/trial/invitations/99/{act}/"), 404, "not_found")


@pytest.mark.usefixtures("mail_server")
def test_readers_are_invited_from_a_file(script: Program) -> None:
    dry = send_file(script, dry_run="true").json()
    assert (dry["stored"], [one["link"] for one in dry["invitations"]]) == (False, [None, None])
    assert dry["invitations"][0]["effects"] == ["makes an account", "is sent by e-mail"]
    assert not Invitation.objects.exists()
    made = send_file(script, key="one").json()
    nina, omar = made["invitations"]
    assert (nina["row"], nina["email"], nina["was_sent"], omar["was_sent"]) == (2, "nina@example.org", True, False)
    tokens = [one["link"].rstrip("/").rpartition("/")[2] for one in (nina, omar)]
    assert {find_invitation(one, KIND) for one in tokens} == set(Invitation.objects.all())
    again = send_file(script, key="one").json()["invitations"]
    assert [(one["name"], one["link"]) for one in again] == [("Nina", None), ("Omar", None)]
    kept = json.dumps(KeptAnswer.objects.get().body)
    assert [one for one in tokens if one in kept] == []
    assert (Invitation.objects.count(), len(delivered())) == (2, 1)


def test_one_wrong_row_stores_nothing(script: Program) -> None:
    told = problem_of(send_file(script, INVITED + b"Rita,rita@example.org,reader\nX,none,\n"), 422, "rows_refused")
    assert [one["field"] for one in told["errors"]] == ["4.email", "5.email"]
    for content in (b"", b"\0", b"a,b\n1,2\n", b"x" * 300_000):
        problem_of(send_file(script, content), 422, "file_unreadable")
    assert not Invitation.objects.exists()
    over()
    problem_of(send_file(script), 409, "closed")


# --- a re-review ----------------------------------------------------------------------------------
def test_missed_cases_go_to_a_round_once_and_that_unblinds(rita: User, remo: User, cora: User) -> None:
    study = make_study(n_cases=6)
    script, address = coordinating(cora, study), "studies/trial/re-review/"
    for person in (rita, remo):
        for place in places_of(enrol(study, person)):
            read(place, {"option": "A" if place.case.number <= 2 else "B"})
    problem_of(script.post(address, {"name": "Again"}), 409, "not_closed")
    over()
    for wrong in ({}, {"name": ""}, {"name": "Again", "threshold_percent": 0}):
        problem_of(script.post(address, wrong), 422, "invalid")
    assert ReaderStudy.objects.get(slug="trial").unblinded_at is None
    made = [script.post(address, {"name": "Again"}, idempotency_key="one") for _twice in range(2)]
    assert {one.status_code for one in made} == {201}
    review_round = ReviewRound.objects.get()
    assert made[0].json() == made[1].json() == {"round": review_round.slug, "name": "Again"}
    assert script.get(made[0]["Location"]).json()["state"] == "draft"
    assert ReaderStudy.objects.get(slug="trial").unblinded_at is not None
    problem_of(script.post(address, {"name": "Again"}), 409, "round_refused")
