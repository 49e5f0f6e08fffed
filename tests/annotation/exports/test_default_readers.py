"""Exported tables in the programs that people open them with, by the defaults of each."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import zipfile
from datetime import date
from pathlib import Path

import pytest

from annotation.exports.kernels.question_records import cell_text
from annotation.hashes import shown_pseudonym
from annotation.tables.writing import (
    MARK,
    Column,
    ExportRefused,
    Format,
    Kind,
    PackagedTable,
    write_package,
    write_table,
)
from tests.annotation.exports.readers import READERS, Written, misread
from tests.conftest import NOON

PLANTED = (
    *("1e5", "1E5", "0012", "0x1F", "12345678e0000001", "1234567890123456", "1.10", "5.", ".5", "1,234", "1d5", "1L"),
    *("NA", "N/A", "NaN", "null", "NULL", "None", "#N/A", "Inf", "TRUE", "True", "F", "t", "-", "-5", "+5"),
    *("1-2", "3/4", "2024/01/05", "01.02.2024", "2024-01", "12:30", "10:00 AM", "2024-01-01T10:00:00Z", "MAR1"),
    *("(5)", "50%", "5 %", "50.5%", "$5", "5 $", "($5)", "$1,200.50", "1 1/2", "€5", "½"),
    *("March 1", "March 2024", "Jan 2, 2024", "september 1", "Monday, March 1, 2024", "1 March 2024"),
    *("１２", "=1+1", ";=1+1", "a;=1+1", 'x\t=HYPERLINK("y")', "@SUM(A1)", "'quoted", "''", "it's", '"quoted"'),
    *("two\nlines", "tab\there", "Müller, größer als 5 µm", unicodedata.normalize("NFD", "Çé"), "🫁 胸部", ""),
    *("7", "1.5", "2024-01-01", "Is there one?", "1-2 cm", "none", "1.2.840.113619", "0.1.0"),
)
SEPARATING = re.compile(r"[;\t\n]")  # in every row these would be the separator of the file for data.table
ALWAYS = [one for one in PLANTED if not SEPARATING.search(one)]
HOSTILE_COLUMNS = (
    *(Column(f"always_{number}", Kind.TEXT, "One text in every row.") for number in range(len(ALWAYS))),
    Column("mixed", Kind.TEXT, "Another text in every row."),
    Column("sex", Kind.TEXT, "Sex of the patient."),
    Column("exam", Kind.TEXT, "Keyed pseudonym."),
    Column("n", Kind.WHOLE, "A number."),
    Column("seconds", Kind.REAL, "Seconds."),
    Column("is_late", Kind.YES_NO, "Late or not."),
    Column("at", Kind.TIME, "When."),
    Column("day", Kind.DAY, "On which day."),
)
OTHERS = (
    ("1234567890123456", 3, 1.5, True, NOON, date(2026, 11, 21)),
    ("12345678e0000001", None, None, None, None, None),
    ("0012000000000000", 0, 0.1, False, NOON, date(2026, 11, 21)),
)
HOSTILE = Written(
    "planted",
    HOSTILE_COLUMNS,
    [
        [*ALWAYS, one, cell_text("PatientSex", "F"), shown_pseudonym(exam), *rest]
        for place, one in enumerate(PLANTED)
        for exam, *rest in [OTHERS[place % 3]]
    ],
)


@pytest.mark.parametrize(("form", "program"), list(READERS))
def test_whatever_a_text_looks_like_it_is_read_as_that_text(form: Format, program: str, tmp_path: Path) -> None:
    told = {"12:30", "2024-01-01T10:00:00Z"} if (form, program) == (Format.JSONL, "DuckDB") else set[str]()
    found = misread([HOSTILE], form, program, tmp_path)  # there a column of moments alone is one of moments
    assert [fault for fault in found if fault[3] not in told] == []


def test_no_cell_is_a_formula_whatever_ends_a_cell() -> None:
    file = io.BytesIO()
    write_table(file, HOSTILE.columns, HOSTILE.rows, Format.CSV, is_marked=True)
    text = file.getvalue().decode()
    assert text.startswith(MARK)
    for sign in (",", ";", "\t"):
        cells = [cell.strip('"') for line in text.splitlines() for cell in line.split(sign)]
        assert [cell for cell in cells if cell.lstrip()[:1] in ("=", "+", "-", "@")] == []


def test_a_package_holds_every_form_and_describes_it() -> None:
    file = io.BytesIO()
    table = PackagedTable(
        "responses", HOSTILE_COLUMNS, lambda to, form: write_table(to, HOSTILE_COLUMNS, HOSTILE.rows, form)
    )
    write_package(file, "trial", [table])
    with zipfile.ZipFile(file) as archive:
        names = {name.removeprefix("trial/") for name in archive.namelist()}
        package = json.loads(archive.read("trial/datapackage.json"))
    assert names == {f"responses.{form}" for form in Format} | {"codebook.csv", "datapackage.json"}
    [described] = package["resources"]
    fields = described["schema"]["fields"]
    assert described["path"] == "responses.csv"
    assert [field["type"] for field in fields][-6:] == ["string", "integer", "number", "boolean", "datetime", "date"]
    assert [field["missingValues"] for field in fields][-6:-4] == [[], [""]]


def test_what_a_spreadsheet_cannot_hold_is_refused() -> None:
    with pytest.raises(ExportRefused, match="cannot hold"):
        write_table(io.BytesIO(), [Column("a", Kind.TEXT)], [["x" * 40_000]], Format.XLSX)
