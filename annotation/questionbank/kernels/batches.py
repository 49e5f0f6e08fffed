"""A question file as batches of plain rows, ready to be matched and stored.

Rows are tuples of texts and numbers only, so that a batch crosses a process border as one :mod:`marshal` text.
Nothing here knows the database: digests are made here because they cost time, ids are given out by the import.
"""

from __future__ import annotations

from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import BinaryIO, NamedTuple

from annotation.digests import identifier_digest, image_path_digest
from annotation.questionbank.kernels.entries import EntryReader
from annotation.questionbank.kernels.records import ExamRecord, QuestionRecord, RecordProblem, RecordRules
from annotation.questionbank.kernels.rexvqa import RecordReader
from annotation.questionbank.kernels.strictjson import FileUnreadable

BATCH = 2_000


class ImageRow(NamedTuple):
    path: str
    path_digest: int
    view_position: str


class ExamRow(NamedTuple):
    key: str
    key_digest: int
    numbers: str  # patient and accession number, as JSON text
    patient: str
    study_uid: str
    study_digest: int
    age_years: int | None
    sex: str
    report: tuple[str, str, str, str]
    report_sha256: str
    prior: str  # key of another exam
    prior_digest: int
    images: tuple[ImageRow, ...]


class QuestionRow(NamedTuple):
    key: str
    key_digest: int
    exam: int  # index into the exams of the batch
    stem: str
    options: str  # JSON text
    answer: str
    explanation: str
    task: str
    category: str
    subcategory: str
    question_class: str
    difficulty: str
    extra: str  # JSON text
    content_sha256: str


class Batch(NamedTuple):
    """``n_read`` entries were read for this batch; those refused are told of in ``problems``, not in the rows."""

    n_read: int
    n_refused: int
    bytes_read: int
    exams: list[ExamRow]
    questions: list[QuestionRow]
    problems: list[RecordProblem]
    unreadable: bool  # the file could not be read on; the last problem says where


def read_batches(stream: BinaryIO, rules: RecordRules, root: str, *, size: int = BATCH) -> Iterator[Batch]:
    """Batches of at most ``size`` entries, in the order of the file; refuses an id that comes twice.

    The ids read so far are remembered by their 64-bit hashes: 50 MB for 600,000 questions.
    """
    records = RecordReader(rules)
    reader = EntryReader(stream, quick=records.read_plain)
    entries = iter(reader)
    seen: set[int] = set()
    ended = False
    while not ended:
        building = _Building(root, seen)
        try:
            for entry in entries:
                if type(entry.value) is QuestionRecord:
                    building.add(entry.key, entry.value, [])
                else:
                    building.add(entry.key, *records.read(entry))
                if building.n_read == size:
                    break
            else:
                ended = True
                if not seen and not building.n_read:
                    building.problems.append(RecordProblem("", "", "schema", "The file holds no question."))
        except FileUnreadable as error:
            building.problems.append(RecordProblem("", "", error.code, str(error)))
            ended = building.unreadable = True
        yield building.batch(reader.bytes_read)


class _Building:
    """One batch in the making."""

    def __init__(self, root: str, seen: set[int]) -> None:
        self.problems: list[RecordProblem] = []
        self.n_read = 0
        self.unreadable = False
        self._root = root
        self._seen = seen
        self._n_refused = 0
        self._exams: list[ExamRow] = []
        self._questions: list[QuestionRow] = []
        self._last_exam: ExamRecord | None = None

    def add(self, key: str, record: QuestionRecord | None, problems: list[RecordProblem]) -> None:
        self.n_read += 1
        number = hash(key)
        if number in self._seen:
            problems = [*problems, RecordProblem(key, "", "duplicate_key", "The id stands in the file twice.")]
        self._seen.add(number)
        if problems:
            self.problems += problems
            self._n_refused += 1
        elif record is not None:
            self._add_rows(identifier_digest("question_key", key), record)

    def _add_rows(self, digest: int, record: QuestionRecord) -> None:
        if record.exam is not self._last_exam:
            self._last_exam = record.exam
            self._exams.append(_exam_row(record.exam, self._root))
        self._questions.append(
            QuestionRow(
                *(
                    record.key,
                    digest,
                    len(self._exams) - 1,
                    record.stem,
                    "[" + ",".join(map(encode_basestring, record.options)) + "]",
                ),
                *(record.answer, record.explanation, record.task._value_),
                *(record.category, record.subcategory, record.question_class, record.difficulty._value_),
                *(record.extra, record.content_sha256),
            )
        )

    def batch(self, bytes_read: int) -> Batch:
        return Batch(
            *(self.n_read, self._n_refused, bytes_read, self._exams, self._questions, self.problems),
            unreadable=self.unreadable,
        )


def _exam_row(exam: ExamRecord, root: str) -> ExamRow:
    patient, accession = encode_basestring(exam.patient_number), encode_basestring(exam.accession_number)
    return ExamRow(
        key=exam.key,
        key_digest=identifier_digest("exam_key", exam.key),
        numbers=f'{{"patient":{patient},"accession":{accession}}}',
        patient=exam.patient_number,
        study_uid=exam.study_uid,
        study_digest=identifier_digest("study_uid", exam.study_uid),
        age_years=exam.age_years,
        sex=exam.sex.value,
        report=exam.report,
        report_sha256=exam.report_sha256,
        prior=exam.prior,
        prior_digest=identifier_digest("exam_key", exam.prior) if exam.prior else 0,
        images=tuple([ImageRow(path, image_path_digest(root, path), view.value) for path, view in exam.images]),
    )
