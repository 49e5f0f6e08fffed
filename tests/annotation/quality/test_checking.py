"""Findings are stored, renewed, kept dismissed, and dismissed by a person with a reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from annotation.models import AuditEvent, Exam, Finding, QuestionBank, Revision, User
from annotation.questionbank import checking
from annotation.questionbank.bank_life import sweep_import
from annotation.questionbank.checking import CheckResult, QualityRefused, check_revisions, dismiss, findings_of
from annotation.questionbank.kernels.rules import RULES
from tests.annotation.quality.conftest import records
from tests.annotation.questionbank.files import run_import, write_file

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


@pytest.mark.parametrize(("reason", "code"), [("", "no_reason"), ("  ", "no_reason"), ("x" * 501, "reason_too_long")])
def test_a_reason_is_needed(bank: QuestionBank, cora: User, noon: datetime, reason: str, code: str) -> None:
    run(bank, noon)
    finding = Finding.objects.all()[0]
    with pytest.raises(QualityRefused) as refused:
        dismiss(finding, reason=reason, actor=cora, at=noon)
    assert (refused.value.code, refused.value.status, refused.value.field) == (code, 422, "reason")
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
