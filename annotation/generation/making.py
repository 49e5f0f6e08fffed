"""From stored answers to findings and to questions, step by step: the same answers give the same bytes.

Nothing is asked here. Twice changes nothing.

A job does it, so that no transaction of the calls waits for an import; it is safe to run twice.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.call_enums import BatchState, Polarity
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.enums import ImportKind, JobQueue
from annotation.generation.generation_plans import ask_about
from annotation.generation.kernels.answer_forms import (
    LETTER_RULE,
    RULES,
    RULES_VERSION,
    NotInForm,
    WrittenBullet,
    WrittenQuestion,
    fault_of,
    file_of,
    finding_line,
    ground_bullet,
    make,
    read_bullets,
    read_questions,
    record_of_made,
    texts_without_letters,
)
from annotation.generation.report_sources import exam_fields_of, text_of
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.model_calls.attempts import Asking, CallPlan, answers_of, store_batch
from annotation.model_calls.batch_files import custom_id
from annotation.model_calls.call_batches import start
from annotation.model_calls.next_calls import tally
from annotation.models import Bullet, CallBatch, GenerationReport, GenerationRun, ModelCall, Revision
from annotation.questionbank.checking import check_revisions
from annotation.questionbank.importing import QuestionFile, import_questions
from annotation.refusals import Refused

BULLETS, QUESTIONS, IMPORT = "bullets", "questions", "import"  # steps at which something was not made
AT_ONCE = 500
Clock = Callable[[], datetime]


# --- what is asked, and what was answered ---
def fill_calls(calls: Sequence[ModelCall]) -> Iterable[dict[str, str]]:
    """The variables of our prompts, of calls that name their report: its text, its usable findings, how many to ask."""
    ids = [_report_of(call) for call in calls]
    reports = reports_with_texts(GenerationReport.objects.filter(pk__in=ids))
    usable = usable_bullets(ids)
    return [
        {
            "report": text_of(reports[pk]),
            "bullets": "\n".join(
                finding_line(one.number, one.polarity, one.statement, one.location) for one in usable[pk]
            ),
            "n_questions": str(reports[pk].run.per_exam),
        }
        for pk in ids
    ]


def reports_with_texts(rows: QuerySet[GenerationReport]) -> dict[int, GenerationReport]:
    """By id, with what text_of and exam_fields_of need."""
    return {one.pk: one for one in rows.select_related("answer_key__report", "run")}


def usable_bullets(reports: Iterable[int]) -> dict[int, list[Bullet]]:
    """By id of the report: the findings that no rule leaves out, by number."""
    found: dict[int, list[Bullet]] = defaultdict(list)
    for one in Bullet.objects.filter(report__in=list(reports), fault="").order_by("report", "number"):
        found[one.report_id].append(one)
    return found


def _report_of(call: ModelCall) -> int:
    pk: int = (call.values or {})["report"]
    return pk


# --- what is made ---
def not_made(step: str, report: int, rule: str, number: int = 0) -> dict[str, Any]:
    """``report`` and ``number`` as people count them; 0: the answer as a whole. No version: the first."""
    version = RULES[rule].version if rule in RULES else 1
    kept = {"version": version} if version > 1 else {}
    return {"step": step, "report": report, "number": number, "rule": rule, **kept}


# --- findings ---
@transaction.atomic
def take_bullets(run: GenerationRun, *, at: datetime) -> list[GenerationReport]:
    """Store the findings of all answers; the reports with some that questions can use, in their order."""
    lock_run(run)
    reports = {one.pk: one for one in GenerationReport.objects.filter(run=run).order_by("number")}
    if run.bullets_taken_at is None:
        _take(run, at)
    usable = usable_bullets(reports)
    return [one for one in reports.values() if usable.get(one.pk)]


def _take(run: GenerationRun, at: datetime) -> None:
    reports = reports_with_texts(GenerationReport.objects.filter(run=run))
    rows: list[Bullet] = []
    problems: list[dict[str, Any]] = []
    for call, text in answers_of(run.bullets_batch):
        report = reports[_report_of(call)]
        taken, fault = _bullets_in(call, text, report)
        rows += taken
        problems += [not_made(BULLETS, report.number, one.fault, one.number) for one in taken if one.fault]
        if fault or not any(not one.fault for one in taken):
            problems.append(not_made(BULLETS, report.number, fault or "no_bullets"))
    Bullet.objects.bulk_create(rows, batch_size=AT_ONCE)
    run.not_made, run.bullets_taken_at = problems, at
    run.save(update_fields=["not_made", "bullets_taken_at"])
    facts = {"bullets": len(rows), "usable": sum(not one.fault for one in rows), "rules": RULES_VERSION}
    record("generation.bullets_taken", actor=None, at=at, subject=run, facts=facts)


def _bullets_in(call: ModelCall, said: str | None, report: GenerationReport) -> tuple[list[Bullet], str]:
    if said is None:
        return [], "no_answer"
    try:
        written = read_bullets(said)
    except NotInForm:
        return [], "not_in_form"
    text = text_of(report)
    rows = []
    for number, bullet in enumerate(written, start=1):
        found = ground_bullet(bullet, text)
        place = found.place
        rows.append(
            Bullet(
                report=report,
                number=number,
                call=call,
                quote=bullet.quote,
                start=place.start if place else None,
                end=place.end if place else None,
                statement=bullet.statement,
                location=bullet.location,
                polarity=found.polarity,
                compares_with_prior=found.compares_with_prior,
                fault=found.fault,
            )
        )
    return rows, ""


# --- questions ---
class MadeQuestions(Struct):
    """The question file that the stored answers give, and what they give no question for."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    not_made: list[dict[str, Any]] = field(default_factory=list)

    @property
    def file(self) -> bytes:
        return file_of(self.records)


