"""Tables as CSV, XLSX, JSON Lines and Parquet, row by row, in files that are whole or not there.

The same rows always give the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import Word
from annotation.files.kernels.cells import neutralised as neutralised
from annotation.files.kernels.cells import restored as restored
from annotation.refusals import Refused
from annotation.site.health import INSTALL_PARQUET, has_parquet
from annotation.tables.kernels.table import Cell as Cell
from annotation.tables.kernels.table import Column as Column
from annotation.tables.kernels.table import Kind as Kind

ROWS_PER_GROUP = 5000
CellOrDay = Cell | date


class Format(Word):
    CSV = "csv", "CSV"
    XLSX = "xlsx", "XLSX"
    JSONL = "jsonl", "JSON Lines"
    PARQUET = "parquet", "Parquet"


PACKAGE = "zip"  # asked for in place of a format: all of them, with what describes them


class ExportRefused(Refused):
    """A table cannot be written here, or its reader may not have it; nothing was written."""


def formats_here() -> tuple[Format, ...]:
    """The formats that this installation can write."""
    return tuple(form for form in Format if form != Format.PARQUET or has_parquet())


def check_format(form: Format) -> None:
    """Raises ExportRefused."""
    if form not in formats_here():
        raise ExportRefused("format_off", f"{form.label} is off: pyarrow is not installed; {INSTALL_PARQUET}.")


CONTENT_TYPES = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Format.JSONL: "application/x-ndjson; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
}


MARK = "\ufeff"  # by which spreadsheets know that a CSV file is UTF-8; programs skip it


def write_table(
    to: IO[bytes], columns: Sequence[Column], rows: Iterable[Sequence[Cell]], form: Format, *, is_marked: bool = False
) -> int:
    """Write all rows and return how many there were; memory does not grow with them. Raises ExportRefused.

    ``is_marked``: CSV for people, who open it in a spreadsheet.
    """
    check_format(form)
    if is_marked and form == Format.CSV:
        to.write(MARK.encode())
    writers = {Format.CSV: _write_csv, Format.XLSX: _write_xlsx, Format.JSONL: _write_jsonl}
    return writers.get(form, _write_parquet)(to, columns, _with_days(columns, rows))


def _with_days(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Iterator[Sequence[CellOrDay]]:
    """Moments in columns of days leave as days."""
    places = [place for place, column in enumerate(columns) if column.kind == Kind.DAY]
    for row in rows:
        cells: list[CellOrDay] = list(row)
        for place in places:
            if isinstance(at := cells[place], datetime):
                cells[place] = at.astimezone(UTC).date()
        yield cells


CODEBOOK = [Column(name, Kind.TEXT, "") for name in ("column", "kind", "meaning", "values")]


def codebook_rows(columns: Sequence[Column]) -> list[tuple[str, str, str, str]]:
    """The codebook as a table: column, kind, meaning, values."""
    return [(column.name, column.kind.label, column.meaning, column.values) for column in columns]


def write_codebook(to: IO[bytes], columns: Sequence[Column]) -> None:
    """The codebook as CSV."""
    to.write(MARK.encode())
    _write_csv(to, CODEBOOK, iter(codebook_rows(columns)))


def iso(at: datetime) -> str:
    """UTC to the microsecond: 2026-11-21T12:00:00.000000Z."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _iso_of(at: date) -> str:
    return iso(at) if isinstance(at, datetime) else at.isoformat()


def _write_csv(to: IO[bytes], columns: Sequence[Column], rows: Iterator[Sequence[CellOrDay]]) -> int:
    text = io.TextIOWrapper(to, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([column.name for column in columns])
    n = 0
    for row in rows:
        writer.writerow([_csv_cell(cell) for cell in row])
        n += 1
    text.detach()
    return n


def _csv_cell(cell: CellOrDay) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, date):
        return _iso_of(cell)
    return neutralised(cell) if isinstance(cell, str) else str(cell)


