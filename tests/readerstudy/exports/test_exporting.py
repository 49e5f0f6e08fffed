"""The tables of a study as files, and on its page: bytes, who may have them, the trace that stays."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.exports.tables import Format, restored
from annotation.models import AuditEvent, SourceIdentifier, User
from readerstudy.enums import StudyState
from readerstudy.exports import exporting
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, StudyTable, columns_of, export_table
from readerstudy.models import ReaderStudy, Reading, ReadingSession, StudyRole
from readerstudy.study.permissions import StudyRefused
from readerstudy.views.studies import export_offers
from tests.annotation.review.cases import NOON
from tests.readerstudy.exports.read_study import read_study, void
from tests.refusals import refuses


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    study = read_study(rita, remo, state=StudyState.CLOSED)
    void(study.cases.filter(block="main")[0])
    return study


def exported(
    study: ReaderStudy, table: StudyTable, noon: datetime, form: Format = Format.JSONL, reason: str = ""
) -> bytes:
    file = io.BytesIO()
    export_table(study, table, form, file, actor=None, at=noon, before_closing=reason)
    return file.getvalue()


def lines(study: ReaderStudy, table: StudyTable, noon: datetime) -> list[dict[str, object]]:
    return [json.loads(line) for line in exported(study, table, noon).decode().splitlines()]


@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("table", list(StudyTable))
def test_twice_gives_the_same_bytes(study: ReaderStudy, table: StudyTable, form: Format, noon: datetime) -> None:
    assert exported(study, table, noon, form) == exported(study, table, noon + timedelta(days=1), form)


@pytest.mark.parametrize("table", list(StudyTable))
def test_the_formats_agree_and_a_spreadsheet_runs_nothing(
    study: ReaderStudy, table: StudyTable, noon: datetime
) -> None:
    told = lines(study, table, noon)
    rows = list(csv.DictReader(io.StringIO(exported(study, table, noon, Format.CSV).decode("utf-8-sig"), newline="")))
    records = pq.read_table(io.BytesIO(exported(study, table, noon, Format.PARQUET))).to_pylist()
    assert told
    for line, row, record in zip(told, rows, records, strict=True):
        assert list(line) == list(row) == [column.name for column in columns_of(study, table)]
        for name, value in line.items():
            if isinstance(value, str) and not name.endswith("at"):
                assert restored(row[name]) == value == record[name]
            elif isinstance(value, int | float) and not isinstance(value, bool):
                assert float(row[name]) == value == record[name]
            elif value is None:
                assert (row[name], record[name]) == ("", None)
    assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]


def test_names_of_people_and_tokens_of_sittings_stay_here(study: ReaderStudy, noon: datetime) -> None:
    token = ReadingSession.objects.get().public_id.encode()
    for table in StudyTable:
        told = exported(study, table, noon, Format.CSV).lower()
        assert b"rita" not in told
        assert b"remo" not in told
        assert token.lower() not in told


def test_events_sessions_orders_and_voidings(study: ReaderStudy, noon: datetime) -> None:
    events = lines(study, StudyTable.EVENTS, noon)
    assert [(e["kind"], e["client_ms"], e["session"], e["reader"], e["arm"]) for e in events] == [
        ("painted", 100.25, 1, "R1", 1),
        ("selected", 200.5, 1, "R1", 1),
        ("submitted", 300.75, 1, "R1", 1),
    ]
    assert [e["details"] for e in events] == ["", '{"option": "B"}', ""]
    [session] = lines(study, StudyTable.SESSIONS, noon)
    assert (session["session"], session["device"]) == (1, '{"pixel_ratio": 1.5, "width": 1366}')
    orders = lines(study, StudyTable.ORDERS, noon)
    assert len(orders) == 4 * 9
    assert [o["reader"] for o in orders[::9]] == ["R1", "R2", "", ""]
    assert [(o["position"], o["case"], o["options_order"]) for o in orders[:3]] == [
        (1, 1001, "ABCD"),
        (1, 1, "CBDA"),
        (2, 2, "CBDA"),
    ]
    [voiding] = lines(study, StudyTable.VOIDINGS, noon)
    assert (voiding["case"], voiding["reason"], voiding["before_unblinding"]) == (1, "two keys are right", True)


def test_rows_tell_days_and_no_moment_browser_or_name_of_a_reading(study: ReaderStudy, noon: datetime) -> None:
    session, reading = ReadingSession.objects.get(), Reading.objects.exclude(opened_at=None)[0]
    conditions = [{"display": "medical", "luminance": 350}, {"display": "laptop", "luminance": 80}]
    session.device = {"browser": "Mozilla/5.0 (X11)", "window": [1366, 768], "ratio": 1.5, "conditions": conditions}
    session.save()
    tables = {table: lines(study, table, noon) for table in StudyTable}
    [sitting] = tables[StudyTable.SESSIONS]
    assert json.loads(str(sitting["conditions"])) == conditions
    assert json.loads(str(sitting["device"])) == {"window": [1366, 768], "ratio": 1.5}
    assert "Mozilla" not in str(tables)
    assert not re.search(r"\d\d:\d\d:\d\d", str(tables))
    assert not any(name in str(tables) for name in Reading.objects.values_list("public_id", flat=True))
    [row] = [row for row in tables[StudyTable.RESPONSES] if row["case_id"] == reading.case.public_id][:1]
    assert (row["opened_at"], len(str(row["reading_id"]))) == (noon.date().isoformat(), 17)
    ids = [row["reading_id"] for row in tables[StudyTable.RESPONSES] if row["reading_id"]]
    assert len(ids) == len(set(ids))
    assert {event["reading_id"] for event in tables[StudyTable.EVENTS]} <= set(ids)
    assert all(abs(int(str(event["received_ms"]))) < 86_400_000 for event in tables[StudyTable.EVENTS])


def test_a_sitting_that_begins_during_an_export_has_its_number(
    study: ReaderStudy, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers come in while a program exports: what was counted before the rows were read lacks the newest."""
    whole, count = lines(study, StudyTable.EVENTS, noon), exporting._session_numbers
    too_early: Iterator[dict[int, int]] = iter([{}])
    monkeypatch.setattr(exporting, "_session_numbers", lambda of: next(too_early, count(of)))
    assert lines(study, StudyTable.EVENTS, noon) == whole
    assert {line["session"] for line in whole} >= {1}
    with CaptureQueriesContext(connection) as asked:
        list(exporting.session_rows(study))
    assert sum("readingsession" in one["sql"] for one in asked) == 1


