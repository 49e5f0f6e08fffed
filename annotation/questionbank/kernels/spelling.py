"""How a question file is spelt: what has to be kept of it so that a record that did not change is written as it came.

JSON has several spellings of one value: line breaks, escaped letters, 1.50 and 1.5. A file is written by one program,
so that its style is found once, at its first record. The text of a record is kept only where the style does not give it
back, letter for letter. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

CHECKED_FIRST = 20  # records whose white space is compared, and of the others
CHECKED_EACH = 200  # every so many
_first_break = re.compile(r'"(?:[^"\\]|\\.)*":\s*\{\n([ \t]*)"')
_start_of_fields = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*\{(\s*)')
_line_breaks = re.compile(r"\n[ \t]*")


class Style(NamedTuple):
    """Of records. ``indent``: spaces or a text for each level, None for all in one line."""

    indent: int | str | None = 1
    comma: str = ","
    colon: str = ": "


class FileFrame(NamedTuple):
    """Around records: what comes before the first and, after a comma, before each other, and what follows the last."""

    start: str = "\n "
    between: str = "\n "
    end: str = "\n}"


class Spelling(NamedTuple):
    """Of one record: letters outside ASCII are escaped; its text, where the style of the file does not give it back."""

    is_ascii: bool = False
    text: str = ""


AS_USUAL = Spelling()
USUAL_STYLE, USUAL_FRAME = Style(), FileFrame()
STYLES = (USUAL_STYLE, Style(None, ", "), Style(2), Style(4), Style(None, ",", ":"), Style("\t"), Style(3))


@lru_cache(maxsize=64)
def _encoder(indent: int | str | None, comma: str, colon: str, is_ascii: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        indent=indent, separators=(comma, colon), ensure_ascii=is_ascii, check_circular=False, allow_nan=False
    )


def member_text(key: str, value: Any, style: Style, *, is_ascii: bool = False) -> str:
    """``"key": {...}`` as it is in the one object of a file of this style."""
    return _encoder(style.indent, style.comma, style.colon, is_ascii).encode({key: value})[1:-1].strip()


def with_end(frame: FileFrame, tail: bytes) -> FileFrame:
    """The frame with the end of a file whose last bytes these are: all after the last brace but one."""
    *_before, space, after = tail.decode("utf-8", "replace").rsplit("}", 2)
    return frame._replace(end=f"{space}}}{after}")


def with_fields(text: str, fields: Mapping[str, str], style: Style) -> str:
    """The text of a member with further fields at its end, and with nothing else changed."""
    body = text[:-1].rstrip()
    start = _start_of_fields.match(text)
    before = "," + ((start[1] if start else "") or style.comma[1:])
    added = "".join(f"{before}{json.dumps(name)}{style.colon}{json.dumps(value)}" for name, value in fields.items())
    return body + added + text[len(body) :]


class SpellingWatch:
    """Looks at every record of one file, in their order."""

    def __init__(self) -> None:
        self.style: Style | None = None  # none: nothing was read
        self.frame = USUAL_FRAME
        self._n_seen = 0
        self._is_free = False  # of no style: the text of every record is kept

    def look(self, key: str, value: Any, text: str, *, before: str, is_odd: bool) -> Spelling:
        """What to keep of the record with this text; ``before``: the white space before it; ``is_odd``: a number in it
        would be written otherwise.
        """
        is_escaped = "\\" in text
        is_ascii = is_escaped and "\\u" in text
        self._n_seen += 1
        if self._n_seen == 1:
            near = _style_near(text)
            found = (one for one in (*STYLES, near) if member_text(key, value, one, is_ascii=is_ascii) == text)
            self.style = next(found, None)
            self._is_free = self.style is None
            self.style, self.frame = self.style or near, FileFrame(before, before)
        elif self._n_seen == 2:
            self.frame = self.frame._replace(between=before)
        if self._is_free or self.style is None:
            return Spelling(is_ascii, text)
        if self._n_seen <= CHECKED_FIRST or self._n_seen % CHECKED_EACH == 0:
            if member_text(key, value, self.style, is_ascii=is_ascii) == text:
                return Spelling(is_ascii)
            self._is_free = _squeezed(key, value, self.style, is_ascii) == _line_breaks.sub("", text)
            return Spelling(is_ascii, text)
        if is_odd or (is_escaped and _squeezed(key, value, self.style, is_ascii) != _line_breaks.sub("", text)):
            return Spelling(is_ascii, text)
        return Spelling(is_ascii) if is_ascii else AS_USUAL


def _style_near(text: str) -> Style:
    """By the white space before the first field of a member, which is on the second level."""
    first = _first_break.match(text)
    return Style(first[1][: len(first[1]) // 2]) if first else Style(None, ", ")


def _squeezed(key: str, value: Any, style: Style, is_ascii: bool) -> str:
    """The text of a member without its line breaks; much faster than with them."""
    return _encoder(None, style.comma, style.colon, is_ascii).encode({key: value})[1:-1]
