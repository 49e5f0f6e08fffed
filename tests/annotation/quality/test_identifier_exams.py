"""The rules for identifiers are examined: by command, by job, and on their page."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.jobs.running import run_job
from annotation.models import AuditEvent, Finding, IdentifierExam, Job, QuestionBank, Revision, User
from annotation.quality.checking import check_revisions, dismiss
from annotation.quality.identifier_exams import any_rule, examine_later, examine_rules, rows_of
from annotation.quality.kernels.identifiers import IDENTIFIERS
from annotation.refusals import Refused
from tests.annotation.quality.test_command import told

pytestmark = pytest.mark.django_db
COMMAND = "examine_identifier_rules"


def address(bank: QuestionBank) -> str:
    return reverse("bank-identifiers", args=[bank.slug])


def test_without_a_bank_only_planted_ones_are_counted_and_nothing_is_stored() -> None:
    found = json.loads(told("--planted", "20", "--seed", "3", "--json", name=COMMAND))
    assert [one["letter"] for one in found["identifiers"]] == [one.letter for one in IDENTIFIERS]
    by_letter = {one["letter"]: one for one in found["identifiers"]}
    title = by_letter["A"]["planted"][0]
    assert (title["found"]["n"], title["found"]["value"]) == (20, 1.0)
    assert title["found"]["ci95"][0] == pytest.approx(0.8389, abs=1e-4)
    assert (by_letter["P"]["version"], by_letter["P"]["why_none"][:22]) == (None, "does not apply to text")
    assert by_letter["A"]["fires"] is None
    assert not IdentifierExam.objects.exists()
    assert "surname alone: found 0.0 (0.0 to 16.1) % of n = 20" in told("--planted", "20", name=COMMAND)


def test_a_bank_is_counted_and_the_exam_is_kept(bank: QuestionBank, cora: User) -> None:
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=timezone.now())
    found = json.loads(told("--bank", bank.slug, "--planted", "5", "--json", name=COMMAND))
    record = next(one for one in found["identifiers"] if one["letter"] == "H")
    assert (record["fires"]["count"], record["fires"]["n"], record["dismissed"]) == (1, 5, 0)
    assert found["any_rule"]["fires"]["count"] == 1
    [finding] = Finding.objects.filter(rule="identifier_record", place="explanation")
    dismiss(finding, reason="A made-up number.", actor=cora, at=timezone.now())
    exam = examine_rules(bank, n=5, seed=1, actor=cora, at=timezone.now())
    assert next(row.n_dismissed for row in rows_of(exam) if row.identifier.letter == "H") == 1
    assert any_rule(exam)[1] == 1
    assert AuditEvent.objects.filter(act="identifier_rules.examined").count() == IdentifierExam.objects.count() == 2


@pytest.mark.parametrize(("arguments", "word"), [(("--planted", "0"), "1 to 2000"), (("--seed", "-1"), "seed")])
def test_bad_numbers(bank: QuestionBank, arguments: tuple[str, str], word: str) -> None:
    with pytest.raises(CommandError, match=word) as refused:
        told("--bank", bank.slug, *arguments, name=COMMAND)
    assert refused.value.returncode == 2
    assert not IdentifierExam.objects.exists()


def test_the_page_tells_of_all_18_and_examines(
    client: Client, cora: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    text = client.get(address(bank)).content.decode()
    assert "Not examined in this bank" in text
    assert all(one.code in text for one in IDENTIFIERS if one.patterns)
    assert text.count("does not apply to text") == 2
    assert "Equation 6" in text
    for _twice in range(2):
        assert client.post(address(bank)).status_code == 302
    job = Job.objects.get(kind=COMMAND)
    run_job(job.public_id)
    exam = IdentifierExam.objects.get()
    assert (exam.created_by, exam.n_questions) == (cora, 5)
    with django_assert_max_num_queries(15):
        text = client.get(address(bank)).content.decode()
    assert "200.0 (36.2 to 624.5)" in text
    assert "1 of n = 5" in text
    assert "Rules have changed" not in text
    IdentifierExam.objects.update(rules={**exam.rules, "identifier_name": 1})
    assert "Rules have changed since they were examined: a name." in client.get(address(bank)).content.decode()


def test_an_archived_bank_is_not_examined(client: Client, cora: User, bank: QuestionBank) -> None:
    bank.archived_at = timezone.now()
    bank.save()
    with pytest.raises(Refused, match="bring it back"):
        examine_later(bank, actor=cora, at=timezone.now())
    client.force_login(cora)
    assert "Examine the rules" not in client.get(address(bank)).content.decode()


@pytest.mark.parametrize("name", ["ada", "rita", "dina"])
def test_who_does_not_coordinate_sees_none(
    client: Client, bank: QuestionBank, name: str, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(name))
    assert client.get(address(bank)).status_code == client.post(address(bank)).status_code == 403
