"""Read one JSON object of any length as a stream of (name, value), strictly and in constant memory.

The file is one object ``{id: record, ...}``. Chunks are decoded from UTF-8 as they come, and each entry is parsed
by the C scanner of :mod:`json` out of a sliding buffer, which holds one chunk and at most one unfinished entry.

Two kinds of fault are told apart. What ends the reading (not UTF-8, not JSON, an entry larger than the limit, text
after the object) raises :class:`FileUnreadable` with its line and column. What spoils one entry only (a repeated
field name, NaN or Infinity, a number too long to hold, half a surrogate pair, a NUL) is listed in ``Entry.faults``
and reading goes on, so that one pass finds every fault of the file.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the type stubs
from typing import Any, BinaryIO, NamedTuple

CHUNK_BYTES = 1 << 18
MAX_ENTRY_CHARS = 1_000_000
MAX_KEY_CHARS = 255

Scan = Callable[[str, int], tuple[Any, int]]
Quick = Callable[[str, str], Any]  # name and text of an entry to its value; None for "read it carefully"

_skip_space = re.compile(r"[ \t\n\r]*").match
_begins = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]+)"[ \t\n\r]*:[ \t\n\r]*(?={)').match
_ends = re.compile(r"[ \t\n\r]*[,}]").match


class Fault(NamedTuple):
    """What spoils one entry: the field, a code, a sentence."""

    field: str
    code: str
    message: str


class Entry(NamedTuple):
    """One member of the object. ``value`` is any JSON value; ``line`` is where its name stands, from 1."""

    key: str
    value: Any
    faults: tuple[Fault, ...]


class FileUnreadable(ValueError):
    """The file cannot be read on from ``line`` and ``column`` (both from 1, 0: no place); ``code`` names the fault."""

    def __init__(self, code: str, sentence: str, *, line: int = 0, column: int = 0, after: str = "") -> None:
        self.code = code
        self.sentence = sentence
        self.line = line
        self.column = column
        self.after = after
        where = f" (line {line}, column {column}{f', after {after!r}' if after else ''})" if line else ""
        super().__init__(f"{sentence}{where}.")


class _Rejected:
    """Stands in a parsed value for a number that was refused, until the field that holds it is known."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence


