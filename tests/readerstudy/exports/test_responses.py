"""Responses row by row, readers as a table, and what comes back from an export."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import User
from annotation.tables.writing import Format, restored
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design.creating import copy_study, create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.enrolment.kernels.steps import ReaderFacts
from readerstudy.enums import RemarkKind, StudyState
from readerstudy.exports.columns import response_columns
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, READER_COLUMNS, StudyTable, export_table, reader_rows
from readerstudy.exports.responses import response_rows
from readerstudy.models import Enrolment, ReaderStudy, Reading, Remark, Response
from readerstudy.reading.kernels.response_file import COLUMNS
from readerstudy.reading.response_import import import_responses
from tests.conftest import NOON
from tests.readerstudy.design.made import make_questions, plan_for
from tests.readerstudy.exports.read_study import void
from tests.readerstudy.studies import enrol, later, make_study


def rows_of(study: ReaderStudy, *, with_key: bool = True) -> list[dict[str, Any]]:
    names = [column.name for column in response_columns(with_key=with_key)]
    return [dict(zip(names, row, strict=True)) for row in response_rows(study, with_key=with_key)]


def test_the_whole_main_block_of_every_reader_and_what_was_read_of_the_practice_block(study: ReaderStudy) -> None:
    rows = rows_of(study)
    assert [(row["reader"], row["block"], row["position"]) for row in rows] == [
        ("R1", "practice", 1),
        *[("R1", "main", n) for n in range(1, 9)],
        *[("R2", "main", n) for n in range(1, 9)],
    ]
    assert {row["reader_state"] for row in rows} == {"reading", "withdrawn"}
    assert {row["counted"] for row in rows if row["reader"] == "R2"} == {"missing"}
    assert {row["reading_id"] for row in rows if row["reader"] == "R2"} == {""}


def test_each_way_in_which_a_reading_ends(study: ReaderStudy) -> None:
    told = [
        (row["state"], row["counted"], row["option"], row["is_confirmed"], row["closed_by_time"], row["correct"])
        for row in rows_of(study)
        if row["reader"] == "R1" and row["block"] == "main"
    ]
    assert told == [
        ("answered", "answered", "B", True, False, True),
        ("answered", "answered", "C", True, False, False),
        ("declined", "declined", "", True, False, False),
        ("late", "late", "B", True, False, False),
        ("unconfirmed", "unconfirmed", "B", False, True, True),
        ("answered", "answered", "A", True, True, False),
        ("timed_out", "timed_out", "", False, True, False),
        ("", "missing", "", None, False, None),
    ]


def test_what_took_the_place_of_an_end_without_an_answer_and_what_it_replaced(study: ReaderStudy) -> None:
    """A choice that was made in time and came when the case was closed counts; it stays told how it was closed."""
    ran_out = Reading.objects.get(responses__state="timed_out")
    more = {"reading": ran_out, "is_confirmed": False, "state": "unconfirmed", "stored_at": NOON}
    for sequence, option in ((1, "C"), (2, "B")):
        Response.objects.create(option=option, choice_sequence=sequence, delivered_late=True, **more)
    rows = rows_of(study)
    assert [row["replaced"] for row in rows if row["replaced"]] == ["unconfirmed:B", "timed_out|unconfirmed:C"]
    last = rows[7]
    assert (last["state"], last["option"], last["correct"], last["closed_by_time"]) == ("unconfirmed", "B", True, True)


def test_what_was_said_beside_the_answer(study: ReaderStudy) -> None:
    first, second = rows_of(study)[1:3]
    assert (first["confidence"], first["slip_option"], first["faulty"]) == (80, "D", True)
    assert (first["faulty_text"], first["refused_answers"]) == ("=two clavicles", 1)
    assert (second["confidence"], second["slip_option"], second["faulty"]) == (None, "", False)
    assert {row["best_guess"] for row in rows_of(study)} == {""}
    assert [row["refused_answers"] for row in rows_of(study)[1:9]] == [1, 0, 0, 0, 0, 0, 0, 1]  # the last: never opened
    assert (first["active_ms"], first["elapsed_ms"], first["sittings"]) == (4200, 5000, 1)
    assert (first["time_rule"], first["time_flags"]) == ("active-1", "quiet|blurred")
    assert rows_of(study)[6]["unreadable"] == "image1"
    assert first["viewport"] == '{"views": [{"invert": true, "zoom": 2}, null]}'
    assert second["viewport"] == ""
    assert rows_of(study)[6]["delivered_late"] is True
    assert rows_of(study)[4]["limit_ms"] == 30_000


def test_the_newest_guess_of_who_could_not_tell(study: ReaderStudy) -> None:
    declined = Reading.objects.get(responses__state="declined")
    for key, value in (("g1", "A"), ("g2", "B")):
        Remark.objects.create(reading=declined, kind=RemarkKind.GUESS, value=value, key=key, at=NOON)
    row = rows_of(study)[3]
    assert (row["state"], row["option"], row["best_guess"], row["key"], row["correct"]) == (
        *("declined", "", "B", "B", False),
    )


def test_options_are_canonical_and_the_letter_on_screen_stands_beside_them(study: ReaderStudy) -> None:
    main = [row for row in rows_of(study) if row["reader"] == "R1" and row["block"] == "main"]
    assert {row["options_order"] for row in main} == {"CBDA"}
    assert [(row["option"], row["shown_option"]) for row in main[:3]] == [("B", "B"), ("C", "A"), ("", "")]


def test_what_a_mixed_model_needs_is_there(study: ReaderStudy) -> None:
    row = rows_of(study)[1]
    assert (row["task"], row["difficulty"], row["category"]) == ("negation", "hard", "CATEGORY-WORDS negation")
    assert (row["exam"], row["case"], row["revision"]) == ("xexam1", 1, 1)
    assert (row["arm"], row["information"], row["aid"], row["case_set"]) == (1, "none", "none", "All cases")
    assert (row["key"], row["study"], row["protocol_sha256"]) == ("B", "trial", study.protocol_sha256)


def test_key_and_correct_are_not_even_columns_before_closing(study: ReaderStudy) -> None:
    rows = rows_of(study, with_key=False)
    assert len(rows) == len(rows_of(study))
    assert not {"key", "correct"} & rows[0].keys()


def test_a_voided_case_stays_with_its_mark(study: ReaderStudy) -> None:
    cases = list(study.cases.filter(block="main"))
    void(cases[0])
    void(cases[1], before_unblinding=False)
    marked = [(row["case"], row["voided"]) for row in rows_of(study) if row["reader"] == "R1" and row["voided"]]
    assert marked == [(1, "before_unblinding"), (2, "after_unblinding")]


def test_readings_made_elsewhere_have_the_rows_that_no_file_brought(db: None) -> None:
    study = make_study("Old", n_cases=3, state=StudyState.CLOSED)
    reader = Enrolment.objects.create(
        study=study, case_set=study.sets.get(), pseudonym="Reader 1", source="a.csv", enrolled_at=NOON
    )
    case = study.cases.get(number=2)
    reading = Reading.objects.create(enrolment=reader, case=case, arm=study.arms.get(), position=7, closed_at=NOON)
    Response.objects.create(
        reading=reading, is_confirmed=True, state="answered", option="B", source="a.csv row 2", stored_at=NOON
    )
    told = [(r["case"], r["position"], r["counted"], r["source"], r["reader_state"]) for r in rows_of(study)]
    assert told == [
        (2, 7, "answered", "a.csv row 2", "imported"),
        (1, None, "missing", "", "imported"),
        (3, None, "missing", "", "imported"),
    ]


def test_the_number_of_statements_follows_the_readers_and_not_the_cases(
    rita: User, remo: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study = make_study("Many", n_cases=30)
    enrol(study, rita)
    enrol(study, remo)
    with django_assert_max_num_queries(4 + 2 * 5):
        assert len(rows_of(study)) == 60


# --- readers ---------------------------------------------------------------------------------------
FACTS = ReaderFacts(
    training="resident",
    years=3,
    chest_fellowship=False,
    films_per_week=40,
    display="monitor",
    exposure="some",
    exposure_text="=A talk",
)


def readers_of(study: ReaderStudy) -> list[dict[str, Any]]:
    return [dict(zip([column.name for column in READER_COLUMNS], row, strict=True)) for row in reader_rows(study)]


def test_what_each_reader_said_and_how_far_they_came(rita: User, remo: User) -> None:
    study = make_study("Trial", n_cases=1)
    Enrolment.objects.filter(pk=enrol(study, rita).pk).update(
        facts=FACTS.as_json(), display={"width": 1366}, finished_at=later(5), declared_at=later(6)
    )
    Enrolment.objects.filter(pk=enrol(study, remo).pk).update(facts={})
    Enrolment.objects.create(
        study=study, case_set=study.sets.get(), pseudonym="Reader 9", source="old.csv", enrolled_at=NOON
    )
    said, silent, imported = readers_of(study)
    for name, value in FACTS.as_json().items():
        assert said[name] == value
    assert (said["reader"], said["reader_state"], said["screen"]) == ("R1", "finished", '{"width": 1366}')
    assert (said["finished_at"], said["declared_at"]) == (later(5), later(6))
    assert (silent["training"], silent["years"], silent["chest_fellowship"]) == ("", None, None)
    assert (imported["reader_state"], imported["source"]) == ("imported", "old.csv")


def test_readers_can_be_taken_before_closing(rita: User) -> None:
    assert StudyTable.READERS not in HIDDEN_BEFORE_RESULTS


# --- into a copy of the study and out of it --------------------------------------------------------
ROWS = (
    ("Reader 1", "3", "B", "answered", "", "80", "4200", "1"),
    ("Reader 1", "1", "", "declined", "C", "25", "", "2"),
    ("Reader 1", "2", "D", "late", "", "", "61000", "3"),
    ("=Reader 2", "2", "A", "unconfirmed", "", "", "30000", ""),
    ("=Reader 2", "1", "", "timed_out", "", "", "", ""),
    ("=Reader 2", "3", "", "missing", "", "", "", ""),
)


@pytest.fixture
def closed(db: None, noon: datetime) -> ReaderStudy:
    return freeze_study(create_study(plan_for(make_questions(4), 3), actor=None, at=noon), actor=None, at=noon)


def file_of(rows: object) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([COLUMNS, *rows])  # type: ignore[misc]
    return text.getvalue().encode()


def exported(closed: ReaderStudy, noon: datetime) -> list[tuple[str, ...]]:
    file = io.BytesIO()
    export_table(closed, StudyTable.RESPONSES, Format.CSV, file, actor=None, at=noon)
    rows = csv.DictReader(io.StringIO(file.getvalue().decode(), newline=""))
    return [tuple(restored(row[name]) for name in COLUMNS) for row in rows]


def test_an_export_comes_out_of_a_copy_as_it_went_in(closed: ReaderStudy, cora: User, noon: datetime) -> None:
    assert import_responses(closed, name="a.csv", content=file_of(ROWS), actor=None, at=noon).stored
    close_study(closed, actor=cora, at=noon)
    first = exported(closed, noon)
    assert sorted(first) == sorted(ROWS)
    copy = freeze_study(copy_study(closed, actor=None, at=noon), actor=None, at=noon)
    assert import_responses(copy, name="b.csv", content=file_of(first), actor=None, at=noon).stored
    assert exported(copy, noon) == first
