"""Validators are asked of a model that did not write the questions, and what it says becomes findings.

Which models are of one family, by their names.

Each question is asked once whether it is biased, and gets a verdict with its reason.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from annotation.call_enums import BatchState, CallOutcome, EndpointPlace, PromptPurpose
from annotation.jobs import queueing
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.request_bodies import contents_of, request_of
from annotation.models import (
    AnswerKey,
    AuditEvent,
    CallBatch,
    Finding,
    Job,
    ModelCall,
    PromptVersion,
    Question,
    Report,
    Revision,
    ValidatorRun,
)
from annotation.questionbank.checking import check_revisions, findings_of
from annotation.questionbank.validity import count_parts
from annotation.refusals import Refused
from annotation.validators.kernels.model_families import families_of, shared_family
from annotation.validators.taking_verdicts import KIND, act_on_run, runs_of, take_verdicts
from annotation.validators.validator_exams import exams_by_reviewers
from annotation.validators.validator_plans import CheckPlan, CheckWanted, begin_checks, plan_check, plan_checks
from tests.annotation.endpoints.simulated_models import JUDGES, OBEYS_SCHEMA
from tests.annotation.generation.made import bank_with_reports, finished_run, written_run
from tests.annotation.model_calls.simulated_calls import (
    ENDPOINT,
    HERE,
    NOON,
    answer_with,
    asked_server,
    make_permission,
    make_prompt,
)
from tests.annotation.review.cases import SECRETS, make_bank, make_revision, make_revisions
from tests.annotation.validators.test_validator_pages import page
from tests.annotation.validators.validated import (
    FINDINGS,
    begun,
    judged,
    judged_bank,
    verdict_json,
    verdicts,
    wanted_of,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


# --- the road ---
@pytest.mark.django_db(transaction=True)
def test_generated_questions_are_judged_by_another_model_over_the_wire(tmp_path: Path) -> None:
    bank = bank_with_reports(tmp_path)
    made = finished_run(bank)
    with asked_server(place=EndpointPlace.MACHINE) as server:
        wanted = [wanted_of(bank, code) for code in ("c1", "c2", "c3")]
        runs = [plan.run for plan in begin_checks(plan_checks(wanted, actor=None, at=NOON), actor=None, at=NOON)]
        ask_endpoint(ENDPOINT, clock=lambda: NOON)
    n_questions = 4 + made.n_made
    assert len(server.ledger) == 3 * n_questions
    assert Job.objects.filter(kind=KIND).count() == 3
    for run in runs:
        assert run is not None
        take_verdicts(run, at=NOON)
        assert run.n_unread == 0
        assert len(verdicts(bank, run.validator)) == n_questions
    call = ModelCall.objects.filter(batch=runs[2].batch)[0]  # type: ignore[union-attr]
    assert request_of(call).sha256 == call.request_sha256


def test_a_verdict_names_prompt_model_and_call() -> None:
    bank = judged_bank(3)
    run = judged(bank, "pass", "fail", "undecided")
    assert verdicts(bank) == ["pass", "fail", "undecided"]
    fail = Finding.objects.get(verdict="fail")
    assert fail.call is not None
    assert (fail.detail, fail.call.batch.model, str(fail.call.batch.prompt)) == (
        "a reason",
        JUDGES,
        "c1 domain-specific v1",
    )
    assert list(findings_of([fail.revision_id])) == [fail]
    event = AuditEvent.objects.get(act="validator.verdicts_taken")
    assert event.facts == {"check": "c1", "pass": 1, "fail": 1, "undecided": 1}
    before = list(Finding.objects.values_list("pk", flat=True))
    take_verdicts(run, at=NOON)
    ValidatorRun.objects.filter(pk=run.pk).update(taken_at=None)  # a worker that was killed before it could say so
    take_verdicts(run, at=NOON)
    assert list(Finding.objects.values_list("pk", flat=True)) == before


def test_what_holds_no_verdict_is_counted_and_judges_nothing() -> None:
    bank = judged_bank(4)
    run = begun(bank)
    answer_with(run.batch, verdict_json("pass"), "no JSON", '{"verdict": "maybe"}', '{"reason": "cut off')
    take_verdicts(run, at=NOON)
    assert (run.n_unread, verdicts(bank)) == (3, ["pass"])
    again = plan_here(wanted_of(bank))
    assert [one.number for one in again.found.asked] == [2, 3, 4]


def plan_here(wanted: CheckWanted) -> CheckPlan:
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        return plan_check(wanted, actor=None, at=NOON)


def test_a_newer_verdict_takes_the_place_of_an_older_one() -> None:
    bank = judged_bank(2)
    judged(bank, "fail", "fail")
    judged(bank, "pass", "fail", model="another-model")
    assert verdicts(bank) == ["pass", "fail"]
    assert Finding.objects.filter(superseded_at=NOON).count() == 2


def test_rules_leave_verdicts_alone() -> None:
    bank = judged_bank(2)
    judged(bank, "fail")
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=NOON)
    assert verdicts(bank) == ["fail", "fail"]


# --- what is sent ---
@pytest.mark.parametrize("validator", ["c1", "c2", "c3"])
def test_only_c3_sends_report_and_explanation(validator: str) -> None:
    run = begun(judged_bank(1), validator)
    calls = list(ModelCall.objects.filter(batch=run.batch).select_related("revision"))
    [content] = contents_of(run.batch, calls)
    assert "Key: B" in content.text
    assert (FINDINGS in content.text) == (SECRETS["explanation"] in content.text) == (validator == "c3")
    assert "{{" not in content.text


def test_a_report_that_names_somebody_is_not_sent() -> None:
    bank = judged_bank(3)
    Report.objects.filter(exam__questions__number=2).update(findings="Seen by Dr. Meyer, MRN 77410093.")
    Report.objects.filter(exam__questions__number=3).update(findings="", impression="")
    plan = plan_here(wanted_of(bank, "c3"))
    assert [one.number for one in plan.found.asked] == [1]
    assert plan.found.left_out == [{"question": 2, "why": "identifier"}, {"question": 3, "why": "no_report"}]
    assert len(plan_here(wanted_of(bank, "c1")).found.asked) == 3


# --- what is refused, and stores nothing ---
def refused(wanted: CheckWanted, code: str) -> str:
    n_events = AuditEvent.objects.count()
    with override_settings(MODEL_ENDPOINTS=(HERE,)), refuses(Refused, code) as found:
        begin_checks(plan_checks([wanted], actor=None, at=NOON), actor=None, at=NOON)
    assert (AuditEvent.objects.count(), ValidatorRun.objects.filter(taken_at=None).count()) == (n_events, 0)
    return str(found.value)


def test_no_model_judges_what_it_wrote_nor_does_one_of_its_family(tmp_path: Path) -> None:
    bank = bank_with_reports(tmp_path)
    run = written_run(bank)
    said = refused(wanted_of(bank, model=OBEYS_SCHEMA), "same_family")
    assert OBEYS_SCHEMA in said
    assert f"{run.n_made} of these questions" in said
    assert run.questions_batch is not None
    run.questions_batch.model = "Qwen/Qwen2.5-VL-7B-Instruct"
    run.questions_batch.save()
    said = refused(wanted_of(bank, model="qwen3-8b"), "same_family")
    assert "“Qwen/Qwen2.5-VL-7B-Instruct” wrote them" in said
    assert "“qwen”" in said


def test_no_permission_for_reports() -> None:
    bank = make_bank("Without")
    make_revision(bank, 1)
    make_permission(bank)
    assert "reports" in refused(wanted_of(bank, "c3"), "no_permission")
    assert plan_here(wanted_of(bank, "c1")).found.asked


def test_what_there_is_none_of_or_is_for_something_else_or_leaves_nothing_to_ask() -> None:
    bank = judged_bank(1)
    refused(wanted_of(bank, "c9"), "no_validator")
    refused(wanted_of(bank, prompt=make_prompt()), "wrong_purpose")
    schema = json.dumps({"type": "object", "properties": {"answer": {"type": "string"}}})
    other = make_prompt(name="other", purpose=PromptPurpose.CHECK, schema=schema)
    refused(wanted_of(bank, prompt=other), "no_verdict")
    assert not PromptVersion.objects.filter(name__startswith="c1").exists()
    AnswerKey.objects.update(key="")
    refused(wanted_of(bank), "no_questions")


def test_the_same_is_not_asked_twice() -> None:
    bank = judged_bank(2)
    run = begun(bank)
    with override_settings(MODEL_ENDPOINTS=(HERE,)), refuses(Refused, "under_way"):
        begin_checks(plan_checks([wanted_of(bank)], actor=None, at=NOON), actor=None, at=NOON)
    answer_with(run.batch, verdict_json("pass"))
    take_verdicts(ValidatorRun.objects.get(pk=run.pk), at=NOON)
    assert "all 2 questions" in refused(wanted_of(bank), "all_known")


def test_of_two_who_planned_the_same_one_begins_it() -> None:
    bank = judged_bank(2)
    first, second = plan_here(wanted_of(bank)), plan_here(wanted_of(bank))
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        begin_checks([first], actor=None, at=NOON)
        with refuses(Refused, "under_way"):
            begin_checks([second], actor=None, at=NOON)
    assert ValidatorRun.objects.count() == 1


def test_a_stopped_run_keeps_the_verdicts_that_came_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda _public_id: None)
    run = begun(judged_bank(3))
    answer_with(run.batch, verdict_json("fail"))
    ModelCall.objects.filter(batch=run.batch, number=3).update(outcome=CallOutcome.NOT_ASKED)
    CallBatch.objects.filter(pk=run.batch_id).update(state=BatchState.RUNNING)
    Job.objects.all().delete()
    run = ValidatorRun.objects.get(pk=run.pk)
    assert take_verdicts(run, at=NOON).taken_at is None
    act_on_run(run, "stop", actor=None, at=NOON)
    assert Job.objects.filter(kind=KIND).exists()
    assert take_verdicts(run, at=NOON).n_unread == 0
    assert list(Finding.objects.order_by("call__number").values_list("call__number", flat=True)) == [1, 2]
    (row,) = runs_of(run.bank)
    assert row.sentence == "Stopped for good; the verdicts that came until then count."
    assert begun(run.bank).batch.n_calls == 1


def test_images_that_wait_are_named() -> None:
    bank = judged_bank(2)
    make_revisions(make_bank("Other"), {1: {}})
    prompt = make_prompt(name="seeing", purpose=PromptPurpose.CHECK, images="all")
    assert "2 questions (1, 2)" in refused(wanted_of(bank, prompt=prompt), "images_waiting")


@pytest.mark.parametrize(
    ("one", "other", "family"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen3-8b", "qwen"),
        ("google/medgemma-4b-it", "gemma-3-27b", "gemma"),
        ("deepseek-r1-distill-qwen-7b", "Qwen2.5-VL-3B", "qwen"),
        ("gpt-4o", "o3", "gpt"),
        ("meta-llama/Llama-3.2-11B-Vision", "llava-llama-3", "llama"),
        ("Acme/radmodel-2", "other/RadModel-7", "radmodel"),
        ("7b", "7b", "7b"),
    ],
)
def test_of_one_family(one: str, other: str, family: str) -> None:
    assert shared_family(one, other) == shared_family(other, one) == family


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4o", "claude-opus-4"),
        ("medgemma-4b-it", "Qwen2.5-VL-7B"),
        ("stand-in-json", "stand-in-judge"),
        ("phi-4", "sophia-2"),
        ("google/radmodel", "google/other"),
    ],
)
def test_not_of_one_family(one: str, other: str) -> None:
    assert shared_family(one, other) == ""
    assert families_of(one)
    assert families_of(other)


def test_every_question_is_asked_once_with_key_and_explanation_and_without_report_and_images() -> None:
    bank = judged_bank(4)
    AnswerKey.objects.update(explanation="Older men smoke.")
    run = begun(bank, "bias")
    calls = list(ModelCall.objects.filter(batch=run.batch).select_related("revision", "batch").order_by("number"))
    assert ([one.revision_id for one in calls], run.left_out) == (
        list(Revision.objects.in_bank(bank).current().order_by("question__number").values_list("pk", flat=True)),
        [],
    )
    content = contents_of(run.batch, calls)[0]
    assert "Explanation: Older men smoke." in content.text
    assert "The lungs are clear" not in content.text
    assert run.batch.images == "none"


def test_each_has_a_verdict_with_its_reason_that_counts_and_can_be_dismissed(coordinator: Client) -> None:
    bank = judged_bank(3)
    judged(bank, "fail", "pass", "undecided", validator="bias", reason="“elderly” steers to option B")
    assert verdicts(bank, "bias") == ["fail", "pass", "undecided"]
    part = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    assert (part.told["pass"], part.told["fail"], part.told["undecided"], part.n_not_examined) == (1, 1, 1, 0)
    text = page(coordinator, bank, "bias")
    assert "“elderly” steers to option B" in text
    assert "the form of reviews asks nothing about bias" in text
    found = Finding.objects.get(rule="bias", verdict="fail")
    coordinator.post(
        reverse("finding-dismiss", args=[bank.slug, 1]), {"finding": found.public_id, "reason": "Age bears on it."}
    )
    part = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    assert (part.told["pass"], part.told["fail"]) == (2, 0)
    assert exams_by_reviewers(bank, "bias", Question.objects.none()) == []
