"""JSON that somebody sent, read strictly: what two programs could read in two ways is refused. Pure.

An object ``{id: record, ...}`` or a list of any length is read as a stream, in constant memory; so are JSON Lines. One
value is read whole. Bounded are the bytes and the values: a few bytes of text are many of memory.

There are two kinds of fault. What ends the reading (not UTF-8, not JSON, a record larger than the limit, text after
the end) raises :class:`FileRefused` with its line and column. What spoils one record only (a repeated field name, NaN
or Infinity, a number too long to hold, half a surrogate pair, a NUL) is listed in ``Entry.faults`` and reading goes
on, so that one pass finds every fault of the file.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from annotation.refusals import Refused

CHUNK_BYTES = 1 << 18
MAX_ENTRY_CHARS = 1_000_000
MAX_KEY_CHARS = 255
MOST_VALUES = 200_000  # in one value that is read whole: 200,000 objects take half a second and 60 MB
BOM = b"\xef\xbb\xbf"
MOST_LINE_BYTES = 4_000_000
LONGEST_FIRST_LINE = 2_000_000  # bytes; an object in a longer line holds all records
SPACE = b" \t\r\n"
_skip_space = re.compile(r"[ \t\n\r]*").match
_text_in_quotes = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"?', re.DOTALL)
NO_TEXT = re.compile("[\0\ud800-\udfff]")  # what no database takes as a character
NO_CHARACTERS = ("nul_character", "lone_surrogate")  # codes of the faults of such a text
_FAULTS_OF_TEXT = (
    (re.compile("\0").search, "nul_character", "The text holds a NUL character."),
    (
        re.compile("[\ud800-\udfff]").search,
        "lone_surrogate",
        "The text holds half a surrogate pair, which is no character.",
    ),
)


class Fault(NamedTuple):
    """What spoils one entry: the field, a code, a sentence."""

    field: str
    code: str
    message: str


class Entry(NamedTuple):
    """One record: a member of the object under its name, or a line or a member of a list; ``value`` is any value."""

    key: str
    value: Any
    faults: tuple[Fault, ...]


class FileRefused(Refused):
    """A file cannot be read; the sentence says why, where, and what to do."""


def unreadable(code: str, sentence: str, *, line: int = 0, column: int = 0, after: str = "") -> FileRefused:
    """A file cannot be read on from ``line`` and ``column`` (both from 1, 0: no place), which are in the facts."""
    where = f" (line {line}, column {column}{f', after {after!r}' if after else ''})" if line else ""
    return FileRefused(code, f"{sentence}{where}.", status=422, what=sentence, line=line, column=column)


class _Rejected(NamedTuple):
    """Takes the place, in a parsed value, of a number that was refused, until the field that holds it is known."""

    code: str
    sentence: str


class StrictDecoder:
    """Parses values out of texts by the decoder of :mod:`json`, and knows what spoils the last one."""

    def __init__(self) -> None:
        self._repeated: list[str] = []
        self._spoiled = False
        self.value_at = json.JSONDecoder(  # of a text and a place: the value and where it ends, or JSONDecodeError
            object_pairs_hook=self._build_object,
            parse_float=self._parse_float,
            parse_int=self._parse_int,
            parse_constant=lambda name: self._reject("not_finite", f"is {name}, which is not JSON"),
        ).raw_decode

    def begin(self) -> None:
        """Forget what was wrong with the value before."""
        self._repeated, self._spoiled = [], False

    def faults(self, key: str, value: Any, text: str, start: int = 0, end: int | None = None) -> tuple[Fault, ...]:
        """What is wrong with this value of that name, which were parsed out of that piece of the text."""
        end = len(text) if end is None else end
        faults = [Fault(name, "duplicate_field", f"The field {name!r} is there twice.") for name in self._repeated]
        escaped = text.find("\\", start, end)  # one character is found much faster than two
        if self._spoiled or (escaped >= 0 and text.find("\\u", escaped, end) >= 0):
            members = value if isinstance(value, dict) else {"": value}
            faults += value_faults("", [key, *members])
            for name, member in members.items():
                faults += value_faults(name, member)
        return tuple(faults)

    def _build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            counted = Counter(name for name, _value in pairs)
            self._repeated += [name for name, n in counted.items() if n > 1]
        return members

    def _parse_float(self, text: str) -> float | _Rejected:
        number = float(text)
        return number if math.isfinite(number) else self._reject("not_finite", "is too large for a number")

    def _parse_int(self, text: str) -> int | _Rejected:
        try:
            return int(text)
        except ValueError:  # more than 4,300 digits
            return self._reject("number_too_long", f"has {len(text)} digits")

    def _reject(self, code: str, sentence: str) -> _Rejected:
        self._spoiled = True
        return _Rejected(code, sentence)


class ObjectReader:
    """Iterate over the entries of the one JSON object in ``stream`` (binary, read once, never seeked).

    A leading byte order mark is skipped. Raises FileRefused.
    """

    opening, closing = "{", "}"

    def __init__(self, stream: BinaryIO, *, max_entry_chars: int = MAX_ENTRY_CHARS) -> None:
        self._bytes_read = 0
        self._stream = stream
        self._max_entry_chars = max_entry_chars
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="strict").decode
        self._buffer, self._at, self._ended = "", 0, False
        self._lines_before = self._column_before = 0  # of the text that was dropped from the buffer
        self._last_key = ""
        self._decoder = StrictDecoder()

    def __iter__(self) -> Iterator[Entry]:
        if self._next_character() != self.opening:
            if self._at == len(self._buffer):
                raise self._unreadable("empty_file", "The file is empty")
            raise self._unreadable("schema", "The file must hold one JSON object, question id to record")
        self._at += 1
        more = self._next_character() != self.closing
        self._at += not more
        while more:
            entry = self._next_entry()
            more = self._buffer[self._at - 1] == ","
            yield entry
        if self._next_character():
            raise self._unreadable("syntax", "Text follows the end of the JSON")

    def _next_character(self) -> str:
        """Skip white space, reading on as needed; the character there, or "" at the end of the file."""
        while True:
            self._at = self._after_space(self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._refill():
                return ""

    def _after_space(self, at: int) -> int:
        return _skip_space(self._buffer, at).end()  # type: ignore[union-attr]  # it matches everywhere

    def _next_entry(self) -> Entry:
        """Parse the entry at the buffer's position, reading more until it is whole; step over what follows it."""
        while True:
            self._decoder.begin()
            try:
                key, value, end = self._parse_entry()
            except json.JSONDecodeError as error:
                fault, offset = _told(error), error.pos - self._at
            except RecursionError:
                raise self._unreadable("too_deep", "The record is nested too deeply") from None
            else:
                break
            self._check_size(len(self._buffer))
            if not self._refill():
                raise self._unreadable("syntax", f"The file is not JSON: {fault}", at=self._at + offset)
        self._check_size(end)
        faults = self._decoder.faults(key, value, self._buffer, self._at, end)
        self._last_key = key[:80] if key.isascii() else ""
        self._at = end + 1
        return Entry(key, value, faults)

    def _parse_entry(self) -> tuple[str, Any, int]:
        """Name, value and the position of the comma or brace that follows.

        Raises JSONDecodeError where the text is broken or not there yet; never takes a number that ends with the
        buffer, since its delimiter must have been seen.
        """
        buffer, at = self._buffer, self._after_space(self._at)
        if buffer[at : at + 1] != '"':
            raise json.JSONDecodeError("a name in double quotes is expected", buffer, at)
        key, at = self._decoder.value_at(buffer, at)
        at = self._after_space(at)
        if buffer[at : at + 1] != ":":
            raise json.JSONDecodeError("a colon is expected", buffer, at)
        value, at = self._decoder.value_at(buffer, self._after_space(at + 1))
        at = self._after_space(at)
        if buffer[at : at + 1] not in (",", "}"):
            raise json.JSONDecodeError("a comma or a closing brace is expected", buffer, at)
        return key, value, at

    # Buffer and places

    def _refill(self) -> bool:
        """Drop what was read, append the next chunk; False when the file has ended."""
        if self._ended:
            return False
        chunk = self._stream.read(CHUNK_BYTES)
        self._ended = not chunk
        try:
            text = self._decode(chunk, final=self._ended)
        except UnicodeDecodeError as error:
            near = self._bytes_read + error.start
            raise self._unreadable("encoding", f"The file is not UTF-8 text near byte {near}") from None
        self._bytes_read += len(chunk)
        self._lines_before, self._column_before = self._place(self._at)
        self._buffer, self._at = self._buffer[self._at :] + text, 0
        return bool(text) or not self._ended

    def _place(self, at: int) -> tuple[int, int]:
        """How many lines of the file end before this position of the buffer, and how many characters follow them."""
        newlines = self._buffer.count("\n", 0, at)
        column = at - self._buffer.rfind("\n", 0, at) - 1 if newlines else self._column_before + at
        return self._lines_before + newlines, column

    def _unreadable(self, code: str, sentence: str, *, at: int | None = None) -> FileRefused:
        line, column = self._place(self._at if at is None else at)
        return unreadable(code, sentence, line=line + 1, column=column + 1, after=self._last_key)

    def _check_size(self, end: int) -> None:
        if end - self._at > self._max_entry_chars:
            limit = f"{self._max_entry_chars:,}"
            raise self._unreadable("too_large", f"A record is larger than {limit} characters, or is not closed")


