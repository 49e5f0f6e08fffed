"""Images that questions name and whose files have not come in: how many, which, and which files came near.

For coordinators only: what a file is called at its source may tell of a patient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from pathlib import PurePosixPath
from typing import IO

from django.db import transaction
from django.utils.translation import gettext

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ViewPosition
from annotation.exports.tables import Cell, Column, Format, Kind, Written, write_digested
from annotation.ingest.matching import missing_images
from annotation.models import Question, QuestionBank, SourceIdentifier, User

NEAR_SHOWN = 20
COMPARED = 2_000  # names that a file is compared with, where none has the same stem
LIKE_ENOUGH = 0.75  # of two stems
COLUMNS = (
    Column("path", Kind.TEXT, "Path of the image, as the question file gives it, from the root of the images."),
    Column("view_position", Kind.TEXT, "View position that the question file gives."),
    Column("exam", Kind.TEXT, "Keyed pseudonym of the exam, as in exports."),
    Column("questions", Kind.TEXT, "Numbers of the questions that show the image, joined by |."),
)


@dataclass(frozen=True)
class MissingImage:
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
        MissingImage(path, images[pk][2], images[pk][1], tuple(questions[images[pk][0]]))
        for pk, path in _names(bank, images)
    )
    return sorted(named, key=lambda one: one.path)


def export_missing(bank: QuestionBank, form: Format, to: IO[bytes], *, actor: User, at: datetime) -> Written:
    """Write the list to ``to`` (seekable), and note who took it."""
    rows: list[list[Cell]] = [
        [one.path, one.view_position, one.exam, "|".join(map(str, one.questions))] for one in list_missing(bank)
    ]
    written = write_digested(to, COLUMNS, rows, form)
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
