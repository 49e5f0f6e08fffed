"""The first visible sheet of an XLSX file as rows of text. Pure.

Only what a table needs: shared and inline texts, numbers as they are written. The parts are read as a stream, so that
memory holds one row and the shared texts; bytes, elements and cells are counted as they come, since a spreadsheet of
100 kB can unpack to millions of cells. A part with a document type, by which XML can grow without end, is refused.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NoReturn
from xml.parsers import expat

from annotation.files.kernels.strictjson import FileRefused, unreadable

MOST_SHEET_BYTES = 64_000_000  # of the file, and of one unpacked part
MOST_COLUMNS = 200
FEW_CELLS, CELLS_OF_A_BYTE = 200_000, 4  # a table of texts has less than one element and cell for each packed byte
MOST_CELLS = 10_000_000
MOST_DEPTH, LONGEST_TAG = 50, 1 << 20
PIECE = 1 << 16
_NO_SHEET = "The file is not an XLSX table: it is a ZIP archive of something else, or broken"
_TOO_LARGE = "Save the first sheet as CSV UTF-8"
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, LookupError, RuntimeError, EOFError, OSError, ValueError)
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_Element = tuple[str, dict[str, str], str]  # that has ended: its name, attributes, and the text directly in it


def lines_of_sheet(stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each row with something in it, every row as wide as the first. Raises FileRefused."""
    content = stream.read(MOST_SHEET_BYTES + 1)
    if len(content) > MOST_SHEET_BYTES:
        raise unreadable("too_large", f"The XLSX file has more than {MOST_SHEET_BYTES:,} bytes. {_TOO_LARGE}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from _Book(archive, len(content)).lines()
    except FileRefused:
        raise
    except (*_BROKEN, expat.ExpatError):
        raise unreadable("form", _NO_SHEET) from None


class _Book:
    """An open workbook, and how much more may be read of it."""

    def __init__(self, archive: zipfile.ZipFile, n_bytes: int) -> None:
        self._archive = archive
        self._most = self._left = min(MOST_CELLS, max(FEW_CELLS, CELLS_OF_A_BYTE * n_bytes))

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        shared = list(self._shared_texts())
        number = width = 0
        cells: list[str] = []
        texts: list[str] = []
        for name, attributes, text in self._elements(self._first_sheet()):
            if name in ("v", "t"):
                texts.append(text)
            elif name == "rPh":  # how a text is read aloud, which is no part of it
                texts.pop()
            elif name == "c":
                said = "".join(texts)
                cells += [""] * _n_left_out(attributes.get("r", ""), len(cells))
                cells.append(shared[_whole(said)] if attributes.get("t") == "s" and said else said)
                texts.clear()
            elif name == "row":
                number = _whole(attributes["r"]) if "r" in attributes else number + 1
                if any(cells):
                    width = width or len(cells)
                    self._count(width)
                    yield number, cells + [""] * (width - len(cells))
                cells = []

    def _first_sheet(self) -> str:
        """The part that the workbook names first, of those that a person sees."""
        book, links = self._elements("xl/workbook.xml"), self._elements("xl/_rels/workbook.xml.rels")
        shown = next(of for name, of, _text in book if name == "sheet" and of.get("state", "visible") == "visible")
        link = next(value for name, value in shown.items() if name.endswith(":id"))
        target = next(of["Target"].lstrip("/") for _name, of, _text in links if of.get("Id") == link)
        return target if target.startswith("xl/") else f"xl/{target}"

    def _shared_texts(self) -> Iterator[str]:
        if "xl/sharedStrings.xml" not in self._archive.namelist():
            return
        texts: list[str] = []
        for name, _attributes, text in self._elements("xl/sharedStrings.xml"):
            if name == "t":
                texts.append(text)
            elif name == "rPh":
                texts.pop()
            elif name == "si":
                yield "".join(texts)
                texts.clear()

    def _elements(self, part: str) -> Iterator[_Element]:
        """The elements of a part in the order in which they end."""
        if self._archive.getinfo(part).compress_type not in _PLAIN:
            raise unreadable("form", _NO_SHEET)
        parser, ended = expat.ParserCreate(), list[_Element]()
        opened: list[tuple[dict[str, str], list[str]]] = [({}, [])]

        def start(_name: str, attributes: dict[str, str]) -> None:
            if len(opened) > MOST_DEPTH:
                raise unreadable("form", _NO_SHEET)
            opened.append((attributes, []))

        def end(name: str) -> None:
            attributes, texts = opened.pop()
            ended.append((name.rpartition(":")[2], attributes, "".join(texts)))

        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = lambda text: opened[-1][1].append(text)
        parser.StartDoctypeDeclHandler = _refuse_document_type
        n_bytes = 0
        with self._archive.open(part) as stream:
            for piece in iter(lambda: stream.read(PIECE), b""):
                n_bytes += len(piece)
                if n_bytes > MOST_SHEET_BYTES:
                    sentence = f"The XLSX file unpacks to more than {MOST_SHEET_BYTES:,} bytes. {_TOO_LARGE}"
                    raise unreadable("too_large", sentence)
                parser.Parse(piece)
                if n_bytes - parser.CurrentByteIndex > LONGEST_TAG:
                    raise unreadable("form", _NO_SHEET)
                self._count(len(ended))
                yield from ended
                ended.clear()
        parser.Parse(b"", True)

    def _count(self, n: int) -> None:
        self._left -= n
        if self._left < 0:
            raise unreadable("too_large", f"The XLSX file unpacks to more than {self._most:,} cells. {_TOO_LARGE}")


def _refuse_document_type(*_args: object) -> NoReturn:
    raise unreadable("form", "The XLSX file holds a document type, which no spreadsheet writes")


def _n_left_out(reference: str, n_before: int) -> int:
    """How many columns are passed over before this cell: 0 for A1 as the first, 26 for AA1."""
    number = 0
    for sign in reference.rstrip("0123456789"):
        number = number * 26 + ord(sign) - 64
    number = number or n_before + 1
    if number > MOST_COLUMNS:
        raise unreadable("columns", f"The sheet has more than {MOST_COLUMNS} columns")
    if number <= n_before:
        raise unreadable("form", _NO_SHEET)
    return number - 1 - n_before


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise unreadable("form", _NO_SHEET)
    return int(text)
