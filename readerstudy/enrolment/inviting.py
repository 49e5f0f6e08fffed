"""Readers are asked in by links; and why somebody must not read in a study."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import LinkState, Role
from annotation.models import Invitation, Membership, ReviewRound, SampledQuestion, User
from annotation.people.invitation_file import ROLES, Check, CheckedRow, InvitedRow, effects_of
from annotation.people.invitations import Grant, IssuedInvitation, store_link
from annotation.people.tokens import last_day, new_token, open_links, revoke_links, token_sha256
from annotation.site.permissions import is_administrator, is_coordinator
from readerstudy.design.conflicts import may_not_read
from readerstudy.enums import OVER, StudyState
from readerstudy.models import DECLINED, CaseSet, Enrolment, PresentationOrder, ReaderStudy, StudyInvitation, StudyRole
from readerstudy.predictions.entries import banks_submitted_for
from readerstudy.study.permissions import StudyRefused, lock_study


def reasons_against(person: User, study: ReaderStudy, case_set: CaseSet) -> list[str]:
    """What a coordinator reads, with the numbers of questions; empty for somebody who may read these cases."""
    return [*_by_role(person, study), *may_not_read(person, study, case_set)]


def noted_reasons(person: User, study: ReaderStudy, case_set: CaseSet) -> list[str]:
    """What the person reads: the same, without telling which questions the study holds."""
    reasons = _by_role(person, study)
    if may_not_read(person, study, case_set):
        sentence = _(
            "You reviewed or imported questions of this study or its images, or review some now, and may know answers."
        )
        reasons.append(sentence)
    return reasons


def readers_look_nothing_up(person: User, role: Role, review_round: ReviewRound | None) -> str:
    """The rule for annotation.people.roles: whoever reads in a study gets no role that shows keys, tasks or
    categories of its questions before it is over."""
    if role not in (Role.COORDINATOR, Role.ADMINISTRATOR):
        return ""
    reads = Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None)
    reads = reads.exclude(study__state__in=OVER)
    if review_round is not None:
        sampled = SampledQuestion.objects.filter(plan=review_round.plan_id).values("revision__question")
        reads = reads.filter(study__cases__revision__question__in=sampled)
    enrolment = reads.select_related("study").first()
    if enrolment is None:
        return ""
    sentence = _(
        "%(name)s reads in the study “%(study)s”, and could look up its answers with this role. Give it when the study "
        "is closed."
    )
    return sentence % {"name": person.name, "study": enrolment.study.name}


def readers_with_keys_at_hand(study: ReaderStudy) -> list[User]:
    """Who reads in the study and could look up its answers: they got both before either was refused."""
    there = Enrolment.objects.filter(study=study, reader__isnull=False, withdrawn_at=None, replaced_at=None)
    roles = Membership.objects.filter(round=None, role__in=(Role.COORDINATOR, Role.ADMINISTRATOR))
    can_look = Q(pk__in=roles.values("user")) | _looks_up_questions(study)
    return list(User.objects.filter(can_look, pk__in=there.values("reader")))


def has_keys_at_hand(person: User, study: ReaderStudy) -> bool:
    """Whether this reader is one of them: no case opens for them until one of the two is given up."""
    if is_coordinator(person) or is_administrator(person):
        return True
    return User.objects.filter(_looks_up_questions(study), pk=person.pk).exists()


def _looks_up_questions(study: ReaderStudy) -> Q:
    """Of people: who coordinates it, or another study or a round that holds one of its questions."""
    others = ReaderStudy.objects.filter(cases__revision__question__in=study.cases.values("revision__question"))
    roles = StudyRole.objects.filter(Q(study=study) | Q(study__in=others.values("pk")))
    return Q(pk__in=roles.values("user")) | Q(pk__in=_coordinators_of_rounds(study).values("user"))


def _coordinators_of_rounds(study: ReaderStudy) -> QuerySet[Membership]:
    questions = study.cases.values("revision__question")
    return Membership.objects.filter(
        role=Role.COORDINATOR, round__plan__questions__revision__question__in=questions
    ).order_by()


@transaction.atomic
def name_coordinator(study: ReaderStudy, *, email: str, actor: User, at: datetime) -> None:
    """Let a person with an account coordinate this one study. Twice changes nothing.

    Raises StudyRefused for an address without an account, for one that is deactivated, and for somebody who reads here
    or, in a study that is not over, one of its questions.
    """
    lock_study(study)
    person = User.objects.select_for_update().filter(email=email.strip().lower(), removed_at=None).first()
    if person is None or not person.is_active:
        sentence = _("Nobody with this address can log in: invite them to the site first.")
        raise StudyRefused("no_account", sentence, status=422, field="email")
    reads = Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None).exclude(study__state__in=OVER)
    reads = reads.filter(study__cases__revision__question__in=study.cases.values("revision__question"))
    if reads.exists() or Enrolment.objects.filter(reader=person, study=study).exists():
        sentence = _("%(name)s reads these cases, and could look up their answers with this role.")
        raise StudyRefused("reads", sentence % {"name": person.name})
    named = {"granted_by": actor, "granted_at": at}
    if StudyRole.objects.get_or_create(study=study, user=person, defaults=named)[1]:
        record("study.coordinator_named", actor=actor, at=at, subject=study, facts={"person": person.pk})


@transaction.atomic
def dismiss_coordinator(study: ReaderStudy, *, email: str, actor: User, at: datetime) -> None:
    """Twice changes nothing. Raises StudyRefused for oneself, who could not come back."""
    lock_study(study)
    role = StudyRole.objects.filter(study=study, user__email=email.strip().lower()).first()
    if role is None:
        return
    if role.user_id == actor.pk and not is_coordinator(actor):
        raise StudyRefused("oneself", _("Another coordinator can remove you: you would not find this study again."))
    role.delete()
    record("study.coordinator_removed", actor=actor, at=at, subject=study, facts={"person": role.user_id})


def _by_role(person: User, study: ReaderStudy) -> list[str]:
    """Whoever made the study, and whoever can look up its keys or see how its reviewers judged them."""
    reasons = []
    if study.created_by_id == person.pk:
        reasons.append(_("%(name)s designed this study.") % {"name": person.name})
    if is_coordinator(person) or StudyRole.objects.filter(study=study, user=person).exists():
        reasons.append(_("%(name)s coordinates, and so can look up the answers.") % {"name": person.name})
    if is_administrator(person):
        reasons.append(_("%(name)s administers the site, and so can look up categories.") % {"name": person.name})
    if study.bank_id in banks_submitted_for(person):
        reasons.append(
            _("%(name)s submits predictions of models for the questions of this study.") % {"name": person.name}
        )
    if _coordinators_of_rounds(study).filter(user=person).exists():
        reasons.append(_("%(name)s coordinates a review round of questions of this study.") % {"name": person.name})
    return reasons


KIND = "study"  # of invitations that give a place in a study


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
        revoke_links(Invitation.objects.filter(to_study__study=study, email=email), actor=actor, at=at)
    n_promised = open_invitations(study, at).filter(to_study__case_set=case_set).count()
    check_order_left(case_set, free_orders(case_set).count(), n_promised)
    issued = store_link([Grant(Role.READER)], email=email, name=name, actor=actor, at=at, kind=KIND)
    StudyInvitation.objects.create(invitation=issued.invitation, study=study, case_set=case_set)
    facts = {"study": study.slug, "set": case_set.number}
    record("reader.invited", actor=actor, at=at, subject=issued.invitation, facts=facts)
    return issued


@transaction.atomic
def remind_invited(invitation: Invitation, *, actor: User, at: datetime) -> IssuedInvitation:
    """Give the same person a new link, since the old one cannot be shown again; the old one ends.

    Raises StudyRefused for a link that is used, revoked or too old, and for a study in which nobody can start any more.
    """
    study = invitation.to_study.study
    lock_study(study)
    check_takes_readers(study)
    invitation.refresh_from_db(from_queryset=Invitation.objects.select_for_update())
    if invitation.state(at) is not LinkState.OPEN:
        sentence = _("This link was used, revoked or has expired: there is nobody to remind. Invite again.")
        raise StudyRefused("link_ended", sentence)
    token = new_token()
    invitation.token_sha256 = token_sha256(token)
    invitation.reminded_at = at
    invitation.expires_at = last_day(at)
    invitation.save(update_fields=["token_sha256", "reminded_at", "expires_at"])
    record("study_invitation.renewed", actor=actor, at=at, subject=invitation)
    return IssuedInvitation((invitation,), token)


def invitations_of(study: ReaderStudy) -> QuerySet[Invitation]:
    """All that were given out, newest first."""
    rows = Invitation.objects.filter(kind=KIND, to_study__study=study)
    return rows.select_related("to_study__case_set", "to_study__study", "created_by")


def open_invitations(study: ReaderStudy, at: datetime) -> QuerySet[Invitation]:
    """Links that can still be used, newest first."""
    return open_links(invitations_of(study), at)


def free_orders(case_set: CaseSet) -> QuerySet[PresentationOrder]:
    """Orders of a set that nobody has; the lowest number first."""
    return case_set.orders.filter(enrolment__isnull=True).order_by("number")


class SetOrders(Struct, frozen=True):
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
        sentence = _("The study is a draft: freeze it before you invite readers, so that their orders are fixed.")
        raise StudyRefused("draft", sentence)
    if not takes_readers(study):
        raise StudyRefused("closed", _("The study is closed: no more readers can join."))


def check_order_left(case_set: CaseSet, n_free: int, n_promised: int) -> None:
    """Raises StudyRefused where open invitations promise all orders that nobody has."""
    if n_free <= n_promised:
        sentence = _(
            "Every order of “%(set)s” is taken or promised by an open invitation. Revoke one that is not needed, "
            "or copy the study and freeze it with more readers."
        )
        raise StudyRefused("full", sentence % {"set": case_set.name})


def check_address(study: ReaderStudy, case_set: CaseSet, email: str) -> None:
    """Raises StudyRefused for the address of somebody who reads already, cannot log in or must not read."""
    person = User.objects.filter(email=email).first()
    if person is None:
        return
    if not person.is_active:
        sentence = _("This address belongs to a deactivated account. An administrator can reactivate it.")
        raise StudyRefused("deactivated", sentence)
    if Enrolment.objects.filter(study=study, reader=person).exclude(DECLINED).exists():
        raise StudyRefused("in_study", _("%(name)s is in this study already.") % {"name": person.name})
    against = reasons_against(person, study, case_set)
    if against:
        raise StudyRefused("may_not_read", " ".join(against))


# --- many from one file ---------------------------------------------------------------------------
def check_for_readers(study: ReaderStudy, *, actor: User, at: datetime) -> Check:
    """How a row becomes the link of a reader. Raises StudyRefused for a study that takes nobody.

    The orders that the rows before take, and those that replaced links give back, are counted here: nothing is stored.
    """
    check_takes_readers(study)
    sets = list(study.sets.order_by("number"))
    n_free = {one.pk: free_orders(one).count() for one in sets}
    promised = list(open_invitations(study, at).values_list("email", "to_study__case_set_id"))

    def check(row: InvitedRow) -> CheckedRow:
        case_set = _set_named(row, sets)
        others = [(email, of_set) for email, of_set in promised if not row.email or email != row.email]
        effects = effects_of(row, is_replacing=len(others) < len(promised))
        if row.email:
            check_address(study, case_set, row.email)
        check_order_left(case_set, n_free[case_set.pk], sum(of_set == case_set.pk for _email, of_set in others))
        promised[:] = [*others, (row.email, case_set.pk)]
        gives = _("reader") if len(sets) == 1 else _("reader of “%(set)s”") % {"set": case_set.name}

        def issue() -> IssuedInvitation:
            return invite_reader(study, case_set, email=row.email, name=row.name, actor=actor, at=at)

        return CheckedRow(row, (gives,), effects, issue)

    return check


def roles_meaning(study: ReaderStudy) -> str:
    """What the column of roles may hold."""
    sets = list(study.sets.order_by("number"))
    if len(sets) == 1:
        return _("“reader”, or empty.")
    names = ", ".join(f"reader of {one.name}" for one in sets)
    return _("Which cases the person reads: %(names)s.") % {"names": names}


def _set_named(row: InvitedRow, sets: list[CaseSet]) -> CaseSet:
    """Raises StudyRefused; a person reads one set."""
    by_spelling = {f"reader {of} {one.name}".casefold(): one for one in sets for of in ("of", "of set", "in")}
    by_spelling |= {one.name.casefold(): one for one in sets}
    if len(sets) == 1:
        by_spelling |= {"reader": sets[0], "": sets[0]}
    if len(row.roles) > 1:
        sentence = _("Nobody is a reader and something else in one study, or reads two sets: keep one role.")
        raise StudyRefused("row_refused", sentence, status=422, field=ROLES)
    text = row.roles[0] if row.roles else ""
    found = by_spelling.get("".join(letter for letter in text if letter not in "“”\"'").casefold())
    if found is not None:
        return found
    names = ", ".join(["reader"] if len(sets) == 1 else [f"reader of {one.name}" for one in sets])
    sentence = _(
        "“%(text)s” is not given here, where readers are invited. Write: %(names)s. Other roles need a link of their "
        "own, from the page of the round or the people of the site."
    )
    raise StudyRefused("row_refused", sentence % {"text": text[:80], "names": names}, status=422, field=ROLES)
