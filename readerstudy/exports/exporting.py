"""Tables of a study that hold no answer key, and how any table leaves the program, with the trace of who took it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils.translation import gettext as translate

from annotation.audit.recording import record
from annotation.case.kernels.display import CONDITIONS, DisplayUsed
from annotation.enums import EventKind, Word, _
from annotation.hashes import keyed_pseudonym, shown_pseudonym
from annotation.models import User
from annotation.questionbank.source_names import SOURCE_ID, with_source_ids
from annotation.tables.writing import Cell, Column, Format, Written, write_digested
from readerstudy.design.conflicts import note_study_keys
from readerstudy.enrolment.kernels.steps import Exposure, Training
from readerstudy.enums import SessionEnd
from readerstudy.exports.columns import (
    ARM,
    BLOCK,
    CASE,
    CASE_SET,
    DAY,
    OPTIONS_ORDER,
    READER,
    READER_STATE,
    REAL,
    STUDY,
    TEXT,
    WHOLE,
    YES_NO,
    reader_cells,
    response_columns,
    study_cells,
    words,
)
from readerstudy.exports.responses import reading_key, response_rows
from readerstudy.models import (
    READERS_DRAWN,
    Enrolment,
    PresentedCase,
    ReaderStudy,
    ReadingSession,
    TimingEvent,
    Voiding,
)
from readerstudy.predictions.looks import GLASS_BROKEN, SHORTEST_REASON, is_over, may_see_results, unblind
from readerstudy.study.permissions import StudyRefused

ORDER_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    ARM,
    Column("case_set", TEXT, "Name of the set of cases."),
    Column("order", WHOLE, "Number of the order within its set, as in the protocol; which a reader takes is drawn."),
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
    Column("screen", TEXT, "What the last display check asked, was told and measured, as JSON; passed: whether."),
    Column("enrolled_at", DAY, "Day on which the reader came in, or was imported."),
    Column(
        "consented_at",
        DAY,
        "Day on which the reader agreed to take part; missing: not yet, or not asked: the study has no consent text.",
    ),
    Column("consent_version", WHOLE, "Which version of the text was agreed to; missing: as consented_at."),
    Column("display_checked_at", DAY, "Day of the display check that let the reader in; whether passed: screen."),
    Column("practised_at", DAY, "Day on which the practice block was done."),
    Column("finished_at", DAY, "Day on which the last case of the main block had its answer."),
    Column("declared_at", DAY, "Day on which the reader declared that no other source was used."),
    Column("closing", TEXT, "What the reader said after the last case: remarks and the questionnaire, as JSON."),
    Column("source", TEXT, "File that an imported reader came with; empty: read here."),
)
_SAID = ("training", "years", "chest_fellowship", "films_per_week", "display", "exposure", "exposure_text")
_TEXTS = frozenset(column.name for column in READER_COLUMNS if column.kind == TEXT)
CONDITIONS_SAID = "Reading conditions by the display check, as JSON: {}.".format(
    "; ".join(f"{name} ({label})" for name, label in CONDITIONS.items())
)
SESSION_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    READER,
    Column("session", WHOLE, "Number of the sitting of this reader: 1, 2, 3 in time."),
    Column("started_at", DAY, "Day on which the page began to write for the reader."),
    Column("seen_at", DAY, "Day on which the server last heard of it."),
    Column("ended_at", DAY, "Day on which it ended; missing: it goes on."),
    Column("end", TEXT, "How it ended.", words(SessionEnd)),
    Column("device", TEXT, "Window, screen, pixel ratio, bit depth and zoom as the page reported them, as JSON."),
    Column("conditions", TEXT, f"{CONDITIONS_SAID} One entry for each check of the sitting, in time; empty: none."),
)
EVENT_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    ARM,
    READER,
    BLOCK,
    Column("position", WHOLE, "Place of the case in the order of this reader, in its block."),
    *CASE,
    Column("reading_id", TEXT, "Keyed id of the reading, as in the responses."),
    Column("session", WHOLE, "Number of the sitting of this reader, as in the sessions; missing: not known."),
    Column("page", TEXT, "Random id of one load of the page; client_ms starts anew with each. server: by the server."),
    Column("sequence", WHOLE, "Counted by the page."),
    Column("kind", TEXT, "What happened.", words(EventKind)),
    Column("client_ms", REAL, "Monotonic clock of the page in ms."),
    Column("wall_ms", REAL, "Clock of the device since the server opened the case, in ms; missing: not reported."),
    Column("received_ms", WHOLE, "Server time since the case was opened, in ms, when it was received."),
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
    "reading__opened_at",
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
    Column("at", DAY, "Day on which it was stored."),
)


def order_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by arm, set, order and place; one statement, so one moment."""
    of_study = (study.slug, study.protocol_sha256)
    rows = PresentedCase.objects.filter(order__study=study).order_by(
        "order__arm__number", "order__case_set__number", "order__number", "-block", "position"
    )
    for arm, case_set, number, rule, reader, *rest in rows.values_list(*_ORDER_VALUES).iterator(chunk_size=2000):
        yield [*of_study, arm, case_set, number, rule, reader or "", *rest]