def replay(run: GenerationRun) -> MadeQuestions:
    """Make the questions of a run from what is stored. No call is made, and nothing is stored."""
    made = MadeQuestions()
    if run.questions_batch is None:
        return made
    reports = reports_with_texts(GenerationReport.objects.filter(run=run))
    fields = exam_fields_of(run, list(reports.values()))
    usable = {
        pk: [one for one in listed if _still_stands(one, reports[pk])] for pk, listed in usable_bullets(reports).items()
    }
    sources = {bullet.call_id for listed in usable.values() for bullet in listed}
    calls = {one.pk: custom_id(one, run.bullets_batch) for one in ModelCall.objects.filter(pk__in=sources)}
    for call, text in answers_of(run.questions_batch):
        report = reports[_report_of(call)]
        bullets = usable.get(report.pk, [])
        history = _history(run, report, call, [calls[one.call_id] for one in bullets[:1]])
        _make_of_answer(run, made, text, report, bullets, fields[report.pk], history)
    return made


def _still_stands(bullet: Bullet, report: GenerationReport) -> bool:
    """By the rules of today, where it was taken by earlier ones: questions name the rules that they passed."""
    polarity: Literal["present", "absent"] = "present" if bullet.polarity == Polarity.PRESENT else "absent"
    written = WrittenBullet(bullet.quote, bullet.statement, polarity, False, bullet.location)
    return not ground_bullet(written, text_of(report)).fault


def _make_of_answer(
    run: GenerationRun,
    made: MadeQuestions,
    text: str | None,
    report: GenerationReport,
    bullets: Sequence[Bullet],
    fields: dict[str, Any],
    history: dict[str, Any],
) -> None:
    try:
        written = read_questions(text) if text is not None else []
    except NotInForm:
        made.not_made.append(not_made(QUESTIONS, report.number, "not_in_form"))
        return
    if text is None:
        made.not_made.append(not_made(QUESTIONS, report.number, "no_answer"))
    polarities = {one.number: Polarity(one.polarity) for one in bullets}
    statements = {one.number: one.statement for one in bullets}
    for number, as_written in enumerate(written[: run.per_exam], start=1):
        question = texts_without_letters(as_written)
        fault = fault_of(question, polarities, statements) if question else "not_in_form"
        if question is None or fault:
            made.not_made.append(not_made(QUESTIONS, report.number, fault, number))
            continue
        name = f"generated-{run.public_id}-{report.number}-{number}"
        # The letter hangs on seed and report, not on the random name of the run: it can be drawn again elsewhere.
        turned = make(question, seed=run.seed, name=f"{report.number}-{report.sha256}-{number}")
        own = history | {"number": number, "bullets": _named_bullets(question, bullets)}
        made.records[name] = record_of_made(turned, fields, own)


def _named_bullets(question: WrittenQuestion, bullets: Sequence[Bullet]) -> list[dict[str, Any]]:
    named = {number for option in question.options for number in option.bullets}
    return [
        {
            "number": one.number,
            "quote": one.quote,
            "start": one.start,
            "end": one.end,
            "statement": one.statement,
            "polarity": one.polarity,
        }
        for one in bullets
        if one.number in named
    ]


def _history(run: GenerationRun, report: GenerationReport, call: ModelCall, taken_by: list[str]) -> dict[str, Any]:
    """H of the paper's equation 5, but for the findings: report, prompts, model, calls, and the rules passed."""
    batch = run.bullets_batch
    assert run.questions_batch is not None
    return {
        "run": run.public_id,
        "report": report.number,
        "report_sha256": report.sha256,
        "prompts": [{"name": str(one), "sha256": one.sha256} for one in (batch.prompt, run.questions_batch.prompt)],
        "model": batch.model,
        "endpoint": batch.endpoint,
        "calls": [*taken_by, custom_id(call, run.questions_batch)],
        "rules": [RULES_VERSION, LETTER_RULE],
    }


