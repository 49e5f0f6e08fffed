"""An administrator deletes a bank while nothing refers to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImageState, ImportState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import (
    Assignment,
    BankImport,
    Image,
    Job,
    QuestionBank,
    SampledQuestion,
    SamplingPlan,
    Upload,
    User,
)
from annotation.questionbank.sweeping import sweep_import

Use = Callable[[QuestionBank], str]
_uses: dict[str, Use] = {}


class BankInUse(Exception):
    """Something refers to the bank; the sentence says what."""


def register_use(name: str, use: Use) -> None:
    """Let another app say why a bank cannot go: a sentence, empty when it can. Apps call this when they start."""
    if _uses.setdefault(name, use) is not use:
        raise ValueError(f"a use named {name} is there already")


def check_unused(bank: QuestionBank) -> None:
    """Raises BankInUse while samples, assignments, images with pixels, a running import or another app refer to it."""
    if SamplingPlan.objects.filter(bank=bank).exists():
        raise BankInUse(_("A sample was drawn from this bank: archive the bank instead."))
    if (
        SampledQuestion.objects.filter(revision__bank=bank).exists()
        or Assignment.objects.filter(revision__bank=bank).exists()
    ):
        raise BankInUse(_("A round uses questions of this bank: archive the bank instead."))
    if BankImport.objects.filter(bank=bank, state=ImportState.RUNNING).exists():
        raise BankInUse(_("An import into this bank is running. Wait for its end, or cancel it."))
    if Image.objects.filter(exam__bank=bank).exclude(state=ImageState.PENDING).exists():
        raise BankInUse(_("Images have come in for this bank: archive the bank instead."))
    for use in _uses.values():
        if sentence := use(bank):
            raise BankInUse(sentence)


def delete_bank(bank: QuestionBank, *, actor: User, at: datetime) -> None:
    """Raises BankInUse. Safe to run again after it was stopped: the bank goes last.

    Imports are taken back newest first, in chunks, as the sweep does with one that failed.
    """
    check_unused(bank)
    for bank_import in BankImport.objects.filter(bank=bank).order_by("-pk"):
        BankImport.objects.filter(pk=bank_import.pk).update(state=ImportState.FAILED, result={})
        sweep_import(bank_import)
    with transaction.atomic():
        Upload.objects.filter(bank=bank).update(bank=None)
        record("bank.deleted", actor=actor, at=at, subject=bank, facts={"name": bank.name})
        QuestionBank.objects.filter(pk=bank.pk).delete()


def begin_deletion(bank: QuestionBank, *, actor: User, at: datetime) -> Job:
    """Delete the bank in the background. Raises BankInUse."""
    check_unused(bank)
    params = {"bank": bank.pk, "actor": actor.pk}
    return enqueue("delete_bank", _("Delete the bank %s") % bank.name, params, actor=actor, at=at)


def delete_bank_job(progress: Progress, params: Params) -> Result:
    """Safe to run twice: a bank that is gone is deleted."""
    bank = QuestionBank.objects.filter(pk=params["bank"]).first()
    if bank is not None:
        delete_bank(bank, actor=User.objects.get(pk=params["actor"]), at=timezone.now())
    return {"deleted": bank.name if bank is not None else ""}
