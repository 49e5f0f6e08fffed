"""The events of the clock as a table: everything that active times are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotation.enums import EventKind
from annotation.exports.tables import Cell, Column
from readerstudy.exports.columns import ARM, BLOCK, CASE, READER, REAL, STUDY, TEXT, TIME, WHOLE, study_cells, words
from readerstudy.exports.sittings import session_numbers
from readerstudy.models import ReaderStudy, TimingEvent

COLUMNS: tuple[Column, ...] = (
    *STUDY,
    ARM,
    READER,
    BLOCK,
    Column("position", WHOLE, "Place of the case in the order of this reader, in its block."),
    *CASE,
    Column("reading_id", TEXT, "Random id of the reading, as in the responses."),
    Column("session", WHOLE, "Number of the sitting of this reader, as in the sessions; missing: not known."),
    Column("page", TEXT, "Random id of one load of the page; client_ms starts anew with each. server: by the server."),
    Column("sequence", WHOLE, "Counted by the page."),
    Column("kind", TEXT, "What happened.", words(EventKind)),
    Column("client_ms", REAL, "Monotonic clock of the page in ms."),
    Column("wall_ms", REAL, "Time of day of the device, ms since 1970; missing: not told."),
    Column("received_at", TIME, "When the server received it."),
    Column("details", TEXT, "What belongs to it, as JSON; options are canonical."),
)
_VALUES = (
    "reading__arm__number",
    "reading__enrolment__pseudonym",
    "reading__case__block",
    "reading__position",
    "reading__case__revision__question__number",
    "reading__case__public_id",
    "reading__public_id",
    "session",
    "page",
    "sequence",
    "kind",
    "client_ms",
    "wall_ms",
    "received_at",
    "details",
)


def event_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by reader, then as the server took them in; one statement, so one moment."""
    fixed = study_cells(study)
    numbers = session_numbers(study)
    rows = TimingEvent.objects.filter(reading__enrolment__study=study).order_by("reading__enrolment", "pk")
    for *where, session, page, sequence, kind, client, wall, received, details in rows.values_list(*_VALUES).iterator(
        chunk_size=2000
    ):
        yield [
            fixed["study"],
            fixed["protocol_sha256"],
            *where,
            numbers.get(session),
            page,
            sequence,
            kind,
            client,
            wall,
            received,
            json.dumps(details, sort_keys=True, ensure_ascii=False) if details else "",
        ]
