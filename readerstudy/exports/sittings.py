"""The sittings of a study as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from django.db.models import QuerySet

from annotation.exports.tables import Cell, Column
from readerstudy.enums import SessionEnd
from readerstudy.exports.columns import READER, STUDY, TEXT, TIME, WHOLE, study_cells, words
from readerstudy.models import ReaderStudy, ReadingSession

COLUMNS: tuple[Column, ...] = (
    *STUDY,
    READER,
    Column("session", WHOLE, "Number of the sitting of this reader: 1, 2, 3 in time."),
    Column("started_at", TIME, "When the page began to write for the reader."),
    Column("seen_at", TIME, "When the server last heard of it."),
    Column("ended_at", TIME, "When it ended; missing: it goes on."),
    Column("end", TEXT, "How it ended.", words(SessionEnd)),
    Column("device", TEXT, "Browser, window, screen and pixel ratio as the page told them, as JSON."),
)


def session_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by reader, then in time. The token of a sitting never leaves the program."""
    fixed = study_cells(study)
    numbers = session_numbers(study)
    for session in _sessions(study).iterator(chunk_size=2000):
        yield [
            fixed["study"],
            fixed["protocol_sha256"],
            session.enrolment.pseudonym,
            numbers[session.pk],
            session.started_at,
            session.seen_at,
            session.ended_at,
            session.end,
            json.dumps(session.device, sort_keys=True, ensure_ascii=False) if session.device else "",
        ]


def session_numbers(study: ReaderStudy) -> dict[int, int]:
    """By the id of a sitting: the how-manieth of its reader it is."""
    counted: Counter[int] = Counter()
    numbers: dict[int, int] = {}
    for pk, enrolment in _sessions(study).values_list("pk", "enrolment"):
        counted[enrolment] += 1
        numbers[pk] = counted[enrolment]
    return numbers


def _sessions(study: ReaderStudy) -> QuerySet[ReadingSession]:
    sessions = ReadingSession.objects.filter(enrolment__study=study).select_related("enrolment")
    return sessions.order_by("enrolment", "started_at", "pk")
