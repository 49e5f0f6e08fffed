"""A benchmark that is released: what passes the gate of a bank, in splits by patient, frozen, and written as files.

Which question is in which split is stored once; the files are written from it whenever they are asked for, and are
the same bytes. Names are our pseudonyms: nothing of the source but ages and sex leaves with a release. The answers of
the private split are written apart.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.enums import Difficulty, ImageState, KeySource, QuestionState, RenditionKind, Task, ViewPosition
from annotation.exports.kernels.data_card import one_line
from annotation.exports.kernels.question_records import TASK_NAMES
from annotation.exports.kernels.splits import Shares, Split, faults_of_shares, split_patients
from annotation.exports.source_names import check_may_see_names
from annotation.exports.tables import ExportRefused
from annotation.ingest import storage
from annotation.ingest.completeness import has_lost_images, waits_for_images
from annotation.models import (
    AnswerKey,
    Edit,
    Gate,
    Image,
    Question,
    QuestionBank,
    Release,
    ReleasedQuestion,
    Rendition,
    Revision,
    User,
)
from annotation.quality.kernels.question_checks import IDENTIFIER_FREE, PartState
from annotation.quality.validity import gate_is, gate_of
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.kernels.fields import join_options
from annotation.questionbank.priors import Patients, patients_of

AT_ONCE = 500
MOST_NAME = 100
PRIVATE_KEYS = "private_keys.json"
Watch = Callable[[int, int], object]


class ReleaseWanted(Struct, frozen=True):
    bank: QuestionBank
    name: str
    shares: Shares
    seed: int = 0


class ReleasePlan(Struct):
    """A release as it would be stored: ``splits`` by revision. Left out are questions that pass the gate."""

    wanted: ReleaseWanted
    gate: Gate
    n_in_bank: int
    splits: dict[int, Split] = field(default_factory=dict)
    questions: Counter[Split] = field(default_factory=Counter)
    patients: Counter[Split] = field(default_factory=Counter)
    tasks: dict[str, Counter[Split]] = field(default_factory=dict)
    categories: dict[str, Counter[Split]] = field(default_factory=dict)
    difficulties: dict[str, Counter[Split]] = field(default_factory=dict)
    n_alone: int = 0  # exams without a patient, each a patient of its own
    left_out: Counter[str] = field(default_factory=Counter)  # by why
    n_kept: int = 0  # patients who keep the split of an earlier release, whatever seed and shares
    before: Release | None = None  # the newest of the bank, whose patients keep their splits
    n_before: Counter[str] = field(default_factory=Counter)  # of its questions: same, reworded, gone; and new ones

    @property
    def n_not_passing(self) -> int:
        return self.n_in_bank - len(self.splits) - self.left_out.total()

    @property
    def tables(self) -> list[tuple[str, dict[str, Counter[Split]]]]:
        return [(_("Task"), self.tasks), (_("Category"), self.categories), (_("Difficulty"), self.difficulties)]


def plan_release(wanted: ReleaseWanted) -> ReleasePlan:
    """The dry run. Raises ExportRefused."""
    bank, gate = wanted.bank, gate_of(wanted.bank)
    if gate is None:
        sentence = _("“%(bank)s” has no gate: say on its page “Validity” what its questions have to pass.")
        raise ExportRefused("no_gate", sentence % {"bank": bank.name}, status=422)
    if IDENTIFIER_FREE not in gate.parts:
        raise ExportRefused("identifiers", _("The gate of a release has to ask for “identifiers”."), status=422)
    if fault := faults_of_shares(wanted.shares):
        raise ExportRefused("shares", fault, status=422, field="shares")
    if not 1 <= len(wanted.name.strip()) <= MOST_NAME:
        sentence = _("Give the release a name of at most %(n)d characters.") % {"n": MOST_NAME}
        raise ExportRefused("no_name", sentence, status=422, field="name")
    if Release.objects.filter(bank=bank, name=wanted.name.strip()).exists():
        sentence = _("“%(bank)s” has a release “%(name)s” already: a release is never changed.")
        raise ExportRefused("name_taken", sentence % {"bank": bank.name, "name": wanted.name}, status=422, field="name")
    current = Revision.objects.in_bank(bank).current()
    plan = ReleasePlan(wanted, gate, current.count(), before=Release.objects.filter(bank=bank).first())
    passing = current.filter(gate_is(bank, gate.parts, PartState.PASS)).exclude(question__state=QuestionState.WITHDRAWN)
    incomplete = passing.filter(has_lost_images(bank) | waits_for_images(bank)).count()
    whole = passing.exclude(has_lost_images(bank) | waits_for_images(bank))
    columns = ("pk", "task", "category", "difficulty", "question_id")
    exam = ("pk", "pseudonym", "patient_pseudonym", "prior")
    rows = list(whole.order_by("pk").values_list(*columns, *(f"question__exam__{name}" for name in exam)))
    exams = {row[5] for row in rows}
    kept = [row for row in rows if row[8] is None or row[8] in exams]
    left_out = {_("an image is missing or withheld"): incomplete}
    plan.left_out = +Counter(left_out | {_("its prior exam is not released"): len(rows) - len(kept)})
    if not kept:
        raise ExportRefused("nothing_passes", _("No question passes the gate with all of its images."), status=422)
    _fill(plan, kept)
    return plan


def plan_as_json(plan: ReleasePlan) -> dict[str, Any]:
    """For programs; by split, whatever the table."""

    def told(counts: Counter[Split]) -> dict[str, int]:
        return {split.value: counts[split] for split in Split}

    return {
        "gate": str(plan.gate),
        "questions": told(plan.questions),
        "patients": told(plan.patients),
        "exams_without_patient": plan.n_alone,
        "patients_who_keep_their_split": plan.n_kept,
        "not_passing_the_gate": plan.n_not_passing,
        "left_out": dict(plan.left_out),
        "tables": {label: {name: told(counts) for name, counts in rows.items()} for label, rows in plan.tables},
        "since": {"release": plan.before.name, **plan.n_before} if plan.before else None,
    }


def _fill(plan: ReleasePlan, rows: list[tuple[Any, ...]]) -> None:
    patients: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    of_revision, alone, known = {}, set(), patients_of(plan.wanted.bank.pk)
    for pk, task, category, _difficulty, _question, _exam, pseudonym, patient, _prior in rows:
        name = known.name(patient, pseudonym)
        patients[name][task, category] += 1
        of_revision[pk] = name
        alone |= set() if known.is_known(patient, pseudonym) else {pseudonym}
    settled = _known_splits(plan.before, known)
    found = split_patients(patients, plan.wanted.shares, plan.wanted.seed, settled)
    plan.splits = {pk: found[patient] for pk, patient in of_revision.items()}
    plan.patients, plan.n_alone, plan.n_kept = Counter(found.values()), len(alone), len(found.keys() & settled.keys())
    labels = {word.value: word.label for word in Difficulty} | {"": _("unknown")}
    for pk, task, category, difficulty, *_rest in rows:
        split = plan.splits[pk]
        plan.questions[split] += 1
        for table, name in ((plan.tasks, TASK_NAMES[Task(task)]), (plan.categories, category or _("unknown"))):
            table.setdefault(name, Counter())[split] += 1
        plan.difficulties.setdefault(labels[difficulty], Counter())[split] += 1
    if plan.before:
        earlier = ReleasedQuestion.objects.filter(release=plan.before)
        then = dict(earlier.values_list("revision__question", "revision"))
        now = {question: pk for pk, _task, _category, _difficulty, question, *_rest in rows}
        same = sum(now.get(question) == pk for question, pk in then.items())
        stayed = len(then.keys() & now.keys())
        plan.n_before = Counter(same=same, reworded=stayed - same, gone=len(then) - stayed, new=len(now) - stayed)


def _known_splits(before: Release | None, known: Patients) -> dict[str, Split]:
    """Of patients of the release before, and of those before it: who was in the private split never leaves it."""
    if before is None:
        return {}
    rows = ReleasedQuestion.objects.filter(release__bank=before.bank_id).order_by("release", "pk")
    exam = "revision__question__exam"
    found = rows.values_list(f"{exam}__patient_pseudonym", f"{exam}__pseudonym", "split")
    return {known.name(patient, exam): Split(split) for patient, exam, split in found}


@transaction.atomic
def release(wanted: ReleaseWanted, *, actor: User | None, at: datetime) -> Release:
    """Freeze it. Raises ExportRefused."""
    if actor is not None:
        check_may_see_names(actor, Revision.objects.filter(bank=wanted.bank))
    QuestionBank.objects.select_for_update(of=("self",)).get(pk=wanted.bank.pk)
    plan = plan_release(wanted)
    counts = {split.value: {"questions": plan.questions[split], "patients": plan.patients[split]} for split in Split}
    made = Release.objects.create(
        bank=wanted.bank,
        gate=plan.gate,
        name=wanted.name.strip(),
        shares={split.value: share for split, share in wanted.shares.items()},
        seed=wanted.seed,
        counts=counts,
        left_out={_("does not pass the gate"): plan.n_not_passing, **plan.left_out},
        released_by=actor,
        released_at=at,
    )
    rows = (ReleasedQuestion(release=made, revision_id=pk, split=split) for pk, split in sorted(plan.splits.items()))
    while chunk := list(islice(rows, AT_ONCE)):
        ReleasedQuestion.objects.bulk_create(chunk)
    made.sums = {name: hashlib.sha256(content).hexdigest() for name, content in _contents(made)}
    made.save(update_fields=["sums"])
    facts = {"name": made.name, "gate": str(plan.gate), "questions": len(plan.splits), "seed": wanted.seed}
    record("bank.released", actor=actor, at=at, subject=wanted.bank, facts=facts)
    return made


# --- written --------------------------------------------------------------------------------------
def note_taken(made: Release, *, actor: User | None, at: datetime) -> None:
    """Whoever takes the files has seen the keys. Raises ExportRefused."""
    if actor is not None:
        check_may_see_names(actor, Revision.objects.filter(bank=made.bank))
        note_seen_keys(actor, _questions_of(made), source=KeySource.BANK_EXPORT, subject=made.bank, at=at)
    with transaction.atomic():
        record("release.taken", actor=actor, at=at, subject=made, facts={"name": made.name})


def _questions_of(made: Release) -> QuerySet[Question]:
    return Question.objects.filter(revisions__in=ReleasedQuestion.objects.filter(release=made).values("revision"))


def files_of(made: Release) -> Iterator[tuple[str, bytes]]:
    """Name and content of each but images: records by split, changes, the card, and their hashes.

    Raises ExportRefused (``changed``) where one is no longer what was released.
    """
    found = list(_contents(made))
    if changed := [name for name, content in found if hashlib.sha256(content).hexdigest() != made.sums.get(name)]:
        sentence = _(
            "Since the release an image was withheld, or its view corrected: %(files)s would differ. Release anew."
        )
        raise ExportRefused("changed", sentence % {"files": ", ".join(changed)})
    yield from found
    yield "SHA256SUMS", "".join(f"{sha256}  {name}\n" for name, sha256 in made.sums.items()).encode()


def private_keys(made: Release) -> bytes:
    """What is held back of each question of the private split, and is in none of its files: key, explanation, report,
    and the category, by which many a key can be guessed."""
    records = _records(made, Split.PRIVATE)
    return _as_json({name: {own: one[own] for own in HELD_BACK if own in one} for name, one in records})


def _rows(made: Release, split: Split) -> QuerySet[ReleasedQuestion]:
    return ReleasedQuestion.objects.filter(release=made, split=split).order_by("pk")


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _contents(made: Release) -> Iterator[tuple[str, bytes]]:
    for split in Split:
        if made.counts[split.value]["questions"]:
            held = HELD_BACK if split == Split.PRIVATE else ()
            records = {
                name: {own: value for own, value in one.items() if own not in held}
                for name, one in _records(made, split)
            }
            yield f"metadata/{split}_vqa_data.json", _as_json(records)
    yield "changes.json", _as_json(dict(_changes(made)))
    yield "README.md", "".join(f"{line}\n" for line in _card(made)).encode()


def _records(made: Release, split: Split) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = _rows(made, split).select_related("revision__question__exam__prior")
    ids = iter(rows.values_list("pk", flat=True))
    while chunk := list(islice(ids, AT_ONCE)):
        found = list(rows.filter(pk__in=chunk))
        truths = AnswerKey.objects.select_related("report").in_bulk([one.revision_id for one in found])
        images = images_of_release(found)
        for one in found:
            revision = one.revision
            yield f"q{revision.question.public_id}", _record(revision, truths[revision.pk], images)


def _record(revision: Revision, truth: AnswerKey, images: Mapping[int, list[Image]]) -> dict[str, Any]:
    exam, report = revision.question.exam, truth.report
    shown = [one for one in images[exam.pk] if one.public_id not in revision.left_out]
    made: dict[str, Any] = {
        "study_id": exam.pseudonym,
        "task_name": TASK_NAMES[Task(revision.task)],
        "question": revision.stem,
        "options": join_options(revision.options, ". "),
        "correct_answer": truth.key,
        "correct_answer_explanation": truth.explanation,
        "category": revision.category,
        "subcategory": revision.subcategory or None,
        "class": revision.question_class or None,
        "difficulty": str(revision.difficulty) or None,
        "PatientID": exam.patient_pseudonym or None,
        "PatientSex": str(exam.sex) or None,
        "PatientAge": None if exam.age_years is None else f"{exam.age_years:03d}Y",
        "Indication": report.indication if report else None,
        "Comparison": report.comparison if report else None,
        "Findings": report.findings if report else None,
        "Impression": report.impression if report else None,
        "ImagePath": [f"../{path_of(exam.pseudonym, one)}" for one in shown],
        "ImageViewPosition": [_VIEWS.get(one.view_position) for one in shown],
        "prior_study": exam.prior.pseudonym if exam.prior else None,
    }
    return {name: value for name, value in made.items() if value is not None}


HELD_BACK = (
    *("correct_answer", "correct_answer_explanation", "category", "subcategory", "class"),
    *("Indication", "Comparison", "Findings", "Impression"),
)
_VIEWS = {**{view.value: view.value.upper() for view in ViewPosition}, ViewPosition.UNKNOWN.value: None}


def images_of_release(rows: Iterable[ReleasedQuestion]) -> dict[int, list[Image]]:
    """The available images of the exams of these questions, in their order."""
    found: dict[int, list[Image]] = defaultdict(list)
    exams = {one.revision.question.exam_id for one in rows}
    for image in Image.objects.filter(exam__in=exams, state=ImageState.AVAILABLE).order_by("position", "pk"):
        found[image.exam_id].append(image)
    return found


def path_of(exam: str, image: Image) -> str:
    return f"images/{exam}/{image.public_id}.png"


def _changes(made: Release) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Of each released question that people changed: when, why, and in which round.

    A reason can name the key, so that those of the private split stay here.
    """
    rows = ReleasedQuestion.objects.filter(release=made)
    private = set(_rows(made, Split.PRIVATE).values_list("revision__question", flat=True))
    edits = Edit.objects.filter(revision__question__in=rows.values("revision__question"))
    newest = dict(rows.values_list("revision__question", "revision__number"))
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for edit in edits.select_related("revision__question", "settlement__round").order_by("revision__question", "pk"):
        question = edit.revision.question
        if edit.revision.number <= newest[question.pk]:
            prompted = edit.settlement.round.name if edit.settlement else ""
            why = {} if question.pk in private else {"why": edit.reason}
            one = {"day": f"{edit.made_at:%Y-%m-%d}", **why, "round": prompted}
            found[f"q{question.public_id}"].append(one)
    yield from found.items()


