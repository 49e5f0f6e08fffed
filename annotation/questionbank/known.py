"""What the bank holds of the questions, exams and images that a batch names. Looked up by digest, then compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Max, Q

from annotation.digests import identifier_digest, image_path_digest
from annotation.enums import IdentifierKind, ImportState
from annotation.models import BankImport, Image, Report, Revision, SourceIdentifier
from annotation.questionbank.kernels.batches import ExamRow, ImageRow, QuestionRow

AT_ONCE = 5_000  # digests looked up by one statement


@dataclass(slots=True)
class KnownExam:
    """What is stored of an exam: its id, its reports by hash, the paths of its images."""

    id: int
    reports: dict[str, int] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)


@dataclass(slots=True)
class KnownQuestion:
    """A stored question and its current revision."""

    id: int
    revision_id: int
    number: int
    difficulty: str
    content_sha256: str

    def is_like(self, row: QuestionRow) -> bool:
        """Whether the row brings nothing new. An unknown difficulty says nothing: a side file may have given it."""
        return self.content_sha256 == row.content_sha256 and row.difficulty in ("", self.difficulty)


def is_unchanged(row: QuestionRow, known: dict[str, KnownQuestion]) -> bool:
    old = known.get(row.key)
    return old is not None and old.is_like(row)


def _named(kind: IdentifierKind, digests: list[int], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Identifiers with these digests. Only the digest leads there: an index by bank would be a scan of the bank."""
    if not digests:
        return []
    table = connection.ops.quote_name(SourceIdentifier._meta.db_table)
    # the ORM takes far longer to pass these on than SQL to find them, which goes through the index in their order
    listed = ",".join(map(str, sorted(digests)))
    wanted = f"= ANY('{{{listed}}}'::bigint[])" if connection.vendor == "postgresql" else f"IN ({listed})"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT kind, {','.join(columns)} FROM {table} WHERE digest {wanted}")  # noqa: S608
        return [row[1:] for row in cursor.fetchall() if row[0] == kind.value]


def _question_ids(bank_id: int, questions: list[QuestionRow]) -> dict[int, str]:
    """Key of each question of the bank that these rows name."""
    keys = {row.key for row in questions}
    digests = [row.key_digest for row in questions]
    named = _named(IdentifierKind.QUESTION_KEY, digests, ("bank_id", "value", "question_id"))
    return {question_id: key for its_bank, key, question_id in named if its_bank == bank_id and key in keys}


def questions_with_keys(bank_id: int, keys: Collection[str]) -> dict[str, int]:
    """The id of each question of the bank that has one of these keys at its source."""
    digests = [identifier_digest(IdentifierKind.QUESTION_KEY, key) for key in keys]
    found: dict[str, int] = {}
    for start in range(0, len(digests), AT_ONCE):
        part = digests[start : start + AT_ONCE]
        named = _named(IdentifierKind.QUESTION_KEY, part, ("bank_id", "value", "question_id"))
        found.update((key, question_id) for its_bank, key, question_id in named if its_bank == bank_id and key in keys)
    return found


def keys_of_questions(bank_id: int, question_ids: Collection[int]) -> dict[int, str]:
    """What these questions are called at their source: their ids in the imported file."""
    listed = sorted(question_ids)
    found: dict[int, str] = {}
    for start in range(0, len(listed), AT_ONCE):
        rows = SourceIdentifier.objects.filter(question_id__in=listed[start : start + AT_ONCE], bank=bank_id)
        named = rows.filter(kind=IdentifierKind.QUESTION_KEY).values_list("question_id", "value")
        found.update((pk, key) for pk, key in named if pk is not None)
    return found


def known_questions(bank_id: int, questions: list[QuestionRow]) -> dict[str, KnownQuestion]:
    """Questions of the bank with these keys, at their current revision."""
    key_of = _question_ids(bank_id, questions)
    revisions = Revision.objects.current().filter(question_id__in=key_of.keys())
    columns = ("question_id", "id", "number", "difficulty", "content_sha256")
    return {
        key_of[question_id]: KnownQuestion(question_id, revision_id, number, difficulty, content)
        for question_id, revision_id, number, difficulty, content in revisions.values_list(*columns)
    }


def exams_with_keys(bank_id: int, names: Collection[tuple[int, str]]) -> dict[str, int]:
    """The id of each exam of the bank that has one of these keys; each is given with its digest before it."""
    keys = {key for _digest, key in names}
    named = _named(IdentifierKind.EXAM_KEY, [digest for digest, _key in names], ("bank_id", "value", "exam_id"))
    return {key: exam_id for its_bank, key, exam_id in named if its_bank == bank_id and key in keys}


def roots_of(bank_id: int, root: str) -> set[str]:
    """The other roots that images of the bank were named by: a file may come again from another folder."""
    published = BankImport.objects.filter(bank=bank_id, state=ImportState.PUBLISHED)
    return {row.result.get("images_root", root) for row in published} - {root}


def known_exams(bank_id: int, exams: list[ExamRow], roots: set[str]) -> dict[str, KnownExam]:
    """Exams of the bank with these keys, with their reports and image paths."""
    keys = {exam.key for exam in exams}
    digests = [exam.key_digest for exam in exams]
    named = _named(IdentifierKind.EXAM_KEY, digests, ("bank_id", "value", "exam_id"))
    found = {key: KnownExam(exam_id) for its_bank, key, exam_id in named if its_bank == bank_id and key in keys}
    if not found:
        return {}
    by_id = {known.id: known for known in found.values()}
    reports = Report.objects.filter(exam_id__in=by_id.keys()).values_list("exam_id", "content_sha256", "id")
    for exam_id, content, report_id in reports:
        by_id[exam_id].reports[content] = report_id
    images = [image for exam in exams if exam.key in found for image in exam.images]
    digests = [image.path_digest for image in images]
    digests += [image_path_digest(root, image.path) for root in roots for image in images]
    for exam_id, path in _named(IdentifierKind.IMAGE_PATH, digests, ("exam_id", "value")):
        if exam_id in by_id:
            by_id[exam_id].paths.add(path)
    return found


def arrived_images(bank_id: int | None, root: str, images: list[ImageRow]) -> dict[str, tuple[int, int]]:
    """Image and exam id of the paths whose file was ingested before, for this bank or for none."""
    path_of = {f"{root.rstrip('/')}/{image.path}": image.path for image in images}
    digests = [image.path_digest for image in images]
    ids: dict[int, str] = {}
    for its_bank, its_root, path, image_id in _named(
        IdentifierKind.IMAGE_PATH, digests, ("bank_id", "root", "value", "image_id")
    ):
        full_path = f"{its_root.rstrip('/')}/{path}"
        if its_bank in (None, bank_id) and full_path in path_of:
            ids[image_id] = path_of[full_path]
    by_ingest = Q(exam__bank=None) | Q(exam__bank=bank_id, exam__bank_import=None)
    images_and_exams = Image.objects.filter(by_ingest, pk__in=ids.keys()).values_list("pk", "exam_id")
    return {ids[image_id]: (image_id, exam_id) for image_id, exam_id in images_and_exams}


def last_identifier() -> int:
    """The id of the newest source identifier: when it is still the same, nobody has named a thing meanwhile."""
    return SourceIdentifier.objects.aggregate(last=Max("pk"))["last"] or 0
