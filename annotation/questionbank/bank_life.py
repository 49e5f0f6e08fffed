"""A bank: made, the terms under which it was given, deleted while nothing refers to it; imports that failed; and
which of its questions a model wrote.

What a failed or killed import left behind is removed in chunks, safe to run twice and at any time. Only rows of an
import that was never published are touched. Which rows those are follows from the import itself (its revisions, its
exams) and from the ids that were the last ones when it began: only one import at a time runs in a bank, so later
identifiers of the kinds that imports write, and later pending images, are its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db import models, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.deleting import note_purged
from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import IdentifierKind, ImageState, ImportKind, ImportState, JobQueue
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue
from annotation.models import (
    AnswerKey,
    Assignment,
    BankImport,
    ClassScore,
    Edit,
    Exam,
    Finding,
    Image,
    Job,
    PairTrial,
    Question,
    QuestionBank,
    QuestionComment,
    QuestionTag,
    QuestionVector,
    Release,
    Report,
    Revision,
    SamplingPlan,
    SeenKey,
    SendingPermission,
    SourceIdentifier,
    Upload,
    User,
)
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.rules import PUBLIC_TWIN
from annotation.site.internals import delete_rows
from annotation.site.sentences import free_slug
from annotation.site.sorted_tables import OneAtATime, lock

STALE_AFTER = timedelta(seconds=60)
CHUNK = 500
_OF_FILES = (IdentifierKind.SOP_UID, IdentifierKind.STATED_VIEW)  # ingest brings them
_IMPORTED_KINDS = [kind.value for kind in IdentifierKind if kind not in _OF_FILES]


def sweep_imports(at: datetime) -> int:
    """Sweep imports that failed or were running, and stopped beating; the number of imports swept."""
    return _sweep_each(Q(state__in=(ImportState.FAILED, ImportState.RUNNING), heartbeat_at__lt=at - STALE_AFTER))


def sweep_runs_of(job: Job) -> None:
    """Sweep what an earlier, killed run of this job began."""
    _sweep_each(Q(job=job, state=ImportState.RUNNING))


def _sweep_each(lost: Q) -> int:
    """Each by one sweep at a time, which beats, and holds the row in each of its chunks, however long one takes."""
    n_swept = 0
    for bank_import in BankImport.objects.filter(lost):
        one = BankImport.objects.filter(lost, pk=bank_import.pk)
        with transaction.atomic():
            is_free = one.select_for_update(of=("self",), skip_locked=True).first() is not None
            is_taken = is_free and one.update(state=ImportState.FAILED, heartbeat_at=timezone.now())
        if is_taken:
            sweep_import(bank_import)
            n_swept += 1
    return n_swept


def sweep_import(bank_import: BankImport) -> None:
    """Take back everything that an unpublished import wrote, the import itself and a bank made only for it."""
    unpublished = BankImport.objects.filter(pk=bank_import.pk).exclude(state=ImportState.PUBLISHED)
    if not unpublished.update(state=ImportState.FAILED, heartbeat_at=timezone.now()):
        return
    last_ids = (unpublished.values_list("result", flat=True).first() or {}).get("last_ids_before", {})
    for page in _pages(Revision.objects.filter(superseded_by=bank_import.pk), "pk"):
        with _chunk(bank_import):
            Revision.objects.filter(pk__in=[pk for (pk,) in page]).update(superseded_by=None)
    _sweep_identifiers(bank_import, last_ids.get("identifier", 0))
    _sweep_questions(bank_import)
    pending = Image.objects.filter(state=ImageState.PENDING, exam__bank=bank_import.bank_id)
    for page in _pages(pending.filter(pk__gt=last_ids.get("image", 0)), "pk"):
        with _chunk(bank_import):
            _delete_rows(Image, pk__in=[pk for (pk,) in page])
    _sweep_exams(bank_import)
    _sweep_import_row(bank_import)


def _pages(rows: models.QuerySet[Any], *columns: str) -> Iterator[list[tuple[Any, ...]]]:
    """The first CHUNK rows, until there are none: who takes a page sees to it that its rows match no longer."""
    while page := list(rows.values_list(*columns)[:CHUNK]):
        yield page


@contextmanager
def _chunk(bank_import: BankImport) -> Iterator[None]:
    with transaction.atomic():
        BankImport.objects.filter(pk=bank_import.pk).update(heartbeat_at=timezone.now())
        yield


def _delete_rows(model: type[models.Model], **which: Collection[int]) -> None:
    delete_rows(model._default_manager.filter(**which))


def _sweep_identifiers(bank_import: BankImport, last: int) -> None:
    """Names that the import wrote; those of images that came in meanwhile belong to the ingest and stay."""
    rows = SourceIdentifier.objects.filter(bank=bank_import.bank_id, kind__in=_IMPORTED_KINDS).order_by("pk")
    while page := dict(rows.filter(pk__gt=last).values_list("pk", "image_id")[:CHUNK]):
        last = max(page)
        arrived = Image.objects.filter(pk__in=filter(None, page.values())).exclude(state=ImageState.PENDING)
        kept = set(arrived.values_list("pk", flat=True))
        with _chunk(bank_import):
            _delete_rows(SourceIdentifier, pk__in=[pk for pk, image_id in page.items() if image_id not in kept])


def _sweep_questions(bank_import: BankImport) -> None:
    for page in _pages(Revision.objects.filter(bank_import=bank_import.pk), "pk", "question_id", "number"):
        revisions = [pk for pk, _question, _number in page]
        first_of = [question for _pk, question, number in page if number == 1]
        with _chunk(bank_import):
            _delete_rows(Finding, revision__in=revisions)
            _delete_rows(Finding, other__in=revisions)
            _delete_rows(QuestionVector, revision__in=revisions)
            _delete_rows(ClassScore, revision__in=revisions)
            _delete_rows(AnswerKey, pk__in=revisions)
            _delete_rows(Revision, pk__in=revisions)
            _delete_rows(SeenKey, question__in=first_of)
            _delete_rows(QuestionTag, question__in=first_of)
            _delete_rows(Question, pk__in=first_of)


def _sweep_exams(bank_import: BankImport) -> None:
    """Exams of the import; one that got images meanwhile stays, without a bank, as if it had come in alone."""
    for page in _pages(Exam.objects.filter(bank_import=bank_import.pk), "pk"):
        ids = {pk for (pk,) in page}
        with _chunk(bank_import):
            _delete_rows(Report, exam__in=ids)
            kept = set(Image.objects.filter(exam__in=ids).values_list("exam_id", flat=True))
            Exam.objects.filter(prior__in=ids).update(prior=None)
            Exam.objects.filter(pk__in=kept).update(bank=None, bank_import=None, prior=None)
            _delete_rows(Exam, pk__in=ids - kept)


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

    Raises BankRefused (``archived``, ``too_long``, ``secret``).
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
            if wanted[2]:
                _check_may_be_public(locked)
            _forget_twins(locked)
        locked.terms, locked.holds_quarters, locked.is_public = wanted
        locked.save(update_fields=["terms", "holds_quarters", "is_public"])
        record("bank.terms_changed", actor=actor, at=at, subject=locked, facts=facts)
    return True


def _check_may_be_public(bank: QuestionBank) -> None:
    for why in contributed().bank_secrets:
        if sentence := why(bank):
            raise BankRefused("secret", sentence, field="is_public")


def _forget_twins(bank: QuestionBank) -> None:
    named = Finding.objects.filter(rule=PUBLIC_TWIN, dismissed_at=None)
    named.filter(Q(bank=bank) | Q(other__question__bank=bank)).delete()
    QuestionBank.objects.filter(Q(pk=bank.pk) | Q(is_public=False)).update(twins_sought_at=None)


# --- A bank is deleted while nothing refers to it -------------------------------------------------
class DeletionParams(TypedDict):
    bank: int


DELETION: JobKind[DeletionParams] = JobKind("delete_bank", JobQueue.IMPORTS)


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
    if Release.objects.filter(bank=bank).exists():
        raise BankRefused("in_use", _("A benchmark was released from this bank: archive the bank instead."))
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
        BankImport.objects.filter(pk=bank_import.pk).update(state=ImportState.FAILED, result={}, heartbeat_at=at)
        sweep_import(bank_import)
    with transaction.atomic():
        Upload.everywhere.filter(bank=bank).update(bank=None)
        note_purged(bank, at=at)
        QuestionBank.everywhere.filter(pk=bank.pk).delete()


def generated_in(bank: QuestionBank) -> QuerySet[Question]:
    """Questions of the bank that came in as generated, whatever was made of them since."""
    brought = Revision.objects.filter(bank=bank, bank_import__kind=ImportKind.GENERATED)
    return Question.objects.filter(pk__in=brought.order_by().values("question")).order_by()


def holds_generated(bank: QuestionBank) -> bool:
    return BankImport.objects.filter(bank=bank, kind=ImportKind.GENERATED).exists()
