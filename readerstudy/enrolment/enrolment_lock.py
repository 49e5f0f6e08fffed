"""One reader at a time: the row is locked while an act changes it."""

from __future__ import annotations

from readerstudy.models import Enrolment


class HasLeft(Exception):
    """The reader declined, withdrew or was replaced."""


def hold(enrolment: Enrolment, *, also_left: bool = False) -> None:
    """Bring the row up to date and lock it until the transaction ends. Raises HasLeft unless ``also_left``."""
    study, reader = enrolment.study, enrolment.reader
    enrolment.refresh_from_db(from_queryset=Enrolment.objects.select_for_update())
    enrolment.study, enrolment.reader = study, reader
    if not also_left and (enrolment.withdrawn_at is not None or enrolment.replaced_at is not None):
        raise HasLeft
