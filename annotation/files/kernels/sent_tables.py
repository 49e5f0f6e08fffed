"""Files that somebody sent: what form one has, and the rows of a table, of CSV, XLSX or Parquet alike. Pure.

The form is found by the content, never by the name of the file. A file of another kind is refused, saying what it is.
Rows count as a spreadsheet counts them: the header is row 1, and a cell may hold several lines.

Of an XLSX file the first visible sheet is read, and only what a table needs: shared and inline texts, numbers as they
are written. The parts are read as a stream, so that memory holds one row and the shared texts; bytes, elements and
cells are counted as they come, since a spreadsheet of 100 kB can unpack to millions of cells. A part with a document
type, by which XML can grow without end, is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, NoReturn
from xml.parsers import expat

from annotation.files.kernels.strictjson import BOM, SPACE, FileRefused, unreadable

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


Line = tuple[int, list[str]]  # number of the row, and its cells
XLSX, PARQUET, CSV, LIST, OBJECT = "xlsx", "parquet", "csv", "list", "object"  # LIST and OBJECT: what JSON begins with
TABLES = (XLSX, PARQUET, CSV)
HEAD = 1 << 18
_SEPARATOR = re.compile(r'"?sep=([,;|\t])"?')
MOST_LINE_BYTES = 4_000_000
MOST_EMPTY = 1 << 20  # empty rows, as many as a sheet has
MOST_PARQUET_BYTES = 4_000_000_000  # of all columns, unpacked
MOST_GROUP_BYTES = 256_000_000
AT_ONCE = 1_000  # rows
_UTF16 = "UTF-16 text. Save it as UTF-8, in Excel as “CSV UTF-8”"
_IMAGE = "an image. Images are uploaded on their own page"
_OTHER_KINDS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls), or has a password. Save it as .xlsx without one or as CSV UTF-8",
    b"%PDF": "a PDF. Records are sent as JSON, JSON Lines, CSV or XLSX",
    b"\x1f\x8b": "a gzip archive. Unpack it first",
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"<": "HTML or XML, perhaps a page that a browser stored instead of the file",
}
_NO_PARQUET = (
    "The file is Parquet, which is off here, since pyarrow is not installed; “make setup EXTRAS=parquet” installs "
    "it, or send CSV or JSON Lines"
)


def find_form(stream: BinaryIO) -> str:
    """One of the forms above, by the head of the file; the stream is at its start then. Raises FileRefused.

    OBJECT is what begins with a brace, JSON Lines too, and what is empty.
    """
    stream.seek(0)
    head = stream.read(HEAD)
    stream.seek(0)
    text = head.removeprefix(BOM).lstrip(SPACE)
    for start, what in _OTHER_KINDS.items():
        if head.startswith(start) or text.startswith(start):
            raise unreadable("form", f"The file is {what}")
    if head.startswith(b"PK\x03\x04"):
        return XLSX
    if head.startswith(b"PAR1"):
        return PARQUET
    return {b"": OBJECT, b"{": OBJECT, b"[": LIST}.get(text[:1], CSV)


def cell_of_parquet(value: Any) -> str:
    """The text of one value of Parquet: of a list its parts with "|" between them."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "|".join(map(cell_of_parquet, value))
    return value if isinstance(value, str) else str(value)


def lines_of_table(stream: BinaryIO, form: str, parquet_cell: Callable[[Any], str] = cell_of_parquet) -> Iterator[Line]:
    """The rows of a file in one of the forms TABLES. Raises FileRefused."""
    if form == XLSX:
        return lines_of_sheet(stream)
    return lines_of_parquet(stream, parquet_cell) if form == PARQUET else lines_of_csv(stream)


# --- CSV ------------------------------------------------------------------------------------------
def lines_of_csv(stream: BinaryIO) -> Iterator[Line]:
    """Rows separated by comma, semicolon or tab, as the first line is; UTF-8, with or without BOM.

    A line ``sep=;`` before them, which Excel writes and hides, is no row of it. Raises FileRefused.
    """
    texts = _texts(stream)
    first = next(texts, "")
    if said := _SEPARATOR.fullmatch(first.strip(" \r\n")):
        first = next(texts, "")
    delimiter = said[1] if said else max(",;\t", key=first.count)
    rows = csv.reader(chain([first], texts), delimiter=delimiter, strict=True)
    number = n_empty = 0
    try:
        for number, cells in enumerate(rows, start=1):
            n_empty += not any(cells)
            if n_empty > MOST_EMPTY:
                raise unreadable("too_large", f"The file has more than {MOST_EMPTY:,} empty rows. Take them out")
            yield number, cells
    except csv.Error as error:
        sentence = f"Row {number + 1} is not valid CSV: {error}. Is a quotation mark open, or in the wrong place?"
        raise unreadable("syntax", sentence.removesuffix(".")) from None


