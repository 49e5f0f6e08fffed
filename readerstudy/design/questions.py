"""The questions of a bank as studies meet them: which one a name means, which may be used, how many there are."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from django.db.models import Count
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import Difficulty, QuestionState, Task
from annotation.files.kernels.cells import read_cell
from annotation.ingest.completeness import has_lost_images
from annotation.models import Question, QuestionBank, Revision
from annotation.models.question import RevisionQuerySet
from annotation.questionbank.bank_life import generated_in, holds_generated
from annotation.questionbank.priors import Patients, patients_of, questions_with_keys
from readerstudy.design.kernels.documents import DesignRefused
from readerstudy.design.kernels.drawing import Candidate, Cell
from readerstudy.models import ReaderStudy, StudyCase

Name = int | str
CHUNK = 5_000  # rows, or numbers in one query
AT_ONCE = 500  # ids in one query
MOST_NUMBER = 2**31 - 1
LONGEST_NUMBER = 20  # digits, zeros before it included
MOST_LISTED = 100_000  # questions of one list, those of its ranges included
_between = re.compile(r"[\s,;]+")
_range = re.compile(r"#?(\d{1,9})(?:-|–|\.\.)#?(\d{1,9})", re.ASCII)
_numbered = re.compile(r"#(\d{1,9})", re.ASCII)


def listed_names(bank: QuestionBank, lines: Sequence[str]) -> list[Name]:
    """The questions that a list names, in its order: ids of the imported file, numbers, and ranges of numbers.

    A line that is an id means that question; any other line is split at commas, semicolons and blanks into ids,
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
    """The id of each question of the bank that is named, by key, also as a CSV of ours marks it, or by number."""
    keys = {name for name in names if isinstance(name, str)}
    found: dict[Name, int] = {}
    found.update(questions_with_keys(bank.pk, keys).items())
    marked = {name: key for name in keys - found.keys() if (key := read_cell(name)) != name}
    plain = questions_with_keys(bank.pk, marked.values())
    found |= {name: plain[key] for name, key in marked.items() if key in plain}
    number_of = {name: number for name in names if name not in found and (number := _number(name)) is not None}
    ids = _by_number(bank, set(number_of.values()))
    return {**found, **{name: ids[number] for name, number in number_of.items() if number in ids}}


def _number(name: Name) -> int | None:
    if isinstance(name, str):
        if not (name.isascii() and name.isdigit() and len(name) <= LONGEST_NUMBER):
            return None
        name = int(name)
    return name if 0 < name <= MOST_NUMBER else None


def in_parts(ids: Sequence[int], most: int = AT_ONCE) -> Iterator[Sequence[int]]:
    """Ids as one query after the other takes them."""
    return (ids[start : start + most] for start in range(0, len(ids), most))


def _by_number(bank: QuestionBank, numbers: Collection[int]) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for some in in_parts(sorted(numbers), CHUNK):
        found.update(Question.objects.filter(bank=bank, number__in=some).order_by().values_list("number", "pk"))
    return found


# --- which may be used ----------------------------------------------------------------------------
CONTESTED = (QuestionState.DISPUTED, QuestionState.NEEDS_REVISION, QuestionState.REJECTED)


def accepted_among(revision_ids: Collection[int]) -> set[int]:
    """Of these wordings, those that are accepted; the others need a reason."""
    return _among(revision_ids, Revision.objects.accepted())


def contested_among(revision_ids: Collection[int]) -> set[int]:
    """Of these wordings, those that were judged and not accepted."""
    return _among(revision_ids, Revision.objects.current().filter(question__state__in=CONTESTED))


def _among(revision_ids: Collection[int], rows: RevisionQuerySet) -> set[int]:
    parts = in_parts(sorted(revision_ids), CHUNK)
    return {pk for part in parts for pk in rows.filter(pk__in=part).values_list("pk", flat=True)}