def _card(made: Release) -> Iterator[str]:
    """In Markdown: what it holds, by which gate, and whose images it shows."""
    yield from (f"# {one_line(made.name)}", "")
    if made.bank.simulated:
        yield from ("**Simulated: the questions were made up for a demonstration.**", "")
    yield f"- bank: {one_line(made.bank.name)}; released {made.released_at:%Y-%m-%d} (UTC), seed {made.seed}"
    yield f"- gate: {one_line(str(made.gate))}, which asks for {', '.join(made.gate.parts)}"
    yield from (f"- left out: {n:,} ({one_line(why)})" for why, n in made.left_out.items() if n)
    yield "- a patient is in one split alone, in this release and in those after it"
    yield from ("", "| task | " + " | ".join(Split.values()) + " |", "| --- |" + " ---: |" * len(Split))
    rows = ReleasedQuestion.objects.filter(release=made)
    tasks = Counter(rows.values_list("revision__task", "split"))
    for task in Task:
        yield f"| {TASK_NAMES[task]} | " + " | ".join(f"{tasks[task.value, split.value]:,}" for split in Split) + " |"
    for label in ("questions", "patients"):
        yield f"| **{label}** | " + " | ".join(f"{made.counts[split.value][label]:,}" for split in Split) + " |"
    credited = Counter(_images_of(made).values_list("attribution", "licence"))
    yield from ("", "| images | attribution | licence |", "| ---: | --- | --- |")
    for (whose, terms), n in sorted(credited.items()):
        yield f"| {n:,} | {one_line(whose) or '-'} | {one_line(terms) or '-'} |"
    yield from ("", "The answers of the private split are in no file of this folder.")


