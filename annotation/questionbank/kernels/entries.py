"""The entries of a question file in any of its forms: one JSON object, JSON Lines, CSV or XLSX. Pure.

Every form gives what the JSON object gives, (id, fields, faults), so that records are checked in one place alone. The
form is found by the content, never by the name of the file. A file of another kind is refused, saying what it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import BinaryIO

from annotation.questionbank.kernels.spreadsheets import BOM, ID, entries_of_table, lines_of_csv, lines_of_xlsx
from annotation.questionbank.kernels.strictjson import MAX_ENTRY_CHARS, Entry, Fault, FileUnreadable, ObjectReader

HEAD = 1 << 18
_TELLING = ("question", "options", "study_id", ID)  # fields of a record: none of them holds an object
_UTF16 = "UTF-16 text. Save it as UTF-8, in Excel as “CSV UTF-8”"
_IMAGE = "an image. Images are uploaded on their own page"
_OTHER_KINDS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls). Save it as .xlsx or as CSV UTF-8",
    b"%PDF": "a PDF. A question file is JSON, JSON Lines, CSV or XLSX",
    b"\x1f\x8b": "a gzip archive. Unpack it first",
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"<": "HTML or XML, perhaps a page that a browser stored instead of the file",
    b"[": "a JSON list. Write one record per line (JSON Lines), or one object, question id to record",
}


class EntryReader:
    """Iterate over the entries of a question file; ``bytes_read`` tells how far the reading has come.

    Raises FileUnreadable.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._object: ObjectReader | None = None

    @property
    def bytes_read(self) -> int:
        return self._object.bytes_read if self._object is not None else self._stream.tell()

    def __iter__(self) -> Iterator[Entry]:
        head = self._stream.read(HEAD)
        self._stream.seek(0)
        text = head.removeprefix(BOM).lstrip(b" \t\r\n")
        for start, what in _OTHER_KINDS.items():
            if head.startswith(start) or text.startswith(start):
                raise FileUnreadable("form", f"The file is {what}")
        if head.startswith(b"PK\x03\x04"):
            yield from entries_of_table(lines_of_xlsx(self._stream))
        elif text and not text.startswith(b"{"):
            yield from entries_of_table(lines_of_csv(self._stream))
        elif _is_lines(text):
            lines = iter(lambda: self._stream.readline(4 * MAX_ENTRY_CHARS), b"")
            for number, line in enumerate(lines, start=1):
                if content := line.removeprefix(BOM if number == 1 else b"").strip():
                    yield _entry_of_line(number, content)
        else:
            self._object = ObjectReader(self._stream)
            yield from self._object


def _is_lines(text: bytes) -> bool:
    """Whether the first line is a record, rather than the beginning of an object of records."""
    try:
        first = json.loads(text.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and any(type(first.get(name)) in (str, int, list) for name in _TELLING)


def _entry_of_line(number: int, line: bytes) -> Entry:
    """The record of one line; what spoils a line is a fault of that line alone."""
    name = f"line {number}"
    try:
        (_name, value, faults), *more = ObjectReader(io.BytesIO(b'{"":' + line + b"}"))
    except FileUnreadable as error:
        return Entry(name, None, (Fault("", error.code, f"Line {number}: {error.sentence}."),))
    if more:
        return Entry(name, None, (Fault("", "syntax", f"Line {number} holds more than one record."),))
    if type(value) is not dict:
        return Entry(name, value, faults)
    key = value.pop(ID, None)
    if type(key) in (str, int) and key != "":
        return Entry(str(key), value, faults)
    return Entry(name, value, (*faults, Fault(ID, "completeness", f"Line {number} has no id.")))
