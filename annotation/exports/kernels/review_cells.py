"""A file of reviews that were made elsewhere, in the columns of the export: read cell by cell, each fault named. Pure.

A cell that is empty says nothing; a column that is not there says nothing of any row. A row has to say what the form of
its round asks, and nothing else; only texts that explain (a comment with a low grade, reasoning with a verdict that is
not accept) are not asked of a file.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from annotation.enums import Degree, Disagreement, Flag, GradeName, Verdict, Word
from annotation.files.kernels.cells import read_cell
from annotation.files.kernels.sent_tables import check_columns, lines_of_csv, read_rows
from annotation.files.kernels.strictjson import BOM, NO_CHARACTERS, NO_TEXT, FileRefused, entries_of_lines, unreadable
from annotation.review.kernels.form import (
    CANNOT_JUDGE,
    CATEGORY_LIMIT,
    TEXT_LIMIT,
    Blind,
    FormProblem,
    Ground,
    Judgement,
    check_blind,
    check_judgement,
    could_mean,
    differs,
    following_flags,
    make_blind,
    stored_disagreement,
)
from annotation.review.kernels.form_design import FOLLOWING

NEEDED = ("revision", "reviewer", "verdict")
QUESTION, QUESTION_ID = "question", "question_id"
BLIND = {"best": "blind_best", "difficulty": "blind_difficulty"}
TEXTS = dict.fromkeys(("verdict_reason", "reasoning", "comment"), TEXT_LIMIT) | {"corrected_category": CATEGORY_LIMIT}
LONGEST_NUMBER = 9  # digits
Row = tuple[int, Mapping[str, str]]  # its line, as a spreadsheet counts it, and its cells by column


class CellFault(NamedTuple):
    """What is wrong in one cell, and what to do; row 0: in the whole file."""

    row: int
    column: str
    message: str


class ReviewRow(Struct, frozen=True):
    """One review. ``number`` is None where the question is named by its id only."""

    row: int
    bank: str
    number: int | None
    question_id: str
    revision: int
    reviewer: str
    blind: Blind | None
    meant: str  # in place of the blind answer, a letter or "none"; empty: what was answered
    judgement: Judgement
    simulated: bool


def read_reviews(content: bytes, known: Collection[str]) -> tuple[list[ReviewRow], list[CellFault]]:
    """The rows of a CSV or JSON Lines file, and the faults in it; a row with a fault is not among the rows.

    ``known`` are the columns that a file may have. Raises FileRefused where the file cannot be read on.
    """
    rows: list[ReviewRow] = []
    faults: list[CellFault] = []
    if not content.removeprefix(BOM).strip():
        return rows, faults
    is_lines = content.removeprefix(BOM).lstrip().startswith(b"{")
    for number, cells in _of_lines(content, known) if is_lines else _of_table(content, known):
        reading = _Reading(number, cells)
        row = reading.review()
        faults += reading.faults
        if not reading.faults:
            rows.append(row)
    return rows, faults


def _of_table(content: bytes, known: Collection[str]) -> Iterator[Row]:
    for number, cells, fault in read_rows(lines_of_csv(io.BytesIO(content)), needed=NEEDED, known=known):
        if fault:
            raise unreadable("cells", f"Row {number}: {fault}".rstrip("."))
        _check_named(cells)
        yield number, {name: read_cell(cell.strip()) for name, cell in cells.items()}


def _of_lines(content: bytes, known: Collection[str]) -> Iterator[Row]:
    for number, (_name, found, faults) in entries_of_lines(io.BytesIO(content)):
        if wrong := [fault for fault in faults if fault.code not in NO_CHARACTERS]:  # the others are named by column
            raise unreadable("syntax", _with_line(number, wrong[0].message.rstrip(".")))
        if not isinstance(found, dict):
            raise unreadable("syntax", f"Line {number} is no JSON object. Write one object per line")
        try:
            check_columns(list(found), NEEDED, known)
            _check_named(found)
        except FileRefused as refusal:
            raise unreadable(refusal.code, _with_line(number, refusal.facts["what"])) from None
        nested = next((name for name, value in found.items() if isinstance(value, (list, dict))), None)
        if nested is not None:
            raise unreadable(
                "value", f"Line {number} has a list or an object in {nested!r}. Join several values with |"
            )
        yield number, {name: _text(value) for name, value in found.items()}


def _with_line(number: int, sentence: str) -> str:
    return sentence if sentence.startswith("Line ") else f"Line {number}: {sentence}"


def _text(value: Any) -> str:
    """A JSON value as a cell of a table has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()


