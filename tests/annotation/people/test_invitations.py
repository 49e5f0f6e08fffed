from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import unquote

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.audit.recording import verify
from annotation.enums import LinkState, Role, RoundState
from annotation.models import AuditEvent, Invitation, Membership, ReviewRound, User
from annotation.people import accounts, invitation_file, invitations
from annotation.people.invitation_file import (
    MOST_BYTES,
    MOST_GRANTS,
    MOST_ROWS,
    InvitedRow,
    read_invited,
)
from annotation.people.invitations import Grant, find_invitation, first_administrator_link, invite
from annotation.people.tokens import PeopleRefused
from annotation.site.permissions import site_roles
from annotation.views.people.invitations import download_address, written
from tests.refusals import refuses


def acts() -> list[str]:
    return list(AuditEvent.objects.values_list("act", flat=True))


def accept(issued: invitations.IssuedInvitation, at: datetime, email: str = "nina@example.org") -> User:
    return invitations.accept_as_new_person(
        issued.invitation, email=email, name="Nina", password="correct horse", time_zone="Europe/Berlin", at=at
    )


def test_only_the_hash_of_the_token_is_stored(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    row = Invitation.objects.values().get()
    assert issued.token not in str(row)
    assert find_invitation(issued.token) == issued.invitation
    assert find_invitation(issued.token[:-1]) is None
    assert issued.token not in str(list(AuditEvent.objects.values()))


def test_the_state_over_the_life_of_a_link(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    almost = noon + timedelta(days=14) - timedelta(seconds=1)
    assert issued.invitation.state(almost) is LinkState.OPEN
    assert issued.invitation.state(almost + timedelta(seconds=1)) is LinkState.EXPIRED
    for days in (14, 400):
        with refuses(PeopleRefused, "link_closed"):
            accept(issued, noon + timedelta(days=days))
    assert not User.objects.filter(name="Nina").exists()
    for _twice in range(2):
        invitations.revoke(issued.invitation, actor=ada, at=noon)
        assert issued.invitation.state(noon) is LinkState.REVOKED
    assert acts() == ["person.invited", "invitation.revoked"]


def test_a_link_works_once(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon)
    nina = accept(issued, noon)
    assert nina.check_password("correct horse")
    assert Membership.objects.get(user=nina).granted_by == ada
    with refuses(PeopleRefused, "link_closed") as closed:
        accept(issued, noon, "other@example.org")
    assert closed.value.facts == {"state": LinkState.USED}
    assert acts() == ["person.invited", "invitation.accepted", "role.granted"]
    assert verify().fault is None


def test_the_address_of_an_invitation_stays(ada: User, noon: datetime) -> None:
    issued = invite(Grant(Role.REVIEWER), email="Nina@Example.org", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "other_address"):
        accept(issued, noon, "mallory@example.org")
    assert accept(issued, noon, "NINA@example.org").email == "nina@example.org"


def test_a_new_link_replaces_the_open_one_for_the_same_address_and_role(ada: User, noon: datetime) -> None:
    first = invite(Grant(Role.REVIEWER), email="nina@example.org", name="", actor=ada, at=noon)
    other_role = invite(Grant(Role.COORDINATOR), email="nina@example.org", name="", actor=ada, at=noon)
    invite(Grant(Role.REVIEWER), email="nina@example.org", name="", actor=ada, at=noon)
    first.invitation.refresh_from_db()
    other_role.invitation.refresh_from_db()
    assert first.invitation.revoked_at == noon
    assert other_role.invitation.revoked_at is None


def test_a_link_for_several_roles_is_used_as_a_whole(
    ada: User, rita: User, open_round: ReviewRound, noon: datetime
) -> None:
    grants = Grant(Role.COORDINATOR), Grant(Role.REVIEWER, open_round)
    issued = invite(*grants, email=rita.email, name="", actor=ada, at=noon)
    invitations.accept_as(rita, issued.invitation, at=noon)
    held = set(rita.memberships.values_list("role", "round__slug"))
    assert held == {(Role.REVIEWER, None), (Role.COORDINATOR, None), (Role.REVIEWER, open_round.slug)}
    assert not Invitation.objects.filter(used_at=None).exists()
    with refuses(PeopleRefused, "link_closed"):
        invitations.accept_as(rita, issued.invitations[1], at=noon)


def test_useless_invitations_are_refused(
    ada: User, rita: User, remo: User, open_round: ReviewRound, noon: datetime
) -> None:
    accounts.deactivate(remo, actor=ada, at=noon)
    over = ReviewRound(name="Over", state=RoundState.CLOSED)
    for grants, email, code in (
        ([Grant(Role.REVIEWER)], "RITA@example.org", "has_role"),
        ([Grant(Role.COORDINATOR)], remo.email, "deactivated"),
        ([Grant(Role.ADMINISTRATOR, open_round)], "", "wrong_scope"),
        ([Grant(Role.READER)], "", "wrong_scope"),
        ([Grant(Role.REVIEWER, over)], "", "round_over"),
    ):
        with refuses(PeopleRefused, code):
            invite(*grants, email=email, name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "has_role", match=r"has already: reviewer\.$") as refusal:
        invite(Grant(Role.COORDINATOR), Grant(Role.REVIEWER), email=rita.email, name="", actor=ada, at=noon)
    assert refusal.value.facts == {"roles": "reviewer"}
    assert not Invitation.objects.exists()


def test_nobody_uses_an_invitation_of_their_own_or_of_another(
    ada: User, rita: User, remo: User, noon: datetime
) -> None:
    own = invite(Grant(Role.COORDINATOR), email="", name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "own_invitation"):
        invitations.accept_as(ada, own.invitation, at=noon)
    for_rita = invite(Grant(Role.COORDINATOR), email=rita.email, name="", actor=ada, at=noon)
    with refuses(PeopleRefused, "other_address"):
        invitations.accept_as(remo, for_rita.invitation, at=noon)
    assert not Membership.objects.filter(role=Role.COORDINATOR).exists()


def test_the_link_of_the_first_administrator_is_renewed_until_there_is_one(db: None, noon: datetime) -> None:
    first = first_administrator_link(noon)
    second = first_administrator_link(noon)
    assert first
    assert second
    assert first != second
    old, new = (find_invitation(link.rstrip("/").rpartition("/")[2]) for link in (first, second))
    assert old is not None
    assert new is not None
    assert old.state(noon) is LinkState.REVOKED
    boss = invitations.accept_as_new_person(
        new, email="boss@example.org", name="Boss", password="correct horse", time_zone="UTC", at=noon
    )
    assert first_administrator_link(noon) is None
    User.objects.filter(pk=boss.pk).update(is_active=False)
    assert first_administrator_link(noon) is not None


# --- What a file of people may hold, and how its faults are told ---
NINA = InvitedRow(2, "Nina Weber", "nina@example.org", ("coordinator", "de-identification"))


@pytest.mark.parametrize(
    "text",
    [
        "name,email,roles\nNina Weber,nina@example.org,coordinator; de-identification\n",
        '\ufeffName;E-mail;Roles\r\nNina  Weber;NINA@example.org;"coordinator;de-identification"\r\n',
        "roles\tname\taddress\ncoordinator;de-identification;coordinator\tNina Weber\tnina@example.org\n",
    ],
)
def test_rows_are_read_as_spreadsheets_write_them(text: str) -> None:
    assert read_invited(text.encode()) == ([NINA], [])


@pytest.mark.parametrize(
    ("row", "column", "sentence"),
    [
        (",,reviewer", "name", "Neither a name nor an address"),
        ("Nina,nina at home,reviewer", "email", "is not an e-mail address. Correct it, or leave the cell empty."),
        (f"{'x' * 201},,reviewer", "name", "Longer than 200 characters"),
        ("Weber, Nina,nina@example.org,reviewer", "roles", "needs quotation marks"),
        ("Anna,first@example.org,reviewer", "email", "is in row 2. Keep one row"),
        ("Rita,,reviewer", "name", "is in row 3"),
        ("rita,rita@example.org,reviewer", "name", "is in row 3"),
    ],
)
def test_a_fault_names_row_column_and_remedy(row: str, column: str, sentence: str) -> None:
    rows, faults = read_invited(f"name,email,roles\nAnna,first@example.org,\nRita,,\n\n{row}\n".encode())
    assert [one.name for one in rows] == ["Anna", "Rita"]
    [fault] = faults
    assert (fault.number, fault.column) == (5, column)
    assert sentence in fault.sentence


def test_two_people_of_one_name_have_two_addresses() -> None:
    rows, faults = read_invited(b"name,email\nAnna,a@example.org\nAnna,b@example.org\n")
    assert (len(rows), faults) == (2, [])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "names nobody"),
        (b"name,email,roles\n", "names nobody"),
        (b"who,roles\nNina,reviewer\n", "Found: who, roles"),
        (b"name,email,e-mail\nNina,,\n", "each once"),
        ("name,email\nJörg,\n".encode("latin-1"), "UTF-8"),
        (b"PK\x03\x04\x00\x00", "not a text file"),
        (b'name,email\n"Nina,\n', "not valid CSV"),
        (b"x" * (MOST_BYTES + 1), "Split it"),
        (b"name,email\n" + b"".join(b"P%d,\n" % n for n in range(MOST_ROWS + 1)), "more than 200 people; at most 200"),
        (b"name,email,roles\n" + b"".join(b"P%d,,a;b;c\n" % n for n in range(134)), "402 roles in all; at most 400"),
    ],
)
def test_what_is_no_list_of_people_is_refused(data: bytes, sentence: str) -> None:
    with refuses(PeopleRefused, "file_unreadable", match=sentence):
        read_invited(data)


