"""Columns and cells that several tables of a study share."""

from __future__ import annotations

from typing import Any

from annotation.exports.tables import Cell, Column, Kind
from readerstudy.enums import Block
from readerstudy.models import Enrolment, ReaderStudy

TEXT, WHOLE, REAL, YES_NO, TIME = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO, Kind.TIME
LETTERS = "A, B, C, D"


def words(kind: type[Any]) -> str:
    """The values of a vocabulary, for a codebook."""
    return ", ".join(word.value or "(empty: unknown)" for word in kind)


STUDY = (
    Column("study", TEXT, "Address of the reader study."),
    Column("protocol_sha256", TEXT, "Hash of the frozen protocol, as on every page of the study."),
)
SIMULATED = Column("simulated", YES_NO, "Whether the study was made up for a demonstration.")
ARM = Column("arm", WHOLE, "Number of the arm.")
CASE_SET = Column("case_set", TEXT, "Name of the set of cases that this reader reads.")
READER_STATE = Column(
    "reader_state",
    TEXT,
    "How far the reader is; imported: the readings were made elsewhere.",
    "reading, finished, withdrawn, replaced, imported",
)
READER = Column("reader", TEXT, "Pseudonym of the reader in this study.")
BLOCK = Column("block", TEXT, "practice: with feedback, never in the results. main: what counts.", words(Block))
CASE = (
    Column("case", WHOLE, "Number of the question in its bank."),
    Column("case_id", TEXT, "Random id of the case in this study."),
)
OPTIONS_ORDER = Column(
    "options_order", TEXT, "Canonical options in the order in which this reader saw them; empty: not known.", "ABCD"
)


def study_cells(study: ReaderStudy) -> dict[str, Cell]:
    return {"study": study.slug, "protocol_sha256": study.protocol_sha256, "simulated": study.simulated}


def reader_cells(enrolment: Enrolment) -> dict[str, Cell]:
    """Needs the case set of the enrolment."""
    return {
        "reader": enrolment.pseudonym,
        "case_set": enrolment.case_set.name,
        "reader_state": _state(enrolment),
    }


def _state(enrolment: Enrolment) -> str:
    if enrolment.reader_id is None:
        return "imported"
    if enrolment.withdrawn_at is not None:
        return "withdrawn"
    if enrolment.replaced_at is not None:
        return "replaced"
    return "finished" if enrolment.finished_at is not None else "reading"
