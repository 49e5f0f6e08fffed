"""Findings are stored, renewed, kept dismissed, and dismissed by a person with a reason.

A sent question file: its wording is checked in the job that stored it, once the questions can be seen.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from annotation.enums import ImportState, JobState
from annotation.jobs import queueing
from annotation.jobs.queueing import JobCancelled
from annotation.models import AuditEvent, BankImport, Exam, Finding, Job, Question, QuestionBank, Revision, Upload, User
from annotation.questionbank import checking, uploads
from annotation.questionbank.bank_life import sweep_import
from annotation.questionbank.checking import (
    CheckResult,
    QualityRefused,
    check_revisions,
    count_identifiers,
    dismiss,
    findings_of,
)
from annotation.questionbank.kernels.rules import BANKWIDE, RULES
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.quality.conftest import records
from tests.annotation.questionbank.files import run_import, write_file
from tests.annotation.review.cases import make_bank, make_revisions, reviewing
from tests.commands import ends_with_2
from tests.jobs import worked
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def run(bank: QuestionBank, at: datetime) -> CheckResult:
    return check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=at)


def rows() -> list[tuple[object, ...]]:
    fields = ("revision__question__number", "rule", "place", "detail", "found_at", "dismissed_at")
    return list(Finding.objects.order_by("pk").values_list(*fields))


def test_findings_name_rule_version_and_place(bank: QuestionBank, noon: datetime) -> None:
    result = run(bank, noon)
    found = {(number, rule, place) for number, rule, place, *_rest in rows()}
    assert {(2, "identifier_record", "explanation"), (3, "negative_stem", "stem"), (5, "longest_is_key", "A")} <= found
    assert not [one for one in found if one[0] == 1]
    assert all(one.rule_version == RULES[one.rule].version for one in Finding.objects.all())
    assert result.n_questions == 5
    assert result.rules["negative_stem"] == 2
    assert result.added == Finding.objects.count()
    event = AuditEvent.objects.get(act="bank.checked")
    assert event.facts == result.as_json()


def test_a_second_run_changes_nothing(bank: QuestionBank, noon: datetime) -> None:
    run(bank, noon)
    before, events = rows(), AuditEvent.objects.count()
    again = run(bank, noon + timedelta(days=1))
    assert (again.added, again.renewed, again.removed) == (0, 0, 0)
    assert (rows(), AuditEvent.objects.count()) == (before, events)


def test_batches_change_nothing(bank: QuestionBank, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    run(bank, noon)
    before = [row[:4] for row in rows()]
    Finding.objects.all().delete()
    monkeypatch.setattr(checking, "BATCH_SIZES", {"sqlite": 2, "postgresql": 2})
    told: list[tuple[int, int]] = []
    current = Revision.objects.in_bank(bank).current()
    check_revisions(bank, current, actor=None, at=noon, watch=lambda done, total: told.append((done, total)))
    assert sorted(row[:4] for row in rows()) == sorted(before)
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_a_newer_version_takes_the_place_of_an_older_one(
    bank: QuestionBank, cora: User, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(bank, noon)
    dismissed, other = Finding.objects.filter(rule="negative_stem").order_by("pk")
    dismiss(dismissed, reason="asked on purpose", actor=cora, at=noon)
    newer = RULES["negative_stem"]._replace(version=2, found="Now: {word}.")
    monkeypatch.setitem(RULES, "negative_stem", newer)
    result = run(bank, noon + timedelta(days=1))
    assert (result.added, result.renewed, result.removed) == (0, 2, 0)
    for one in (dismissed, other):
        one.refresh_from_db()
        assert one.rule_version == 2
        assert one.detail.startswith("Now: not.")
    assert (dismissed.dismiss_reason, other.dismissed_at) == ("asked on purpose", None)


def test_what_is_found_no_longer_goes_unless_a_person_dismissed_it(
    bank: QuestionBank, cora: User, noon: datetime
) -> None:
    run(bank, noon)
    revision = Revision.objects.get(question__number=1)
    gone, kept = (
        Finding.objects.create(
            bank=bank, revision=revision, rule=rule, rule_version=1, place="stem", detail="Old.", found_at=noon
        )
        for rule in ("negative_stem", "key_in_stem")
    )
    dismiss(kept, reason="fine", actor=cora, at=noon)
    assert run(bank, noon).removed == 1
    assert not Finding.objects.filter(pk=gone.pk).exists()
    assert Finding.objects.filter(pk=kept.pk).exists()


def test_a_prior_that_is_shown_may_be_mentioned(tmp_path: Path, noon: datetime, db: None) -> None:
    record = records()["q1"] | {"question": "What has changed since the previous radiograph?"}
    run_import(write_file(tmp_path, {"q1": record, "q2": records()["q2"]}))
    bank = QuestionBank.objects.get()
    assert run(bank, noon).rules["mentions_prior"] == 1
    first = Revision.objects.get(question__number=1)
    Exam.objects.filter(pk=first.question.exam_id).update(prior=Exam.objects.exclude(pk=first.question.exam_id).get())
    assert run(bank, noon).removed == 1


def test_a_person_dismisses_a_finding_with_a_reason(bank: QuestionBank, cora: User, noon: datetime) -> None:
    run(bank, noon)
    finding = Finding.objects.filter(rule="negative_stem")[0]
    dismiss(finding, reason=" asked on purpose ", actor=cora, at=noon)
    dismiss(finding, reason="again", actor=cora, at=noon + timedelta(days=1))
    assert (finding.dismissed_at, finding.dismissed_by, finding.dismiss_reason) == (noon, cora, "asked on purpose")
    event = AuditEvent.objects.get(act="finding.dismissed")
    assert (event.actor, event.subject_id) == (cora, finding.public_id)
    assert event.facts == {"rule": "negative_stem", "version": 1, "reason": "asked on purpose"}
    assert list(findings_of([finding.revision_id]))[-1] == finding


def test_a_reason_is_needed(bank: QuestionBank, cora: User, noon: datetime) -> None:
    run(bank, noon)
    finding = Finding.objects.all()[0]
    for reason, code in (("", "no_reason"), ("  ", "no_reason"), ("x" * 501, "reason_too_long")):
        with refuses(QualityRefused, code, status=422, field="reason"):
            dismiss(finding, reason=reason, actor=cora, at=noon)
    assert not Finding.objects.filter(dismissed_at__isnull=False).exists()


def test_a_bank_that_is_swept_takes_its_findings_along(bank: QuestionBank, noon: datetime) -> None:
    run(bank, noon)
    found = Finding.objects.filter(revision__question__number=3)[0]
    Finding.objects.create(
        bank=bank, revision=found.revision, rule="near_duplicate", rule_version=1, place="question", detail="Same.",
        found_at=noon, other=Revision.objects.get(question__number=4),
    )  # fmt: skip
    bank_import = bank.imports.get()
    type(bank_import).objects.filter(pk=bank_import.pk).update(state="failed")
    sweep_import(bank_import)
    assert not Finding.objects.exists()
    assert not Revision.objects.exists()


@pytest.fixture
def upload(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, cora: User, noon: datetime) -> Upload:
    """A sent file that waits to be stored; nobody listens to the queue."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    content = [json.dumps(records()).encode()]
    sent = uploads.receive_file(content, "bank.json", None, bank_name="Bank", actor=cora, at=noon)
    work()
    uploads.store_checked(Upload.objects.get(pk=sent.pk), actor=cora, at=noon)
    return sent


