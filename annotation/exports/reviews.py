"""The reviews of a round as a table: one row per reviewer and question, in the version that counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.case.kernels.durations import DOUBT, EXACT_MS, EXCLUDING, PARTS, TimeFlag, part_cells
from annotation.enums import (
    Degree,
    Difficulty,
    Disagreement,
    Flag,
    GradeName,
    KeySource,
    OptionLetter,
    RoundState,
    Task,
    Verdict,
    ViewerTool,
)
from annotation.hashes import keyed_pseudonym, shown_pseudonym
from annotation.models import AnswerKey, Question, Review, ReviewRound, SampledQuestion, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.source_names import SOURCE_ID, source_ids_hidden, with_source_ids
from annotation.review.assignments import form_design_of
from annotation.review.kernels.form_design import CHOSEN, PAPER
from annotation.review.outcomes import CANNOT_JUDGE, asked_by_forms, newest_reviews
from annotation.review.viewing import checks_of, viewing_of
from annotation.tables.writing import Cell, Column, Format, Kind, Written, write_digested

TEXT, WHOLE, YES_NO, DAY = Kind.TEXT, Kind.WHOLE, Kind.YES_NO, Kind.DAY
LETTERS = "A, B, C, D"
UNASKED = "Empty: the form of this review did not ask."


def _words(words: type[Any]) -> str:
    return ", ".join(word.value or "(empty: unknown)" for word in words)


def _time_columns(prefix: str, what: str) -> tuple[Column, ...]:
    """The columns of Timed for one step."""
    return (
        Column(
            f"{prefix}active_ms",
            WHOLE,
            f"Active time of {what} in ms, by time_rule: from the first frame with all images at full depth to the "
            "commit, minus what the columns beside it took off. Missing: time_flags say why.",
        ),
        Column(
            f"{prefix}elapsed_ms", WHOLE, f"Time from the same frame to the commit of {what} in ms, nothing taken off."
        ),
        Column(f"{prefix}sittings", WHOLE, "Sittings; 2 or more: taken up again later, which counts for no time."),
        Column(
            f"{prefix}time_rule",
            TEXT,
            "Version of the rule; empty: stored before there was a clock; elsewhere: imported, without times.",
        ),
        Column(
            f"{prefix}time_flags",
            TEXT,
            f"What is to be known about the time and the page, joined by |. Summaries leave out times with "
            f"{', '.join(sorted(EXCLUDING))}.",
            ", ".join(f"{flag.value} ({flag.label})" for flag in TimeFlag),
        ),
        *part_columns(prefix),
        Column(f"{prefix}unreadable", TEXT, "Random ids of images that the reviewer could not read, joined by |."),
    )


def part_columns(prefix: str = "") -> Iterator[Column]:
    """What was taken off a time, by its cause."""
    unknown = "Missing: no time, or one by active-1, which did not say."
    for name, label in PARTS.items():
        yield Column(f"{prefix}{name}_ms", WHOLE, f"Taken off elapsed_ms, in ms: {label}. {unknown}")
    doubt = f"By how much active_ms may be off, in ms; above {EXACT_MS} flagged as doubtful."
    yield Column(f"{prefix}{DOUBT}_ms", WHOLE, f"{doubt} {unknown}")


_TIMES = ("active_ms", "elapsed_ms", "n_sittings", "time_rule", "time_flags", "time_parts", "unreadable")
COLUMNS: tuple[Column, ...] = (
    Column("round", TEXT, "Address of the review round."),
    Column("bank", TEXT, "Address of the question bank."),
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("question_id", TEXT, "Random id of the question, as in its address."),
    Column("revision", WHOLE, "Which wording of the question was reviewed; 1 is the first that was imported."),
    Column("exam", TEXT, "Keyed pseudonym of the exam; questions with the same value share their images."),
    Column("task", TEXT, "Task of the question.", _words(Task)),
    Column("category", TEXT, "Category of the question as imported."),
    Column("subcategory", TEXT, "Subcategory of the question as imported."),
    Column("question_class", TEXT, "Class of the question as imported."),
    Column("difficulty", TEXT, "Difficulty stated by the bank.", _words(Difficulty)),
    Column("stratum", TEXT, "Stratum of the sample from which the question was drawn."),
    Column("reviewer", TEXT, "Keyed pseudonym of the reviewer, the same in every round of this site."),
    Column("assignment_id", TEXT, "Random id of this reviewer's assignment of this question."),
    Column("reassigned", YES_NO, "Whether the question was first assigned to somebody else."),
    Column("steps", TEXT, "full: blind answer first; open: judgement only.", "full, open"),
    Column("hidden_tools", TEXT, "Image tools that the round hides, joined by |.", _words(ViewerTool)),
    Column("least_window", TEXT, "Smallest browser window of the round, width x height in CSS pixels; empty: none."),
    Column(
        "display_check",
        TEXT,
        "What the last display check of the reviewer before this version asked, was told and measured, as JSON; "
        "passed: whether; empty: there was none.",
    ),
    Column("opened_at", DAY, "Day on which the reviewer first opened the question."),
    Column(
        "blind_best",
        TEXT,
        "Best option before the key was shown; empty: no option is acceptable, or not asked.",
        LETTERS,
    ),
    Column("blind_defensible", TEXT, "All options judged defensible before the key was shown, joined by |.", LETTERS),
    Column("blind_difficulty", TEXT, "Difficulty judged before the key was shown.", "easy, medium, hard"),
    Column("blind_answered_at", DAY, "Day on which the blind answer was stored; missing where none was asked."),
    Column("blind_meant", TEXT, "What was meant: a reported input error of blind_best.", f"{LETTERS}, none, (empty)"),
    *_time_columns("blind_", "the blind answer"),
    Column("key", TEXT, "The key of this wording.", _words(OptionLetter)),
    Column("blind_equals_key", YES_NO, "Whether blind_best is the key; missing where no blind answer was asked."),
    Column("report_opened_at", DAY, "Day on which the reviewer opened the report; missing if never."),
    Column("version", WHOLE, "Version of this review; earlier ones are kept in the reading room."),
    Column("submitted_at", DAY, "Day on which this version was submitted."),
    *_time_columns("", "this version"),
    *(
        Column(f"grade_{g.value}", WHOLE, f"Grade: {g.label}. Missing: could not judge, or not asked.", "1 to 5")
        for g in GradeName
    ),
    *(
        Column(f"cannot_judge_{g.value}", YES_NO, f"Whether the reviewer could not judge: {g.label}. {UNASKED}")
        for g in GradeName
    ),
    Column("needs_image", TEXT, f"Whether the question needs the image. {UNASKED}", _words(Degree)),
    Column("relevant", TEXT, f"Whether the question is clinically relevant. {UNASKED}", _words(Degree)),
    *(Column(f"flag_{flag.value}", YES_NO, f"Flag: {flag.label}. {UNASKED}") for flag in Flag),
    Column(
        "disagreement",
        TEXT,
        "What the reviewer says of a blind answer that is not the key; empty where it is, and in reviews from before "
        "this was asked.",
        _words(Disagreement).replace("(empty: unknown)", "(empty)"),
    ),
    Column("withdrawn_flags", TEXT, "Flags that followed from the blind answer and were taken back, joined by |."),
    Column("verdict", TEXT, "The verdict.", _words(Verdict)),
    Column("verdict_reason", TEXT, "Why the reviewer cannot judge."),
    Column("reasoning", TEXT, "Clinical reasoning."),
    Column("comment", TEXT, "Comment."),
    Column("corrected_category", TEXT, "Category as the reviewer would have it; empty: as it is."),
    Column("simulated", YES_NO, "Whether the review was made up for a demonstration."),
    Column("form", TEXT, "Name and version of the review form that was answered; paper-1 is that of the paper."),
)

_VALUES = {
    "question": F("assignment__revision__question__number"),
    "question_id": F("assignment__revision__question__public_id"),
    "revision": F("assignment__revision__number"),
    "exam": F("assignment__revision__question__exam__pseudonym"),
    "task": F("assignment__revision__task"),
    "question_category": F("assignment__revision__category"),
    "subcategory": F("assignment__revision__subcategory"),
    "question_class": F("assignment__revision__question_class"),
    "difficulty": F("assignment__revision__difficulty"),
    "reviewer": F("assignment__reviewer_id"),
    "assignment_name": F("assignment__public_id"),
    "reassigned_from": F("assignment__reassigned_from_id"),
    "opened_at": F("assignment__opened_at"),
    "blind_best": F("assignment__blind_answer__best"),
    "blind_defensible": F("assignment__blind_answer__defensible"),
    "blind_difficulty": F("assignment__blind_answer__difficulty"),
    "blind_answered_at": F("assignment__blind_answer__answered_at"),
    "blind_meant": F("assignment__blind_answer__meant"),
    "report_opened_at": F("assignment__report_opened_at"),
    **{f"answer_{column}": F(f"assignment__blind_answer__{column}") for column in _TIMES},
}
_OWN = (
    "version",
    "submitted_at",
    "grades",
    "needs_image",
    "relevant",
    "flags",
    "disagreement",
    "withdrawn_flags",
    "verdict",
    "verdict_reason",
    "reasoning",
    "comment",
    "category",
    "simulated",
    "form",
    *_TIMES,
)


_ASKED: dict[str, GradeName | Flag] = {
    **{f"{what}_{name}": name for what in ("grade", "cannot_judge") for name in GradeName},
    **{f"flag_{flag}": flag for flag in CHOSEN},
}


def reviewer_pseudonym(person_id: int) -> str:
    """Stable stand-in for a reviewer, made with the key of the site."""
    return shown_pseudonym(keyed_pseudonym(settings.PSEUDONYM_KEY.encode(), "reviewer", str(person_id)))


def review_rows(review_round: ReviewRound) -> Iterator[list[Cell]]:
    """Rows by question, then in the order in which the questions were assigned; one statement, so one moment."""
    order = ("assignment__revision__question__number", "assignment_id")
    columns = columns_of_reviews(review_round, source_ids=False)
    return _rows_of(review_round, newest_reviews(review_round).order_by(*order), columns)


@transaction.atomic
def read_reviews_of(
    review_round: ReviewRound, reviews: Sequence[Review], *, actor: User, at: datetime
) -> list[dict[str, Cell]]:
    """The same rows of these reviews, in the order in which they were stored, for a program that reads page by page.

    Noted in the audit log, and the keys among them as seen by the actor.
    """
    if not reviews:
        return []
    some = Review.objects.filter(pk__in=[one.pk for one in reviews])
    read = Question.objects.filter(revisions__in=some.values("assignment__revision"))
    note_seen_keys(actor, read, source=KeySource.ROUND_EXPORT, subject=review_round, at=at)
    record("round.reviews_read", actor=actor, at=at, subject=review_round, facts={"rows": len(reviews)})
    names = [column.name for column in COLUMNS]
    return [dict(zip(names, row, strict=True)) for row in _rows_of(review_round, some.order_by("pk"), COLUMNS)]


def _rows_of(review_round: ReviewRound, reviews: QuerySet[Review], columns: Sequence[Column]) -> Iterator[list[Cell]]:
    key = AnswerKey.objects.filter(pk=OuterRef("assignment__revision_id")).values("key")
    drawn = SampledQuestion.objects.filter(
        plan_id=review_round.plan_id, revision_id=OuterRef("assignment__revision_id")
    ).values("stratum")
    earlier = {"actor": OuterRef("assignment__reviewer"), "at__lte": OuterRef("submitted_at")}
    check = checks_of(review_round).filter(**earlier, facts__lets_in=True).order_by("-pk").values("facts")[:1]
    rows = reviews.values(*_OWN, **_VALUES, key=Subquery(key), stratum=Subquery(drawn), check=Subquery(check))
    viewing = viewing_of(review_round)
    fixed = {
        "round": review_round.slug,
        "bank": review_round.plan.bank.slug,
        "steps": review_round.steps,
        "hidden_tools": "|".join(viewing.hidden_tools),
        "least_window": "x".join(map(str, viewing.least_window or ())),
    }
    pseudonyms: dict[int, str] = {}
    asked = asked_by_forms()
    for row in rows.iterator(chunk_size=2000):
        person = row["reviewer"]
        if person not in pseudonyms:
            pseudonyms[person] = reviewer_pseudonym(person)
        of = asked(row["form"], row["blind_answered_at"], row["flags"])
        cells = _cells({**row, **fixed}, pseudonyms[person], of)
        yield [cells[column.name] for column in columns]


def _cells(row: dict[str, Any], reviewer: str, asked: frozenset[str]) -> dict[str, Cell]:
    was_asked = row["blind_answered_at"] is not None
    grades = row["grades"]
    return {
        **row,
        "reviewer": reviewer,
        "exam": shown_pseudonym(row["exam"]),
        "stratum": row["stratum"] or "",
        "display_check": json.dumps(row["check"], sort_keys=True) if row["check"] else "",
        "assignment_id": row["assignment_name"],
        "category": row["question_category"],
        "corrected_category": row["category"],
        "reassigned": row["reassigned_from"] is not None,
        "blind_best": row["blind_best"] or "",
        "blind_difficulty": row["blind_difficulty"] or "",
        "blind_meant": row["blind_meant"] or "",
        "blind_defensible": "|".join(row["blind_defensible"] or []),
        "blind_equals_key": row["blind_best"] == row["key"] if was_asked else None,
        "withdrawn_flags": "|".join(sorted(row["withdrawn_flags"])),
        **_times(row, "", ""),
        **_times(row, "answer_", "blind_"),
        **{f"grade_{g.value}": _number(grades.get(g.value)) for g in GradeName},
        **{
            f"cannot_judge_{g.value}": grades.get(g.value) == CANNOT_JUDGE
            if g.value in grades or f"grade_{g.value}" in asked
            else None
            for g in GradeName
        },
        **{f"flag_{f.value}": f.value in row["flags"] if f"flag_{f.value}" in asked else None for f in Flag},
    }


def _times(row: dict[str, Any], stored: str, prefix: str) -> dict[str, Cell]:
    return {
        **{f"{prefix}{name}": row[f"{stored}{name}"] for name in ("active_ms", "elapsed_ms")},
        f"{prefix}sittings": row[f"{stored}n_sittings"],
        f"{prefix}time_rule": row[f"{stored}time_rule"] or "",
        **{f"{prefix}{name}": "|".join(row[f"{stored}{name}"] or []) for name in ("time_flags", "unreadable")},
        **{f"{prefix}{name}": ms for name, ms in part_cells(row[f"{stored}time_parts"]).items()},
    }


def _number(grade: object) -> int | None:
    return grade if isinstance(grade, int) else None


def may_take_source_ids(review_round: ReviewRound) -> bool:
    return review_round.state == RoundState.CLOSED


def columns_of_reviews(review_round: ReviewRound, *, source_ids: bool) -> tuple[Column, ...]:
    """Those of the paper's form, and what the form of the round asks beside; of words that came later no column."""
    design = form_design_of(review_round)
    later = {*GradeName, *CHOSEN} - {*PAPER.grades, *PAPER.flags, *design.grades, *design.flags}
    columns = tuple(column for column in COLUMNS if _ASKED.get(column.name) not in later)
    return (*columns, SOURCE_ID) if source_ids else columns


