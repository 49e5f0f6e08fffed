"""From stored answers to questions in the bank: what is made, what is not and why, and the same bytes every time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotation.call_enums import BatchState, EndpointPlace
from annotation.enums import ImportKind, JobState, QuestionState
from annotation.exports.bank_contents import BankContents
from annotation.exports.kernels.question_records import is_given_back, usual_record
from annotation.generation import making
from annotation.generation.generation_progress import GenerationProgress
from annotation.generation.kernels.answer_forms import GroundedBullet, places_of_quote
from annotation.generation.kernels.sent_reports import sent_values
from annotation.generation.making import KIND, continue_run, import_made, replay, run_continuing, take_bullets
from annotation.generation.question_origins import history_of_generated
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.call_batches import call_named, start
from annotation.model_calls.request_bodies import contents_of, request_of
from annotation.models import (
    AnswerKey,
    AuditEvent,
    Bullet,
    CallBatch,
    Exam,
    GenerationRun,
    Image,
    Job,
    ModelCall,
    Question,
    QuestionBank,
    Report,
    Revision,
    SendingPermission,
)
from annotation.questionbank.bank_life import check_unused, generated_in
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.generation.made import FINDINGS, bank_with_reports, begun_run, finished_run, written_run
from tests.annotation.generation.test_answer_forms import BULLET, QUESTION
from tests.annotation.generation.test_planning_generation import reports_file, sent
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, answer_with, asked_server

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    return bank_with_reports(tmp_path)


# --- answers that a test writes itself ---
def begun(bank: QuestionBank, **fields: Any) -> GenerationRun:
    """A run of one exam whose calls wait for answers."""
    with asked_server(place=EndpointPlace.MACHINE):
        return begun_run(bank, **{"n_exams": 1, **fields})


def continued(run: GenerationRun) -> GenerationRun:
    with asked_server(place=EndpointPlace.MACHINE):
        continue_run(GenerationRun.objects.get(pk=run.pk), clock=lambda: NOON)
    return GenerationRun.objects.get(pk=run.pk)


def bullets_json(*bullets: tuple[str, str, str]) -> str:
    listed = [{**BULLET, "quote": q, "statement": s, "polarity": p} for q, s, p in bullets]
    return json.dumps({"bullets": listed})


def questions_json(*questions: dict[str, Any]) -> str:
    return json.dumps({"questions": [{**QUESTION, **changes} for changes in questions]})


SOUND = (
    ("The heart is enlarged.", "Enlarged heart", "present"),
    ("A nodule lies in the right upper lobe.", "Nodule of the right upper lobe", "present"),
    ("The left hilum is prominent.", "Prominent left hilum", "present"),
    ("No pleural effusion.", "No pleural effusion", "absent"),
)
FOUND = bullets_json(
    *SOUND, ("There is a fracture.", "Rib fracture", "present"), ("No pneumothorax.", "No new pneumothorax", "absent")
)
OPTIONS = [
    {"text": "Enlarged heart", "bullets": [1]},
    {"text": "Nodule", "bullets": [2]},
    {"text": "Pleural effusion", "bullets": [4]},
    {"text": "Prominent hilum", "bullets": [3]},
]


def with_findings(bank: QuestionBank, *texts: str, finish_reason: str = "stop", **fields: Any) -> GenerationRun:
    """A run whose reports are answered with these texts in turn, or with the findings above."""
    run = begun(bank, **fields)
    answer_with(run.bullets_batch, *(texts or [FOUND]), finish_reason=finish_reason)
    return continued(run)


def with_questions(
    bank: QuestionBank, *questions: dict[str, Any], finish_reason: str = "stop", **fields: Any
) -> GenerationRun:
    """The same, and these questions are written on the findings above."""
    run = with_findings(bank, **fields)
    assert run.questions_batch is not None
    answer_with(run.questions_batch, questions_json(*questions), finish_reason=finish_reason)
    return continued(run)


def options(**changes: list[int]) -> dict[str, Any]:
    """The options by their letters, with other findings under some of them."""
    return {
        "options": [
            {**one, **({"bullets": changes[n]} if n in changes else {})} for n, one in zip("ABCD", OPTIONS, strict=True)
        ]
    }


# --- the whole road ---
@pytest.mark.django_db(transaction=True)  # with the threads of a worker
def test_questions_come_in_as_generated_on_the_exams_of_the_bank(bank: QuestionBank) -> None:
    n_exams, n_images, n_reports = Exam.objects.count(), Image.objects.count(), Report.objects.count()
    run = finished_run(bank)
    assert run.bank_import is not None
    assert run.bank_import.kind == ImportKind.GENERATED
    made = Revision.objects.current().filter(bank_import=run.bank_import)
    assert made.count() == run.n_made > 3
    assert (Exam.objects.count(), Image.objects.count(), Report.objects.count()) == (n_exams, n_images, n_reports)
    assert set(generated_in(bank)) == set(Question.objects.filter(revisions__in=made))
    assert {one.question.state for one in made} == {QuestionState.IMPORTED}
    assert [one.act for one in AuditEvent.objects.filter(act__startswith="generation.").order_by("pk")] == [
        "generation.planned",
        "generation.bullets_taken",
        "generation.finished",
    ]


def test_the_same_answers_give_the_same_bytes(bank: QuestionBank) -> None:
    run = written_run(bank, server_seed=3)
    first = replay(run)
    assert first.file == replay(GenerationRun.objects.get(pk=run.pk)).file
    assert run.bank_import is not None
    assert len(first.records) == run.n_made
    before = (Revision.objects.count(), Bullet.objects.count(), AuditEvent.objects.count(), CallBatch.objects.count())
    take_bullets(run, at=NOON)
    import_made(run, clock=lambda: NOON)
    continued(run)
    after = (Revision.objects.count(), Bullet.objects.count(), AuditEvent.objects.count(), CallBatch.objects.count())
    assert after == before
    n_questions = Question.objects.count()
    GenerationRun.objects.filter(pk=run.pk).update(finished_at=None, bank_import=None)
    run = import_made(run, clock=lambda: NOON)
    assert (Question.objects.count(), run.finished_at is None) == (n_questions, False), "it was killed at its end"


def test_they_are_exported_as_they_came_with_a_history_from_the_key_to_the_sentence(bank: QuestionBank) -> None:
    assert history_of_generated(Revision.objects.all()[0]) is None, "of a question that nobody generated"
    run = written_run(bank, server_seed=3)
    exported_as_they_came(run, bank)
    for revision in Revision.objects.filter(bank_import=run.bank_import):
        truth = AnswerKey.objects.select_related("report").get(pk=revision.pk)
        history = history_of_generated(revision)
        assert history is not None
        assert truth.report is not None
        text = f"Findings: {truth.report.findings}\nImpression: {truth.report.impression}"
        by_number = {one["number"]: one for one in history["bullets"]}
        stands_on = [by_number[number] for number in history["options"]["ABCD".index(truth.key)]]
        assert stands_on
        assert all(text[one["start"] : one["end"]] == one["quote"] for one in stands_on)
        assert history["model"] == "stand-in-json"
        assert [one["name"] for one in history["prompts"]] == ["findings of a report v1", "questions from findings v1"]
        assert all(request_of(call_named(name)).sha256 for name in history["calls"])
        assert history["rules"] == ["ground-3", "letter-1"]


def exported_as_they_came(run: GenerationRun, bank: QuestionBank) -> None:
    contents = BankContents(bank, tuple(QuestionState), latest=True)
    ours = [one for one in contents.questions() if one.stored.key.startswith("generated-")]
    assert len(ours) == run.n_made
    assert all(is_given_back(one.stored, usual_record(one.stored), {}) for one in ours)


@pytest.mark.django_db(transaction=True)
def test_the_worker_goes_on_by_itself(bank: QuestionBank) -> None:
    """The job is queued in the transaction that stores the last answer."""
    run = begun(bank)
    answer_with(run.bullets_batch, FOUND)
    job = Job.objects.get(kind=KIND)
    assert (job.state, job.params) == (JobState.QUEUED, {"run": run.pk, "batch": run.bullets_batch_id})

    class Silent:
        def report(self, done: int, total: int, message: str = "") -> None: ...

    with asked_server(place=EndpointPlace.MACHINE):
        assert run_continuing(Silent(), job.params)["finished"] is False
        ask_endpoint(ENDPOINT, clock=lambda: NOON)
    later = Job.objects.filter(kind=KIND).order_by("-pk")[0]
    assert run_continuing(Silent(), later.params)["finished"] is True


def test_questions_on_masked_reports_come_to_their_exams(bank: QuestionBank) -> None:
    named = f"Seen by Dr. Miller. {FINDINGS}"
    given = sent_values([{"exam": "study-1", "report": named}, {"exam": "study-2", "Findings": named}])
    n_exams = Exam.objects.count()
    run = written_run(bank, server_seed=3, reports=given, masks=True)
    made = Revision.objects.filter(bank_import=run.bank_import)
    assert (run.n_made, Exam.objects.count()) == (made.count(), n_exams)
    assert run.n_made
    exams = set(made.values_list("question__exam", flat=True))
    assert exams <= set(Revision.objects.filter(question__number__lte=2).values_list("question__exam", flat=True))
    texts = AnswerKey.objects.filter(revision__in=made).values_list("report__findings", flat=True)
    assert {text.split(".")[0] for text in texts} == {"Seen by [NAME]"}


def test_reports_of_a_file_bring_their_exams(bank: QuestionBank, tmp_path: Path) -> None:
    run = written_run(bank, server_seed=3, reports=sent(reports_file(tmp_path, 21, 22, 23)))
    made = Question.objects.filter(revisions__bank_import=run.bank_import).distinct()
    assert run.n_made == made.count() > 3
    assert {one.exam.images.count() for one in made} == {2}
    assert Exam.objects.filter(bank=bank).count() == 4 + len({one.exam_id for one in made})
    assert AnswerKey.objects.filter(report__findings=FINDINGS, revision__bank_import=run.bank_import).exists()


# --- what is not made ---
def test_findings_are_stored_with_their_place_and_their_fault(bank: QuestionBank) -> None:
    run = with_findings(bank)
    rows = list(Bullet.objects.order_by("number"))
    assert [one.fault for one in rows] == ["", "", "", "", "quote_not_found", "compares_with_prior"]
    assert rows[4].start is None
    assert rows[5].compares_with_prior is True
    assert Counter(one["rule"] for one in run.not_made) == {"quote_not_found": 1, "compares_with_prior": 1}
    assert run.questions_batch is not None
    (call,) = ModelCall.objects.filter(batch=run.questions_batch)
    sent = contents_of(run.questions_batch, [call])[0].text
    assert "4. [absent] No pleural effusion" in sent
    assert "fracture" not in sent
    assert "pneumothorax" not in sent
    assert "Write 3 questions" in sent


BROKEN: list[tuple[dict[str, Any], str]] = [
    (options(C=[1]), "negation_key_not_absent"),
    (options(A=[4]), "negation_distractor_not_present"),
    (options(A=[]), "option_without_bullet"),
    (options(A=[5]), "unknown_bullet"),  # its quote stands nowhere
    (options(C=[6]), "unknown_bullet"),  # it compares with a prior
    (options(A=[77]), "unknown_bullet"),
    ({"options": [{**one, "text": "The same"} for one in OPTIONS]}, "equal_options"),
    ({**options(), "explanation": "Option A is the heart, and so on."}, "names_letter"),
    ({"options": [{**OPTIONS[0], "text": "A. Heart"}, *OPTIONS[1:]]}, "not_in_form"),
    ({**options(), "explanation": "Too short."}, "format"),  # as the importer says
]


def test_a_question_that_breaks_a_rule_is_counted_and_not_made(bank: QuestionBank) -> None:
    for some in (BROKEN[:5], BROKEN[5:]):
        run = with_questions(bank, options(), *(changes for changes, _rule in some), per_exam=6)
        asked = [one for one in run.not_made if one["step"] != "bullets"]
        rules = [(1, number, rule) for number, (_changes, rule) in enumerate(some, start=2)]
        assert [(one["report"], one["number"], one["rule"]) for one in asked] == rules
        assert (run.n_made, Revision.objects.filter(bank_import=run.bank_import).count()) == (1, 1)


@pytest.mark.parametrize(
    ("text", "finish_reason", "rule"),
    [
        ("I am sorry, I cannot help with that.", "stop", "no_answer"),
        ("Soon.", "stop", "not_in_form"),
        (FOUND, "length", "no_answer"),
    ],
)
def test_an_answer_that_is_none_or_was_cut(bank: QuestionBank, text: str, finish_reason: str, rule: str) -> None:
    run = with_findings(bank, text, finish_reason=finish_reason)
    assert (run.questions_batch, run.n_made, run.bank_import) == (None, 0, None)
    assert run.finished_at is not None
    assert [one["rule"] for one in run.not_made] == [rule]


def test_questions_that_were_cut_and_more_than_were_asked_for(bank: QuestionBank) -> None:
    run = with_questions(bank, options(), finish_reason="length")
    assert (run.n_made, run.not_made[-1]["rule"]) == (0, "no_answer")
    assert with_questions(bank, options(), options(), per_exam=1).n_made == 1


def test_a_report_without_usable_findings_is_not_asked_about(bank: QuestionBank) -> None:
    run = with_findings(bank, FOUND, bullets_json(("Nobody wrote this.", "Something", "present")), n_exams=2)
    assert run.questions_batch is not None
    assert run.questions_batch.n_calls == 1
    assert {"step": "bullets", "report": 2, "number": 0, "rule": "no_bullets"} in run.not_made


def test_a_permission_that_ended_meanwhile_leaves_the_second_step_planned(bank: QuestionBank) -> None:
    run = begun(bank)
    answer_with(run.bullets_batch, FOUND)
    SendingPermission.objects.update(withdrawn_at=NOON)
    run = continued(run)
    assert run.questions_batch is not None
    assert run.questions_batch.state == BatchState.PLANNED
    assert "permission" in run.questions_batch.paused_because
    SendingPermission.objects.update(withdrawn_at=None)
    with asked_server(place=EndpointPlace.MACHINE):
        start(run.questions_batch, actor=None, at=NOON)


def test_what_earlier_rules_left_out_keeps_their_version(bank: QuestionBank) -> None:
    run = with_findings(bank)
    run.not_made.append({"step": "bullets", "report": 1, "number": 7, "rule": "quote_not_found"})
    shown = [(one.rule, one.version, one.n) for one in GenerationProgress(run).not_made]
    assert ("quote_not_found", 1, 1) in shown
    assert ("quote_not_found", 2, 1) in shown


def test_findings_that_earlier_rules_took_are_looked_at_again(
    bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(
            making,
            "ground_bullet",
            lambda one, text: GroundedBullet(one, next(places_of_quote(one.quote, text)), False),
        )
        run = with_findings(bank, bullets_json(*SOUND, ("pleural effusion", "Effusion", "present")))
    assert run.questions_batch is not None
    answer_with(run.questions_batch, questions_json(options(), options(B=[5])))
    run = continued(run)
    assert (run.n_made, run.not_made[-1]["rule"]) == (1, "unknown_bullet")


# --- rows ---
def test_a_bank_with_generated_questions_is_kept(bank: QuestionBank) -> None:
    begun(bank)
    with pytest.raises(BankRefused, match="A permission to send this bank"):
        check_unused(bank)
