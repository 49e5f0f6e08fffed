"""Which question or case a file means: by its key at the source, or by its number in the bank."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from annotation.models import Question, QuestionBank, Revision
from annotation.questionbank.known import AT_ONCE, questions_with_keys
from readerstudy.models import ReaderStudy, StudyCase

Name = int | str
MOST_NUMBER = 2**31 - 1
LONGEST_NUMBER = 20  # digits, zeros before it included


def find_revisions(bank: QuestionBank, names: Collection[Name]) -> dict[Name, Revision]:
    """The current revision of each question of the bank that is named; names that mean nothing are left out.

    A text is first looked up as a key, then, if it is a whole number, as the number of the question.
    """
    question_of = questions_named(bank, names)
    revisions = Revision.objects.in_bank(bank).current().filter(question__in=set(question_of.values()))
    by_question = {revision.question_id: revision for revision in revisions.select_related("question")}
    return {name: by_question[pk] for name, pk in question_of.items() if pk in by_question}


def find_cases(study: ReaderStudy, names: Collection[Name]) -> dict[Name, StudyCase]:
    """The cases of the study whose questions are named, in the wording of the study."""
    question_of = questions_named(study.bank, names)
    cases = StudyCase.objects.filter(study=study).select_related("revision")
    by_question = {case.revision.question_id: case for case in cases}
    return {name: by_question[pk] for name, pk in question_of.items() if pk in by_question}


def questions_named(bank: QuestionBank, names: Collection[Name]) -> dict[Name, int]:
    """The id of each question of the bank that is named, by key or by number."""
    keys = {name for name in names if isinstance(name, str)}
    found: dict[Name, int] = {}
    found.update(questions_with_keys(bank.pk, keys).items())
    number_of = {name: number for name in names if name not in found and (number := _number(name)) is not None}
    ids = _by_number(bank, set(number_of.values()))
    return {**found, **{name: ids[number] for name, number in number_of.items() if number in ids}}


def _number(name: Name) -> int | None:
    if isinstance(name, str):
        if not (name.isascii() and name.isdigit() and len(name) <= LONGEST_NUMBER):
            return None
        name = int(name)
    return name if 0 < name <= MOST_NUMBER else None


def _by_number(bank: QuestionBank, numbers: Collection[int]) -> Mapping[int, int]:
    listed = sorted(numbers)
    found: dict[int, int] = {}
    for start in range(0, len(listed), AT_ONCE):
        rows = Question.objects.filter(bank=bank, number__in=listed[start : start + AT_ONCE])
        found.update(rows.order_by().values_list("number", "pk"))
    return found
