"""What a file of predictions is about: the questions of a bank, or the main block of a study."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from annotation.models import QuestionBank, Revision
from annotation.questionbank.known import keys_of_questions
from readerstudy.design.case_names import questions_named
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.predictions.kernels.matching import KnownQuestion


@dataclass(frozen=True)
class Target:
    """A bank, or a study of it."""

    bank: QuestionBank
    study: ReaderStudy | None = None

    @classmethod
    def of_study(cls, study: ReaderStudy) -> Target:
        return cls(study.bank, study)

    @property
    def name(self) -> str:
        return self.study.name if self.study else self.bank.name

    @property
    def slug(self) -> str:
        return self.study.slug if self.study else self.bank.slug


@dataclass(frozen=True)
class TargetQuestions:
    """All questions of a target by their id, and those that a file names by the names that it uses."""

    by_id: Mapping[int, KnownQuestion]
    by_name: Mapping[str, KnownQuestion]


def questions_of(target: Target, names: Set[str]) -> TargetQuestions:
    """The questions in the wording of the study, or in the current one of the bank."""
    by_id = _of_study(target.study) if target.study else _of_bank(target.bank)
    known: dict[str, int] = {}
    if target.study is None and 2 * len(names) > len(by_id):  # one walk over all keys is less than so many look-ups
        keys = keys_of_questions(target.bank.pk, by_id.keys())
        known = {key: pk for pk, key in keys.items() if key in names}
    named = questions_named(target.bank, names - known.keys())
    known |= {str(name): pk for name, pk in named.items() if pk in by_id}
    return TargetQuestions(by_id, {name: by_id[pk] for name, pk in known.items()})


def _of_bank(bank: QuestionBank) -> dict[int, KnownQuestion]:
    rows = Revision.objects.in_bank(bank).current().order_by()
    return {
        question: KnownQuestion(revision, number, options)
        for question, revision, number, options in rows.values_list("question_id", "pk", "question__number", "options")
    }


def _of_study(study: ReaderStudy) -> dict[int, KnownQuestion]:
    rows = StudyCase.objects.filter(study=study, block=Block.MAIN).order_by()
    columns = ("revision__question_id", "revision_id", "revision__question__number", "revision__options")
    return {
        question: KnownQuestion(revision, number, options)
        for question, revision, number, options in rows.values_list(*columns)
    }
