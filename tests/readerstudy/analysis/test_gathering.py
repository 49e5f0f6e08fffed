"""From rows to arrays: what each reading counts as, who is a rater, and what the hash notices."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
from pytest_django import DjangoAssertNumQueries

from annotation.models import Assignment, BlindAnswer, User
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from readerstudy.analysis.gathering import gather, mark_of
from readerstudy.analysis.kernels.arrays import State, Voided
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import ResponseState, StudyState
from readerstudy.models import Enrolment, PredictionRun, ReaderStudy, Reading, Remark, Response, StudyCase
from tests.annotation.review.cases import images_are_there
from tests.readerstudy.analysis.made import predict
from tests.readerstudy.exports.read_study import read, void
from tests.readerstudy.studies import enrol, make_study, places_of

STATES = [
    State.ANSWERED,  # right, with a slip and a confidence
    State.ANSWERED,
    State.DECLINED,
    State.LATE,
    State.UNCONFIRMED,
    State.ANSWERED,  # unconfirmed first; the commit took its place
    State.TIMED_OUT,
    State.MISSING,  # never reached
]


def test_every_state_of_a_reading(study: ReaderStudy) -> None:
    arrays = gather(study)
    assert [(rater.name, rater.kind) for rater in arrays.raters] == [("R1", READER)]
    assert arrays.state[0].tolist() == STATES
    assert arrays.option[0].tolist() == [1, 2, -1, 1, 1, 0, -1, -1]
    assert arrays.questions.key.tolist() == [1] * 8
    assert arrays.position[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert (arrays.confidence[0, 0], arrays.slip[0, 0]) == (80, 3)
    assert arrays.slip[0, 1:].tolist() == [-1] * 7
    assert arrays.times.active_ms[0, 0] == 4200
    ended = [3, 4, 6]  # late, unconfirmed and without a choice: at the limit
    assert arrays.times.active_ms[0, ended].tolist() == [30_000] * 3
    assert np.isnan(np.delete(arrays.times.active_ms[0, 1:], np.array(ended) - 1)).all()
    assert arrays.times.censored[0].tolist() == [False, False, False, True, True, False, True, False]
    assert arrays.times.disturbed[0].tolist() == [True] + [False] * 7


def test_an_answer_in_doubt_is_marked_and_a_study_without_one_has_no_marks(study: ReaderStudy, stan: User) -> None:
    assert gather(study).doubted is None
    theirs = places_of(enrol(study, stan))
    read(theirs[0], {"option": "A", "time_flags": ["apart_from_server"]})
    doubted = gather(study).doubted
    assert doubted is not None
    assert np.argwhere(doubted).tolist() == [[1, theirs[0].case.number - 1]]


def test_the_limit_of_readings_made_elsewhere_is_that_of_the_rules_or_the_time_of_the_file(
    study: ReaderStudy, stan: User
) -> None:
    """Nothing is stored with them; a time with an excluding flag is none, at the limit or before."""
    theirs = places_of(enrol(study, stan))
    read(theirs[0], {"state": ResponseState.TIMED_OUT, "active_ms": 12_000})
    read(theirs[1], {"state": ResponseState.LATE, "option": "B"})
    read(theirs[2], {"state": ResponseState.TIMED_OUT, "active_ms": 9_000, "time_flags": ["resumed"]})
    times = gather(study).times
    assert times.active_ms[1][times.censored[1]].tolist() == [12_000]
    assert np.isnan(times.active_ms[1]).sum() == 7
    study.rules = {**study.rules, "time_limit_s": 40}
    times = gather(study).times
    assert times.active_ms[1][times.censored[1]].tolist() == [40_000, 40_000]
    assert times.active_ms[0, 3] == 30_000  # what was stored with the reading stands


def test_a_newer_choice_that_came_after_the_close_counts(study: ReaderStudy) -> None:
    ran_out = Reading.objects.get(responses__state="timed_out")
    more = {"reading": ran_out, "is_confirmed": False, "state": "unconfirmed", "stored_at": study.created_at}
    for sequence, option in ((1, "C"), (2, "B")):
        Response.objects.create(option=option, choice_sequence=sequence, **more)
    arrays = gather(study)
    assert (arrays.state[0, 6], arrays.option[0, 6]) == (State.UNCONFIRMED, 1)


def test_best_guesses_where_the_study_asks_for_them_or_a_file_brings_them(study: ReaderStudy, rita: User) -> None:
    assert gather(study).guess is None
    declined = Reading.objects.get(enrolment__pseudonym="R1", responses__state="declined")
    for number, option in enumerate("CB"):
        Remark.objects.create(reading=declined, kind="guess", value=option, key=f"g{number}", at=study.created_at)
    guess = gather(study).guess
    assert guess is not None
    assert guess[0].tolist() == [-1, -1, 1, *[-1] * 5]
    asking = make_study("Asking", rules=Rules(cannot_tell=True), state=StudyState.CLOSED)
    read(places_of(enrol(asking, rita))[0], {"option": "A"})
    guess = gather(asking).guess
    assert guess is not None
    assert guess.tolist() == [[-1, -1, -1]]


def test_who_left_or_answered_nothing_is_named_and_is_no_rater(study: ReaderStudy, stan: User) -> None:
    enrol(study, stan)
    assert gather(study).excluded == (
        {"kind": "reader", "reader": "R2", "reason": "withdrawn"},
        {"kind": "reader", "reader": "R3", "reason": "no answers"},
    )
    Enrolment.objects.update(withdrawn_at=None, replaced_at=study.created_at)
    assert gather(study).raters == ()


def test_voidings_say_when_they_were_decided(study: ReaderStudy) -> None:
    first, second = study.cases.filter(block="main").order_by("number")[:2]
    void(first)
    void(second, before_unblinding=False, reason="two valid")
    arrays = gather(study)
    assert arrays.questions.voided.tolist()[:3] == [Voided.BEFORE_UNBLINDING, Voided.AFTER_UNBLINDING, Voided.NO]
    told = [(one["case"], one["decided"], one["reason"]) for one in arrays.excluded if one["kind"] == "case"]
    assert told == [(1, "before_unblinding", "two keys are right"), (2, "after_unblinding", "two valid")]


def test_a_case_of_another_set_is_not_missing(study: ReaderStudy) -> None:
    link = StudyCase.sets.through
    ReaderStudy.objects.update(state=StudyState.DRAFT)
    link.objects.filter(studycase__number=8, studycase__block="main").delete()
    assert gather(study).state[0, 7] == State.NOT_ASSIGNED


def test_the_named_run_of_each_model(study: ReaderStudy, noon: datetime) -> None:
    predict(study, "Beta", "AAAAAAAA", noon)
    predict(study, "Alpha", "CCCCCCCC", noon, is_named=False)
    predict(study, "Alpha", "BBxBBBB.", noon)
    arrays = gather(study)
    assert [(rater.name, rater.kind) for rater in arrays.raters[1:]] == [("Alpha", MODEL), ("Beta", MODEL)]
    assert arrays.option[1].tolist() == [1, 1, -1, 1, 1, 1, 1, -1]
    assert arrays.state[1].tolist()[2] == State.FAILED
    assert arrays.state[1].tolist()[7] == State.MISSING
    assert arrays.raters[1].facts["number"] == 2


def test_a_model_called_like_a_reader_gets_another_name(study: ReaderStudy, noon: datetime) -> None:
    run = predict(study, "R1", "A" * 8, noon)
    assert [rater.name for rater in gather(study).raters] == ["R1", f"R1 (model {run.entry_id})"]


def test_the_hash_notices_what_counts_and_nothing_else(study: ReaderStudy, noon: datetime) -> None:
    seen = [gather(study).sha256()]
    assert gather(study).sha256() == seen[0]
    ReaderStudy.objects.update(archived_at=noon, unblinded_at=noon)
    study.refresh_from_db()
    assert gather(study).sha256() == seen[0]
    void(study.cases.get(block="main", number=4))
    seen.append(gather(study).sha256())
    predict(study, "Alpha", "A" * 8, noon)
    seen.append(gather(study).sha256())
    Enrolment.objects.filter(pseudonym="R1").update(replaced_at=noon)
    seen.append(gather(study).sha256())
    assert len(set(seen)) == 4


def test_it_costs_as_much_for_many_models(
    study: ReaderStudy, noon: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        predict(study, f"Model {number}", "A" * 8, noon)
    # arms, cases, keys, priors, readers, runs, other studies that were seen, sets, responses, remarks, predictions
    with django_assert_num_queries(12):
        gather(study)


def test_what_models_stated_enters_only_where_one_stated_something(study: ReaderStudy, noon: datetime) -> None:
    run = predict(study, "Alpha", "BBxBBBB.", noon)
    before = gather(study)
    assert before.model_confidence is None
    run.predictions.filter(row=2).update(confidence=0)
    run.predictions.filter(row=3).update(confidence=87.5)
    after = gather(study)
    assert after.model_confidence is not None
    assert np.isnan(after.model_confidence[0]).all()
    assert after.model_confidence[1, 1:3].tolist() == [0, 87.5]
    assert np.isnan(after.model_confidence[1, [0, *range(3, 8)]]).all()
    assert replace(after, model_confidence=None).sha256() == before.sha256() != after.sha256()


def test_further_runs_of_a_model_stand_apart_and_only_where_there_are_any(study: ReaderStudy, noon: datetime) -> None:
    predict(study, "Alpha", "BBxBBBB.", noon)
    before = gather(study)
    assert before.repeats is None
    predict(study, "Alpha", "CBBBBBB.", noon, is_named=False)
    withdrawn = predict(study, "Alpha", "A" * 8, noon, is_named=False)
    PredictionRun.objects.filter(pk=withdrawn.pk).update(withdrawn_at=noon)
    predict(study, "Beta", "A" * 8, noon, is_named=False)  # none of this model is named: it is no rater
    after = gather(study)
    assert after.repeats is not None
    assert after.repeats.of == ((1, 2),)
    assert after.repeats.option[0].tolist() == [2, 1, 1, 1, 1, 1, 1, -1]
    assert replace(after, repeats=None).sha256() == before.sha256() != after.sha256()


def test_blind_answers_of_reviewers_count_once_their_review_is_submitted(
    study: ReaderStudy, cora: User, ada: User, noon: datetime
) -> None:
    before = gather(study)
    assert before.experts is None
    marked = mark_of(study)
    images_are_there(study.bank)
    plan = draw_sample(study.bank, per_thousand=1000, actor=None, at=noon)
    made = create_round(plan, name="Experts", reviewers=[cora, ada], reviewers_per_question=2, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    [first, second] = Assignment.objects.filter(round=made).order_by("revision", "pk")[:2]
    for assignment in (first, second):
        BlindAnswer.objects.create(assignment=assignment, best="B", difficulty="easy", answered_at=noon)
    assert gather(study).experts is None
    Assignment.objects.filter(pk=first.pk).update(state="submitted")
    after = gather(study)
    assert after.experts is not None
    assert (after.experts.n.sum(), after.experts.right.sum()) == (1, 1)
    assert replace(after, experts=None).sha256() == before.sha256() != after.sha256()
    assert mark_of(study) != marked
