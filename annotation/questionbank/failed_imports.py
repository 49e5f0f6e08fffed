"""Remove what a failed or killed import left behind, in chunks; safe to run twice and at any time.

Only rows of an import that was never published are touched. Which rows those are follows from the import itself
(its revisions, its exams) and from the ids that were the last ones when it began: only one import at a time runs
in a bank, so later identifiers of the kinds that imports write, and later pending images, are its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models, transaction
from django.db.models import Q

from annotation.enums import IdentifierKind, ImageState, ImportState
from annotation.models import (
    AnswerKey,
    BankImport,
    Exam,
    Image,
    Job,
    Question,
    QuestionBank,
    Report,
    Revision,
    SeenKey,
    SourceIdentifier,
)

STALE_AFTER = timedelta(seconds=60)
CHUNK = 500
_IMPORTED_KINDS = [kind.value for kind in IdentifierKind if kind not in (IdentifierKind.SOP_UID,)]


def sweep_imports(at: datetime) -> int:
    """Sweep imports that failed, and running ones that stopped beating; the number of imports swept."""
    lost = Q(state=ImportState.FAILED) | Q(state=ImportState.RUNNING, heartbeat_at__lt=at - STALE_AFTER)
    swept = 0
    for bank_import in BankImport.objects.filter(lost):
        sweep_import(bank_import)
        swept += 1
    return swept


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
    _release_superseded(bank_import)
    _sweep_identifiers(bank_import, last_ids.get("identifier", 0))
    _sweep_questions(bank_import)
    _sweep_images(bank_import, last_ids.get("image", 0))
    _sweep_exams(bank_import)
    _sweep_import_row(bank_import)


def _release_superseded(bank_import: BankImport) -> None:
    rows = Revision.objects.filter(superseded_by=bank_import.pk)
    while ids := list(rows.values_list("pk", flat=True)[:CHUNK]):
        Revision.objects.filter(pk__in=ids).update(superseded_by=None)


def _sweep_identifiers(bank_import: BankImport, after: int) -> None:
    """Names that the import wrote; those of images that came in meanwhile belong to the ingest and stay."""
    rows = SourceIdentifier.objects.filter(pk__gt=after, bank=bank_import.bank_id, kind__in=_IMPORTED_KINDS)
    last = after
    while True:
        page = list(rows.filter(pk__gt=last).order_by("pk")[:CHUNK])
        if not page:
            return
        last = page[-1].pk
        image_ids = [row.image_id for row in page if row.image_id is not None]
        arrived = set(
            Image.objects.filter(pk__in=image_ids).exclude(state=ImageState.PENDING).values_list("pk", flat=True)
        )
        _delete(SourceIdentifier, [row.pk for row in page if row.image_id not in arrived])


def _sweep_questions(bank_import: BankImport) -> None:
    rows = Revision.objects.filter(bank_import=bank_import.pk)
    while page := list(rows.values_list("pk", "question_id", "number")[:CHUNK]):
        revision_ids = [pk for pk, _question, _number in page]
        first_of = [question for _pk, question, number in page if number == 1]
        with transaction.atomic():
            AnswerKey.objects.filter(pk__in=revision_ids)._raw_delete("default")
            Revision.objects.filter(pk__in=revision_ids)._raw_delete("default")
            SeenKey.objects.filter(question__in=first_of)._raw_delete("default")
            Question.objects.filter(pk__in=first_of)._raw_delete("default")


def _sweep_images(bank_import: BankImport, after: int) -> None:
    rows = Image.objects.filter(pk__gt=after, state=ImageState.PENDING, exam__bank=bank_import.bank_id)
    while ids := list(rows.values_list("pk", flat=True)[:CHUNK]):
        _delete(Image, ids)


def _sweep_exams(bank_import: BankImport) -> None:
    """Exams of the import; one that got images meanwhile stays, without a bank, as if it had come in alone."""
    rows = Exam.objects.filter(bank_import=bank_import.pk)
    while ids := list(rows.values_list("pk", flat=True)[:CHUNK]):
        with transaction.atomic():
            Report.objects.filter(exam__in=ids)._raw_delete("default")
            kept = list(Image.objects.filter(exam__in=ids).values_list("exam_id", flat=True).distinct())
            Exam.objects.filter(prior__in=ids).update(prior=None)
            Exam.objects.filter(pk__in=kept).update(bank=None, bank_import=None, prior=None)
            Exam.objects.filter(pk__in=set(ids) - set(kept))._raw_delete("default")


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


def _delete(model: type[models.Model], ids: list[int]) -> None:
    model._default_manager.filter(pk__in=ids)._raw_delete("default")
