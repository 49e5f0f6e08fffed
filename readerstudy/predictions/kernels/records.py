"""What a file of predictions holds, whatever its form: one record per answer, and what is wrong. Pure."""

from __future__ import annotations

import tempfile
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from annotation.refusals import Refused

LONGEST_ID = 255
HIDDEN = ("Cc", "Cf", "Zl", "Zp")  # categories of Unicode: control, formatting such as U+202E, and ends of lines
IN_MEMORY = 8 * 1024 * 1024  # bytes of the records of one file


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
    confidence: float | None = None  # stated chance of being right, percent


class PredictionProblem(NamedTuple):
    """Why the file is refused: the row (0: the whole file), the id where there is one, a sentence."""

    row: int
    id: str
    message: str


class PredictionsRefused(Refused):
    """Something cannot be done with a model or its predictions, or a file of them cannot be read."""


def unreadable(sentence: str) -> PredictionsRefused:
    """The file as a whole cannot be read; the sentence says where and why."""
    return PredictionsRefused("unreadable", sentence, status=422)


class KeptRecords:
    """Records in the order of the file: a large file is not held in memory, but beside it on the disk."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - lives as long as its records
        self._starts = array("Q", [0])

    def add(self, record: Record) -> None:
        """Only before anything is read."""
        self._starts.append(self._starts[-1] + self._file.write(msgspec.msgpack.encode(record)))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> Record:
        start, end = self._starts[place], self._starts[place + 1]
        self._file.seek(start)
        return msgspec.msgpack.decode(self._file.read(end - start), type=Record)

    def __iter__(self) -> Iterator[Record]:
        return (self[place] for place in range(len(self)))


@dataclass(frozen=True)
class ReadPredictions:
    form: str  # readerstudy.enums.PredictionForm
    records: KeptRecords
    problems: tuple[PredictionProblem, ...]
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


def without_hidden(name: str) -> str:
    """One line without characters that are not shown: white space in one piece, no control or formatting character."""
    spaced = " ".join(name.split())
    return " ".join("".join(one for one in spaced if unicodedata.category(one) not in HIDDEN).split())
