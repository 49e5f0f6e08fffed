"""One-time links into a study. Whoever opens one becomes its reader; only the hash of a token is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import LinkState
from annotation.models import User
from annotation.people import links
from annotation.people.revived import Opener
from readerstudy.enrolment.reader_eligibility import reasons_against
from readerstudy.enums import StudyState
from readerstudy.models import DECLINED, CaseSet, Enrolment, PresentationOrder, ReaderStudy, StudyInvitation
from readerstudy.study.locking import StudyRefused, lock_study


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """An invitation with its token. The token exists nowhere else: shown once, it cannot be shown again."""

    invitation: StudyInvitation
    token: str


@transaction.atomic
def invite_reader(
    study: ReaderStudy, case_set: CaseSet, *, email: str, name: str, actor: User, at: datetime
) -> IssuedInvitation:
    """Issue a link. An open one for the same address is replaced.

    Raises StudyRefused for a study in which nobody can start any more, when all orders of the set are taken or
    promised, and for the address of somebody who reads already, cannot log in or must not read.
    """
    lock_study(study)
    check_takes_readers(study)
    email = email.strip().lower()
    if email:
        check_address(study, case_set, email)
        links.revoke_links(study.invitations.filter(email=email), actor=actor, at=at)
    n_promised = open_invitations(study, at).filter(case_set=case_set).count()
    check_order_left(case_set, free_orders(case_set).count(), n_promised)
    token = links.new_token()
    invitation = StudyInvitation.objects.create(
        study=study,
        case_set=case_set,
        token_sha256=links.token_sha256(token),
        email=email,
        name=name.strip(),
        created_by=actor,
        created_at=at,
        expires_at=links.last_day(at),
    )
    facts = {"study": study.slug, "set": case_set.number}
    record("reader.invited", actor=actor, at=at, subject=invitation, facts=facts)
    return IssuedInvitation(invitation, token)


@transaction.atomic
def remind_invited(invitation: StudyInvitation, *, actor: User, at: datetime) -> IssuedInvitation:
    """Give the same person a new link, since the old one cannot be shown again; the old one ends.

    Raises StudyRefused for a link that is used, revoked or too old, and for a study in which nobody can start any more.
    """
    lock_study(invitation.study)
    check_takes_readers(invitation.study)
    invitation.refresh_from_db(from_queryset=StudyInvitation.objects.select_for_update())
    if invitation.state(at) is not LinkState.OPEN:
        raise StudyRefused(
            "link_ended", _("This link was used, revoked or has expired: there is nobody to remind. Invite again.")
        )
    token = links.new_token()
    invitation.token_sha256 = links.token_sha256(token)
    invitation.reminded_at = at
    invitation.expires_at = links.last_day(at)
    invitation.save(update_fields=["token_sha256", "reminded_at", "expires_at"])
    record("study_invitation.renewed", actor=actor, at=at, subject=invitation)
    return IssuedInvitation(invitation, token)


@transaction.atomic
def revoke_invitation(invitation: StudyInvitation, *, actor: User, at: datetime) -> None:
    """Make a link useless. One that is used, revoked or expired stays as it is."""
    lock_study(invitation.study)
    links.revoke_links(invitation.study.invitations.filter(pk=invitation.pk), actor=actor, at=at)
    invitation.refresh_from_db()


INVITED = Opener(StudyInvitation.objects.filter(used_at=None), links.revoke_links)


@transaction.atomic
def restore_invitation(invitation: StudyInvitation, *, actor: User, at: datetime) -> bool:
    """Let a revoked link work again until its day; False where it is used, expired or not revoked."""
    lock_study(invitation.study)
    return links.restore_link(revoked_invitations(invitation.study, at), invitation.pk, actor=actor, at=at)


def open_invitations(study: ReaderStudy, at: datetime) -> QuerySet[StudyInvitation]:
    """Links that can still be used, newest first."""
    return links.open_links(study.invitations.select_related("case_set", "created_by"), at)


def revoked_invitations(study: ReaderStudy, at: datetime) -> QuerySet[StudyInvitation]:
    """Links that were revoked and would still work, newest first."""
    return links.revoked_links(study.invitations.select_related("case_set", "created_by"), at)


def find_invitation(token: str) -> StudyInvitation | None:
    """The invitation of a token, whatever its state; None for a token that was never given out."""
    return links.find_link(StudyInvitation.objects.select_related("study", "case_set", "created_by"), token)


def free_orders(case_set: CaseSet) -> QuerySet[PresentationOrder]:
    """Orders of a set that nobody has; the lowest number first."""
    return case_set.orders.filter(enrolment__isnull=True).order_by("number")


@dataclass(frozen=True)
class SetOrders:
    """How many orders of a set are drawn, and how many readers have one."""

    case_set: CaseSet
    n: int
    n_taken: int

    @property
    def n_free(self) -> int:
        return self.n - self.n_taken


def orders_of(study: ReaderStudy) -> list[SetOrders]:
    sets = study.sets.annotate(
        n=Count("orders", distinct=True),
        n_taken=Count("orders", filter=Q(orders__enrolment__isnull=False), distinct=True),
    )
    return [SetOrders(one, one.n, one.n_taken) for one in sets.order_by(F("number"))]


def takes_readers(study: ReaderStudy) -> bool:
    """Whether readers can still start: the study is frozen or open."""
    return study.state in {StudyState.FROZEN, StudyState.OPEN} and study.archived_at is None


def check_takes_readers(study: ReaderStudy) -> None:
    """Raises StudyRefused, which says why not."""
    if study.state == StudyState.DRAFT:
        raise StudyRefused(
            "draft", _("The study is a draft: freeze it before you invite readers, so that their orders are fixed.")
        )
    if not takes_readers(study):
        raise StudyRefused("closed", _("The study is closed: no more readers can join."))


def check_order_left(case_set: CaseSet, n_free: int, n_promised: int) -> None:
    """Raises StudyRefused where open invitations promise all orders that nobody has."""
    if n_free <= n_promised:
        raise StudyRefused(
            "full",
            _(
                "Every order of “%(set)s” is taken or promised by an open invitation. Revoke one that is not needed, "
                "or copy the study and freeze it with more readers."
            )
            % {"set": case_set.name},
        )


def check_address(study: ReaderStudy, case_set: CaseSet, email: str) -> None:
    """Raises StudyRefused for the address of somebody who reads already, cannot log in or must not read."""
    person = User.objects.filter(email=email).first()
    if person is None:
        return
    if not person.is_active:
        raise StudyRefused(
            "deactivated", _("This address belongs to a deactivated account. An administrator can reactivate it.")
        )
    if Enrolment.objects.filter(study=study, reader=person).exclude(DECLINED).exists():
        raise StudyRefused("in_study", _("%(name)s is in this study already.") % {"name": person.name})
    against = reasons_against(person, study, case_set)
    if against:
        raise StudyRefused("may_not_read", " ".join(against))
