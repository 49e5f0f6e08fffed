"""People to invite as the rows of a CSV file: read, checked row by row for a preview, then invited, all or none."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.files.kernels.sent_tables import lines_of_csv
from annotation.files.kernels.strictjson import FileRefused
from annotation.people.accounts import has_account
from annotation.people.invitations import IssuedInvitation
from annotation.people.links import PeopleRefused
from annotation.people.mailing import can_send, send_invitation
from annotation.refusals import Refused

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


@dataclass(frozen=True)
class CheckedRow:
    """What one row will give and do, as the preview says it, and how its link is made."""

    row: InvitedRow
    gives: tuple[str, ...]
    effects: tuple[str, ...]
    issue: Callable[[], IssuedInvitation]  # raises Refused


@dataclass(frozen=True)
class InvitedLink:
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
