"""A bank: made, the terms under which it was given, and deleted while nothing refers to it."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import TypedDict

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.bin.deleting import note_purged
from annotation.contributions import contributed
from annotation.enums import ImageState, ImportState
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import (
    Assignment,
    BankImport,
    Edit,
    Finding,
    Image,
    Job,
    PairTrial,
    QuestionBank,
    QuestionComment,
    SamplingPlan,
    SendingPermission,
    Upload,
    User,
)
from annotation.quality.kernels.rules import PUBLIC_TWIN
from annotation.questionbank.failed_imports import sweep_import
from annotation.questionbank.kernels.entries import BankRefused
from annotation.site.advisory_locks import OneAtATime, lock
from annotation.site.slugs import free_slug

LONGEST_NAME = 200


@transaction.atomic
def make_bank(name: str, *, simulated: bool = False, actor: User | None, at: datetime) -> QuestionBank:
    """Raises BankRefused for a name that is missing, too long or taken."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        sentence = _("Name the bank, in at most %(most)s characters.") % {"most": LONGEST_NAME}
        raise BankRefused("bad_name", sentence, status=422, field="name")
    lock(OneAtATime.NAME)
    if QuestionBank.objects.filter(name=name).exists():
        sentence = _("A bank named “%(name)s” exists already: give this one another name.") % {"name": name}
        raise BankRefused("name_taken", sentence, field="name")
    bank = store_bank(name, simulated=simulated, actor=actor, at=at)
    record("bank.made", actor=actor, at=at, subject=bank)
    return bank


def store_bank(name: str, *, simulated: bool, actor: User | None, at: datetime) -> QuestionBank:
    """The row of a bank of this name, of which there is none yet, with a free address."""
    slug = free_slug(name, among=QuestionBank.objects.all(), otherwise="bank")
    return QuestionBank.objects.create(name=name, slug=slug, simulated=simulated, created_by=actor, created_at=at)


# --- The terms under which a bank was given, whether its questions are public, and ----------------
LONGEST_TERMS = 50_000  # characters


def change_terms(
    bank: QuestionBank,
    *,
    terms: str,
    holds_quarters: bool,
    is_public: bool | None = None,
    actor: User | None,
    at: datetime,
) -> bool:
    """Store what differs, and say whether anything did. Permissions keep the terms under which they were given.

    ``is_public`` None: as it is. Where it changes, open findings of twins in public banks go, of this bank and those
    that name it: they have to be sought anew.

    Raises BankRefused (``archived``, ``too_long``).
    """
    terms = terms.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(terms) > LONGEST_TERMS:
        sentence = _("At most %(n)d characters can be stored.")
        raise BankRefused("too_long", sentence % {"n": LONGEST_TERMS}, status=422, field="terms")
    with transaction.atomic():
        locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
        if locked.archived_at is not None:
            raise BankRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": locked.name})
        wanted = terms, holds_quarters, locked.is_public if is_public is None else is_public
        if (locked.terms, locked.holds_quarters, locked.is_public) == wanted:
            return False
        facts = {
            "terms_sha256": hashlib.sha256(terms.encode()).hexdigest(),
            "before_sha256": hashlib.sha256(locked.terms.encode()).hexdigest(),
            "holds_quarters": holds_quarters,
            "is_public": wanted[2],
        }
        if locked.is_public != wanted[2]:
            _forget_twins(locked)
        locked.terms, locked.holds_quarters, locked.is_public = wanted
        locked.save(update_fields=["terms", "holds_quarters", "is_public"])
        record("bank.terms_changed", actor=actor, at=at, subject=locked, facts=facts)
    return True


def _forget_twins(bank: QuestionBank) -> None:
    named = Finding.objects.filter(rule=PUBLIC_TWIN, dismissed_at=None)
    named.filter(Q(bank=bank) | Q(other__question__bank=bank)).delete()
    QuestionBank.objects.filter(Q(pk=bank.pk) | Q(is_public=False)).update(twins_sought_at=None)


# --- A bank is deleted while nothing refers to it -------------------------------------------------
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
