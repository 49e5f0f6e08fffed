"""The orders of a study as a table, those that no reader has taken included."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.exports.tables import Cell, Column
from readerstudy.exports.columns import ARM, BLOCK, CASE, OPTIONS_ORDER, STUDY, TEXT, WHOLE, study_cells
from readerstudy.models import PresentedCase, ReaderStudy

COLUMNS: tuple[Column, ...] = (
    *STUDY,
    ARM,
    Column("case_set", TEXT, "Name of the set of cases."),
    Column("order", WHOLE, "Number of the order within its set; a reader takes the lowest that is free."),
    Column("rule", TEXT, "Version of the rule that drew it."),
    Column("reader", TEXT, "Pseudonym of the reader who has it; empty: it is free."),
    BLOCK,
    Column("position", WHOLE, "Place in the block: 1, 2, 3."),
    *CASE,
    OPTIONS_ORDER,
)
_VALUES = (
    "order__arm__number",
    "order__case_set__name",
    "order__number",
    "order__rule",
    "order__enrolment__pseudonym",
    "block",
    "position",
    "case__revision__question__number",
    "case__public_id",
    "options",
)


def order_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by arm, set, order and place; one statement, so one moment."""
    fixed = study_cells(study)
    rows = PresentedCase.objects.filter(order__study=study).order_by(
        "order__arm__number", "order__case_set__number", "order__number", "-block", "position"
    )
    for arm, case_set, number, rule, reader, *rest in rows.values_list(*_VALUES).iterator(chunk_size=2000):
        yield [fixed["study"], fixed["protocol_sha256"], arm, case_set, number, rule, reader or "", *rest]
