"""The file of questions of an exported bank, in each of its forms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from annotation.enums import Word, _
from annotation.exports import tables
from annotation.exports.bank_contents import BankContents, BankQuestion
from annotation.exports.kernels.question_records import StoredQuestion, is_given_back, text_of, usual_record
from annotation.exports.kernels.question_tables import cell_text, cells_of, columns_of, fields_of_line, is_column
from annotation.exports.tables import Column, Format, Kind
from annotation.questionbank.kernels.states import STATE


class BankForm(Word):
    """The forms of a bank; each of them comes in again."""

    REXVQA = "rexvqa", _("ReXVQA: one JSON object")
    CSV = "csv", "CSV"
    JSONL = "jsonl", "JSON Lines"
    PARQUET = "parquet", "Parquet"

    @property
    def file_name(self) -> str:
        return f"questions.{'json' if self == BankForm.REXVQA else self.value}"


@dataclass
class QuestionsWritten:
    sha256: str = ""
    n_not_given_back: int = 0  # unchanged questions whose record differs from that of their file
    left_out: list[str] = field(default_factory=list)


def forms_here() -> tuple[BankForm, ...]:
    """The forms that this installation can write."""
    return tuple(form for form in BankForm if form != BankForm.PARQUET or Format.PARQUET in tables.formats_here())


def check_form(form: BankForm) -> None:
    """Raises ExportRefused."""
    if form == BankForm.PARQUET:
        tables.check_format(Format.PARQUET)


def write_questions(
    contents: BankContents, questions: Iterable[BankQuestion], form: BankForm, folder: Path
) -> QuestionsWritten:
    """Write the file of this form into the folder. The questions are gone through once; a table asks for its columns
    first, which goes through the bank once more.
    """
    done = QuestionsWritten()
    stored = _checked((one.stored for one in questions), done)
    path = folder / form.file_name
    with path.open("w+b") as file:
        if form == BankForm.REXVQA:
            _write_object(file, stored)
        elif form == BankForm.JSONL:
            for one in stored:
                file.write(json.dumps(fields_of_line(one), ensure_ascii=False).encode() + b"\n")
        else:
            _write_table(file, stored, contents, form, done)
        file.flush()
        file.seek(0)
        done.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return done


def _checked(stored: Iterable[StoredQuestion], done: QuestionsWritten) -> Iterator[StoredQuestion]:
    for one in stored:
        done.n_not_given_back += not is_given_back(one)
        yield one


def _write_object(file: BinaryIO, stored: Iterable[StoredQuestion]) -> None:
    before = "{"
    for one in stored:
        file.write((before + text_of(one)).encode())
        before = ","
    file.write(b"{}" if before == "{" else b"\n}\n")


def _write_table(
    file: BinaryIO, stored: Iterable[StoredQuestion], contents: BankContents, form: BankForm, done: QuestionsWritten
) -> None:
    names = {STATE}
    for one in contents.questions():
        names.update(name for name, value in usual_record(one.stored).items() if cell_text(name, value))
    columns = columns_of(names)
    done.left_out = sorted(name for name in names if not is_column(name) and name != "options")
    rows = (cells_of(one, columns) for one in stored)
    asked = [Column(name, Kind.TEXT, "") for name in columns]
    tables.write_table(file, asked, rows, Format(form.value))
