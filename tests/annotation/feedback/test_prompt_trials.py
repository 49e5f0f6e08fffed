"""A trial from its plan to its result: the same reports, one mixed sample, nothing told before its round is closed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.call_enums import BatchState, PromptPurpose
from annotation.enums import Flag, QuestionState, Role, RoundState
from annotation.feedback.kernels.trial_states import FeedbackRefused, TrialState
from annotation.feedback.prompt_flags import flagged_comments, prompt_flags
from annotation.feedback.prompt_trials import (
    draw_trial,
    round_of,
    start_trial,
    trial_questions,
    trial_state,
)
from annotation.feedback.trial_plans import plan_trial
from annotation.feedback.trial_results import TrialResult, trial_result
from annotation.generation.report_sources import GenerationRefused
from annotation.models import (
    AnswerKey,
    AuditEvent,
    CallBatch,
    Exam,
    GenerationReport,
    GenerationRun,
    PromptTrial,
    PromptVersion,
    Question,
    QuestionBank,
    ReviewRound,
    SamplingPlan,
    User,
)
from annotation.review.ending import close_round, complete_reviews
from annotation.review.kernels.form_design import make_design
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.round_design import store_form
from annotation.review.rounds import create_round, open_round
from annotation.statistics.kernels.intervals import share
from tests.annotation.feedback.made import questions_prompt
from tests.annotation.feedback.trials import (
    LARGE,
    by_version,
    close,
    endpoint_is_there,
    made_trial,
    planned_trial,
    read,
    round_of_trial,
    trial_wanted,
    two_versions,
)
from tests.annotation.generation.made import bank_with_reports
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.test_two_worlds import Answer, Answers, in_a_world, seen_by
from tests.annotation.rounds.made import say
from tests.conftest import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    return bank_with_reports(tmp_path, 8)


@pytest.fixture
def made(bank: QuestionBank) -> PromptTrial:
    return made_trial(bank)


@pytest.fixture
def opened(made: PromptTrial, rita: User, cora: User) -> ReviewRound:
    return round_of_trial(made, rita, coordinator=cora)


# --- planned ---
def test_both_versions_get_the_same_reports_and_nothing_is_sent(bank: QuestionBank) -> None:
    trial = planned_trial(bank)
    first, second = (
        list(GenerationReport.objects.filter(run=run).order_by("number").values_list("answer_key", "sha256"))
        for run in (trial.first_run, trial.second_run)
    )
    assert first == second
    assert len(first) == 8
    assert trial.n_planned == 8
    assert trial_state(trial, None) == TrialState.PLANNED
    assert set(CallBatch.objects.values_list("state", flat=True)) == {BatchState.PLANNED}
    assert trial.first_run.bullets_batch.prompt == trial.second_run.bullets_batch.prompt
    assert trial.second_run.questions_prompt.parent == trial.first_run.questions_prompt
    assert AuditEvent.objects.filter(act="prompt_trial.planned", subject_id=trial.public_id).count() == 1


def test_a_dry_run_stores_nothing(bank: QuestionBank) -> None:
    versions = two_versions()
    n_prompts, n_events = PromptVersion.objects.count(), AuditEvent.objects.count()
    with endpoint_is_there():
        plan = plan_trial(trial_wanted(bank, versions, n_exams=None), actor=None, at=NOON, dry_run=True)
    assert (plan.n_pairs, plan.n_exams, plan.trial) == (8, 3, None)
    assert plan.as_json()["calls"] == 12
    assert not PromptTrial.objects.exists()
    assert not GenerationRun.objects.exists()
    assert (PromptVersion.objects.count(), AuditEvent.objects.count()) == (n_prompts, n_events)


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"same": True}, "same_prompts", "nothing to compare"),
        ({"n_exams": 2}, "too_few_exams", "needs 8 pairs, thus 3 exams"),
        ({"per_exam": 11}, "bad_per_exam", "1 to 10"),
        ({"seed": -1}, "bad_seed", "seed"),
        ({"issue_rate": 2.0}, "bad_assumption", "issue rate"),
        ({"difference": 0.0}, "bad_assumption", "difference"),
        ({"answers": True}, "wrong_purpose", "does not write questions"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_and_nothing_is_stored(
    bank: QuestionBank, changes: dict[str, Any], code: str, said: str
) -> None:
    first, second = two_versions()
    if changes.pop("same", False):
        second = first
    if changes.pop("answers", False):
        second = questions_prompt(1, name="other", purpose=PromptPurpose.ANSWER)
    assumed = {name: changes.pop(name, getattr(LARGE, name)) for name in LARGE.__dataclass_fields__}
    wanted = trial_wanted(bank, (first, second), assumed=type(LARGE)(**assumed), **changes)
    with endpoint_is_there(), pytest.raises(FeedbackRefused, match=said) as refused:
        plan_trial(wanted, actor=None, at=NOON)
    assert refused.value.code == code
    assert not GenerationRun.objects.exists()


def test_more_exams_than_the_bank_has_are_refused_as_generation_does(bank: QuestionBank) -> None:
    with endpoint_is_there(), pytest.raises(GenerationRefused, match="8 exams whose report may be sent"):
        plan_trial(trial_wanted(bank, two_versions(), n_exams=9), actor=None, at=NOON)
    assert not CallBatch.objects.exists()


def test_other_findings_with_the_same_questions_are_a_trial_too(bank: QuestionBank) -> None:
    first, _second = two_versions()
    fields = {"name": "short findings", "purpose": PromptPurpose.BULLETS, "text": "{{report}}", "variables": ["report"]}
    wanted = trial_wanted(bank, (first, first), second_findings=questions_prompt(1, **fields))
    with endpoint_is_there():
        trial = plan_trial(wanted, actor=None, at=NOON).trial
    assert trial is not None
    assert trial.first_run.bullets_batch.prompt != trial.second_run.bullets_batch.prompt


# --- asked ---
def test_both_are_asked_at_once_and_a_paused_one_goes_on(bank: QuestionBank) -> None:
    trial = planned_trial(bank)
    with endpoint_is_there():
        start_trial(trial, actor=None, at=NOON)
        assert trial_state(read(trial), None) == TrialState.ASKING
        with pytest.raises(FeedbackRefused, match="nothing to start"):
            start_trial(trial, actor=None, at=NOON)
        CallBatch.objects.filter(pk=trial.second_run.bullets_batch_id).update(state=BatchState.PAUSED)
        start_trial(trial, actor=None, at=NOON)
    assert set(CallBatch.objects.values_list("state", flat=True)) == {BatchState.RUNNING}
    assert AuditEvent.objects.filter(act="prompt_trial.started").count() == 2


def test_nothing_is_drawn_before_both_have_made_their_questions(bank: QuestionBank) -> None:
    trial = planned_trial(bank)
    with pytest.raises(FeedbackRefused, match="not there yet") as refused:
        draw_trial(trial, actor=None, at=NOON)
    assert refused.value.code == "not_made"
    assert not SamplingPlan.objects.exists()


# --- drawn ---
@pytest.mark.logs("prompt_trial.drawn")
def test_the_sample_holds_as_many_of_both_on_each_exam(made: PromptTrial) -> None:
    sample = draw_trial(made, actor=None, at=NOON)
    rows = list(sample.questions.values_list("revision__question__exam", "revision__bank_import", "stratum"))
    first = sorted(exam for exam, by, _stratum in rows if by == made.first_run.bank_import_id)
    second = sorted(exam for exam, by, _stratum in rows if by == made.second_run.bank_import_id)
    assert first == second
    assert 0 < len(first) <= 8
    assert {stratum for _exam, _by, stratum in rows} == {"all"}
    names = {made.first_run.questions_prompt.name, str(made.first_run.questions_prompt)}
    assert not any(name in f"{sample.name} {sample.slug} {sample.strata} {sample.frame}" for name in names)
    with pytest.raises(FeedbackRefused, match="drawn already"):
        draw_trial(made, actor=None, at=NOON)


def test_a_sample_in_the_bin_is_drawn_again_as_it_was(made: PromptTrial) -> None:
    before = list(draw_trial(made, actor=None, at=NOON).questions.values_list("revision", flat=True))
    SamplingPlan.objects.update(deleted_at=NOON)
    again = draw_trial(read(made), actor=None, at=NOON)
    assert list(again.questions.values_list("revision", flat=True)) == before


def test_a_withdrawn_question_is_not_drawn(made: PromptTrial) -> None:
    questions = trial_questions(made)
    gone = questions[0].number
    Question.objects.filter(bank=made.first_run.bank, number=gone).update(state=QuestionState.WITHDRAWN)
    assert gone not in {one.number for one in trial_questions(made)}


def test_without_a_pair_there_is_nothing_to_draw(made: PromptTrial) -> None:
    GenerationRun.objects.filter(pk=made.second_run_id).update(bank_import=None)
    with pytest.raises(FeedbackRefused, match="No exam has a question of both") as refused:
        draw_trial(read(made), actor=None, at=NOON)
    assert refused.value.code == "no_pairs"


# --- blinded ---
def test_a_reviewer_cannot_tell_which_version_made_a_question(
    client: Client, made: PromptTrial, opened: ReviewRound, rita: User, cora: User
) -> None:
    """Two worlds that differ in nothing but the version: equal bytes on every page, before and after a review."""
    first, second = by_version(made, opened)
    say(first[0], flags=[Flag.OTHER])
    say(second[0])

    def as_it_is(_round: ReviewRound) -> None: ...

    def swapped(_round: ReviewRound) -> None:
        mine, other = made.first_run.bank_import, made.second_run.bank_import
        GenerationRun.objects.filter(pk=made.first_run_id).update(bank_import=other)
        GenerationRun.objects.filter(pk=made.second_run_id).update(bank_import=mine)
        for one in AnswerKey.objects.filter(revision__bank_import__in=[mine, other]):
            texts = one.extra.replace("findings v1", "@").replace("findings v2", "findings v1")
            AnswerKey.objects.filter(pk=one.pk).update(extra=texts.replace("@", "findings v2"))

    told = [in_a_world(world, opened, lambda: seen_by(client, rita, opened)) for world in (as_it_is, swapped)]
    assert sum(one.status == 200 for one in told[0].values()) > 2 * len(first)
    assert told[0] == told[1]
    number = first[0].revision.question.number
    address = reverse("question", args=[opened.plan.bank.slug, number])

    def version_told() -> Answers:
        client.force_login(cora)
        page = client.get(address)
        return {"told": Answer(page.status_code, [], b"v1" if b"questions from findings v1" in page.content else b"v2")}

    control = [in_a_world(world, opened, version_told)["told"].body for world in (as_it_is, swapped)]
    assert control == [b"v1", b"v2"]  # the worlds do differ
    name = made.first_run.questions_prompt.name.encode()
    assert not any(name in one.body for one in told[0].values() if one.status == 200)


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR])
def test_who_could_look_up_the_version_reviews_none_until_the_round_is_closed(
    made: PromptTrial, cora: User, role: Role
) -> None:
    olga = make_person("Olga", role, Role.REVIEWER)
    sample = draw_trial(made, actor=cora, at=NOON)
    with pytest.raises(ReviewRefused, match="Olga could look up which prompt made it"):
        create_round(sample, name="Autumn", reviewers=[olga], actor=cora, at=NOON)
    ReviewRound.objects.create(name="Over", slug="over", plan=sample, state=RoundState.CLOSED, created_at=NOON)
    assert create_round(sample, name="Again", reviewers=[olga], actor=cora, at=NOON).assignments.exists()


# --- told ---
def result_of(trial: PromptTrial) -> TrialResult:
    trial = read(trial)
    return trial_result(trial, round_of(trial))


def test_before_the_round_is_closed_nothing_is_told(made: PromptTrial, opened: ReviewRound, cora: User) -> None:
    first, _second = by_version(made, opened)
    for one in first:
        say(one, flags=[Flag.UNSOUND], comment="unsound")
    trial = read(made)
    version = trial.first_run.questions_prompt
    for state in (RoundState.DRAFT, RoundState.OPEN, RoundState.COMPLETE, RoundState.ADJUDICATION):
        ReviewRound.objects.filter(pk=opened.pk).update(state=state)
        with pytest.raises(FeedbackRefused, match="Not closed") as refused:
            result_of(trial)
        assert refused.value.code == "not_closed"
        told = prompt_flags([version], cora)
        assert (told.versions[0].n_reviewed, told.n_hidden) == (0, 1)
        assert flagged_comments(version, cora) == []
    close(opened)
    assert prompt_flags([version], cora).versions[0].n_reviewed == len(first)


def test_a_flag_that_the_form_did_not_ask_has_no_count(made: PromptTrial, opened: ReviewRound, cora: User) -> None:
    design = make_design(grades=["image_alignment"], choices=[], flags=["unsound"], anchors={})
    form = str(store_form("Short", design, actor=cora, at=NOON))
    first, second = by_version(made, opened)
    for one in (*first, *second):
        say(one, best=None, form=form, flags=[Flag.UNSOUND] if one in first else [])
    close(opened)
    told = {flag: (one.count, two.count, one.n) for flag, one, two in result_of(made).flags}
    assert told[Flag.UNSOUND] == (len(first), 0, len(first))
    assert told[Flag.NEEDS_PRIOR] == told[Flag.KEY_WRONG] == (None, None, 0), "nobody was asked for it"
    [version] = prompt_flags([read(made).first_run.questions_prompt], cora).versions
    assert version.flags[Flag.KEY_WRONG].share.flags == ("not_asked",)
    assert version.n_reviewed == len(first)


def test_the_difference_is_counted_over_pairs_that_are_both_reviewed(
    made: PromptTrial, opened: ReviewRound, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """All of the first flagged but one; one of the second flagged; one question is not reviewed."""
    first, second = by_version(made, opened)
    n = len(first)
    assert n >= 5
    exam_of = {one.pk: one.revision.question.exam_id for one in (*first, *second)}
    for place, one in enumerate(first):
        say(one, flags=[Flag.SEVERAL_VALID] if place else [])
    for place, one in enumerate(second[:-1]):
        say(one, flags=[Flag.UNSOUND] if place == 0 else [])
    close(opened)
    with django_assert_max_num_queries(4):
        told = result_of(made)
    last = [one for one in first if exam_of[one.pk] == exam_of[second[-1].pk]][-1]  # its pair
    n_first = sum(one is not last for one in first[1:])
    assert (told.n_drawn, told.n_pairs, told.n_left_out) == (n, n - 1, 1)
    assert (told.found.first, told.found.second) == (share(n_first, n - 1), share(1, n - 1))
    assert told.found.difference.value == pytest.approx((1 - n_first) / (n - 1))
    by_flag = {flag: (before.count, after.count) for flag, before, after in told.flags}
    assert by_flag[Flag.SEVERAL_VALID] == (n_first, 0)
    assert by_flag[Flag.UNSOUND] == (0, 1)
    assert told.is_short
    assert told.as_json()["pairs_planned"] == 8
    assert told.as_json()["second_minus_first"]["value"] < 0


def test_a_round_is_opened_reviewed_and_closed_by_its_own_acts(made: PromptTrial, rita: User, cora: User) -> None:
    """Flags of the reviewers count, whatever the round leaves disputed."""
    who: dict[str, Any] = {"actor": cora, "at": NOON}
    review_round = create_round(draw_trial(made, **who), name="Autumn", reviewers=[rita], **who)
    assert trial_state(read(made), round_of(read(made))) == TrialState.DRAWN
    open_round(review_round, **who)
    assert trial_state(read(made), round_of(read(made))) == TrialState.REVIEWING
    first, second = by_version(made, review_round)
    for one in (*first, *second):
        say(one, best=None, flags=[Flag.UNSOUND] if one in second else [])
    complete_reviews(review_round, **who)
    close_round(review_round, **who)
    told = result_of(made)
    assert (told.found.first.count, told.found.second.count) == (0, len(second))
    assert told.found.difference.value == 1


def test_the_round_that_was_opened_first_counts(made: PromptTrial, opened: ReviewRound, cora: User) -> None:
    later = {"opened_at": NOON + timedelta(days=1), "state": RoundState.CLOSED}
    ReviewRound.objects.create(name="Later", slug="later", plan=opened.plan, created_at=NOON, **later)
    assert round_of(read(made)) == opened
    with pytest.raises(FeedbackRefused, match="Not closed"):
        result_of(made)


def test_patients_with_several_exams_are_one_cluster(made: PromptTrial, opened: ReviewRound) -> None:
    first, second = by_version(made, opened)
    for one in (*first, *second):
        say(one)
    close(opened)
    exams = {one.revision.question.exam_id for one in first}
    n_before = result_of(made).found.n_clusters
    assert n_before == len(exams)
    Exam.objects.filter(pk__in=sorted(exams)[:2]).update(patient_pseudonym="one person")
    told = result_of(made).found
    assert (told.n_clusters, told.is_clustered) == (n_before - 1, True)