class ListReader(ObjectReader):
    """Iterate over the members of one JSON list, in the same way; their name is empty."""

    opening, closing = "[", "]"

    def _parse_entry(self) -> tuple[str, Any, int]:
        buffer = self._buffer
        value, at = self._decoder.value_at(buffer, self._after_space(self._at))
        at = self._after_space(at)
        if buffer[at : at + 1] not in (",", "]"):
            raise json.JSONDecodeError("a comma or a closing bracket is expected", buffer, at)
        return "", value, at


def read_value(content: bytes | str, decoder: StrictDecoder | None = None) -> Entry:
    """The one value of a text, without a name.

    Raises FileRefused: encoding, syntax, too_deep, and too_large for more than ``MOST_VALUES`` values.
    """
    decoder = decoder or StrictDecoder()
    decoder.begin()
    try:
        text = (content if isinstance(content, str) else content.decode()).strip(" \t\r\n")
        _check_values(text)
        value, end = decoder.value_at(text, 0)
        if end < len(text):
            raise json.JSONDecodeError("text follows the end of the JSON", text, end)
    except UnicodeDecodeError as error:
        raise unreadable("encoding", f"The text is not UTF-8 near byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise unreadable("syntax", f"This is not JSON: {_told(error)}", line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise unreadable("too_deep", "The record is nested too deeply") from None
    return Entry("", value, decoder.faults("", value, text))


def _told(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


def _check_values(text: str) -> None:
    """Before they are made: each begins the text, or stands behind a bracket, a brace or a comma outside of texts."""
    if _may_hold_too_many(text) and _may_hold_too_many(_text_in_quotes.sub("", text)):
        raise unreadable("too_large", f"It holds more than {MOST_VALUES:,} values. Split it")


def _may_hold_too_many(text: str) -> bool:
    return len(text) > MOST_VALUES and sum(map(text.count, "[{,")) >= MOST_VALUES


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with something in them, numbered from 1 as an editor counts them. Raises FileRefused."""
    lines = iter(lambda: stream.readline(MOST_LINE_BYTES + 1), b"")
    for number, line in enumerate(lines, start=1):
        if len(line) > MOST_LINE_BYTES:
            raise unreadable("too_large", f"Line {number} is longer than {MOST_LINE_BYTES:,} bytes")
        if content := line.removeprefix(BOM if number == 1 else b"").strip(SPACE):
            yield number, content


def entries_of_lines(stream: BinaryIO) -> Iterator[tuple[int, Entry]]:
    """Number and record of each line of JSON Lines, without a name; what spoils a line is a fault of it alone."""
    decoder = StrictDecoder()
    for number, content in numbered_lines(stream):
        try:
            yield number, read_value(content, decoder)
        except FileRefused as refusal:
            column = f", column {refusal.facts['column']}" if refusal.facts["column"] else ""
            sentence = f"Line {number}{column}: {refusal.facts['what']}."
            yield number, Entry("", None, (Fault("", refusal.code, sentence),))


def first_line(stream: BinaryIO) -> Entry | None:
    """What the first line with something in it is by itself; None where it is no JSON, or a piece of a longer value."""
    line = b"\n"
    while line and not (content := line.removeprefix(BOM).strip(SPACE)):
        line = stream.readline(LONGEST_FIRST_LINE)
    try:
        return read_value(content) if len(line) < LONGEST_FIRST_LINE else None
    except FileRefused:
        return None


def value_faults(field: str, value: Any) -> list[Fault]:
    """Faults of one field's value: refused numbers, text that no database takes."""
    faults: list[Fault] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Rejected):
            faults.append(Fault(field, part.code, f"A number in {field!r} {part.sentence}."))
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str):
            faults += [Fault(field, code, sentence) for finds, code, sentence in _FAULTS_OF_TEXT if finds(part)]
    return faults
