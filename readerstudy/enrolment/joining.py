"""Becoming a reader: a link is used once, and gives a free order of its set of cases, drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.hashes import keyed_digest
from annotation.models import Invitation, User
from annotation.people.invitations import InvitationKind
from annotation.people.tokens import check_is_for
from readerstudy.design.kernels.ordering import group_size
from readerstudy.enrolment.inviting import check_takes_readers, free_orders, noted_reasons
from readerstudy.enrolment.participation import invitation_mail
from readerstudy.models import DECLINED, CaseSet, Enrolment, PresentationOrder, ReaderStudy, StudyInvitation
from readerstudy.study.permissions import StudyRefused, lock_study

Thing = TypeVar("Thing")


@transaction.atomic
def enrol_reader(
    study: ReaderStudy,
    reader: User,
    case_set: CaseSet,
    *,
    actor: User,
    at: datetime,
    invitation: StudyInvitation | None = None,
) -> Enrolment:
    """Give a reader a free order of a set, and a pseudonym. Somebody who declined before comes back to the start.

    Raises StudyRefused for a study that takes nobody, for somebody who must not read, who is in it already, and when
    no order is left.
    """
    lock_study(study)
    check_takes_readers(study)
    check_may_join(reader, study, case_set)
    free = list(free_orders(case_set).select_for_update())
    if not free:
        raise StudyRefused("full", _("All reader places of this study are taken. Tell the person who invited you."))
    order = _drawn("order", study, reader, _of_first_group(study, free))
    enrolment = _returning(study, reader) or Enrolment(study=study, reader=reader, pseudonym=_pseudonym(study, reader))
    enrolment.case_set = case_set
    enrolment.invitation = invitation
    enrolment.enrolled_at = at
    enrolment.withdrawn_at = None
    enrolment.save()
    order.enrolment = enrolment
    order.save(update_fields=["enrolment"])
    facts = {"study": study.slug, "set": case_set.number, "order": order.number, "pseudonym": enrolment.pseudonym}
    record("reader.enrolled", actor=actor, at=at, subject=enrolment, facts=facts)
    return enrolment


def check_may_join(reader: User, study: ReaderStudy, case_set: CaseSet) -> None:
    """Raises StudyRefused with the reason."""
    if Enrolment.objects.filter(study=study, reader=reader).exists() and _returning(study, reader) is None:
        raise StudyRefused("in_study", _("You have already joined this study."))
    against = noted_reasons(reader, study, case_set)
    if against:
        raise StudyRefused("may_not_read", " ".join(against))


def _check_may_accept(person: User, invitation: Invitation) -> None:
    """Raises PeopleRefused and StudyRefused."""
    place = invitation.to_study
    check_is_for(person, invitation)
    check_takes_readers(place.study)
    check_may_join(person, place.study, place.case_set)


def _give_place(invitation: Invitation, person: User, at: datetime) -> None:
    place = invitation.to_study
    enrol_reader(place.study, person, place.case_set, actor=person, at=at, invitation=place)


def _lock_study(invitation: Invitation) -> None:
    """Before the link, as by whoever invites, so that the two never wait for each other."""
    lock_study(invitation.to_study.study)


READERS = InvitationKind(
    "study-invitation", lambda invitations: invitation_mail(invitations[0]), _check_may_accept, _give_place, _lock_study
)


def as_spoken(name: str) -> str:
    """What two spellings of one name share: letters in any case and Unicode form, blanks in any number."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _returning(study: ReaderStudy, reader: User) -> Enrolment | None:
    rows = Enrolment.objects.filter(study=study, reader=reader, replaced_at__isnull=True)
    return rows.filter(DECLINED).first()


def _pseudonym(study: ReaderStudy, reader: User) -> str:
    """One of R1 to R3 where three are planned, drawn; of as many again once these are taken. None that an imported
    reader has, in whatever letters it is written.
    """
    taken = {as_spoken(name) for name in study.enrolments.values_list("pseudonym", flat=True)}
    most, free = 0, list[str]()
    while not free:
        most += max(1, study.n_readers)
        free = [f"R{number}" for number in range(1, most + 1) if f"r{number}" not in taken]
    return _drawn("place", study, reader, free)


def _of_first_group(study: ReaderStudy, free: Sequence[PresentationOrder]) -> list[PresentationOrder]:
    """As many orders as readers are planned make a group, which is balanced: no other begins before all have a reader.

    Whoever has answers and protocol knows which reader had which order, by its cases: so it must not follow joining.
    """
    size = group_size(study.n_readers, study.sets.count())
    group = (free[0].number - 1) // size
    return [one for one in free if (one.number - 1) // size == group]


def _drawn(what: str, study: ReaderStudy, reader: User, free: Sequence[Thing]) -> Thing:
    """By the key of the site, so that it does not tell who joined first."""
    drawn = keyed_digest(settings.PSEUDONYM_KEY.encode(), what, f"{study.pk} {reader.pk}")
    return free[int.from_bytes(drawn[:8]) % len(free)]