@pytest.mark.parametrize("table", list(StudyTable))
def test_answers_are_hidden_until_the_study_is_closed(study: ReaderStudy, table: StudyTable, noon: datetime) -> None:
    for state in (StudyState.FROZEN, StudyState.OPEN):
        study.state = state
        if table in (StudyTable.RESPONSES, StudyTable.EVENTS):
            for reason in ("", "  " * 20, "too short"):
                with refuses(StudyRefused, "answers_hidden"):
                    exported(study, table, noon, reason=reason)
        else:
            assert exported(study, table, noon)
    assert AuditEvent.objects.filter(act="study.exported").exists() is (
        table not in (StudyTable.RESPONSES, StudyTable.EVENTS)
    )


def test_a_study_that_was_read_elsewhere_hides_nothing_from_its_coordinators(
    study: ReaderStudy, noon: datetime
) -> None:
    """As its results: it is never opened here, so it could never be closed."""
    study.state = StudyState.FROZEN
    study.enrolments.update(reader=None)
    [told, *_] = lines(study, StudyTable.RESPONSES, noon)
    assert told["key"] == "B"
    assert not AuditEvent.objects.filter(act="study.glass_broken").exists()


def test_a_reason_breaks_the_glass_and_shows_no_key(study: ReaderStudy, noon: datetime) -> None:
    study.state = StudyState.OPEN
    told = exported(study, StudyTable.RESPONSES, noon, reason="a reader fell ill in between").splitlines()
    assert json.loads(told[1])["option"] == "B"
    assert not {"key", "correct"} & json.loads(told[0]).keys()
    broken = AuditEvent.objects.get(act="study.glass_broken")
    assert broken.facts == {"reason": "a reader fell ill in between", "table": "responses"}


def test_who_took_which_bytes_is_in_the_audit_log(study: ReaderStudy, cora: User, noon: datetime) -> None:
    export_table(study, StudyTable.ORDERS, Format.CSV, io.BytesIO(), actor=cora, at=noon)
    event = AuditEvent.objects.get(act="study.exported")
    assert event.actor == cora
    assert (event.facts["table"], event.facts["rows"], len(event.facts["sha256"])) == ("orders", 36, 64)