def _images_of(made: Release) -> QuerySet[Image]:
    exams = ReleasedQuestion.objects.filter(release=made).values("revision__question__exam")
    return Image.objects.filter(exam__in=exams, state=ImageState.AVAILABLE)  # priors are released as exams


def write_release(
    made: Release, folder: Path, *, images: str = "", keys: Path | None = None, watch: Watch | None = None
) -> int:
    """Into a folder that is new or empty; with ``images`` ("full", "quarter") also these. How many images it wrote.

    ``keys``: a file outside of the folder for the answers of the private split. Raises ExportRefused.
    """
    from annotation.exports.bank_export import whole_folder

    with whole_folder(folder) as part:
        for name, content in files_of(made):
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
        n_images = _write_images(made, part, images, watch) if images else 0
    if keys:
        keys.write_bytes(private_keys(made))
    return n_images


def _write_images(made: Release, folder: Path, size: str, watch: Watch | None) -> int:
    from annotation.imaging.kernels.picture_policies import QUARTER, picture_of, policy_named
    from annotation.imaging.kernels.rendering import payload_of, png_of

    rows = Rendition.objects.filter(image__in=_images_of(made), kind=RenditionKind.FULL)
    found, policy = rows.select_related("image__exam").order_by("pk"), policy_named(QUARTER)
    total = found.count()
    for done, one in enumerate(found.iterator(chunk_size=AT_ONCE), start=1):
        payload = payload_of(storage.load(one.name), one.width, one.height)
        display = one.image.display or {}
        if size == "quarter" and not made.bank.holds_quarters:
            content, _width, _height = picture_of(payload, display, policy)
        else:
            content = png_of(payload, bits=one.bits, is_inverted=bool(display.get("invert")))
        path = folder / path_of(one.image.exam.pseudonym, one.image)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if watch:
            watch(done, total)
    return total


def zip_of(made: Release, to: IO[bytes]) -> None:
    """The files without images as one ZIP, the same bytes every time; left at its start. Raises ExportRefused."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files_of(made):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    to.seek(0)
