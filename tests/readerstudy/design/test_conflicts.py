"""Reviewers of a question do not read it; its readers do not review it."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from annotation.contributions import conflicts
from annotation.enums import AssignmentState
from annotation.models import AuditEvent, BankImport, Question, Revision, User
from annotation.review.assigning import plan_assignments, who_knows_keys
from annotation.review.kernels.transitions import ReviewRefused
from readerstudy.design.conflicts import may_not_read, note_study_keys
from readerstudy.enums import Block, StudyState
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, Reading
from tests.annotation.review.cases import NOON, assignments_of, make_revision, make_round
from tests.readerstudy.studies import enrol, make_study, places_of
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_a_reader_is_not_given_the_questions_of_the_study_to_review(rita: User, remo: User) -> None:
    review_round = make_round(n_questions=3)
    study = make_study(n_cases=2, n_practice=1)
    enrol(study, rita)
    study.cases.filter(number=1, block="main").update(revision=review_round.plan.questions.first().revision)  # type: ignore[union-attr]
    with refuses(ReviewRefused, "too_few_reviewers", match="Rita reads this question in the study “Trial”"):
        plan_assignments(review_round.plan_id, [rita], 1, 1)
    planned = plan_assignments(review_round.plan_id, [rita, remo], 1, 1)
    first = review_round.plan.questions.get(position=1).revision_id
    assert first in planned.orders[planned.people.index(remo)]


def beside(revision: Revision, number: int) -> Revision:
    """Another question on the images of this one."""
    other = make_revision(revision.bank, number)
    Question.objects.filter(pk=other.question_id).update(exam=revision.question.exam)
    return Revision.objects.get(pk=other.pk)


def test_another_question_on_the_same_images_waits_until_the_study_is_over(rita: User, remo: User) -> None:
    """Its review opens the report of the exam, which the reader must not see before the answer."""
    study = make_study(n_cases=2, n_practice=1)
    mine = enrol(study, rita)
    sisters = [beside(case.revision, 50 + n).question_id for n, case in enumerate(study.cases.all())]
    found = conflicts([rita.pk, remo.pk], sisters)
    assert {conflict.question_id for conflict in found} == set(sisters)
    assert {one.reason for one in found} == {"Rita reads another question on these images in the study “Trial”."}
    Enrolment.objects.filter(pk=mine.pk).update(withdrawn_at=NOON)
    assert conflicts([rita.pk], sisters) == []
    Enrolment.objects.filter(pk=mine.pk).update(withdrawn_at=None)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert conflicts([rita.pk], sisters) == []


def test_nobody_reads_a_question_on_images_of_another_that_they_review(rita: User, remo: User) -> None:
    review_round = make_round(rita, n_questions=1)
    study = make_study(n_cases=2)
    drawn = review_round.plan.questions.get().revision
    study.cases.filter(number=1).update(revision=beside(drawn, 50))
    sentence = "Rita reviews, or has reviewed, another question on images of this study: 50."
    assert may_not_read(rita, study) == [sentence]
    assert may_not_read(remo, study) == []
    assignments_of(rita, review_round)[0].delete()
    assert may_not_read(rita, study) == []


def test_who_left_a_study_is_kept_only_from_what_they_opened(rita: User) -> None:
    study = make_study(n_cases=3, n_practice=1)
    enrolment = enrol(study, rita)
    questions = list(Question.objects.filter(bank=study.bank).values_list("pk", flat=True))
    assert len(conflicts([rita.pk], questions)) == 4
    place = places_of(enrolment)[1]
    Reading.objects.create(enrolment=enrolment, case=place.case, arm=study.arms.get(), presented=place, opened_at=NOON)
    assert len(conflicts([rita.pk], questions)) == 4
    enrolment.withdrawn_at = NOON
    enrolment.save()
    assert [conflict.question_id for conflict in conflicts([rita.pk], questions)] == [place.case.revision.question_id]


def test_only_the_own_set_and_the_practice_block_count(rita: User) -> None:
    study = make_study(n_cases=2, n_practice=1)
    enrol(study, rita)
    other = CaseSet.objects.create(study=study, number=2, name="Other")
    moved = study.cases.get(block="main", number=2)
    moved.sets.set([other])
    questions = list(Question.objects.filter(bank=study.bank).values_list("pk", flat=True))
    found = {conflict.question_id for conflict in conflicts([rita.pk], questions)}
    assert moved.revision.question_id not in found
    assert len(found) == 2


def test_asking_costs_the_same_for_many_studies(
    rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("One", "Two", "Three"):
        enrol(make_study(name, n_cases=2), rita)
    questions = list(Question.objects.values_list("pk", flat=True))
    with django_assert_max_num_queries(10):
        assert len(conflicts([rita.pk], questions)) == 6


def test_nobody_reads_what_they_reviewed_or_imported(rita: User, remo: User, cora: User, stan: User) -> None:
    review_round = make_round(rita, remo, n_questions=3)
    study = make_study(n_cases=2, bank=None)
    for case, drawn in zip(study.cases.all(), review_round.plan.questions.all(), strict=False):
        case.revision = drawn.revision
        case.save()
    BankImport.objects.update(actor=cora)
    assert may_not_read(rita, study) == ["Rita reviews, or has reviewed, questions of this study: 1, 2."]
    assert may_not_read(cora, study) == ["Cora imported questions of this study, with their keys: 1, 2."]
    assert may_not_read(stan, study) == []
    for assignment in assignments_of(remo, review_round):
        assignment.state = AssignmentState.WITHDRAWN
        assignment.opened_at = NOON if assignment.position == 1 else None
        assignment.save()
    assert may_not_read(remo, study) == ["Remo reviews, or has reviewed, a question of this study: 1."]


def test_nobody_reads_a_question_whose_key_the_practice_of_another_study_shows(rita: User, remo: User) -> None:
    first = make_study("First", n_cases=1, n_practice=1)
    second = make_study("Second", n_cases=2, n_practice=1)
    practice = first.cases.get(block="practice")
    second.cases.filter(block="main", number=1).update(revision=practice.revision)
    mine = enrol(first, rita)
    sentence = "Rita practises, or has practised, with questions of this study and sees their keys: 1001."
    assert may_not_read(rita, second) == [sentence]
    assert may_not_read(remo, second) == []
    Enrolment.objects.filter(pk=mine.pk).update(withdrawn_at=NOON)
    assert may_not_read(rita, second) == []
    place = places_of(mine, Block.PRACTICE)[0]
    Reading.objects.create(enrolment=mine, case=practice, arm=first.arms.get(), presented=place, opened_at=NOON)
    assert may_not_read(rita, second) == [sentence]
    enrol(second, remo)
    assert may_not_read(remo, first) == ["Remo reads questions, with which this study practises, in another one: 1001."]
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert may_not_read(remo, first) == []


def test_whoever_saw_the_keys_of_a_study_neither_reads_nor_reviews_its_questions(stan: User, cora: User) -> None:
    study = make_study(n_cases=2)
    note_study_keys(study, actor=None, at=NOON)
    for _time in range(2):
        note_study_keys(study, actor=stan, at=NOON)
    assert AuditEvent.objects.get().facts == {"source": "study", "questions": 2}
    assert may_not_read(stan, study) == ["Stan has seen keys of this study, or judged pairs of its questions: 1, 2."]
    questions = list(Question.objects.values_list("pk", flat=True))
    reasons = {conflict.reason for conflict in who_knows_keys([stan.pk, cora.pk], questions)}
    assert reasons == {"Stan has seen its key (pages or files of a study)."}


def test_another_set_can_still_be_read(rita: User) -> None:
    review_round = make_round(rita, n_questions=1)
    study = make_study(n_cases=2)
    other = CaseSet.objects.create(study=study, number=2, name="Other")
    seen = study.cases.get(number=1)
    seen.revision = review_round.plan.questions.get().revision
    seen.save()
    other.cases.set(study.cases.filter(number=2))
    assert may_not_read(rita, study, other) == []
    assert len(may_not_read(rita, study, study.sets.get(number=1))) == 1
