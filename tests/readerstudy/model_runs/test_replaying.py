"""Predictions are made again from stored responses: the same to the byte, and nothing is sent or stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.endpoints.client import ModelClient
from annotation.models import AuditEvent, CallAttempt, ModelCall, QuestionBank
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.publishing import ReadOtherwise, publish, replay
from readerstudy.models import ModelRun, Prediction, PredictionRun
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, images_are_there
from tests.readerstudy.model_runs.made import answer, end, make_prompt, name_endpoints, planned
from tests.readerstudy.predictions.made import keyed_bank
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
SAID = {1: "B", 2: "The answer is (D).", 3: '{"answer": "A", "explanation": "not B"}', 4: "I cannot tell.", 5: "C"}


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sent fails the test."""

    def send(*args: object, **more: object) -> None:
        raise AssertionError("a call was sent")

    name_endpoints(settings)
    monkeypatch.setattr(ModelClient, "send", send)


@pytest.fixture
def bank() -> QuestionBank:
    return keyed_bank(5)


def complete(bank: QuestionBank, **fields: Any) -> ModelRun:
    run = planned(Target(bank), **fields)
    answer(run, lambda call: SAID[call.revision.question.number] if call.revision else "", outcomes=CUT)
    end(run)
    return run


CUT = {5: CallOutcome.CUT}


def stored() -> tuple[int, ...]:
    tables = (CallAttempt, Prediction, PredictionRun, AuditEvent)
    return tuple(table.objects.count() for table in tables)


def test_the_same_rule_gives_the_same_bytes(bank: QuestionBank) -> None:
    run = complete(bank, n_repeats=2)
    published = publish(run, actor=None, at=NOON)
    before = stored()
    found = replay(run)
    assert (found.rule, found.n_calls, found.otherwise, found.is_equal) == ("extract-2", 10, (), True)
    assert [one.run for one in found.published] == [one.public_id for one in published]
    assert all(one.sha256 == one.stored_sha256 and not one.questions for one in found.published)
    assert stored() == before


def test_what_differs_is_named(bank: QuestionBank) -> None:
    run = complete(bank)
    [published] = publish(run, actor=None, at=NOON)
    Prediction.objects.filter(run=published, revision__question__number=2).update(option="A")
    Prediction.objects.filter(run=published, revision__question__number=4).delete()
    ModelCall.objects.filter(batch=run.batch, revision__question__number=1).update(option="C")
    found = replay(run)
    assert found.published[0].questions == (2, 4)
    assert found.published[0].sha256 != found.published[0].stored_sha256
    assert found.otherwise == (ReadOtherwise(1, 1, 1, "answered", "C", "answered", "B"),)
    assert not found.is_equal


def test_another_rule_lists_what_it_reads_otherwise_and_publishes_nothing(bank: QuestionBank) -> None:
    run = complete(bank)
    publish(run, actor=None, at=NOON)
    before = stored()
    found = replay(run, "whole-1")
    assert found.otherwise == (ReadOtherwise(2, 1, 1, "answered", "D", "failed", ""),)
    assert (found.published, stored()) == ((), before)


def test_all_orders_and_variants_are_read_again(bank: QuestionBank) -> None:
    images_are_there(bank)
    prompt = make_prompt("all", images=SentImages.ALL)
    run = planned(Target(bank), prompt=prompt, images=SentImages.BLANK, n_orders=4)
    answer(run, lambda call: "(A)" if call.rotation == 2 else "The answer is (B).")
    end(run)
    found = replay(run)
    assert (found.n_calls, found.otherwise, found.published, found.is_equal) == (20, (), (), True)
    otherwise = replay(run, "whole-1").otherwise
    assert (len(otherwise), {one.order for one in otherwise}) == (15, {1, 2, 4})
    call = run.batch.calls.get(rotation=2, revision__question__number=1)
    assert call.option == "C"


def test_the_answer_that_decided_a_call_is_read_not_a_later_one(bank: QuestionBank) -> None:
    run = complete(bank)
    first = run.batch.calls.get(number=1).attempts.get()
    first.pk, first.number, first.body = None, 2, first.body.replace("B", "D")
    first.save()
    assert replay(run).is_equal


@pytest.mark.parametrize("state", [state for state in BatchState if state != BatchState.COMPLETE])
def test_an_incomplete_run_is_not_read_again(bank: QuestionBank, state: BatchState) -> None:
    run = planned(Target(bank))
    answer(run, n=4)
    end(run, state)
    with refuses(RunningRefused, "incomplete", match="1 call has no answer of the model yet. Nothing was read again"):
        replay(run)


# --- the command ----------------------------------------------------------------------------------
def test_the_command_says_that_they_are_equal(bank: QuestionBank, capsys: pytest.CaptureFixture[str]) -> None:
    run = complete(bank)
    [published] = publish(run, actor=None, at=NOON)
    call_command("replay_model_run", run.batch.public_id)
    said = capsys.readouterr().out
    assert "5 calls read again by extract-2; nothing was sent." in said
    assert "equal: every answer counts as it is stored" in said
    assert AuditEvent.objects.get(act="run.replayed").subject_id == run.batch.public_id
    assert f"run {published.public_id}, repeat 1: equal; SHA-256 " in said
    call_command("replay_model_run", run.batch.public_id, "--json")
    assert capsys.readouterr().out == json.dumps(replay(run).as_json(), ensure_ascii=False, indent=1) + "\n"


def test_the_command_fails_where_they_are_not(bank: QuestionBank, capsys: pytest.CaptureFixture[str]) -> None:
    run = complete(bank)
    publish(run, actor=None, at=NOON)
    Prediction.objects.filter(revision__question__number=2).update(raw="The answer is (C).")
    with pytest.raises(CommandError) as failed:
        call_command("replay_model_run", run.batch.public_id)
    assert failed.value.returncode == 1
    assert "repeat 1: differs in questions 2;" in capsys.readouterr().out


def test_the_command_lists_what_another_rule_reads(bank: QuestionBank, capsys: pytest.CaptureFixture[str]) -> None:
    run = complete(bank)
    call_command("replay_model_run", run.batch.public_id, "--rule", "whole-1")
    said = capsys.readouterr().out
    assert "1 answers count otherwise:\n  question 2, order 1, repeat 1: answered D -> failed" in said
    assert "none are published by this rule" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "There is no run 'nothing'. Nothing was changed."),
        (
            ["{run}", "--rule", "letter-9"],
            "There is no rule of extraction “letter-9”; there are: extract-2, letter-1, whole-1.",
        ),
    ],
)
def test_what_the_command_refuses(bank: QuestionBank, arguments: list[str], sentence: str) -> None:
    run = complete(bank)
    with pytest.raises(CommandError) as failed:
        call_command("replay_model_run", *(one.format(run=run.batch.public_id) for one in arguments))
    assert sentence in str(failed.value)
    assert failed.value.returncode == 2
