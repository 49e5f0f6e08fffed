"""A reader study leaves the lists: archived, or a draft that is deleted."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.bin import archiving
from annotation.bin.deleting import BinRefused, note_purged
from annotation.models import QuestionBank, User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.locking import StudyRefused, lock_study


@transaction.atomic
def archive(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    """Out of the lists; everything stays readable. Raises StudyRefused while open."""
    lock_study(study)
    if study.state == StudyState.OPEN:
        raise StudyRefused("open", _("The study is open: close it before you archive it."))
    archiving.archive(study, actor=actor, at=at)


@transaction.atomic
def bring_back(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    lock_study(study)
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
    choice = ngettext("The choice of its %(n)s case", "The choice of its %(n)s cases", n) % {"n": n}
    return [
        _("%(choice)s, its rules and its plan are hidden. The question bank keeps its questions.") % {"choice": choice}
    ]


def use_of_bank(bank: QuestionBank) -> str:
    """Why the bank cannot be deleted; empty where no study has its questions."""
    kept = ReaderStudy.objects if bank.deleted_at is None else ReaderStudy.everywhere  # it waits for those in the bin
    if kept.filter(bank=bank).exists():
        return _("A reader study uses questions of this bank: archive the bank instead.")
    return ""