@pytest.mark.parametrize("table", [StudyTable.RESPONSES, StudyTable.EVENTS])  # the events say which options were chosen
def test_the_first_export_of_answers_unblinds_the_study_and_no_other_does(
    study: ReaderStudy, table: StudyTable, noon: datetime
) -> None:
    for other in set(StudyTable) - HIDDEN_BEFORE_RESULTS:
        exported(study, other, noon)
    assert ReaderStudy.objects.get().unblinded_at is None
    exported(study, table, noon)
    exported(study, table, noon + timedelta(days=1))
    assert ReaderStudy.objects.get().unblinded_at == noon
    assert AuditEvent.objects.filter(act="study.unblinded").count() == 1


@pytest.mark.parametrize("state", [StudyState.CLOSED, StudyState.ANALYSED])
@pytest.mark.parametrize("table", list(StudyTable))
def test_a_study_that_is_over_gives_the_ids_of_the_imported_file(
    study: ReaderStudy, table: StudyTable, state: StudyState, noon: datetime
) -> None:
    """Beside every case, and nowhere else; before closing nowhere at all."""
    ReaderStudy.objects.update(state=state)
    study.refresh_from_db()
    question = study.cases.order_by("number").first().revision.question  # type: ignore[union-attr]
    SourceIdentifier.objects.create(
        digest=1, kind="question_key", value="mine", bank=study.bank, question_id=question.pk
    )
    file = io.BytesIO()
    export_table(study, table, Format.JSONL, file, actor=None, at=noon, source_ids=True)
    told = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    names_cases = table not in (StudyTable.SESSIONS, StudyTable.READERS)
    assert all(("source_id" in line) == names_cases for line in told)
    if names_cases:
        assert {line["source_id"] for line in told if line["case"] == question.number} <= {"mine"}
        assert {line["source_id"] for line in told if line["case"] != question.number} <= {""}
    assert AuditEvent.objects.latest("id").facts.get("source_ids", False) == names_cases
    ReaderStudy.objects.update(state=StudyState.OPEN)
    study.refresh_from_db()
    with refuses(StudyRefused, "source_ids_hidden"):
        export_table(study, table, Format.JSONL, io.BytesIO(), actor=None, at=noon, source_ids=True)


# --- the page --------------------------------------------------------------------------------------
def address(table: str = "responses", form: str = "csv", slug: str = "trial") -> str:
    return reverse("study-export", args=[slug, table, form])


def body(response: object) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


