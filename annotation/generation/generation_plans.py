"""A run that makes questions from reports is planned: which reports, which calls. Nothing is sent yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import PromptPurpose, ReportSource
from annotation.endpoints.configured_endpoints import (
    EndpointRefused,
    checked_model,
    endpoint_named,
    endpoint_to_ask,
    endpoints,
)
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.sending_permissions import SendingRefused, permission_in_force
from annotation.generation.kernels.answer_forms import BULLETS, MOST_QUESTIONS, QUESTIONS
from annotation.generation.kernels.sent_reports import MOST_REPORTS, SentReports
from annotation.generation.report_sources import FoundReports, GenerationRefused, reports_of_bank, reports_sent
from annotation.hashes import sha256_of
from annotation.model_calls.attempts import (
    Asking,
    CallPlan,
    add_calls,
    check_not_archived,
    check_purpose,
    permitted_and_priced,
    store_batch,
)
from annotation.model_calls.call_batches import start
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.model_calls.versions import version_of
from annotation.models import (
    AnswerKey,
    CallBatch,
    GenerationReport,
    GenerationRun,
    Price,
    PromptVersion,
    QuestionBank,
    Revision,
    SendingPermission,
    User,
)

PLANNED, MASKED = "generation.planned", "generation.masked"
AT_ONCE = 1_000


class GenerationWanted(Asking, frozen=True, kw_only=True):
    """What a person asks for: exams of the bank (so many, chosen ones, or all), or reports that are sent.

    ``masks``: what looks like an identifier is masked, where else its report is held back. Prompts None: ours.
    """

    bank: QuestionBank
    per_exam: int
    seed: int
    n_exams: int | None = None
    chosen: tuple[str, ...] = ()  # ids of exams
    every_exam: bool = False
    reports: SentReports | None = None
    masks: bool = False
    bullets_prompt: PromptVersion | None = None
    questions_prompt: PromptVersion | None = None

    @property
    def source(self) -> ReportSource:
        if self.reports:
            return ReportSource.FILE if self.reports.name else ReportSource.PASTED
        return ReportSource.CHOSEN if self.chosen else ReportSource.BANK


def generation_wanted(
    bank: QuestionBank, *, endpoint: str, model: str, temperature: float | None, **more: Any
) -> GenerationWanted:
    """As pages and programs say it. Raises EndpointRefused where nobody names the model."""
    named = checked_model(endpoint_named(endpoint), model)
    chat = ChatSettings(temperature=temperature)
    return GenerationWanted(bank=bank, endpoint=endpoint, model=named, chat=chat, **more)


@dataclass(frozen=True)
class GenerationPlan(CallPlan[GenerationWanted, GenerationRun]):
    found: FoundReports

    @property
    def n_calls(self) -> int:
        """Two for each report, where each has findings that questions can use."""
        return 2 * len(self.found.reports)

    def as_json(self) -> dict[str, Any]:
        wanted, n_reports = self.wanted, len(self.found.reports)
        return {
            "run": self.run.public_id if self.run else None,
            "bank": wanted.bank.slug,
            "source": wanted.source.value,
            "reports": n_reports,
            "characters": sum(len(one.text) for one in self.found.reports),
            "refused": self.found.refused,
            "masked": [one.as_json() for one in self.found.masked],
            "per_exam": wanted.per_exam,
            "seed": wanted.seed,
            "calls": self.n_calls,
            "questions_at_most": n_reports * wanted.per_exam,
            "endpoint": wanted.endpoint,
            "model": wanted.model,
            "prompts": [_named(wanted.bullets_prompt, BULLETS), _named(wanted.questions_prompt, QUESTIONS)],
            **self.terms(),
        }


def _named(version: PromptVersion | None, own: ShippedPrompt) -> str:
    return str(version) if version else own.name


def plan_generation(wanted: GenerationWanted, *, at: datetime) -> GenerationPlan:
    """One call for each report, and as many for questions. It stores nothing.

    Raises GenerationRefused, SendingRefused, EndpointRefused, BatchRefused, BankRefused for whatever is wrong.
    """
    permission, price = _check(wanted, at)
    return GenerationPlan(wanted, permission, price, _reports_for(wanted))


def _reports_for(wanted: GenerationWanted) -> FoundReports:
    if wanted.reports:
        return reports_sent(wanted.bank, wanted.reports, masks=wanted.masks)
    return reports_of_bank(wanted.bank, wanted.n_exams, seed=wanted.seed, exams=wanted.chosen, masks=wanted.masks)


@transaction.atomic
def begin_generation(plan: GenerationPlan, *, actor: User | None, at: datetime) -> GenerationPlan:
    """Store a planned run and ask for the findings of all reports; questions follow by themselves."""
    begun = store_generation(plan, actor=actor, at=at)
    start(begun.stored_run.bullets_batch, actor=actor, at=at)
    return begun


def _check(wanted: GenerationWanted, at: datetime) -> tuple[SendingPermission, Price | None]:
    """What can be checked before a report is looked at."""
    check_not_archived(wanted.bank)
    _check_numbers(wanted)
    check_purpose(wanted.bullets_prompt, PromptPurpose.BULLETS)
    check_purpose(wanted.questions_prompt, PromptPurpose.QUESTIONS)
    return permitted_and_priced(wanted.bank, wanted, at=at, questions=False, reports=True)


def _check_numbers(wanted: GenerationWanted) -> None:
    if not 1 <= wanted.per_exam <= MOST_QUESTIONS:
        sentence = _("Ask for 1 to %(most)d questions per exam.") % {"most": MOST_QUESTIONS}
        raise GenerationRefused("bad_per_exam", sentence, status=422, field="per_exam")
    if not -(2**63) <= wanted.seed < 2**63:
        raise GenerationRefused("bad_seed", _("The seed is too large a number."), status=422, field="seed")
    sources = (wanted.reports is not None, wanted.n_exams is not None, bool(wanted.chosen), wanted.every_exam)
    if sum(sources) != 1:
        sentence = _("Say which reports: so many exams of the bank, chosen ones, all of them, or reports of your own.")
        raise GenerationRefused("no_source", sentence, status=422, field="exams")
    if wanted.n_exams is not None and not 1 <= wanted.n_exams <= MOST_REPORTS:
        sentence = _("Ask for 1 to %(most)s exams.") % {"most": f"{MOST_REPORTS:,}"}
        raise GenerationRefused("bad_exams", sentence, status=422, field="exams")


@transaction.atomic
def store_generation(plan: GenerationPlan, *, actor: User | None, at: datetime) -> GenerationPlan:
    """A run with its calls, which wait for their start."""
    wanted, found = plan.wanted, plan.found
    own_bullets, own_questions = ensure_prompts(at)
    batch = store_batch(
        plan,
        wanted.bank,
        wanted.bullets_prompt or own_bullets,
        n_calls=len(found.reports),
        seed=wanted.seed,
        actor=actor,
        at=at,
    )
    run = GenerationRun.objects.create(
        bank=wanted.bank,
        seed=wanted.seed,
        per_exam=wanted.per_exam,
        source=wanted.source,
        file_name=wanted.reports.name[:200] if wanted.reports else "",
        file_sha256=wanted.reports.sha256 if wanted.reports else "",
        images_root=found.images_root,
        bullets_batch=batch,
        questions_prompt=wanted.questions_prompt or own_questions,
        refused=found.refused,
        masked=[one.as_json() for one in found.masked],
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
    ask_about(batch, reports)
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
    if found.masked:
        places = Counter(part.identifier.code for one in found.masked for part in one.parts if part.identifier)
        record(MASKED, actor=actor, at=at, subject=run, facts={"reports": len(found.masked), "places": dict(places)})
    return plan.stored(run)


def ask_about(batch: CallBatch, reports: Sequence[GenerationReport]) -> None:
    """A call for each. It names the report and holds no copy of it: what is sent is filled in when it is."""
    add_calls(batch, ({"values": {"report": report.pk}} for report in reports))


def ensure_prompts(at: datetime) -> tuple[PromptVersion, PromptVersion]:
    """Ours for findings and for questions, stored the first time that they are needed."""
    return version_of(BULLETS, at=at), version_of(QUESTIONS, at=at)


# --- what is missing before anything can be planned ---
class Missing(NamedTuple):
    """``page``: the name of the address where it is put right, ``named``: what this needs, ``link``: its words."""

    sentence: str
    page: str
    named: str
    link: str


def missing_for(bank: QuestionBank, *, at: datetime) -> list[Missing]:
    """Of endpoint, permission, price and reports. A prompt never is: ours come with the program."""
    missing, permitted = list[Missing](), list[Endpoint]()
    if not endpoints():
        sentence = _("There is no model endpoint. Whoever runs the server names them in REXVQA_MODEL_ENDPOINTS.")
        missing.append(Missing(sentence, "model-endpoints", "", _("Model endpoints")))
    for one in endpoints():
        try:
            permission_in_force(bank, one.name, at=at, questions=False, reports=True)
            permitted.append(one)
            endpoint_to_ask(one.name)
        except SendingRefused:
            continue
        except EndpointRefused as refusal:
            missing.append(Missing(str(refusal), "model-endpoint", one.name, one.name))
    if endpoints() and not permitted:
        sentence = _("No endpoint may be sent reports of “%(bank)s”. An administrator gives the permission.")
        missing.append(Missing(sentence % {"bank": bank.name}, "bank-sending", bank.slug, _("Sending to models")))
    priced = Price.objects.filter(valid_from__lte=at.date()).values_list("endpoint", flat=True)
    for one in permitted:
        if one.name not in priced:
            sentence = _("No price is stated for “%(endpoint)s”: no cost can be estimated, and no cap kept.")
            missing.append(Missing(sentence % {"endpoint": one.name}, "model-endpoint", one.name, _("State a price")))
    current = Revision.objects.in_bank(bank).current().values("pk")
    if not AnswerKey.objects.filter(revision__in=current, report__isnull=False).exists():
        sentence = _(
            "“%(bank)s” holds no exam with a report: paste some or send a file, or import questions with reports."
        )
        missing.append(Missing(sentence % {"bank": bank.name}, "question-import-new", "", _("Import questions")))
    return missing
