"""Reports as people have them, row by row as the fields of an exam: a table (CSV, XLSX, Parquet), JSON, JSON Lines, one
text for each exam in a ZIP archive or a folder, or a pasted text. Pure.

A row names its exam (``study_id``) and holds the report whole (``report``) or in its parts, such as ``Findings``.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from annotation.files.kernels.sent_tables import LIST, TABLES, XLSX, find_form, read_rows
from annotation.files.kernels.strictjson import (
    Entry,
    ListReader,
    ObjectReader,
    entries_of_lines,
    first_line,
    unreadable,
    value_faults,
)
from annotation.generation.kernels.answer_forms import SENT_FIELDS
from annotation.questionbank.kernels.entries import ID, field_of_column, lines_of_questions, with_lists
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, REPORT_FIELDS
from annotation.questionbank.kernels.fields import MAX_REPORT_CHARS

EXAM, UID, REPORT, PLACE = "study_id", "StudyInstanceUid", "report", "row"
_OF_EXAM = {EXAM, UID, ID}
MOST_REPORTS = 100_000
MOST_BYTES = 64_000_000  # of all texts of an archive or a folder
_ALIASES = {"exam": EXAM, "examid": EXAM, "text": REPORT, "reporttext": REPORT}
_WANTED = "study_id (the id of the exam), and report, or Findings and Impression"
# The first letters of a heading, and the part that follows it; what follows the others is not kept.
_PARTS = {"find": "Findings", "impr": "Impression", "conc": "Impression", "comp": "Comparison"}
_PARTS |= dict.fromkeys(("indi", "hist", "clin", "reas"), "Indication")
_heading = re.compile(
    r"(?:^|(?<=[.?!]\s))[ \t]*(findings?(?:\s*(?:and|&|/)\s*impressions?)?|impressions?|conclusions?|comparisons?"
    r"|(?:clinical )?(?:indications?|history|information)|reason for exam(?:ination)?"
    r"|exam(?:ination)?|techniques?|procedures?|recommendations?|notifications?)[ \t]*:",
    re.MULTILINE | re.IGNORECASE,
)


class SentRow(NamedTuple):
    """``place``: where it stands in what was sent, as people say it; ``value``: fields by their names in a bank."""

    place: str
    value: dict[str, Any]
    faults: Sequence[str] = ()


class SentReports(NamedTuple):
    """``path``: where the file lies, from which its image paths start; None: it came by a page or a program."""

    rows: list[SentRow]
    name: str = ""
    sha256: str = ""
    path: Path | None = None

    def lines(self) -> str:
        """As JSON Lines, which are read as the same rows."""
        return "\n".join(json.dumps({PLACE: row.place, **row.value}, ensure_ascii=False) for row in self.rows)


def sent_file(stream: BinaryIO, name: str, path: Path | None = None, *, most: int = MOST_BYTES) -> SentReports:
    """The reports of a file, its form found by its content. Raises FileRefused.

    ``most``: bytes of all texts of an archive, which may unpack to far more than it has.
    """
    rows = _bounded(_rows_of(stream, most))
    stream.seek(0)
    file: Any = stream
    return SentReports(rows, name, hashlib.file_digest(file, "sha256").hexdigest(), path)


def sent_folder(path: Path) -> SentReports:
    """Of a text for each exam, named by its id. Raises FileRefused."""
    return _sent(_texts((one.name, partial(one.open, "rb")) for one in sorted(path.iterdir())), path.name)


def sent_values(values: Iterable[Mapping[str, Any]], name: str = "") -> SentReports:
    """Of a program, or of a person who pasted one text. Raises FileRefused."""
    return _sent((_row(f"row {number}", value) for number, value in enumerate(values, start=1)), name)


def _sent(rows: Iterable[SentRow], name: str) -> SentReports:
    found = SentReports(_bounded(rows), name)
    return found._replace(sha256=hashlib.sha256(found.lines().encode(errors="replace")).hexdigest())


def _bounded(rows: Iterable[SentRow]) -> list[SentRow]:
    found: list[SentRow] = []
    for row in rows:
        if len(found) == MOST_REPORTS:
            raise unreadable("too_large", f"There are more than {MOST_REPORTS:,} reports")
        found.append(row)
    return found


def parts_of_sent(text: str) -> tuple[str, str]:
    """Findings and impression of a text that is sent, from which ``sent_text`` makes it again."""
    findings, impression = (f"{name}: " for name in SENT_FIELDS)
    if not text.startswith(findings):
        return "", text.removeprefix(impression)
    before, _cut, after = text.removeprefix(findings).partition(f"\n{impression}")
    return before, after


# --- forms of files ---
def _rows_of(stream: BinaryIO, most: int) -> Iterator[SentRow]:
    form = find_form(stream)
    if form == XLSX and (archive := _archive_of_texts(stream)) is not None:
        with archive:
            files = [one for one in archive.infolist() if not one.is_dir()]
            if len(files) > MOST_REPORTS or sum(one.file_size for one in files) > most:
                sentence = "The archive has more than {:,} texts, or {:,} bytes of them"
                raise unreadable("too_large", sentence.format(MOST_REPORTS, most))
            yield from _texts((one.filename, partial(archive.open, one)) for one in files)
    elif form in TABLES:
        yield from _rows_of_table(stream, form)
    elif form == LIST:
        yield from (_row_of_entry(f"row {n}", entry) for n, entry in enumerate(ListReader(stream), start=1))
    elif _is_lines(stream):
        yield from (_row_of_entry(f"row {number}", entry) for number, entry in entries_of_lines(stream))
    else:
        yield from (_row_of_entry(f"row {n}", entry) for n, entry in enumerate(ObjectReader(stream), start=1))


def _is_lines(stream: BinaryIO) -> bool:
    """Whether the first line is a whole record, which names its exam; the stream is at its start then."""
    first = first_line(stream)
    stream.seek(0)
    value = first.value if first is not None else None
    return isinstance(value, dict) and any(_field_of(name) in _OF_EXAM for name in value)


def _row_of_entry(place: str, entry: Entry) -> SentRow:
    faults = [fault.message for fault in entry.faults]
    if isinstance(entry.value, dict):
        return _row(place, entry.value, faults)
    return SentRow(place, {}, faults or ["It is no object with the fields of an exam."])


def _rows_of_table(stream: BinaryIO, form: str) -> Iterator[SentRow]:
    lines = lines_of_questions(stream, form)
    head = next((line for line in lines if any(map(str.strip, line[1]))), (1, []))
    names = {_field_of(cell.strip()) for cell in head[1]}
    if not names & _OF_EXAM or not names & {REPORT, "Findings", "Impression"}:
        found = "".join(filter(str.isprintable, ", ".join(cell.strip()[:40] for cell in head[1])))[:400]
        raise unreadable("columns", f"The first row must name the columns {_WANTED}. Found: {found}")
    for row in read_rows(chain([head], lines), name_of=_field_of):
        value: dict[str, Any] = {name: cell.strip() for name, cell in row.cells.items() if name and cell.strip()}
        yield _row(f"row {row.number}", with_lists(value), [row.fault] * bool(row.fault))


def _archive_of_texts(stream: BinaryIO) -> zipfile.ZipFile | None:
    """None for a spreadsheet, and for what is no archive, which the reader of spreadsheets says."""
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, OSError):
        stream.seek(0)
        return None
    if "[Content_Types].xml" not in archive.namelist():
        return archive
    stream.seek(0)
    return None


def _texts(files: Iterable[tuple[str, Callable[[], Any]]]) -> Iterator[SentRow]:
    n_bytes = 0
    for name, opened in files:
        path = PurePosixPath(name)
        if path.name.startswith(".") or "__MACOSX" in path.parts:
            continue
        if path.suffix.lower() != ".txt":
            raise unreadable(
                "form", f"{path.name!r} is no report: each is a text named by its exam, such as s50414267.txt"
            )
        try:
            with opened() as stream:
                content = stream.read(4 * MAX_REPORT_CHARS + 1)  # of UTF-8, and one too many
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError):
            raise unreadable(
                "form", f"{path.name!r} cannot be unpacked: the archive has a password, or is broken"
            ) from None
        n_bytes += len(content)
        if n_bytes > MOST_BYTES:
            raise unreadable("too_large", f"The texts have more than {MOST_BYTES:,} bytes")
        try:
            yield _row(path.name, {EXAM: path.stem, REPORT: content.decode("utf-8-sig")})
        except UnicodeDecodeError:
            yield SentRow(path.name, {}, ["It is not UTF-8 text, or too long."])


# --- rows ---
def _field_of(column: str) -> str:
    found = field_of_column(column)
    return _ALIASES.get("".join(found.replace("_", " ").split()).casefold(), found)


def _row(place: str, value: Mapping[str, Any], faults: Sequence[str] = ()) -> SentRow:
    sent = {_field_of(name): member for name, member in value.items()}
    fields = {name: sent[name] for name in EXAM_FIELDS if name in sent}
    if not fields.keys() & _OF_EXAM and ID in sent:
        fields[EXAM] = sent[ID]
    place, report = str(sent.get(PLACE, place))[:80], sent.get(REPORT)
    if report is not None and not isinstance(report, str):
        faults = [*faults, f"{REPORT!r} must be text."]
    elif report and not any(fields.get(name) for name in ("Findings", "Impression")):
        fields |= parts_of_report(report)
    faults = [*faults, *(fault.message for name, member in fields.items() for fault in value_faults(name, member))]
    return SentRow(place, fields, list(dict.fromkeys(faults)))


def parts_of_report(text: str) -> dict[str, str]:
    """Its parts by their headings, at the start of a line or a sentence; without “Findings”, what stands first is."""
    first, *rest = _heading.split(text)
    found = [(_PARTS.get(name[:4].lower()), part.strip()) for name, part in zip(rest[::2], rest[1::2], strict=True)]
    if "Findings" not in dict(found):
        found.insert(0, ("Findings", first.strip()))
    parts = {name: "\n".join(part for own, part in found if own == name and part) for name in REPORT_FIELDS}
    return {name: part for name, part in parts.items() if part}