def export_reviews(
    review_round: ReviewRound,
    form: Format,
    to: IO[bytes],
    *,
    actor: User | None,
    at: datetime,
    source_ids: bool = False,
) -> Written:
    """Write the reviews to ``to`` (seekable) and note in the audit log who took which bytes.

    The same reviews give the same bytes. ``source_ids`` adds the ids of the imported file; refused
    until the round is closed.
    """
    if source_ids and not may_take_source_ids(review_round):
        raise source_ids_hidden(_("The ids of the imported file are hidden until the round is closed."))
    rows: Iterator[list[Cell]] = review_rows(review_round)
    columns = columns_of_reviews(review_round, source_ids=source_ids)
    if source_ids:
        rows = with_source_ids(review_round.plan.bank, columns, rows, number_column="question")
    written = write_digested(to, columns, rows, form)
    with transaction.atomic():
        if actor is not None:
            read = Question.objects.filter(revisions__in=newest_reviews(review_round).values("assignment__revision"))
            note_seen_keys(actor, read, source=KeySource.ROUND_EXPORT, subject=review_round, at=at)
        facts = {"format": form.value, "rows": written.n_rows, "sha256": written.sha256}
        facts |= {"source_ids": True} if source_ids else {}
        record("round.exported", actor=actor, at=at, subject=review_round, facts=facts)
    return written
