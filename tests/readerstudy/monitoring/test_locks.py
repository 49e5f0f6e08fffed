"""The audit log has one writer at a time: a study is locked before it, so that no two acts wait for each other."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.exports.tables import Format
from annotation.models import AuditEvent, Invitation, User
from annotation.people.invitations import revoke
from readerstudy.analysis.storing import see_analysis
from readerstudy.enrolment.inviting import invite_reader, remind_invited
from readerstudy.exports.exporting import StudyTable, export_table
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.predictions.looks import view_interim_results
from tests.readerstudy.studies import make_study

REASON = "The sponsor asked for a safety look."
Act = Callable[[ReaderStudy, User, datetime], object]


def _see(study: ReaderStudy, cora: User, at: datetime) -> object:
    analysis = Analysis(study=study, seed=1, settings={}, software={}, result="{}", created_at=at)
    return see_analysis(analysis, actor=cora, at=at, before_closing=REASON)


def _export(study: ReaderStudy, cora: User, at: datetime) -> object:
    file = io.BytesIO()
    return export_table(study, StudyTable.RESPONSES, Format.CSV, file, actor=cora, at=at, before_closing=REASON)


def _break(study: ReaderStudy, cora: User, at: datetime) -> object:
    return view_interim_results(study, REASON, actor=cora, at=at)


@pytest.mark.parametrize("act", [_break, _export, _see])
def test_the_first_look_at_results_takes_the_study_before_the_log(act: Act, cora: User, noon: datetime) -> None:
    study = make_study()
    with CaptureQueriesContext(connection) as queries:
        act(study, cora, noon)
    asked = [query["sql"] for query in queries]
    unblinded = _first(asked, f'UPDATE "{ReaderStudy._meta.db_table}"')
    assert unblinded < _first(asked, AuditEvent._meta.db_table)


@pytest.mark.parametrize("act", [remind_invited, revoke])
def test_a_link_is_held_after_its_study_as_by_whoever_replaces_a_reader(
    act: Callable[..., object], cora: User, noon: datetime
) -> None:
    """A replacement holds study and log when it ends the open link of the same address."""
    study = make_study()
    invited = invite_reader(study, study.sets.get(), email="n@example.org", name="", actor=cora, at=noon).invitation
    with CaptureQueriesContext(connection) as queries:
        act(invited, actor=cora, at=noon)
    asked = [query["sql"] for query in queries]
    assert _first(asked, f'FROM "{ReaderStudy._meta.db_table}"') < _first(asked, f'FROM "{Invitation._meta.db_table}"')


def _first(asked: list[str], words: str) -> int:
    return next(n for n, sql in enumerate(asked) if words in sql)
