"""What a paper must report of the readers, as a table."""

from __future__ import annotations

from typing import Any

from annotation.models import User
from readerstudy.enrolment.kernels.steps import ReaderFacts
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, READER_COLUMNS, StudyTable, reader_rows
from readerstudy.models import Enrolment, ReaderStudy
from tests.annotation.review.cases import NOON
from tests.readerstudy.studies import enrol, later, make_study

FACTS = ReaderFacts(
    training="resident",
    years=3,
    chest_fellowship=False,
    films_per_week=40,
    display="monitor",
    exposure="some",
    exposure_text="=A talk",
)


def rows_of(study: ReaderStudy) -> list[dict[str, Any]]:
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
    said, silent, imported = rows_of(study)
    for name, value in FACTS.as_json().items():
        assert said[name] == value
    assert (said["reader"], said["reader_state"], said["screen"]) == ("R1", "finished", '{"width": 1366}')
    assert (said["finished_at"], said["declared_at"]) == (later(5), later(6))
    assert (silent["training"], silent["years"], silent["chest_fellowship"]) == ("", None, None)
    assert (imported["reader_state"], imported["source"]) == ("imported", "old.csv")


def test_readers_can_be_taken_before_closing(rita: User) -> None:
    assert StudyTable.READERS not in HIDDEN_BEFORE_RESULTS
