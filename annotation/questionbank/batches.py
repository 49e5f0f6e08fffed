"""One batch of checked questions: matched with what the bank holds, then written, in the transaction of the caller.

Everything stays invisible until its import is published: a revision is current only when its import is. What a
batch needs to know of earlier batches it looks up by digest, so that memory does not grow with the file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from django.conf import settings
from django.db.models import Max
from msgspec import Struct

from annotation.enums import IdentifierKind, ImageState
from annotation.hashes import identifier_digest, image_path_digest, keyed_pseudonym
from annotation.models import AnswerKey, Exam, Image, Question, Report, Revision, SourceIdentifier
from annotation.questionbank.bulk import Row, insert_rows, public_ids, reserve_ids
from annotation.questionbank.kernels.examfields import ExamRecord, ImageReference
from annotation.questionbank.kernels.records import QuestionRecord, content_sha256, read_as, with_source
from annotation.questionbank.kernels.wording import Wording
from annotation.questionbank.priors import (
    EditedWording,
    KnownQuestion,
    arrived_images,
    exams_with_keys,
    images_at,
    keys_that_look_alike,
    known_questions,
    paths_of_exams,
    roots_of,
)

_EXAM = ("id", "public_id", "bank_id", "bank_import_id", "pseudonym", "patient_pseudonym", "age_years", "sex")
_REPORT = ("id", "exam_id", "indication", "comparison", "findings", "impression", "content_sha256")
_IMAGE = ("id", "public_id", "exam_id", "position", "state", "view_position")
_QUESTION = ("id", "public_id", "bank_id", "number", "exam_id", "split")
_REVISION = (
    *("id", "question_id", "number", "bank_id", "bank_import_id", "stem", "options"),
    *("task", "category", "subcategory", "question_class", "difficulty", "content_sha256"),
)
_KEY = ("revision_id", "key", "explanation", "report_id", "extra")
_IDENTIFIER = ("digest", "kind", "value", "root", "numbers", "bank_id", "question_id", "exam_id", "image_id")


class Counts(Struct):
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    exams: int = 0
    images: int = 0

    def add(self, other: Counts) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Match(Struct):
    """What a batch means for the bank; exams and images are those of the questions that are new or changed."""

    acts: dict[str, str]  # by key of the question: "created", "updated" or "unchanged"
    known: dict[str, KnownQuestion]
    waiting: list[QuestionRecord]  # new or changed
    exams: list[ExamRecord]
    exam_ids: dict[str, int]  # of exams that the bank has, by key
    taken_ids: dict[str, int]  # of exams that came in as images, and become the bank's
    images: dict[tuple[str, str], tuple[int, ImageReference]]  # by exam and path, where the exam has no such path yet
    arrived: dict[str, tuple[int, int]]  # image and exam id of those of them whose file came in before
    look_alikes: list[str]  # keys that people would read as another one of the bank

    def new_exams(self) -> dict[str, ExamRecord]:
        known = self.exam_ids.keys() | self.taken_ids.keys()
        return {exam.key: exam for exam in self.exams if exam.key not in known}

    def counts(self) -> Counts:
        acts = list(self.acts.values())
        n_pending = sum(path not in self.arrived for _key, path in self.images)
        created, updated, unchanged = map(acts.count, ("created", "updated", "unchanged"))
        return Counts(created, updated, unchanged, len(self.new_exams()), n_pending)


class BatchStore:
    """Stores the batches of one import, one after the other; with no import it is a dry run, which stores nothing."""

    WRITTEN = (Exam, Image, Report, Question, Revision, AnswerKey, SourceIdentifier)

    def __init__(self, bank_id: int, root: str, import_id: int | None) -> None:
        self._bank_id = bank_id  # 0 for a bank to be made
        self._import_id = import_id
        self._root = root
        self._roots = roots_of(bank_id, root)
        # By split: questions of the bank that had another, or none.
        self.moved: dict[str, list[int]] = defaultdict(list)
        self._is_new = not Question.objects.filter(bank_id=bank_id).exists()
        self._seen_exams: set[str] = set()  # of a dry run: what earlier batches would have stored
        self._seen_images: set[tuple[str, str]] = set()
        self._stored: dict[int, int] = {}  # hashes of the exams that this import stored, as their records name them

    def match(self, questions: Sequence[QuestionRecord]) -> Match:
        """What storing these questions means; writes nothing. Who has another split is in ``moved``."""
        known = {} if self._is_new else known_questions(self._bank_id, [question.key for question in questions])
        choosing = [one for one in questions if one.left_out or (known and _leaves_out(known.get(one.key)))]
        stored = self._images_of(choosing)
        for one in questions:
            if one.split and (old := known.get(one.key)) and old.split != one.split:
                self.moved[one.split].append(old.question_id)
        acts = {question.key: _act_on(question, known.get(question.key), stored) for question in questions}
        waiting = [question for question in questions if acts[question.key] != "unchanged"]
        exams = list({id(question.exam): question.exam for question in waiting}.values())
        keys = {exam.key for exam in exams}
        exam_ids = {**dict.fromkeys(keys & self._seen_exams, 0), **exams_with_keys(self._bank_id, keys)}
        images = self._new_images(exams, exam_ids)
        arrived = arrived_images(self._bank_id, self._root, {path for _key, path in images})
        candidates = {key: arrived[path][1] for key, path in images if path in arrived and key not in exam_ids}
        free = set(Exam.objects.filter(pk__in=candidates.values(), bank=None).values_list("pk", flat=True))
        taken = {exam_id: key for key, exam_id in reversed(candidates.items()) if exam_id in free}  # each by one exam
        taken_ids = {key: exam_id for exam_id, key in taken.items()}
        if self._import_id is None:
            self._seen_exams |= keys
            self._seen_images |= images.keys()
        alike = [] if self._is_new else keys_that_look_alike(self._bank_id, acts.keys() - known.keys())
        return Match(acts, known, waiting, exams, exam_ids, taken_ids, images, arrived, alike)

    def differing(self, match: Match, questions: Sequence[QuestionRecord], most: int) -> list[dict[str, Any]]:
        """Of so many questions, the wording of the bank and that of the file, where they differ, and which will count.

        No key is among it: a key or an explanation may be all that differs.
        """
        differ = [one for one in questions if one.key in match.known and self._differs(match, one)][:most]
        rows = Revision.objects.in_bulk([match.known[one.key].revision_id for one in differ])
        return [
            {
                "key": one.key,
                "counts": "file" if match.acts[one.key] == "updated" else "bank",
                "file": [one.stem, *one.options],
                "bank": [rows[match.known[one.key].revision_id].stem, *rows[match.known[one.key].revision_id].options],
            }
            for one in differ
        ]

    def _differs(self, match: Match, one: QuestionRecord) -> bool:
        """A file that brings back what was imported differs from what people made of it since."""
        edited = match.known[one.key].edited
        is_older = edited is not None and (one.stem, tuple(one.options)) != (edited.now.stem, edited.now.options)
        return match.acts[one.key] == "updated" or is_older

    def _images_of(self, questions: Collection[QuestionRecord]) -> dict[tuple[str, str], str]:
        """Public ids of the images that the bank has of these questions, by key of the exam and path."""
        if not questions:
            return {}
        exam_ids = exams_with_keys(self._bank_id, {one.exam.key for one in questions})
        named = {
            (exam_ids[one.exam.key], image.path): (one.exam.key, image.path)
            for one in questions
            for image in one.exam.images
            if one.exam.key in exam_ids
        }
        return {named[name]: public_id for name, public_id in images_at(named.keys(), self._roots).items()}

    def _new_images(
        self, exams: Sequence[ExamRecord], exam_ids: dict[str, int]
    ) -> dict[tuple[str, str], tuple[int, ImageReference]]:
        """Position and image of every path that its exam does not have yet."""
        paths = {image.path for exam in exams if exam.key in exam_ids for image in exam.images}
        stored = paths_of_exams(set(exam_ids.values()), paths, self._roots)
        images: dict[tuple[str, str], tuple[int, ImageReference]] = {}
        for exam in exams:
            for position, image in enumerate(exam.images):
                name = exam.key, image.path
                if (exam_ids.get(exam.key), image.path) not in stored and name not in self._seen_images:
                    images.setdefault(name, (position, image))
        return images

    def store(self, match: Match) -> None:
        """Write what is new or changed. Nothing of it is visible before the import is published."""
        Exam.objects.filter(pk__in=match.taken_ids.values()).update(bank_id=self._bank_id)
        new = match.new_exams()
        self._remember(match, new)
        ids = match.exam_ids | match.taken_ids | self._add_exams(list(new.values()))
        self._name_exams(match, ids)
        self._add_images(match, ids)
        self._add_questions(match, ids, _add_reports(match, ids))

    def _remember(self, match: Match, new: dict[str, ExamRecord]) -> None:
        """Of these exams the names and the first images are those of the record: questions need not keep them."""
        came_before = {key for key, path in match.images if path in match.arrived}
        n_exams = Counter(exam.key for exam in {exam.content_sha256: exam for exam in match.exams}.values())
        for key, exam in new.items():
            if key not in came_before and n_exams[key] == 1:
                self._stored[hash(key)] = hash(exam.content_sha256)

    def _extra_of(self, row: QuestionRecord) -> str:
        is_stored = self._stored.get(hash(row.exam.key)) == hash(row.exam.content_sha256)
        return with_source(row.extra, row.source, row.odd, "" if is_stored else row.exam.named)

    def _named(self, kind: IdentifierKind, value: str, *, root: str = "", numbers: str | None = None, **of: int) -> Row:
        """The row of a source identifier. A prior is looked up as the exam that it is."""
        looked_up = IdentifierKind.EXAM_KEY if kind is IdentifierKind.PRIOR_EXAM else kind
        is_path = kind is IdentifierKind.IMAGE_PATH
        digest = image_path_digest(root, value) if is_path else identifier_digest(looked_up.value, value)
        named = [of.get(name) for name in ("question", "exam", "image")]
        return (digest, kind.value, value, root, numbers, self._bank_id, *named)

    def _add_exams(self, exams: Sequence[ExamRecord]) -> dict[str, int]:
        ids, key = reserve_ids(Exam, len(exams)), settings.PSEUDONYM_KEY.encode()
        rows = [
            (
                *(pk, name, self._bank_id, self._import_id, keyed_pseudonym(key, "exam", exam.key)),
                *(keyed_pseudonym(key, "patient", exam.patient_number), exam.age_years, exam.sex.value),
            )
            for pk, name, exam in zip(ids, public_ids(len(exams)), exams, strict=True)
        ]
        insert_rows(Exam, _EXAM, rows)
        return {exam.key: pk for pk, exam in zip(ids, exams, strict=True)}

    def _name_exams(self, match: Match, ids: dict[str, int]) -> None:
        """Of a prior only the name: it may come later in the file, and is looked up when all is there."""
        rows = []
        for exam in {exam.key: exam for exam in match.exams if exam.key not in match.exam_ids}.values():
            patient, accession = encode_basestring(exam.patient_number), encode_basestring(exam.accession_number)
            numbers = f'{{"patient":{patient},"accession":{accession}}}'
            rows.append(self._named(IdentifierKind.EXAM_KEY, exam.key, numbers=numbers, exam=ids[exam.key]))
            if exam.study_uid:
                rows.append(self._named(IdentifierKind.STUDY_UID, exam.study_uid, exam=ids[exam.key]))
        rows += [
            self._named(IdentifierKind.PRIOR_EXAM, exam.prior, exam=ids[exam.key]) for exam in match.exams if exam.prior
        ]
        insert_rows(SourceIdentifier, _IDENTIFIER, rows)

    def _add_images(self, match: Match, ids: dict[str, int]) -> None:
        """Attach images that have arrived, add the others as pending."""
        pending = []
        for (key, path), (position, image) in match.images.items():
            if path in match.arrived:
                self._attach(match.arrived[path], ids[key], position, image)
            else:
                pending.append((ids[key], position, image))
        image_ids = reserve_ids(Image, len(pending))
        named = list(zip(pending, image_ids, public_ids(len(pending)), strict=True))
        state, kind = ImageState.PENDING.value, IdentifierKind.IMAGE_PATH
        insert_rows(
            *(Image, _IMAGE),
            [(pk, name, exam_id, at, state, image.view_position.value) for (exam_id, at, image), pk, name in named],
        )
        insert_rows(
            *(SourceIdentifier, _IDENTIFIER),
            [
                self._named(kind, image.path, root=self._root, exam=exam_id, image=pk)
                for (exam_id, _at, image), pk, _name in named
            ],
        )

    def _attach(self, arrived: tuple[int, int], exam_id: int, position: int, image: ImageReference) -> None:
        """An image that came in on its own joins the exam of its question; its own view position counts."""
        image_id, former_exam_id = arrived
        Image.objects.filter(pk=image_id).update(exam_id=exam_id, position=position)
        Image.objects.filter(pk=image_id, view_position="unknown").update(view_position=image.view_position)
        named = SourceIdentifier.objects.filter(image_id=image_id, exam_id=former_exam_id)
        named.update(exam_id=exam_id, bank_id=self._bank_id)

    def _add_questions(self, match: Match, exam_ids: dict[str, int], reports: dict[tuple[int, str], int]) -> None:
        last = Question.objects.filter(bank_id=self._bank_id).aggregate(last=Max("number"))["last"] or 0
        new = [question for question in match.waiting if question.key not in match.known]
        question_ids = {row.key: pk for row, pk in zip(new, reserve_ids(Question, len(new)), strict=True)}
        insert_rows(
            *(Question, _QUESTION),
            [
                (question_ids[row.key], name, self._bank_id, number, exam_ids[row.exam.key], row.split)
                for number, (row, name) in enumerate(zip(new, public_ids(len(new)), strict=True), start=last + 1)
            ],
        )
        revisions, keys, superseded = [], [], []
        leaving_out: dict[int, QuestionRecord] = {}
        for row, pk in zip(match.waiting, reserve_ids(Revision, len(match.waiting)), strict=True):
            old, difficulty = match.known.get(row.key), row.difficulty.value
            if old is None:
                question_id, number = question_ids[row.key], 1
            else:
                question_id, number, difficulty = old.question_id, old.number + 1, difficulty or old.difficulty
                superseded.append(old.revision_id)
            options = f"[{','.join(map(encode_basestring, row.options))}]"
            groups = (row.task.value, row.category, row.subcategory, row.question_class, difficulty)
            mine = (self._bank_id, self._import_id)
            revisions.append((pk, question_id, number, *mine, row.stem, options, *groups, row.content_sha256))
            report_id = reports.get((exam_ids[row.exam.key], row.exam.report_sha256))
            keys.append((pk, row.answer, row.explanation, report_id, self._extra_of(row)))
            if row.left_out:
                leaving_out[pk] = row
        Revision.objects.filter(pk__in=superseded).update(superseded_by=self._import_id)
        insert_rows(Revision, _REVISION, revisions)
        insert_rows(AnswerKey, _KEY, keys)
        names = [(IdentifierKind.QUESTION_KEY, key, pk) for key, pk in question_ids.items()]
        names += [(IdentifierKind.QUESTION_READ, text, pk) for _kind, key, pk in names if (text := read_as(key)) != key]
        named = [self._named(kind, text, question=pk) for kind, text, pk in names]
        insert_rows(SourceIdentifier, _IDENTIFIER, named)
        images = self._images_of(leaving_out.values())
        for pk, row in leaving_out.items():
            left_out = sorted(images[row.exam.key, path] for path in row.left_out if (row.exam.key, path) in images)
            Revision.objects.filter(pk=pk).update(images_left_out=left_out)


def _act_on(row: QuestionRecord, old: KnownQuestion | None, images: Mapping[tuple[str, str], str]) -> str:
    """What the row does. An unknown difficulty says nothing: a side file may have given it."""
    if old is None:
        return "created"
    is_same = old.content_sha256 == row.content_sha256 and row.difficulty in ("", old.difficulty)
    return "unchanged" if is_same or (old.edited and _brings_back(row, old, old.edited, images)) else "updated"


def _leaves_out(old: KnownQuestion | None) -> bool:
    return old is not None and old.edited is not None and any(one.left_out for one in old.edited)


def _brings_back(
    row: QuestionRecord, old: KnownQuestion, edited: EditedWording, images: Mapping[tuple[str, str], str]
) -> bool:
    """Whether the row is the edited question as an export writes it: worded as it is now, else as it was imported."""

    def left_out(one: Wording) -> tuple[str, ...]:
        return tuple(path for path, _view in row.exam.images if images.get((row.exam.key, path)) in one.left_out)

    groups = (row.task, row.category, row.subcategory, row.question_class)
    content = (
        row.stem,
        tuple(row.options),
        row.answer,
        row.explanation,
        groups,
        row.difficulty or edited.now.difficulty,
    )
    if content != (*_hashed(edited.now), edited.now.difficulty) or row.left_out != left_out(edited.now):
        return False
    imported = content_sha256(row.exam, *_hashed(edited.imported), row.extra, left_out(edited.imported))
    return imported == old.content_sha256


def _hashed(one: Wording) -> tuple[str, tuple[str, ...], str, str, tuple[str, ...]]:
    groups = (one.task, one.category, one.subcategory, one.question_class)
    return one.stem, one.options, one.key, one.explanation, groups


def _add_reports(match: Match, exam_ids: dict[str, int]) -> dict[tuple[int, str], int]:
    """Ids of the reports of these exams, by exam and hash; a report that its exam does not have yet becomes a row."""
    stored = Report.objects.filter(exam_id__in=set(match.exam_ids.values()))
    ids = {(exam_id, sha256): pk for pk, exam_id, sha256 in stored.values_list("pk", "exam_id", "content_sha256")}
    named = {(exam_ids[exam.key], exam.report_sha256): exam.report for exam in match.exams if any(exam.report)}
    missing = {name: report for name, report in named.items() if name not in ids}
    new = dict(zip(missing, reserve_ids(Report, len(missing)), strict=True))
    rows = [(pk, name[0], *missing[name], name[1]) for name, pk in new.items()]
    insert_rows(Report, _REPORT, rows)
    return ids | new
