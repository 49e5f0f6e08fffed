"""Where an export is written: a file that is whole or not there, and the digest of what was written."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings

from annotation.exports.tables import Cell, Column, Format, write_table


@dataclass(frozen=True)
class Written:
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