def _check_named(cells: Collection[str]) -> None:
    if QUESTION not in cells and QUESTION_ID not in cells:
        raise unreadable("columns", f"The column {QUESTION!r} is missing, or {QUESTION_ID!r}")


class _Reading:
    """The cells of one row, and what is wrong with them."""

    def __init__(self, row: int, cells: Mapping[str, str]) -> None:
        self.row = row
        self.cells = cells
        self.faults: list[CellFault] = []
        for name, cell in cells.items():
            if NO_TEXT.search(cell):
                self.fault(name, "The text holds a sign that is no character. Remove it.")

    def fault(self, column: str, message: str) -> None:
        self.faults.append(CellFault(self.row, column, message))

    def cell(self, name: str) -> str:
        return self.cells.get(name, "")

    def review(self) -> ReviewRow:
        number = self._whole(QUESTION) if self.cell(QUESTION) else None
        if number is None and not self.cell(QUESTION_ID):
            self.fault(QUESTION, "Give the number of the question in its bank.")
        if not self.cell("reviewer"):
            self.fault("reviewer", "Give the e-mail address of an account, or the pseudonym of an export.")
        return ReviewRow(
            row=self.row,
            bank=self.cell("bank"),
            number=number,
            question_id=self.cell(QUESTION_ID),
            revision=self._whole("revision"),
            reviewer=self.cell("reviewer"),
            blind=(blind := self._blind()),
            meant=self._meant(blind),
            judgement=self._judgement(),
            simulated=self._is_true("simulated"),
        )

    def _whole(self, name: str) -> int:
        text = self.cell(name)
        if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER and int(text) > 0:
            return int(text)
        self.fault(name, f"{text[:40]!r} is no whole number from 1." if text else "Give a whole number from 1.")
        return 0

    def _is_true(self, name: str) -> bool:
        text = self.cell(name).casefold()
        if text not in {"", "true", "false"}:
            self.fault(name, f"{self.cell(name)[:40]!r} is neither true nor false.")
        return text == "true"

    def _word(self, name: str, words: type[Word]) -> str:
        """One of the words, or nothing."""
        text = self.cell(name)
        if text and text not in words.values():
            self.fault(name, f"{text[:40]!r} is unknown: write {_either(words)}.")
        return text

    def _blind(self) -> Blind | None:
        best, difficulty = self.cell("blind_best"), self.cell("blind_difficulty")
        defensible = [letter.strip() for letter in self.cell("blind_defensible").split("|") if letter.strip()]
        if not (best or difficulty or defensible):
            return None
        blind = make_blind(best, defensible, difficulty)
        for problem in check_blind(blind):
            self.fault(BLIND[problem.field], problem.message)
        return blind

    def _meant(self, blind: Blind | None) -> str:
        meant = self.cell("blind_meant")
        if meant and (blind is None or meant not in could_mean(blind.best)):
            self.fault("blind_meant", "Write the letter that was meant, or none, where it is not the blind answer.")
        return meant

    def _judgement(self) -> Judgement:
        verdict = self._word("verdict", Verdict)
        if not verdict:
            self.fault("verdict", f"Give a verdict: {_either(Verdict)}.")
        for name, most in TEXTS.items():
            if len(self.cell(name)) > most:
                self.fault(name, f"The text has more than {most:,} characters. Shorten it.")
        return Judgement(
            grades={name.value: grade for name in GradeName if (grade := self._grade(name))},
            needs_image=self._word("needs_image", Degree),
            relevant=self._word("relevant", Degree),
            flags=tuple(flag.value for flag in Flag if self._is_true(f"flag_{flag.value}")),
            withdrawn_flags=self._withdrawn(),
            disagreement=self._word("disagreement", Disagreement),
            verdict=verdict,
            verdict_reason=self.cell("verdict_reason"),
            reasoning=self.cell("reasoning"),
            comment=self.cell("comment"),
            category=self.cell("corrected_category"),
        )

    def _grade(self, name: GradeName) -> int | str:
        column = f"grade_{name.value}"
        text, cannot = self.cell(column), self._is_true(f"cannot_judge_{name.value}")
        if text and text not in {"1", "2", "3", "4", "5"}:
            self.fault(column, f"{text[:40]!r} is no grade: write 1, 2, 3, 4 or 5, or leave it empty.")
        elif text and cannot:
            self.fault(column, "A grade, and could not judge: leave one of the two empty.")
        elif text:
            return int(text)
        return CANNOT_JUDGE if cannot else ""

    def _withdrawn(self) -> tuple[str, ...]:
        flags = [flag.strip() for flag in self.cell("withdrawn_flags").split("|") if flag.strip()]
        for flag in flags:
            if flag not in Flag.values():
                self.fault("withdrawn_flags", f"{flag[:40]!r} is unknown: write {_either(Flag)}.")
        return tuple(flags)


