"""The voided cases of a study as a table."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from annotation.exports.tables import Cell, Column
from annotation.imaging.kernels.deidentification import keyed_pseudonym
from readerstudy.exports.columns import BLOCK, CASE, STUDY, TEXT, TIME, YES_NO, study_cells
from readerstudy.models import ReaderStudy, Voiding

COLUMNS: tuple[Column, ...] = (
    *STUDY,
    BLOCK,
    *CASE,
    Column("reason", TEXT, "Why the case was left out."),
    Column(
        "before_unblinding",
        YES_NO,
        "true: before anybody saw a result, so it is left out everywhere. false: only in a labelled sensitivity line.",
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
