"""The readers of a study as a table: what a paper must report of them, and how far they came."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotation.exports.tables import Cell, Column
from readerstudy.enrolment.kernels.steps import DisplayUsed, Exposure, Training
from readerstudy.exports.columns import (
    CASE_SET,
    READER,
    READER_STATE,
    STUDY,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    reader_cells,
    study_cells,
    words,
)
from readerstudy.models import Enrolment, ReaderStudy

_TIMES = ("enrolled_at", "consented_at", "display_checked_at", "practised_at", "finished_at", "declared_at")
COLUMNS: tuple[Column, ...] = (
    *STUDY,
    READER,
    READER_STATE,
    CASE_SET,
    Column("training", TEXT, "Training, as the reader said; empty: not said.", words(Training)),
    Column("years", WHOLE, "Years in which the reader has read chest radiographs."),
    Column("chest_fellowship", YES_NO, "Whether the reader has a fellowship in chest imaging."),
    Column("films_per_week", WHOLE, "Chest radiographs that the reader reads in a usual week."),
    Column("display", TEXT, "Display on which the reader said to read.", words(DisplayUsed)),
    Column("exposure", TEXT, "Whether the reader had seen questions or images before.", words(Exposure)),
    Column("exposure_text", TEXT, "What the reader wrote about that."),
    Column("screen", TEXT, "What the display check measured, as JSON."),
    Column("enrolled_at", TIME, "When the reader came in, or was imported."),
    Column("consented_at", TIME, "When the reader agreed to take part."),
    Column("consent_version", WHOLE, "Which version of the text was agreed to."),
    Column("display_checked_at", TIME, "When both grey steps were found."),
    Column("practised_at", TIME, "When the practice block was done."),
    Column("finished_at", TIME, "When the last case of the main block had its answer."),
    Column("declared_at", TIME, "When the reader declared that no other source was used."),
    Column("source", TEXT, "File that an imported reader came with; empty: read here."),
)
_SAID = ("training", "years", "chest_fellowship", "films_per_week", "display", "exposure", "exposure_text")
_TEXTS = frozenset(column.name for column in COLUMNS if column.kind == TEXT)


def reader_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows in the order in which the readers came; one statement, so one moment."""
    for enrolment in Enrolment.objects.filter(study=study).select_related("case_set").order_by("pk"):
        cells: dict[str, Cell] = {
            **study_cells(study),
            **reader_cells(enrolment),
            **{name: enrolment.facts.get(name, "" if name in _TEXTS else None) for name in _SAID},
            **{name: getattr(enrolment, name) for name in _TIMES},
            "consent_version": enrolment.consent_version,
            "screen": json.dumps(enrolment.display, sort_keys=True) if enrolment.display else "",
            "source": enrolment.source,
        }
        yield [cells[column.name] for column in COLUMNS]