def work() -> Job:
    return worked(Job.objects.get(state=JobState.QUEUED))


def test_the_result_of_the_job_tells_what_was_found(upload: Upload) -> None:
    job = work()
    assert job.state == JobState.SUCCEEDED
    assert job.result is not None
    assert job.result["checked"]["questions"] == 5
    assert job.result["checked"]["added"] == Finding.objects.count() > 0
    assert (job.progress_done, job.progress_total, job.message) == (5, 5, "Checking the wording")


def test_questions_can_be_seen_before_they_are_checked(upload: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def look(*_all: Any, **_options: Any) -> Any:
        seen.append(BankImport.objects.get().state)
        raise JobCancelled

    monkeypatch.setattr(uploads, "check_revisions", look)
    job = work()
    assert seen == [ImportState.PUBLISHED]
    assert job.state == JobState.SUCCEEDED
    assert job.result is not None
    assert (job.result["stored"], job.result["checked"]) == (True, None)
    assert Question.objects.count() == 5


def test_a_job_that_was_killed_while_checking_checks_all_of_it_when_run_again(
    upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_all: Any, **_options: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "check_revisions", killed)
        with pytest.raises(SystemExit):
            work()
    Job.objects.filter(state=JobState.RUNNING).update(state=JobState.QUEUED)
    job = work()
    assert job.result is not None
    assert (job.result["unchanged"], job.result["checked"]["questions"]) == (5, 5)
    assert Finding.objects.exists()


def told(*arguments: str, name: str = "check_questions") -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_a_table_of_every_rule_with_interval_and_n(bank: QuestionBank) -> None:
    lines = told("--bank", bank.slug).splitlines()
    assert lines[0] == "Bank Bank: 5 questions checked."
    table = {rule.label: next(line for line in lines if line.startswith(rule.label)) for rule in RULES.values()}
    row = table["negative stem without emphasis"]
    assert row.split()[-7:] == ["2", "40.0%", "(11.8", "to", "76.9)", "5", "0"]
    assert "The longest option is the key" in lines[-2]
    assert "chi-square" in lines[-1]


def test_the_result_as_json(bank: QuestionBank) -> None:
    result: dict[str, Any] = json.loads(told("--bank", "Bank", "--duplicates", "--json"))
    assert result["n_questions"] == 5
    assert [one["rule"] for one in result["rules"]] == list(RULES)
    negative = next(one for one in result["rules"] if one["rule"] == "negative_stem")
    assert (negative["questions"], negative["findings"], negative["dismissed"]) == (2, 2, 0)
    assert negative["share"]["ci95"] == pytest.approx([0.1176, 0.7693], abs=1e-4)
    assert result["key_letters"]["counts"] == {"A": 1, "B": 4, "C": 0, "D": 0}
    assert result["key_letters"]["test"]["df"] == 3
    assert result["near_duplicates"]["n_duplicates"] == 2
    assert result["changes"]["added"] > 0
    assert json.loads(told("--bank", "Bank", "--json"))["changes"] == {"added": 0, "renewed": 0, "removed": 0}


def test_a_comparison_that_was_not_run_found_nothing_and_not_0(bank: QuestionBank) -> None:
    line = next(one for one in told("--bank", "Bank").splitlines() if one.startswith("near-duplicate "))
    assert line.split() == ["near-duplicate", "not", "run", "–", "–", "–"], "it is not 0 of 5"

    def rules(*options: str) -> dict[str, Any]:
        return {one["rule"]: one for one in json.loads(told("--bank", "Bank", "--json", *options))["rules"]}

    for rule in BANKWIDE:
        one = rules()[rule]
        assert (one["questions"], one["findings"], one["dismissed"]) == (None, None, None)
        assert (one["share"]["reason"], one["share"]["flags"]) == ("zero_trials", ["not_asked"])
    run = rules("--duplicates")
    assert (run["near_duplicate"]["questions"], run["near_duplicate"]["share"]["n"]) == (2, 5)
    assert run["public_twin"]["questions"] is None


def test_bad_input_exits_with_2_and_says_what_to_do(bank: QuestionBank) -> None:
    wrong = [
        (("--bank", "nowhere"), "Banks: bank."),
        (("--bank", "bank", "--threshold", "0.8"), "give one, too"),
        (("--bank", "bank", "--duplicates", "--threshold", "7"), "from 0.5 to 1"),
    ]
    for arguments, what_to_do in wrong:
        with ends_with_2(what_to_do):
            told(*arguments)
    assert not Finding.objects.exists()
    text = told("--bank", "Bank", "--duplicates", "--threshold", "0.8")
    assert "Near-duplicates at 0.8: 2 questions, 1 pairs." in text


def test_an_import_is_checked_once_it_is_published(tmp_path: Path) -> None:
    path = write_file(tmp_path, records())
    assert "Checks of the wording: " in told(str(path), "--bank", "Bank", name="import_questions")
    n = Finding.objects.count()
    assert n > 0
    assert "Checks of the wording: 0 findings." in told(str(path), "--bank", "Bank", name="import_questions")
    assert Finding.objects.count() == n


# --- the page of compliance: all 18 identifiers with what was found for each ---
@pytest.fixture
def compliant() -> QuestionBank:
    """Two questions with a name, one of them with an e-mail address, too; one without."""
    made = make_bank("Compliant")
    stems = ["Was Dr. Quill told?", "Was Dr. Quill, q@example.org, told?", "What is seen?"]
    make_revisions(made, {number: {"stem": stem} for number, stem in enumerate(stems, start=1)})
    check_revisions(made, Revision.objects.in_bank(made).current(), actor=None, at=NOON)
    Finding.objects.exclude(place="stem").delete()  # of made-up reports
    return made


def test_each_of_the_18_says_its_rule_what_was_found_and_what_was_dismissed(
    client: Client, cora: User, compliant: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    dismiss(Finding.objects.get(rule="identifier_email"), reason="An example.", actor=cora, at=NOON)
    client.force_login(cora)
    with django_assert_max_num_queries(20):
        answer = client.get(reverse("bank-compliance", args=[compliant.slug]))
    found = {one.identifier.letter: (one.n_open, one.n_dismissed) for one in answer.context["identifiers"]}
    assert "".join(found) == "ABCDEFGHIJKLMNOPQR"
    assert {letter: counts for letter, counts in found.items() if counts != (0, 0)} == {"A": (2, 0), "F": (0, 1)}
    text = answer.content.decode()
    assert f"{reverse('bank', args=[compliant.slug])}?finding=identifier_name" in text
    assert "does not apply to text: a photograph is no text" in text
    listed = client.get(reverse("bank", args=[compliant.slug]), {"finding": "identifier_name"}).content.decode()
    assert "q@example.org" in listed, "the link leads to the questions that are counted"


def test_what_a_reviewer_judges_is_not_counted(client: Client, compliant: QuestionBank) -> None:
    olga, _asked = reviewing(compliant, 2)
    client.force_login(olga)
    answer = client.get(reverse("bank-compliance", args=[compliant.slug]))
    assert answer.context["identifiers"][0].n_open == 1
    assert "1 question that you review yourself" in answer.content.decode()
    assert count_identifiers(compliant, compliant.questions.none())[0].n_open == 2
