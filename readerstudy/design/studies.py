"""The life of a reader study: opened, closed, put away. Its making: creating.py; its freezing: freezing.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import archiving
from annotation.audit.recording import record
from annotation.bin import BinRefused, note_purged
from annotation.models import QuestionBank, User
from readerstudy.analysis.queueing import ask_for_analysis
from readerstudy.design.transitions import may_become
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, Response


class StudyRefused(ValueError):
    """Something cannot be done with a study; the text says why and what to do. Nothing was stored."""


class StudyNotComplete(StudyRefused):
    """Readers have not finished, and not as many as the person who closes the study was told."""

    def __init__(self, n_open: int) -> None:
        super().__init__(
            ngettext(
                "%(n)s reader has not finished yet. Close the study without the rest?",
                "%(n)s readers have not finished yet. Close the study without the rest?",
                n_open,
            )
            % {"n": n_open}
        )
        self.n_open = n_open


def hold_study(study: ReaderStudy) -> None:
    """Bring the row up to date and lock it until the transaction ends. Raises StudyRefused once it is in the bin."""
    try:
        study.refresh_from_db(from_queryset=ReaderStudy.objects.select_for_update())
    except ReaderStudy.DoesNotExist:
        raise StudyRefused(_("“%(name)s” was deleted in the meantime.") % {"name": study.name}) from None


@contextmanager
def held(study: ReaderStudy) -> Iterator[None]:
    """One transaction in which nobody else changes the study: what is compared in it is what is replaced in it."""
    with transaction.atomic():
        hold_study(study)
        yield


def check_draft(study: ReaderStudy) -> None:
    """Raises StudyRefused once the study is frozen."""
    if study.state != StudyState.DRAFT:
        raise StudyRefused(_("“%(name)s” is frozen and cannot change: copy it instead.") % {"name": study.name})


def check_not_archived(study: ReaderStudy) -> None:
    if study.archived_at is not None:
        raise StudyRefused(_("“%(name)s” is archived: bring it back first.") % {"name": study.name})


def check_transition(study: ReaderStudy, to: StudyState) -> None:
    if not may_become(study.state, to):
        raise StudyRefused(
            _("The study is %(state)s; it cannot become %(to)s.")
            % {"state": study.get_state_display(), "to": _(to.label)}
        )


@transaction.atomic
def open_study(study: ReaderStudy, *, actor: User | None, at: datetime) -> None:
    """Readers read from now on. Opening an open study changes nothing.

    Raises StudyRefused for a draft, a closed and an archived study, and while an image is missing or is not the one
    that was frozen.
    """
    from readerstudy.design.checking import hindrances_of  # checking asks this module for its refusals

    hold_study(study)
    if study.state == StudyState.OPEN:
        return
    check_transition(study, StudyState.OPEN)
    check_not_archived(study)
    hindrances = hindrances_of(study)
    if hindrances:
        raise StudyRefused(" ".join(hindrances))
    study.state, study.opened_at = StudyState.OPEN, at
    study.save(update_fields=["state", "opened_at"])
    record("study.opened", actor=actor, at=at, subject=study)


@transaction.atomic
def close_study(study: ReaderStudy, *, actor: User | None, at: datetime, confirmed_open: int = 0) -> None:
    """Nothing is read from now on, and what was read is analysed in the background. Closing twice changes nothing.

    ``confirmed_open`` is the number of readers without an end that the person was shown and agreed to leave. Raises
    StudyNotComplete when another number is unfinished, StudyRefused for a draft.
    """
    from readerstudy.design.freezing import commitment_holds  # freezing asks this module for its refusals

    hold_study(study)
    if study.state in (StudyState.CLOSED, StudyState.ANALYSED):
        return
    check_transition(study, StudyState.CLOSED)
    n_open = unfinished(study).count()
    if n_open != confirmed_open:
        raise StudyNotComplete(n_open)
    study.state, study.closed_at = StudyState.CLOSED, at
    study.save(update_fields=["state", "closed_at"])
    facts: dict[str, object] = {"n_open": n_open}
    if study.protocol:
        facts["commitment_holds"] = commitment_holds(study)
    record("study.closed", actor=actor, at=at, subject=study, facts=facts)
    if Response.objects.filter(reading__enrolment__study=study, reading__case__block=Block.MAIN).exists():
        ask_for_analysis(study, actor=actor, at=at)


def use_of_bank(bank: QuestionBank) -> str:
    """Why the bank cannot be deleted; empty where no study has its questions."""
    kept = ReaderStudy.objects if bank.deleted_at is None else ReaderStudy.everywhere  # it waits for those in the bin
    if kept.filter(bank=bank).exists():
        return _("A reader study uses questions of this bank: archive the bank instead.")
    return ""


def unfinished(study: ReaderStudy) -> QuerySet[Enrolment]:
    """Readers with an account who are in the study and have not come to its end."""
    return Enrolment.objects.filter(
        study=study, reader__isnull=False, finished_at=None, withdrawn_at=None, replaced_at=None
    )


@transaction.atomic
def archive(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    """Out of the lists; everything stays readable. Raises StudyRefused while open."""
    hold_study(study)
    if study.state == StudyState.OPEN:
        raise StudyRefused(_("The study is open: close it before you archive it."))
    archiving.archive(study, actor=actor, at=at)


@transaction.atomic
def bring_back(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    hold_study(study)
    archiving.bring_back(study, actor=actor, at=at)


def hide_study(study: ReaderStudy) -> None:
    """Only a draft goes into the bin. Raises BinRefused once it is frozen, and while copies or readers belong to it."""
    if study.state != StudyState.DRAFT:
        raise BinRefused(_("The study is frozen and stays: archive it instead."))
    if study.copies.exists() or study.enrolments.exists():
        raise BinRefused(_("Copies or readers belong to this study: archive it instead."))


def show_study(study: ReaderStudy) -> None:
    """Raises BinRefused while its bank is in the bin."""
    if study.bank.deleted_at is not None:
        raise BinRefused(_("Restore its question bank “%(name)s” first.") % {"name": study.bank.name})


@transaction.atomic
def purge_study(study: ReaderStudy, at: datetime) -> bool:
    """With its cases, roles and invitations; not while a copy of it is in the bin."""
    if ReaderStudy.everywhere.filter(copy_of=study).exists():
        return False
    note_purged(study, at=at)
    study.invitations.all().delete()
    study.delete()
    return True


def consequences_of_study(study: ReaderStudy) -> list[str]:
    n = study.cases.count()
    said = ngettext("The choice of its %(n)s case", "The choice of its %(n)s cases", n) % {"n": n}
    return [
        _("%(choice)s, its rules and its plan are hidden. The question bank keeps its questions.") % {"choice": said}
    ]
