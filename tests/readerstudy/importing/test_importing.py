"""Readings that were made elsewhere, stored in a study: all of a file or nothing, and only once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db.models import Model

from annotation.enums import IdentifierKind
from annotation.hashes import identifier_digest
from annotation.models import AuditEvent, SourceIdentifier, User
from readerstudy.enums import StudyState
from readerstudy.models import Arm, CaseSet, Enrolment, ReaderStudy, Reading, Remark, Response
from readerstudy.reading.response_import import ResponsesImported, import_responses
from tests.readerstudy.studies import enrol, make_study

HEADER = "reader,case,option,state,confidence,active_ms,position\n"
FILE = HEADER + (
    "Reader 1,key-1,B,answered,80,4200,2\n"
    "Reader 1,2,,declined,,,1\n"
    "Reader 1,3,C,late,,31000,3\n"
    "Reader 2,1,A,unconfirmed,,,\n"
    "Reader 2,key-2,,missing,,,\n"
)


@pytest.fixture
def study(db: None) -> ReaderStudy:
    study = make_study("Old", n_cases=4, n_practice=1, state=StudyState.FROZEN)
    for case in study.cases.select_related("revision__question"):
        question = case.revision.question
        key = f"key-{question.number}"
        SourceIdentifier.objects.create(
            digest=identifier_digest(IdentifierKind.QUESTION_KEY, key),
            kind=IdentifierKind.QUESTION_KEY,
            value=key,
            bank=study.bank,
            question_id=question.pk,
        )
    return study


def take(study: ReaderStudy, text: str, noon: datetime, *, dry_run: bool = False) -> ResponsesImported:
    return import_responses(study, name="old.csv", content=text.encode(), actor=None, at=noon, dry_run=dry_run)


def refused(study: ReaderStudy, text: str, noon: datetime) -> list[tuple[int, str, str]]:
    result = take(study, text, noon)
    assert not result.stored
    assert not Response.objects.exists()
    assert not Enrolment.objects.filter(reader__isnull=True).exists()
    return [(p.row, p.column, p.message) for p in result.problems]


def test_readers_without_an_account_and_what_they_said(study: ReaderStudy, noon: datetime) -> None:
    result = take(study, FILE, noon)
    assert (result.read, result.created, result.unchanged, result.readers) == (5, 5, 0, ["Reader 1", "Reader 2"])
    assert result.stored
    first, second = Enrolment.objects.order_by("pk")
    assert (first.pseudonym, first.reader, first.case_set) == ("Reader 1", None, study.sets.get())
    assert first.source == f"old.csv sha256:{result.sha256}"
    told = [
        (r.reading.case.number, r.state, r.option, r.is_confirmed, r.active_ms, r.time_rule, r.reading.position)
        for r in Response.objects.filter(reading__enrolment=first).order_by("pk")
    ]
    assert told == [
        (1, "answered", "B", True, 4200, "elsewhere", 2),
        (2, "declined", "", True, None, "", 1),
        (3, "late", "C", True, 31000, "elsewhere", 3),
    ]
    assert [(r.state, r.is_confirmed) for r in Response.objects.filter(reading__enrolment=second).order_by("pk")] == [
        ("unconfirmed", False),
        ("missing", False),
    ]
    assert [(r.kind, r.value, r.reading.case.number) for r in Remark.objects.all()] == [("confidence", "80", 1)]
    assert set(Reading.objects.values_list("closed_at", flat=True)) == {noon}
    assert not Reading.objects.filter(presented__isnull=False).exists()


GUESSED = "reader,case,option,state,best_guess,confidence\nReader 1,1,,declined,C,25\nReader 1,2,,declined,,\n"


def test_best_guesses_and_how_sure_they_were(study: ReaderStudy, noon: datetime) -> None:
    assert take(study, GUESSED, noon).created == 2
    assert take(study, GUESSED, noon).unchanged == 2
    assert sorted(Remark.objects.values_list("kind", "value", "reading__case__number")) == [
        ("confidence", "25", 1),
        ("guess", "C", 1),
    ]
    other = take(study, GUESSED.replace(",C,", ",B,"), noon)
    assert [(problem.row, "it is final" in problem.message) for problem in other.problems] == [(2, True)]


def test_each_row_keeps_where_it_came_from(study: ReaderStudy, noon: datetime) -> None:
    result = take(study, FILE, noon)
    sources = Response.objects.order_by("pk").values_list("source", flat=True)
    assert list(sources) == [f"old.csv sha256:{result.sha256} row {row}" for row in range(2, 7)]
    facts = AuditEvent.objects.get(act="study.responses_imported").facts
    assert facts == {"file": "old.csv", "sha256": result.sha256, "created": 5, "unchanged": 0}


def test_the_same_file_again_is_unchanged(study: ReaderStudy, noon: datetime) -> None:
    take(study, FILE, noon)
    again = take(study, FILE, noon + timedelta(days=1))
    assert (again.created, again.unchanged, again.readers, again.problems) == (0, 5, [], [])
    assert Response.objects.count() == 5
    assert AuditEvent.objects.filter(act="study.responses_imported").count() == 1


def test_a_further_file_of_the_same_reader_adds_what_is_new(study: ReaderStudy, noon: datetime) -> None:
    take(study, FILE, noon)
    more = take(study, FILE + "Reader 1,4,D,answered,,,4\n", noon)
    assert (more.created, more.unchanged, more.readers) == (1, 5, [])
    assert Enrolment.objects.count() == 2


@pytest.mark.parametrize(
    "row",
    [
        "Reader 1,1,C,answered,80,4200,2",
        "Reader 1,1,B,answered,60,4200,2",
        "Reader 1,1,B,answered,80,4201,2",
        "Reader 1,1,B,answered,80,4200,1",
        "Reader 1,1,B,unconfirmed,80,4200,2",
    ],
)
def test_a_stored_answer_is_final(study: ReaderStudy, noon: datetime, row: str) -> None:
    take(study, FILE, noon)
    result = take(study, HEADER + row + "\nReader 3,1,B,answered,,,\n", noon)
    assert [(problem.row, "it is final" in problem.message) for problem in result.problems] == [(2, True)]
    assert Response.objects.count() == 5
    assert not Enrolment.objects.filter(pseudonym="Reader 3").exists()


def test_a_dry_run_tells_and_stores_nothing(study: ReaderStudy, noon: datetime) -> None:
    result = take(study, FILE, noon, dry_run=True)
    assert (result.created, result.readers, result.stored) == (5, ["Reader 1", "Reader 2"], False)
    for table in (Response, Reading, Enrolment, Remark, AuditEvent):
        stored: type[Model] = table
        assert not stored._default_manager.exists()


def test_what_is_refused_names_row_and_reason(study: ReaderStudy, noon: datetime) -> None:
    text = HEADER + (
        "R,1,B,answered,,,\nR,99,B,answered,,,\nR,key-1001,B,answered,,,\nR,key-1,B,answered,,,\nS,1,Q,answered,,,\n"
    )
    assert refused(study, text, noon) == [
        (3, "case", "The study has no case '99' in its main block."),
        (4, "case", "The study has no case 'key-1001' in its main block."),
        (5, "case", "R has this case in row 2 already."),
        (6, "option", "The option 'Q' is none of A, B, C, D."),
    ]


def test_an_option_that_the_question_does_not_have(study: ReaderStudy, noon: datetime) -> None:
    revision = study.cases.get(block="main", number=1).revision
    revision.options = revision.options[:3]
    revision.save()
    [(row, column, message)] = refused(study, HEADER + "R,1,D,answered,,,\n", noon)
    assert (row, column, message) == (2, "option", "The question has 3 options; D is none.")


def test_a_name_that_a_reader_here_has(study: ReaderStudy, rita: User, noon: datetime) -> None:
    enrol(study, rita)
    [(row, column, message)] = refused(study, HEADER + "R1,1,B,answered,,,\n", noon)
    assert (row, column) == (2, "reader")
    assert message.startswith("R1 reads in this study here.")


def test_readers_are_not_told_apart_by_capital_letters(study: ReaderStudy, rita: User, noon: datetime) -> None:
    enrol(study, rita)
    assert refused(study, HEADER + "r1,1,B,answered,,,\nS,1,B,answered,,,\ns,2,B,answered,,,\n", noon) == [
        (2, "reader", "There is a reader R1. Use one spelling for each reader."),
        (4, "reader", "There is a reader S. Use one spelling for each reader."),
    ]


@pytest.mark.parametrize(
    "again", ["JOS\u00c9  R", "Jose\u0301 R", "\uff2aos\u00e9 R"], ids=["capitals and blanks", "accent apart", "wide"]
)
def test_one_name_in_two_unicode_forms_is_one_reader(study: ReaderStudy, noon: datetime, again: str) -> None:
    text = HEADER + f"Jos\u00e9 R,1,B,answered,,,\n{again},2,B,answered,,,\n"
    assert refused(study, text, noon) == [
        (3, "reader", "There is a reader Jos\u00e9 R. Use one spelling for each reader.")
    ]


def test_a_place_in_the_order_that_a_stored_reading_has(study: ReaderStudy, noon: datetime) -> None:
    take(study, FILE, noon)
    more = take(study, HEADER + "Reader 1,4,D,answered,,,3\nReader 2,4,D,answered,,,3\n", noon)
    assert [tuple(one) for one in more.problems] == [
        (2, "position", "A stored reading of Reader 1 has position 3 already.")
    ]
    assert Response.objects.count() == 5


def test_a_draft_takes_no_readings_and_every_later_state_does(study: ReaderStudy, noon: datetime) -> None:
    for state in StudyState:
        ReaderStudy.objects.update(state=state)
        result = take(study, FILE, noon)
        assert bool(result.problems) is (state == StudyState.DRAFT)


def test_a_study_of_several_arms_is_not_guessed_at(study: ReaderStudy, noon: datetime) -> None:
    Arm.objects.create(study=study, number=2)
    [(row, _column, message)] = refused(study, FILE, noon)
    assert (row, message) == (0, "The study has several arms; a file of readings does not say which.")


def test_a_reader_gets_the_smallest_set_that_holds_their_cases(study: ReaderStudy, noon: datetime) -> None:
    cases = list(study.cases.filter(block="main").order_by("number"))
    small = CaseSet.objects.create(study=study, number=2, name="First three")
    small.cases.set(cases[:3])
    take(study, FILE + "Reader 3,4,A,answered,,,\n", noon)
    sets = dict(Enrolment.objects.values_list("pseudonym", "case_set__name"))
    assert sets == {"Reader 1": "First three", "Reader 2": "First three", "Reader 3": "All cases"}


def test_cases_of_no_common_set_are_refused(study: ReaderStudy, noon: datetime) -> None:
    cases = list(study.cases.filter(block="main").order_by("number"))
    study.sets.get().cases.set(cases[:2])
    [(row, column, message)] = refused(study, HEADER + "R,1,B,answered,,,\nR,3,B,answered,,,\n", noon)
    assert (row, column, message) == (2, "reader", "No case set of the study holds all cases of R.")
