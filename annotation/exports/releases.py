"""A benchmark that is released: what passes the gate of a bank, in splits by patient, frozen.

Which question is in which split is stored once; release_files.py writes the files from it. A release with its images as
one ZIP file is written by a job and kept until it is written in another size; it can be written again at any time, and
is in no backup.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypedDict

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import asdict

from annotation.audit.recording import record
from annotation.enums import Difficulty, JobQueue, QuestionState, Split, Task
from annotation.exports.bank_contents import gate_to_export_by
from annotation.exports.kernels.question_records import TASK_NAMES
from annotation.exports.kernels.splits import Shares, faults_of_shares, split_patients
from annotation.exports.release_files import AT_ONCE, ImageSize, check_handed_out, contents_of, renditions_of, zip_of
from annotation.ingest.completeness import has_lost_images, waits_for_images
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import Finding, Gate, Job, QuestionBank, Release, ReleasedQuestion, Revision, User
from annotation.questionbank.importing import withdrawal_reason
from annotation.questionbank.kernels.question_checks import IDENTIFIER_FREE, PartState
from annotation.questionbank.kernels.rules import RELEASED_TWIN
from annotation.questionbank.priors import Patients, patients_of
from annotation.questionbank.source_names import check_may_see_names
from annotation.questionbank.validity import gate_is
from annotation.site import home_files
from annotation.site.media import StoredFile
from annotation.tables.writing import ExportRefused, whole_file

MOST_NAME = 100


class ReleaseWanted(Struct, frozen=True):
    bank: QuestionBank
    name: str
    shares: Shares
    seed: int = 0
    as_imported: bool = False  # the splits with which questions came in, in place of drawing
    gate: str = ""  # its name, or its name and version; empty: whichever the bank has


class NearReleased(Struct, frozen=True):
    """Questions of a plan that are nearly the same as one of another release; no gate, but told."""

    n: int
    n_compared: int  # of the plan; what was worded since was not
    n_released: int  # wordings that they were compared with
    threshold: float
    at: datetime
    n_since: int = 0  # releases that came after

    @classmethod
    def of(cls, result: Mapping[str, Any], planned: Collection[int], near: Collection[int], at: datetime) -> Self:
        """By a ReleasedResult of questionbank.duplicates, and the wordings in which something near was found."""
        n_compared = sum(pk <= result["newest"] for pk in planned)
        n_since = Release.objects.filter(released_at__gt=at).count()
        n = sum(pk in planned for pk in near)
        return cls(n, n_compared, result["n_released"], result["threshold"], at, n_since)


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
    near: NearReleased | None = None  # None: never compared
    before: Release | None = None  # the newest of the bank, whose patients keep their splits
    n_before: Counter[str] = field(default_factory=Counter)  # of its questions: same, reworded, gone; and new ones

    @property
    def n_not_passing(self) -> int:
        return self.n_in_bank - len(self.splits) - self.left_out.total()

    @property
    def tables(self) -> list[tuple[str, dict[str, Counter[Split]]]]:
        return [(_("Task"), self.tasks), (_("Category"), self.categories), (_("Difficulty"), self.difficulties)]


def plan_release(wanted: ReleaseWanted, actor: User | None = None) -> ReleasePlan:
    """The dry run, which tells how many questions pass: not whoever still answers one blind. Raises ExportRefused."""
    if actor is not None:
        check_may_see_names(actor, Revision.objects.filter(bank=wanted.bank))
    bank, gate = wanted.bank, gate_to_export_by(wanted.bank)
    if wanted.gate and wanted.gate.strip() not in (gate.name, str(gate)):
        sentence = _("“%(bank)s” has the gate “%(gate)s” now: name that one, or set another on the page “Validity”.")
        raise ExportRefused("other_gate", sentence % {"bank": bank.name, "gate": gate}, status=422, field="gate")
    if IDENTIFIER_FREE not in gate.parts:
        raise ExportRefused("identifiers", _("The gate of a release has to ask for “identifiers”."), status=422)
    if not wanted.as_imported and (fault := faults_of_shares(wanted.shares)):
        raise ExportRefused("shares", fault, status=422, field="shares")
    if not 1 <= len(wanted.name.strip()) <= MOST_NAME:
        sentence = _("Give the release a name of at most %(n)d characters.") % {"n": MOST_NAME}
        raise ExportRefused("no_name", sentence, status=422, field="name")
    if not 0 <= wanted.seed < 2**31:
        raise ExportRefused("seed", _("The seed is a whole number from 0 to 2147483647."), status=422, field="seed")
    if Release.objects.filter(bank=bank, name=wanted.name.strip()).exists():
        sentence = _("“%(bank)s” has a release “%(name)s” already, or had: a release is never changed.")
        raise ExportRefused("name_taken", sentence % {"bank": bank.name, "name": wanted.name}, status=422, field="name")
    current = Revision.objects.in_bank(bank).current()
    before = Release.objects.filter(bank=bank, withdrawn_at=None).first()
    plan = ReleasePlan(wanted, gate, current.count(), before=before)
    passing = current.filter(gate_is(bank, gate.parts, PartState.PASS)).exclude(question__state=QuestionState.WITHDRAWN)
    incomplete = passing.filter(has_lost_images(bank) | waits_for_images(bank)).count()
    whole = passing.exclude(has_lost_images(bank) | waits_for_images(bank))
    columns = ("pk", "task", "category", "difficulty", "question_id", "question__split", "question__number")
    exam = ("pk", "pseudonym", "patient_pseudonym", "prior")
    rows = list(whole.order_by("pk").values_list(*columns, *(f"question__exam__{name}" for name in exam)))
    exams = {row[7] for row in rows}
    kept = [row for row in rows if row[-1] is None or row[-1] in exams]
    left_out = {_("an image is missing or withheld"): incomplete}
    plan.left_out = +Counter(left_out | {_("its prior exam is not released"): len(rows) - len(kept)})
    if not kept:
        raise ExportRefused("nothing_passes", _("No question passes the gate with all of its images."), status=422)
    _fill(plan, kept)
    if bank.releases_sought_at:
        found = Finding.objects.open().filter(bank=bank, rule=RELEASED_TWIN)
        near = found.values_list("revision", flat=True)
        plan.near = NearReleased.of(bank.near_releases, plan.splits, near, bank.releases_sought_at)
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
        "near_duplicates_of_releases": asdict(plan.near) if plan.near else None,
        "tables": {label: {name: told(counts) for name, counts in rows.items()} for label, rows in plan.tables},
        "since": {"release": plan.before.name, **plan.n_before} if plan.before else None,
    }


def _fill(plan: ReleasePlan, rows: list[tuple[Any, ...]]) -> None:
    patients: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    of_revision, alone, known = {}, set(), patients_of(plan.wanted.bank.pk)
    imported: dict[str, dict[str, int]] = defaultdict(dict)  # of each patient: splits, and a question in each
    for pk, task, category, _difficulty, _question, split, number, _exam, pseudonym, patient, _prior in rows:
        name = known.name(patient, pseudonym)
        patients[name][task, category] += 1
        imported[name][split] = number
        of_revision[pk] = name
        alone |= set() if known.is_known(patient, pseudonym) else {pseudonym}
    settled = _known_splits(plan.wanted.bank, known)
    if plan.wanted.as_imported:
        found = _as_imported(imported, settled)
    else:
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


def _as_imported(imported: Mapping[str, Mapping[str, int]], settled: Mapping[str, Split]) -> dict[str, Split]:
    """By patient. ``imported``: the splits of each, and a question in each. Raises ExportRefused."""
    if without := [splits[""] for splits in imported.values() if "" in splits]:
        sentence = _(
            "Question %(number)d came in without a split (patients with such: %(n)d). Draw the splits instead."
        )
        raise _refused_splits(sentence, number=min(without), n=len(without))
    if torn := sorted(sorted(splits.values()) for splits in imported.values() if len(splits) > 1):
        sentence = _(
            "Questions %(numbers)s came in with different splits and are of one patient (patients in two: %(n)d). "
            "Correct the files and import them again, or draw the splits."
        )
        raise _refused_splits(sentence, numbers=", ".join(map(str, torn[0])), n=len(torn))
    found = {patient: Split(split) for patient, splits in imported.items() for split in splits}
    if moved := [patient for patient in found if settled.get(patient, found[patient]) != found[patient]]:
        sentence = _(
            "Question %(number)d came in as %(now)s, and its patient was released as %(before)s before (such patients: "
            "%(n)d). Draw the splits: who was released keeps theirs."
        )
        one = moved[0]
        facts = {"number": min(imported[one].values()), "now": found[one], "before": settled[one]}
        raise _refused_splits(sentence, **facts, n=len(moved))
    return found


def _refused_splits(sentence: str, **facts: object) -> ExportRefused:
    return ExportRefused("splits", sentence % facts, status=422, field="as_imported")


def _known_splits(bank: QuestionBank, known: Patients) -> dict[str, Split]:
    """Of patients of all releases, withdrawn ones, too: who was in the private split never leaves it."""
    rows = ReleasedQuestion.objects.filter(release__bank=bank).order_by("release", "pk")
    exam = "revision__question__exam"
    found = rows.values_list(f"{exam}__patient_pseudonym", f"{exam}__pseudonym", "split")
    return {known.name(patient, exam): Split(split) for patient, exam, split in found}


@transaction.atomic
def release(wanted: ReleaseWanted, *, actor: User | None, at: datetime) -> Release:
    """Freeze it. Raises ExportRefused."""
    QuestionBank.objects.select_for_update(of=("self",)).get(pk=wanted.bank.pk)
    plan = plan_release(wanted, actor)
    counts = {split.value: {"questions": plan.questions[split], "patients": plan.patients[split]} for split in Split}
    made = Release.objects.create(
        bank=wanted.bank,
        gate=plan.gate,
        name=wanted.name.strip(),
        shares={} if wanted.as_imported else {split.value: share for split, share in wanted.shares.items()},
        seed=wanted.seed,
        counts=counts,
        left_out={_("does not pass the gate"): plan.n_not_passing, **plan.left_out},
        released_by=actor,
        released_at=at,
    )
    rows = (ReleasedQuestion(release=made, revision_id=pk, split=split) for pk, split in sorted(plan.splits.items()))
    while chunk := list(islice(rows, AT_ONCE)):
        ReleasedQuestion.objects.bulk_create(chunk)
    made.sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents_of(made)}
    made.save(update_fields=["sums"])
    facts = {"name": made.name, "gate": str(plan.gate), "questions": len(plan.splits), "seed": wanted.seed}
    record("bank.released", actor=actor, at=at, subject=wanted.bank, facts=facts)
    return made


@transaction.atomic
def withdraw_release(made: Release, reason: str, *, actor: User, at: datetime) -> None:
    """Nobody gets its files any more; what was taken stays where it is. Refused without a reason, or twice."""
    said, locked = withdrawal_reason(reason), Release.objects.select_for_update(of=("self",)).get(pk=made.pk)
    check_handed_out(locked)
    locked.withdrawn_by, locked.withdrawn_at, locked.withdrawal_reason = actor, at, said
    locked.save(update_fields=["withdrawn_by", "withdrawn_at", "withdrawal_reason"])
    record("release.withdrawn", actor=actor, at=at, subject=locked, facts={"name": locked.name, "reason": said})
    transaction.on_commit(lambda: forget_packed(locked))


class PackingParams(TypedDict):
    bank: int
    release: int
    images: str


KIND: JobKind[PackingParams] = JobKind("pack_release", JobQueue.IMAGES)


class PackedRelease(Struct, frozen=True):
    images: ImageSize
    n_bytes: int


def ask_to_pack(made: Release, images: ImageSize, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough. Raises ExportRefused for a withdrawn release."""
    check_handed_out(made)
    params = PackingParams(bank=made.bank_id, release=made.pk, images=images.value)
    title = _("Images and files of the release “%(name)s”") % {"name": made.name}
    return job_under_way(KIND, **params) or enqueue(KIND, title, params, actor=actor, at=at)


