"""More time, and letters before it ends."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime, timedelta
from smtplib import SMTPException

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.contributions import contributing_apps
from annotation.models import AuditEvent, Invitation, User
from annotation.people.invitations import revoke
from annotation.tables.writing import Format
from readerstudy.analysis.storing import see_analysis
from readerstudy.enrolment.inviting import invite_reader, remind_invited
from readerstudy.enrolment.reader_status import (
    extend_reader,
    extend_study,
    is_due,
    remind_reader,
    remind_unfinished,
    sweep_reminders,
)
from readerstudy.enums import StudyState
from readerstudy.exports.exporting import StudyTable, export_table
from readerstudy.models import Analysis, Enrolment, ReaderStudy
from readerstudy.predictions.looks import view_interim_results
from readerstudy.study.overview import deadline_of
from readerstudy.study.permissions import StudyRefused
from tests.conftest import NOON
from tests.emails import delivered
from tests.readerstudy.studies import enrol, make_study

DEADLINE = NOON + timedelta(days=30)
DAY = timedelta(days=1)


@pytest.fixture
def study(db: None, settings: Settings) -> ReaderStudy:
    settings.EMAIL_HOST = "smtp.example.org"
    return make_study(deadline_at=DEADLINE)


# --- extending ---


def test_a_study_is_extended_and_who_had_more_time_keeps_it(
    study: ReaderStudy, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    short, long = enrol(study, rita), enrol(study, remo)
    extend_reader(short, DEADLINE + DAY, actor=cora, at=noon)
    extend_reader(long, DEADLINE + 20 * DAY, actor=cora, at=noon)
    extend_study(study, DEADLINE + 10 * DAY, actor=cora, at=noon)
    found = [deadline_of(one) for one in Enrolment.objects.select_related("study").order_by("pk")]
    assert found == [DEADLINE + 10 * DAY, DEADLINE + 20 * DAY]
    facts = AuditEvent.objects.get(act="study.deadline_extended").facts
    assert facts == {"before": DEADLINE.isoformat(), "after": (DEADLINE + 10 * DAY).isoformat()}


def test_a_deadline_never_moves_earlier(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    enrolment = enrol(study, rita)
    for deadline in (DEADLINE, DEADLINE - DAY):
        with pytest.raises(StudyRefused, match="only moves later"):
            extend_study(study, deadline, actor=cora, at=noon)
        with pytest.raises(StudyRefused, match="only moves later"):
            extend_reader(enrolment, deadline, actor=cora, at=noon)
    with pytest.raises(StudyRefused, match="over already"):
        extend_study(study, DEADLINE + DAY, actor=cora, at=DEADLINE + 2 * DAY)
    study.refresh_from_db()
    assert study.deadline_at == DEADLINE
    assert not AuditEvent.objects.exists()


def test_more_time_for_one_is_measured_by_what_everybody_has_by_now(
    study: ReaderStudy, cora: User, rita: User, noon: datetime
) -> None:
    """Two coordinators at once: the page of the second was made before the first gave everybody more."""
    enrolment = enrol(study, rita)
    extend_study(ReaderStudy.objects.get(), DEADLINE + 10 * DAY, actor=cora, at=noon)
    with pytest.raises(StudyRefused, match="only moves later"):
        extend_reader(enrolment, DEADLINE + 5 * DAY, actor=cora, at=noon)
    assert deadline_of(Enrolment.objects.get()) == DEADLINE + 10 * DAY


@pytest.mark.logs("reader.deadline_extended")
def test_a_deadline_that_has_passed_can_be_extended(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    enrolment = enrol(study, rita)
    extend_reader(enrolment, DEADLINE + 3 * DAY, actor=cora, at=DEADLINE + DAY)
    assert deadline_of(enrolment) == DEADLINE + 3 * DAY


def test_what_cannot_be_extended(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    endless = make_study("Endless")
    with pytest.raises(StudyRefused, match="There is no deadline"):
        extend_study(endless, DEADLINE, actor=cora, at=noon)
    enrolment = enrol(study, rita)
    for column, words in (("finished_at", "has finished"), ("withdrawn_at", "has left"), ("replaced_at", "has left")):
        Enrolment.objects.update(finished_at=None, withdrawn_at=None, replaced_at=None)
        Enrolment.objects.update(**{column: noon})
        with pytest.raises(StudyRefused, match=words):
            extend_reader(enrolment, DEADLINE + DAY, actor=cora, at=noon)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    with pytest.raises(StudyRefused, match="Only an open study"):
        extend_study(study, DEADLINE + DAY, actor=cora, at=noon)


# --- reminding ---


@pytest.mark.parametrize(
    ("days_before", "joined_before", "reminded_before", "due"),
    [
        (8, 20, None, False),
        (7, 20, None, True),
        (3, 20, None, True),  # the worker was down on the day
        (3, 20, 6, False),
        (3, 5, None, False),  # joined after the first moment
        (1, 20, 6, True),
        (0.5, 20, 0.9, False),
        (0.5, 5, None, True),
        (0, 20, None, False),  # over
        (-1, 20, None, False),
    ],
)
def test_when_a_letter_is_due(
    rita: User, days_before: float, joined_before: float, reminded_before: float | None, due: bool
) -> None:
    enrolment = enrol(make_study(deadline_at=DEADLINE), rita, at=DEADLINE - joined_before * DAY)
    enrolment.reminded_at = None if reminded_before is None else DEADLINE - reminded_before * DAY
    assert is_due(enrolment, DEADLINE - days_before * DAY) is due


def test_the_sweep_sends_each_letter_once(study: ReaderStudy, rita: User, remo: User) -> None:
    enrol(study, rita)
    done = enrol(study, remo)
    Enrolment.objects.filter(pk=done.pk).update(finished_at=NOON)
    moments = [8, 7, 6.9, 3, 1, 0.9, 0.1, -1]
    assert [sweep_reminders(DEADLINE - days * DAY) for days in moments] == [0, 1, 0, 0, 1, 0, 0, 0]
    assert [letter.to for letter in delivered()] == [["rita@example.org"]] * 2
    assert "You have 3 cases left in the study “Trial”" in str(delivered()[0].body)
    assert "21 Dec 2026, 12:00 (UTC)" in str(delivered()[0].body)
    assert "/read/trial/" in str(delivered()[0].body)
    assert AuditEvent.objects.filter(act="reader.reminded", actor=None).count() == 2


def test_the_sweep_goes_by_a_readers_own_deadline(study: ReaderStudy, rita: User, remo: User, cora: User) -> None:
    enrol(study, rita)
    extend_reader(enrol(study, remo), DEADLINE + 10 * DAY, actor=cora, at=NOON)
    assert sweep_reminders(DEADLINE - DAY) == 1
    assert sweep_reminders(DEADLINE + 3 * DAY) == 1
    assert [letter.to for letter in delivered()] == [["rita@example.org"], ["remo@example.org"]]


@pytest.mark.parametrize("state", [StudyState.FROZEN, StudyState.CLOSED])
def test_only_readers_of_an_open_study_are_reminded(
    study: ReaderStudy, rita: User, cora: User, state: StudyState
) -> None:
    enrol(study, rita)
    ReaderStudy.objects.update(state=state)
    study.refresh_from_db()
    assert sweep_reminders(DEADLINE - DAY) == 0
    with pytest.raises(StudyRefused):
        remind_unfinished(study, actor=cora, at=NOON)
    with pytest.raises(StudyRefused):
        remind_reader(study.enrolments.get(), actor=cora, at=NOON)
    assert not delivered()


def test_without_a_mail_server_nothing_is_marked(
    study: ReaderStudy, rita: User, cora: User, settings: Settings
) -> None:
    enrolment = enrol(study, rita)
    settings.EMAIL_HOST = ""
    assert sweep_reminders(DEADLINE - DAY) == 0
    with pytest.raises(StudyRefused, match="no mail server"):
        remind_unfinished(study, actor=cora, at=NOON)
    enrolment.refresh_from_db()
    assert enrolment.reminded_at is None


def test_a_letter_that_fails_is_not_tried_every_few_seconds(
    study: ReaderStudy, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def broken(*args: object) -> int:
        tried.append(args)
        raise SMTPException

    monkeypatch.setattr("annotation.people.mailing.send_mail", broken)
    enrol(study, rita)
    assert [sweep_reminders(DEADLINE - DAY + timedelta(seconds=n)) for n in range(3)] == [1, 0, 0]
    for _again in range(2):
        delivered()
    assert len(tried) == 1


def test_reminding_on_request_leaves_out_who_has_finished(
    study: ReaderStudy, rita: User, remo: User, cora: User
) -> None:
    enrol(study, rita)
    done = enrol(study, remo)
    Enrolment.objects.filter(pk=done.pk).update(finished_at=NOON)
    assert remind_unfinished(study, actor=cora, at=NOON) == 1
    assert remind_reader(done, actor=cora, at=NOON) == 0


def test_the_worker_sweeps_reminders() -> None:
    assert sweep_reminders in [one for app in contributing_apps() for one in app.waiting_work().sweeps]


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