def test_the_responses_of_a_closed_study(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    response = client.post(address())
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="trial-responses.csv"'
    assert "no-store" in response["Cache-Control"]
    rows = list(csv.DictReader(io.StringIO(body(response).decode("utf-8-sig"), newline="")))
    assert len(rows) == 17
    assert rows[1]["correct"] == "true"


@pytest.mark.parametrize("table", list(StudyTable))
def test_before_closing_there_are_no_answers(client: Client, study: ReaderStudy, cora: User, table: StudyTable) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    client.force_login(cora)
    response = client.post(address(table.value))
    assert response.status_code == (403 if table in (StudyTable.RESPONSES, StudyTable.EVENTS) else 200)
    if response.status_code == 403:
        assert "hidden until the study is closed" in response.content.decode()
    assert ReaderStudy.objects.get().unblinded_at is None


def test_a_link_that_a_browser_follows_by_itself_takes_nothing(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    assert client.get(address()).status_code == 405


def test_who_is_refused(client: Client, study: ReaderStudy, ada: User, cora: User, rita: User, stan: User) -> None:
    assert client.post(address()).status_code == 302
    for person, status in ((stan, 404), (rita, 404), (ada, 403)):
        client.force_login(person)
        assert client.post(address()).status_code == status
        assert client.get(reverse("study-codebook", args=["trial", "events"])).status_code == status
    StudyRole.objects.create(study=study, user=stan, granted_by=cora, granted_at=NOON)
    client.force_login(stan)
    assert client.post(address("orders")).status_code == 200


def test_one_button_takes_all_that_is_not_hidden(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for state, n_tables in ((StudyState.OPEN, 4), (StudyState.CLOSED, 6)):
        ReaderStudy.objects.update(state=state)
        with zipfile.ZipFile(io.BytesIO(body(client.post(address("all", form="zip"))))) as archive:
            described = json.loads(archive.read("trial/datapackage.json"))["resources"]
            assert len(archive.namelist()) == n_tables * len(Format) + 2
        assert ("responses" in {one["name"] for one in described}) is (state == StudyState.CLOSED)


def test_what_is_not_there(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for wrong in (address("people"), address(form="ods"), address("all"), address(slug="other")):
        assert client.post(wrong).status_code == 404
    assert client.get(reverse("study-codebook", args=["trial", "people"])).status_code == 404


def test_the_codebook_names_key_and_correct_only_after_closing(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for state, named in ((StudyState.OPEN, False), (StudyState.CLOSED, True)):
        ReaderStudy.objects.update(state=state)
        text = client.get(reverse("study-codebook", args=["trial", "responses"])).content.decode("utf-8-sig")
        columns = [row["column"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        assert ({"key", "correct"} <= set(columns)) is named


@pytest.mark.parametrize("state", list(StudyState))
def test_own_ids_are_offered_and_given_once_a_study_is_over(
    client: Client, study: ReaderStudy, cora: User, state: StudyState
) -> None:
    over = state in (StudyState.CLOSED, StudyState.ANALYSED)
    ReaderStudy.objects.update(state=state)
    client.force_login(cora)
    assert ("with own ids" in client.get(reverse("study-data", args=["trial"])).content.decode()) is over
    response = client.post(address("orders"), {"source_ids": "1"})
    assert response.status_code == (200 if over else 403)
    if over:
        assert "source_id" in body(response).decode().splitlines()[0]
    codebook = client.get(reverse("study-codebook", args=["trial", "orders"])).content.decode()
    assert ("source_id" in codebook) is over


def test_the_buttons_say_what_is_hidden_and_what_unblinds(study: ReaderStudy) -> None:
    def shown() -> str:
        return render_to_string("readerstudy/studies/_exports.html", {"study": study, "exports": export_offers(study)})

    assert shown().count("<button") == 1 + 6 * 4
    assert "unblinds the study" in shown()
    study.unblinded_at = NOON
    assert "unblinds the study" not in shown()
    study.state = StudyState.OPEN
    assert shown().count("<button") == 1 + 4 * 4
    assert shown().count("Hidden until the study is closed") == 2


def export(path: Path, *more: str, form: str = "csv") -> None:
    call_command("export_responses", "--study", "trial", "--format", form, "--output", str(path), *more, verbosity=0)


@pytest.mark.parametrize("form", list(Format))
def test_a_file_and_its_codebook_the_same_each_time(study: ReaderStudy, form: Format, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{form.value}"
    export(path, form=form.value)
    first = path.read_bytes()
    export(path, form=form.value)
    assert path.read_bytes() == first
    with (tmp_path / "answers.codebook.csv").open(encoding="utf-8-sig") as file:
        named = [row["column"] for row in csv.DictReader(file)]
    assert named == [column.name for column in columns_of(study, StudyTable.RESPONSES)]
    assert len(list(tmp_path.iterdir())) == 2


def test_into_a_folder_go_all_tables(study: ReaderStudy, tmp_path: Path) -> None:
    export(tmp_path)
    expected = {f"{table.value}{end}" for table in StudyTable for end in (".csv", ".codebook.csv")}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_one_table_by_its_name(study: ReaderStudy, tmp_path: Path) -> None:
    export(tmp_path / "v.csv", "--table", "voidings")
    with (tmp_path / "v.csv").open(encoding="utf-8-sig") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["two keys are right"]


def test_answers_of_an_open_study_need_a_reason(study: ReaderStudy, tmp_path: Path) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    for more in ((), ("--table", "events"), ("--before-closing", "why not")):
        with pytest.raises(CommandError, match="--before-closing") as refusal:
            export(tmp_path / "a.csv", *more)
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
    export(tmp_path / "o.csv", "--table", "orders")
    export(tmp_path / "a.csv", "--before-closing", "the sponsor asks for it now")
    assert AuditEvent.objects.get(act="study.glass_broken").facts["reason"] == "the sponsor asks for it now"
    assert "correct" not in (tmp_path / "a.csv").read_text().splitlines()[0]


@pytest.mark.parametrize("state", [StudyState.CLOSED, StudyState.ANALYSED])
def test_own_ids_of_a_study_that_is_over(study: ReaderStudy, tmp_path: Path, state: StudyState) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    with pytest.raises(CommandError, match="not closed yet"):
        export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    assert not list(tmp_path.iterdir())
    ReaderStudy.objects.update(state=state)
    export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    for name in ("o.csv", "o.codebook.csv"):
        assert "source_id" in (tmp_path / name).read_text()


def test_what_cannot_be_is_refused_with_status_2(study: ReaderStudy, tmp_path: Path) -> None:
    for study_name, path in (("nowhere", tmp_path / "a.csv"), ("trial", tmp_path / "missing" / "a.csv")):
        with pytest.raises(CommandError) as refusal:
            call_command("export_responses", "--study", study_name, "--format", "csv", "--output", str(path))
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