def import_made(run: GenerationRun, *, clock: Clock) -> GenerationRun:
    """Import what the answers give. What the importer refuses is not made, too, by its rule; the rest comes in."""
    run.refresh_from_db()
    if run.finished_at is not None:
        return run
    made = replay(run)
    result = None
    if made.records:
        with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT) as folder:
            path = Path(folder) / f"generated-{run.public_id}.json"
            path.write_bytes(made.file)
            source = QuestionFile(path, path.name, run.images_root or "/")
            name, kind = run.bank.name, ImportKind.GENERATED
            result = import_questions(
                source, bank_name=name, actor=run.created_by, clock=clock, skip_refused=True, kind=kind
            )
    refused = [_refused_by_import(one.key, one.code) for one in (result.errors if result else ())]
    brought = result.imports[0] if result and result.imports else None
    with transaction.atomic():
        lock_run(run)
        run.not_made = [*(one for one in run.not_made if one["step"] == BULLETS), *made.not_made, *refused]
        run.n_made = result.read - result.rejected if result else 0
        run.bank_import, run.finished_at = brought, clock()
        run.save(update_fields=["not_made", "n_made", "bank_import", "finished_at"])
        facts = {"made": run.n_made, "not_made": dict(Counter(one["rule"] for one in run.not_made))}
        record("generation.finished", actor=None, at=run.finished_at, subject=run, facts=facts)
    if brought is not None:
        check_revisions(run.bank, Revision.objects.filter(bank_import=brought), actor=run.created_by, at=clock())
    return run


def _refused_by_import(key: str, code: str) -> dict[str, Any]:
    report, number = key.rsplit("-", 2)[1:]
    return not_made(IMPORT, int(report), code, int(number))


def lock_run(run: GenerationRun) -> None:
    """Bring the row up to date and lock it until the transaction ends."""
    run.refresh_from_db(from_queryset=GenerationRun.objects.select_for_update(of=("self",)))


def is_over(batch: CallBatch | None) -> bool:
    return batch is not None and batch.state == BatchState.COMPLETE


class ContinuingParams(TypedDict):
    run: int
    batch: int


KIND: JobKind[ContinuingParams] = JobKind("make_questions", JobQueue.MODELS)
LEAST_CAP = Decimal("0.0001")


def continue_later(batch: CallBatch, at: datetime) -> None:
    """Called in the transaction that completes a batch of calls, whatever it is for."""
    run = GenerationRun.objects.filter(Q(bullets_batch=batch) | Q(questions_batch=batch)).first()
    if run is not None:
        title = _("Make questions for “%(bank)s”") % {"bank": run.bank.name}
        enqueue_once(
            KIND, title, ContinuingParams(run=run.pk, batch=batch.pk), about="batch", actor=run.created_by, at=at
        )


def run_continuing(progress: Progress, params: ContinuingParams) -> Result:
    """The job."""
    run = GenerationRun.objects.select_related("bank", "bullets_batch", "questions_batch").get(pk=params["run"])
    progress.report(0, 1)
    continue_run(run)
    progress.report(1, 1)
    return {"run": run.public_id, "made": run.n_made, "finished": run.finished_at is not None}


def continue_run(run: GenerationRun, *, clock: Clock = timezone.now) -> None:
    """As far as the answers that are there allow: findings are stored and questions asked for, or these imported."""
    if run.finished_at is None and is_over(run.bullets_batch) and run.questions_batch is None:
        _ask_for_questions(run, clock)
    if run.finished_at is None and is_over(run.questions_batch):
        import_made(run, clock=clock)


def _ask_for_questions(run: GenerationRun, clock: Clock) -> None:
    at = clock()
    with transaction.atomic():
        reports = take_bullets(run, at=at)
        lock_run(run)
        if run.questions_batch is None and reports:
            run.questions_batch = _plan_questions(run, reports, at)
            run.save(update_fields=["questions_batch"])
    if run.questions_batch is None:
        import_made(run, clock=clock)  # no report has a finding that can be used: nothing is asked
        return
    try:
        start(run.questions_batch, actor=None, at=at)
    except Refused as refusal:  # the permission is over, or the endpoint is gone: a person starts it again
        CallBatch.objects.filter(pk=run.questions_batch.pk).update(paused_because=str(refusal))


def _plan_questions(run: GenerationRun, reports: list[GenerationReport], at: datetime) -> CallBatch:
    """The same endpoint, model, permission and price; the cap is what the findings left of it."""
    before = run.bullets_batch
    cap = None if before.cap is None else max(LEAST_CAP, before.cap - tally(before).cost)
    asking = Asking(endpoint=before.endpoint, model=before.model, chat=ChatSettings(**before.chat_settings), cap=cap)
    plan = CallPlan[Asking, GenerationRun](asking, before.permission, before.price)
    batch = store_batch(
        plan, run.bank, run.questions_prompt, n_calls=len(reports), seed=run.seed, actor=run.created_by, at=at
    )
    ask_about(batch, reports)
    return batch
