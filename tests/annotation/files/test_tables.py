"""Tables that somebody sent: the same rows of CSV, XLSX and Parquet, and what is said of what cannot be read."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from annotation.files.kernels import sent_tables, strictjson
from annotation.files.kernels.cells import neutralised, read_cell
from annotation.files.kernels.sent_tables import (
    Row,
    cell_of_parquet,
    check_columns,
    find_form,
    lines_of_table,
    read_rows,
)
from annotation.files.kernels.strictjson import Entry, FileRefused, ObjectReader, entries_of_lines, read_value
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


# --- JSON, read strictly ---
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=12,
)


def read(text: str | bytes, **options: Any) -> list[Entry]:
    data = text.encode() if isinstance(text, str) else text
    return list(ObjectReader(io.BytesIO(data), **options))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text("kq1_é", min_size=1, max_size=6), VALUES, max_size=6), st.integers(1, 40), st.booleans())
def test_any_object_comes_back_entry_by_entry_whatever_the_chunks(
    content: dict[str, Any], chunk: int, escaped: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strictjson, "CHUNK_BYTES", chunk)
        entries = read(json.dumps(content, ensure_ascii=escaped, indent=1))
    assert {entry.key: entry.value for entry in entries} == content
    assert [entry.key for entry in entries] == list(content)
    assert not any(entry.faults for entry in entries)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "empty_file", 1, 1),
        ("  \n", "empty_file", 2, 1),
        ("[1]", "schema", 1, 1),
        ('{"a": 1,}', "syntax", 1, 9),
        ('{"a": 1\n"b": 2}', "syntax", 2, 1),
        ('{"a": tru}', "syntax", 1, 7),
        ('{"a": 1} x', "syntax", 1, 10),
        ('{"a": 1}{"b": 2}', "syntax", 1, 9),
        ('{"a": 1', "syntax", 1, 8),
        ("{\"a\": 'x'}", "syntax", 1, 7),
        ('{"a": "\t"}', "syntax", 1, 8),
        ('{"a": 01}', "syntax", 1, 8),
        ('{\n"a": 1,\n  b: 2}', "syntax", 3, 3),
    ],
)
def test_what_is_not_one_object_is_told_with_its_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(FileRefused) as caught:
        read(text)
    assert (caught.value.code, caught.value.facts["line"], caught.value.facts["column"]) == (code, line, column)


def test_the_place_of_an_error_counts_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strictjson, "CHUNK_BYTES", 16)
    lines = "".join(f'"q{number}": {{"text": "éé"}},\n' for number in range(50))
    with pytest.raises(FileRefused, match="q49") as caught:
        read("{" + lines + '  "last" 1}')
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (51, 10)


@pytest.mark.parametrize(
    ("member", "field", "code"),
    [
        ('{"x": 1, "x": 2}', "x", "duplicate_field"),
        ('{"x": NaN}', "x", "not_finite"),
        ('{"x": [-Infinity]}', "x", "not_finite"),
        ('{"x": 1e999}', "x", "not_finite"),
        ('{"x": ' + "9" * 5000 + "}", "x", "number_too_long"),
        ('{"x": {"y": ["\\ud800"]}}', "x", "lone_surrogate"),
        ('{"x": "a\\u0000b"}', "x", "nul_character"),
    ],
)
def test_a_spoiled_entry_does_not_end_the_reading(member: str, field: str, code: str) -> None:
    first, second = read('{"bad": ' + member + ', "good": {"x": 1}}')
    assert [(fault.field, fault.code) for fault in first.faults] == [(field, code)]
    assert second == Entry("good", {"x": 1}, ())


def test_a_whole_surrogate_pair_and_an_escaped_backslash_are_no_fault() -> None:
    (entry,) = read('{"a": {"x": "\\ud83d\\ude00 \\\\u0000"}}')
    assert entry.value == {"x": "\U0001f600 \\u0000"}
    assert entry.faults == ()


@pytest.mark.parametrize("data", [b'{"a": "\xff"}', '{"a": "é"}'.encode("latin-1"), '{"a": 1}'.encode("utf-16")])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(FileRefused, match="not UTF-8") as caught:
        read(data)
    assert caught.value.code == "encoding"


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b"\xef\xbb\xbf{}") == []


def test_deep_nesting_is_refused_without_exhausting_the_stack() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for reading in (lambda: read('{"a": ' + deep + "}"), lambda: read_value(deep.encode())):
        with refuses(FileRefused, "too_deep"):
            reading()


def test_a_record_larger_than_the_limit_is_refused_before_it_is_read_whole() -> None:
    class Endless(io.BytesIO):
        served = 0

        def read(self, size: int | None = -1) -> bytes:
            self.served += size or 0
            return b'{"a": "'.ljust(size or 0, b"A") if self.served == size else b"A" * (size or 0)

        def readline(self, size: int | None = -1) -> bytes:
            return self.read(size)

    for reading in (ObjectReader, entries_of_lines):
        stream = Endless()
        with refuses(FileRefused, "too_large"):
            for _entry in reading(stream):
                pass
        assert stream.served < 5_000_000
    with refuses(FileRefused, "too_large", match="larger than 100"):
        read('{"a": "' + "x" * 200 + '"}', max_entry_chars=100)


@pytest.mark.parametrize("part", [b"[]", b"{}", b"1", b'""', b'{"a":1}', b"1e1"])
def test_a_value_of_too_many_parts_is_refused_before_they_are_made(part: bytes) -> None:
    """4.7 MB of them took 6 seconds and 480 MB."""
    tracemalloc.start()
    try:
        with refuses(FileRefused, "too_large", match="more than 200,000 values"):
            read_value(b"[" + part + (b"," + part) * 250_000 + b"]")
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_signs_within_a_text_are_no_parts() -> None:
    text = ',[{\\"' * 100_000
    assert read_value(json.dumps([text, "ä"]).encode()).value == [text, "ä"]


def test_lines_are_numbered_and_a_broken_one_is_a_fault_of_it_alone() -> None:
    found = dict(entries_of_lines(io.BytesIO(b'\xef\xbb\xbf{"a": 1}\n\n{"a"\n[2]\r\n{} {}\n"\xff"\n{"a": 1, "a": 2}')))
    assert {number: entry.value for number, entry in found.items() if not entry.faults} == {1: {"a": 1}, 4: [2]}
    assert {number: entry.faults[0][1:] for number, entry in found.items() if entry.faults} == {
        3: ("syntax", "Line 3, column 5: This is not JSON: expecting ':' delimiter."),
        5: ("syntax", "Line 5, column 3: This is not JSON: text follows the end of the JSON."),
        6: ("encoding", "Line 6: The text is not UTF-8 near byte 1."),
        7: ("duplicate_field", "The field 'a' is there twice."),
    }
