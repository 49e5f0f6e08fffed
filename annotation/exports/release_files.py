"""A release as files: its records by split, what people changed, its card, and its images.

They are written from what is stored whenever they are asked for, and are the same bytes. Names are our pseudonyms:
nothing of the source but ages and sex leaves with a release. What is held back of the private split is written apart.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImageState, KeySource, RenditionKind, Split, Task, ViewPosition, Word
from annotation.enums import _ as marked
from annotation.exports.bank_contents import png_of
from annotation.exports.kernels.data_card import one_line
from annotation.exports.kernels.question_records import TASK_NAMES
from annotation.models import AnswerKey, Edit, Image, Question, Release, ReleasedQuestion, Rendition, Revision, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.kernels.fields import join_options
from annotation.questionbank.source_names import check_may_see_names
from annotation.tables.writing import ExportRefused

AT_ONCE = 500
PRIVATE_KEYS = "private_keys.json.age"
IMAGES = "images/"
Watch = Callable[[int, int], object]


class ImageSize(Word):
    FULL = "full", marked("as stored")
    QUARTER = "quarter", marked("a quarter of width and height, 8 bit")


def check_handed_out(made: Release) -> None:
    """Raises ExportRefused for a release that is withdrawn, also since it was read."""
    made.refresh_from_db(fields=["withdrawn_at", "withdrawal_reason"])
    if made.withdrawn_at:
        sentence = _("“%(name)s” was withdrawn on %(day)s (%(reason)s): nobody gets its files any more.")
        facts = {"name": made.name, "day": f"{made.withdrawn_at:%Y-%m-%d}", "reason": made.withdrawal_reason}
        raise ExportRefused("withdrawn", sentence % facts)


def note_taken(made: Release, *, actor: User | None, at: datetime) -> None:
    """Whoever takes the files has seen the keys. Raises ExportRefused."""
    check_handed_out(made)
    if actor is not None:
        check_may_see_names(actor, Revision.objects.filter(bank=made.bank))
        note_seen_keys(actor, _questions_of(made), source=KeySource.BANK_EXPORT, subject=made.bank, at=at)
    with transaction.atomic():
        record("release.taken", actor=actor, at=at, subject=made, facts={"name": made.name})


def _questions_of(made: Release) -> QuerySet[Question]:
    return Question.objects.filter(revisions__in=ReleasedQuestion.objects.filter(release=made).values("revision"))


def files_of(made: Release) -> Iterator[tuple[str, bytes]]:
    """Name and content of each but images, as they were released, and their hashes.

    Raises ExportRefused (``changed``) where one is no longer what was released.
    """
    found = list(contents_of(made))
    if changed := [name for name, content in found if hashlib.sha256(content).hexdigest() != made.sums.get(name)]:
        sentence = _(
            "Since then an image was withheld, or its view or credits changed: %(files)s would differ. Release anew."
        )
        raise ExportRefused("changed", sentence % {"files": ", ".join(changed)})
    yield from found
    yield "SHA256SUMS", "".join(f"{sha256}  {name}\n" for name, sha256 in made.sums.items()).encode()


def recipient_of(public_key: str) -> Any:
    """Whoever holds the identity of this key can read what is encrypted for it. Raises ExportRefused."""
    from pyrage import RecipientError, x25519  # not at every start

    try:
        return x25519.Recipient.from_str(public_key.strip())
    except RecipientError:
        sentence = _(
            "The answers of the private split leave this site encrypted alone: give a public key of age, which begins "
            "with age1 and is made by age-keygen. Without one they stay here, for the leaderboard."
        )
        raise ExportRefused("public_key", sentence, status=422, field="public_key") from None


def private_keys(made: Release, public_key: str) -> bytes:
    """What is held back of each question of the private split, and is in none of its files: key, explanation, report,
    and the category, by which many a key can be guessed. JSON, encrypted by age. Raises ExportRefused.
    """
    from pyrage import encrypt

    recipient, records = recipient_of(public_key), _records(made, Split.PRIVATE)
    held = _as_json({name: {own: one[own] for own in HELD_BACK if own in one} for name, one in records})
    return bytes(encrypt(held, [recipient]))


def _rows(made: Release, split: Split) -> QuerySet[ReleasedQuestion]:
    return ReleasedQuestion.objects.filter(release=made, split=split).order_by("pk")


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def contents_of(made: Release) -> Iterator[tuple[str, bytes]]:
    """Records by split, changes and the card, as they would be now."""
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
    return f"{IMAGES}{exam}/{image.public_id}.png"


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
    yield f"- bank: {one_line(made.bank.name)}; released {made.released_at:%Y-%m-%d} (UTC)"
    yield f"- splits: {f'drawn, seed {made.seed}' if made.shares else 'as the questions were imported'}"
    yield f"- gate: {one_line(str(made.gate))}, which asks for {', '.join(made.gate.parts)}"
    yield from (f"- left out: {n:,} ({one_line(why)})" for why, n in sorted(made.left_out.items()) if n)
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


def renditions_of(made: Release) -> QuerySet[Rendition]:
    """At full depth, of which the images of a release are written."""
    found = Rendition.objects.filter(image__in=_images_of(made), kind=RenditionKind.FULL)
    return found.select_related("image__exam").order_by("pk")


def _pictures(made: Release, size: str, watch: Watch | None) -> Iterator[tuple[str, bytes]]:
    """Name and content of each image, one after the other."""
    found = renditions_of(made)
    total, is_quarter = found.count(), size == ImageSize.QUARTER and not made.bank.holds_quarters
    for done, one in enumerate(found.iterator(chunk_size=AT_ONCE), start=1):
        yield path_of(one.image.exam.pseudonym, one.image), png_of(one, is_quarter=is_quarter)
        if watch:
            watch(done, total)


def write_release(
    made: Release,
    folder: Path,
    *,
    images: str = "",
    keys: Path | None = None,
    public_key: str = "",
    watch: Watch | None = None,
) -> int:
    """Into a folder that is new or empty; with ``images``, an ImageSize, also these. How many images it wrote.

    ``keys``: a file outside of the folder for the answers of the private split, encrypted for the ``public_key``.
    Raises ExportRefused.
    """
    from annotation.exports.bank_export import whole_folder

    n_images = 0
    with whole_folder(folder) as part:
        pictures = _pictures(made, images, watch) if images else ()
        for name, content in chain(files_of(made), pictures):
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
            n_images += name.startswith(IMAGES)
    if keys:
        keys.write_bytes(private_keys(made, public_key))
    return n_images


def zip_of(made: Release, to: IO[bytes], *, images: str = "", watch: Watch | None = None) -> int:
    """The same as one ZIP, the same bytes every time; left at its start. How many images. Raises ExportRefused."""
    n_images = 0
    with zipfile.ZipFile(to, "w") as archive:
        for name, content in files_of(made):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        for name, content in _pictures(made, images, watch) if images else ():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_STORED)  # PNG is compressed
            n_images += 1
    to.seek(0)
    return n_images
