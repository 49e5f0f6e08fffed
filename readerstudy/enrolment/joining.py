"""Becoming a reader: a link is used once, and gives the lowest free order of its set of cases."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from annotation.people import links
from annotation.people.accounts import account_for
from readerstudy.enrolment.inviting import check_takes_readers, free_orders
from readerstudy.enrolment.reader_eligibility import noted_reasons
from readerstudy.models import DECLINED, CaseSet, Enrolment, ReaderStudy, StudyInvitation
from readerstudy.study.locking import StudyRefused, lock_study


@transaction.atomic
def join_as_new_person(
    invitation: StudyInvitation, *, email: str, name: str, password: str, time_zone: str, at: datetime
) -> Enrolment:
    """Make an account and enrol it. Raises PeopleRefused and StudyRefused; then there is no account either."""
    locked = _locked(invitation, at)
    return _use(locked, account_for(locked, email=email, name=name, password=password, time_zone=time_zone), at)


@transaction.atomic
def join_as(person: User, invitation: StudyInvitation, *, at: datetime) -> Enrolment:
    """Enrol an account that is there. Raises PeopleRefused and StudyRefused."""
    locked = _locked(invitation, at)
    links.check_is_for(person, locked)
    return _use(locked, person, at)


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
    """Give a reader the lowest free order of a set. Somebody who declined before comes back to the start.

    Raises StudyRefused for a study that takes nobody, for somebody who must not read, who is in it already, and when
    no order is left.
    """
    lock_study(study)
    check_takes_readers(study)
    check_may_join(reader, study, case_set)
    order = free_orders(case_set).select_for_update().first()
    if order is None:
        raise StudyRefused("full", _("All reader places of this study are taken. Tell the person who invited you."))
    enrolment = _returning(study, reader) or Enrolment(study=study, reader=reader, pseudonym=_pseudonym(study))
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


def check_may_use(person: User, invitation: StudyInvitation) -> None:
    """Raises PeopleRefused and StudyRefused where this account cannot use an open link."""
    links.check_is_for(person, invitation)
    check_takes_readers(invitation.study)
    check_may_join(person, invitation.study, invitation.case_set)


def _locked(invitation: StudyInvitation, at: datetime) -> StudyInvitation:
    """The row of an open link. The study is locked first, as by whoever invites, so that the two never wait for each
    other.
    """
    lock_study(invitation.study)
    rows = StudyInvitation.objects.select_related("study", "case_set", "created_by").filter(pk=invitation.pk)
    return links.lock_links(rows, at)[0]


def _use(invitation: StudyInvitation, person: User, at: datetime) -> Enrolment:
    invitation.used_at = at
    invitation.save(update_fields=["used_at"])
    return enrol_reader(invitation.study, person, invitation.case_set, actor=person, at=at, invitation=invitation)


def as_spoken(name: str) -> str:
    """What two spellings of one name share: letters in any case and Unicode form, blanks in any number."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _returning(study: ReaderStudy, reader: User) -> Enrolment | None:
    rows = Enrolment.objects.filter(study=study, reader=reader, replaced_at__isnull=True)
    return rows.filter(DECLINED).first()


def _pseudonym(study: ReaderStudy) -> str:
    """R1, R2, R3 in the order of joining; none that an imported reader has, in whatever letters it is written."""
    taken = {as_spoken(name) for name in study.enrolments.values_list("pseudonym", flat=True)}
    number = len(taken) + 1
    while f"r{number}" in taken:
        number += 1
    return f"R{number}"
