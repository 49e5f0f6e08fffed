"""Becoming a reader: a link is used once, and gives the lowest free order of its set of cases."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from annotation.people.accepting import InvitationClosed, OtherPersonInvited
from annotation.people.inviting import LinkState
from annotation.people.joining import new_account
from readerstudy.enrolment.inviting import check_takes_readers, free_orders, standing
from readerstudy.enrolment.reader_eligibility import noted_reasons
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyInvitation
from readerstudy.study.locking import StudyRefused, lock_study


@transaction.atomic
def join_as_new_person(
    invitation: StudyInvitation, *, email: str, name: str, password: str, time_zone: str, at: datetime
) -> Enrolment:
    """Make an account and enrol it.

    Raises InvitationClosed, OtherPersonInvited, AddressTaken, and what enrol_reader raises; then there is no account
    either.
    """
    held = _held_open(invitation, at)
    email = email.strip().lower()
    if held.email and held.email != email:
        raise OtherPersonInvited
    person = new_account(email, password, name=name, time_zone=time_zone)
    return _use(held, person, at)


@transaction.atomic
def join_as(person: User, invitation: StudyInvitation, *, at: datetime) -> Enrolment:
    """Enrol an account that is there. Raises InvitationClosed, OtherPersonInvited, and what enrol_reader raises."""
    held = _held_open(invitation, at)
    if held.email and held.email != person.email:
        raise OtherPersonInvited
    return _use(held, person, at)


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


def refusal_for(person: User, invitation: StudyInvitation) -> str:
    """Why this account cannot use an open link, as a sentence; empty when it can."""
    if invitation.email and invitation.email != person.email:
        return _(
            "This invitation is for another address than %(email)s, with which you are logged in. Log out, and open "
            "the link again."
        ) % {"email": person.email}
    try:
        check_takes_readers(invitation.study)
        check_may_join(person, invitation.study, invitation.case_set)
    except StudyRefused as refusal:
        return str(refusal)
    return ""


def _held_open(invitation: StudyInvitation, at: datetime) -> StudyInvitation:
    """The row, locked until the transaction ends: a link is used once even when it is opened twice at a time.

    The study is locked first, as by whoever invites, so that the two never wait for each other.
    """
    lock_study(invitation.study)
    rows = StudyInvitation.objects.select_for_update(of=("self",)).select_related("study", "case_set", "created_by")
    held = rows.get(pk=invitation.pk)
    why = standing(held, at)
    if why is not LinkState.OPEN:
        raise InvitationClosed(why)
    return held


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
    return rows.filter(withdrawn_at__isnull=False, consented_at__isnull=True).first()


def _pseudonym(study: ReaderStudy) -> str:
    """R1, R2, R3 in the order of joining; none that an imported reader has, in whatever letters it is written."""
    taken = {as_spoken(name) for name in study.enrolments.values_list("pseudonym", flat=True)}
    number = len(taken) + 1
    while f"r{number}" in taken:
        number += 1
    return f"R{number}"
