"""What a file of people may hold, and how its faults are told."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from urllib.parse import unquote

import pytest

from annotation.people import invitation_file
from annotation.people.invitation_file import (
    MOST_BYTES,
    MOST_GRANTS,
    MOST_ROWS,
    InvitedRow,
    read_invited,
)
from annotation.people.links import PeopleRefused
from annotation.views.people.invitations import download_address, written
from tests.refusals import refuses

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
    assert written([["x;=1+1", "-a"]]) == '\ufeff"x;=1+1","\'-a"\r\n'


def test_the_files_that_go_out_come_back_and_hold_no_formula() -> None:
    address = download_address(written([["name", "email"], ["=HYPERLINK(1)", "ä, b"]]))
    text = unquote(address.removeprefix("data:text/csv;charset=utf-8,"))
    assert list(csv.reader(io.StringIO(text.removeprefix("\ufeff")))) == [["name", "email"], ["'=HYPERLINK(1)", "ä, b"]]
