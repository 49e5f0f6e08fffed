"""A run that makes questions from reports is planned: which reports, which calls. Nothing is sent yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import PromptPurpose, ReportSource, SentImages
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.generation.kernels.generation_prompts import BULLETS, QUESTIONS
from annotation.generation.report_sources import (
    FoundReports,
    GenerationRefused,
    reports_of_bank,
    reports_of_file,
)
from annotation.hashes import sha256_of
from annotation.model_calls.call_batches import permitted_and_priced, start
from annotation.models import (
    CallBatch,
    GenerationReport,
    GenerationRun,
    ModelCall,
    Price,
    PromptVersion,
    QuestionBank,
    SendingPermission,
    User,
)
from annotation.prompts.kernels.program_prompts import ShippedPrompt
from annotation.prompts.shipped import version_of

PLANNED = "generation.planned"
MOST_EXAMS = 100_000
AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class GenerationWanted:
    """What a person asks for: so many exams of the bank, or the reports of a file. Prompts None: ours."""

    bank: QuestionBank
    endpoint: str
    model: str  # as the endpoint calls it
    per_exam: int
    seed: int
    n_exams: int | None = None
    reports: Path | None = None
    bullets_prompt: PromptVersion | None = None
    questions_prompt: PromptVersion | None = None
    chat: ChatSettings = field(default_factory=ChatSettings)
    cap: Decimal | None = None


@dataclass(frozen=True)
class GenerationPlan:
    """``run`` is None for a dry run."""

    wanted: GenerationWanted
    found: FoundReports
    permission: SendingPermission
    price: Price | None
    run: GenerationRun | None = None

    def as_json(self) -> dict[str, Any]:
        wanted, n_reports = self.wanted, len(self.found.reports)
        return {
            "run": self.run.public_id if self.run else None,
            "bank": wanted.bank.slug,
            "source": (ReportSource.FILE if wanted.reports else ReportSource.BANK).value,
            "reports": n_reports,
            "characters": sum(len(one.text) for one in self.found.reports),
            "refused": self.found.refused,
            "per_exam": wanted.per_exam,
            "seed": wanted.seed,
            "calls": 2 * n_reports,
            "questions_at_most": n_reports * wanted.per_exam,
            "endpoint": wanted.endpoint,
            "model": wanted.model,
            "prompts": [_named(wanted.bullets_prompt, BULLETS), _named(wanted.questions_prompt, QUESTIONS)],
            "permission": self.permission.public_id,
            "permission_until": self.permission.expires_at.isoformat(),
            "price": str(self.price) if self.price else None,
            "cap": None if wanted.cap is None else str(wanted.cap),
        }


def _named(version: PromptVersion | None, own: ShippedPrompt) -> str:
    return str(version) if version else own.name


def plan_generation(
    wanted: GenerationWanted, *, actor: User | None, at: datetime, dry_run: bool = False
) -> GenerationPlan:
    """Store a run with one call for each report. Whatever is wrong is refused in a sentence; nothing is stored then.

    Raises GenerationRefused, SendingRefused, EndpointRefused, BankRefused.
    """
    permission, price = _check(wanted, at)
    plan = GenerationPlan(wanted, _reports_for(wanted), permission, price)
    return plan if dry_run else store_generation(plan, actor=actor, at=at)


def _reports_for(wanted: GenerationWanted) -> FoundReports:
    if wanted.reports:
        return reports_of_file(wanted.reports)
    return reports_of_bank(wanted.bank, wanted.n_exams or 0, seed=wanted.seed)


def begin_generation(wanted: GenerationWanted, *, actor: User | None, at: datetime) -> GenerationPlan:
    """Plan a run, store it and start it."""
    return begin_planned(plan_generation(wanted, actor=actor, at=at, dry_run=True), actor=actor, at=at)


@transaction.atomic
def begin_planned(plan: GenerationPlan, *, actor: User | None, at: datetime) -> GenerationPlan:
    """Store a planned run and start it: neither without the other."""
    begun = store_generation(plan, actor=actor, at=at)
    assert begun.run is not None
    start_generation(begun.run, actor=actor, at=at)
    return begun


def start_generation(run: GenerationRun, *, actor: User | None, at: datetime) -> None:
    """Ask for the findings of all reports; questions follow by themselves."""
    start(run.bullets_batch, actor=actor, at=at)


def _check(wanted: GenerationWanted, at: datetime) -> tuple[SendingPermission, Price | None]:
    """What can be checked before a report is looked at."""
    if wanted.bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": wanted.bank.name}
        raise GenerationRefused("archived", sentence, field="bank")
    _check_numbers(wanted)
    _check_purpose(wanted.bullets_prompt, PromptPurpose.BULLETS)
    _check_purpose(wanted.questions_prompt, PromptPurpose.QUESTIONS)
    return permitted_and_priced(wanted.bank, wanted.endpoint, wanted.model, at=at, cap=wanted.cap, reports=True)


def _check_numbers(wanted: GenerationWanted) -> None:
    if not 1 <= wanted.per_exam <= MOST_QUESTIONS:
        sentence = _("Ask for 1 to %(most)d questions per exam.") % {"most": MOST_QUESTIONS}
        raise GenerationRefused("bad_per_exam", sentence, status=422, field="per_exam")
    if not -(2**63) <= wanted.seed < 2**63:
        raise GenerationRefused("bad_seed", _("The seed is too large a number."), status=422, field="seed")
    if (wanted.reports is None) == (wanted.n_exams is None):
        sentence = _("Name a file of reports, or a number of exams of the bank: one of the two.")
        raise GenerationRefused("no_source", sentence, status=422, field="exams")
    if wanted.n_exams is not None and not 1 <= wanted.n_exams <= MOST_EXAMS:
        sentence = _("Ask for 1 to %(most)s exams.") % {"most": f"{MOST_EXAMS:,}"}
        raise GenerationRefused("bad_exams", sentence, status=422, field="exams")


def _check_purpose(prompt: PromptVersion | None, purpose: PromptPurpose) -> None:
    if prompt is not None and prompt.purpose != purpose:
        sentence = _("The prompt “%(name)s” is made to %(is)s, not to %(wanted)s.")
        named = {"name": prompt, "is": prompt.get_purpose_display(), "wanted": _(purpose.label)}
        raise GenerationRefused("wrong_purpose", sentence % named, status=422, field="prompt")


@transaction.atomic
def store_generation(plan: GenerationPlan, *, actor: User | None, at: datetime) -> GenerationPlan:
    """Store the run of a dry run."""
    wanted, found = plan.wanted, plan.found
    own_bullets, own_questions = ensure_prompts(at)
    batch = CallBatch.objects.create(
        purpose=PromptPurpose.BULLETS,
        bank=wanted.bank,
        endpoint=wanted.endpoint,
        model=wanted.model,
        prompt=wanted.bullets_prompt or own_bullets,
        permission=plan.permission,
        price=plan.price,
        chat_settings=wanted.chat.kept(),
        images=SentImages.NONE,
        seed=wanted.seed,
        n_calls=len(found.reports),
        cap=wanted.cap,
        created_by=actor,
        created_at=at,
    )
    run = GenerationRun.objects.create(
        bank=wanted.bank,
        seed=wanted.seed,
        per_exam=wanted.per_exam,
        source=ReportSource.FILE if wanted.reports else ReportSource.BANK,
        file_name=found.file_name[:200],
        file_sha256=found.file_sha256,
        images_root=found.images_root,
        bullets_batch=batch,
        questions_prompt=wanted.questions_prompt or own_questions,
        refused=found.refused,
        created_by=actor,
        created_at=at,
    )
    reports = GenerationReport.objects.bulk_create(
        (
            GenerationReport(
                run=run, number=number, answer_key_id=one.answer_key, record=one.record, sha256=sha256_of(one.text)
            )
            for number, one in enumerate(found.reports, start=1)
        ),
        batch_size=AT_ONCE,
    )
    add_calls(batch, reports)
    facts = {
        "bank": wanted.bank.slug,
        "reports": len(found.reports),
        "refused": len(found.refused),
        "per_exam": wanted.per_exam,
        "seed": wanted.seed,
        "endpoint": wanted.endpoint,
        "model": wanted.model,
    }
    record(PLANNED, actor=actor, at=at, subject=run, facts=facts)
    return GenerationPlan(wanted, found, plan.permission, plan.price, run)


def add_calls(batch: CallBatch, reports: Sequence[GenerationReport]) -> None:
    """One for each report. A call names the report and holds no copy of it: what is sent is filled in when it is."""
    ModelCall.objects.bulk_create(
        (
            ModelCall(batch=batch, number=number, values={"report": report.pk})
            for number, report in enumerate(reports, start=1)
        ),
        batch_size=AT_ONCE,
    )


def ensure_prompts(at: datetime) -> tuple[PromptVersion, PromptVersion]:
    """Ours for findings and for questions, stored the first time that they are needed."""
    return version_of(BULLETS, at=at), version_of(QUESTIONS, at=at)
