"""Locking a reader study, or one of its readers, for an act; and what refuses an act."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.refusals import Refused
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.study.kernels.states import may_become


class StudyRefused(Refused):
    """Something cannot be done with a study or one of its readers; the sentence says why and what to do."""


def lock_study(study: ReaderStudy) -> None:
    """Bring the row up to date and lock it until the transaction ends. Refused once it is in the bin."""
    try:
        study.refresh_from_db(from_queryset=ReaderStudy.objects.select_for_update())
    except ReaderStudy.DoesNotExist:
        raise StudyRefused("deleted", _("“%(name)s” was deleted in the meantime.") % {"name": study.name}) from None


@contextmanager
def locked_study(study: ReaderStudy) -> Iterator[None]:
    """One transaction in which nobody else changes the study: what is compared in it is what is replaced in it."""
    with transaction.atomic():
        lock_study(study)
        yield


def check_draft(study: ReaderStudy) -> None:
    """Refused once the study is frozen."""
    if study.state != StudyState.DRAFT:
        raise StudyRefused(
            "frozen", _("“%(name)s” is frozen and cannot change: copy it instead.") % {"name": study.name}
        )


def check_not_archived(study: ReaderStudy) -> None:
    if study.archived_at is not None:
        raise StudyRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": study.name})


def check_transition(study: ReaderStudy, to: StudyState) -> None:
    if not may_become(study.state, to):
        raise StudyRefused(
            "wrong_state",
            _("The study is %(state)s; it cannot become %(to)s.")
            % {"state": study.get_state_display(), "to": _(to.label)},
        )


HAS_LEFT = "has_left"


def lock_reader(enrolment: Enrolment, *, also_left: bool = False) -> None:
    """Bring the row up to date and lock it until the transaction ends.

    Refused to who declined, withdrew or was replaced, unless ``also_left``.
    """
    study, reader = enrolment.study, enrolment.reader
    enrolment.refresh_from_db(from_queryset=Enrolment.objects.select_for_update())
    enrolment.study, enrolment.reader = study, reader
    if not also_left and (enrolment.withdrawn_at is not None or enrolment.replaced_at is not None):
        raise StudyRefused(HAS_LEFT, _("You have left the study."))
