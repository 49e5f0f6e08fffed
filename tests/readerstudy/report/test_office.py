"""The tables of a report as DOCX and XLSX: every cell of the others, and the same bytes at any time."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import docx
import openpyxl
import pytest

from readerstudy.report import office
from readerstudy.report.accuracy_sheets import accuracy_sheets
from readerstudy.report.agreement_sheets import agreement_sheets
from readerstudy.report.kernels.latex import escaped, plain
from readerstudy.report.latex_tables import tex_tables
from readerstudy.report.office import codebook_rows, document_of, workbook_of
from readerstudy.report.sheets import RATER, Sheet
from tests.readerstudy.report.made import HOSTILE
from tests.readerstudy.report.test_latex import awkward
from tests.readerstudy.results.made import small_result


@pytest.fixture(scope="module")
def result() -> Any:
    return small_result()


def kept(cell: Any) -> Any:
    """As a spreadsheet has it: sixteen digits, and nothing in place of an empty text."""
    if isinstance(cell, float):
        return pytest.approx(cell, rel=1e-15)
    return None if cell == "" else cell


def test_the_workbook_has_every_cell_with_sixteen_digits(result: Any) -> None:
    sheets = [*accuracy_sheets(result), *agreement_sheets(result)]
    book = openpyxl.load_workbook(io.BytesIO(workbook_of(sheets, codebook_rows(sheets))))
    assert book.sheetnames == [*(one.name for one in sheets), "codebook"]
    for sheet in sheets:
        head, *rows = book[sheet.name].iter_rows(values_only=True)
        assert list(head) == [column.name for column in sheet.columns]
        assert [list(row) for row in rows] == [[kept(cell) for cell in row] for row in sheet.rows]
    assert book["accuracy"].freeze_panes == "A2"


def test_text_of_a_spreadsheet_is_no_formula() -> None:
    names = ["=1+1", "+2", "@x", "a\x00b"]
    book = openpyxl.load_workbook(io.BytesIO(workbook_of([Sheet("one", "", [RATER], [[one] for one in names])], [])))
    cells = [row[0] for row in book["one"].iter_rows(min_row=2)]
    assert [(cell.value, cell.data_type) for cell in cells] == [(one.replace("\x00", " "), "s") for one in names]


def test_the_document_has_the_tables_for_print_with_their_captions() -> None:
    tables = tex_tables(awkward())
    document = docx.Document(io.BytesIO(document_of(tables, "Title")))
    assert len(document.tables) == len(tables)
    captions = [one.text for one in document.paragraphs if one.text.startswith("Table ")]
    assert [one.partition(". ")[0] for one in captions] == [f"Table {n}" for n in range(1, len(tables) + 1)]
    for table, made in zip(tables, document.tables, strict=True):
        lines = [line for head, rows in table.parts for line in (head, *rows)]
        assert [[cell.text for cell in row.cells] for row in made.rows] == [[plain(c) for c in line] for line in lines]
    words = " ".join(cell.text for made in document.tables for row in made.rows for cell in row.cells)
    assert r"\end{document}" in words  # the name of a model, as it is
    assert "\\textsuperscript" not in words
    assert "95% interval" in words


@pytest.mark.parametrize("text", [HOSTILE, r"a\b{c}$d$&e#f%g_h^i~j<k>l|m", "x--y---z", "]*[ ``x'' \\\\ \\, \\quad "])
def test_escaped_text_comes_back(text: str) -> None:
    shown = text.replace("'", "’").replace("\n", " ").replace("\t", " ")
    assert plain(escaped(text)) == shown


def test_the_same_tables_give_the_same_bytes_whenever_they_are_written(
    result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheets = accuracy_sheets(result)

    def written() -> tuple[bytes, bytes]:
        return workbook_of(sheets, codebook_rows(sheets)), document_of(tex_tables(result), "Title")

    first = written()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    later = SimpleNamespace(now=lambda tz: datetime(2030, 1, 1, tzinfo=tz))
    monkeypatch.setattr("openpyxl.writer.excel.datetime", SimpleNamespace(datetime=later, timezone=timezone))
    assert written() == first
    for file in first:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert office.MODIFIED.search(archive.read("docProps/core.xml"))
