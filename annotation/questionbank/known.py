"""What the bank holds of the questions, exams and images that a file names. Looked up by digest, then compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q

from annotation.enums import IdentifierKind, ImportKind, ImportState
from annotation.hashes import identifier_digest, image_path_digest
from annotation.models import AnswerKey, BankImport, Image, Revision, SourceIdentifier
from annotation.questionbank.kernels.wording import Wording

AT_ONCE = 5_000  # looked up by one statement


class EditedWording(NamedTuple):
    """What people made of a question, and what its newest file contained."""

    now: Wording
    imported: Wording


class KnownQuestion(NamedTuple):
    """A stored question at its current revision; of an edited one, hash and difficulty are those of its newest file."""

    question_id: int
    revision_id: int
    number: int
    difficulty: str
    content_sha256: str
    edited: EditedWording | None = None


def _named(kind: IdentifierKind, digests: list[int], *columns: str) -> Iterator[tuple[Any, ...]]:
    """Identifiers with these digests. Only the digest leads there: an index by bank would be a scan of the bank."""
    table = SourceIdentifier._meta.db_table
    for start in range(0, len(digests), AT_ONCE):
        # as SQL: the ORM takes longer to pass so many numbers on than the database to find them
        listed = ",".join(map(str, digests[start : start + AT_ONCE]))
        with connection.cursor() as cursor:
            statement = f"SELECT {','.join(columns)} FROM {table} WHERE digest IN ({listed}) AND kind = %s"  # noqa: S608
            cursor.execute(statement, [kind.value])
            yield from cursor.fetchall()


def _ids_of(kind: IdentifierKind, column: str, bank_id: int, keys: Collection[str]) -> dict[str, int]:
    wanted = set(keys)
    named = _named(kind, [identifier_digest(kind.value, key) for key in wanted], "bank_id", "value", column)
    return {key: pk for its_bank, key, pk in named if its_bank == bank_id and key in wanted}


def questions_with_keys(bank_id: int, keys: Collection[str]) -> dict[str, int]:
    """The id of each question of the bank that has one of these keys at its source."""
    return _ids_of(IdentifierKind.QUESTION_KEY, "question_id", bank_id, keys)


def exams_with_keys(bank_id: int, keys: Collection[str]) -> dict[str, int]:
    """The id of each exam of the bank that has one of these keys at its source."""
    return _ids_of(IdentifierKind.EXAM_KEY, "exam_id", bank_id, keys)


def keys_of_questions(bank_id: int, question_ids: Collection[int]) -> dict[int, str]:
    """What these questions are called at their source: their ids in the imported file."""
    listed = sorted(question_ids)
    found: dict[int, str] = {}
    for start in range(0, len(listed), AT_ONCE):
        rows = SourceIdentifier.objects.filter(question_id__in=listed[start : start + AT_ONCE], bank=bank_id)
        named = rows.filter(kind=IdentifierKind.QUESTION_KEY).values_list("question_id", "value")
        found.update((pk, key) for pk, key in named if pk is not None)
    return found


def known_questions(bank_id: int, keys: Collection[str]) -> dict[str, KnownQuestion]:
    """Questions of the bank with these keys, at their current revision."""
    ids = questions_with_keys(bank_id, keys)
    revisions = Revision.objects.current().filter(question__in=ids.values())
    rows = revisions.values_list("question_id", "id", "number", "difficulty", "content_sha256")
    by_id = {row[0]: KnownQuestion(*row) for row in rows}
    for pk, edited in _edited_wordings(bank_id, ids.values()).items():
        by_id[pk] = by_id[pk]._replace(difficulty=edited.imported.difficulty, edited=edited)
    return {key: by_id[pk] for key, pk in ids.items() if pk in by_id}


def _edited_wordings(bank_id: int, question_ids: Collection[int]) -> dict[int, EditedWording]:
    """What a file is compared to of questions that people have edited since their newest file."""
    edits = BankImport.objects.filter(bank=bank_id, kind=ImportKind.EDITS)
    if not question_ids or not edits.exists():
        return {}
    now = Revision.objects.current().filter(question__in=question_ids, bank_import__in=edits)
    files = BankImport.objects.filter(bank=bank_id, state=ImportState.PUBLISHED).exclude(kind=ImportKind.EDITS)
    from_files = Revision.objects.filter(question__in=now.values("question"), bank_import__in=files)
    imported = {one.question_id: one for one in from_files.order_by("number")}
    edited = {one.question_id: one for one in now}
    truths = AnswerKey.objects.defer("extra").in_bulk([one.pk for one in (*imported.values(), *edited.values())])

    def wording(revision: Revision) -> Wording:
        return stored_wording(revision, truths[revision.pk])

    return {pk: EditedWording(wording(one), wording(imported[pk])) for pk, one in edited.items() if pk in imported}


def stored_wording(revision: Revision, truth: AnswerKey) -> Wording:
    return Wording(
        stem=revision.stem,
        options=tuple(revision.options),
        key=truth.key,
        explanation=truth.explanation,
        task=revision.task,
        category=revision.category,
        subcategory=revision.subcategory,
        question_class=revision.question_class,
        difficulty=revision.difficulty,
        left_out=revision.left_out,
    )


def roots_of(bank_id: int, root: str) -> set[str]:
    """All roots that images of the bank are named by, and this one: a file may come again from another folder."""
    published = BankImport.objects.filter(bank=bank_id, state=ImportState.PUBLISHED)
    return {root, *(row.result.get("images_root", root) for row in published)}


def paths_of_exams(exam_ids: Collection[int], paths: Collection[str], roots: Collection[str]) -> set[tuple[int, str]]:
    """Exam and path of the images that these exams have, among these paths."""
    digests = [image_path_digest(root, path) for root in roots for path in paths]
    named = _named(IdentifierKind.IMAGE_PATH, digests, "exam_id", "value")
    return {(exam_id, path) for exam_id, path in named if exam_id in exam_ids}


def images_at(named: Collection[tuple[int, str]], roots: Collection[str]) -> dict[tuple[int, str], str]:
    """Public id of the image that an exam has at a path, for each of these pairs of exam and path."""
    pairs = {(exam_id, _full_path(root, path)): (exam_id, path) for root in roots for exam_id, path in named}
    digests = [image_path_digest(root, path) for root in roots for path in {path for _exam, path in named}]
    rows = _named(IdentifierKind.IMAGE_PATH, digests, "exam_id", "root", "value", "image_id")
    found = {(exam_id, _full_path(root, path)): image_id for exam_id, root, path, image_id in rows}
    ids = {pairs[name]: image_id for name, image_id in found.items() if name in pairs}
    public_ids = dict(Image.objects.filter(pk__in=ids.values()).values_list("pk", "public_id"))
    return {name: public_ids[pk] for name, pk in ids.items() if pk in public_ids}


def arrived_images(bank_id: int, root: str, paths: Collection[str]) -> dict[str, tuple[int, int]]:
    """Image and exam id of the paths whose file was ingested before, for this bank or for none."""
    path_of = {_full_path(root, path): path for path in paths}
    digests = [image_path_digest(root, path) for path in path_of.values()]
    named = _named(IdentifierKind.IMAGE_PATH, digests, "bank_id", "root", "value", "image_id")
    ids = {
        image_id: path_of[full_path]
        for its_bank, its_root, path, image_id in named
        if its_bank in (None, bank_id) and (full_path := _full_path(its_root, path)) in path_of
    }
    by_ingest = Q(exam__bank=None) | Q(exam__bank=bank_id, exam__bank_import=None)
    images = Image.objects.filter(by_ingest, pk__in=ids.keys()).values_list("pk", "exam_id")
    return {ids[image_id]: (image_id, exam_id) for image_id, exam_id in images}


def _full_path(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}"
