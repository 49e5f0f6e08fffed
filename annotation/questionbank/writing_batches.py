"""One batch of checked rows into the database: matched with what the bank holds, then written.

Matching needs no lock, so it is done before the transaction that writes: others wait for the writing alone.
Everything stays invisible until its import is published: a revision is current only when its import is. What a
batch needs to know of earlier batches it looks up by digest, so that memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings
from django.db.models import Max

from annotation.enums import IdentifierKind, ImageState
from annotation.models import (
    AnswerKey,
    BankImport,
    Exam,
    Image,
    Question,
    Report,
    Revision,
    SourceIdentifier,
)
from annotation.questionbank.bulk import IdBlocks, Row, insert_rows, random_names
from annotation.questionbank.import_preview import Counts
from annotation.questionbank.kernels.batches import Batch, ExamRow, ImageRow, QuestionRow
from annotation.questionbank.known import (
    KnownExam,
    KnownQuestion,
    arrived_images,
    is_unchanged,
    known_exams,
    known_questions,
    last_identifier,
    roots_of,
)

KEPT_EXAMS = 400  # questions of one exam follow one another; a few exams back are remembered


@dataclass(slots=True)
class _Rows:
    """Rows of one batch, by table, in the order of the columns below; and the few changes of rows that are there."""

    changes: list[Callable[[], object]] = field(default_factory=list)
    exams: list[Row] = field(default_factory=list)
    reports: list[Row] = field(default_factory=list)
    images: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    revisions: list[Row] = field(default_factory=list)
    keys: list[Row] = field(default_factory=list)
    identifiers: list[Row] = field(default_factory=list)

    def write(self) -> None:
        for change in self.changes:
            change()
        insert_rows(Exam, _EXAM, self.exams)
        insert_rows(Report, _REPORT, self.reports)
        insert_rows(Image, _IMAGE, self.images)
        insert_rows(Question, _QUESTION, self.questions)
        insert_rows(Revision, _REVISION, self.revisions)
        insert_rows(AnswerKey, _KEY, self.keys)
        insert_rows(SourceIdentifier, _IDENTIFIER, self.identifiers)


_EXAM = ("id", "public_id", "bank_id", "bank_import_id", "pseudonym", "patient_pseudonym", "age_years", "sex")
_REPORT = ("id", "exam_id", "indication", "comparison", "findings", "impression", "content_sha256")
_IMAGE = ("id", "public_id", "exam_id", "position", "state", "view_position")
_QUESTION = ("id", "public_id", "bank_id", "number", "exam_id")
_REVISION = (
    *("id", "question_id", "number", "bank_id", "bank_import_id", "stem", "options"),
    *("task", "category", "subcategory", "question_class", "difficulty", "content_sha256"),
)
_KEY = ("revision_id", "key", "explanation", "report_id", "extra")
_IDENTIFIER = ("digest", "kind", "value", "root", "numbers", "bank_id", "question_id", "exam_id", "image_id")


@dataclass(slots=True)
class PreparedBatch:
    """A batch ready to be written, and the last source identifier there was when it was matched."""

    batch: Batch
    rows: _Rows
    counts: Counts
    exams: dict[str, KnownExam]
    identifiers_to: int
    number_before: int


class BatchStore:
    """Stores the batches of one import, one after the other: ``prepare``, then ``write`` in a transaction."""

    def __init__(self, bank_import: BankImport, root: str) -> None:
        self._import_id: int = bank_import.pk
        self._bank_id: int = bank_import.bank_id
        self._root = root
        questions = Question.objects.filter(bank_id=self._bank_id)
        self._last_number: int = questions.aggregate(last=Max("number"))["last"] or 0
        self._bank_was_empty = self._last_number == 0
        self._roots = roots_of(self._bank_id, root)
        self._exams: dict[str, KnownExam] = {}
        self._ids = IdBlocks()

    def write(self, prepared: PreparedBatch) -> Counts:
        """Write what is new or changed in the batch. Nothing of it is visible before the import is published.

        Where somebody else named a thing since the batch was matched, perhaps an image of it, it is matched again.
        """
        if last_identifier() != prepared.identifiers_to:
            self._exams.clear()
            self._last_number = prepared.number_before
            prepared = self.prepare(prepared.batch)
        prepared.rows.write()
        self._exams = dict(list((self._exams | prepared.exams).items())[-KEPT_EXAMS:])
        return prepared.counts

    def prepare(self, batch: Batch) -> PreparedBatch:
        """Match the batch with what the bank holds; writes nothing."""
        counts, rows, identifiers_to, number_before = Counts(), _Rows(), last_identifier(), self._last_number
        known = {} if self._bank_was_empty else known_questions(self._bank_id, batch.questions)
        waiting = [row for row in batch.questions if not is_unchanged(row, known)]
        counts.unchanged = len(batch.questions) - len(waiting)
        exams = self._match_exams([batch.exams[index] for index in sorted({row.exam for row in waiting})], rows)
        counts.exams, counts.images = len(rows.exams), len(rows.images)
        report_ids = _add_reports([(exams[row.key], row) for row in batch.exams if row.key in exams], rows, self._ids)
        self._add_questions(waiting, known, batch, exams, report_ids, rows, counts)
        return PreparedBatch(batch, rows, counts, exams, identifiers_to, number_before)

    # Exams and images

    def _match_exams(self, wanted: list[ExamRow], rows: _Rows) -> dict[str, KnownExam]:
        """The exam of each key: remembered, found in the bank, taken over from an ingest, or new."""
        by_key = {exam.key: exam for exam in wanted}
        found = {key: self._exams[key] for key in by_key if key in self._exams}
        found |= known_exams(self._bank_id, [by_key[key] for key in by_key.keys() - found.keys()], self._roots)
        new_images = [
            image
            for exam in wanted
            for image in exam.images
            if exam.key not in found or image.path not in found[exam.key].paths
        ]
        arrived = arrived_images(self._bank_id, self._root, new_images)
        fresh = [key for key in by_key if key not in found]
        taken_over = self._take_over([by_key[key] for key in fresh], arrived, rows)
        found |= taken_over
        for key in taken_over:
            self._name_exam(found[key].id, by_key[key], rows)
        self._add_exams([by_key[key] for key in fresh if key not in taken_over], found, rows)
        self._add_images(wanted, found, arrived, rows)
        for exam in wanted:
            if exam.prior:
                self._name_prior(found[exam.key].id, exam, rows)
        return found

    def _take_over(
        self, exams: list[ExamRow], arrived: dict[str, tuple[int, int]], rows: _Rows
    ) -> dict[str, KnownExam]:
        """Exams that came in as images before their questions: those without a bank become the bank's."""
        candidates = {
            exam.key: arrived[image.path][1] for exam in exams for image in exam.images if image.path in arrived
        }
        free = set(Exam.objects.filter(pk__in=candidates.values(), bank__isnull=True).values_list("pk", flat=True))
        if free:
            rows.changes.append(partial(Exam.objects.filter(pk__in=set(free)).update, bank_id=self._bank_id))
        taken: dict[str, KnownExam] = {}
        for key, exam_id in candidates.items():
            if exam_id in free:
                free.discard(exam_id)
                taken[key] = KnownExam(exam_id)
        return taken

    def _add_exams(self, exams: list[ExamRow], found: dict[str, KnownExam], rows: _Rows) -> None:
        names = random_names(len(exams))
        for exam, exam_id, name in zip(exams, self._ids.take(Exam, len(exams)), names, strict=True):
            found[exam.key] = KnownExam(exam_id)
            rows.exams.append(
                (
                    *(exam_id, name, self._bank_id, self._import_id, pseudonym("exam", exam.key)),
                    *(pseudonym("patient", exam.patient) if exam.patient else "", exam.age_years, exam.sex),
                )
            )
            self._name_exam(exam_id, exam, rows)

    def _name_exam(self, exam_id: int, exam: ExamRow, rows: _Rows) -> None:
        key, study = IdentifierKind.EXAM_KEY.value, IdentifierKind.STUDY_UID.value
        named = (self._bank_id, None, exam_id, None)
        rows.identifiers.append((exam.key_digest, key, exam.key, "", exam.numbers, *named))
        if exam.study_uid:
            rows.identifiers.append((exam.study_digest, study, exam.study_uid, "", None, *named))

    def _name_prior(self, exam_id: int, exam: ExamRow, rows: _Rows) -> None:
        """Only the name: the prior may come later in the file. It is looked up by its digest when all is there."""
        kind = IdentifierKind.PRIOR_EXAM.value
        rows.identifiers.append((exam.prior_digest, kind, exam.prior, "", None, self._bank_id, None, exam_id, None))

    def _add_images(
        self, exams: list[ExamRow], found: dict[str, KnownExam], arrived: dict[str, tuple[int, int]], rows: _Rows
    ) -> None:
        """Attach images that have arrived, add the others as pending. A path that the exam has adds nothing."""
        pending: list[tuple[int, int, ImageRow]] = []
        for exam in exams:
            known = found[exam.key]
            for position, image in enumerate(exam.images):
                if image.path in known.paths:
                    continue
                known.paths.add(image.path)
                if image.path in arrived:
                    rows.changes.append(partial(self._attach, arrived[image.path], known.id, position, image))
                else:
                    pending.append((known.id, position, image))
        names = random_names(len(pending))
        ids = self._ids.take(Image, len(pending))
        kind, state = IdentifierKind.IMAGE_PATH.value, ImageState.PENDING.value
        for (exam_id, position, image), image_id, name in zip(pending, ids, names, strict=True):
            rows.images.append((image_id, name, exam_id, position, state, image.view_position))
            rows.identifiers.append(
                (image.path_digest, kind, image.path, self._root, None, self._bank_id, None, exam_id, image_id)
            )

    def _attach(self, arrived: tuple[int, int], exam_id: int, position: int, image: ImageRow) -> None:
        """An image that came in on its own joins the exam of its question; its own view position stands."""
        image_id, former_exam_id = arrived
        Image.objects.filter(pk=image_id).update(exam_id=exam_id, position=position)
        Image.objects.filter(pk=image_id, view_position="unknown").update(view_position=image.view_position)
        SourceIdentifier.objects.filter(image_id=image_id, exam_id=former_exam_id).update(
            exam_id=exam_id, bank_id=self._bank_id
        )

    # Questions

    def _add_questions(
        self,
        waiting: list[QuestionRow],
        known: dict[str, KnownQuestion],
        batch: Batch,
        exams: dict[str, KnownExam],
        report_ids: dict[tuple[int, str], int],
        rows: _Rows,
        counts: Counts,
    ) -> None:
        new = [row for row in waiting if row.key not in known]
        question_ids = dict(zip([row.key for row in new], self._ids.take(Question, len(new)), strict=True))
        names = iter(random_names(len(new)))
        revision_ids = self._ids.take(Revision, len(waiting))
        bank_id, import_id, kind = self._bank_id, self._import_id, IdentifierKind.QUESTION_KEY.value
        for row, revision_id in zip(waiting, revision_ids, strict=True):
            exam_row = batch.exams[row.exam]
            exam_id = exams[exam_row.key].id
            old = known.get(row.key)
            if old is None:
                question_id, number, difficulty = question_ids[row.key], 1, row.difficulty
                self._last_number += 1
                rows.questions.append((question_id, next(names), bank_id, self._last_number, exam_id))
                rows.identifiers.append((row.key_digest, kind, row.key, "", None, bank_id, question_id, None, None))
            else:
                question_id, number, difficulty = old.id, old.number + 1, row.difficulty or old.difficulty
            rows.revisions.append(
                (
                    *(revision_id, question_id, number, bank_id, import_id, row.stem, row.options),
                    *(row.task, row.category, row.subcategory, row.question_class, difficulty, row.content_sha256),
                )
            )
            report_id = report_ids.get((exam_id, exam_row.report_sha256))
            rows.keys.append((revision_id, row.answer, row.explanation, report_id, row.extra))
        superseded = [known[row.key].revision_id for row in waiting if row.key in known]
        if superseded:
            old_ones = Revision.objects.filter(pk__in=superseded)
            rows.changes.append(partial(old_ones.update, superseded_by=import_id))
        counts.created, counts.updated = len(new), len(superseded)


def pseudonym(kind: str, value: str) -> str:
    """A keyed stand-in of 16 characters for a patient or an exam: stable here, meaningless elsewhere."""
    key = settings.PSEUDONYM_KEY.encode()
    return hmac.digest(key, f"{kind}\n{value}".encode(), hashlib.sha256).hex()[:16]


def _add_reports(exams: list[tuple[KnownExam, ExamRow]], rows: _Rows, ids: IdBlocks) -> dict[tuple[int, str], int]:
    """Ids of the reports of these exams; a report that its exam does not have yet becomes a row."""
    missing = [
        (known, exam)
        for known, exam in {(known.id, exam.report_sha256): (known, exam) for known, exam in exams}.values()
        if exam.report_sha256 not in known.reports and any(exam.report)
    ]
    for (known, exam), report_id in zip(missing, ids.take(Report, len(missing)), strict=True):
        known.reports[exam.report_sha256] = report_id
        rows.reports.append((report_id, known.id, *exam.report, exam.report_sha256))
    return {(known.id, sha256): report_id for known, _exam in exams for sha256, report_id in known.reports.items()}
