"""The audit log has one writer at a time: a study is locked before it, so that no two acts wait for each other."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.exports.tables import Format
from annotation.models import AuditEvent, User
from readerstudy.analysis.seeing import see_analysis
from readerstudy.exports.exporting import Table, export_table
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.watching.breaking_glass import break_glass
from tests.readerstudy.studies import make_study

REASON = "The sponsor asked for a safety look."
Act = Callable[[ReaderStudy, User, datetime], object]


def _see(study: ReaderStudy, cora: User, at: datetime) -> object:
    analysis = Analysis(study=study, seed=1, settings={}, software={}, result="{}", created_at=at)
    return see_analysis(analysis, actor=cora, at=at, before_closing=REASON)


def _export(study: ReaderStudy, cora: User, at: datetime) -> object:
    file = io.BytesIO()
    return export_table(study, Table.RESPONSES, Format.CSV, file, actor=cora, at=at, before_closing=REASON)


def _break(study: ReaderStudy, cora: User, at: datetime) -> object:
    return break_glass(study, REASON, actor=cora, at=at)


@pytest.mark.parametrize("act", [_break, _export, _see])
def test_the_first_look_at_results_takes_the_study_before_the_log(act: Act, cora: User, noon: datetime) -> None:
    study = make_study()
    with CaptureQueriesContext(connection) as queries:
        act(study, cora, noon)
    asked = [query["sql"] for query in queries]
    unblinded = _first(asked, f'UPDATE "{ReaderStudy._meta.db_table}"')
    assert unblinded < _first(asked, AuditEvent._meta.db_table)


def _first(asked: list[str], words: str) -> int:
    return next(n for n, sql in enumerate(asked) if words in sql)
