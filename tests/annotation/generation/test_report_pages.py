"""Reports by page: of chosen exams, in a file, pasted; held back with the places marked, masked; what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from annotation.call_enums import ReportSource
from annotation.enums import KeySource
from annotation.models import (
    AuditEvent,
    CallBatch,
    GenerationReport,
    GenerationRun,
    Question,
    QuestionBank,
    Revision,
    SeenKey,
    SendingPermission,
    User,
)
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.generation.made import bank_with_reports
from tests.annotation.generation.test_planning_generation import NAMED
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, NOON, make_permission, make_price
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import make_bank, reviewing

ASKED = {"per_exam": "3", "seed": "7", "endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "temperature": "0"}
CSV = 'study_id,report\nstudy-1,A nodule. No mass.\nstudy-2,"Seen by Dr. Miller. Clear lungs, no effusion."\n'


@pytest.fixture
def bank(db: None, tmp_path: Path, settings: Settings) -> QuestionBank:
    settings.MODEL_ENDPOINTS = (HERE,)
    made = bank_with_reports(tmp_path, 3)
    run_import(write_file(tmp_path, {"named": make_record(8, 8, Findings=NAMED)}, "named.json"), bank="Reports")
    return made


@pytest.fixture
def page(client: Client, cora: User, bank: QuestionBank) -> Any:
    client.force_login(cora)
    address = reverse("generation-runs", args=[bank.slug])

    def post(**sent: Any) -> Any:
        return client.post(address, {**ASKED, **sent})

    return post


def shown(answer: Any) -> str:
    return str(answer.content.decode())


def records() -> list[dict[str, Any]]:
    return [json.loads(one.record) for one in GenerationReport.objects.order_by("number")]


def file_of(content: str | bytes, name: str = "reports.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def test_a_file_is_sent_once_held_back_masked_and_started(page: Any, cora: User) -> None:
    planned = page(source="file", file=file_of(CSV))
    told = shown(planned)
    assert (planned.context["facts"]["reports"], planned.context["facts"]["calls"]) == (1, 2)
    assert 'title="a name">Dr. Miller</mark>. Clear lungs' in told
    assert "Mask the marked places and plan again" in told
    brought = {"source": "file", "lines": planned.context["form"].data["lines"], "file_name": "reports.csv"}
    masked = page(**brought, mask="on")
    assert (masked.context["facts"]["reports"], len(masked.context["facts"]["masked"])) == (2, 1)
    assert "Seen by [NAME]. Clear lungs" in shown(masked)
    assert "Miller" not in shown(masked).split('id="held"')[1]
    assert not GenerationRun.objects.exists()
    page(**brought, mask="on", start="yes")
    run = GenerationRun.objects.get()
    assert (run.source, run.file_name, run.created_by) == (ReportSource.FILE, "reports.csv", cora)
    assert [one["Findings"] for one in records()] == ["A nodule. No mass.", "Seen by [NAME]. Clear lungs, no effusion."]
    event = AuditEvent.objects.get(act="generation.masked")
    assert (event.actor, event.subject_id, event.facts["reports"]) == (cora, run.public_id, 1)


def test_without_masking_the_report_is_left_out(page: Any) -> None:
    page(source="file", file=file_of(CSV), start="yes")
    run = GenerationRun.objects.get()
    assert [one["Findings"] for one in records()] == ["A nodule. No mass."]
    assert (run.refused, run.masked) == ([{"exam": "row 3", "rules": ["identifier_name"]}], [])


def test_every_way_is_planned_and_started(page: Any) -> None:
    ways: list[tuple[dict[str, str], int]] = [
        ({"source": "pasted", "exam": "study-1", "pasted": "Findings: A nodule.\r\nImpression: Normal."}, 1),
        ({"source": "pasted", "pasted": "study_id\treport\r\nstudy-1\tA nodule.\r\nstudy-3\tClear."}, 2),
        ({"source": "pasted", "pasted": '{"study_id": "study-2", "report": "A nodule."}'}, 1),
        ({"source": "chosen", "chosen": "study-1\r\nstudy-3\r\n"}, 2),
        ({"source": "bank", "exams": ""}, 3),
        ({"exams": "2"}, 2),
    ]
    for sent, n_reports in ways:
        assert page(**sent).context["facts"]["reports"] == n_reports
        page(**sent, start="yes")
        assert GenerationReport.objects.filter(run=GenerationRun.objects.latest("pk")).count() == n_reports


def test_what_is_wrong_is_one_sentence_and_nothing_is_stored(page: Any) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"source": "file"}, "Choose the file of reports."),
        ({"source": "chosen", "chosen": " "}, "Name the exams."),
        ({"source": "pasted"}, "Paste a report."),
        ({"source": "elsewhere"}, "Select a valid choice"),
        ({"source": "chosen", "chosen": "study-77"}, "has no exam with this id: study-77"),
        ({"source": "pasted", "pasted": "The heart is enlarged."}, "must name the columns"),
        ({"source": "pasted", "exam": "study-1", "pasted": "TECHNIQUE: PA."}, "row 1: There is neither"),
        ({"source": "file", "file": file_of(b"%PDF-1.7", "a.pdf")}, "The file is a PDF"),
        ({"source": "file", "file": file_of("study_id,report\n")}, "reports.csv holds no report"),
    ]
    for sent, words in wrong:
        answer = page(**sent, start="yes")
        assert answer.status_code == 422
        assert words in shown(answer).replace("&#x27;", "'")
    assert GenerationRun.objects.count() + CallBatch.objects.count() == 0


def test_a_file_that_a_page_cannot_bring_back_is_for_the_command(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_BROUGHT", "MOST_READ"):
        with monkeypatch.context() as patch:
            patch.setattr(f"annotation.forms.model_endpoints.{limit}", 40)
            answer = page(source="file", file=file_of(CSV))
        assert answer.status_code == 422
        assert "manage.py generate_questions" in shown(answer)


def test_texts_of_reports_are_escaped(page: Any) -> None:
    assert "<b>" not in shown(page(source="pasted", exam="study-1", pasted="Seen by Dr. <b>Miller</b> today."))


# --- blinding ---
def test_who_saw_a_held_report_has_seen_the_keys_of_its_exam(page: Any, cora: User, bank: QuestionBank) -> None:
    answer = page(source="chosen", chosen="study-8\nstudy-1")
    assert "Dr. Miller</mark>" in shown(answer)
    seen = SeenKey.objects.get(person=cora)
    assert (seen.question.exam, seen.source) == (Question.objects.get(bank=bank, number=4).exam, KeySource.REPORTS)
    assert AuditEvent.objects.get(act="key.seen").facts == {"source": "reports", "questions": 1}
    page(source="chosen", chosen="study-1")
    assert SeenKey.objects.count() == 1, "no report was shown"


def test_all_that_is_held_is_shown_where_nothing_can_be_sent(page: Any, cora: User) -> None:
    answer = page(source="chosen", chosen="study-8")
    assert answer.status_code == 422
    assert "Ask for fewer, or mask" in shown(answer)
    assert "Dr. Miller</mark>" in shown(answer)
    assert SeenKey.objects.filter(person=cora).count() == 1


def test_who_judges_a_question_of_the_exam_is_not_shown_its_report(client: Client, bank: QuestionBank) -> None:
    olga, _asked = reviewing(bank, 4)
    client.force_login(olga)
    address = reverse("generation-runs", args=[bank.slug])
    for mask in ("", "on"):
        told = shown(client.post(address, {**ASKED, "source": "chosen", "chosen": "study-8\nstudy-1", "mask": mask}))
        assert "The heart is enlarged. " not in told.replace(NAMED, "")
        assert "Miller" not in told
        assert "Seen by" not in told
        assert "0 of 1 are" in " ".join(told.split())
    assert not SeenKey.objects.filter(person=olga).exists()


def test_who_reads_in_the_bank_is_shown_no_report_of_it(page: Any, cora: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.outcomes.held_reports.reads_in_bank", lambda person, bank: "Trial")
    told = shown(page(source="chosen", chosen="study-8\nstudy-1"))
    assert "Miller" not in told
    assert not SeenKey.objects.exists()


# --- exams of a filtered list ---
def test_a_filtered_list_leads_to_its_exams(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    address = reverse("generation-runs", args=[bank.slug])
    task = Revision.objects.get(question__bank=bank, question__number=1).task
    listed = client.get(reverse("bank", args=[bank.slug]), {"task": task}).content.decode()
    assert f"{address}?task={task}" in listed
    form = client.get(address, {"task": task}).context["form"]
    names = set(form["chosen"].value().split())
    assert (form["source"].value(), names) == ("chosen", set(bank.exams.values_list("pseudonym", flat=True)))
    assert client.get(address).context["form"]["source"].value() == "bank"


# --- what is missing ---
def missing(client: Client, bank: QuestionBank) -> dict[str, str]:
    answer = client.get(reverse("generation-runs", args=[bank.slug]))
    told = answer.content.decode()
    found = {one.page: one.sentence for one in answer.context["missing"]}
    for one in answer.context["missing"]:
        assert (
            reverse(one.page, args=[one.named] if one.named else []) in told.split('id="missing"')[1].split("</ul>")[0]
        )
    if found and '<form method="post" class="panel"' in told:
        assert told.index('id="missing"') < told.index('<form method="post" class="panel"'), "before the form"
    return found


def test_what_is_missing_is_said_before_the_form(
    client: Client, cora: User, bank: QuestionBank, settings: Settings
) -> None:
    client.force_login(cora)
    assert set(missing(client, bank)) == {"model-endpoint"}
    make_price()
    assert missing(client, bank) == {}
    SendingPermission.objects.update(withdrawn_at=NOON)
    assert "No endpoint may be sent reports of “Reports”" in missing(client, bank)["bank-sending"]
    bare = make_bank("Bare")
    assert "holds no exam with a report" in missing(client, bare)["question-import-new"]
    make_permission(bare, questions=False, images=False, reports=True)
    assert set(missing(client, bare)) == {"question-import-new"}
    settings.MODEL_ENDPOINTS = ()
    assert "REXVQA_MODEL_ENDPOINTS" in missing(client, bare)["model-endpoints"]
