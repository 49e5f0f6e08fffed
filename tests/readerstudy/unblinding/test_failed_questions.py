"""What is told of a question once results were seen: models that failed it, readers who had it right, its history."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from annotation.contributions import contributed
from annotation.enums import RoundState
from annotation.models import Assignment, Question, QuestionBank, ReviewRound, User
from annotation.questionbank.filters import BankSearch
from annotation.statistics.kernels.sampling import RatedBy
from annotation.validators.validator_exams import compare_sources
from readerstudy.enums import BenchmarkState, StudyState
from readerstudy.models import Enrolment, ModelEntry, PredictionRun, ReaderStudy, StudyCase
from readerstudy.predictions.listing import Target
from readerstudy.predictions.looks import events_of_studies, may_see_results, readers_right_on, with_seen_results
from tests.annotation.review.cases import make_round
from tests.conftest import NOON
from tests.readerstudy.exports.read_study import read_study, void
from tests.readerstudy.leaderboard.made import make_benchmark
from tests.readerstudy.predictions.made import answers, import_file, keyed_bank
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db
# The key of every made-up question is B.
ANSWERS = {"Alpha": ("B", "C", "C"), "Beta": ("B", "B", "D"), "Gamma": ("B", "C", "")}


def send(target: Target, given: dict[str, tuple[str, str, str]], prefix: str = "Q") -> None:
    for name, letters in given.items():
        entry, _is_new = ModelEntry.objects.get_or_create(name=name, defaults={"created_at": NOON})
        content = answers(**{f"{prefix}{n}": letter or "no idea" for n, letter in enumerate(letters, 1)})
        assert import_file(entry, target, content, at=NOON).run


def found(bank: QuestionBank, value: str, person: User | None) -> list[int]:
    rows = BankSearch(bank, {"failed": value}, person).revisions()
    return sorted(rows.values_list("question__number", flat=True))


@pytest.fixture
def bank() -> QuestionBank:
    made = keyed_bank()
    send(Target(made), ANSWERS)
    return made


def test_questions_by_the_number_of_models_that_failed_them(bank: QuestionBank, cora: User, client: Client) -> None:
    for value, numbers in {
        "all": [3], "half": [2, 3], "none": [1], "1": [2, 3], "2": [2, 3], "3": [3], "4": [],
    }.items():  # fmt: skip
        assert found(bank, value, cora) == numbers, value
        assert found(bank, value, None) == numbers, value
    client.force_login(cora)
    page = client.get(f"/banks/{bank.slug}/?failed=3")
    assert [one.question.number for one in page.context["page"].revisions] == [3]
    assert "Failed by models: by at least 3 models" in page.content.decode()
    assert page.context["page"].n_found == 1
    assert len(client.get(f"/banks/{bank.slug}/?failed=nonsense").context["page"].revisions) == 3


def test_a_model_that_has_it_right_in_one_of_two_runs_did_not_fail(cora: User) -> None:
    study = make_study("Trial", state=StudyState.OPEN)
    send(Target.of_study(study), {"Alpha": ("B", "C", "C")}, prefix="")
    ReaderStudy.objects.update(state=StudyState.CLOSED, unblinded_at=NOON)
    assert found(study.bank, "all", cora) == [2, 3]
    send(Target(study.bank), {"Alpha": ("C", "B", "C")}, prefix="")
    assert found(study.bank, "all", cora) == [3]


def test_what_changes_is_counted_anew(bank: QuestionBank, cora: User) -> None:
    assert found(bank, "all", cora) == [3]
    PredictionRun.objects.filter(entry__name="Beta").update(is_named=False, withdrawn_at=NOON)
    assert found(bank, "all", cora) == [2, 3]
    send(Target(bank), {"Delta": ("C", "C", "B")})
    assert found(bank, "all", cora) == [2]
    assert found(bank, "none", cora) == []
    ModelEntry.objects.filter(name="Delta").update(state="withdrawn")
    assert found(bank, "all", cora) == [2, 3]


def test_a_study_keeps_its_questions_secret_until_its_results_were_seen(cora: User, rita: User) -> None:
    study = make_study("Trial", state=StudyState.OPEN)
    bank = study.bank
    send(Target.of_study(study), ANSWERS, prefix="")
    send(Target(bank), ANSWERS, prefix="")
    assert found(bank, "1", cora) == []
    ReaderStudy.objects.update(unblinded_at=NOON + timedelta(hours=1))  # an interim look; readers still read
    assert found(bank, "1", cora) == []
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert found(bank, "1", cora) == [2, 3]
    assert found(bank, "1", None) == [2, 3]
    enrol(study, cora)
    assert found(bank, "1", cora) == [2, 3]  # it is over


def test_who_reads_a_question_learns_nothing_of_it(cora: User) -> None:
    """Its models were seen in a study that is over; another one asks the same question."""
    over, going_on = make_study("Over"), make_study("Going")
    send(Target.of_study(over), ANSWERS, prefix="")
    ReaderStudy.objects.filter(pk=over.pk).update(state=StudyState.CLOSED, unblinded_at=NOON)
    ReaderStudy.objects.filter(pk=going_on.pk).update(state=StudyState.DRAFT)
    case = going_on.cases.get(revision__question__number=3)
    StudyCase.objects.filter(pk=case.pk).update(revision=over.cases.get(revision__question__number=3).revision)
    ReaderStudy.objects.filter(pk=going_on.pk).update(state=StudyState.OPEN)
    assert found(over.bank, "1", cora) == found(over.bank, "1", None) == [2, 3]
    enrol(going_on, cora)
    assert found(over.bank, "1", cora) == [2]
    assert found(over.bank, "1", None) == [2]  # what is stored of a search is read by every coordinator


def test_who_judges_a_question_learns_nothing_of_it(cora: User, rita: User) -> None:
    bank = make_round(rita, name="Judged").plan.bank
    send(Target(bank), ANSWERS, prefix="")
    assert found(bank, "all", cora) == [3]
    assert found(bank, "all", None) == []
    Assignment.objects.update(reviewer=cora)
    assert found(bank, "all", cora) == []
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert found(bank, "all", cora) == found(bank, "all", None) == [3]


def test_the_rule_of_pages_and_that_of_lists_agree(rita: User) -> None:
    for n, state in enumerate(StudyState):
        for seen in (None, NOON):
            study = make_study(f"Trial {n} {seen}", state=state)
            ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=seen)
    imported = make_study("Imported", state=StudyState.FROZEN)
    enrol(imported, rita)
    Enrolment.objects.update(reader=None)
    ReaderStudy.objects.filter(pk=imported.pk).update(unblinded_at=NOON)
    listed = set(with_seen_results(ReaderStudy.objects.all()))
    assert listed == {one for one in ReaderStudy.objects.all() if one.unblinded_at and may_see_results(one)}
    assert imported in listed


def test_while_a_leaderboard_asks_a_bank_nothing_shows_what_models_failed(bank: QuestionBank, cora: User) -> None:
    benchmark = make_benchmark(bank)
    assert found(bank, "1", cora) == []
    benchmark.state = BenchmarkState.CLOSED
    benchmark.save()
    assert found(bank, "1", cora) == [2, 3]


# --- its history -----------------------------------------------------------------------------------
FROZEN = "Revision 1 was frozen in the reader study “Trial”."
IN_STUDY = "In the reader study “Trial” 1 of 2 models answered revision 1 correctly."


@pytest.fixture
def answered() -> ReaderStudy:
    made = make_study("Trial", state=StudyState.OPEN)
    for name, letter in (("Alpha", "B"), ("Beta", "C")):
        entry = ModelEntry.objects.create(name=name, created_at=NOON)
        assert import_file(entry, Target.of_study(made), answers(**{"1": letter, "2": "B", "3": "B"}), at=NOON).run
    return made


def told(answered: ReaderStudy, person: User) -> list[str]:
    question = Question.objects.get(bank=answered.bank, number=1)
    return [one.sentence for one in events_of_studies(question, person)]


def test_models_are_told_of_once_results_were_seen(answered: ReaderStudy, cora: User) -> None:
    assert events_of_studies in contributed().question_events
    assert told(answered, cora) == [FROZEN]
    ReaderStudy.objects.filter(pk=answered.pk).update(unblinded_at=NOON + timedelta(hours=1))
    assert told(answered, cora) == [FROZEN]  # somebody had an interim look; readers still read
    ReaderStudy.objects.filter(pk=answered.pk).update(state=StudyState.CLOSED, unblinded_at=None)
    assert told(answered, cora) == [FROZEN]
    ReaderStudy.objects.filter(pk=answered.pk).update(unblinded_at=NOON + timedelta(hours=1))
    assert told(answered, cora) == [FROZEN, IN_STUDY]


def test_nothing_of_a_study_that_the_person_reads(answered: ReaderStudy, cora: User) -> None:
    enrol(answered, cora)
    assert Enrolment.objects.filter(reader=cora).exists()
    assert told(answered, cora) == []


# --- readers who had it right ----------------------------------------------------------------------
@pytest.fixture
def read(rita: User, remo: User) -> ReaderStudy:
    return read_study(rita, remo, state=StudyState.CLOSED, unblinded_at=NOON)


def numbers(read: ReaderStudy) -> list[tuple[int, int]]:
    return sorted(readers_right_on(read.bank).values())


def test_confirmed_answers_of_the_main_block_count(read: ReaderStudy) -> None:
    """B is the key: one right, two wrong; nothing of what ended without a confirmed answer in time."""
    assert numbers(read) == [(0, 1), (0, 1), (1, 1)]
    counts = compare_sources(read.bank, Question.objects.none()).counts
    assert counts[RatedBy.READERS] == {"easy": 1, "medium": 0, "hard": 2}


def test_a_voided_case_does_not(read: ReaderStudy) -> None:
    right = next(pk for pk, counts in readers_right_on(read.bank).items() if counts == (1, 1))
    void(read.cases.get(revision=right))
    assert numbers(read) == [(0, 1), (0, 1)]


@pytest.mark.parametrize("change", [{"state": StudyState.OPEN}, {"unblinded_at": None}])
def test_nothing_is_told_before_results_are_seen(read: ReaderStudy, change: dict[str, object]) -> None:
    ReaderStudy.objects.filter(pk=read.pk).update(**change)
    assert numbers(read) == []
