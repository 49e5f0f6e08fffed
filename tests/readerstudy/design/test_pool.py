"""Which questions are accepted: the same ones in the bank, in what leaves it, and in the pool of a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.enums import BindingVerdict, QuestionState, Role
from annotation.exports.bank_export import BankChoice, BankForm, export_bank
from annotation.models import Question, QuestionBank, Revision, User
from annotation.models.people import TokenScope
from annotation.outcomes.adjudicating import decide, show_reviews
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.importing import move_questions
from annotation.questionbank.kernels.question_checks import PartState
from annotation.questionbank.validity import count_parts
from annotation.review.ending import complete_reviews
from annotation.review.onlookers import withheld_questions
from readerstudy.design.case_selection import CaseRequest, preview_cases
from readerstudy.design.creating import create_study
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.kernels.plan import Plan
from readerstudy.design.questions import accepted_among, mates_of_patient, pool_cells, pool_of
from tests.annotation.adjudication.made import N_OPEN, make_adjudicated, make_reviewed
from tests.annotation.adjudication.test_acts import taken_and_judged
from tests.annotation.api.asking import program_of
from tests.annotation.review.cases import NOON
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions, revision_of, same_patient

pytestmark = pytest.mark.django_db


def accepted_in(bank: QuestionBank, person: User, folder: Path) -> list[int]:
    """The numbers of the accepted questions, which every place tells alike."""
    numbers = dict(Revision.objects.in_bank(bank).current().values_list("pk", "question__number"))
    export_bank(bank, BankChoice(BankForm.REXVQA, states=(QuestionState.ACCEPTED,)), folder, actor=None, at=NOON)
    address = f"banks/{bank.slug}/questions/?limit=100&state=accepted"
    listed = program_of(person, Role.COORDINATOR, TokenScope.BANK, bank.slug).get(address).json()["results"]
    study = create_study(Plan(name=folder.name, bank=bank.slug), actor=None, at=NOON)
    preview = preview_cases(study, CaseRequest(seed=1, request=DrawRequest(n=1), names=tuple(numbers.values())))
    search = BankSearch(bank, {"state": QuestionState.ACCEPTED}, person)
    [expert] = [one for one in count_parts(bank, withheld_questions(person)) if one.part.code == "expert"]
    found = sorted(search.revisions().values_list("question__number", flat=True))
    assert [one["number"] for one in listed] == found
    assert [one.number for one in pool_of(bank)] == found
    assert sorted(numbers[pk] for pk in accepted_among(numbers)) == found
    assert sorted({one.number for one in preview.main} - set(preview.unaccepted)) == found
    counts = (
        len(json.loads((folder / BankForm.REXVQA.file_name).read_bytes())),
        sum(cell.n_accepted for cell in pool_cells(bank).values()),
        expert.counts.get(PartState.PASS, 0),
    )
    assert counts == (len(found),) * 3
    return found


def test_accepted_is_the_same_everywhere_in_every_state(cora: User, tmp_path: Path) -> None:
    states = QuestionState.values()
    bank = make_questions(2 * len(states), pixels=False)
    for number, state in enumerate(states * 2, start=1):
        Question.objects.filter(bank=bank, number=number).update(state=state)
    n = states.index(QuestionState.ACCEPTED) + 1
    assert accepted_in(bank, cora, tmp_path / "every") == [n, n + len(states)]


def test_reviews_that_all_accept_settle_nothing_before_their_round_ends(
    cora: User, rita: User, remo: User, tmp_path: Path
) -> None:
    made = make_reviewed(cora, rita, remo)
    assert accepted_in(made.plan.bank, cora, tmp_path / "open") == []
    complete_reviews(made, actor=cora, at=NOON, confirmed_open=N_OPEN)
    assert accepted_in(made.plan.bank, cora, tmp_path / "complete") == [1]  # 3: one review of two, which accepts


@pytest.mark.usefixtures("without_pixels")
def test_what_an_adjudicator_decided_counts(cora: User, rita: User, remo: User, tmp_path: Path) -> None:
    judge = make_person("Judy")
    made = make_adjudicated(cora, rita, remo, judge)
    settlement = taken_and_judged(made, judge, NOON)  # the second question
    show_reviews(settlement, actor=judge, at=NOON)
    decide(settlement, BindingVerdict.ACCEPT, "Sign is plain.", actor=judge, at=NOON)
    assert accepted_in(made.plan.bank, cora, tmp_path / "decided") == [1, 2]
    move_questions([revision_of(made.plan.bank, 1).pk], QuestionState.IN_REVIEW)  # another round judges it
    assert accepted_in(made.plan.bank, cora, tmp_path / "again") == [2]


def test_a_wording_that_was_accepted_and_superseded_is_not_in_the_pool() -> None:
    bank = make_questions(2, pixels=False)
    Question.objects.filter(bank=bank).update(state=QuestionState.ACCEPTED)
    old = revision_of(bank, 1)
    Revision.objects.filter(pk=old.pk).update(superseded_by=old.bank_import)
    assert [one.number for one in pool_of(bank)] == [2]
    assert accepted_among([old.pk]) == set()


def test_patients_stand_for_their_questions_and_exams_for_unknown_patients() -> None:
    bank = make_questions(4)
    same_patient(bank, 2, 4)
    revisions = [revision_of(bank, number).pk for number in range(1, 5)]
    assert list(mates_of_patient(bank, revisions).values()) == [[2, 4]]
