"""A report as a folder: named files whose bytes are made when they are written, their sums, and how a README lists
them. What a study and a round report is theirs; nothing here knows of either.

A folder as a ZIP file whose bytes follow from names and contents alone.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import textwrap
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from msgspec import Struct

from annotation.site.sentences import WIDTH
from annotation.tables.kernels.table import Column, Table, codebook, flat_cells, flat_columns
from annotation.tables.writing import Format, whole_file, write_codebook, write_entry, write_table

SUMS = "SHA256SUMS"
ABOUT_SUMS = f"SHA-256 of every other file: check with sha256sum -c {SUMS}"
SCRIPT = Path(__file__).parent / "kernels" / "recompute.py"
LONG_WORK = ("figures/", "flow.", "tables/")
Tell = Callable[[int, int, str], None]  # files written, files in all, the next one


class Content(Struct, frozen=True):
    """One file: its bytes are made when it is written."""

    name: str  # with folders
    about: str
    make: Callable[[], bytes]
    listed: str = ""  # the name of its group in the README; empty: its own


def script_content() -> Content:
    """What computes the headline numbers of any report again, far from this program."""
    return Content(SCRIPT.name, f"computes the headline numbers again: python {SCRIPT.name}", SCRIPT.read_bytes)


class WrittenFile(Struct, frozen=True):
    name: str  # with folders
    n_bytes: int
    sha256: str
    about: str

    @property
    def file(self) -> str:
        """Its name without folders."""
        return self.name.rpartition("/")[2]


def by_folder(files: Iterable[WrittenFile]) -> list[tuple[str, list[WrittenFile]]]:
    """The files of each folder; those beside the folders first."""
    found: dict[str, list[WrittenFile]] = {"": []}
    for one in files:
        folder, _slash, _file = one.name.rpartition("/")
        found.setdefault(folder, []).append(one)
    return list(found.items())


def csv_contents(table: Table, folder: str = "data/", *, with_codebook: bool = True) -> Iterator[Content]:
    """A table, and its codebook beside it."""

    def content() -> bytes:
        file = io.BytesIO()
        write_table(file, flat_columns(table.columns), (list(flat_cells(row)) for row in table.rows), Format.CSV)
        return file.getvalue()

    yield Content(f"{folder}{table.name}.csv", table.caption, content)
    if with_codebook:
        yield codebook_content(f"{folder}{table.name}", table.columns)


def table_contents(tables: Sequence[Table]) -> Iterator[Content]:
    """The tables of numbers, with one codebook for all of them."""
    for table in [*tables, codebook(tables)]:
        yield from csv_contents(table, "tables/", with_codebook=False)


def codebook_content(name: str, columns: Sequence[Column]) -> Content:
    def content() -> bytes:
        file = io.BytesIO()
        write_codebook(file, columns)
        return file.getvalue()

    return Content(f"{name}.codebook.csv", "what the columns of the table mean", content, "*.codebook.csv")


def listed_files(contents: Iterable[Content]) -> dict[str, str]:
    """What each file or group of files is, as a README lists them."""
    return {one.listed or one.name: one.about for one in contents} | {SUMS: ABOUT_SUMS}


def lines_of_files(files: Mapping[str, str]) -> list[str]:
    """``files``: what each file or folder is, by name, in the order to be listed."""
    width, lines = max(map(len, files)), list[str]()
    for name, about in files.items():
        indent = " " * (width + 2)
        lines += textwrap.wrap(f"{name:<{width}}  {about}", WIDTH, subsequent_indent=indent, break_long_words=False)
    return lines


@contextmanager
def begun_folder(name: str, *state: str) -> Iterator[Path]:
    """Where a report is written. Asked for again with the same state, which is another one where a figure or a table
    would be, it holds what was finished before the worker was stopped. It goes once the block ends well; what is left
    is swept with other leftovers.
    """
    folder = Path(settings.TEMP_ROOT) / f"{name}-{hashlib.sha256('|'.join(state).encode()).hexdigest()[:32]}"
    folder.mkdir(exist_ok=True, mode=0o700)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def write_contents(
    folder: Path, contents: Sequence[Content], tell: Tell | None = None, *, goes_on: bool = False
) -> list[WrittenFile]:
    """Write every file and the sums; files of the same name are replaced.

    ``goes_on``: figures and tables that lie there are whole, and stay; what follows from rows is always made.
    """
    n_files, written = len(contents) + 1, []
    for place, content in enumerate(contents):
        if tell is not None:
            tell(place, n_files, content.name)
        path = folder / content.name
        is_there = goes_on and content.name.startswith(LONG_WORK) and path.is_file()
        written.append(_write(folder, content.name, path.read_bytes() if is_there else content.make(), content.about))
    sums = "".join(f"{one.sha256}  {one.name}\n" for one in sorted(written, key=lambda one: one.name))
    written.append(_write(folder, SUMS, sums.encode(), ABOUT_SUMS))
    if tell is not None:
        tell(n_files, n_files, "")
    return sorted(written, key=lambda one: one.name)


def _write(folder: Path, name: str, content: bytes, about: str) -> WrittenFile:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content)
    return WrittenFile(name, len(content), hashlib.sha256(content).hexdigest(), about)


# --- A folder as a ZIP file whose bytes follow from names and contents alone. Pure ----------------
def zip_folder(folder: Path, to: Path, top: str) -> None:
    """Every file of ``folder`` by name, under the folder ``top``; no time, no owner, the same compression for all."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in names:
            write_entry(archive, f"{top}/{name}", (folder / name).read_bytes())
