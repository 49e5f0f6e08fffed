"""Which roles a row of an invitation file names, and the link that gives them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.enums import Role, RoundState
from annotation.models import ReviewRound, User
from annotation.people import invitations
from annotation.people.invitation_file import ROLES, Check, CheckedRow, InvitedRow, effects_of
from annotation.people.invitations import Agreed, Grant, IssuedInvitation
from annotation.people.links import PeopleRefused
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES, roles_given_in

MOST_NAMED = 10  # rounds in a sentence


# By folded text: the name or slug of a round as it is written there ("": none), and the grant that is meant.
Spellings = dict[str, set[tuple[str, Grant]]]


@dataclass(frozen=True)
class OfferedRoles:
    """What the column of roles may contain: spellings, and what an empty cell means."""

    by_spelling: Spellings
    names: list[str]
    empty: Grant | None = None
    rounds: str = ""  # the rounds that can be named, for the sentence about one that cannot

    def named(self, text: str) -> Grant:
        """Raises PeopleRefused."""
        meant = self._meant(text)
        if len(meant) == 1:
            return meant.pop()
        if meant:
            facts = {"text": text[:80], "names": self._distinct_names(meant)}
            sentence = _(
                "“%(text)s”: two rounds are called so: write the slug, or what only one is called (%(names)s)."
            )
            raise _wrong_role(sentence % facts)
        if _folded(text).startswith("reader"):
            raise _wrong_role(_("Readers are invited on the page of their study: take “%s” out.") % text[:80])
        facts = {"text": text[:80], "names": ", ".join(self.names)}
        sentence = _("“%(text)s” is not a role that can be given here. Write: %(names)s.") % facts
        if self.rounds:
            sentence += " " + _("Rounds that take people: %(rounds)s.") % {"rounds": self.rounds}
        raise _wrong_role(sentence)

    def _meant(self, text: str) -> set[Grant]:
        """What a text can mean: where it means several, those whose name or slug is in it letter by letter."""
        found = self.by_spelling.get(_folded(text), set())
        exact = {grant for place, grant in found if f" {_bare(text)}".endswith(f" {_bare(place)}")}
        grants = {grant for _place, grant in found}
        return exact if exact and len(grants) > 1 else grants

    def _distinct_names(self, grants: Iterable[Grant]) -> str:
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
    """How a row becomes a link, with one role or several. A person has one row, so that no row changes what
    another one may do.
    """
    agreed: Agreed = set()

    def check(row: InvitedRow) -> CheckedRow:
        grants = tuple(dict.fromkeys(offered.named(text) for text in row.roles))
        if not grants and offered.empty:
            grants = (offered.empty,)
        if not grants:
            raise _wrong_role(_("No role. Write: %(names)s.") % {"names": ", ".join(offered.names)})
        effects = _effects(row, grants, at)
        gives = tuple(grant.label for grant in grants)
        with _advice_for_a_row():
            invitations.check_can_invite(*grants, email=row.email, name=row.name, at=at, agreed=agreed)

        def issue() -> IssuedInvitation:
            with _advice_for_a_row():
                return invitations.invite(*grants, email=row.email, name=row.name, actor=actor, at=at, agreed=agreed)

        return CheckedRow(row, gives, effects, issue)

    return check


def _effects(row: InvitedRow, grants: tuple[Grant, ...], at: datetime) -> tuple[str, ...]:
    waiting = invitations.open_invitations(at).filter(email=row.email) if row.email else []
    replaced = {(one.role, one.round_id) for one in waiting}
    given = {(grant.role.value, grant.round.pk if grant.round else None) for grant in grants}
    return effects_of(row, is_replacing=bool(replaced & given))


@contextmanager
def _advice_for_a_row() -> Iterator[None]:
    """Refusals say what to change in the file."""
    try:
        yield
    except PeopleRefused as refusal:
        sentences = {
            "has_role": _("This person has already: %(roles)s. Take it out, or the whole row.")
            % {"roles": refusal.facts.get("roles")},
            "round_over": _("This round is closed: nobody else can join."),
            "role_conflict": f"{refusal} {_('Take one of the roles out.')}",
        }
        if refusal.code not in sentences:
            raise
        raise _wrong_role(sentences[refusal.code]) from None


def _wrong_role(sentence: str) -> PeopleRefused:
    return PeopleRefused("row_refused", sentence, status=422, field=ROLES)


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
