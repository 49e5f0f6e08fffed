"""The programs that people open exported tables with, each by its defaults, and what every cell has to be there."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pytest

from annotation.tables.writing import CellOrDay, Column, Format, Kind, iso, restored, write_table

Rows = list[list[Any]]  # None: missing


class Written(NamedTuple):
    """A table as it was written: where, its columns, its rows."""

    door: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]


def _of_frame(found: pd.DataFrame) -> Rows:
    return [list(row) for row in found.astype(object).where(found.notna(), None).itertuples(index=False, name=None)]


def _of_duckdb(found: duckdb.DuckDBPyRelation) -> Rows:
    return [list(row) for row in found.fetchall()]


def _of_lines(path: Path) -> Rows:
    """polars gives the columns in an order of its own."""
    with path.open(encoding="utf-8") as lines:
        names = list(json.loads(next(lines)))
    return [list(row) for row in pl.read_ndjson(path).select(names).iter_rows()]


def _of_workbook(path: Path) -> Rows:
    return [list(row) for row in openpyxl.load_workbook(path).worksheets[0].iter_rows(min_row=2, values_only=True)]


R_SCRIPT = """
suppressMessages({library(readr); library(data.table)})
cells <- function(x) {
  text <- if (is.character(x)) vapply(enc2utf8(x), function(s) paste(charToRaw(s), collapse = ""), "")
    else if (inherits(x, "POSIXct")) format(x, "%Y-%m-%dT%H:%M:%OS6Z", tz = "UTC")
    else if (is.numeric(x) && is.null(attr(x, "class"))) formatC(x, digits = 17, format = "g")
    else as.character(x)
  kind <- if (is.character(x)) "t" else if (is.logical(x)) "b" else if (is.null(attr(x, "class"))) "n" else "d"
  paste0(ifelse(is.na(x), "-", kind), ifelse(is.na(x), "", text))
}
for (f in commandArgs(TRUE)) {
  d <- READ
  writeLines(do.call(paste, c(lapply(d, cells), sep = "\\t")), paste0(f, ".read"))
}
"""


def _by_r(read: str) -> Callable[[Sequence[Path]], list[Rows]]:
    def reads(paths: Sequence[Path]) -> list[Rows]:
        if shutil.which("Rscript") is None:
            pytest.skip("R is not on this machine")
        script = paths[0].with_name("read.R")
        script.write_text(R_SCRIPT.replace("READ", read))
        packages = subprocess.run(["Rscript", script, *paths], check=False, capture_output=True, text=True)
        if "there is no package" in packages.stderr:
            pytest.skip("R is without readr or data.table")
        assert packages.returncode == 0, packages.stderr
        lines = [Path(f"{path}.read").read_text().splitlines() for path in paths]
        return [[list(map(_of_r, line.split("\t"))) for line in one] for one in lines]

    return reads


def _of_r(cell: str) -> Any:
    kind, text = cell[:1], cell[1:]
    if kind == "t":
        return bytes.fromhex(text).decode()
    made: dict[str, Callable[[str], Any]] = {"b": lambda text: text == "TRUE", "n": float, "d": str}
    return None if kind == "-" else made[kind](text)


def _by_office(paths: Sequence[Path]) -> list[Rows]:
    """LibreOffice opens them as Excel does: by the content of each cell."""
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not on this machine")
    folder = paths[0].parent
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/office", "--convert-to", "xlsx"]
    subprocess.run([*command, "--infilter=CSV:44,34,76,1", "--outdir", folder, *paths], check=True, capture_output=True)
    return [_of_workbook(path.with_suffix(".xlsx")) for path in paths]


def _each(read: Callable[[Path], Rows]) -> Callable[[Sequence[Path]], list[Rows]]:
    return lambda paths: [read(path) for path in paths]


READERS: dict[tuple[Format, str], Callable[[Sequence[Path]], list[Rows]]] = {
    (Format.CSV, "pandas"): _each(lambda path: _of_frame(pd.read_csv(path))),
    (Format.CSV, "polars"): _each(lambda path: [list(row) for row in pl.read_csv(path).iter_rows()]),
    (Format.CSV, "DuckDB"): _each(lambda path: _of_duckdb(duckdb.read_csv(str(path)))),
    (Format.CSV, "R"): _by_r("read.csv(f, fileEncoding = 'UTF-8-BOM')"),
    (Format.CSV, "readr"): _by_r("read_csv(f, show_col_types = FALSE, progress = FALSE)"),
    # which alone leaves a quotation mark inside a text doubled
    (Format.CSV, "data.table"): _by_r(
        """as.data.frame(lapply(fread(f), function(x) if (is.character(x)) gsub('""', '"', x, fixed = TRUE) else x))"""
    ),
    (Format.CSV, "LibreOffice"): _by_office,
    # pandas alone reads numbers into the text of JSON, unless it is told not to
    (Format.JSONL, "pandas"): _each(lambda path: _of_frame(pd.read_json(path, lines=True, dtype=False))),
    (Format.JSONL, "polars"): _each(_of_lines),
    (Format.JSONL, "DuckDB"): _each(lambda path: _of_duckdb(duckdb.read_json(str(path)))),
    (Format.PARQUET, "pandas"): _each(lambda path: _of_frame(pd.read_parquet(path))),
    (Format.PARQUET, "polars"): _each(lambda path: [list(row) for row in pl.read_parquet(path).iter_rows()]),
    (Format.PARQUET, "DuckDB"): _each(lambda path: _of_duckdb(duckdb.read_parquet(str(path)))),
    (Format.XLSX, "Excel"): _each(_of_workbook),
}


def misread(tables: Sequence[Written], form: Format, program: str, folder: Path) -> set[tuple[str, ...]]:
    """Write these tables in the form and read them by the program: the cells that are not what they were."""
    paths = [folder / f"table-{number}.{form.value}" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        with path.open("wb") as file:
            write_table(file, table.columns, table.rows, form, is_marked=True)
    read = READERS[form, program](paths)
    return {
        (program, *fault) for table, found in zip(tables, read, strict=True) for fault in _faults(table, found, form)
    }


def _faults(table: Written, found: Rows, form: Format) -> Iterator[tuple[str, ...]]:
    if len(found) != len(table.rows):
        yield table.door, "rows", f"{len(table.rows)}", f"{len(found)}"
        return
    for wanted, got in zip(table.rows, found, strict=True):
        for column, cell, read in zip(table.columns, wanted, got, strict=True):
            if not _is_same(column.kind, cell, read, form):
                yield table.door, column.name, str(cell), str(read)


def _is_same(kind: Kind, cell: CellOrDay, read: Any, form: Format) -> bool:
    if kind == Kind.TEXT:
        assert isinstance(cell, str), "text is never missing: an empty cell is the empty text"
        yes_no = isinstance(read, bool) and cell.lower() == ("yes" if read else "no")  # DuckDB reads a column of yes so
        return yes_no or _as_text(read, form).strip() == cell.strip()
    if cell is None or read in (None, ""):  # R by itself reads columns of true and of moments as text
        return cell is None and read in (None, "")
    if kind == Kind.YES_NO:
        return read is cell or read == json.dumps(cell)
    if isinstance(cell, date):
        return _moment(read) == (iso(cell) if isinstance(cell, datetime) else cell.isoformat())
    assert isinstance(cell, int | float)
    return math.isclose(float(read), cell, rel_tol=1e-12)  # spreadsheets have 15 digits, and pandas reads quickly


def _as_text(read: Any, form: Format) -> str:
    """A number and a day may be read as such where that is the same text."""
    if read is None:
        return ""
    if isinstance(read, float) and not isinstance(read, bool):
        return json.dumps(int(read) if read.is_integer() else read)
    text = _moment(read)
    return restored(text) if form is Format.CSV else text


def _moment(read: Any) -> str:
    if isinstance(read, datetime):
        at = read if read.tzinfo else read.replace(tzinfo=UTC)
        is_day = not any((at.hour, at.minute, at.second)) and not read.tzinfo
        return at.date().isoformat() if is_day else iso(at + timedelta(0))
    return read.isoformat() if isinstance(read, date) else str(read)
