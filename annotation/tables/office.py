"""Tables for word processors and spreadsheets: the same tables give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt
from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from annotation.tables.kernels.printing import Printed, Row
from annotation.tables.kernels.table import Table, codebook, flat_cells, flat_columns
from annotation.tables.writing import UNWRITABLE, WRITTEN, timeless, xlsx_cell

WIDEST = 60  # signs of a column of a spreadsheet


# --- spreadsheet ----------------------------------------------------------------------------------
def workbook_of(tables: Sequence[Table]) -> bytes:
    """A sheet for each table, its head in bold and fixed; what the columns mean comes last."""
    book = Workbook(write_only=True)
    for table in [*tables, codebook(tables)]:
        _write_sheet(book, table)
    stream = io.BytesIO()
    book.save(stream)
    return timeless(stream.getvalue())


def _write_sheet(book: Workbook, table: Table) -> None:
    page, heads = book.create_sheet(table.name[:31]), [column.name for column in flat_columns(table.columns)]
    rows = [list(flat_cells(row)) for row in table.rows]
    page.freeze_panes = "A2"
    for place, head in enumerate(heads):
        longest = max([len(head), *(len(str(row[place])) for row in rows[:200] if row[place] is not None)])
        page.column_dimensions[get_column_letter(place + 1)].width = min(longest + 2, WIDEST)
    page.append([xlsx_cell(page, head, is_head=True) for head in heads])
    for row in rows:
        page.append([xlsx_cell(page, one) for one in row])


# --- document -------------------------------------------------------------------------------------
def document_of(tables: Sequence[Printed], title: str) -> bytes:
    """The tables for print in landscape, each below its caption, with the three lines that journals draw."""
    document = Document()
    _lay_out(document)
    document.add_heading(_readable(title), level=1)
    for number, table in enumerate(tables, start=1):
        caption = document.add_paragraph()
        caption.paragraph_format.keep_with_next = True
        caption.add_run(f"Table {number}. ").bold = True
        caption.add_run(_readable(table.caption))
        _add_table(document, table)
        document.add_paragraph()
    document.core_properties.created = document.core_properties.modified = WRITTEN
    document.core_properties.author, document.core_properties.title = "", title
    stream = io.BytesIO()
    document.save(stream)
    return timeless(stream.getvalue())


def _lay_out(document: Any) -> None:
    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = Cm(29.7), Cm(21)
    for side in ("left", "right", "top", "bottom"):
        setattr(section, f"{side}_margin", Cm(1.5))
    normal = document.styles["Normal"]
    normal.font.name, normal.font.size = "Arial", Pt(8)
    normal.paragraph_format.space_after = Pt(2)
    heading = document.styles["Heading 1"]
    heading.font.name, heading.font.size = "Arial", Pt(12)


def _add_table(document: Any, table: Printed) -> None:
    lines: list[tuple[Row, bool]] = []
    for head, rows in table.parts:
        lines += [(head, True), *((row, False) for row in rows)]
    made = document.add_table(rows=len(lines), cols=len(table.sides))
    for place, (row, (cells, is_head)) in enumerate(zip(made.rows, lines, strict=True)):
        for cell, text, side in zip(row.cells, cells, table.sides, strict=True):
            _write(cell, _readable(text), is_head=is_head, to_right=side == "r")
        if is_head:
            _draw_lines(row, "top", "bottom")
        elif place == len(lines) - 1:
            _draw_lines(row, "bottom")
    for width in made._tbl.iter(qn("w:tcW")):  # as wide as their words
        width.set(qn("w:type"), "auto")
        width.set(qn("w:w"), "0")
    made.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))  # again on every page


def _write(cell: Any, text: str, *, is_head: bool, to_right: bool) -> None:
    paragraph = cell.paragraphs[0]
    paragraph.paragraph_format.space_after = Pt(0)
    if to_right:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    paragraph.add_run(text).bold = is_head


def _readable(text: str) -> str:
    return UNWRITABLE.sub(" ", text)


def _draw_lines(row: Any, *sides: str) -> None:
    for cell in row.cells:
        borders = OxmlElement("w:tcBorders")
        for side in sides:
            line = OxmlElement(f"w:{side}")
            for name, value in (("val", "single"), ("sz", "6"), ("color", "000000")):
                line.set(qn(f"w:{name}"), value)
            borders.append(line)
        cell._tc.get_or_add_tcPr().append(borders)
