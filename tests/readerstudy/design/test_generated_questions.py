"""A question that a model wrote comes into no study before a review accepts it, whatever reason is given."""

from __future__ import annotations

import pytest

from annotation.enums import ImportKind, ImportState, QuestionState
from annotation.models import BankImport, Question, QuestionBank, Revision
from readerstudy.design.case_selection import draw_cases, list_cases, preview_draw
from readerstudy.design.checking import problems_of
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.questions import awaiting_review, candidates_of, pool_cells
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import REASON, make_questions, plan_for, revision_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> QuestionBank:
    """Questions 3 and 4 of four are generated."""
    made = make_questions(4)
    brought = BankImport.objects.create(
        bank=made,
        kind=ImportKind.GENERATED,
        state=ImportState.PUBLISHED,
        file_name="generated.json",
        started_at=NOON,
        heartbeat_at=NOON,
        finished_at=NOON,
    )
    Revision.objects.filter(bank=made, question__number__in=[3, 4]).update(bank_import=brought)
    return made


def accept(bank: QuestionBank, number: int) -> None:
    Question.objects.filter(bank=bank, number=number).update(state=QuestionState.ACCEPTED)


def draft_of(bank: QuestionBank) -> ReaderStudy:
    return create_study(plan_for(bank, 1), actor=None, at=NOON)


def test_it_is_not_drawn_even_with_a_reason(bank: QuestionBank) -> None:
    assert [one.number for one in candidates_of(bank)] == [1, 2]
    drawing = preview_draw(bank, DrawRequest(n=2), seed=1, accepted_because=REASON)
    assert {one.number for one in drawing.main} == {1, 2}
    study = draft_of(bank)
    with pytest.raises(StudyRefused):
        draw_cases(study, DrawRequest(n=3), actor=None, at=NOON, accepted_because=REASON)
    assert sum(cell.n for cell in pool_cells(bank).values()) == 2


def test_it_is_not_listed_even_with_a_reason(bank: QuestionBank) -> None:
    study = draft_of(bank)
    with pytest.raises(StudyRefused, match=r"reviews do not accept them: 3, 4\. Review them first") as found:
        list_cases(study, [1, 4, 3], actor=None, at=NOON, accepted_because=REASON)
    assert found.value.code == "generated_not_accepted"
    with pytest.raises(StudyRefused):
        list_cases(study, [1], practice=[3], actor=None, at=NOON, accepted_because=REASON)


def test_no_plan_brings_it_in(bank: QuestionBank) -> None:
    with pytest.raises(StudyRefused, match="A model wrote these questions"):
        create_study(plan_for(bank, 4, name="All"), actor=None, at=NOON)
    assert not ReaderStudy.objects.filter(name="All").exists()


def test_a_review_that_accepts_lets_it_in(bank: QuestionBank) -> None:
    accept(bank, 3)
    assert [one.number for one in candidates_of(bank)] == [1, 2, 3]
    assert set(awaiting_review(bank)) == {revision_of(bank, 4).pk}
    study = draft_of(bank)
    list_cases(study, [1, 3], actor=None, at=NOON, accepted_because=REASON)
    assert set(study.cases.values_list("revision__question__number", flat=True)) == {1, 3}


def test_it_is_not_frozen_once_a_review_accepts_it_no_more(bank: QuestionBank) -> None:
    accept(bank, 3)
    study = draft_of(bank)
    list_cases(study, [1, 3], actor=None, at=NOON, accepted_because=REASON)
    study.cases.filter(revision__question__number=3).update(accepted_because=REASON)
    Question.objects.update(state=QuestionState.IN_REVIEW)
    assert any("reviews do not accept them any more: 2" in sentence for sentence in problems_of(study))
    with pytest.raises(StudyRefused, match="A model wrote"):
        freeze_study(study, actor=None, at=NOON)
