"""Which questions validators are asked about, and who may not ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.call_enums import SentImages
from annotation.contributions import reads_in_bank
from annotation.enums import ImportKind, QuestionState
from annotation.generation.kernels.answer_forms import sent_text
from annotation.generation.report_sources import identifiers_in
from annotation.model_calls.attempts import WAITS
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.models import (
    AnswerKey,
    Finding,
    GenerationRun,
    Image,
    PromptVersion,
    QuestionBank,
    Report,
    Revision,
    User,
)
from annotation.refusals import Refused
from annotation.site.slugs import listed
from annotation.validators.kernels.model_families import FAMILY_RULE, shared_family

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
