"""A bank is deleted while nothing refers to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.bin.deleting import note_purged
from annotation.contributions import contributed
from annotation.enums import ImageState, ImportState
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import (
    Assignment,
    BankImport,
    Edit,
    Image,
    Job,
    PairTrial,
    QuestionBank,
    QuestionComment,
    SamplingPlan,
    SendingPermission,
    Upload,
)
from annotation.questionbank.failed_imports import sweep_import
from annotation.questionbank.kernels.entries import BankRefused


class DeletionParams(TypedDict):
    bank: int


DELETION: JobKind[DeletionParams] = JobKind("delete_bank")


def check_unused(bank: QuestionBank) -> None:
    """Refused while samples, assignments, images with pixels, a running import or another app refer to it."""
    if SamplingPlan.objects.filter(bank=bank).exists():
        raise BankRefused("in_use", _("A sample was drawn from this bank: archive the bank instead."))
    in_rounds = {"revision__bank": bank, "round__deleted_at": None}
    if Assignment.objects.filter(**in_rounds).exists():
        raise BankRefused("in_use", _("A round uses questions of this bank: archive the bank instead."))
    if BankImport.objects.filter(bank=bank, state=ImportState.RUNNING).exists():
        raise BankRefused("in_use", _("An import into this bank is running. Wait for its end, or cancel it."))
    if Edit.objects.filter(revision__bank=bank).exists():
        raise BankRefused("in_use", _("Questions of this bank were revised by hand: archive the bank instead."))
    if QuestionComment.objects.filter(question__bank=bank).exists():
        raise BankRefused("in_use", _("Questions of this bank have comments: archive the bank instead."))
    if SendingPermission.objects.filter(bank=bank).exists():
        raise BankRefused("in_use", _("A permission to send this bank to a model was given: archive the bank instead."))
    if PairTrial.objects.filter(bank=bank).exists():
        raise BankRefused("in_use", _("People judge pairs of questions of this bank: archive the bank instead."))
    if Image.objects.filter(exam__bank=bank).exclude(state=ImageState.PENDING).exists():
        raise BankRefused("in_use", _("Images have come in for this bank: archive the bank instead."))
    for use in contributed().bank_uses:
        if sentence := use(bank):
            raise BankRefused("in_use", sentence)


def is_unused(bank: QuestionBank) -> bool:
    try:
        check_unused(bank)
    except BankRefused:
        return False
    return True


def hide_bank(bank: QuestionBank) -> None:
    """Nobody finds the questions of imports that are not published. Refused while anything refers to it."""
    check_unused(bank)
    BankImport.objects.filter(bank=bank, state=ImportState.PUBLISHED).update(state=ImportState.DELETED)


def show_bank(bank: QuestionBank) -> None:
    BankImport.objects.filter(bank=bank, state=ImportState.DELETED).update(state=ImportState.PUBLISHED)


def purge_bank(bank: QuestionBank, at: datetime) -> bool:
    """Begin its deletion in the background, once a day until it is gone."""
    begun = Job.objects.filter(kind=DELETION, params__bank=bank.pk, created_at__gt=at - timedelta(days=1))
    if not _is_purgeable(bank) or begun.exists():
        return False
    enqueue(DELETION, _("Delete the bank %s") % bank.name, DeletionParams(bank=bank.pk), actor=None, at=at)
    return False


def _is_purgeable(bank: QuestionBank) -> bool:
    if SamplingPlan.everywhere.filter(bank=bank).exists():
        return False
    return is_unused(bank)


def delete_bank_job(progress: Progress, params: DeletionParams) -> Result:
    """Delete for good what has been in the bin long enough. Safe to run twice: a bank that is gone is deleted."""
    bank = QuestionBank.everywhere.filter(pk=params["bank"], deleted_at__isnull=False).first()
    if bank is None or not _is_purgeable(bank):
        return {"deleted": ""}
    _delete(bank, at=timezone.now())
    return {"deleted": bank.name}


def _delete(bank: QuestionBank, *, at: datetime) -> None:
    """Safe to run again after it was stopped: the bank goes last.

    Imports are taken back newest first, in chunks, as the sweep does with one that failed.
    """
    for bank_import in BankImport.objects.filter(bank=bank).order_by("-pk"):
        BankImport.objects.filter(pk=bank_import.pk).update(state=ImportState.FAILED, result={})
        sweep_import(bank_import)
    with transaction.atomic():
        Upload.everywhere.filter(bank=bank).update(bank=None)
        note_purged(bank, at=at)
        QuestionBank.everywhere.filter(pk=bank.pk).delete()
