"""Who reads or coordinates which study: for the pages about people."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.people.rosters import StudyPart
from readerstudy.models import Enrolment, StudyRole


def parts_in_studies(people: Collection[int]) -> Iterator[StudyPart]:
    """The studies that these people read or coordinate, without those that they left; two queries."""
    reading = Enrolment.objects.filter(reader__in=people, withdrawn_at__isnull=True, replaced_at__isnull=True)
    yield from _parts(_("reader"), reading, "reader")
    yield from _parts(_("coordinator of a study"), StudyRole.objects.filter(user__in=people), "user")


def _parts(label: str, rows: QuerySet[Enrolment] | QuerySet[StudyRole], who: str) -> Iterator[StudyPart]:
    kept = rows.filter(study__deleted_at__isnull=True).order_by("study__name", "study_id")
    for person, name, slug in kept.values_list(who, "study__name", "study__slug"):
        yield StudyPart(person, label, name, reverse("study", args=[slug]))