def pack_release(progress: Progress, params: PackingParams) -> Result:
    """The handler. Memory holds one image; run twice it keeps one file."""
    made, images = Release.objects.select_related("bank", "gate").get(pk=params["release"]), ImageSize(params["images"])
    check_handed_out(made)
    path = _path(made, images)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with whole_file(path) as file:
        n_images = zip_of(made, file, images=images, watch=progress.report)
    n_bytes = path.stat().st_size
    home_files.hand_over(path)
    home_files.drop_others(path, f"{made.pk}-*.zip")
    try:
        check_handed_out(made)
    except ExportRefused:  # withdrawn while it was written, when there was no file to remove
        forget_packed(made)
        raise
    return {"page": reverse("bank-releases", args=[made.bank.slug]), "images": n_images, "bytes": n_bytes}


def packed_of(made: Release) -> PackedRelease | None:
    """What is kept of it, also where an image changed since."""
    found = next(iter(_kept(made)), None)
    return PackedRelease(ImageSize(found.key.split("-")[-2]), found.n_bytes) if found else None


def packed_file(made: Release, images: ImageSize) -> Path:
    """Where it lies here. Raises ExportRefused where none is kept, and where an image changed since it was written."""
    path = home_files.here(_path(made, images))
    if not path.is_file():
        sentence = _("There is no such file, or an image changed since it was written: have it written again.")
        raise ExportRefused("not_packed", sentence)
    return path


def forget_packed(made: Release) -> None:
    for kept in _kept(made):
        home_files.drop(_folder() / kept.key)


def _path(made: Release, images: ImageSize) -> Path:
    """Named by its images: where one is withheld, or its pixels change, it is another file."""
    digest = hashlib.sha256("".join(renditions_of(made).values_list("name", flat=True)).encode())
    return _folder() / f"{made.pk}-{images}-{digest.hexdigest()[:16]}.zip"


def _folder() -> Path:
    return Path(settings.HOME) / "releases"


def _kept(made: Release) -> list[StoredFile]:
    return home_files.children(_folder(), f"{made.pk}-*.zip")
