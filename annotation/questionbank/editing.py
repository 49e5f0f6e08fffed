"""Revisions that people write: each a new row with author and reason, never a change of an old one.

All of a bank belong to one row of BankImport, of the kind "edits", which is published from the beginning: so a revision
by hand is current and superseded by the same rules as an imported one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import (
    Difficulty,
    ImportKind,
    ImportState,
    KeySource,
    OptionLetter,
    QuestionState,
    Task,
    ViewPosition,
)
from annotation.files.kernels.strictjson import Fault
from annotation.models import AnswerKey, BankImport, Edit, Image, Question, QuestionBank, Revision, Settlement, User
from annotation.models.fields import composed
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.checking import check_revisions
from annotation.questionbank.importing import move_questions
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.rules import MIN_EXPLANATION
from annotation.questionbank.kernels.wording import (
    IMAGES,
    LABELS,
    Change,
    Piece,
    PieceKind,
    Wording,
    changes,
    check_wording,
)
from annotation.questionbank.priors import stored_wording

REASON_LIMIT = 5000


def wording_of(revision: Revision) -> Wording:
    """With its key and explanation: the caller has seen to it that the person may read them."""
    return stored_wording(revision, AnswerKey.objects.defer("extra").get(pk=revision.pk))


def current_revision(question: Question) -> Revision:
    """Raises Revision.DoesNotExist for a question of an import that is not published."""
    return Revision.objects.current().select_related("bank", "bank_import", "question").get(question=question)


def image_labels(images: Iterable[Image]) -> dict[str, str]:
    """How each image of an exam is called in a sentence, by public id; in the order of the exam."""
    views = {word.value: _(word.label) for word in ViewPosition if word != ViewPosition.UNKNOWN}
    named = {}
    for n, image in enumerate(images, start=1):
        facts = {"n": n, "view": views.get(image.view_position, "")}
        named[image.public_id] = (_("Image %(n)s (%(view)s)") if facts["view"] else _("Image %(n)s")) % facts
    return named


def labels_of_exam(exam_id: int) -> dict[str, str]:
    images = Image.objects.filter(exam=exam_id).only("public_id", "view_position")
    return image_labels(images.order_by("position", "pk"))


class Proposal(Struct, frozen=True):
    """What storing a wording would do, and what blocks it."""

    changes: list[Change]
    faults: list[Fault]


def propose(revision: Revision, wording: Wording) -> Proposal:
    before, images = wording_of(revision), labels_of_exam(revision.question.exam_id)
    faults = [*check_wording(wording, before, MIN_EXPLANATION), *_faults_of_images(wording, images)]
    return Proposal(differences(before, wording, images), faults)


def differences(before: Wording, after: Wording, images: Mapping[str, str]) -> list[Change]:
    """The fields in which two wordings differ, in the order of the editor. ``images``: see image_labels."""
    found = changes(before, after)
    if before.left_out == after.left_out:
        return found
    goes, comes = _("%(image)s no longer counts."), _("%(image)s counts again.")
    sentences = [
        (goes if public_id in after.left_out else comes) % {"image": label}
        for public_id, label in images.items()
        if public_id in before.left_out ^ after.left_out
    ]
    text = " ".join(sentences)
    return [Change(IMAGES, "", text, [Piece(PieceKind.SAME, text)]), *found]


def _faults_of_images(wording: Wording, images: Mapping[str, str]) -> Iterator[Fault]:
    if wording.left_out - images.keys():
        yield Fault(IMAGES, "unknown_image", _("The exam has no such image. Load the page again."))
    elif images and wording.left_out == images.keys():
        yield Fault(IMAGES, "no_image", _("At least one image must count."))


@transaction.atomic
def revise(
    question: Question,
    wording: Wording,
    reason: str,
    *,
    based_on: int,
    actor: User,
    at: datetime,
    settlement: Settlement | None = None,
    undoes: Revision | None = None,
) -> Revision:
    """Store a new wording as the current one. Reviews, samples and studies keep the one that they had.

    ``based_on``: the number of the revision that the editor showed. Refused (BankRefused): ``changed`` where another
    revision came meanwhile, with the labels of the ``fields`` in which it differs; ``unchanged``; without a reason;
    what the rules of import refuse, with the ``faults``; while an import into the bank runs; a withdrawn question.
    """
    reason = reason.replace("\x00", "").replace("\r\n", "\n").strip()
    if not reason or len(reason) > REASON_LIMIT:
        raise BankRefused("no_reason", _("Give a reason, of at most 5,000 characters."), status=422, field="reason")
    bank = QuestionBank.objects.select_for_update().get(pk=question.bank_id)
    _check_no_import(bank)
    current = current_revision(question)
    if current.number != based_on:
        raise _changed_meanwhile(question, current, based_on)
    proposal = propose(current, wording)
    if not proposal.changes:
        raise BankRefused("unchanged", _("Nothing differs from the current wording."), status=422)
    if undoes is None and proposal.faults:
        raise _refused_by_rules(proposal.faults)
    if Question.objects.get(pk=question.pk).state == QuestionState.WITHDRAWN:
        raise BankRefused("withdrawn", _("The question is withdrawn: bring it back first."))
    revision = _store(current, wording, at)
    Edit.objects.create(
        revision=revision, before=current, author=actor, reason=reason, settlement=settlement, undoes=undoes, made_at=at
    )
    move_questions([revision.pk], QuestionState.REVISED)
    one = Question.objects.filter(pk=question.pk)
    note_seen_keys(actor, one, source=KeySource.QUESTION_PAGE, subject=question, at=at)
    check_revisions(bank, Revision.objects.filter(pk=revision.pk), actor=actor, at=at)
    facts = {"revision": revision.number, "fields": [change.field for change in proposal.changes]}
    record("question.revised", actor=actor, at=at, subject=question, facts=facts)
    return revision


def undo(question: Question, *, based_on: int, actor: User, at: datetime) -> Revision:
    """A new revision with the wording from before the current one, which somebody wrote. Refused as revise is."""
    current = current_revision(question)
    edit = Edit.objects.filter(revision=current).select_related("before").first()
    if edit is None:
        raise BankRefused("imported", _("The current wording was imported: there is nothing to undo."))
    reason = _("Revision %(n)s is undone.") % {"n": current.number}
    wording = wording_of(edit.before)
    return revise(question, wording, reason, based_on=based_on, actor=actor, at=at, undoes=current)


class PastRevision(Struct, frozen=True):
    """One revision in the history of a question: who brought it and why, and what it changed in the one before."""

    revision: Revision
    edit: Edit | None  # None: imported
    changes: list[Change]


def history_of(revisions: Sequence[Revision]) -> list[PastRevision]:
    """Newest first, as the revisions are given; the caller has seen to it that the person may read the keys."""
    truths = AnswerKey.objects.defer("extra").in_bulk([one.pk for one in revisions])
    wordings = [stored_wording(one, truths[one.pk]) for one in revisions]
    leaves_out = next((one for one in revisions if one.images_left_out), None)
    images = labels_of_exam(leaves_out.question.exam_id) if leaves_out is not None else {}
    found = []
    for place, one in enumerate(revisions):
        before = wordings[place + 1] if place + 1 < len(wordings) else None
        differing = differences(before, wordings[place], images) if before is not None else []
        found.append(PastRevision(one, getattr(one, "edit", None), differing))
    return found


def _check_no_import(bank: QuestionBank) -> None:
    if bank.archived_at is not None:
        raise BankRefused("archived", _("The bank is archived: bring it back first."))
    if BankImport.objects.filter(bank=bank, state=ImportState.RUNNING).exists():
        raise BankRefused(
            "import_running", _("An import into this bank is running. Wait for its end, then store again.")
        )


def _store(current: Revision, wording: Wording, at: datetime) -> Revision:
    """The new current revision; ``content_sha256`` stays that of the import, so that the same file changes nothing."""
    edits = _edits_of(current.bank)
    BankImport.objects.filter(pk=edits.pk).update(heartbeat_at=at)
    truth = AnswerKey.objects.get(pk=current.pk)
    revision = Revision.objects.create(
        question_id=current.question_id,
        number=current.number + 1,
        bank=current.bank,
        bank_import=edits,
        stem=wording.stem,
        options=[composed(option) for option in wording.options],
        task=Task(wording.task),
        category=wording.category,
        subcategory=wording.subcategory,
        question_class=wording.question_class,
        difficulty=Difficulty(wording.difficulty),
        content_sha256=current.content_sha256,
        images_left_out=sorted(wording.left_out) or None,
    )
    AnswerKey.objects.create(
        revision=revision,
        key=OptionLetter(wording.key),
        explanation=wording.explanation,
        report_id=truth.report_id,
        extra=truth.extra,
    )
    Revision.objects.filter(pk=current.pk).update(superseded_by=edits)
    return revision


def _edits_of(bank: QuestionBank) -> BankImport:
    """The row that all edited revisions of a bank belong to. The caller holds the lock of the bank."""
    found, _is_new = BankImport.objects.get_or_create(
        bank=bank,
        kind=ImportKind.EDITS,
        defaults={
            "state": ImportState.PUBLISHED,
            "file_name": "",
            "started_at": bank.created_at,
            "heartbeat_at": bank.created_at,
            "finished_at": bank.created_at,
        },
    )
    return found


def _changed_meanwhile(question: Question, current: Revision, based_on: int) -> BankRefused:
    """The second of two editors sees which fields the first one changed."""
    shown = Revision.objects.filter(question=question, number=based_on).first()
    edit = Edit.objects.filter(revision=current).select_related("author").first()
    who = edit.author.name if edit else _("an import")
    labels: list[str] = []
    if shown is not None:
        differing = differences(wording_of(shown), wording_of(current), {})
        labels = [_(one.label) for one in differing]
    sentence = _("%(who)s has changed this question since you opened it: %(fields)s. Your text is kept below.")
    facts = {"who": who, "fields": ", ".join(labels) or _("its wording")}
    return BankRefused("changed", sentence % facts, labels=labels)


def _refused_by_rules(faults: Iterable[Fault]) -> BankRefused:
    listed = list(faults)
    sentence = " ".join(f"{_(LABELS.get(one.field, one.field))}: {one.message}" for one in listed)
    return BankRefused("rules", sentence, status=422, faults=listed)


def with_texts(wording: Wording, texts: dict[str, str]) -> Wording:
    """The wording with what an editor's fields hold; see Wording.texts."""
    options = tuple(
        texts.get(f"option_{letter.lower()}", old)
        for letter, old in zip(OptionLetter.values(), wording.options, strict=False)
    )
    others: dict[str, Any] = {name: text for name, text in texts.items() if not name.startswith("option_")}
    return replace(wording, options=options, **others)
