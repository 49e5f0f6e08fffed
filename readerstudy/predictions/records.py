"""What a file of predictions holds, whatever its form: one record per answer, and what is wrong. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LONGEST_ID = 255


def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


class Record(NamedTuple):
    """One answer. ``row`` is the line of a table or of JSON lines, else the place of the record, from 1."""

    row: int
    id: str
    raw: str  # the answer as it stands in the file
    explanation: str = ""  # of the model
    options: tuple[str, ...] = ()  # as the record lists them, in the order that the model saw; empty where it does not


class Problem(NamedTuple):
    """Why the file is refused: the row (0: the whole file), the id where there is one, a sentence."""

    row: int
    id: str
    message: str


class FileUnreadable(ValueError):
    """The file as a whole cannot be read; the sentence says where and why."""


@dataclass(frozen=True)
class ReadFile:
    form: str  # readerstudy.enums.PredictionForm
    records: tuple[Record, ...]
    problems: tuple[Problem, ...]
    n_read: int  # records, those with a problem included


def text_problem(text: str) -> str:
    """Why no database takes this text; empty where it does."""
    if "\0" in text:
        return _("The text holds a NUL character.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _("The text holds half a surrogate pair, which is no character.")
    return ""
