"""Choosing cases: what the bank holds, a choice to look at, and storing exactly that."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent, Question, QuestionBank, User
from readerstudy.design.case_selection import CaseRequest, preview_cases, store_cases
from readerstudy.design.creating import create_study
from readerstudy.design.drafting import update_rules
from readerstudy.design.kernels.documents import Rules, read_rules
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.kernels.plan import Plan
from readerstudy.design.questions import pool_cells
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import make_bank, make_revision
from tests.conftest import NOON
from tests.readerstudy.design.made import make_questions

REASON = "read by two of us"


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    return create_study(Plan(name="Trial", bank=make_questions(12).slug), actor=cora, at=NOON)


def bank_of(*states: str) -> QuestionBank:
    """Hard questions about negation, one in each state."""
    bank = make_bank("Reviewed")
    for number, state in enumerate(states, start=1):
        Question.objects.filter(pk=make_revision(bank, number).question_id).update(state=state)
    return bank


@pytest.mark.django_db
def test_accepted_questions_are_counted_apart() -> None:
    bank = bank_of("accepted", "needs_revision", "accepted", "imported")
    make_revision(bank, 99, task="geometric", difficulty="")
    cells = pool_cells(bank)
    assert (cells["negation", "hard"].n_accepted, cells["negation", "hard"].n_other) == (2, 2)
    assert (cells["geometric", ""].n_accepted, cells["geometric", ""].n) == (0, 1)
    assert sum(cell.n for cell in cells.values()) == 5


def test_a_choice_says_which_questions_need_a_reason(cora: User) -> None:
    bank = bank_of("accepted", "needs_revision", "imported")
    study = create_study(Plan(name="Trial", bank=bank.slug), actor=cora, at=NOON)
    wanted = CaseRequest(seed=1, request=DrawRequest(n=3), accepted_because=REASON)
    assert preview_cases(study, wanted).unaccepted == [2, 3]
    assert preview_cases(study, CaseRequest(seed=1, request=DrawRequest(n=1))).unaccepted == []


@pytest.mark.parametrize("numbers", [(), (5, 3, 9)])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_what_was_seen_is_what_is_stored(draft: ReaderStudy, cora: User, numbers: tuple[int, ...], n_sets: int) -> None:
    request = DrawRequest(n=6, n_practice=0 if numbers else 2, n_sets=n_sets, n_shared=2)
    wanted = CaseRequest(
        seed=4, request=request, names=numbers, practice=(1,) if numbers else (), accepted_because=REASON
    )
    choice = preview_cases(draft, wanted)
    store_cases(draft, wanted, seen=choice.sha256, actor=cora, at=NOON)
    main = draft.cases.filter(block="main").order_by("number").values_list("revision_id", flat=True)
    assert list(main) == [one.revision_id for one in choice.main]
    assert draft.cases.filter(block="practice").count() == len(choice.practice) > 0
    sets = [list(one.cases.order_by("number").values_list("number", flat=True)) for one in draft.sets.all()]
    assert sets == choice.sets
    assert [sum(cell.n_drawn for cell in choice.cells_of_set(place)) for place in range(len(sets))] == [
        len(one) for one in sets
    ]


def test_what_nobody_saw_is_not_stored(draft: ReaderStudy, cora: User) -> None:
    wanted = CaseRequest(seed=4, request=DrawRequest(n=6, several_per_patient=True), accepted_because=REASON)
    n_events = AuditEvent.objects.count()
    for seen in ("", "0" * 64):
        with pytest.raises(StudyRefused, match="check the new ones"):
            store_cases(draft, wanted, seen=seen, actor=cora, at=NOON)
    draft.refresh_from_db()
    assert (draft.cases.count(), draft.draw, draft.rules["several_per_patient"]) == (0, {}, False)
    assert AuditEvent.objects.count() == n_events


def test_rules_that_somebody_else_stored_meanwhile_stay(draft: ReaderStudy, cora: User) -> None:
    before = ReaderStudy.objects.get()
    update_rules(draft, Rules(time_limit_s=90), actor=cora, at=NOON)
    wanted = CaseRequest(seed=4, request=DrawRequest(n=6, several_per_patient=True), accepted_because=REASON)
    store_cases(before, wanted, seen=preview_cases(draft, wanted).sha256, actor=cora, at=NOON)
    draft.refresh_from_db()
    assert read_rules(draft.rules) == Rules(time_limit_s=90, several_per_patient=True)
