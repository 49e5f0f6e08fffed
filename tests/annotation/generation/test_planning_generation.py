"""Which reports a run is made of, what its calls hold, and everything that is refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.call_enums import EndpointPlace, PromptPurpose, ReportSource
from annotation.generation.generation_plans import GenerationWanted, ensure_prompts, plan_generation, store_generation
from annotation.generation.kernels.answer_forms import BULLETS, QUESTIONS
from annotation.generation.kernels.sent_reports import SentReports, sent_file, sent_values
from annotation.generation.making import fill_calls
from annotation.generation.report_sources import reports_of_bank
from annotation.model_calls.call_batches import start
from annotation.model_calls.kernels.filling import KNOWN, undeclared, unused
from annotation.model_calls.request_bodies import contents_of
from annotation.model_calls.versions import next_version
from annotation.models import (
    AuditEvent,
    CallBatch,
    GenerationReport,
    GenerationRun,
    ModelCall,
    PromptVersion,
    Question,
    QuestionBank,
    SendingPermission,
)
from annotation.refusals import Refused
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.generation.made import FINDINGS, IMPRESSION, bank_with_reports, wanted_of
from tests.annotation.model_calls.simulated_calls import NOON, asked_server, make_permission, make_prompt
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import make_bank
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
NAMED = "Seen by Dr. Miller. The heart is enlarged."


@pytest.fixture(autouse=True)
def server() -> Iterator[StandIn]:
    with asked_server(place=EndpointPlace.MACHINE) as found:
        yield found


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    return bank_with_reports(tmp_path)


def planned(wanted: GenerationWanted) -> GenerationRun:
    return store_generation(plan_generation(wanted, at=NOON), actor=None, at=NOON).stored_run


def nothing_is_stored(n_prompts: int = 0) -> bool:
    is_planned = GenerationRun.objects.exists() or CallBatch.objects.exists()
    return not is_planned and PromptVersion.objects.count() == n_prompts


def refusal_of(wanted: GenerationWanted, n_prompts: int = 0) -> Refused:
    with pytest.raises(Refused) as found:
        plan_generation(wanted, at=NOON)
    assert nothing_is_stored(n_prompts)
    return found.value


def test_a_run_has_a_call_for_each_report_whose_text_is_filled_in_when_it_is_sent(bank: QuestionBank) -> None:
    run = planned(wanted_of(bank))
    calls = list(ModelCall.objects.filter(batch=run.bullets_batch))
    assert (run.source, len(calls), run.bullets_batch.n_calls) == (ReportSource.BANK, 3, 3)
    reports = GenerationReport.objects.filter(run=run).values_list("pk", flat=True)
    assert [call.values for call in calls] == [{"report": pk} for pk in reports]
    assert not any(call.exam_id or call.revision_id for call in calls)
    assert AuditEvent.objects.get(act="generation.planned").facts["reports"] == 3
    with CaptureQueriesContext(connection) as queries:
        contents = contents_of(run.bullets_batch, calls)
    assert len(queries) <= 4
    assert all(f"Report:\nFindings: {FINDINGS}\nImpression: {IMPRESSION}" in one.text for one in contents)
    assert all(one.settings.schema == BULLETS.schema for one in contents)
    assert all("Indication" not in one.text and "patient-" not in one.text for one in contents)


def test_exams_are_drawn_by_the_seed(bank: QuestionBank) -> None:
    def drawn(seed: int) -> list[int | None]:
        return [one.answer_key for one in reports_of_bank(bank, 4, seed=seed).reports]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(10)}) > 1
    assert sorted(map(str, drawn(1))) == sorted(map(str, drawn(2)))


def test_an_exam_whose_report_names_somebody_is_passed_over_and_told(tmp_path: Path, bank: QuestionBank) -> None:
    records = {f"n_{n}": make_record(n, n, Findings=NAMED) for n in (11, 12)}
    run_import(write_file(tmp_path, records, "named.json"), bank="Reports")
    plan = plan_generation(wanted_of(bank, n_exams=4), at=NOON)
    assert all("Miller" not in one.text for one in plan.found.reports)
    assert {one["rules"][0] for one in plan.found.refused} <= {"identifier_name"}
    with refuses(Refused, "too_few_reports", match="holds back 2") as found:
        reports_of_bank(bank, 5, seed=1)
    held = Question.objects.filter(bank=bank, number__gt=4).values_list("exam__pseudonym", flat=True)
    assert {one["exam"] for one in found.value.facts["identifiers"]} == set(held)


def test_a_plan_says_all_and_stores_nothing(bank: QuestionBank) -> None:
    plan = plan_generation(wanted_of(bank), at=NOON)
    told = plan.as_json()
    assert (told["run"], told["reports"], told["calls"], told["questions_at_most"]) == (None, 3, 6, 9)
    assert told["prompts"] == ["findings of a report", "questions from findings"]
    assert nothing_is_stored()


# --- a file ---
def sent(path: Path) -> SentReports:
    with path.open("rb") as stream:
        return sent_file(stream, path.name, path)


def reports_file(folder: Path, *exams: int, **changes: Any) -> Path:
    asked = ("question", "options", "correct_answer", "correct_answer_explanation", "task_name", "category")
    no_question = dict.fromkeys(asked, ...)
    records = {
        f"r{n}": make_record(n, n, **no_question | {"Findings": FINDINGS, "Impression": IMPRESSION} | changes)
        for n in exams
    }
    return write_file(folder, records, "reports.json")


def test_the_reports_of_a_file_need_no_questions(tmp_path: Path, bank: QuestionBank) -> None:
    run = planned(wanted_of(bank, reports=sent(reports_file(tmp_path, 21, 22))))
    reports = list(GenerationReport.objects.filter(run=run))
    assert (run.source, run.file_name, len(run.file_sha256)) == (ReportSource.FILE, "reports.json", 64)
    assert [json.loads(one.record)["study_id"] for one in reports] == ["study-21", "study-22"]
    assert all(one.answer_key_id is None for one in reports)


WRONG_FILES: list[tuple[dict[str, Any], str]] = [
    ({"Findings": NAMED}, "row 1: the report holds what looks like an identifier (a name)"),
    ({"Findings": "MRN 1234567. Normal."}, "a medical record number"),
    ({"Findings": None, "Impression": ""}, "row 1: There is neither"),
    ({"ImagePath": ..., "study_id": "elsewhere"}, "row 1: “Reports” has no exam with this id: elsewhere"),
    ({"ImagePath": ["../../etc/passwd"]}, "leaves the folder"),
    ({"study_id": ..., "StudyInstanceUid": ...}, "'study_id' is missing"),
]


def test_what_is_wrong_in_a_file_is_named_by_row(tmp_path: Path, bank: QuestionBank) -> None:
    for changes, words in WRONG_FILES:
        refusal = refusal_of(wanted_of(bank, reports=sent(reports_file(tmp_path, 1, **changes))))
        assert (refusal.code, refusal.status) == ("bad_reports", 422)
        assert words in str(refusal)
        assert "Miller" not in str(refusal)


def test_an_exam_that_comes_twice_or_no_exam_at_all_is_refused(tmp_path: Path, bank: QuestionBank) -> None:
    twice, none = reports_file(tmp_path, 1, 2, study_id="same"), write_file(tmp_path, {}, "none.json")
    assert "row 2: The exam comes twice" in str(refusal_of(wanted_of(bank, reports=sent(twice))))
    assert refusal_of(wanted_of(bank, reports=sent(none))).code == "no_reports"


# --- reports of exams of the bank ---
def lines(*records: dict[str, Any]) -> SentReports:
    return sent_values(records)


def test_a_report_without_images_goes_to_its_exam_in_the_bank(bank: QuestionBank) -> None:
    by_name = Question.objects.select_related("exam").get(bank=bank, number=2).exam.pseudonym
    given = lines({"exam": "study-1", "report": "A nodule."}, {"exam": by_name, "Impression": "No mass."})
    run = planned(wanted_of(bank, reports=given))
    first, second = (json.loads(one.record) for one in GenerationReport.objects.filter(run=run))
    assert (run.source, run.file_name) == (ReportSource.PASTED, "")
    assert (first["study_id"], first["Findings"], first["Impression"]) == ("study-1", "A nodule.", None)
    assert (second["study_id"], second["Findings"], second["Impression"]) == ("study-2", None, "No mass.")
    assert first["ImagePath"] == make_record(1, 1)["ImagePath"]
    assert run.images_root == planned(wanted_of(bank)).images_root


WRONG_RECORDS: list[tuple[list[dict[str, Any]], str]] = [
    ([{"exam": "nobody", "report": "A."}], "row 1: “Reports” has no exam with this id: nobody"),
    ([{"report": "A."}], "row 1: No exam is named (study_id)"),
    ([{"exam": "study-1", "report": "A."}, {"exam": "study-1", "report": "B."}], "row 2: The exam comes twice"),
    ([{"exam": "study-1", "report": " "}], "row 1: There is neither"),
    ([{"exam": "study-1", "report": "TECHNIQUE: two views."}], "row 1: There is neither"),
    ([{"exam": "study-1", "report": "x" * 100_001}], "row 1: 'Findings' "),
    ([{"exam": "study-1", "report": 7}], "row 1: 'report' must be text"),
    ([{"exam": "study-1\0", "report": "A."}], "row 1: "),
    ([{"exam": ["study-1"], "report": "A."}], "row 1: "),
]


def test_what_is_wrong_in_sent_reports_is_named_by_row(bank: QuestionBank) -> None:
    for records, words in WRONG_RECORDS:
        refusal = refusal_of(wanted_of(bank, reports=lines(*records)))
        assert (refusal.code, refusal.status) == ("bad_reports", 422)
        assert words in str(refusal)


def test_chosen_exams_and_all_of_them(bank: QuestionBank) -> None:
    chosen = planned(wanted_of(bank, n_exams=None, chosen=("study-3", "study-1", "study-3")))
    assert (chosen.source, chosen.bullets_batch.n_calls) == (ReportSource.CHOSEN, 2)
    assert planned(wanted_of(bank, n_exams=None, every_exam=True)).bullets_batch.n_calls == 4


def test_a_chosen_exam_that_cannot_be(bank: QuestionBank, tmp_path: Path) -> None:
    refusal = refusal_of(wanted_of(bank, n_exams=None, chosen=("study-1", "nobody")))
    assert (refusal.code, refusal.field) == ("no_exam", "chosen")
    assert "nobody" in str(refusal)
    bare = make_record(9, 9, Findings=None, Impression=None, Indication=None, Comparison=None)
    run_import(write_file(tmp_path, {"bare": bare}, "bare.json"), bank="Reports")
    refusal = refusal_of(wanted_of(bank, n_exams=None, chosen=("study-9",)))
    assert "have no report: study-9" in str(refusal)


# --- held back, or masked ---
def test_the_others_of_a_file_are_sent_and_what_is_held_back_is_told(bank: QuestionBank) -> None:
    given = lines({"exam": "study-1", "report": NAMED}, {"exam": "study-2", "report": "A nodule."})
    plan = plan_generation(wanted_of(bank, reports=given), at=NOON)
    assert [one.text for one in plan.found.reports] == ["Findings: A nodule."]
    assert plan.as_json()["refused"] == [{"exam": "row 1", "rules": ["identifier_name"]}]
    [held] = plan.found.held
    assert [part.text for part in held.parts if part.identifier] == ["Dr. Miller"]


@pytest.mark.parametrize("source", ["bank", "sent"])
def test_what_is_masked_is_what_is_stored_and_sent(bank: QuestionBank, tmp_path: Path, source: str) -> None:
    comparison = "Compared with Dr. Miller's of 12/03/2024."
    record = make_record(8, 8, Findings=NAMED, Impression=None, Comparison=comparison)
    run_import(write_file(tmp_path, {"named": record}, "named.json"), bank="Reports")
    of_bank = {"n_exams": None, "chosen": ("study-8",)}
    of_file = {"reports": lines({"exam": "study-8", "Findings": NAMED, "Comparison": comparison})}
    run = planned(wanted_of(bank, masks=True, **(of_bank if source == "bank" else of_file)))
    report = GenerationReport.objects.get(run=run)
    kept = json.loads(report.record)
    assert kept["Findings"] == "Seen by [NAME]. The heart is enlarged."
    assert kept["Comparison"] == "Compared with [NAME] of [DATE]."
    assert (kept["study_id"], kept["ImagePath"], report.answer_key_id) == ("study-8", record["ImagePath"], None)
    [content] = contents_of(run.bullets_batch, list(ModelCall.objects.filter(batch=run.bullets_batch)))
    assert "Seen by [NAME]. The heart is enlarged." in content.text
    assert "Miller" not in content.text
    assert (run.refused, [one["rules"] for one in run.masked]) == ([], [["identifier_name"]])
    facts = AuditEvent.objects.get(act="generation.masked").facts
    assert facts == {"reports": 1, "places": {"identifier_name": 1}}


def test_masked_exams_count_among_those_drawn(bank: QuestionBank, tmp_path: Path) -> None:
    planned(wanted_of(bank, masks=True))
    assert not AuditEvent.objects.filter(act="generation.masked").exists(), "there was nothing to mask"
    records = {f"n_{n}": make_record(n, n, Findings=NAMED) for n in (11, 12)}
    run_import(write_file(tmp_path, records, "named.json"), bank="Reports")
    run = planned(wanted_of(bank, n_exams=6, masks=True))
    assert (run.bullets_batch.n_calls, len(run.masked), run.refused) == (6, 2, [])
    assert not AuditEvent.objects.filter(act="generation.masked", facts__places={}).exists()


# --- refused ---
def test_numbers_that_cannot_be(bank: QuestionBank) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"per_exam": 0}, "bad_per_exam"),
        ({"per_exam": 11}, "bad_per_exam"),
        ({"n_exams": 0}, "bad_exams"),
        ({"n_exams": None}, "no_source"),
        ({"every_exam": True}, "no_source"),
        ({"chosen": ("study-1",)}, "no_source"),
        ({"n_exams": 5}, "too_few_reports"),
        ({"seed": 2**63}, "bad_seed"),
    ]
    for changes, code in wrong:
        assert refusal_of(wanted_of(bank, **changes)).code == code, changes


def test_without_a_permission_for_reports_nothing_is_planned(bank: QuestionBank) -> None:
    SendingPermission.objects.update(withdrawn_at=NOON)
    make_permission(bank, reports=False)
    refusal = refusal_of(wanted_of(bank))
    assert refusal.code == "no_permission"
    assert "send reports of" in str(refusal)


def test_a_permission_for_reports_alone_is_enough(bank: QuestionBank) -> None:
    SendingPermission.objects.update(questions=False)
    start(planned(wanted_of(bank)).bullets_batch, actor=None, at=NOON)


def test_a_bank_without_reports_and_a_prompt_made_for_something_else(bank: QuestionBank) -> None:
    bare = make_bank("Bare")
    make_permission(bare, reports=True)
    assert refusal_of(wanted_of(bare, n_exams=1)).code == "no_reports"
    assert refusal_of(wanted_of(bank, bullets_prompt=make_prompt()), n_prompts=1).code == "wrong_purpose"


# --- prompts and rows ---
@pytest.mark.parametrize("own", [BULLETS, QUESTIONS], ids=lambda own: own.name)
def test_our_prompts_declare_what_they_hold(own: Any) -> None:
    whole = f"{own.instruction}\n{own.text}"
    assert undeclared(whole, own.variables) == []
    assert unused(whole, own.variables) == []


def test_our_prompts_are_stored_once() -> None:
    first, second = ensure_prompts(NOON), ensure_prompts(NOON + timedelta(days=1))
    assert first == second
    assert [one.purpose for one in first] == [PromptPurpose.BULLETS, PromptPurpose.QUESTIONS]
    assert all(one.sha256 and one.schema for one in first)


def test_a_person_can_write_the_next_version_of_ours_and_its_variables_are_filled(bank: QuestionBank) -> None:
    _bullets, ours = ensure_prompts(NOON)
    theirs = next_version(ours, text=f"{ours.text}\nWrite in plain words.", reason="a test", actor=None, at=NOON)
    assert str(theirs) == "questions from findings v2"
    assert set(theirs.variables) <= set(KNOWN[PromptPurpose.QUESTIONS])
    calls = list(planned(wanted_of(bank)).bullets_batch.calls.all())
    assert set(theirs.variables) <= set(next(iter(fill_calls(calls))))


def test_all_exams_of_a_bank_that_holds_too_many(bank: QuestionBank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.generation.report_sources.MOST_REPORTS", 3)
    assert refusal_of(wanted_of(bank, n_exams=None, every_exam=True)).code == "bad_exams"
    assert plan_generation(wanted_of(bank, n_exams=3), at=NOON).n_calls == 6
