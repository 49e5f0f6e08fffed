"""Tables that somebody sent: the same rows of CSV, XLSX and Parquet, and what is said of what cannot be read."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from annotation.files.kernels import sent_tables
from annotation.files.kernels.cells import neutralised, read_cell
from annotation.files.kernels.sent_tables import (
    Row,
    cell_of_parquet,
    check_columns,
    find_form,
    lines_of_table,
    read_rows,
)
from annotation.files.kernels.strictjson import FileRefused
from tests.refusals import refuses

ROWS = [["id", "text"], ["1", "a, b;"], ["2", "-5 mm\nß"]]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def lines_of(content: bytes) -> list[tuple[int, list[str]]]:
    stream = io.BytesIO(content)
    return list(lines_of_table(stream, find_form(stream)))


def parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


def book(*sheets_of_it: tuple[str, list[list[Any]]]) -> bytes:
    """One sheet for each pair of its state and its rows."""
    made, stream = Workbook(), io.BytesIO()
    made.remove(made.worksheets[0])
    for state, rows in sheets_of_it:
        sheet = made.create_sheet()
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
    made.save(stream)
    return stream.getvalue()


def workbook(body: str, shared: str = "", before: str = "") -> bytes:
    """The smallest archive that is read as a sheet, with anything in its rows and its shared texts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        links = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
        archive.writestr("xl/workbook.xml", f'<a:w xmlns:a="{MAIN}" {links}><a:sheet name="S" r:id="r1"/></a:w>')
        archive.writestr("xl/_rels/workbook.xml.rels", '<R><Relationship Id="r1" Target="worksheets/s.xml"/></R>')
        archive.writestr("xl/worksheets/s.xml", f'{before}<worksheet xmlns="{MAIN}">{body}</worksheet>')
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{shared}</sst>')
    return packed.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        '\ufeffid,text\r\n1,"a, b;"\r\n2,"-5 mm\nß"\r\n'.encode(),
        'id;text\n1;"a, b;"\n2;"-5 mm\nß"'.encode(),
        'id\ttext\n1\ta, b;\n2\t"-5 mm\nß"\n'.encode(),
        book(("visible", [["id", "text"], [1, "a, b;"], [2, "-5 mm\nß"]])),
        book(("hidden", [["secret"]]), ("visible", ROWS)),
        parquet([dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]),
    ],
    ids=["commas", "semicolons", "tabs", "xlsx", "xlsx, hidden first sheet", "parquet"],
)
def test_every_form_gives_the_same_rows(content: bytes) -> None:
    assert lines_of(content) == list(enumerate(ROWS, start=1))


def test_cells_of_a_sheet() -> None:
    shared = "<si><r><t>r</t></r><r><t>uns</t></r><rPh><t>read aloud</t></rPh></si>"
    row = '<row r="3"><c r="B3" t="s"><v>0</v></c><c t="b"><v>1</v></c><c r="D3"><f>1/3</f><v>0.5</v></c></row>'
    inline = '<row><c t="inlineStr"><is><t>in</t></is></c><c/></row>'
    rows = [(3, ["", "runs", "1", "0.5"]), (5, ["in", "", "", ""])]
    assert lines_of(workbook(row + "<row/>" + inline, shared)) == rows


@pytest.mark.parametrize(
    ("value", "cell"), [(None, ""), (["a", None, 2], "a||2"), ("ß", "ß"), (date(2026, 2, 1), "2026-02-01"), (7, "7")]
)
def test_cells_of_parquet(value: Any, cell: str) -> None:
    assert cell_of_parquet(value) == cell


