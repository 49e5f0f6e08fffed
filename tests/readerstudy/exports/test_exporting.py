"""The tables of a study as files: their bytes, who may have them, and the trace that stays."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEvent, SourceIdentifier, User
from annotation.tables.writing import Format, restored
from readerstudy.enums import StudyState
from readerstudy.exports import exporting
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, StudyTable, columns_of, export_table
from readerstudy.models import ReaderStudy, Reading, ReadingSession
from readerstudy.study.permissions import StudyRefused
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