def _texts(stream: BinaryIO) -> Iterator[str]:
    """Lines of a CSV file with their ends; a broken byte is reported with the line."""
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="strict").decode
    for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE_BYTES), b""), start=1):
        if len(line) == MOST_LINE_BYTES:
            raise unreadable("too_large", f"Line {number} is too long for a row of a table")
        try:
            yield decode(line)
        except UnicodeDecodeError:
            sentence = f"Line {number} is not UTF-8 text. Save the file as UTF-8, in Excel as “CSV UTF-8”"
            raise unreadable("encoding", sentence) from None


# --- Parquet --------------------------------------------------------------------------------------
def lines_of_parquet(stream: BinaryIO, cell_of: Callable[[Any], str]) -> Iterator[Line]:
    """Number and cells of each row, first the names of the columns. pyarrow may not be installed."""
    if find_spec("pyarrow") is None:
        raise unreadable("parquet_off", _NO_PARQUET)
    import pyarrow as pa  # here, since every start of the program would wait for it
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream)
        _check_sizes(file.metadata)
        yield 1, list(file.schema_arrow.names)
        batches = ([column.to_pylist() for column in batch.columns] for batch in file.iter_batches(AT_ONCE))
        rows = (cells for columns in batches for cells in zip(*columns, strict=True))
        for number, cells in enumerate(rows, start=2):
            yield number, [cell_of(cell) for cell in cells]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise unreadable("form", "The file is not Parquet, or broken") from None


def _check_sizes(metadata: Any) -> None:
    """Before anything is unpacked."""
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    if max(sizes, default=0) > MOST_GROUP_BYTES or sum(sizes) > MOST_PARQUET_BYTES or min(sizes, default=0) < 0:
        raise unreadable("too_large", "The Parquet file is too large. Write smaller groups of rows, or JSON Lines")
    if metadata.num_columns > MOST_COLUMNS:
        raise unreadable("columns", f"The Parquet file has more than {MOST_COLUMNS} columns")


# --- rows by the names of their columns -----------------------------------------------------------
class Row(NamedTuple):
    """The cells of one row by column, as they are written; ``fault`` where it has more or fewer than the header."""

    number: int
    cells: dict[str, str]
    fault: str = ""


def read_rows(
    lines: Iterable[Line],
    *,
    needed: Sequence[str] = (),
    known: Collection[str] | None = None,
    name_of: Callable[[str], str] = str,
) -> Iterator[Row]:
    """The rows under the header; empty ones are passed over. ``name_of`` gives the column that a name stands for.

    Raises FileRefused where a column is there twice or a needed one is missing, or one is not among the ``known``.
    """
    names: list[str] = []
    for number, cells in lines:
        if not any(map(str.strip, cells)):
            continue
        if names:
            fault = "" if len(cells) == len(names) else fault_of_width(names, cells)
            yield Row(number, dict(zip(names, cells, strict=False)), fault)
        else:
            names = [name_of(cell.strip()) for cell in cells]
            check_columns(names, needed, known)
    if not names:
        check_columns(names, needed, known)


def fault_of_width(names: Sequence[str], cells: Sequence[str]) -> str:
    """What is said of a row with more or fewer cells than columns."""
    sentence = f"The row has {len(cells)} cells, the first row {len(names)}."
    return f"{sentence} A text with a separator in it needs quotation marks around it."


def check_columns(names: Sequence[str], needed: Sequence[str] = (), known: Collection[str] | None = None) -> None:
    """Raises FileRefused; a column without a name may be there often."""
    check_named_once(names)
    if missing := ", ".join(repr(name) for name in needed if name not in names):
        raise unreadable("columns", f"The first row must name the columns {', '.join(needed)}. Missing: {missing}")
    if known is not None and (unknown := next((name for name in names if name not in known), None)) is not None:
        sentence = f"The column {unknown!r} is not known. Leave it out, or name it as one of these"
        raise unreadable("columns", f"{sentence}: {', '.join(known)}")


def check_named_once(names: Sequence[str]) -> None:
    """Raises FileRefused; a column without a name may be there often."""
    if twice := next((name for name, n in Counter(names).items() if name and n > 1), ""):
        raise unreadable("columns", f"The column {twice!r} is there twice")
