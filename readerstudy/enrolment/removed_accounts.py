"""An account is removed from the site: what a study has to do first, what it forgets, and what data it hands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Case, F, QuerySet, Value, When
from django.utils.translation import gettext as _

from annotation.models import User
from annotation.people.person_data import PersonFile
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, Remark, Response, StudyRole

OVER = (StudyState.CLOSED, StudyState.ANALYSED)


def readings_to_end(person: User) -> Iterator[str]:
    """Sentences about the studies in which the person still reads."""
    reading = Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None, declared_at=None)
    for name in reading.exclude(study__state__in=OVER).order_by("study__name").values_list("study__name", flat=True):
        yield _("This person reads in “%(name)s”: withdraw or replace them there first.") % {"name": name}


def forget_reader(person: User) -> None:
    """Roles in studies go; the enrolment has a pseudonym of its own, and stays."""
    StudyRole.objects.filter(user=person).delete()


def data_of_reader(person: User) -> Iterator[PersonFile]:
    """The own readings by place in the own order. Options only of studies that are over: before, they are compared with
    nothing, not even by their reader.
    """
    own = Enrolment.objects.filter(reader=person)
    yield _table("studies.csv", "studies that the person reads in", own, "study__slug", "pseudonym", "facts",
                 "display", "enrolled_at", "consented_at", "consent_version", "finished_at", "declared_at",
                 "withdrawn_at")  # fmt: skip
    is_over = When(reading__enrolment__study__state__in=OVER, then=F("option"))
    answers = Response.objects.filter(reading__enrolment__reader=person)
    shown = answers.annotate(answer=Case(is_over, default=Value("")))
    yield _table("answers.csv", "answers in studies; the answer itself once the study is over", shown,
                 "reading__enrolment__study__slug", "reading__position", "state", "answer", "active_ms",
                 "committed_at")  # fmt: skip
    remarks = Remark.objects.filter(reading__enrolment__reader=person)
    yield _table("remarks.csv", "remarks on cases", remarks, "reading__enrolment__study__slug", "reading__position",
                 "kind", "text", "at")  # fmt: skip


def _table(name: str, about: str, rows: QuerySet[Any], *columns: str) -> PersonFile:
    return PersonFile(name, about, columns, rows.order_by("pk").values(*columns).iterator())
