"""After many rows were written, the database counts its tables anew, so that the next query is planned for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from annotation.site import sorted_tables
from readerstudy.enums import StudyState
from readerstudy.predictions.listing import Target
from readerstudy.reading.response_import import import_responses
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def questions(folder: Path) -> Callable[[], object]:
    path = write_file(folder, {"q1": make_record()})
    return lambda: run_import(path)


def predictions(_folder: Path) -> Callable[[], object]:
    bank = keyed_bank()
    return lambda: import_file(entry_named(), Target(bank), answers(Q1="B"))


def responses(_folder: Path) -> Callable[[], object]:
    study = make_study("Old", state=StudyState.FROZEN, opened_at=None, n_orders=0)
    content = b"reader,case,option,state\nR1,1,A,answered\n"
    return lambda: import_responses(study, name="old.csv", content=content, actor=None, at=NOON)


@pytest.mark.parametrize(
    ("prepared", "tables"),
    [
        (questions, "answerkey exam image question report revision sourceidentifier"),
        (predictions, "prediction"),
        (responses, "reading remark response"),
    ],
)
@pytest.mark.parametrize("few", [0, 1_000])
def test_tables_are_counted_anew_once_an_import_is_committed(
    prepared: Callable[[Path], Callable[[], object]],
    tables: str,
    few: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    monkeypatch.setattr(sorted_tables, "FEW", few)
    act = prepared(tmp_path)
    with CaptureQueriesContext(connection) as queries, django_capture_on_commit_callbacks(execute=True):
        act()
        assert not any(one["sql"].startswith("ANALYZE") for one in queries)
    counted = {found[1] for one in queries if (found := re.match(r'ANALYZE "[a-z]+_(\w+)"', one["sql"]))}
    assert counted == (set() if few else set(tables.split()))
