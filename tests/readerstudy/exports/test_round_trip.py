"""What an export holds can be imported into a copy of the study, and comes out of it as it went in."""

from __future__ import annotations

import csv
import io
from datetime import datetime

import pytest

from annotation.exports.tables import Format, restored
from annotation.models import User
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design.creating import copy_study, create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.exports.exporting import StudyTable, export_table
from readerstudy.models import ReaderStudy
from readerstudy.reading.kernels.response_file import COLUMNS
from readerstudy.reading.response_import import import_responses
from tests.readerstudy.design.made import make_questions, plan_for

ROWS = (
    ("Reader 1", "3", "B", "answered", "", "80", "4200", "1"),
    ("Reader 1", "1", "", "declined", "C", "25", "", "2"),
    ("Reader 1", "2", "D", "late", "", "", "61000", "3"),
    ("=Reader 2", "2", "A", "unconfirmed", "", "", "30000", ""),
    ("=Reader 2", "1", "", "timed_out", "", "", "", ""),
    ("=Reader 2", "3", "", "missing", "", "", "", ""),
)


@pytest.fixture
def study(db: None, noon: datetime) -> ReaderStudy:
    return freeze_study(create_study(plan_for(make_questions(4), 3), actor=None, at=noon), actor=None, at=noon)


def file_of(rows: object) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([COLUMNS, *rows])  # type: ignore[misc]
    return text.getvalue().encode()


def exported(study: ReaderStudy, noon: datetime) -> list[tuple[str, ...]]:
    file = io.BytesIO()
    export_table(study, StudyTable.RESPONSES, Format.CSV, file, actor=None, at=noon)
    rows = csv.DictReader(io.StringIO(file.getvalue().decode(), newline=""))
    return [tuple(restored(row[name]) for name in COLUMNS) for row in rows]


def test_an_export_comes_out_of_a_copy_as_it_went_in(study: ReaderStudy, cora: User, noon: datetime) -> None:
    assert import_responses(study, name="a.csv", content=file_of(ROWS), actor=None, at=noon).stored
    close_study(study, actor=cora, at=noon)
    first = exported(study, noon)
    assert sorted(first) == sorted(ROWS)
    copy = freeze_study(copy_study(study, actor=None, at=noon), actor=None, at=noon)
    assert import_responses(copy, name="b.csv", content=file_of(first), actor=None, at=noon).stored
    assert exported(copy, noon) == first
