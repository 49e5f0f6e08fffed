"""Tables of a study that hold no answer key: orders, readers, sittings, events of the clock, voided cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from django.conf import settings
from django.db.models import QuerySet

from annotation.enums import EventKind
from annotation.exports.tables import Cell, Column
from annotation.hashes import keyed_pseudonym
from readerstudy.enrolment.kernels.steps import DisplayUsed, Exposure, Training
from readerstudy.enums import SessionEnd
from readerstudy.exports.columns import (
    ARM,
    BLOCK,
    CASE,
    CASE_SET,
    OPTIONS_ORDER,
    READER,
    READER_STATE,
    REAL,
    STUDY,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    reader_cells,
    study_cells,
    words,
)
from readerstudy.models import Enrolment, PresentedCase, ReaderStudy, ReadingSession, TimingEvent, Voiding

ORDER_COLUMNS: tuple[Column, ...] = (
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
_ORDER_VALUES = (
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
_TIMES = ("enrolled_at", "consented_at", "display_checked_at", "practised_at", "finished_at", "declared_at")
READER_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    READER,
    READER_STATE,
    CASE_SET,
    Column("training", TEXT, "Training, as reported by the reader; empty: not reported.", words(Training)),
    Column("years", WHOLE, "Years in which the reader has read chest radiographs."),
    Column("chest_fellowship", YES_NO, "Whether the reader has a fellowship in chest imaging."),
    Column("films_per_week", WHOLE, "Chest radiographs that the reader reads in a usual week."),
    Column("display", TEXT, "Display that the reader reported to read on.", words(DisplayUsed)),
    Column("exposure", TEXT, "Whether the reader had seen questions or images before.", words(Exposure)),
    Column("exposure_text", TEXT, "What the reader wrote about that."),
    Column("screen", TEXT, "What the display check measured, as JSON."),
    Column("enrolled_at", TIME, "When the reader came in, or was imported."),
    Column(
        "consented_at",
        TIME,
        "When the reader agreed to take part; missing: not asked, since the study has no consent text, or not yet.",
    ),
    Column("consent_version", WHOLE, "Which version of the text was agreed to; missing: as consented_at."),
    Column("display_checked_at", TIME, "When both grey steps were found."),
    Column("practised_at", TIME, "When the practice block was done."),
    Column("finished_at", TIME, "When the last case of the main block had its answer."),
    Column("declared_at", TIME, "When the reader declared that no other source was used."),
    Column("source", TEXT, "File that an imported reader came with; empty: read here."),
)
_SAID = ("training", "years", "chest_fellowship", "films_per_week", "display", "exposure", "exposure_text")
_TEXTS = frozenset(column.name for column in READER_COLUMNS if column.kind == TEXT)
SESSION_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    READER,
    Column("session", WHOLE, "Number of the sitting of this reader: 1, 2, 3 in time."),
    Column("started_at", TIME, "When the page began to write for the reader."),
    Column("seen_at", TIME, "When the server last heard of it."),
    Column("ended_at", TIME, "When it ended; missing: it goes on."),
    Column("end", TEXT, "How it ended.", words(SessionEnd)),
    Column("device", TEXT, "Browser, window, screen and pixel ratio as the page reported them, as JSON."),
)
EVENT_COLUMNS: tuple[Column, ...] = (
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
    Column("wall_ms", REAL, "Time of day of the device, ms since 1970; missing: not reported."),
    Column("received_at", TIME, "When the server received it."),
    Column("details", TEXT, "What belongs to it, as JSON; options are canonical."),
)
_EVENT_VALUES = (
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
VOIDING_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    BLOCK,
    *CASE,
    Column("reason", TEXT, "Why the case was left out."),
    Column(
        "before_unblinding",
        YES_NO,
        "true: before anybody saw a result, so it is left out everywhere. false: only in a sensitivity analysis.",
    ),
    Column(
        "declared",
        YES_NO,
        "true: decided in the original study, as whoever imported its readings declared with them; such a voiding "
        "counts as before unblinding.",
    ),
    Column("source", TEXT, "File that the voiding was imported with; empty: decided here."),
    Column("author", TEXT, "Keyed pseudonym of the person who decided it; empty: on the command line."),
    Column("at", TIME, "When it was stored."),
)


def order_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by arm, set, order and place; one statement, so one moment."""
    fixed = study_cells(study)
    rows = PresentedCase.objects.filter(order__study=study).order_by(
        "order__arm__number", "order__case_set__number", "order__number", "-block", "position"
    )
    for arm, case_set, number, rule, reader, *rest in rows.values_list(*_ORDER_VALUES).iterator(chunk_size=2000):
        yield [fixed["study"], fixed["protocol_sha256"], arm, case_set, number, rule, reader or "", *rest]


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
        yield [cells[column.name] for column in READER_COLUMNS]


def session_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by reader, then in time; one statement, so one moment. The token of a sitting never leaves the program."""
    fixed = study_cells(study)
    for session, number in _numbered_sessions(study):
        yield [
            fixed["study"],
            fixed["protocol_sha256"],
            session.enrolment.pseudonym,
            number,
            session.started_at,
            session.seen_at,
            session.ended_at,
            session.end,
            json.dumps(session.device, sort_keys=True, ensure_ascii=False) if session.device else "",
        ]


def _session_numbers(study: ReaderStudy) -> dict[int, int]:
    return {session.pk: number for session, number in _numbered_sessions(study)}


def _numbered_sessions(study: ReaderStudy) -> Iterator[tuple[ReadingSession, int]]:
    """By reader, then in time, with the how-manieth of its reader each is. Later ones come after these."""
    counted: Counter[int] = Counter()
    sessions = ReadingSession.objects.filter(enrolment__study=study).select_related("enrolment")
    for session in sessions.order_by("enrolment", "started_at", "pk").iterator(chunk_size=2000):
        counted[session.enrolment_id] += 1
        yield session, counted[session.enrolment_id]


def event_rows(study: ReaderStudy, some: QuerySet[TimingEvent] | None = None) -> Iterator[list[Cell]]:
    """Rows by reader, then as the server took them in, or ``some`` in their order; one statement, so one moment."""
    fixed = study_cells(study)
    numbers = _session_numbers(study)
    rows = TimingEvent.objects.filter(reading__enrolment__study=study).order_by("reading__enrolment", "pk")
    rows = rows if some is None else some
    for *where, session, page, sequence, kind, client, wall, received, details in rows.values_list(
        *_EVENT_VALUES
    ).iterator(chunk_size=2000):
        if session is not None and session not in numbers:  # it began since they were counted
            numbers = _session_numbers(study)
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


def voiding_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    fixed = study_cells(study)
    rows = Voiding.objects.filter(case__study=study).order_by("pk")
    for voiding in rows.select_related("case__revision__question"):
        yield [
            fixed["study"],
            fixed["protocol_sha256"],
            voiding.case.block,
            voiding.case.revision.question.number,
            voiding.case.public_id,
            voiding.reason,
            voiding.before_unblinding,
            voiding.declared,
            voiding.source,
            _author(voiding.actor_id),
            voiding.at,
        ]


def _author(person_id: int | None) -> str:
    return keyed_pseudonym(settings.PSEUDONYM_KEY.encode(), "coordinator", "" if person_id is None else str(person_id))
