"""Columns and cells of the tables of a study: what several tables share, and the columns of each response."""

from __future__ import annotations

from typing import Any

from annotation.case.kernels.durations import EXCLUDING, TimeFlag
from annotation.enums import Difficulty, Task
from annotation.exports.reviews import part_columns
from annotation.tables.writing import Cell, Column, Kind
from readerstudy.design.kernels.documents import CHANCES
from readerstudy.enums import Aid, Block, Information, ResponseState
from readerstudy.models import Enrolment, ReaderStudy

TEXT, WHOLE, REAL, YES_NO, DAY = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO, Kind.DAY
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
OF_QUESTION = (
    Column("exam", TEXT, "Keyed pseudonym of the exam; questions with the same value share their images."),
    Column("patient", TEXT, "Keyed pseudonym of the patient; empty: not known."),
    Column("task", TEXT, "Task of the question.", words(Task)),
    Column("category", TEXT, "Category of the question as imported."),
)
DIFFICULTY = Column("difficulty", TEXT, "Difficulty stated by the bank.", words(Difficulty))
OPTIONS_ORDER = Column(
    "options_order", TEXT, "Canonical options in the order in which this reader saw them; empty: not known.", "ABCD"
)


def study_cells(study: ReaderStudy) -> dict[str, Cell]:
    return {"study": study.slug, "protocol_sha256": study.protocol_sha256, "simulated": study.simulated}


def reader_cells(enrolment: Enrolment) -> dict[str, Cell]:
    """Needs the case set of the enrolment."""
    return {"reader": enrolment.pseudonym, "case_set": enrolment.case_set.name, "reader_state": _state(enrolment)}


def _state(enrolment: Enrolment) -> str:
    if enrolment.reader_id is None:
        return "imported"
    if enrolment.withdrawn_at is not None:
        return "withdrawn"
    if enrolment.replaced_at is not None:
        return "replaced"
    return "finished" if enrolment.finished_at is not None else "reading"


_STATES = ", ".join(f"{state.value} ({state.label})" for state in ResponseState)
_WHERE = (
    *STUDY,
    ARM,
    Column("information", TEXT, "What the arm shows beside images and question.", words(Information)),
    Column("aid", TEXT, "What the arm gives as an aid.", words(Aid)),
    CASE_SET,
    READER,
    READER_STATE,
    BLOCK,
    Column("position", WHOLE, "Place of the case in the order of this reader, in its block; missing: not known."),
    *CASE,
    Column("reading_id", TEXT, "Keyed id of the reading; empty: the case was never opened."),
)
_CASE = (
    Column("revision", WHOLE, "Which wording of the question was read; 1 is the first that was imported."),
    *OF_QUESTION,
    Column("subcategory", TEXT, "Subcategory of the question as imported."),
    Column("question_class", TEXT, "Class of the question as imported."),
    DIFFICULTY,
    Column(
        "voided",
        TEXT,
        "Whether the case was left out: before anybody saw a result (drop it everywhere), or after (drop it only in a "
        "labelled sensitivity analysis). Empty: it counts.",
        "before_unblinding, after_unblinding",
    ),
)
_ANSWER = (
    OPTIONS_ORDER,
    Column("option", TEXT, "The answer as canonical option, whatever stood where on screen; empty: none.", LETTERS),
    Column("shown_option", TEXT, "The letter that stood beside that option on this reader's screen.", LETTERS),
    Column("state", TEXT, f"How the reading ended; empty: there is no response. {_STATES}.", words(ResponseState)),
    Column(
        "counted",
        TEXT,
        "How the reading counts: answered and unconfirmed as chosen; declined, timed_out and late as wrong; missing as "
        "nothing, reported as a number. A case that was never reached is missing.",
        words(ResponseState),
    ),
    Column("is_confirmed", YES_NO, "Whether the reader committed the answer; missing: there is no response."),
    Column(
        "closed_by_time",
        YES_NO,
        "Whether the time ended before an answer was received; an answer that was committed in time and arrived "
        "afterwards then took its place.",
    ),
    Column(
        "replaced",
        TEXT,
        "How the program had closed the reading before, oldest first, joined by |, with the option behind a colon: an "
        "answer or a choice that was made in time and arrived afterwards took its place. Empty: nothing was replaced.",
        "timed_out, unconfirmed:A to unconfirmed:D",
    ),
    Column(
        "delivered_late",
        YES_NO,
        "Committed in time (of an unconfirmed one: chosen in time) and received later: counts as any other.",
    ),
    Column(
        "best_guess",
        TEXT,
        "Best guess as canonical option, asked after “cannot tell”: declined stays wrong in correct; with the guess "
        "scored, a declined reading is right where best_guess equals key. Empty: none.",
        LETTERS,
    ),
    Column(
        "confidence",
        WHOLE,
        "Chance of being right in percent, as the reader stated after the commit; of a declined case, of the guess.",
        ", ".join(map(str, CHANCES)),
    ),
    Column(
        "slip_option", TEXT, "Option that the reader reported to have meant; only for a sensitivity analysis.", LETTERS
    ),
    Column("faulty", YES_NO, "Whether the reader reported the case as faulty."),
    Column("faulty_text", TEXT, "What the reader wrote about that."),
    Column("refused_answers", WHOLE, "Further answers that arrived and changed nothing, also before it was opened."),
)
_TIMES = (
    Column(
        "active_ms",
        WHOLE,
        "Active time in ms, by time_rule: from the first frame with question and all images at full depth to the "
        "commit, minus what the columns hidden_ms to gap_ms took off. Missing: time_flags say why.",
    ),
    Column("elapsed_ms", WHOLE, "Time from the same frame to the commit in ms, nothing taken off."),
    Column("sittings", WHOLE, "Sittings; 2 or more: taken up again later, which counts for no time."),
    Column("time_rule", TEXT, "Version of the rule; empty: no time; elsewhere: taken from an imported file."),
    Column(
        "time_flags",
        TEXT,
        "What is to be known about the time and the page, joined by |. Summaries leave out times with "
        f"{', '.join(sorted(EXCLUDING))}.",
        ", ".join(f"{flag.value} ({flag.label})" for flag in TimeFlag),
    ),
    *part_columns(),
    Column("limit_ms", WHOLE, "Limit at which a late or unconfirmed time is censored; missing: not censored."),
    Column("opened_at", DAY, "Day on which the case was first opened."),
    Column("painted_at", DAY, "Day on which the server heard of the first frame with everything on screen."),
    Column("committed_at", DAY, "Day on which the commit arrived; missing: none did, or it was made elsewhere."),
    Column("stored_at", DAY, "Day on which the response was stored here."),
    Column("unreadable", TEXT, "Random ids of images that the reader could not read, joined by |."),
    Column(
        "viewport",
        TEXT,
        "How the views stood on screen at the commit (window, zoom, pan, inversion), as JSON; empty: not reported.",
    ),
    Column("source", TEXT, "File and row of a response that was imported; empty: read here."),
    SIMULATED,
)
_KEY = (
    Column("key", TEXT, "The key of this wording.", LETTERS),
    Column(
        "correct",
        YES_NO,
        "Whether the reading counts as right; missing: it does not count. Voided cases and practice cases have it too.",
    ),
)


def response_columns(*, with_key: bool) -> tuple[Column, ...]:
    """Key and correct only stand in the tables of a closed study."""
    return (*_WHERE, *_CASE, *_ANSWER, *(_KEY if with_key else ()), *_TIMES)
