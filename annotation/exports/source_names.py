"""What things are called at their source: ids of imported questions, and images that questions name and that are
missing. For coordinators only: such a name may tell the task, the finding or the patient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from pathlib import PurePosixPath
from typing import IO

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ImportState, ViewPosition
from annotation.exports.tables import Cell, Column, ExportRefused, Format, Kind, Written, write_digested
from annotation.hashes import shown_pseudonym
from annotation.ingest.matching import missing_images
from annotation.models import Question, QuestionBank, Revision, SourceIdentifier, User
from annotation.questionbank.answers import blind_assignments
from annotation.questionbank.priors import keys_of_questions
from annotation.site.permissions import is_coordinator

AT_ONCE = 2_000
SOURCE_ID = Column("source_id", Kind.TEXT, "Id of the question in the imported file; empty: it had none.")
SOURCE_ID_COLUMNS = (
    Column("question", Kind.WHOLE, "Number of the question in its bank."),
    Column("question_id", Kind.TEXT, "Random id of the question, as in exports."),
    SOURCE_ID,
    Column("exam", Kind.TEXT, "Keyed pseudonym of the exam, as in exports."),
)


def source_id_of(question: Question, *, person: User) -> str:
    """The id that the question has in the imported file. Raises ExportRefused."""
    check_may_see_names(person, Revision.objects.filter(question=question))
    return keys_of_questions(question.bank_id, [question.pk]).get(question.pk, "")


def source_ids_shown_to(person: User, bank_id: int, question_ids: Collection[int]) -> dict[int, str]:
    """The ids of these questions by their pk; none for who may not see them."""
    try:
        check_may_see_names(person, Revision.objects.filter(question__in=question_ids))
    except ExportRefused:
        return {}
    return keys_of_questions(bank_id, question_ids)


def export_source_ids(bank: QuestionBank, form: Format, to: IO[bytes], *, actor: User, at: datetime) -> Written:
    """Write number and ids of every question of the bank to ``to`` (seekable), and note who took them.

    Raises ExportRefused.
    """
    check_may_see_names(actor, Revision.objects.filter(bank=bank))
    written = write_digested(to, SOURCE_ID_COLUMNS, _rows(bank), form)
    with transaction.atomic():
        facts = {"format": form.value, "rows": written.n_rows, "sha256": written.sha256}
        record("bank.source_ids_taken", actor=actor, at=at, subject=bank, facts=facts)
    return written


def check_may_see_names(person: User, revisions: QuerySet[Revision]) -> None:
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
            yield [number, public_id, keys.get(pk, ""), shown_pseudonym(exam)]


def with_source_ids(
    bank: QuestionBank, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, number_column: str
) -> Iterator[list[Cell]]:
    """The rows of a table, each with, at its end, the id of the question whose number is in ``number_column``."""
    place = [column.name for column in columns].index(number_column)
    waiting = iter(rows)
    while chunk := list(islice(waiting, AT_ONCE)):
        numbers = {cell for row in chunk if isinstance(cell := row[place], int)}
        questions = Question.objects.filter(bank=bank, number__in=numbers)
        number_of = dict(questions.order_by().values_list("pk", "number"))
        ids: dict[Cell, str] = {number_of[pk]: key for pk, key in keys_of_questions(bank.pk, number_of).items()}
        for row in chunk:
            yield [*row, ids.get(row[place], "")]


NEAR_SHOWN = 20
COMPARED = 2_000  # names that a file is compared with, where none has the same stem
LIKE_ENOUGH = 0.75  # of two stems
MISSING_COLUMNS = (
    Column("path", Kind.TEXT, "Path of the image, as the question file gives it, from the root of the images."),
    Column("view_position", Kind.TEXT, "View position that the question file gives."),
    Column("exam", Kind.TEXT, "Keyed pseudonym of the exam, as in exports."),
    Column("questions", Kind.TEXT, "Numbers of the questions that show the image, joined by |."),
)


class MissingImage(Struct, frozen=True):
    path: str
    view_position: str
    exam: str
    questions: tuple[int, ...]

    @property
    def view_label(self) -> str:
        return gettext(ViewPosition(self.view_position).label)


def list_missing(bank: QuestionBank) -> list[MissingImage]:
    """By path. One walk over the names of the bank: no index leads from an image to its name."""
    rows = missing_images(bank).values_list("pk", "exam_id", "exam__pseudonym", "view_position")
    images = {pk: (exam_id, exam, view) for pk, exam_id, exam, view in rows}
    questions = _questions_of(bank, {exam_id for exam_id, _exam, _view in images.values()})
    named = (
        MissingImage(path, images[pk][2], shown_pseudonym(images[pk][1]), tuple(questions[images[pk][0]]))
        for pk, path in _names(bank, images)
    )
    return sorted(named, key=lambda one: one.path)


def export_missing(bank: QuestionBank, form: Format, to: IO[bytes], *, actor: User, at: datetime) -> Written:
    """Write the list to ``to`` (seekable), and note who took it."""
    rows: list[list[Cell]] = [
        [one.path, one.view_position, one.exam, "|".join(map(str, one.questions))] for one in list_missing(bank)
    ]
    written = write_digested(to, MISSING_COLUMNS, rows, form)
    with transaction.atomic():
        facts = {"format": form.value, "rows": written.n_rows, "sha256": written.sha256}
        record("bank.missing_images_taken", actor=actor, at=at, subject=bank, facts=facts)
    return written


def near_names(bank: QuestionBank, unmet: Collection[int]) -> list[tuple[str, str]]:
    """Files that no question waited for, each beside the missing image whose name comes nearest; NEAR_SHOWN of them.

    The same name without folders, case, signs and ending counts as near, and else a name that differs little.
    """
    missing = set(missing_images(bank).values_list("pk", flat=True)) if unmet else set()
    if not missing:
        return []
    came, wanted = [], defaultdict(list)
    for pk, path in _names(bank, missing | set(unmet)):
        if pk in missing:
            wanted[_stem(path)].append(path)
        else:
            came.append(path)
    pairs = ((path, near) for path in sorted(came) if (near := _nearest(path, wanted)))
    return list(islice(pairs, NEAR_SHOWN))


def _nearest(path: str, wanted: dict[str, list[str]]) -> str:
    stem = _stem(path)
    if stem not in wanted:
        stem = next(iter(get_close_matches(stem, list(islice(wanted, COMPARED)), n=1, cutoff=LIKE_ENOUGH)), "")
    alike = wanted.get(stem, [])[:COMPARED]
    return max(alike, key=lambda one: SequenceMatcher(None, path, one).ratio(), default="")


def _stem(path: str) -> str:
    return "".join(sign for sign in PurePosixPath(path).stem.casefold() if sign.isalnum())


def _names(bank: QuestionBank, images: Collection[int]) -> Iterator[tuple[int, str]]:
    rows = SourceIdentifier.objects.filter(bank=bank, kind=IdentifierKind.IMAGE_PATH).order_by()
    seen: set[int] = set()
    for pk, path in rows.values_list("image_id", "value").iterator(chunk_size=10_000):
        if pk in images and pk is not None and pk not in seen:
            seen.add(pk)
            yield pk, path


def _questions_of(bank: QuestionBank, exams: Collection[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    rows = Question.objects.filter(bank=bank).order_by("number").values_list("exam_id", "number")
    for exam_id, number in rows.iterator(chunk_size=10_000):
        if exam_id in exams:
            found[exam_id].append(number)
    return found
