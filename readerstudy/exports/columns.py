"""Columns and cells that several tables of a study share."""

from __future__ import annotations

from typing import Any

from annotation.exports.tables import Cell, Column, Kind
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy

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
