"""Who reads or reviews a question meets no run on it, nor a verdict of a validator; and the other way round."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from annotation.enums import KeySource, Role, RoundState
from annotation.models import AuditEvent, CallBatch, Exam, Question, SeenKey, User
from annotation.refusals import Refused
from annotation.review.assigning import who_knows_keys
from annotation.validators.validator_plans import CheckWanted, plan_check
from readerstudy.design.conflicts import may_not_read
from readerstudy.enums import StudyState
from readerstudy.model_runs.asked_questions import RunningRefused, open_call, readable_calls
from readerstudy.model_runs.following import ask_first_questions, resume_run, start_run
from readerstudy.model_runs.planning import plan_run, runs_seen_by, shows_results, store_run, targets_to_run
from readerstudy.models import Enrolment, ModelRun, ReaderStudy
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.conftest import NOON, make_person
from tests.readerstudy.model_runs.made import answer, make_prompt, name_endpoints, permit, planned, wanted
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)
    make_prompt()


@pytest.fixture
def study() -> ReaderStudy:
    """Three cases, open. Its bank has two questions more."""
    made = make_study("Trial", bank=make_bank())
    make_revisions(made.bank, {number: {} for number in (50, 51)})
    permit(made.bank)
    return made


@pytest.fixture
def reader(study: ReaderStudy, cora: User) -> Enrolment:
    """A coordinator of the site who reads in the study: she got the role afterwards."""
    return enrol(study, cora)


def of_bank(study: ReaderStudy) -> ModelRun:
    return planned(Target(study.bank))


def of_study(study: ReaderStudy) -> ModelRun:
    return planned(Target.of_study(study))


# --- readers --------------------------------------------------------------------------------------
@pytest.mark.usefixtures("reader")
def test_a_reader_plans_nothing_on_what_they_read(study: ReaderStudy, cora: User) -> None:
    with refuses(RunningRefused, "reads_them", match="in the study “Trial”"):
        plan_run(wanted(Target(study.bank)), actor=cora, at=NOON)
    with refuses(RunningRefused, "not_coordinator"):
        plan_run(wanted(Target.of_study(study)), actor=cora, at=NOON)
    assert not ModelRun.objects.exists()
    assert targets_to_run(cora) == []


@pytest.mark.usefixtures("reader")
def test_a_reader_starts_nothing_on_what_they_read(study: ReaderStudy, cora: User) -> None:
    run = of_bank(study)
    for act in (ask_first_questions, start_run, resume_run):
        with refuses(RunningRefused, "reads_them"):
            act(run, actor=cora, at=NOON)


@pytest.mark.usefixtures("reader")
def test_a_reader_is_shown_no_run_on_what_they_read(study: ReaderStudy, cora: User) -> None:
    of_bank(study), of_study(study)
    assert list(runs_seen_by(cora)) == []


def test_a_run_on_another_study_with_the_same_exams_is_hidden_as_well(study: ReaderStudy, cora: User) -> None:
    """The other study asks another question on the exam of a case."""
    other = make_study("Other", bank=study.bank, n_cases=0, n_practice=0)
    question = Question.objects.get(bank=study.bank, number=50)
    _add_case(other, question)
    elsewhere = of_study(other)
    enrol(study, cora)
    assert list(runs_seen_by(cora)) == [elsewhere]
    first = Question.objects.get(bank=study.bank, number=1)
    Question.objects.filter(pk=question.pk).update(exam=first.exam)
    assert list(runs_seen_by(cora)) == []
    with refuses(RunningRefused, "reads_them"):
        start_run(elsewhere, actor=cora, at=NOON)


def test_an_exam_that_is_only_the_prior_of_one_counts(study: ReaderStudy, cora: User) -> None:
    other = make_study("Other", bank=study.bank, n_cases=0)
    question = Question.objects.get(bank=study.bank, number=50)
    _add_case(other, question)
    of_study(other)
    enrol(study, cora)
    Exam.objects.filter(questions__number=1, bank=study.bank).update(prior=question.exam)
    assert list(runs_seen_by(cora)) == []


def test_once_the_study_is_over_its_bank_is_open_again_but_its_own_runs_stay_hidden(
    study: ReaderStudy, cora: User
) -> None:
    on_bank, on_study = of_bank(study), of_study(study)
    enrol(study, cora)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert list(runs_seen_by(cora)) == [on_bank]
    assert on_study not in runs_seen_by(cora)
    assert plan_run(wanted(Target(study.bank)), actor=cora, at=NOON).n_calls


def test_whoever_left_the_study_meets_runs_on_its_bank(reader: Enrolment, study: ReaderStudy, cora: User) -> None:
    run = of_bank(study)
    Enrolment.objects.filter(pk=reader.pk).update(withdrawn_at=NOON)
    assert list(runs_seen_by(cora)) == [run]


def test_another_bank_is_not_touched(reader: Enrolment, cora: User) -> None:
    other = make_bank("Other")
    make_revisions(other, {1: {}})
    permit(other)
    store_run(plan_run(wanted(Target(other)), actor=cora, at=NOON), actor=cora, at=NOON)
    assert [run.batch.bank for run in runs_seen_by(cora)] == [other]


# --- the same two worlds, whatever a model answered -------------------------------------------------
@pytest.fixture
def two_worlds(study: ReaderStudy) -> tuple[ModelRun, ModelRun]:
    return of_bank(study), of_study(study)


@pytest.mark.usefixtures("reader")
def test_pages_of_a_reader_do_not_depend_on_what_models_answered(
    client: Client, cora: User, two_worlds: tuple[ModelRun, ModelRun]
) -> None:
    """A reader who coordinates looks at every page of the runs, before and after a model has answered."""
    client.force_login(cora)
    addresses = [
        reverse("model-runs"),
        reverse("model-run-new"),
        *(
            reverse(name, args=args)
            for run in two_worlds
            for name, args in (
                ("model-run", [run.batch.public_id]),
                ("model-run-calls", [run.batch.public_id]),
                ("model-run-call", [run.batch.public_id, 1]),
                ("model-run-picture", [run.batch.public_id, 1, "0" * 64]),
            )
        ),
    ]

    def seen() -> list[tuple[int, bytes]]:
        found = [client.get(address) for address in addresses]
        return [(page.status_code, page.content) for page in found]

    before = seen()
    assert [status for status, _content in before[2:]] == [404] * 8
    for run in two_worlds:
        answer(run, lambda call: "PLANTED-WORDS A")
    after = seen()
    assert [status for status, _content in after] == [status for status, _content in before]
    assert not any(b"PLANTED-WORDS" in content for _status, content in after)
    assert not SeenKey.objects.exists()


# --- reviewers ------------------------------------------------------------------------------------
def test_raw_answers_on_questions_under_review_are_hidden_from_their_reviewer(cora: User, remo: User) -> None:
    bank = make_bank()
    review_round = make_round(cora, bank=bank, n_questions=2)
    make_revisions(bank, {9: {}})
    run = planned(Target(bank))
    answer(run)
    by_number = dict(_calls(run))
    assert [call.number for call in readable_calls(run, cora)] == [by_number[9]]
    assert readable_calls(run, remo).count() == 3
    with refuses(RunningRefused, "reviews_it", match="is hidden from you"):
        open_call(run, by_number[1], actor=cora, at=NOON)
    assert not SeenKey.objects.exists()
    review_round.state = RoundState.CLOSED
    review_round.save()
    assert readable_calls(run, cora).count() == 3


def test_another_question_on_the_same_exam_is_hidden_as_well(cora: User) -> None:
    bank = make_bank()
    make_round(cora, bank=bank, n_questions=1)
    make_revisions(bank, {9: {}})
    run = planned(Target(bank))
    Question.objects.filter(bank=bank, number=9).update(exam=Exam.objects.get(questions__number=1, bank=bank))
    assert not readable_calls(run, cora).exists()


# --- who opened raw answers ------------------------------------------------------------------------
def test_whoever_opened_an_answer_reads_and_reviews_nothing_on_its_exam(study: ReaderStudy, cora: User) -> None:
    run = of_bank(study)
    answer(run)
    case = study.cases.get(number=2)
    call = run.batch.calls.get(revision=case.revision)
    beside = Question.objects.get(bank=study.bank, number=50)
    Question.objects.filter(pk=beside.pk).update(exam=case.revision.question.exam)
    assert may_not_read(cora, study) == []
    open_call(run, call.number, actor=cora, at=NOON)
    open_call(run, call.number, actor=cora, at=NOON)
    seen = SeenKey.objects.filter(person=cora, source=KeySource.RAW_ANSWERS)
    assert set(seen.values_list("question", flat=True)) == {case.revision.question_id, beside.pk}
    assert AuditEvent.objects.filter(act="key.seen", subject_id=run.batch.public_id).count() == 1
    [reason] = may_not_read(cora, study)
    assert "2" in reason
    [conflict] = who_knows_keys([cora.pk], [beside.pk])
    assert "raw answers of a model" in conflict.reason


def test_other_questions_stay_free(study: ReaderStudy, cora: User) -> None:
    run = of_bank(study)
    answer(run)
    call = run.batch.calls.get(revision__question__number=51)
    open_call(run, call.number, actor=cora, at=NOON)
    assert may_not_read(cora, study) == []


# --- results --------------------------------------------------------------------------------------
def test_results_of_a_run_on_a_study_show_after_closing_once_somebody_saw_its_results(study: ReaderStudy) -> None:
    assert shows_results(of_bank(study))
    assert not shows_results(of_study(study))
    ReaderStudy.objects.update(unblinded_at=NOON)  # by an interim look
    assert not shows_results(ModelRun.objects.get(study=study))
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert shows_results(ModelRun.objects.get(study=study))
    ReaderStudy.objects.update(unblinded_at=None)
    assert not shows_results(ModelRun.objects.get(study=study))


def _calls(run: ModelRun) -> list[tuple[int, int]]:
    """The number of each question and that of its call."""
    return list(run.batch.calls.values_list("revision__question__number", "number"))


def _add_case(study: ReaderStudy, question: Question) -> None:
    """Whatever its state: the database refuses cases of a frozen study."""
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.DRAFT)
    study.cases.create(number=1, revision=question.revisions.get())
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.OPEN)
    study.refresh_from_db()


# --- validators ------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.CLOSED])
def test_until_the_study_is_over(client: Client, state: StudyState) -> None:
    study = make_study("Trial", state=StudyState.OPEN)
    rosa = make_person("Rosa", Role.COORDINATOR, Role.READER)
    enrol(study, rosa)
    ReaderStudy.objects.filter(pk=study.pk).update(state=state)
    client.force_login(rosa)
    pages = [reverse(f"bank-{name}", args=[study.bank.slug]) for name in ("validators", "difficulties")]
    pages.append(reverse("bank-validator", args=[study.bank.slug, "c3"]))
    expected = 403 if state == StudyState.OPEN else 200
    assert [client.get(page).status_code for page in pages] == [expected] * 3
    with pytest.raises(Refused) as found:
        plan_check(CheckWanted(bank=study.bank, validator="c1", endpoint="none", model="m"), actor=rosa, at=NOON)
    assert (found.value.code == "reads_them") == (state == StudyState.OPEN)
    assert not CallBatch.objects.exists()