UNREADABLE: dict[str, tuple[bytes, str, str]] = {
    "open quote": (b'a,b\n1,"2\n', "syntax", "Row 2 is not valid CSV"),
    "quote in the wrong place": (b'a,b\n1,2\n1,"2"3\n', "syntax", "Row 3 is not valid CSV"),
    "latin": (b"a,b\n1,\xe9\n", "encoding", "Line 2 is not UTF-8 text"),
    "endless line": (b"a" * sent_tables.MOST_LINE_BYTES, "too_large", "Line 1 is too long"),
    "endless cell": (b"a\n" + b"b" * 200_000, "syntax", "Row 2 is not valid CSV: field larger"),
    "another archive": (b"PK\x03\x04" + b"\0" * 40, "form", "ZIP archive of something else"),
    "password": (b"\xd0\xcf\x11\xe0 old", "form", "an old Excel file (.xls), or has a password"),
    "document type": (workbook("", before="<!DOCTYPE x>"), "form", "document type"),
    "nothing of the shared texts": (workbook('<row><c t="s"><v>7</v></c></row>'), "form", "broken"),
    "column of another order": (workbook('<row><c r="B1"/><c r="A1"/></row>'), "form", "broken"),
    "wide sheet": (workbook('<row><c r="GS1"><v>1</v></c></row>'), "columns", "more than 200 columns"),
    "wide sheet without places": (workbook("<row>" + "<c/>" * 201 + "</row>"), "columns", "more than 200 columns"),
    "broken parquet": (parquet([{"a": 1}])[:-9], "form", "not Parquet, or broken"),
    "wide parquet": (parquet([{str(n): n for n in range(201)}]), "columns", "more than 200 columns"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_table_is_refused(name: str) -> None:
    content, code, words = UNREADABLE[name]
    with refuses(FileRefused, code) as caught:
        lines_of(content)
    assert words in str(caught.value)


ROW_OF_200 = "<row>" + "<c><v>1</v></c>" * 200 + "</row>"
GROWING = {
    "cells": workbook(("<row>" + "<c/>" * 200 + "</row>") * 200),
    "rows": workbook("<row/>" * 40_000),
    "values": workbook(ROW_OF_200 * 200),
    "one row": workbook(ROW_OF_200 + "<row><c>" + "<v/>" * 40_000 + "</c>" + "</row>"),
    "wide rows": workbook('<row><c r="GR1"><v>1</v></c></row>' * 4_000),
    "texts": workbook("", "<si/>" * 40_000),
    "depth": workbook("<a>" * 40_000),
    "a tag": workbook("<row " + " ".join(f'a{n}="1"' for n in range(200_000)) + "/>"),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_small_spreadsheet_that_grows_is_refused_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """93 kB took a minute and 1.3 GB."""
    monkeypatch.setattr(sent_tables, "FEW_CELLS", 10_000)
    tracemalloc.start()
    try:
        with refuses(FileRefused, "too_large" if name not in ("depth", "a tag") else "form"):
            for _line in lines_of_table(io.BytesIO(GROWING[name]), sent_tables.XLSX):
                pass
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_bytes_are_bounded_before_and_after_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    content = workbook("<row><c><v>1</v></c></row>" * 1_000)
    monkeypatch.setattr(sent_tables, "MOST_SHEET_BYTES", 2_000)
    with refuses(FileRefused, "too_large", match="unpacks to more than 2,000 bytes. Save the first sheet as CSV"):
        lines_of(content)
    monkeypatch.setattr(sent_tables, "MOST_SHEET_BYTES", 100)
    with refuses(FileRefused, "too_large", match="has more than 100 bytes"):
        lines_of(content)
    monkeypatch.setattr(sent_tables, "MOST_PARQUET_BYTES", 10)
    with refuses(FileRefused, "too_large"):
        lines_of(parquet([{"a": 1}]))


def test_a_file_of_empty_rows_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_tables, "MOST_EMPTY", 3)
    assert len(list(sent_tables.lines_of_csv(io.BytesIO(b"a,b\n\n,\n\nc,d\n")))) == 5
    with pytest.raises(FileRefused, match="more than 3 empty rows"):
        list(sent_tables.lines_of_csv(io.BytesIO(b"a,b\n\n,\n\n\n")))


def test_without_pyarrow_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet([{"a": 1}])
    monkeypatch.setattr(sent_tables, "find_spec", lambda _name: None)
    with refuses(FileRefused, "parquet_off", match=r"pyarrow is not installed.*or send CSV or JSON Lines"):
        lines_of(content)


def test_rows_by_the_names_of_their_columns() -> None:
    lines = [(1, ["", " "]), (2, [" ID ", "b"]), (4, ["1", " x "]), (5, ["", ""]), (6, ["2"]), (7, ["3", "y", "z"])]
    rows = list(read_rows(lines, needed=("id",), known=("id", "b"), name_of=str.lower))
    assert rows[0] == Row(4, {"id": "1", "b": " x "})
    assert [(row.number, row.fault.partition(" A text")[0]) for row in rows[1:]] == [
        (6, "The row has 1 cells, the first row 2."),
        (7, "The row has 3 cells, the first row 2."),
    ]


def test_a_header_that_is_not_what_is_asked_for() -> None:
    wrong = [
        ("", "Missing: 'id', 'b'"),
        ("id,c", "Missing: 'b'"),
        ("id,b,b", "'b' is there twice"),
        ("id,b,x", "'x' is not known. Leave it out, or name it as one of these: id, b, c"),
    ]
    for names, words in wrong:
        with refuses(FileRefused, "columns", match=words):
            list(read_rows([(1, names.split(","))], needed=("id", "b"), known=("id", "b", "c")))


class Counted(str):
    """A name that counts how often it is compared."""

    n = 0

    def __eq__(self, other: object) -> bool:
        Counted.n += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_that_are_there_twice_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*(Counted(f"column {number}") for number in range(1_000)), Counted("column 999")]
    monkeypatch.setattr(Counted, "n", 0)
    with refuses(FileRefused, "columns", match="'column 999' is there twice"):
        check_columns(names)
    assert Counted.n < 5_000


def test_what_an_export_marks_comes_in_without_its_mark() -> None:
    for text in ("-5 mm", "=1+1", "'quoted' word", " @home", "plain", "", "it's", "0012", "NA", "1-2"):
        assert read_cell(neutralised(text)) == text
        assert read_cell(text) == text or neutralised(text) != text
    assert read_cell("'Tis normal") == "'Tis normal"
