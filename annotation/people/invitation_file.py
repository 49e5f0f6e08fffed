"""Invitations of many people by a file: its rows, and the roles that they give."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import Role, RoundState
from annotation.files.kernels.sent_tables import lines_of_csv
from annotation.files.kernels.strictjson import FileRefused
from annotation.models import ReviewRound, User
from annotation.models.fields import AsRead
from annotation.people import invitations
from annotation.people.accounts import has_account
from annotation.people.invitations import Agreed, Grant, IssuedInvitation
from annotation.people.mailing import can_send, send_invitation
from annotation.people.tokens import PeopleRefused
from annotation.refusals import Refused
from annotation.site.permissions import ROUND_ROLES, SITE_ROLES, roles_given_in

NAME, EMAIL, ROLES = COLUMNS = ("name", "email", "roles")
_CALLED = {"e-mail": EMAIL, "mail": EMAIL, "address": EMAIL, "e-mail address": EMAIL, "role": ROLES}
_NAME_ALONE = "name without address"
LONGEST = {NAME: 200, EMAIL: 254, ROLES: 2_000}
MOST_ROWS = 200
MOST_GRANTS = 400  # roles of all rows: they are stored in one transaction
MOST_BYTES = 200_000


class InvitedRow(NamedTuple):
    """One person of the file: the row as a spreadsheet counts it, and the roles as they are written."""

    number: int
    name: str
    email: str
    roles: tuple[str, ...]


class RowFault(NamedTuple):
    """What is wrong in one cell, and what to do."""

    number: int
    column: str
    sentence: str


class CheckedRow(Struct, frozen=True):
    """What one row will give and do, as the preview says it, and how its link is made."""

    row: InvitedRow
    gives: tuple[str, ...]
    effects: tuple[str, ...]
    issue: Callable[[], IssuedInvitation]  # raises Refused


class InvitedLink(Struct, frozen=True):
    """The link of one row."""

    row: InvitedRow
    gives: tuple[str, ...]
    issued: IssuedInvitation

    @property
    def link(self) -> str:
        return self.issued.link

    @property
    def until(self) -> datetime:
        return self.issued.invitation.expires_at

    def send(self) -> bool:
        return send_invitation(self.issued)


Check = Callable[[InvitedRow], CheckedRow]  # stores nothing; raises Refused


def check_all(rows: Iterable[InvitedRow], check: Check) -> tuple[list[CheckedRow], list[RowFault]]:
    """What the rows will do, and why some are refused. Nothing is stored or locked from one row to the next."""
    checked, faults = [], []
    for row in rows:
        try:
            checked.append(check(row))
        except Refused as refusal:
            faults.append(_fault_of(row, refusal))
    return checked, faults


@transaction.atomic
def issue_all(checked: Iterable[CheckedRow]) -> tuple[list[InvitedLink], list[RowFault]]:
    """The links of all rows, and why rows are refused by now. With one refused row nothing is stored."""
    links, faults = [], []
    for one in checked:
        try:
            with transaction.atomic():
                links.append(InvitedLink(one.row, one.gives, one.issue()))
        except Refused as refusal:
            faults.append(_fault_of(one.row, refusal))
    if faults:
        transaction.set_rollback(True)
    return links, faults


def effects_of(row: InvitedRow, *, is_replacing: bool) -> tuple[str, ...]:
    """What the link of a row does, beside what it gives."""
    effects = []
    if row.email:
        effects.append(_("adds to the account that is there") if has_account(row.email) else _("makes an account"))
    if is_replacing:
        effects.append(_("replaces an open link"))
    is_sent = row.email and can_send()
    effects.append(_("is sent by e-mail") if is_sent else _("is to be handed over by you"))
    return tuple(effects)


def _fault_of(row: InvitedRow, refusal: Refused) -> RowFault:
    """At the cell that the refusal names, or else at the one that names the person."""
    return RowFault(row.number, refusal.field or (EMAIL if row.email else NAME), str(refusal))


def read_invited(data: bytes) -> tuple[list[InvitedRow], list[RowFault]]:
    """The people of a file, and the faults of the file itself; a row with a fault is not among the people.

    UTF-8 with or without byte order mark, separated by commas, semicolons or tabs; empty rows are passed over. Raises
    PeopleRefused.
    """
    if len(data) > MOST_BYTES:
        raise _unreadable(_("The file is larger than %(n)d kB. Split it.") % {"n": MOST_BYTES // 1000})
    if b"\0" in data:
        raise _unreadable(_("This is not a text file. Save the table as CSV UTF-8."))
    rows: list[InvitedRow] = []
    faults: list[RowFault] = []
    names: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    try:
        for number, cells in lines_of_csv(io.BytesIO(data)):
            stripped = [" ".join(cell.split()) for cell in cells]
            if not any(stripped):
                continue
            if not names:
                names = _header(stripped)
                continue
            if len(rows) == MOST_ROWS:
                sentence = _("The file names more than %(n)d people; at most %(n)d are invited at once. Split it.")
                raise _unreadable(sentence % {"n": MOST_ROWS})
            row, found = _row(number, names, stripped)
            faults += found or _repeated(row, seen)
            _remember(row, seen)
            rows.append(row)
    except FileRefused as error:
        raise _unreadable(str(error)) from None
    if not rows:
        raise _unreadable(_("The file names nobody: enter one row for each person below the header row."))
    n_grants = sum(max(1, len(row.roles)) for row in rows)
    if n_grants > MOST_GRANTS:
        raise _unreadable(
            _("The file names %(n)d roles in all; at most %(most)d are given at once. Split it.")
            % {"n": n_grants, "most": MOST_GRANTS}
        )
    bad = {fault.number for fault in faults}
    return [row for row in rows if row.number not in bad], faults


def _unreadable(sentence: str) -> PeopleRefused:
    return PeopleRefused("file_unreadable", sentence, status=422, field="file")


def _header(cells: Sequence[str]) -> list[str]:
    names = [_CALLED.get(cell.casefold(), cell.casefold()) for cell in cells]
    missing = [name for name in (NAME, EMAIL) if name not in names]
    twice = [name for name in COLUMNS if names.count(name) > 1]
    if missing or twice:
        raise _unreadable(
            _("The first row must name the columns name, email and roles, each once. Found: %(found)s.")
            % {"found": ", ".join(cell[:40] for cell in cells if cell)[:200]}
        )
    return names


def _row(number: int, names: Sequence[str], cells: Sequence[str]) -> tuple[InvitedRow, list[RowFault]]:
    cell = dict(zip(names, cells, strict=False))
    texts = {column: cell.get(column, "") for column in COLUMNS}
    roles = dict.fromkeys(role.strip() for role in texts[ROLES].split(";") if role.strip())
    row = InvitedRow(number, texts[NAME], texts[EMAIL].lower(), tuple(roles))
    if any(cells[len(names) :]):
        sentence = _("More cells than columns. A text with a separator in it needs quotation marks around it.")
        return row, [RowFault(number, names[-1], sentence)]
    faults = [
        RowFault(number, column, _("Longer than %(n)d characters: shorten it.") % {"n": most})
        for column, most in LONGEST.items()
        if len(texts[column]) > most
    ]
    if not row.name and not row.email:
        faults.append(RowFault(number, NAME, _("Neither a name nor an address: give at least one of them.")))
    if row.email and not _is_address(row.email):
        sentence = _("“%(email)s” is not an e-mail address. Correct it, or leave the cell empty.")
        faults.append(RowFault(number, EMAIL, sentence % {"email": row.email[:100]}))
    return row, faults


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _repeated(row: InvitedRow, seen: Mapping[tuple[str, str], int]) -> list[RowFault]:
    """A person has one row: by address, and without one by name."""
    by_name = (NAME if not row.email else _NAME_ALONE, row.name.casefold())
    for column, key in ((EMAIL, (EMAIL, row.email)), (NAME, by_name)):
        if key in seen:
            sentence = _(
                "The same person is in row %(row)d. Keep one row, with all roles in it, separated by semicolons."
            )
            return [RowFault(row.number, column, sentence % {"row": seen[key]})]
    return []


def _remember(row: InvitedRow, seen: dict[tuple[str, str], int]) -> None:
    """Note the first row of each address, of each name, and of each name that has no address beside it."""
    name = row.name.casefold()
    if row.email:
        seen.setdefault((EMAIL, row.email), row.number)
    if name:
        seen.setdefault((NAME, name), row.number)
    if name and not row.email:
        seen.setdefault((_NAME_ALONE, name), row.number)


MOST_NAMED = 10  # rounds in a sentence


# By folded text: the name or slug of a round as it is written there ("": none), and the grant that is meant.
Spellings = dict[str, set[tuple[str, Grant]]]


class OfferedRoles(Struct, frozen=True):
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
    rounds = (
        ReviewRound.objects.filter(archived_at__isnull=True).exclude(state=RoundState.CLOSED).order_by(AsRead("name"))
    )
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