def test_a_long_file_is_read_no_further_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row was compared with all before it, and only then were they counted: 60,000 rows took minutes."""
    read = []

    def lines(_stream: io.BytesIO) -> Iterator[tuple[int, list[str]]]:
        yield 1, ["name", "email"]
        for number in range(2, 60_002):
            read.append(number)
            yield number, [f"P{number}", ""]

    monkeypatch.setattr(invitation_file, "lines_of_csv", lines)
    with refuses(PeopleRefused, "file_unreadable", match="Split it"):
        read_invited(b"")
    assert len(read) == MOST_ROWS + 1


def test_as_many_roles_as_may_be_are_read() -> None:
    rows, faults = read_invited(b"name,email,roles\n" + b"".join(b"P%d,,a;b\n" % n for n in range(MOST_GRANTS // 2)))
    assert (len(rows), faults) == (200, [])


def test_no_part_of_a_cell_becomes_a_cell_where_semicolons_separate() -> None:
    """A spreadsheet of a German desktop splits at semicolons: what follows one was a formula."""
    assert written([["x;=1+1", "-a"]]) == '\ufeff"x;\'=1+1","\'-a"\r\n'


def test_the_files_that_go_out_come_back_and_hold_no_formula() -> None:
    address = download_address(written([["name", "email"], ["=HYPERLINK(1)", "ä, b"]]))
    text = unquote(address.removeprefix("data:text/csv;charset=utf-8,"))
    assert list(csv.reader(io.StringIO(text.removeprefix("\ufeff")))) == [["name", "email"], ["'=HYPERLINK(1)", "ä, b"]]


# --- first administrator ---
def test_the_printed_link_makes_the_first_administrator(
    db: None, capsys: pytest.CaptureFixture[str], settings: Settings, client: Client
) -> None:
    call_command("first_administrator")
    link = capsys.readouterr().out.strip()
    assert link.startswith(f"{settings.PUBLIC_URL}/invitation/")
    data = {
        "email": "boss@example.org",
        "name": "Boss",
        "password": "another staple 77",
        "password_again": "another staple 77",
        "time_zone": "UTC",
    }
    assert client.post(link.removeprefix(settings.PUBLIC_URL), data)["Location"] == "/"
    founder = User.objects.get()
    assert site_roles(founder) == {Role.ADMINISTRATOR, Role.COORDINATOR, Role.DEIDENTIFIER}
    call_command("first_administrator")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "administrator already" in printed.err
