"""The first sheet of an XLSX file as rows of text. Pure.

Only what a table of questions or predictions needs: shared and inline texts, numbers as they are written. Sizes are
counted while the parts are unpacked, and a part with a document type, by which XML can grow without end, is refused.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree

from annotation.questionbank.kernels.strictjson import BankRefused, unreadable

MOST_BYTES = 64_000_000  # of one unpacked part
MOST_COLUMNS = 200
_NAMES = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_NO_SHEET = "The file is not an XLSX table: it is a ZIP archive of something else, or broken"
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, LookupError, RuntimeError, EOFError, OSError, ValueError)
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def lines_of_sheet(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each row, every row as wide as the first. Raises BankRefused."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = _shared_texts(archive)
            sheet = _part(archive, _first_sheet(archive))
        width = 0
        for row in _elements(sheet, "row"):
            cells = _cells(row, texts)
            width = width or len(cells)
            yield _whole(row.get("r", "")), cells + [""] * (width - len(cells))
    except BankRefused:
        raise
    except (*_BROKEN, ElementTree.ParseError):
        raise unreadable("form", _NO_SHEET) from None


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).compress_type not in _PLAIN:
        raise unreadable("form", _NO_SHEET)
    with archive.open(name) as part:
        content = part.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise unreadable("form", "A part of the XLSX file is too large")
    if b"<!DOCTYPE" in content or b"\0" in content:  # a NUL: UTF-16, in which it would not be seen
        raise unreadable("form", "The XLSX file holds a document type, which no spreadsheet writes")
    return content


def _first_sheet(archive: zipfile.ZipFile) -> str:
    """The part that the workbook names first."""
    book = ElementTree.fromstring(_part(archive, "xl/workbook.xml"))  # noqa: S314 - without document type
    first = book.find(f"{_NAMES}sheets/{_NAMES}sheet")
    if first is None:
        raise unreadable("form", _NO_SHEET)
    links = ElementTree.fromstring(_part(archive, "xl/_rels/workbook.xml.rels"))  # noqa: S314
    for link in links:
        if link.get("Id") == first.get(_RELATION):
            target = (link.get("Target") or "").lstrip("/")
            return target if target.startswith("xl/") else f"xl/{target}"
    raise unreadable("form", _NO_SHEET)


def _shared_texts(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    return [_text(item) for item in _elements(_part(archive, "xl/sharedStrings.xml"), "si")]


def _elements(content: bytes, name: str) -> Iterator[ElementTree.Element]:
    for _event, element in ElementTree.iterparse(io.BytesIO(content)):  # noqa: S314
        if element.tag == _NAMES + name:
            yield element
            element.clear()


def _text(element: ElementTree.Element) -> str:
    """All runs of a rich text; readings of phonetic guides are not part of it."""
    return "".join(
        part.text or "" for run in (element, *element.findall(f"{_NAMES}r")) for part in run.findall(f"{_NAMES}t")
    )


def _cells(row: ElementTree.Element, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row.findall(f"{_NAMES}c"):
        column = _column(cell.get("r", "")) if cell.get("r") else len(cells)
        if not len(cells) <= column < MOST_COLUMNS:
            raise unreadable("form", _NO_SHEET)
        cells += [""] * (column - len(cells)) + [_cell(cell, texts)]
    return cells


def _column(reference: str) -> int:
    """0 for A1, 26 for AA1."""
    number = 0
    for sign in reference.rstrip("0123456789"):
        number = number * 26 + ord(sign) - 64
    return number - 1


def _cell(cell: ElementTree.Element, texts: list[str]) -> str:
    value = cell.findtext(f"{_NAMES}v") or ""
    kind = cell.get("t")
    if kind == "s":
        return texts[_whole(value)]
    if kind == "inlineStr":
        inline = cell.find(f"{_NAMES}is")
        return _text(inline) if inline is not None else ""
    return value


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise unreadable("form", _NO_SHEET)
    return int(text)
