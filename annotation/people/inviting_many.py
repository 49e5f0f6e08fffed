"""Invitations for all rows of a file: tried for the preview, then issued; all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.enums import Role, RoundState
from annotation.models import ReviewRound, User
from annotation.people import inviting, mailing
from annotation.people.barring import RoleBarred
from annotation.people.invitation_file import EMAIL, ROLES, InvitedRow, RowFault
from annotation.people.inviting import Grant
from annotation.people.links import invitation_link
from annotation.people.rosters import has_account
from annotation.permissions import ROUND_ROLES, SITE_ROLES, may_invite_to_round

MOST_NAMED = 10  # rounds in a sentence


class RowRefused(Exception):
    """This row cannot be issued; the sentence says why and what to do."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column


@dataclass(frozen=True)
class IssuedLink:
    """The link of one row: what it gives, what is said of it in the preview, and how it is sent."""

    row: InvitedRow
    gives: tuple[str, ...]
    effects: tuple[str, ...]
    link: str
    until: datetime
    send: Callable[[], bool]


Issue = Callable[[InvitedRow], IssuedLink]  # raises RowRefused


@transaction.atomic
def issue_all(
    rows: Iterable[InvitedRow], issue: Issue, *, only_try: bool = False
) -> tuple[list[IssuedLink], list[RowFault]]:
    """The links of all rows, and why rows are refused. With one refused row, or ``only_try``, nothing is stored."""
    links, faults = [], []
    for row in rows:
        try:
            with transaction.atomic():
                links.append(issue(row))
        except RowRefused as refusal:
            faults.append(RowFault(row.number, refusal.column, str(refusal)))
    if only_try or faults:
        transaction.set_rollback(True)
    return links, faults


@dataclass(frozen=True)
class OfferedRoles:
    """What may stand in the column of roles: spellings, and what an empty cell means."""

    by_spelling: dict[str, Grant]
    names: list[str]
    empty: Grant | None = None
    rounds: str = ""  # the rounds that can be named, for the sentence about one that cannot

    def named(self, text: str) -> Grant:
        """Raises RowRefused."""
        found = self.by_spelling.get(_folded(text))
        if found is not None:
            return found
        if _folded(text).startswith("reader"):
            raise RowRefused(ROLES, _("Readers are invited on the page of their study: take “%s” out.") % text[:80])
        facts = {"text": text[:80], "names": ", ".join(self.names)}
        sentence = _("“%(text)s” is not a role that can be given here. Write: %(names)s.") % facts
        if self.rounds:
            sentence += " " + _("Rounds that take people: %(rounds)s.") % {"rounds": self.rounds}
        raise RowRefused(ROLES, sentence)


def offered_on_site() -> OfferedRoles:
    """The roles of the site, and those of every round that is not over."""
    rounds = ReviewRound.objects.filter(archived_at__isnull=True).exclude(state=RoundState.CLOSED).order_by("name")
    spellings = {_folded(word): Grant(role) for role in SITE_ROLES for word in (role.value, role.label, _(role.label))}
    for one in rounds:
        spellings |= _spellings_of(one, ROUND_ROLES)
    named = [one.name for one in rounds[:MOST_NAMED]]
    names = [_(role.label) for role in SITE_ROLES]
    if named:
        names += [_("%(role)s of round NAME") % {"role": _(role.label)} for role in ROUND_ROLES]
    return OfferedRoles(spellings, names, rounds=", ".join(f"“{name}”" for name in named))


def offered_in_round(person: User, review_round: ReviewRound) -> OfferedRoles:
    """The roles that this person may give in this round; an empty cell means a reviewer."""
    roles = tuple(role for role in ROUND_ROLES if may_invite_to_round(person, review_round, role))
    spellings = _spellings_of(review_round, roles)
    spellings |= {_folded(word): Grant(role, review_round) for role in roles for word in (role.value, _(role.label))}
    return OfferedRoles(spellings, [_(role.label) for role in roles], empty=Grant(Role.REVIEWER, review_round))


def issue_to(offered: OfferedRoles, *, actor: User, at: datetime) -> Issue:
    """How a row becomes a link, with one role or several."""

    def issue(row: InvitedRow) -> IssuedLink:
        grants = tuple(dict.fromkeys(offered.named(text) for text in row.roles))
        if not grants and offered.empty:
            grants = (offered.empty,)
        if not grants:
            raise RowRefused(ROLES, _("No role. Write: %(names)s.") % {"names": ", ".join(offered.names)})
        effects = _effects(row, grants, at)
        issued = _issued(row, grants, actor, at)
        return IssuedLink(
            row,
            tuple(grant.label for grant in grants),
            effects,
            invitation_link(issued.token),
            issued.invitation.expires_at,
            lambda: mailing.send_invitation(issued),
        )

    return issue


def common_effects(row: InvitedRow, *, is_replacing: bool) -> tuple[str, ...]:
    """What every link of a file does."""
    effects = []
    if row.email:
        effects.append(_("adds to the account that is there") if has_account(row.email) else _("makes an account"))
    if is_replacing:
        effects.append(_("replaces an open link"))
    is_sent = row.email and mailing.can_send()
    effects.append(_("is sent by e-mail") if is_sent else _("is to be handed over by you"))
    return tuple(effects)


def _effects(row: InvitedRow, grants: tuple[Grant, ...], at: datetime) -> tuple[str, ...]:
    waiting = inviting.open_invitations(at).filter(email=row.email) if row.email else []
    replaced = {(one.role, one.round_id) for one in waiting}
    given = {(grant.role.value, grant.round.pk if grant.round else None) for grant in grants}
    return common_effects(row, is_replacing=bool(replaced & given))


def _issued(row: InvitedRow, grants: tuple[Grant, ...], actor: User, at: datetime) -> inviting.IssuedInvitation:
    try:
        return inviting.invite(*grants, email=row.email, name=row.name, actor=actor, at=at)
    except inviting.HasRoleAlready as has:
        sentence = _("This person has already: %(roles)s. Take it out, or the whole row.") % {"roles": has}
        raise RowRefused(ROLES, sentence) from None
    except inviting.PersonIsDeactivated:
        sentence = _("This address belongs to a deactivated account. An administrator can reactivate it.")
        raise RowRefused(EMAIL, sentence) from None
    except inviting.RoundIsOver:
        raise RowRefused(ROLES, _("This round is closed: nobody joins it any more.")) from None
    except RoleBarred as barred:
        raise RowRefused(ROLES, f"{barred} {_('Take one of the roles out.')}") from None


def _spellings_of(review_round: ReviewRound, roles: Iterable[Role]) -> dict[str, Grant]:
    return {
        _folded(f"{word} {of} {place}"): Grant(role, review_round)
        for role in roles
        for word in (role.value, role.label, _(role.label))
        for of in ("of round", "in round", "of", "in")
        for place in (review_round.slug, review_round.name)
    }


def _folded(text: str) -> str:
    kept = "".join(letter for letter in text.replace("_", " ") if letter not in "“”\"'")
    return " ".join(kept.split()).casefold()