def awaiting_review(bank: QuestionBank) -> dict[int, Cell]:
    """Current wordings of generated questions that are not accepted: no study takes them, whatever the reason."""
    if not holds_generated(bank):
        return {}
    accepted = Revision.objects.in_bank(bank).accepted().order_by().values("pk")
    rows = Revision.objects.in_bank(bank).current().filter(question__in=generated_in(bank)).exclude(pk__in=accepted)
    return {pk: (task, difficulty) for pk, task, difficulty in rows.order_by().values_list("pk", "task", "difficulty")}


def candidates_of(bank: QuestionBank) -> list[Candidate]:
    """Every current question of the bank that can be drawn, by number; a generated one only once it is accepted."""
    found = _candidates(drawable(bank).order_by("question__number"), patients_of(bank.pk))
    awaiting = awaiting_review(bank)
    return [one for one in found if one.revision_id not in awaiting] if awaiting else found


def drawable(bank: QuestionBank) -> RevisionQuerySet:
    """Current questions. One whose exam lost an image is never drawn: it can be listed, with a reason."""
    return Revision.objects.in_bank(bank).current().exclude(has_lost_images(bank))


def n_with_lost_images(bank: QuestionBank) -> int:
    """How many current questions of the bank are not drawable."""
    return Revision.objects.in_bank(bank).current().filter(has_lost_images(bank)).count()


def candidates_among(bank: QuestionBank, ids: Sequence[int]) -> list[Candidate]:
    """The wordings with these ids: the cost is that of the ids and of the bank's priors."""
    patients = patients_of(bank.pk)
    parts = (Revision.objects.filter(pk__in=part).order_by() for part in in_parts(ids))
    return [one for rows in parts for one in _candidates(rows, patients)]


def _candidates(rows: RevisionQuerySet, patients: Patients) -> list[Candidate]:
    columns = rows.values_list(
        *("pk", "question__number", "task", "difficulty"),
        *("question__exam__patient_pseudonym", "question__exam__pseudonym"),
    )
    return [
        Candidate(revision_id, number, task, difficulty, patients.name(patient, exam))
        for revision_id, number, task, difficulty, patient, exam in columns.iterator(chunk_size=CHUNK)
    ]


def pool_of(bank: QuestionBank) -> list[Candidate]:
    """The accepted questions, by number."""
    return _candidates(drawable(bank).accepted().order_by("question__number"), patients_of(bank.pk))


def mates_of_patient(bank: QuestionBank, revision_ids: Collection[int]) -> dict[str, list[int]]:
    """Patients (or exams, where none is known) with several of these questions: the numbers of their questions."""
    rows = Revision.objects.filter(pk__in=revision_ids).values_list(
        "question__number", "question__exam__patient_pseudonym", "question__exam__pseudonym"
    )
    patients = patients_of(bank.pk)
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, patient, exam in rows:
        numbers[patients.name(patient, exam)].append(number)
    return {patient: sorted(found) for patient, found in numbers.items() if len(found) > 1}


class PoolCell(Struct, frozen=True):
    """Current questions of one cell: accepted by review, and those that would need a reason."""

    task: str
    difficulty: str
    n_accepted: int
    n_other: int

    @property
    def n(self) -> int:
        return self.n_accepted + self.n_other


def pool_cells(bank: QuestionBank) -> dict[Cell, PoolCell]:
    """Every cell of the vocabularies, in their order; counted by the database, so that a large bank costs little."""
    every = drawable(bank).order_by().values_list("task", "difficulty").annotate(n=Count("pk"))
    counts: Counter[Cell] = Counter({(task, difficulty): n for task, difficulty, n in every})
    awaiting = awaiting_review(bank)
    if awaiting:
        there = [
            pk
            for part in in_parts(sorted(awaiting))
            for pk in drawable(bank).filter(pk__in=part).values_list("pk", flat=True)
        ]
        counts.subtract(awaiting[pk] for pk in there)
    accepted = Counter(one.cell for one in pool_of(bank))
    cells = [(task, difficulty) for task in Task.values() for difficulty in Difficulty.values()]
    return {cell: PoolCell(*cell, accepted[cell], counts[cell] - accepted[cell]) for cell in cells}
