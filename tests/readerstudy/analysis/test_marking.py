"""The mark of the inputs: every change that counts moves it, and nothing is read again while it stands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.models import User
from readerstudy.analysis import gathering
from readerstudy.analysis.gathering import gather, gathered, kept_inputs, mark_of
from readerstudy.analysis.storing import inputs_now
from readerstudy.enums import RemarkKind, StudyState
from readerstudy.models import Enrolment, InputsMark, ModelEntry, PredictionRun, ReaderStudy, Reading, Remark, Response
from readerstudy.predictions.entries import edit_model, replace_model, withdraw_model
from readerstudy.predictions.runs import name_run, withdraw_run
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import predict
from tests.readerstudy.exports.read_study import read, read_study, void
from tests.readerstudy.studies import later, places_of

Change = Callable[[ReaderStudy], object]


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    """Read by one reader; one model with a repeat, another with one run."""
    study = read_study(rita, remo, state=StudyState.CLOSED)
    predict(study, "Alpha", "BBBBBBBB", NOON)
    predict(study, "Alpha", "AAAAAAAA", NOON, is_named=False)
    predict(study, "Beta", "CCCCCCCC", NOON)
    return study


@pytest.fixture
def readings_of_inputs(monkeypatch: pytest.MonkeyPatch) -> list[ReaderStudy]:
    """Every time that the inputs were read as a whole."""
    read: list[ReaderStudy] = []

    def counted(study: ReaderStudy) -> object:
        read.append(study)
        return gather(study)

    monkeypatch.setattr(gathering, "gather", counted)
    return read


def reader() -> Enrolment:
    return Enrolment.objects.get(pseudonym="R1")


def alpha(*, named: bool) -> PredictionRun:
    return PredictionRun.objects.get(entry__name="Alpha", is_named=named)


def answer(study: ReaderStudy) -> None:
    read(places_of(reader())[7], {"option": "A"})


def commit_that_was_made_in_time(study: ReaderStudy) -> None:
    unconfirmed = Reading.objects.get(enrolment=reader(), case__number=5, case__block="main")
    Response.objects.create(
        reading=unconfirmed, is_confirmed=True, state="answered", option="A", stored_at=later(9), committed_at=later(9)
    )


def remark(kind: str, value: str) -> Change:
    def say(study: ReaderStudy) -> None:
        reading = Reading.objects.get(enrolment=reader(), case__number=2, case__block="main")
        Remark.objects.create(reading=reading, kind=kind, value=value, key=f"new {kind}", at=NOON)

    return say


CHANGES: dict[str, Change] = {
    "an answer": answer,
    "a commit that was made in time": commit_that_was_made_in_time,
    "a voiding": lambda study: void(study.cases.get(block="main", number=1)),
    "a voiding after unblinding": lambda study: void(
        study.cases.get(block="main", number=1), before_unblinding=False, reason="two valid"
    ),
    "a confidence": remark(RemarkKind.CONFIDENCE, "60"),
    "a best guess": remark(RemarkKind.GUESS, "A"),
    "a slip": remark(RemarkKind.SLIP, "A"),
    "a reader withdraws": lambda study: Enrolment.objects.filter(pseudonym="R1").update(withdrawn_at=NOON),
    "a reader is replaced": lambda study: Enrolment.objects.filter(pseudonym="R1").update(replaced_at=NOON),
    "a reader finishes": lambda study: Enrolment.objects.filter(pseudonym="R1").update(finished_at=NOON),
    "a new model": lambda study: predict(study, "Gamma", "DDDDDDDD", NOON),
    "another run is named": lambda study: name_run(alpha(named=False), actor=None, at=NOON),
    "a run is withdrawn": lambda study: withdraw_run(alpha(named=True), "wrong prompt", actor=None, at=NOON),
    "a model is withdrawn": lambda study: withdraw_model(
        ModelEntry.objects.get(name="Beta"), "was trained on the bank", actor=None, at=NOON
    ),
    "a model is replaced": lambda study: replace_model(
        ModelEntry.objects.get(name="Beta"), {"name": "Beta", "version": "2"}, actor=None, at=NOON
    ),
    "a model has another version": lambda study: edit_model(
        ModelEntry.objects.get(name="Beta"), {"version": "1.1"}, actor=None, at=NOON
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_counts_is_noticed(study: ReaderStudy, change: Change) -> None:
    before = inputs_now(study)
    change(study)
    assert kept_inputs(study) is None
    assert inputs_now(study) == gather(study).sha256() != before
    assert kept_inputs(study) == gather(study).sha256()


def test_nothing_is_read_while_nothing_is_stored(study: ReaderStudy, readings_of_inputs: list[ReaderStudy]) -> None:
    first = inputs_now(study)
    ReaderStudy.objects.update(archived_at=NOON, unblinded_at=NOON)
    study.refresh_from_db()
    assert inputs_now(study) == inputs_now(study) == first
    assert len(readings_of_inputs) == 1


def test_what_does_not_count_is_read_once(study: ReaderStudy, readings_of_inputs: list[ReaderStudy]) -> None:
    first = inputs_now(study)
    remark(RemarkKind.FAULT, "")(study)
    assert inputs_now(study) == inputs_now(study) == first
    assert len(readings_of_inputs) == 2


def test_a_row_with_a_lower_number_that_comes_later_is_noticed(study: ReaderStudy) -> None:
    """Of two transactions the second can be stored first: the highest number then stays as it is."""
    highest = Remark.objects.order_by("pk").last()
    assert highest is not None
    reading = Reading.objects.get(enrolment=reader(), case__number=2, case__block="main")
    said = {"reading": reading, "kind": RemarkKind.CONFIDENCE, "value": "60", "at": NOON}
    Remark.objects.create(pk=highest.pk + 100, key="second", **said)
    before = inputs_now(study)
    Remark.objects.create(pk=highest.pk + 50, key="first", **{**said, "kind": RemarkKind.SLIP, "value": "A"})
    assert kept_inputs(study) is None
    assert inputs_now(study) != before


def test_what_was_stored_while_reading_is_not_kept(study: ReaderStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(study: ReaderStudy) -> object:
        arrays = gather(study)
        void(study.cases.get(block="main", number=1))
        return arrays

    monkeypatch.setattr(gathering, "gather", interrupted)
    gathered(study)
    assert not InputsMark.objects.exists()


def test_another_study_leaves_the_mark(study: ReaderStudy, rita: User) -> None:
    before = mark_of(study)
    other = ReaderStudy.objects.create(name="Other", slug="other", bank=study.bank, created_at=NOON)
    assert mark_of(other) != before == mark_of(study)


def test_it_costs_nine_queries(
    study: ReaderStudy, noon: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    inputs_now(study)
    for number in range(3):
        predict(study, f"Model {number}", "A" * 8, noon)
    # arms, responses, remarks, voidings, readers, runs, and the mark that was kept
    with django_assert_num_queries(9):
        kept_inputs(study)