class ObjectReader:
    """Iterate over the entries of the one JSON object in ``stream`` (binary, read once, never seeked).

    ``bytes_read`` tells how far the reading has come. A leading byte order mark is skipped. ``quick`` is given name
    and text of an entry that looks like one plain object: what it makes of it becomes the value, unless that is
    None; then, and whenever the guess at the end of the object was wrong, the entry is parsed here.
    """

    def __init__(self, stream: BinaryIO, *, max_entry_chars: int = MAX_ENTRY_CHARS, quick: Quick | None = None) -> None:
        self.bytes_read = 0
        self._stream = stream
        self._quick = quick
        self._max_entry_chars = max_entry_chars
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="strict").decode
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._lines_before = 0
        self._column_before = 0
        self._last_key = ""
        self._repeated: list[str] = []
        self._spoiled = False
        self._scan: Scan = json.JSONDecoder(  # type: ignore[attr-defined]  # not in the type stubs
            object_pairs_hook=self._build_object,
            parse_float=self._parse_float,
            parse_constant=self._refuse_constant,
        ).scan_once
        self._scan_slowly: Scan = json.JSONDecoder(  # type: ignore[attr-defined]
            object_pairs_hook=self._build_object,
            parse_float=self._parse_float,
            parse_int=self._parse_int,
            parse_constant=self._refuse_constant,
        ).scan_once

    def __iter__(self) -> Iterator[Entry]:
        more = self._open_object()
        while more:
            entry, more = self._next_entry()
            yield entry
        self._check_nothing_follows()

    # Entries

    def _open_object(self) -> bool:
        """Step over the opening brace; False when the object is empty."""
        if self._first_character() != "{":
            if self._at == len(self._buffer):
                raise self._unreadable("empty_file", "The file is empty")
            raise self._unreadable("schema", "The file must hold one JSON object, question id to record")
        self._at += 1
        if self._first_character() != "}":
            return True
        self._at += 1
        return False

    def _first_character(self) -> str:
        """Skip white space, reading on as needed; the character there, or "" at the end of the file."""
        while True:
            self._at = _skip_space(self._buffer, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._refill():
                return ""

    def _next_entry(self) -> tuple[Entry, bool]:
        """Parse the entry at the buffer's position, reading more until it is whole."""
        while True:
            if self._quick is not None:
                read = self._read_quickly(self._quick)
                if read is not None:
                    return read
            self._repeated.clear()
            self._spoiled = False
            try:
                key, value, end = self._parse_entry(self._scan)
            except json.JSONDecodeError as error:
                fault, offset = error.msg, error.pos - self._at
            except StopIteration as stop:
                fault, offset = "a value is missing", stop.value - self._at
            except RecursionError:
                raise self._unreadable("too_deep", "The record is nested too deeply") from None
            except ValueError:  # int() refuses more than 4,300 digits
                key, value, end = self._parse_entry(self._scan_slowly)
                return self._close_entry(key, value, end)
            else:
                return self._close_entry(key, value, end)
            pending = len(self._buffer) - self._at
            if pending >= self._max_entry_chars:
                raise self._too_large()
            if not self._refill():
                raise self._unreadable("syntax", f"The file is not JSON: {_lowered(fault)}", at=self._at + offset)

    def _read_quickly(self, quick: Quick) -> tuple[Entry, bool] | None:
        """The entry up to the first brace that closes, where that makes it whole and usual."""
        begins = _begins(self._buffer, self._at)
        if begins is None:
            return None
        end = self._buffer.find("}", begins.end()) + 1
        ends = _ends(self._buffer, end) if end else None
        if ends is None or ends.end() - self._at > self._max_entry_chars:
            return None
        key = begins[1]
        value = quick(key, self._buffer[begins.end() : end])
        if value is None:
            return None
        self._last_key = key[:80] if key.isascii() else ""
        self._at = ends.end()
        return Entry(key, value, ()), ends[0][-1] == ","

    def _parse_entry(self, scan: Scan) -> tuple[str, Any, int]:
        """Name, value and the position of the comma or brace that follows.

        Raises JSONDecodeError or StopIteration where the text is broken or not there yet; never takes a number
        that ends with the buffer, since its delimiter must have been seen.
        """
        buffer = self._buffer
        at = _skip_space(buffer, self._at).end()  # type: ignore[union-attr]
        if buffer[at : at + 1] != '"':
            raise json.JSONDecodeError("a name in double quotes is expected", buffer, at)
        key, at = scanstring(buffer, at + 1, True)
        at = _skip_space(buffer, at).end()  # type: ignore[union-attr]
        if buffer[at : at + 1] != ":":
            raise json.JSONDecodeError("a colon is expected", buffer, at)
        at = _skip_space(buffer, at + 1).end()  # type: ignore[union-attr]
        value, at = scan(buffer, at)
        at = _skip_space(buffer, at).end()  # type: ignore[union-attr]
        if buffer[at : at + 1] not in (",", "}") or at == len(buffer):
            raise json.JSONDecodeError("a comma or a closing brace is expected", buffer, at)
        return key, value, at

    def _close_entry(self, key: str, value: Any, end: int) -> tuple[Entry, bool]:
        start = self._at
        if end - start > self._max_entry_chars:
            raise self._too_large()
        faults = self._faults(key, value, start, end)
        self._last_key = key[:80] if key.isascii() else ""
        self._at = end + 1
        return Entry(key, value, faults), self._buffer[end] == ","

    def _check_nothing_follows(self) -> None:
        if self._first_character():
            raise self._unreadable("syntax", "Text follows the end of the JSON object")

    # Faults of one entry

    def _faults(self, key: str, value: Any, start: int, end: int) -> tuple[Fault, ...]:
        faults = [Fault(name, "duplicate_field", f"The field {name!r} is there twice.") for name in self._repeated]
        escaped = self._buffer.find("\\", start, end)  # one character is found much faster than two
        if self._spoiled or (escaped >= 0 and self._buffer.find("\\u", escaped, end) >= 0):
            faults += _text_faults("", key)
            members = value.items() if isinstance(value, dict) else (("", value),)
            for name, member in members:
                faults += _text_faults("", name)
                faults += _value_faults(name, member)
        return tuple(faults)

    def _build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            seen: set[str] = set()
            for name, _value in pairs:
                if name in seen:
                    self._repeated.append(name)
                seen.add(name)
        return members

    def _parse_float(self, text: str) -> float | _Rejected:
        number = float(text)
        return number if math.isfinite(number) else self._reject("not_finite", "is too large for a number")

    def _parse_int(self, text: str) -> int | _Rejected:
        return int(text) if len(text) <= 40 else self._reject("number_too_long", f"has {len(text)} digits")

    def _refuse_constant(self, name: str) -> _Rejected:
        return self._reject("not_finite", f"is {name}, which is not JSON")

    def _reject(self, code: str, sentence: str) -> _Rejected:
        self._spoiled = True
        return _Rejected(code, sentence)

    # Buffer and positions

    def _refill(self) -> bool:
        """Drop what was read, append the next chunk; False when the file has ended."""
        if self._ended:
            return False
        chunk = self._stream.read(CHUNK_BYTES)
        self._ended = not chunk
        try:
            text = self._decode(chunk, final=self._ended)
        except UnicodeDecodeError as error:
            near = self.bytes_read + error.start
            raise self._unreadable("encoding", f"The file is not UTF-8 text near byte {near}") from None
        self.bytes_read += len(chunk)
        self._forget()
        self._buffer = self._buffer + text if self._buffer else text
        return bool(text) or not self._ended

    def _forget(self) -> None:
        read = self._buffer[: self._at]
        newlines = read.count("\n")
        self._column_before = len(read) - read.rfind("\n") - 1 if newlines else self._column_before + len(read)
        self._lines_before += newlines
        self._buffer = self._buffer[self._at :]
        self._at = 0

    def _unreadable(self, code: str, sentence: str, *, at: int | None = None) -> FileUnreadable:
        at = self._at if at is None else at
        newlines = self._buffer.count("\n", 0, at)
        column = at - self._buffer.rfind("\n", 0, at) if newlines else self._column_before + at + 1
        line = self._lines_before + newlines + 1
        return FileUnreadable(code, sentence, line=line, column=column, after=self._last_key)

    def _too_large(self) -> FileUnreadable:
        limit = f"{self._max_entry_chars:,}"
        return self._unreadable("too_large", f"A record is larger than {limit} characters, or is not closed")


def _value_faults(field: str, value: Any) -> list[Fault]:
    """Faults of one field's value: refused numbers, text that no database takes."""
    faults: list[Fault] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            faults += _text_faults(field, part)
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part
            waiting += part.values()
        elif isinstance(part, _Rejected):
            faults.append(Fault(field, part.code, f"A number in {field!r} {part.sentence}."))
    return faults


def _text_faults(field: str, text: str) -> list[Fault]:
    faults: list[Fault] = []
    if "\0" in text:
        faults.append(Fault(field, "nul_character", "The text holds a NUL character."))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            faults.append(
                Fault(field, "lone_surrogate", "The text holds half a surrogate pair, which is no character.")
            )
    return faults


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
