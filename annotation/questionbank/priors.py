"""What a bank holds of what a file names, and the earlier exam that is shown beside an exam.

A prior is named by questions in a file and found when the whole file is there.

And who is one patient: exams with one pseudonym of a patient and, where it is not known, exams that a prior links.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef, Q
from msgspec import Struct

from annotation.enums import IdentifierKind, ImportKind, ImportState
from annotation.hashes import identifier_digest, image_path_digest
from annotation.models import AnswerKey, BankImport, Exam, Image, Question, Revision, SourceIdentifier
from annotation.questionbank.kernels.records import read_as
from annotation.questionbank.kernels.wording import Wording

KNOWN_AT_ONCE = 5_000  # looked up by one statement


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
    split: str = ""


def _known_named(kind: IdentifierKind, digests: list[int], *columns: str) -> Iterator[tuple[Any, ...]]:
    """Identifiers with these digests. Only the digest leads there: an index by bank would be a scan of the bank."""
    table = SourceIdentifier._meta.db_table
    for start in range(0, len(digests), KNOWN_AT_ONCE):
        # as SQL: the ORM takes longer to pass so many numbers on than the database to find them
        listed = ",".join(map(str, digests[start : start + KNOWN_AT_ONCE]))
        with connection.cursor() as cursor:
            statement = f"SELECT {','.join(columns)} FROM {table} WHERE digest IN ({listed}) AND kind = %s"  # noqa: S608
            cursor.execute(statement, [kind.value])
            yield from cursor.fetchall()


def _ids_of(kind: IdentifierKind, column: str, bank_id: int, keys: Collection[str]) -> dict[str, int]:
    wanted = set(keys)
    named = _known_named(kind, [identifier_digest(kind.value, key) for key in wanted], "bank_id", "value", column)
    return {key: pk for its_bank, key, pk in named if its_bank == bank_id and key in wanted}


def questions_with_keys(bank_id: int, keys: Collection[str]) -> dict[str, int]:
    """The id of each question of the bank that has one of these keys at its source."""
    return _ids_of(IdentifierKind.QUESTION_KEY, "question_id", bank_id, keys)


def keys_that_look_alike(bank_id: int, new: Collection[str]) -> list[str]:
    """Those of these keys, which the bank does not have, that people would read as one that it has."""
    of_text = {key: read_as(key) for key in new}
    kinds = (IdentifierKind.QUESTION_KEY, IdentifierKind.QUESTION_READ)
    held = {text for kind in kinds for text in _ids_of(kind, "question_id", bank_id, of_text.values())}
    return [key for key, text in of_text.items() if text in held]


def exams_with_keys(bank_id: int, keys: Collection[str]) -> dict[str, int]:
    """The id of each exam of the bank that has one of these keys at its source."""
    return _ids_of(IdentifierKind.EXAM_KEY, "exam_id", bank_id, keys)


def keys_of_questions(bank_id: int, question_ids: Collection[int]) -> dict[int, str]:
    """What these questions are called at their source: their ids in the imported file."""
    listed = sorted(question_ids)
    found: dict[int, str] = {}
    for start in range(0, len(listed), KNOWN_AT_ONCE):
        rows = SourceIdentifier.objects.filter(question_id__in=listed[start : start + KNOWN_AT_ONCE], bank=bank_id)
        named = rows.filter(kind=IdentifierKind.QUESTION_KEY).values_list("question_id", "value")
        found.update((pk, key) for pk, key in named if pk is not None)
    return found


def known_questions(bank_id: int, keys: Collection[str]) -> dict[str, KnownQuestion]:
    """Questions of the bank with these keys, at their current revision."""
    ids = questions_with_keys(bank_id, keys)
    revisions = Revision.objects.current().filter(question__in=ids.values())
    rows = revisions.values_list("question_id", "id", "number", "difficulty", "content_sha256", "question__split")
    by_id = {row[0]: KnownQuestion(*row[:5], split=row[5]) for row in rows}
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
    named = _known_named(IdentifierKind.IMAGE_PATH, digests, "exam_id", "value")
    return {(exam_id, path) for exam_id, path in named if exam_id in exam_ids}


def images_at(named: Collection[tuple[int, str]], roots: Collection[str]) -> dict[tuple[int, str], str]:
    """Public id of the image that an exam has at a path, for each of these pairs of exam and path."""
    pairs = {(exam_id, _full_path(root, path)): (exam_id, path) for root in roots for exam_id, path in named}
    digests = [image_path_digest(root, path) for root in roots for path in {path for _exam, path in named}]
    rows = _known_named(IdentifierKind.IMAGE_PATH, digests, "exam_id", "root", "value", "image_id")
    found = {(exam_id, _full_path(root, path)): image_id for exam_id, root, path, image_id in rows}
    ids = {pairs[name]: image_id for name, image_id in found.items() if name in pairs}
    public_ids = dict(Image.objects.filter(pk__in=ids.values()).values_list("pk", "public_id"))
    return {name: public_ids[pk] for name, pk in ids.items() if pk in public_ids}


def arrived_images(bank_id: int, root: str, paths: Collection[str]) -> dict[str, tuple[int, int]]:
    """Image and exam id of the paths whose file was ingested before, for this bank or for none."""
    path_of = {_full_path(root, path): path for path in paths}
    digests = [image_path_digest(root, path) for path in path_of.values()]
    named = _known_named(IdentifierKind.IMAGE_PATH, digests, "bank_id", "root", "value", "image_id")
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


Link = tuple[str, str, str, str]  # pseudonyms of the patient and of the exam, then those of its prior
AT_ONCE = 1_000

# Exams of a bank that name a prior and have none, by the reason; what did not happen is not counted.
MISSING = "priors_missing"  # it is not in the bank
OTHER_PATIENT = "priors_of_other_patients"
UNKNOWN_PATIENT = "priors_of_unknown_patients"  # of one of the two the patient is not known
IN_A_CIRCLE = "priors_in_a_circle"  # each of several names the next as earlier, and the last the first


def link_priors(bank_id: int) -> Counter[str]:
    """Give every exam of the bank the prior that was named last for it. Safe to run twice.

    A name that the bank does not hold waits for a later import. An exam of another patient is never a prior, nor one
    of which it is not known, nor one that comes later by its own prior.
    """
    counts: Counter[str] = Counter()
    every = SourceIdentifier.objects.filter(bank=bank_id, kind=IdentifierKind.PRIOR_EXAM)
    later = every.filter(exam_id=OuterRef("exam_id"), pk__gt=OuterRef("pk"))
    rows = every.exclude(Exists(later)).order_by("pk")
    changed: list[Exam] = []
    prior_of: dict[int, int] = {}
    last = 0
    while page := list(rows.filter(pk__gt=last).values_list("pk", "exam_id", "value")[:AT_ONCE]):
        last = page[-1][0]
        named = {exam: key for _pk, exam, key in page if exam is not None}
        for exam, prior in _named(bank_id, named, counts):
            if prior is not None:
                prior_of[exam.pk] = prior
            if exam.prior_id != prior:
                exam.prior_id = prior
                changed.append(exam)
    circling = in_circles(prior_of)
    counts[IN_A_CIRCLE] = len(circling)
    straight = [exam for exam in changed if exam.pk not in circling]
    Exam.objects.bulk_update(straight, ["prior"], batch_size=AT_ONCE)
    Exam.objects.filter(pk__in=circling, prior__isnull=False).update(prior=None)
    return +counts


def _named(bank_id: int, named: dict[int, str], counts: Counter[str]) -> Iterator[tuple[Exam, int | None]]:
    """Each of these exams with its prior; None, and counted, where it is refused."""
    found = exams_with_keys(bank_id, named.values())
    exams = Exam.objects.only("prior", "patient_pseudonym").in_bulk([*named, *found.values()])
    for pk, key in named.items():
        exam, prior = exams.get(pk), exams.get(found.get(key, 0))
        if exam is None:
            continue
        if prior is None:
            counts[MISSING] += 1
        elif exam.patient_pseudonym == prior.patient_pseudonym:  # of neither known, or of both
            yield exam, prior.pk
            continue
        elif exam.patient_pseudonym and prior.patient_pseudonym:
            counts[OTHER_PATIENT] += 1
        else:
            counts[UNKNOWN_PATIENT] += 1
        yield exam, None


def questions_showing(exams: Collection[int]) -> Mapping[int, set[int]]:
    """By exam: the questions that show its images, as their own or as a prior. One query for every thousand exams."""
    found: dict[int, set[int]] = defaultdict(set)
    ids = sorted(exams)
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        showing = Exam.objects.filter(Q(pk__in=part) | Q(prior__in=part))
        rows = Question.objects.filter(exam__in=showing.values("pk")).order_by("pk")
        for question, exam, prior in rows.values_list("pk", "exam", "exam__prior"):
            for shown in (exam, prior):
                if shown is not None:
                    found[shown].add(question)
    return found


def in_circles(prior_of: Mapping[int, int]) -> set[int]:
    """The exams to which one comes back from prior to prior. What only leads to such exams is not among them."""
    found: set[int] = set()
    done: set[int] = set()
    for exam in prior_of:
        path: dict[int, None] = {}  # in the order of going
        while exam in prior_of and exam not in done:
            if exam in path:
                found.update(list(path)[list(path).index(exam) :])
                break
            path[exam] = None
            exam = prior_of[exam]
        done.update(path)
    return found


class Patients(Struct, frozen=True):
    """What identifies the patient of an exam; the exam itself, where nothing else is known."""

    linked: Mapping[str, str]

    def name(self, patient: str, exam: str) -> str:
        own = _own_name(patient, exam)
        return self.linked.get(own, own)

    def is_known(self, patient: str, exam: str) -> bool:
        return bool(patient) or _own_name(patient, exam) in self.linked

    def clusters(self, exams: Sequence[tuple[str, str]]) -> tuple[list[int], str]:
        """Of questions by patient and exam: the number of each one's patient, in the order met; and what is counted."""
        numbers = dict[str, int]()
        cluster = [numbers.setdefault(self.name(*one), len(numbers)) for one in exams]
        known = {self.is_known(*one) for one in exams}
        level = "patient where known, else exam" if len(known) > 1 else "patient" if known == {True} else "exam"
        return cluster, level


def patients_of(bank_id: int) -> Patients:
    """By the priors that the bank names now. One query."""
    unknown = Q(patient_pseudonym="") | Q(prior__patient_pseudonym="")
    exams = Exam.objects.filter(unknown, bank=bank_id, prior__isnull=False).order_by("pk")
    return patients_by(
        exams.values_list("patient_pseudonym", "pseudonym", "prior__patient_pseudonym", "prior__pseudonym")
    )


def patients_by(links: Iterable[Link]) -> Patients:
    """Exams that share a prior, or follow each other as priors, are of one patient."""
    before: dict[str, str] = {}

    def first(name: str) -> str:
        while before.setdefault(name, name) != name:
            name = before[name]
        return name

    for patient, exam, prior_patient, prior in links:
        one, other = sorted((first(_own_name(patient, exam)), first(_own_name(prior_patient, prior))))
        before[other] = one
    return Patients({name: first(name) for name in list(before)})


def _own_name(patient: str, exam: str) -> str:
    return patient or f"exam {exam}"
