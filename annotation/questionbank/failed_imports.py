"""Remove what a failed or killed import left behind, in chunks; safe to run twice and at any time.

Only rows of an import that was never published are touched. Which rows those are follows from the import itself
(its revisions, its exams) and from the ids that were the last ones when it began: only one import at a time runs
in a bank, so later identifiers of the kinds that imports write, and later pending images, are its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Q

from annotation.enums import IdentifierKind, ImageState, ImportState
from annotation.models import (
    AnswerKey,
    BankImport,
    Exam,
    Finding,
    Image,
    Job,
    Question,
    QuestionBank,
    QuestionTag,
    QuestionVector,
    Report,
    Revision,
    SeenKey,
    SourceIdentifier,
)
from annotation.site.internals import delete_rows

STALE_AFTER = timedelta(seconds=60)
CHUNK = 500
_IMPORTED_KINDS = [kind.value for kind in IdentifierKind if kind is not IdentifierKind.SOP_UID]


def sweep_imports(at: datetime) -> int:
    """Sweep imports that failed, and running ones that stopped beating; the number of imports swept."""
    lost = Q(state=ImportState.FAILED) | Q(state=ImportState.RUNNING, heartbeat_at__lt=at - STALE_AFTER)
    imports = list(BankImport.objects.filter(lost))
    for bank_import in imports:
        sweep_import(bank_import)
    return len(imports)


def sweep_runs_of(job: Job) -> None:
    """Sweep what an earlier, killed run of this job began."""
    for bank_import in BankImport.objects.filter(job=job, state=ImportState.RUNNING):
        sweep_import(bank_import)


def sweep_import(bank_import: BankImport) -> None:
    """Take back everything that an unpublished import wrote, the import itself and a bank made only for it."""
    unpublished = BankImport.objects.filter(pk=bank_import.pk).exclude(state=ImportState.PUBLISHED)
    if not unpublished.update(state=ImportState.FAILED):
        return
    last_ids = (unpublished.values_list("result", flat=True).first() or {}).get("last_ids_before", {})
    for page in _pages(Revision.objects.filter(superseded_by=bank_import.pk), "pk"):
        Revision.objects.filter(pk__in=[pk for (pk,) in page]).update(superseded_by=None)
    _sweep_identifiers(bank_import, last_ids.get("identifier", 0))
    _sweep_questions(bank_import)
    pending = Image.objects.filter(state=ImageState.PENDING, exam__bank=bank_import.bank_id)
    for page in _pages(pending.filter(pk__gt=last_ids.get("image", 0)), "pk"):
        _delete(Image, pk__in=[pk for (pk,) in page])
    _sweep_exams(bank_import)
    _sweep_import_row(bank_import)


def _pages(rows: models.QuerySet[Any], *columns: str) -> Iterator[list[tuple[Any, ...]]]:
    """The first CHUNK rows, until there are none: who takes a page sees to it that its rows match no longer."""
    while page := list(rows.values_list(*columns)[:CHUNK]):
        yield page


def _delete(model: type[models.Model], **which: Collection[int]) -> None:
    delete_rows(model._default_manager.filter(**which))


def _sweep_identifiers(bank_import: BankImport, last: int) -> None:
    """Names that the import wrote; those of images that came in meanwhile belong to the ingest and stay."""
    rows = SourceIdentifier.objects.filter(bank=bank_import.bank_id, kind__in=_IMPORTED_KINDS).order_by("pk")
    while page := dict(rows.filter(pk__gt=last).values_list("pk", "image_id")[:CHUNK]):
        last = max(page)
        arrived = Image.objects.filter(pk__in=filter(None, page.values())).exclude(state=ImageState.PENDING)
        kept = set(arrived.values_list("pk", flat=True))
        _delete(SourceIdentifier, pk__in=[pk for pk, image_id in page.items() if image_id not in kept])


def _sweep_questions(bank_import: BankImport) -> None:
    for page in _pages(Revision.objects.filter(bank_import=bank_import.pk), "pk", "question_id", "number"):
        revisions = [pk for pk, _question, _number in page]
        first_of = [question for _pk, question, number in page if number == 1]
        with transaction.atomic():
            _delete(Finding, revision__in=revisions)
            _delete(Finding, other__in=revisions)
            _delete(QuestionVector, revision__in=revisions)
            _delete(AnswerKey, pk__in=revisions)
            _delete(Revision, pk__in=revisions)
            _delete(SeenKey, question__in=first_of)
            _delete(QuestionTag, question__in=first_of)
            _delete(Question, pk__in=first_of)


def _sweep_exams(bank_import: BankImport) -> None:
    """Exams of the import; one that got images meanwhile stays, without a bank, as if it had come in alone."""
    for page in _pages(Exam.objects.filter(bank_import=bank_import.pk), "pk"):
        ids = {pk for (pk,) in page}
        with transaction.atomic():
            _delete(Report, exam__in=ids)
            kept = set(Image.objects.filter(exam__in=ids).values_list("exam_id", flat=True))
            Exam.objects.filter(prior__in=ids).update(prior=None)
            Exam.objects.filter(pk__in=kept).update(bank=None, bank_import=None, prior=None)
            _delete(Exam, pk__in=ids - kept)


@transaction.atomic
def _sweep_import_row(bank_import: BankImport) -> None:
    BankImport.objects.filter(pk=bank_import.pk).delete()
    bank = QuestionBank.everywhere.filter(pk=bank_import.bank_id)
    if not is_bank_used(bank_import.bank_id) and bank.filter(created_at=bank_import.started_at).exists():
        bank.delete()


def is_bank_used(bank_id: int) -> bool:
    """Whether anything at all refers to the bank."""
    for relation in QuestionBank._meta.related_objects:
        model: type[models.Model] = relation.related_model
        if model._base_manager.filter(**{relation.field.name: bank_id}).exists():
            return True
    return False
