"""Invitations for all rows of a file: checked row by row for the preview, then issued; all of them or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.enums import Role, RoundState
from annotation.models import ReviewRound, User
from annotation.people import inviting, mailing
from annotation.people.invitation_file import EMAIL, ROLES, InvitedRow, RowFault
from annotation.people.inviting import Agreed, Grant
from annotation.people.links import invitation_link
from annotation.people.role_conflicts import RoleConflict
from annotation.people.rosters import has_account
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES, roles_given_in

MOST_NAMED = 10  # rounds in a sentence


class RowRefused(Exception):
    """This row cannot be issued; the sentence says why and what to do."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column


@dataclass(frozen=True)
class IssuedLink:
    """The link of one row, and how it is sent."""

    row: InvitedRow
    gives: tuple[str, ...]
    link: str
    until: datetime
    send: Callable[[], bool]


@dataclass(frozen=True)
class CheckedRow:
    """What one row will give and do, as the preview says it, and how its link is made."""

    row: InvitedRow
    gives: tuple[str, ...]
    effects: tuple[str, ...]
    issue: Callable[[], IssuedLink]  # raises RowRefused


Check = Callable[[InvitedRow], CheckedRow]  # stores nothing; raises RowRefused


def check_all(rows: Iterable[InvitedRow], check: Check) -> tuple[list[CheckedRow], list[RowFault]]:
    """What the rows will do, and why some are refused. Nothing is stored or locked from one row to the next."""
    checked, faults = [], []
    for row in rows:
        try:
            checked.append(check(row))
        except RowRefused as refusal:
            faults.append(RowFault(row.number, refusal.column, str(refusal)))
    return checked, faults


@transaction.atomic
def issue_all(checked: Iterable[CheckedRow]) -> tuple[list[IssuedLink], list[RowFault]]:
    """The links of all rows, and why rows are refused by now. With one refused row nothing is stored."""
    links, faults = [], []
    for one in checked:
        try:
            with transaction.atomic():
                links.append(one.issue())
        except RowRefused as refusal:
            faults.append(RowFault(one.row.number, refusal.column, str(refusal)))
    if faults:
        transaction.set_rollback(True)
    return links, faults


# By folded text: the name or slug of a round as it stands there ("": none), and the grant that is meant.
Spellings = dict[str, set[tuple[str, Grant]]]


@dataclass(frozen=True)
class OfferedRoles:
    """What may stand in the column of roles: spellings, and what an empty cell means."""

    by_spelling: Spellings
    names: list[str]
    empty: Grant | None = None
    rounds: str = ""  # the rounds that can be named, for the sentence about one that cannot

    def named(self, text: str) -> Grant:
        """Raises RowRefused."""
        meant = self._meant(text)
        if len(meant) == 1:
            return meant.pop()
        if meant:
            facts = {"text": text[:80], "names": self._told_apart(meant)}
            sentence = _(
                "“%(text)s”: two rounds are called so: write the slug, or what only one is called (%(names)s)."
            )
            raise RowRefused(ROLES, sentence % facts)
        if _folded(text).startswith("reader"):
            raise RowRefused(ROLES, _("Readers are invited on the page of their study: take “%s” out.") % text[:80])
        facts = {"text": text[:80], "names": ", ".join(self.names)}
        sentence = _("“%(text)s” is not a role that can be given here. Write: %(names)s.") % facts
        if self.rounds:
            sentence += " " + _("Rounds that take people: %(rounds)s.") % {"rounds": self.rounds}
        raise RowRefused(ROLES, sentence)

    def _meant(self, text: str) -> set[Grant]:
        """What a text can mean: where it means several, those whose name or slug stands in it letter by letter."""
        found = self.by_spelling.get(_folded(text), set())
        exact = {grant for place, grant in found if f" {_bare(text)}".endswith(f" {_bare(place)}")}
        grants = {grant for _place, grant in found}
        return exact if exact and len(grants) > 1 else grants

    def _told_apart(self, grants: Iterable[Grant]) -> str:
        rounds = sorted((grant.round for grant in grants if grant.round), key=lambda one: one.pk)
        role = Role.REVIEWER.value
        names = [
            next((word for word in (one.slug, one.name) if len(self._meant(f"{role} of {word}")) == 1), one.slug)
            for one in rounds
        ]
        return ", ".join(f"“{name}”" for name in names)


