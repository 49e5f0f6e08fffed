"""Which questions of a bank a study may use and why, and how many there are by task and difficulty."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef

from annotation.enums import AssignmentState, Difficulty, Task, Verdict
from annotation.ingest.completeness import lost_exams
from annotation.models import QuestionBank, Review, Revision
from annotation.models.question import RevisionQuerySet
from annotation.questionbank.priors import Patients, patients_of
from annotation.review.kernels.form import is_accepting
from readerstudy.design.kernels.drawing import Candidate, Cell

CHUNK = 5_000
AT_ONCE = 500  # ids in one query


NOT_ACCEPTED = "accept, with a wrong key"


def verdicts_on(bank: QuestionBank) -> dict[int, set[str]]:
    """The verdicts of all reviews that count on each revision of the bank: the newest of each reviewer and round.

    Reviews of assignments that were withdrawn do not count. An older review that says accept beside a wrong key, or
    beside no valid option, counts as NOT_ACCEPTED.
    """
    later = Review.objects.filter(assignment=OuterRef("assignment"), version__gt=OuterRef("version"))
    rows = (
        Review.objects.filter(~Exists(later), assignment__revision__bank=bank)
        .exclude(assignment__state=AssignmentState.WITHDRAWN)
        .order_by()
        .values_list("assignment__revision", "verdict", "flags")
    )
    found: dict[int, set[str]] = defaultdict(set)
    for revision_id, verdict, flags in rows:
        contradicts = verdict == Verdict.ACCEPT and not is_accepting(verdict, flags)
        found[revision_id].add(NOT_ACCEPTED if contradicts else verdict)
    return dict(found)


def is_accepted(verdicts: Collection[str] | None) -> bool:
    """At least one review, and every one of them says accept."""
    return bool(verdicts) and set(verdicts or ()) == {Verdict.ACCEPT}


def accepted_in(bank: QuestionBank) -> list[int]:
    """The revisions of the bank that every review accepts, at least one; whether they are current is not asked."""
    return [pk for pk, verdicts in verdicts_on(bank).items() if is_accepted(verdicts)]


def candidates_of(bank: QuestionBank) -> list[Candidate]:
    """Every current question of the bank that can be drawn, by number."""
    return _candidates(drawable(bank).order_by("question__number"), patients_of(bank.pk))


def drawable(bank: QuestionBank) -> RevisionQuerySet:
    """Current questions. One whose exam lost an image is never drawn: it can be listed, with a reason."""
    return Revision.objects.in_bank(bank).current().exclude(question__exam__in=lost_exams(bank))


def candidates_among(bank: QuestionBank, rows: RevisionQuerySet, ids: Sequence[int]) -> list[Candidate]:
    """Those of the rows that have one of these ids, by number: the cost is that of the ids and of the bank's priors."""
    patients = patients_of(bank.pk)
    parts = (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))
    found = [one for part in parts for one in _candidates(rows.filter(pk__in=part).order_by(), patients)]
    return sorted(found, key=lambda one: one.number)


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
    """The questions that every review accepts, at least one, in their current wording."""
    return candidates_among(bank, drawable(bank), accepted_in(bank))


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


@dataclass(frozen=True)
class PoolCell:
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
    accepted = Counter(one.cell for one in pool_of(bank))
    cells = [(task, difficulty) for task in Task.values() for difficulty in Difficulty.values()]
    return {cell: PoolCell(*cell, accepted[cell], counts[cell] - accepted[cell]) for cell in cells}