def reader_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by pseudonym, not in the order in which the readers came; one statement, so one moment."""
    for enrolment in Enrolment.objects.filter(study=study).select_related("case_set").order_by(*READERS_DRAWN):
        cells: dict[str, Cell] = {
            **study_cells(study),
            **reader_cells(enrolment),
            **{name: enrolment.facts.get(name, "" if name in _TEXTS else None) for name in _SAID},
            **{name: getattr(enrolment, name) for name in _TIMES},
            "consent_version": enrolment.consent_version,
            "screen": json.dumps(enrolment.display, sort_keys=True) if enrolment.display else "",
            "closing": json.dumps(enrolment.closing, ensure_ascii=False) if enrolment.closing else "",
            "source": enrolment.source,
        }
        yield [cells[column.name] for column in READER_COLUMNS]


def session_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by reader, then in time; one statement, so one moment. The token of a sitting never leaves the program."""
    of_study = (study.slug, study.protocol_sha256)
    for session, number in _numbered_sessions(study):
        yield [
            *of_study,
            session.enrolment.pseudonym,
            number,
            session.started_at,
            session.seen_at,
            session.ended_at,
            session.end,
            _device(session.device),
            json.dumps(session.device["conditions"]) if session.device.get("conditions") else "",
        ]


def _device(told: Mapping[str, Any]) -> str:
    """Numbers alone, without the name of the browser, which few readers share."""
    rest = ((name, value) for name, value in told.items() if name != "conditions")
    numbers = ((name, value if isinstance(value, list) else [value]) for name, value in rest)
    measured = {name: told[name] for name, all_of in numbers if all(isinstance(one, int | float) for one in all_of)}
    return json.dumps(measured, sort_keys=True) if measured else ""


def _session_numbers(study: ReaderStudy) -> dict[int, int]:
    return {session.pk: number for session, number in _numbered_sessions(study)}


def _numbered_sessions(study: ReaderStudy) -> Iterator[tuple[ReadingSession, int]]:
    """By reader, then in time, with the how-manieth of its reader each is. Later ones come after these."""
    counted: Counter[int] = Counter()
    sessions = ReadingSession.objects.filter(enrolment__study=study).select_related("enrolment")
    drawn = (Length("enrolment__pseudonym"), "enrolment__pseudonym")
    for session in sessions.order_by(*drawn, "started_at", "pk").iterator(chunk_size=2000):
        counted[session.enrolment_id] += 1
        yield session, counted[session.enrolment_id]


def event_rows(study: ReaderStudy, some: QuerySet[TimingEvent] | None = None) -> Iterator[list[Cell]]:
    """Rows by reader, then as the server took them in, or ``some`` in their order; one statement, so one moment."""
    of_study = (study.slug, study.protocol_sha256)
    numbers = _session_numbers(study)
    rows = TimingEvent.objects.filter(reading__enrolment__study=study).order_by(
        Length("reading__enrolment__pseudonym"), "reading__enrolment__pseudonym", "pk"
    )
    rows = rows if some is None else some
    for *where, reading, session, page, sequence, kind, client, wall, received, opened, details in rows.values_list(
        *_EVENT_VALUES
    ).iterator(chunk_size=2000):
        if session is not None and session not in numbers:  # it began since they were counted
            numbers = _session_numbers(study)
        yield [
            *of_study,
            *where,
            reading_key(reading),
            numbers.get(session),
            page,
            sequence,
            kind,
            client,
            wall - opened.timestamp() * 1000 if wall is not None and opened else None,
            (received - opened) // timedelta(milliseconds=1) if opened else None,
            json.dumps(details, sort_keys=True, ensure_ascii=False) if details else "",
        ]


def voiding_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    of_study = (study.slug, study.protocol_sha256)
    rows = Voiding.objects.filter(case__study=study).order_by("pk")
    for voiding in rows.select_related("case__revision__question"):
        yield [
            *of_study,
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
    person = "" if person_id is None else str(person_id)
    return shown_pseudonym(keyed_pseudonym(settings.PSEUDONYM_KEY.encode(), "coordinator", person))


class StudyTable(Word):
    RESPONSES = "responses", _("responses")
    EVENTS = "events", _("events of the clock")
    SESSIONS = "sessions", _("sessions")
    READERS = "readers", _("readers")
    ORDERS = "orders", _("orders")
    VOIDINGS = "voidings", _("voided cases")


HIDDEN_BEFORE_RESULTS = frozenset({StudyTable.RESPONSES, StudyTable.EVENTS})
_PLAIN: dict[str, tuple[tuple[Column, ...], Callable[[ReaderStudy], Iterator[list[Cell]]]]] = {
    StudyTable.EVENTS: (EVENT_COLUMNS, event_rows),
    StudyTable.SESSIONS: (SESSION_COLUMNS, session_rows),
    StudyTable.READERS: (READER_COLUMNS, reader_rows),
    StudyTable.ORDERS: (ORDER_COLUMNS, order_rows),
    StudyTable.VOIDINGS: (VOIDING_COLUMNS, voiding_rows),
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
