"""Which question or case a file means: by its own id (that of the imported file), or by its number in the bank."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from django.utils.translation import gettext as _

from annotation.models import Question, QuestionBank, Revision
from annotation.questionbank.known import AT_ONCE, questions_with_keys
from readerstudy.design.kernels.documents import DesignRefused
from readerstudy.models import ReaderStudy, StudyCase

Name = int | str
MOST_NUMBER = 2**31 - 1
LONGEST_NUMBER = 20  # digits, zeros before it included
MOST_LISTED = 100_000  # questions of one list, those of its ranges included
_between = re.compile(r"[\s,;]+")
_range = re.compile(r"#?(\d{1,9})(?:-|–|\.\.)#?(\d{1,9})", re.ASCII)
_numbered = re.compile(r"#(\d{1,9})", re.ASCII)


def listed_names(bank: QuestionBank, lines: Sequence[str]) -> list[Name]:
    """The questions that a list names, in its order: ids of the imported file, numbers, and ranges of numbers.

    A line that is an id stands for that question; any other line is split at commas, semicolons and blanks into ids,
    numbers and ranges such as 12-40. What is an id is never read as a number: "#12" is always the number.
    Whether the bank has what is named is for find_revisions to say.
    """
    whole = [line.strip() for line in lines if line.strip()]
    words = {word for line in whole for word in _between.split(line)}
    ids = questions_with_keys(bank.pk, {*whole, *words}).keys()
    names: list[Name] = []
    for line in whole:
        for word in [line] if line in ids else filter(None, _between.split(line)):
            names += [word] if word in ids else _numbers_in(word)
            if len(names) > MOST_LISTED:
                raise DesignRefused("bad_list", _("The list names more than %(n)d questions.") % {"n": MOST_LISTED})
    return names


def _numbers_in(word: str) -> Sequence[Name]:
    if found := _numbered.fullmatch(word):
        return [int(found[1])]
    if (found := _range.fullmatch(word)) is None:
        return [word]
    first, last = int(found[1]), int(found[2])
    if not 0 < first <= last:
        raise DesignRefused("bad_list", _("“%(range)s” is no range: write the smaller number first.") % {"range": word})
    return range(first, min(last, first + MOST_LISTED) + 1)


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
