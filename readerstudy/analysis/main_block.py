"""The main block of a study as arrays: one column for each case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from annotation.models import AnswerKey, Assignment
from annotation.review.outcomes import blind_answers
from readerstudy.analysis.kernels.arrays import TASKS, Experts, Questions, Voided
from readerstudy.analysis.kernels.result import DECLARED, LETTERS
from readerstudy.design.shown import patients_shown
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy, StudyCase


class _Case(NamedTuple):
    """One case of the main block; the fields are read in the order of ``_CASE``."""

    pk: int
    number: int
    public_id: str
    revision_id: int
    task: str
    category: str
    difficulty: str
    question: int  # number in the bank
    exam: str  # its pseudonym
    patient: str  # "": not known
    reason: str | None  # of the voiding; None: not voided
    before_unblinding: bool | None
    declared: bool | None

    @property
    def voided(self) -> Voided:
        if self.before_unblinding is None:
            return Voided.NO
        return Voided.BEFORE_UNBLINDING if self.before_unblinding else Voided.AFTER_UNBLINDING


_CASE = (
    *("pk", "number", "public_id", "revision_id", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__question__number", "revision__question__exam__pseudonym"),
    *("revision__question__exam__patient_pseudonym", "voiding__reason"),
    *("voiding__before_unblinding", "voiding__declared"),
)


@dataclass(frozen=True)
class Cases:
    """The main block of a study, and the place of each case in the arrays."""

    rows: list[_Case]
    column: Mapping[int, int]  # by the id of the case
    questions: Questions
    excluded: list[Mapping[str, Any]]
    cluster_level: str


def cases_of(study: ReaderStudy) -> Cases:
    found = StudyCase.objects.filter(study=study, block=Block.MAIN).order_by("number").values_list(*_CASE)
    rows = [_Case._make(row) for row in found.iterator(chunk_size=5000)]  # no models: there may be 41,007
    revisions = study.cases.filter(block=Block.MAIN).values("revision")
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    patients, clusters = patients_shown(study), dict[str, int]()
    questions = Questions(
        number=array_of((case.number for case in rows), np.int32),
        question=array_of((case.question for case in rows), np.int32),
        public_id=tuple(case.public_id for case in rows),
        key=array_of((LETTERS.index(keys[case.revision_id]) for case in rows), np.int8),
        task=array_of((TASKS.index(case.task) for case in rows), np.int8),
        category=tuple(case.category for case in rows),
        difficulty=tuple(case.difficulty for case in rows),
        cluster=array_of(
            (clusters.setdefault(patients.name(case.patient, case.exam), len(clusters)) for case in rows),
            np.int32,
        ),
        voided=array_of((case.voided for case in rows), np.int8),
    )
    excluded = [_excluded_case(case) for case in rows if case.voided]
    known = {patients.is_known(case.patient, case.exam) for case in rows}
    level = "patient where known, else exam" if len(known) > 1 else "patient" if known == {True} else "exam"
    return Cases(rows, {case.pk: column for column, case in enumerate(rows)}, questions, excluded, level)


def experts_of(study: ReaderStudy, cases: Cases) -> Experts | None:
    """What reviewers answered blind; who reads a study is a reviewer of none of its questions."""
    column = {case.revision_id: place for place, case in enumerate(cases.rows)}
    n, right = np.zeros((2, len(cases.rows)), dtype=np.int32)
    for revision, best in expert_answers(study).values_list("revision_id", "blind_answer__best"):
        place = column[revision]
        n[place] += 1
        right[place] += best == LETTERS[cases.questions.key[place]]
    return Experts(n, right) if n.any() else None


def expert_answers(study: ReaderStudy) -> QuerySet[Assignment]:
    return blind_answers(study.cases.filter(block=Block.MAIN).values("revision"))


def _excluded_case(case: _Case) -> Mapping[str, Any]:
    return {
        "kind": "case",
        "case": case.number,
        "question": case.question,
        "case_id": case.public_id,
        "task": case.task,
        "decided": DECLARED if case.declared else case.voided.name.lower(),
        "reason": case.reason,
    }


def array_of(values: Iterable[int], kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    return np.fromiter(values, dtype=kind)