def offered_on_site() -> OfferedRoles:
    """The roles of the site, and those of every round that is not over."""
    rounds = ReviewRound.objects.filter(archived_at__isnull=True).exclude(state=RoundState.CLOSED).order_by("name")
    spellings: Spellings = defaultdict(set)
    for role in SITE_ROLES:
        for word in (role.value, role.label, _(role.label)):
            spellings[_folded(word)].add(("", Grant(role)))
    for one in rounds:
        _add_spellings(spellings, one, ROUND_ROLES)
    named = [one.name for one in rounds[:MOST_NAMED]]
    names = [_(role.label) for role in SITE_ROLES]
    if named:
        names += [_("%(role)s of round NAME") % {"role": _(role.label)} for role in ROUND_ROLES]
    return OfferedRoles(spellings, names, rounds=", ".join(f"“{name}”" for name in named))


def offered_in_round(person: User, review_round: ReviewRound) -> OfferedRoles:
    """The roles that this person may give in this round; an empty cell means a reviewer."""
    roles = roles_given_in(person, review_round)
    spellings: Spellings = defaultdict(set)
    _add_spellings(spellings, review_round, roles)
    for role in roles:
        for word in (role.value, _(role.label)):
            spellings[_folded(word)].add(("", Grant(role, review_round)))
    return OfferedRoles(spellings, [_(role.label) for role in roles], empty=Grant(Role.REVIEWER, review_round))


def check_for(offered: OfferedRoles, *, actor: User, at: datetime) -> Check:
    """How a row becomes a link, with one role or several. A person stands in one row, so that no row changes what
    another one may do.
    """
    agreed: Agreed = set()

    def check(row: InvitedRow) -> CheckedRow:
        grants = tuple(dict.fromkeys(offered.named(text) for text in row.roles))
        if not grants and offered.empty:
            grants = (offered.empty,)
        if not grants:
            raise RowRefused(ROLES, _("No role. Write: %(names)s.") % {"names": ", ".join(offered.names)})
        effects = _effects(row, grants, at)
        gives = tuple(grant.label for grant in grants)
        with _refusals_of_row():
            inviting.check_can_invite(*grants, email=row.email, name=row.name, at=at, agreed=agreed)

        def issue() -> IssuedLink:
            with _refusals_of_row():
                issued = inviting.invite(*grants, email=row.email, name=row.name, actor=actor, at=at, agreed=agreed)
            until = issued.invitation.expires_at
            return IssuedLink(row, gives, invitation_link(issued.token), until, lambda: mailing.send_invitation(issued))

        return CheckedRow(row, gives, effects, issue)

    return check


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


@contextmanager
def _refusals_of_row() -> Iterator[None]:
    try:
        yield
    except inviting.HasRoleAlready as has:
        sentence = _("This person has already: %(roles)s. Take it out, or the whole row.") % {"roles": has}
        raise RowRefused(ROLES, sentence) from None
    except inviting.PersonIsDeactivated:
        sentence = _("This address belongs to a deactivated account. An administrator can reactivate it.")
        raise RowRefused(EMAIL, sentence) from None
    except inviting.RoundIsOver:
        raise RowRefused(ROLES, _("This round is closed: nobody joins it any more.")) from None
    except RoleConflict as barred:
        raise RowRefused(ROLES, f"{barred} {_('Take one of the roles out.')}") from None


def _add_spellings(spellings: Spellings, review_round: ReviewRound, roles: Iterable[Role]) -> None:
    for role in roles:
        for word in (role.value, role.label, _(role.label)):
            for of in ("of round", "in round", "of", "in"):
                for place in (review_round.slug, review_round.name):
                    spellings[_folded(f"{word} {of} {place}")].add((place, Grant(role, review_round)))


def _folded(text: str) -> str:
    return _bare(text).casefold()


def _bare(text: str) -> str:
    """Without quotation marks and needless blanks."""
    return " ".join("".join(letter for letter in text if letter not in "“”\"'").split())
