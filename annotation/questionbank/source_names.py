"""What things are called at their source: ids of imported questions, and images that questions name and that are
missing. For coordinators only: such a name may tell the task, the finding or the patient.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from os.path import commonprefix
from typing import IO

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.json import decode

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ImportState, ViewPosition
from annotation.hashes import shown_pseudonym
from annotation.ingest.matching import missing_images
from annotation.models import Image, Question, QuestionBank, Revision, SourceIdentifier, User
from annotation.questionbank.answers import blind_assignments
from annotation.questionbank.priors import keys_of_questions
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import Listed
from annotation.tables.writing import Cell, Column, ExportRefused, Format, Kind, Written, write_digested

AT_ONCE = 2_000
SOURCE_ID = Column("source_id", Kind.TEXT, "Id of the question in the imported file, a text; empty: it had none.")
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


NEAR_SHOWN, TRIED = 20, 50
COMPARED = 2_000  # names that a file is compared with, where none has the same stem
LIKE_ENOUGH = 0.75  # of two stems
SIGNS = re.compile(r"[\W_]+")
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

    @classmethod
    def of(cls, image: Image) -> MissingImage:
        """Of one that ``list_missing`` has."""
        numbers = tuple(sorted(decode(image.asked or "[]")))  # type: ignore[attr-defined]
        path = image.path or ""  # type: ignore[attr-defined]  # of one that no question file named
        return cls(path, image.view_position, shown_pseudonym(image.exam.pseudonym), numbers)


def list_missing(bank: QuestionBank) -> QuerySet[Image]:
    """In the order of their exams, each with the ``path`` in the question file, its first question and all of them."""
    named = SourceIdentifier.objects.filter(image_id=OuterRef("pk"), kind=IdentifierKind.IMAGE_PATH).order_by("pk")
    asked = Question.objects.filter(exam=OuterRef("exam")).order_by("number")
    every = asked.order_by().values("exam").annotate(numbers=Listed("number")).values("numbers")
    rows = missing_images(bank).annotate(
        path=Subquery(named.values("value")[:1]), question=Subquery(asked.values("number")[:1]), asked=Subquery(every)
    )
    rows = rows.select_related("exam").only("view_position", "exam__pseudonym")
    return rows.order_by("exam_id", "position", "pk")


def export_missing(bank: QuestionBank, form: Format, to: IO[bytes], *, actor: User, at: datetime) -> Written:
    """Write the list to ``to`` (seekable), by path, and note who took it."""
    missing = map(MissingImage.of, list_missing(bank).iterator(AT_ONCE))
    rows: list[list[Cell]] = [
        [one.path, one.view_position, one.exam, "|".join(map(str, one.questions))]
        for one in sorted(missing, key=lambda one: one.path)
    ]
    written = write_digested(to, MISSING_COLUMNS, rows, form)
    with transaction.atomic():
        facts = {"format": form.value, "rows": written.n_rows, "sha256": written.sha256}
        record("bank.missing_images_taken", actor=actor, at=at, subject=bank, facts=facts)
    return written


def near_names(bank: QuestionBank, unmet: Collection[int]) -> list[tuple[str, str]]:
    """Files that no question waited for, each beside the missing image whose name comes nearest; NEAR_SHOWN of them.

    The same name without folders, case, signs and ending counts as near, and else, of TRIED files, a name that differs
    little.
    """
    if not unmet:
        return []
    paths = SourceIdentifier.objects.filter(bank=bank, kind=IdentifierKind.IMAGE_PATH).order_by()
    missing = paths.filter(image_id__in=missing_images(bank).order_by().values("pk")).aggregate(paths=Listed("value"))
    wanted: dict[str, list[str]] = defaultdict(list)
    for path in missing["paths"]:
        wanted[_stem(path)].append(path)
    came = sorted(set(paths.filter(image_id__in=unmet).values_list("value", flat=True)))
    came.sort(key=lambda path: _stem(path) not in wanted)
    pairs = ((path, near) for path in came[:TRIED] if (near := _nearest(path, wanted)))
    return list(islice(pairs, NEAR_SHOWN))


def _nearest(path: str, wanted: dict[str, list[str]]) -> str:
    """Among equal names the path that ends most alike."""
    stem, end = _stem(path), _plain(path)[::-1]
    if stem not in wanted:
        stem = next(iter(get_close_matches(stem, list(islice(wanted, COMPARED)), n=1, cutoff=LIKE_ENOUGH)), "")
    alike = wanted.get(stem, [])[:COMPARED]
    return max(alike, key=lambda one: len(commonprefix((end, _plain(one)[::-1]))), default="")  # noqa: RUF071 - of signs


def _stem(path: str) -> str:
    return _plain(path.rpartition("/")[2])


def _plain(path: str) -> str:
    return SIGNS.sub("", (path.rpartition(".")[0] or path).casefold())
