"""Banks and plans for the tests of design: questions of several tasks and patients, without reviews."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from annotation.enums import Task
from annotation.models import Exam, Image, QuestionBank, Revision
from readerstudy.design.kernels.plan import Plan, PlannedCase
from tests.annotation.review.cases import make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels_to

REASON = "checked by hand"


SMALL = (24, 20)  # rows and columns of a picture


def make_questions(
    n: int = 6, *, name: str = "Bank", pixels: bool = True, key: str = "B", **fields: Any
) -> QuestionBank:
    """A bank of ``n`` questions, one exam of two small pictures and one patient each; tasks take turns."""
    bank = make_bank(name)
    tasks, difficulties = Task.values(), ("easy", "medium", "hard")
    make_revisions(
        bank,
        {
            number: {"task": tasks[number % 5], "difficulty": difficulties[number % 3], **fields}
            for number in range(1, n + 1)
        },
        key=key,
    )
    if pixels:
        seed = F("exam__questions__number") * 2 + F("position")
        images = Image.objects.filter(exam__bank=bank).order_by("pk").annotate(seed=seed)
        give_pixels_to(((image, image.seed) for image in images), shape=SMALL)
    return bank


def same_patient(bank: QuestionBank, *numbers: int) -> None:
    Exam.objects.filter(questions__bank=bank, questions__number__in=numbers).update(patient_pseudonym="patient 1")


def revision_of(bank: QuestionBank, number: int) -> Revision:
    return Revision.objects.current().get(question__bank=bank, question__number=number)


def plan_for(
    bank: QuestionBank, n: int = 4, *, practice: tuple[int, ...] = (), name: str = "Trial", **fields: Any
) -> Plan:
    """A plan of the first ``n`` questions, all accepted with a reason."""
    return Plan(
        name=name,
        bank=bank.slug,
        cases=tuple(PlannedCase(number, accepted_because=REASON) for number in range(1, n + 1)),
        practice=tuple(PlannedCase(number, accepted_because=REASON) for number in practice),
        **fields,
    )
