"""Who may do what in reader studies, and locking one for an act."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.models import User
from annotation.models.fields import AsRead
from annotation.models.people import TokenScope
from annotation.people.accounts import PartElsewhere
from annotation.people.tokens import TokenPlace
from annotation.refusals import Refused
from annotation.site.permissions import (
    Person,
    acts_as,
    is_administrator,
    is_coordinator,
    reaches,
    site_roles,
    within_reach,
)
from readerstudy.enums import OVER, StudyState
from readerstudy.models import Enrolment, ModelEntry, ReaderStudy, StudyRole
from readerstudy.study.kernels.states import may_become


def may_coordinate_study(person: Person, study: ReaderStudy) -> bool:
    """Coordinators of the site and of this study, unless they read in it."""
    if not isinstance(person, User) or not person.is_active or reads(person, study):
        return False
    if not acts_as(person, Role.COORDINATOR) or not reaches(person, bank=study.bank_id, study=study.pk):
        return False
    return is_coordinator(person) or StudyRole.objects.filter(user=person, study=study).exists()


def reads(person: Person, study: ReaderStudy) -> bool:
    return isinstance(person, User) and Enrolment.objects.filter(reader=person, study=study).exists()


def knows_study(person: Person, study: ReaderStudy) -> bool:
    """Whether the pages of its coordinators exist for this person; administrators look on."""
    if may_coordinate_study(person, study):
        return True
    if not isinstance(person, User) or not reaches(person, bank=study.bank_id, study=study.pk):
        return False
    return is_administrator(person) and not reads(person, study)


def may_enter_models(person: Person) -> bool:
    """Coordinators of the site or of a study, and model submitters."""
    if site_roles(person) & {Role.COORDINATOR, Role.MODEL_SUBMITTER}:
        return True
    return coordinates_a_study(person)


def coordinates_a_study(person: Person) -> bool:
    if not isinstance(person, User) or not person.is_active or not acts_as(person, Role.COORDINATOR):
        return False
    roles = StudyRole.objects.filter(user=person, study__deleted_at=None)
    return within_reach(person, roles, bank="study__bank", study="study").exists()


def may_change_model(person: Person, entry: ModelEntry) -> bool:
    """Coordinators of the site change every entry, others those that they entered themselves."""
    return is_coordinator(person) or (entry.submitter == person and may_enter_models(person))


def reads_under_way(person: User) -> bool:
    """Whether the person reads in a study that is not over: they see nothing of what others do."""
    rows = Enrolment.objects.filter(reader=person, withdrawn_at__isnull=True, replaced_at__isnull=True)
    return rows.exclude(study__state__in=OVER).exists()


def events_of_own_studies(person: User) -> Q:
    """Events about the studies that the person coordinates."""
    read = Enrolment.objects.filter(reader=person).values("study")
    studies = ReaderStudy.objects.exclude(pk__in=read)
    if not is_coordinator(person):
        studies = studies.filter(pk__in=StudyRole.objects.filter(user=person).values("study"))
    return Q(subject_type="readerstudy", subject_id__in=[str(pk) for pk in studies.values_list("pk", flat=True)])


def parts_in_studies(people: Collection[int]) -> Iterator[PartElsewhere]:
    """The studies that these people read or coordinate, without those that they left; two queries."""
    reading = Enrolment.objects.filter(reader__in=people, withdrawn_at__isnull=True, replaced_at__isnull=True)
    yield from _parts(_("reader"), reading, "reader")
    yield from _parts(_("coordinator of a study"), StudyRole.objects.filter(user__in=people), "user")


def token_places(person: User, pk: int | None) -> Iterator[TokenPlace]:
    """The studies in which the person holds a role, or the one of this id: for tokens that are good in one study.

    Whoever was ever enrolled in a study is nothing but its reader.
    """
    everywhere = site_roles(person) & {Role.COORDINATOR, Role.ADMINISTRATOR}
    enrolments = dict(
        Enrolment.objects.filter(reader=person).values_list("study", Exists(_reading.filter(pk=OuterRef("pk"))))
    )
    coordinated: set[int] = set()
    if Role.COORDINATOR not in everywhere:
        coordinated = set(StudyRole.objects.filter(user=person).values_list("study", flat=True))
    rows = ReaderStudy.objects.order_by(AsRead("name"))
    if pk is not None:
        rows = rows.filter(pk=pk)
    elif not everywhere:
        rows = rows.filter(pk__in=coordinated | {study for study, is_reading in enrolments.items() if is_reading})
    for study in rows:
        roles = everywhere | ({Role.COORDINATOR} if study.pk in coordinated else set())
        if study.pk in enrolments:
            roles = frozenset({Role.READER} if enrolments[study.pk] else set())
        yield TokenPlace(TokenScope.STUDY, study.pk, study.name, study.slug, roles)


_reading = Enrolment.objects.filter(withdrawn_at=None, replaced_at=None)


def _parts(label: str, rows: QuerySet[Enrolment] | QuerySet[StudyRole], who: str) -> Iterator[PartElsewhere]:
    kept = rows.filter(study__deleted_at__isnull=True).order_by("study__name", "study_id")
    for person, name, slug in kept.values_list(who, "study__name", "study__slug"):
        yield PartElsewhere(person, label, name, reverse("study", args=[slug]))


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
        sentence = _("“%(name)s” is frozen and cannot change: copy it instead.") % {"name": study.name}
        raise StudyRefused("frozen", sentence)


def check_not_archived(study: ReaderStudy) -> None:
    if study.archived_at is not None:
        raise StudyRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": study.name})


def check_transition(study: ReaderStudy, to: StudyState) -> None:
    if not may_become(study.state, to):
        sentence = _("The study is %(state)s; it cannot become %(to)s.")
        raise StudyRefused("wrong_state", sentence % {"state": study.get_state_display(), "to": _(to.label)})


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