def _write_jsonl(to: IO[bytes], columns: Sequence[Column], rows: Iterator[Sequence[CellOrDay]]) -> int:
    names = [column.name for column in columns]
    n = 0
    for row in rows:
        cells = (_iso_of(cell) if isinstance(cell, date) else cell for cell in row)
        line = json.dumps(dict(zip(names, cells, strict=True)), ensure_ascii=False)
        to.write(line.encode() + b"\n")
        n += 1
    return n


# --- spreadsheet ----------------------------------------------------------------------------------
MOST_ROWS = 1_048_575  # of a sheet, below its head
MOST_SIGNS = 32_767  # of a cell
EXACT = 2**53  # whole numbers beyond lose digits in a spreadsheet
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
MODIFIED = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")
WRITTEN = datetime(2000, 1, 1, tzinfo=UTC)  # what office files ask for and nobody needs: the same for every file


def _write_xlsx(to: IO[bytes], columns: Sequence[Column], rows: Iterator[Sequence[CellOrDay]]) -> int:
    """One sheet with the rows and one with what the columns mean. Text is text: nothing in it is a formula.

    Raises ExportRefused for what a spreadsheet cannot hold.
    """
    from openpyxl import Workbook  # here, as below

    book, n = Workbook(write_only=True), 0
    sheet = book.create_sheet("data")
    sheet.freeze_panes = "A2"
    sheet.append([xlsx_cell(sheet, one.name, is_head=True) for one in columns])
    for n, row in enumerate(rows, start=1):
        if n > MOST_ROWS or any(isinstance(cell, str) and len(cell) > MOST_SIGNS for cell in row):
            sheet.close()
            sentence = _("A spreadsheet cannot hold this table: take CSV or Parquet.")
            raise ExportRefused("too_large", sentence, status=422)
        sheet.append([xlsx_cell(sheet, cell) for cell in row])
    meanings = book.create_sheet("codebook")
    for line in ([one.name for one in CODEBOOK], *codebook_rows(columns)):
        meanings.append([xlsx_cell(meanings, cell) for cell in line])
    stream = io.BytesIO()
    book.save(stream)
    to.write(timeless(stream.getvalue()))
    return n


def xlsx_cell(sheet: Any, value: CellOrDay, *, is_head: bool = False) -> Any:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    if isinstance(value, date):
        value = _iso_of(value)
    if type(value) is int and abs(value) > EXACT:
        value = str(value)
    if not isinstance(value, str):
        return WriteOnlyCell(sheet, value)
    cell = WriteOnlyCell(sheet, UNWRITABLE.sub(" ", value))
    cell.data_type = "s"
    if is_head:
        cell.font = Font(bold=True)
    return cell


