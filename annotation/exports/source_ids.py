"""The ids of the imported file: as a table of a bank, and as a further column of an export. For coordinators only.

Readers and reviewers never get them: an id may tell the task, the finding or the patient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import IO

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImportState
from annotation.exports.tables import Cell, Column, ExportRefused, Format, Kind, Written, write_digested
from annotation.models import Question, QuestionBank, Revision, User
from annotation.questionbank.answers import blind_assignments
from annotation.questionbank.known import keys_of_questions
from annotation.site.permissions import is_coordinator

AT_ONCE = 2_000
SOURCE_ID = Column("source_id", Kind.TEXT, "Id of the question in the imported file; empty: it had none.")
COLUMNS = (
    Column("question", Kind.WHOLE, "Number of the question in its bank."),
    Column("question_id", Kind.TEXT, "Random id of the question, as in exports."),
    SOURCE_ID,
    Column("exam", Kind.TEXT, "Keyed pseudonym of the exam, as in exports."),
)


def source_id_of(question: Question, *, person: User) -> str:
    """The id that the question has in the imported file. Raises ExportRefused."""
    _check_may_see(person, Revision.objects.filter(question=question))
    return keys_of_questions(question.bank_id, [question.pk]).get(question.pk, "")


def source_ids_shown_to(person: User, bank_id: int, question_ids: Collection[int]) -> dict[int, str]:
    """The ids of these questions by their pk; none for who may not see them."""
    try:
        _check_may_see(person, Revision.objects.filter(question__in=question_ids))
    except ExportRefused:
        return {}
    return keys_of_questions(bank_id, question_ids)


def export_source_ids(bank: QuestionBank, form: Format, to: IO[bytes], *, actor: User, at: datetime) -> Written:
    """Write number and ids of every question of the bank to ``to`` (seekable), and note who took them.

    Raises ExportRefused.
    """
    _check_may_see(actor, Revision.objects.filter(bank=bank))
    written = write_digested(to, COLUMNS, _rows(bank), form)
    with transaction.atomic():
        facts = {"format": form.value, "rows": written.n_rows, "sha256": written.sha256}
        record("bank.source_ids_taken", actor=actor, at=at, subject=bank, facts=facts)
    return written


def _check_may_see(person: User, revisions: QuerySet[Revision]) -> None:
    """Raises ExportRefused for who is no coordinator, and for one who is still to answer one of these blind."""
    if not is_coordinator(person):
        raise source_ids_hidden(_("The ids of the imported file are for coordinators."))
    if blind_assignments(person).filter(revision__in=revisions).exists():
        raise source_ids_hidden(
            _("You review questions of this bank yourself: own ids are hidden until you have answered them.")
        )


def source_ids_hidden(sentence: str) -> ExportRefused:
    """They were asked for by somebody who may not see them, or before the end."""
    return ExportRefused("source_ids_hidden", sentence, status=403)


def _rows(bank: QuestionBank) -> Iterator[list[Cell]]:
    visible = Revision.objects.filter(number=1, bank=bank, bank_import__state=ImportState.PUBLISHED)
    found = visible.order_by("question_id").values_list(
        "question_id", "question__number", "question__public_id", "question__exam__pseudonym"
    )
    rows = found.iterator(chunk_size=AT_ONCE)
    while chunk := list(islice(rows, AT_ONCE)):
        keys = keys_of_questions(bank.pk, [pk for pk, *_rest in chunk])
        for pk, number, public_id, exam in chunk:
            yield [number, public_id, keys.get(pk, ""), exam]


def with_source_ids(
    bank: QuestionBank, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, number_column: str
) -> Iterator[list[Cell]]:
    """The rows of a table, each with the id of the question whose number stands in ``number_column`` at its end."""
    place = [column.name for column in columns].index(number_column)
    waiting = iter(rows)
    while chunk := list(islice(waiting, AT_ONCE)):
        numbers = {cell for row in chunk if isinstance(cell := row[place], int)}
        questions = Question.objects.filter(bank=bank, number__in=numbers)
        number_of = dict(questions.order_by().values_list("pk", "number"))
        ids: dict[Cell, str] = {number_of[pk]: key for pk, key in keys_of_questions(bank.pk, number_of).items()}
        for row in chunk:
            yield [*row, ids.get(row[place], "")]