# --- beside the form of the round -------------------------------------------------------------------
_EXPLAINING = {
    *(("reasoning", "missing"), ("verdict_reason", "missing")),
    *(("comment", "low_grade"), ("comment", "withdrawn")),
}
_NOT_ASKED = " Leave it empty, or import into a round whose form asks it."


def hold_to_form(row: ReviewRow, ground: Ground) -> tuple[Judgement, list[CellFault]]:
    """The judgement as the form stores it, and what the form would refuse, by column.

    Flags that follow from the blind answer follow from it here, too: their columns only may not contradict it. A row
    from before the disagreement was asked keeps its flags.
    """
    said, older = row.judgement, ""
    if not said.disagreement and differs(ground.blind, ground.key):
        older = stored_disagreement("", said.flags, said.withdrawn_flags)
    follow = FOLLOWING if older else following_flags(ground.blind, ground.key, said.disagreement)
    own = replace(said, flags=tuple(flag for flag in said.flags if flag not in follow))
    checked = replace(own, disagreement=older, withdrawn_flags=()) if older else own
    passed = _EXPLAINING | ({("verdict", "key_wrong")} if older else set())
    problems = [one for one in check_judgement(checked, ground) if (one.field, one.code) not in passed]
    return said if older else own, [CellFault(row.row, *_in_cells(one, checked, ground)) for one in problems]


def _in_cells(problem: FormProblem, said: Judgement, ground: Ground) -> tuple[str, str]:
    """The columns that a problem of the form is about, and what to do."""
    name, message = problem.field, problem.message
    if name == "grades":
        columns = ", ".join(f"grade_{grade}" for grade in said.grades if grade not in ground.design.grades)
        return columns, message + _NOT_ASKED
    if name in GradeName.values():
        return f"grade_{name}", f"{message} The form asks it: write 1 to 5, or true into cannot_judge_{name}."
    if name == "disagreement":
        return name, message if said.disagreement else f"{message} Write {_either(Disagreement)}."
    if (name, problem.code) == ("flags", "does_not_follow"):
        return "withdrawn_flags", message
    if name == "flags":
        follows = problem.code == "follows"
        wrong = [flag for flag in said.flags if (flag in FOLLOWING if follows else flag not in ground.design.flags)]
        hint = " Correct the blind answer, or leave it empty." if follows else _NOT_ASKED
        return ", ".join(f"flag_{flag}" for flag in wrong), message + hint
    return name, message + _NOT_ASKED if problem.code == "not_asked" else message


def _either(words: type[Word]) -> str:
    *first, last = [value for value in words.values() if value]
    return f"{', '.join(first)} or {last}"