def timeless(office_file: bytes) -> bytes:
    """The same ZIP without the time of writing, inside and outside of its parts."""
    stream, moment = io.BytesIO(), f"{WRITTEN:%Y-%m-%dT%H:%M:%SZ}".encode()
    with (
        zipfile.ZipFile(io.BytesIO(office_file)) as written,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        for name in written.namelist():
            part = written.read(name)
            write_entry(file, name, MODIFIED.sub(rb"\g<1>" + moment, part) if name == "docProps/core.xml" else part)
    return stream.getvalue()


EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a ZIP can name
FILE_MODE = 0o100644 << 16
UNIX = 3


def write_entry(archive: zipfile.ZipFile, name: str, content: bytes | IO[bytes]) -> None:
    """Its bytes follow from name and content."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, FILE_MODE, UNIX
    if isinstance(content, bytes):
        archive.writestr(entry, content)
        return
    with archive.open(entry, "w", force_zip64=True) as target:
        shutil.copyfileobj(content, target, 1 << 20)


# --- all tables in all forms, described for programs ----------------------------------------------
class PackagedTable(Struct, frozen=True):
    """A table of a package; ``write`` writes it in a form to a seekable file."""

    name: str
    columns: Sequence[Column]
    write: Callable[[IO[bytes], Format], object]


FIELD_TYPES = {
    Kind.TEXT: "string",
    Kind.WHOLE: "integer",
    Kind.REAL: "number",
    Kind.YES_NO: "boolean",
    Kind.TIME: "datetime",
    Kind.DAY: "date",
}


def write_package(to: IO[bytes], name: str, resources: Sequence[PackagedTable]) -> None:
    """A ZIP with each table in each form, and what describes them."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in resources:
            for form in formats_here():
                with scratch_file() as file:
                    try:
                        one.write(file, form)
                    except ExportRefused:
                        if form != Format.XLSX:
                            raise
                        continue  # a spreadsheet cannot hold it: it is there in the other forms
                    file.seek(0)
                    write_entry(archive, f"{name}/{one.name}.{form.value}", file)
        for file_name, content in descriptions(name, {one.name: one.columns for one in resources}).items():
            write_entry(archive, f"{name}/{file_name}", content)
    to.seek(0)


OF_CSV = "In CSV a text that a program would take for something else has an apostrophe in front: take it away."


def descriptions(name: str, tables: Mapping[str, Sequence[Column]]) -> dict[str, bytes]:
    """One codebook for all these tables, and a data package (Frictionless) of their CSV files.

    Text is never missing, and empty where there is nothing; of other columns an empty cell is missing.
    """
    meanings = [(table, *row) for table, columns in tables.items() for row in codebook_rows(columns)]
    book = io.BytesIO()
    write_table(book, [Column("table", Kind.TEXT), *CODEBOOK], meanings, Format.CSV, is_marked=True)
    resources = [_described(table, columns) for table, columns in tables.items()]
    package = {"name": name, "profile": "tabular-data-package", "description": OF_CSV, "resources": resources}
    text = json.dumps(package, ensure_ascii=False, indent=2)
    return {"codebook.csv": book.getvalue(), "datapackage.json": text.encode()}


def _described(table: str, columns: Sequence[Column]) -> dict[str, Any]:
    fields = [
        {
            "name": column.name,
            "type": FIELD_TYPES[column.kind],
            "description": column.meaning,
            "missingValues": [] if column.kind == Kind.TEXT else [""],
        }
        for column in columns
    ]
    return {
        "name": table,
        "path": f"{table}.csv",
        "profile": "tabular-data-resource",
        "encoding": "utf-8",
        "schema": {"fields": fields},
    }


def _write_parquet(to: IO[bytes], columns: Sequence[Column], rows: Iterator[Sequence[CellOrDay]]) -> int:
    """Groups of a fixed number of rows, and no metadata that tells when or where: the bytes follow from the rows."""
    import pyarrow as pa  # here, since every start of the program would wait for it
    import pyarrow.parquet as pq

    arrow = {
        Kind.TEXT: pa.string(),
        Kind.WHOLE: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.YES_NO: pa.bool_(),
        Kind.TIME: pa.timestamp("us", "UTC"),
        Kind.DAY: pa.date32(),
    }
    schema = pa.schema(
        pa.field(column.name, arrow[column.kind], metadata={"description": column.meaning}) for column in columns
    )
    n = 0
    with pq.ParquetWriter(to, schema, compression="zstd", version="2.6") as writer:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            arrays = [
                pa.array(cells, type=field.type) for cells, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=ROWS_PER_GROUP)
            n += len(group)
    return n


class Written(Struct, frozen=True):
    n_rows: int
    sha256: str


def write_digested(to: IO[bytes], columns: Sequence[Column], rows: Iterable[Sequence[Cell]], form: Format) -> Written:
    """Write a table to ``to`` (seekable, left at its start) and say how many rows and which bytes."""
    n_rows = write_table(to, columns, rows, form, is_marked=True)
    to.flush()
    to.seek(0)
    digest = hashlib.file_digest(to, "sha256").hexdigest()  # type: ignore[arg-type]
    to.seek(0)
    return Written(n_rows, digest)


def scratch_file() -> IO[bytes]:
    """A file without a name in the site's own folder; it is gone when it is closed."""
    return tempfile.TemporaryFile(dir=settings.TEMP_ROOT)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when all of it is written."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w+b") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
