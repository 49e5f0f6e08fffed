"""A file of readings that were made elsewhere: read strictly, refused row by row with a sentence each. Pure."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from annotation.enums import _
from annotation.files.kernels.sent_tables import lines_of_csv, read_rows
from annotation.files.kernels.strictjson import FileRefused
from readerstudy.design.kernels.documents import CHANCES
from readerstudy.enums import ResponseState

REQUIRED = ("reader", "case", "option", "state")
COLUMNS = (*REQUIRED, "best_guess", "confidence", "active_ms", "position")
WITH_OPTION = frozenset({ResponseState.ANSWERED, ResponseState.UNCONFIRMED})
WITHOUT_OPTION = frozenset({ResponseState.DECLINED, ResponseState.TIMED_OUT, ResponseState.MISSING})
LETTERS = "ABCD"
MOST_BYTES = 64_000_000
MOST_ROWS = 500_000
LONGEST_NAME = 60  # of a reader
LONGEST_MS = 7 * 24 * 3_600_000
LAST_POSITION = 2**31 - 1


class ResponseProblem(NamedTuple):
    """What is wrong in a row. Rows count as a spreadsheet counts them: the header is row 1; 0 is the whole file."""

    row: int
    column: str
    message: str


class ResponseRow(Struct, frozen=True):
    """One row: one reader on one case."""

    row: int
    reader: str
    case: str  # key or number of the question, as the file has it
    state: ResponseState
    option: str = ""  # canonical letter
    confidence: int | None = None
    active_ms: int | None = None
    position: int | None = None
    best_guess: str = ""  # canonical letter beside "cannot tell"


class ReadResponses(Struct, frozen=True):
    answers: tuple[ResponseRow, ...]
    problems: tuple[ResponseProblem, ...]
    n_rows: int


def read_response_file(content: bytes) -> ReadResponses:
    """The rows of the file and what is wrong with them; a row with a problem is no answer.

    A file that as a whole is not what is asked for has no rows and one problem, of row 0.
    """
    try:
        rows = list(_rows(content))
    except (FileRefused, ValueError) as unreadable:
        return ReadResponses((), (ResponseProblem(0, "", str(unreadable)),), 0)
    problems: list[ResponseProblem] = []
    found = (_answer(number, cells, problems) for number, cells in rows)
    answers = tuple(answer for answer in found if answer is not None)
    return ReadResponses(answers, (*problems, *_positions_twice(answers)), len(rows))


def _rows(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Raises FileRefused, or ValueError with the sentence, for a file that as a whole cannot be read."""
    if len(content) > MOST_BYTES:
        raise ValueError(_("The file is too large. Split it by reader."))
    n_rows = 0
    for number, cells, fault in read_rows(lines_of_csv(io.BytesIO(content)), needed=REQUIRED, known=COLUMNS):
        n_rows += 1
        if n_rows > MOST_ROWS:
            raise ValueError(_("The file has more rows than are taken. Split it by reader."))
        if fault:
            raise ValueError(f"Row {number}: {fault}")
        yield number, {name: cell.strip() for name, cell in cells.items()}
    if not n_rows:
        raise ValueError(_("The file has no rows under its header."))


def _answer(row: int, cells: dict[str, str], problems: list[ResponseProblem]) -> ResponseRow | None:
    """The answer of a row, or None after its problems were noted."""
    found: list[ResponseProblem] = []
    for name, longest in (("reader", LONGEST_NAME), ("case", 200)):
        if not cells[name]:
            found.append(ResponseProblem(row, name, f"The {name} is empty."))
        elif len(cells[name]) > longest:
            found.append(ResponseProblem(row, name, f"The {name} has more than {longest} characters."))
        elif not cells[name].isprintable():
            found.append(
                ResponseProblem(row, name, f"The {name} holds a character that cannot be seen: {cells[name]!a}.")
            )
    state = _state(row, cells, found)
    answer = ResponseRow(
        row=row,
        reader=cells["reader"],
        case=cells["case"],
        state=state,
        option=_option(row, cells["option"], state, found),
        confidence=_confidence(row, cells.get("confidence", ""), found),
        active_ms=_number(row, "active_ms", cells.get("active_ms", ""), 0, LONGEST_MS, found),
        position=_number(row, "position", cells.get("position", ""), 1, LAST_POSITION, found),
        best_guess=_best_guess(row, cells.get("best_guess", ""), state, found),
    )
    problems += found
    return None if found else answer


def _state(row: int, cells: dict[str, str], found: list[ResponseProblem]) -> ResponseState:
    try:
        return ResponseState(cells["state"])
    except ValueError:
        known = ", ".join(ResponseState.values())
        found.append(ResponseProblem(row, "state", f"The state {cells['state']!r} is not known. Known: {known}."))
        return ResponseState.MISSING


def _option(row: int, option: str, state: ResponseState, found: list[ResponseProblem]) -> str:
    if option and (len(option) != 1 or option not in LETTERS):
        found.append(ResponseProblem(row, "option", f"The option {option!r} is none of {', '.join(LETTERS)}."))
    elif any(problem.column == "state" for problem in found):
        return option
    elif option and state in WITHOUT_OPTION:
        found.append(ResponseProblem(row, "option", f"The state {state} has no option, but the row has {option}."))
    elif not option and state in WITH_OPTION:
        found.append(ResponseProblem(row, "option", f"The state {state} needs an option."))
    return option


def _best_guess(row: int, guess: str, state: ResponseState, found: list[ResponseProblem]) -> str:
    if guess and (len(guess) != 1 or guess not in LETTERS):
        found.append(ResponseProblem(row, "best_guess", f"The best guess {guess!r} is none of {', '.join(LETTERS)}."))
    elif guess and state != ResponseState.DECLINED and not any(problem.column == "state" for problem in found):
        found.append(ResponseProblem(row, "best_guess", f"A best guess belongs to declined, but the state is {state}."))
    return guess


def _confidence(row: int, text: str, found: list[ResponseProblem]) -> int | None:
    if text and text not in map(str, CHANCES):
        known = ", ".join(map(str, CHANCES))
        found.append(
            ResponseProblem(row, "confidence", f"The confidence {text!r} is not in the list: {known} percent.")
        )
        return None
    return int(text) if text else None


def _number(row: int, column: str, text: str, least: int, most: int, found: list[ResponseProblem]) -> int | None:
    if not text:
        return None
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        found.append(ResponseProblem(row, column, f"{column} is not a whole number: {text!r}."))
    elif text.startswith("-"):
        found.append(ResponseProblem(row, column, f"{column} is negative: {text}."))
    elif len(text) > 20 or not least <= int(text) <= most:
        found.append(ResponseProblem(row, column, f"{column} lies outside {least} to {most:,}: {text[:20]}."))
    else:
        return int(text)
    return None


def _positions_twice(answers: Iterable[ResponseRow]) -> list[ResponseProblem]:
    """A reader has one case at a place of the order."""
    rows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for answer in answers:
        if answer.position is not None:
            rows[answer.reader, answer.position].append(answer.row)
    return [
        ResponseProblem(again, "position", f"{reader} has position {position} in row {first} already.")
        for (reader, position), (first, *more) in rows.items()
        for again in more
    ]
