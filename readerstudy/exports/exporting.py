"""What leaves the program: one table of a study in one format, and the trace of who took it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import IO

from django.db import transaction
from django.utils.translation import gettext as translate

from annotation.audit.recording import record
from annotation.enums import Word, _
from annotation.exports.source_names import SOURCE_ID, with_source_ids
from annotation.exports.tables import Cell, Column, Format, Written, write_digested
from annotation.models import User
from readerstudy.design.conflicts import note_study_keys
from readerstudy.exports import plain_tables
from readerstudy.exports.columns import CASE, response_columns
from readerstudy.exports.responses import response_rows
from readerstudy.models import ReaderStudy
from readerstudy.study.locking import StudyRefused
from readerstudy.unblinding.looks import GLASS_BROKEN, SHORTEST_REASON, is_over, may_see_results, unblind


class StudyTable(Word):
    RESPONSES = "responses", _("responses")
    EVENTS = "events", _("events of the clock")
    SESSIONS = "sessions", _("sessions")
    READERS = "readers", _("readers")
    ORDERS = "orders", _("orders")
    VOIDINGS = "voidings", _("voided cases")


HIDDEN_BEFORE_RESULTS = frozenset({StudyTable.RESPONSES, StudyTable.EVENTS})
_PLAIN: dict[str, tuple[tuple[Column, ...], Callable[[ReaderStudy], Iterator[list[Cell]]]]] = {
    StudyTable.EVENTS: (plain_tables.EVENT_COLUMNS, plain_tables.event_rows),
    StudyTable.SESSIONS: (plain_tables.SESSION_COLUMNS, plain_tables.session_rows),
    StudyTable.READERS: (plain_tables.READER_COLUMNS, plain_tables.reader_rows),
    StudyTable.ORDERS: (plain_tables.ORDER_COLUMNS, plain_tables.order_rows),
    StudyTable.VOIDINGS: (plain_tables.VOIDING_COLUMNS, plain_tables.voiding_rows),
}


def columns_of(study: ReaderStudy, table: StudyTable, *, source_ids: bool = False) -> tuple[Column, ...]:
    """Key and correct stand in the responses only where results may be seen.

    With ``source_ids`` tables of cases end with the id in the imported file.
    """
    own = response_columns(with_key=may_see_results(study)) if table == StudyTable.RESPONSES else _PLAIN[table][0]
    return (*own, SOURCE_ID) if source_ids and names_cases(own) else own


def may_take_source_ids(study: ReaderStudy) -> bool:
    return is_over(study)


def names_cases(columns: tuple[Column, ...]) -> bool:
    return CASE[0] in columns


def export_table(
    study: ReaderStudy,
    table: StudyTable,
    form: Format,
    to: IO[bytes],
    *,
    actor: User | None,
    at: datetime,
    before_closing: str = "",
    source_ids: bool = False,
) -> Written:
    """Write one table to ``to`` (seekable) and note in the audit log who took which bytes.

    The same rows give the same bytes. Answers are refused until results may be seen, unless ``before_closing``
    gives a reason of at least SHORTEST_REASON characters, which is noted. Whoever takes answers can see results, also
    from the options in the events of the clock: that unblinds the study. ``source_ids`` adds the ids of the imported
    file to tables of cases; refused before the study is closed, since an id may tell a finding.
    """
    if source_ids and not may_take_source_ids(study):
        sentence = translate("The ids of the imported file are hidden until the study is closed.")
        raise StudyRefused("source_ids_hidden", sentence, status=403)
    reason = " ".join(before_closing.split())
    breaks_glass = table in HIDDEN_BEFORE_RESULTS and not may_see_results(study)
    if breaks_glass and len(reason) < SHORTEST_REASON:
        raise StudyRefused("answers_hidden", translate("Answers are hidden until the study is closed."), status=403)
    columns = columns_of(study, table, source_ids=source_ids)
    written = write_digested(to, columns, _rows(study, table, source_ids=SOURCE_ID in columns), form)
    facts = {"table": table.value, "format": form.value, "rows": written.n_rows, "sha256": written.sha256}
    facts |= {"source_ids": True} if SOURCE_ID in columns else {}
    with transaction.atomic():
        if table in HIDDEN_BEFORE_RESULTS:
            unblind(study, actor=actor, at=at, because=f"export of the {table.value}")
        if table == StudyTable.RESPONSES and not breaks_glass:
            note_study_keys(study, actor=actor, at=at)
        if breaks_glass:
            record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason, "table": table.value})
        record("study.exported", actor=actor, at=at, subject=study, facts=facts)
    return written


@transaction.atomic
def note_answers_read(study: ReaderStudy, table: StudyTable, n_rows: int, *, actor: User, at: datetime) -> None:
    """A program has read so many rows of answers, page by page."""
    record("study.answers_read", actor=actor, at=at, subject=study, facts={"table": table.value, "rows": n_rows})


def _rows(study: ReaderStudy, table: StudyTable, *, source_ids: bool) -> Iterator[list[Cell]]:
    with_key = may_see_results(study)
    rows = response_rows(study, with_key=with_key) if table == StudyTable.RESPONSES else _PLAIN[table][1](study)
    if not source_ids:
        return rows
    return with_source_ids(study.bank, columns_of(study, table), rows, number_column=CASE[0].name)
