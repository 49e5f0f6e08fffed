"""Tables as CSV, JSON Lines and Parquet, row by row, in files that are whole or not there.

The same rows always give the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import IO

from django.conf import settings
from msgspec import Struct

from annotation.enums import Word
from annotation.questionbank.kernels.entries import neutralised as neutralised
from annotation.questionbank.kernels.entries import restored as restored
from annotation.refusals import Refused
from annotation.site.health import INSTALL_PARQUET, has_parquet
from annotation.tables.kernels.table import Cell as Cell
from annotation.tables.kernels.table import Column as Column
from annotation.tables.kernels.table import Kind as Kind

ROWS_PER_GROUP = 5000
CellOrDay = Cell | date


class Format(Word):
    CSV = "csv", "CSV"
    JSONL = "jsonl", "JSON Lines"
    PARQUET = "parquet", "Parquet"


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
    Format.JSONL: "application/x-ndjson; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
}


def write_table(to: IO[bytes], columns: Sequence[Column], rows: Iterable[Sequence[Cell]], form: Format) -> int:
    """Write all rows and return how many there were; memory does not grow with them. Raises ExportRefused."""
    check_format(form)
    write = {Format.CSV: _write_csv, Format.JSONL: _write_jsonl, Format.PARQUET: _write_parquet}[form]
    return write(to, columns, _with_days(columns, rows))


def _with_days(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Iterator[Sequence[CellOrDay]]:
    """Moments in columns of days leave as days."""
    places = [place for place, column in enumerate(columns) if column.kind == Kind.DAY]
    for row in rows:
        cells: list[CellOrDay] = list(row)
        for place in places:
            if isinstance(at := cells[place], datetime):
                cells[place] = at.astimezone(UTC).date()
        yield cells


def codebook_rows(columns: Sequence[Column]) -> list[tuple[str, str, str, str]]:
    """The codebook as a table: column, kind, meaning, values."""
    return [(column.name, column.kind.label, column.meaning, column.values) for column in columns]


def write_codebook(to: IO[bytes], columns: Sequence[Column]) -> None:
    """The codebook as CSV."""
    head = [Column(name, Kind.TEXT, "") for name in ("column", "kind", "meaning", "values")]
    _write_csv(to, head, iter(codebook_rows(columns)))


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
    n_rows = write_table(to, columns, rows, form)
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
