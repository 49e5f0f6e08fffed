"""Questions and their counterparts are asked of a model; other answers are counted, listed and held against them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.call_enums import EndpointPlace, PromptPurpose
from annotation.enums import RoundState
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.request_bodies import contents_of, request_of
from annotation.models import (
    AuditEvent,
    Finding,
    ModelCall,
    Question,
    QuestionBank,
    Revision,
    User,
    ValidatorRun,
)
from annotation.quality.validity import count_parts
from annotation.refusals import Refused
from annotation.validators.taking_verdicts import take_verdicts
from annotation.validators.validator_exams import bias_tables, results_as_json
from annotation.validators.validator_plans import begin_checks, plan_check, plan_checks
from tests.annotation.endpoints.simulated_models import JUDGES
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, asked_server, make_prompt
from tests.annotation.validators.test_validator_pages import page, reviewing
from tests.annotation.validators.validated import (
    NAMED,
    answered_counterparts,
    begun,
    judged_bank,
    prompt_without_images,
    wanted_of,
)

pytestmark = pytest.mark.django_db
STEMS = {
    1: "A 58-year-old man coughs. What is seen?",
    2: "A white woman coughs. What is seen?",
    3: "A woman after mastectomy. What is seen?",
    4: "What is seen?",
}


@pytest.fixture
def bank() -> QuestionBank:
    made = judged_bank(4)
    for number, stem in STEMS.items():
        Revision.objects.filter(question__bank=made, question__number=number).update(stem=stem)
    return made


def test_only_questions_with_a_counterpart_are_asked_and_only_the_stem_differs(bank: QuestionBank) -> None:
    run = begun(bank, "bias", prompt=prompt_without_images())
    assert run.left_out == [{"question": 3, "why": "depends_on_sex"}, {"question": 4, "why": "no_words"}]
    calls = list(ModelCall.objects.filter(batch=run.batch).select_related("revision", "batch").order_by("number"))
    assert [one.values for one in calls] == [
        {"change": change} for change in ("none", "again", "sex", "age", "none", "again", "sex", "origin")
    ]
    texts = [content.text for content in contents_of(run.batch, calls)]
    assert texts[0] == texts[1]
    assert texts[2] == texts[0].replace("man", "woman")
    assert texts[3] == texts[0].replace("58", "33")
    assert texts[7] == texts[4].replace("white", "Black")


@pytest.mark.django_db(transaction=True)
def test_over_the_wire_the_same_question_gets_the_same_answer_twice(bank: QuestionBank) -> None:
    prompt = prompt_without_images()
    with asked_server(place=EndpointPlace.MACHINE) as server:
        planned = plan_checks([wanted_of(bank, "bias", prompt=prompt)], actor=None, at=NOON)
        [plan] = begin_checks(planned, actor=None, at=NOON)
        ask_endpoint(ENDPOINT, clock=lambda: NOON)
    assert len(server.ledger) == 8
    assert plan.run is not None
    run = take_verdicts(ValidatorRun.objects.get(pk=plan.run.pk), at=NOON)
    assert (run.taken_at, run.n_unread) == (NOON, 0)
    assert Finding.objects.filter(rule="bias", verdict__in=["pass", "fail"]).count() == 2
    assert run.found["again"] == {"asked": 2, "read": 2, "different": 0, "lost": 0, "gained": 0}
    for call in ModelCall.objects.filter(batch=run.batch):
        assert request_of(call).sha256 == call.request_sha256


def test_another_answer_fails_the_question_and_is_counted(bank: QuestionBank) -> None:
    """Asked are question 1 as it is, again, with another sex, age; and 2 as it is, again, with another sex, origin."""
    run = answered_counterparts(bank, "B", "B", "C", "B", "B", "B", "B", "B")
    assert run.n_unread == 0
    found = {one.revision.question.number: one for one in Finding.objects.filter(rule="bias")}
    assert {number: one.verdict for number, one in found.items()} == {1: "fail", 2: "pass"}
    assert found[1].detail == "As it is, it was answered B twice, and C with another sex."
    [table] = bias_tables(bank, Question.objects.none())
    rows = {row.change.value: row for row in table.rows}
    assert list(rows) == ["again", "sex", "age", "origin"]
    sex = rows["sex"]
    assert (sex.n_asked, sex.different.count, sex.different.n, sex.lost, sex.gained) == (2, 1, 2, 1, 0)
    assert (rows["again"].different.count, rows["origin"].n_asked, rows["origin"].different.count) == (0, 1, 0)
    assert (table.n_kept_sex, table.n_no_words, table.n_asked) == (1, 1, 2)
    part = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    assert (part.n_pass, part.n_fail, part.n_not_examined) == (1, 1, 2)
    assert AuditEvent.objects.get(act="validator.verdicts_taken").facts["fail"] == 1


def test_what_differs_by_chance_or_cannot_be_read_is_undecided(bank: QuestionBank) -> None:
    answered_counterparts(bank, "B", "C", "C", "C", "B", "B", "", "B")
    assert set(Finding.objects.filter(rule="bias").values_list("verdict", flat=True)) == {"undecided"}
    rows = {row.change.value: row for row in bias_tables(bank, Question.objects.none())[0].rows}
    assert (rows["again"].different.count, rows["sex"].n_asked, rows["sex"].different.n) == (1, 2, 1)


def test_all_are_asked_again_and_the_newest_counts(bank: QuestionBank) -> None:
    answered_counterparts(bank, "B", "B", "C", "B", "B", "B", "B", "B")
    again = answered_counterparts(bank, "B")
    assert [table.run for table in bias_tables(bank, Question.objects.none())] == [again]
    newest = Finding.objects.filter(rule="bias", superseded_at=None)
    assert list(newest.values_list("verdict", flat=True)) == ["pass", "pass"]


def refused(bank: QuestionBank, code: str, **fields: Any) -> None:
    with override_settings(MODEL_ENDPOINTS=(NAMED,)), pytest.raises(Refused) as found:
        plan_check(wanted_of(bank, "bias", **fields), actor=None, at=NOON)
    assert found.value.code == code
    assert not ValidatorRun.objects.exists()


def test_what_is_refused(bank: QuestionBank) -> None:
    refused(bank, "images_waiting")  # ours sends images
    refused(bank, "no_verdict", prompt=make_prompt(purpose=PromptPurpose.CHECK, schema='{"properties": {}}'))
    Revision.objects.update(stem="What is seen?")
    refused(bank, "no_questions", prompt=prompt_without_images())


def test_the_page_lists_differences_and_hides_them_from_reviewers(
    client: Client, cora: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    assert "Not asked yet" in page(client, bank, "bias")
    answered_counterparts(bank, "B", "B", "C", "B", "B", "B", "B", "B")
    with django_assert_max_num_queries(36):
        text = page(client, bank, "bias")
    assert "C with another sex" in text
    assert "1 / 2" in text
    number = Revision.objects.get(stem=STEMS[1]).question.number
    question = client.get(reverse("question", args=[bank.slug, number])).content.decode()
    assert "C with another sex" in question
    assert "validator not tested" not in question
    olga, asked = reviewing(bank, 1)
    client.force_login(olga)
    text = page(client, bank, "bias")
    assert "C with another sex" not in text
    assert "1 / 2" not in text
    asked.state = RoundState.CLOSED
    asked.save()
    assert "1 / 2" in page(client, bank, "bias")


def test_the_command(bank: QuestionBank, capsys: pytest.CaptureFixture[str]) -> None:
    prompt_without_images()
    given = ("--bank", bank.slug, "--endpoint", NAMED.name, "--model", JUDGES, "--check", "bias")
    with override_settings(MODEL_ENDPOINTS=(NAMED,)):
        call_command("check_questions", *given, "--prompt", "blind answer", "--dry-run", "--json")
    [plan] = json.loads(capsys.readouterr().out)["checks"]
    assert (plan["questions"], plan["calls"]) == (2, 8)
    assert plan["left_out"] == {"depends_on_sex": 1, "no_words": 1}
    answered_counterparts(bank, "B", "B", "C", "B", "B", "B", "B", "B")
    [told] = results_as_json(bank)["bias"]
    assert told["differences"] == [
        {"question": 1, "found": "As it is, it was answered B twice, and C with another sex."}
    ]
    assert told["rows"]["sex"]["different"]["count"] == 1
