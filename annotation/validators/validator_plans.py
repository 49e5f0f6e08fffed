"""A validator is asked about a bank: which questions, which calls, under which permission. Planning sends nothing.

And who may not ask: people who read these questions in a study, and models of the family that wrote them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.call_enums import BatchState, PromptPurpose, SentImages
from annotation.contributions import reads_in_bank
from annotation.endpoints.configured_endpoints import checked_model, endpoint_named
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.enums import ImportKind, QuestionState
from annotation.generation.kernels.answer_forms import sent_text
from annotation.generation.report_sources import identifiers_in
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.ingest.serving import policy_for
from annotation.model_calls.attempts import (
    WAITS,
    Asking,
    CallPlan,
    add_calls,
    check_not_archived,
    check_probe,
    check_purpose,
    permitted_and_priced,
    store_batch,
)
from annotation.model_calls.call_batches import sent_parts, start
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.model_calls.versions import stored_version, version_of
from annotation.models import (
    AnswerKey,
    Finding,
    GenerationRun,
    Image,
    Price,
    PromptVersion,
    QuestionBank,
    Report,
    Revision,
    SendingPermission,
    User,
    ValidatorRun,
)
from annotation.questionbank.kernels.question_checks import ASKED, RATING, VALIDATORS
from annotation.refusals import Refused
from annotation.site.sentences import listed
from annotation.validators.kernels.model_families import FAMILY_RULE, shared_family
from annotation.validators.kernels.validator_prompts import PROMPTS

NO_KEY, NO_REPORT, IDENTIFIER = "no_key", "no_report", "identifier"  # why a question is left out
CHUNK = 2_000


class ValidatorRefused(Refused):
    """A validator cannot be asked; the sentence says what to do."""


class AskedAbout(NamedTuple):
    revision: int
    number: int  # of the question in its bank
    exam: int


class FoundQuestions(Struct):
    """``n_known``: judged by this prompt version and this model already. ``left_out`` holds numbers and reasons."""

    asked: list[AskedAbout] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    n_known: int = 0


def questions_to_ask(
    bank: QuestionBank, prompt: PromptVersion | ShippedPrompt, known: Collection[int] = frozenset()
) -> FoundQuestions:
    """The current questions that are not withdrawn, by number; ``known``: revisions that need no verdict any more."""
    found = FoundQuestions()
    needs_report = "report" in prompt.variables
    blocked = _reports_not_sent(bank) if needs_report else {}
    for revision, number, exam, key, report in _rows(bank):
        why = "" if key else NO_KEY
        if needs_report and not why:
            why = NO_REPORT if report is None else blocked.get(report, "")
        if revision in known:
            found.n_known += 1
        elif why:
            found.left_out.append({"question": number, "why": why})
        else:
            found.asked.append(AskedAbout(revision, number, exam))
    return found


def _rows(bank: QuestionBank) -> Iterator[tuple[int, int, int, str | None, int | None]]:
    truth = AnswerKey.objects.filter(pk=OuterRef("pk"))
    rows = Revision.objects.in_bank(bank).current().exclude(question__state=QuestionState.WITHDRAWN)
    rows = rows.annotate(letter=Subquery(truth.values("key")), report_pk=Subquery(truth.values("report")))
    columns = ("pk", "question__number", "question__exam_id", "letter", "report_pk")
    return rows.order_by("question__number").values_list(*columns).iterator(chunk_size=CHUNK)


def _reports_not_sent(bank: QuestionBank) -> dict[int, str]:
    """By id of the report: why its text is not sent. Only what is sent is looked at."""
    blocked: dict[int, str] = {}
    reports = Report.objects.filter(exam__bank=bank).order_by().values_list("pk", "findings", "impression")
    for pk, findings, impression in reports.iterator(chunk_size=CHUNK):
        text = sent_text(findings, impression)
        if not text:
            blocked[pk] = NO_REPORT
        elif identifiers_in(text):
            blocked[pk] = IDENTIFIER
    return blocked


def judged_by(bank: QuestionBank, validator: str, prompt: PromptVersion | None, model: str) -> QuerySet[Any, Any]:
    """Revisions of which this prompt version and model gave the verdict that counts."""
    if prompt is None:
        return Finding.objects.none().values_list("revision", flat=True)
    made = Finding.objects.filter(bank=bank, rule=validator, superseded_at=None).exclude(call=None).order_by()
    return made.filter(call__batch__prompt=prompt, call__batch__model=model).values_list("revision", flat=True)


# --- what is refused ---
def check_reads_none(person: User | None, bank: QuestionBank) -> None:
    """Refused for who reads questions of the bank in a study that is not over, as runs of models are.

    None: the command line. Raises ValidatorRefused (``reads_them``).
    """
    study = reads_in_bank(person.pk, bank.pk) if person else ""
    if study:
        sentence = _(
            "You read questions of “%(bank)s” in the study “%(study)s”. Somebody else asks validators about them, and "
            "reads what they say, until it is over."
        )
        raise ValidatorRefused("reads_them", sentence % {"bank": bank.name, "study": study}, status=403)


def check_generators(bank: QuestionBank, model: str, asked: Sequence[AskedAbout]) -> None:
    """Refused where the model, or one of its family, wrote some of these questions. Raises ValidatorRefused."""
    runs = GenerationRun.objects.filter(bank=bank, bank_import__isnull=False).select_related("questions_batch")
    by_model: dict[str, list[int]] = {}
    for run in runs:
        writer = run.questions_batch.model if run.questions_batch else ""
        if writer and shared_family(writer, model):
            by_model.setdefault(writer, []).append(run.bank_import_id or 0)
    for writer, imports in by_model.items():
        wrote = Revision.objects.filter(bank=bank, bank_import__in=imports, bank_import__kind=ImportKind.GENERATED)
        theirs = set(wrote.order_by().values_list("question__number", flat=True))
        if numbers := [one.number for one in asked if one.number in theirs]:
            raise _same_family(writer, model, numbers)


def _same_family(writer: str, model: str, numbers: Sequence[int]) -> ValidatorRefused:
    sentence = _(
        "“%(model)s” cannot judge %(n)d of these questions (%(numbers)s): “%(writer)s” wrote them, which is of the "
        "same family, “%(family)s” (rule %(rule)s). Ask a model of another family."
    )
    facts = {
        "model": model,
        "n": len(numbers),
        "numbers": listed([str(number) for number in numbers]),
        "writer": writer,
        "family": shared_family(writer, model),
        "rule": FAMILY_RULE,
    }
    return ValidatorRefused("same_family", sentence % facts, status=422, field="model", questions=len(numbers))


def check_images_there(bank: QuestionBank, images: str, asked: Sequence[AskedAbout]) -> None:
    """Refused while an image of these exams cannot be sent. Raises ValidatorRefused (``images_waiting``)."""
    if images == SentImages.NONE:
        return
    blocked = Image.objects.filter(exam__bank=bank, state__in=WAITS)
    waiting = set(blocked.order_by().values_list("exam_id", flat=True))
    if numbers := [str(one.number) for one in asked if one.exam in waiting]:
        sentence = _(
            "This prompt sends images, and some of %(n)d questions (%(numbers)s) are missing, unsearched or in "
            "quarantine. Bring them in or release them first, or take a prompt without images."
        )
        facts = {"n": len(numbers), "numbers": listed(numbers)}
        raise ValidatorRefused("images_waiting", sentence % facts, field="prompt", questions=len(numbers))


PLANNED = "validator.planned"
ALL = "all"  # three validators


class CheckWanted(Asking, frozen=True, kw_only=True):
    """What a person asks for. ``prompt`` None: ours. A validator that has judged a question is not asked again."""

    bank: QuestionBank
    validator: str
    prompt: PromptVersion | None = None

    @property
    def asked_with(self) -> PromptVersion | ShippedPrompt:
        return self.prompt or stored_version(PROMPTS[self.validator]) or PROMPTS[self.validator]


def checks_wanted(
    bank: QuestionBank,
    *,
    check: str,
    endpoint: str,
    model: str,
    prompt: PromptVersion | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    cap: Decimal | None = None,
) -> list[CheckWanted]:
    """One validator, or "all" three, of the model that is named or else that of the endpoint.

    Raises EndpointRefused, and ValidatorRefused where one prompt is given for all.
    """
    if check == ALL and prompt is not None:
        sentence = _("A prompt of your own asks for one validator: choose c1, c2 or c3 beside it.")
        raise ValidatorRefused("prompt_for_all", sentence, status=422, field="prompt")
    named = checked_model(endpoint_named(endpoint), model)
    chat = ChatSettings(temperature=temperature, max_tokens=max_tokens)
    return [
        CheckWanted(bank=bank, validator=code, endpoint=endpoint, model=named, prompt=prompt, chat=chat, cap=cap)
        for code in (VALIDATORS if check == ALL else (check,))
    ]


@dataclass(frozen=True)
class CheckPlan(CallPlan[CheckWanted, ValidatorRun]):
    found: FoundQuestions

    @property
    def n_calls(self) -> int:
        return len(self.found.asked)

    def as_json(self) -> dict[str, Any]:
        wanted, prompt = self.wanted, self.wanted.asked_with
        return {
            "run": self.run.public_id if self.run else None,
            "check": wanted.validator,
            "bank": wanted.bank.slug,
            "endpoint": wanted.endpoint,
            "model": wanted.model,
            "prompt": str(prompt) if isinstance(prompt, PromptVersion) else prompt.name,
            "images": str(SentImages(prompt.images).value),
            "questions": len(self.found.asked),
            "calls": self.n_calls,
            "known": self.found.n_known,
            "left_out": dict(Counter(one["why"] for one in self.found.left_out)),
            **self.terms(),
        }


def plan_check(wanted: CheckWanted, *, actor: User | None, at: datetime) -> CheckPlan:
    """One call for each question without a verdict of this prompt and model. It stores nothing.

    For c3 every report of the bank is searched for identifiers, 0.2 ms each: not within a transaction, which others
    would wait for. Raises ValidatorRefused, SendingRefused, EndpointRefused, BatchRefused for whatever is wrong.
    """
    check_reads_none(actor, wanted.bank)
    permission, price = check_wanted(wanted, at)
    prompt = wanted.asked_with
    stored = prompt if isinstance(prompt, PromptVersion) else None
    _check_not_under_way(wanted, stored)
    known = set(judged_by(wanted.bank, wanted.validator, stored, wanted.model))
    found = questions_to_ask(wanted.bank, prompt, known)
    _check_some(wanted, found)
    check_generators(wanted.bank, wanted.model, found.asked)
    check_images_there(wanted.bank, prompt.images, found.asked)
    return CheckPlan(wanted, permission, price, found)


def plan_checks(wanted: Sequence[CheckWanted], *, actor: User | None, at: datetime) -> list[CheckPlan]:
    """As ``plan_check``, for several validators."""
    return [plan_check(one, actor=actor, at=at) for one in wanted]


@transaction.atomic
def begin_checks(plans: Sequence[CheckPlan], *, actor: User | None, at: datetime) -> list[CheckPlan]:
    """Store the planned runs and start them: all of them, or none. Raises ValidatorRefused (``under_way``)."""
    begun = [plan.stored(store_check(plan, actor=actor, at=at)) for plan in plans]
    for plan in begun:
        start(plan.stored_run.batch, actor=actor, at=at)
    return begun


def check_wanted(wanted: CheckWanted, at: datetime) -> tuple[SendingPermission, Price | None]:
    """What can be checked before the questions are looked at."""
    if wanted.validator not in ASKED:
        sentence = _("There is no validator “%(name)s”: choose c1, c2, c3, images, bias or rating.") % {
            "name": wanted.validator
        }
        raise ValidatorRefused("no_validator", sentence, status=422, field="check")
    check_not_archived(wanted.bank)
    check_purpose(wanted.prompt, PromptPurpose.CHECK)
    prompt = wanted.asked_with
    _check_schema(prompt, "difficulty" if wanted.validator == RATING else "verdict")
    parts = sent_parts(prompt, prompt.images)
    found = permitted_and_priced(wanted.bank, wanted, at=at, **parts)
    check_probe(wanted.endpoint, wanted.model, n_images=int(parts["images"]), has_schema=bool(prompt.schema))
    return found


def _check_schema(prompt: PromptVersion | ShippedPrompt, field: str) -> None:
    if prompt.schema and field not in json.loads(prompt.schema)["properties"]:
        sentence = _("The schema of the prompt “%(name)s” has no field “%(field)s”: no answer could be read.")
        raise ValidatorRefused("no_verdict", sentence % {"name": prompt, "field": field}, status=422, field="prompt")


def _check_not_under_way(wanted: CheckWanted, prompt: PromptVersion | None) -> None:
    """The same is not asked, and paid, twice."""
    runs = ValidatorRun.objects.filter(bank=wanted.bank, validator=wanted.validator, taken_at=None)
    same = runs.filter(batch__prompt=prompt, batch__model=wanted.model).exclude(batch__state=BatchState.STOPPED)
    if prompt is not None and same.exists():
        sentence = _("%(check)s is being asked of “%(model)s” already. Wait for it, resume it, or stop it.")
        raise ValidatorRefused("under_way", sentence % {"check": wanted.validator, "model": wanted.model})


def _check_some(wanted: CheckWanted, found: FoundQuestions) -> None:
    if found.asked:
        return
    if found.n_known:
        sentence = _("%(model)s has judged all %(n)d questions by this version of the prompt already.")
        raise ValidatorRefused("all_known", sentence % {"model": wanted.model, "n": found.n_known})
    sentence = _(
        "“%(bank)s” holds no question that %(check)s can be asked about; %(n)d were left out, since they have no key, "
        "no report, or a report with what looks like an identifier."
    )
    facts = {"bank": wanted.bank.name, "check": wanted.validator, "n": len(found.left_out)}
    raise ValidatorRefused("no_questions", sentence % facts)


@transaction.atomic
def store_check(plan: CheckPlan, *, actor: User | None, at: datetime) -> ValidatorRun:
    """A run with its calls, which wait for their start. Raises ValidatorRefused (``under_way``)."""
    wanted = plan.wanted
    prompt = wanted.prompt or version_of(PROMPTS[wanted.validator], at=at)
    _check_not_under_way(wanted, prompt)  # again: somebody else may have begun it since it was planned
    is_seen = prompt.images != SentImages.NONE
    batch = store_batch(
        plan,
        wanted.bank,
        prompt,
        n_calls=plan.n_calls,
        images=prompt.images,
        picture_policy=policy_for(wanted.bank, QUARTER).name if is_seen else "",
        actor=actor,
        at=at,
    )
    run = ValidatorRun.objects.create(
        bank=wanted.bank,
        validator=wanted.validator,
        batch=batch,
        left_out=plan.found.left_out,
        created_by=actor,
        created_at=at,
    )
    asked = ({"revision_id": one.revision, "exam_id": one.exam if is_seen else None} for one in plan.found.asked)
    add_calls(batch, asked)
    facts = {
        "bank": wanted.bank.slug,
        "check": wanted.validator,
        "endpoint": wanted.endpoint,
        "model": wanted.model,
        "prompt": str(prompt),
        "calls": plan.n_calls,
    }
    record(PLANNED, actor=actor, at=at, subject=run, facts=facts)
    return run
