"""A bank as a folder of files: its questions in the form in which they came or as a table, what people changed in
them, and a data card. The folder appears whole or not at all, and the same bank gives the same bytes.

For coordinators of the site: the files hold keys, ids of the source and reports.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ImageState, KeySource, QuestionState, RenditionKind, Word
from annotation.enums import _ as marked
from annotation.exports.bank_contents import (
    BankContents,
    BankQuestion,
    QuestionsWritten,
    check_form,
    png_of,
    write_questions,
)
from annotation.exports.bank_contents import BankForm as BankForm
from annotation.exports.kernels.data_card import COLUMNS as CHANGE_COLUMNS
from annotation.exports.kernels.data_card import CardFacts, ImportedFile, RecordChange, card_of, changes_of, markdown_of
from annotation.ingest.storage import WORKPLACE_OF_EXPORTS as WORKPLACE
from annotation.models import Edit, Image, QuestionBank, Rendition, Revision, Settlement, SourceIdentifier, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.source_names import check_may_see_names
from annotation.tables.writing import Column, ExportRefused, Format, Kind, write_table


class Wordings(Word):
    """Which wording of a question is written."""

    LATEST = "latest", marked("newest, with what people changed")
    AS_IMPORTED = "as-imported", marked("as imported")


# Unless they are asked for, questions that reviews or people found wanting stay back.
STAYING_BACK = (QuestionState.NEEDS_REVISION, QuestionState.REJECTED, QuestionState.DISPUTED, QuestionState.WITHDRAWN)
GIVEN_OUT = tuple(state for state in QuestionState if state not in STAYING_BACK)


class BankChoice(Struct, frozen=True):
    """What to write: questions in these states."""

    form: BankForm
    states: tuple[QuestionState, ...] = GIVEN_OUT
    wordings: Wordings = Wordings.LATEST
    images: str = ""  # name of a folder in the export, or the path of another one
    only_valid: bool = False  # what passes the gate of the bank


class BankExported(Struct, frozen=True):
    n_questions: int
    n_changed: int
    sha256: str  # of the file of questions
    images: dict[str, int] = field(default_factory=dict)
    n_stayed_back: int = 0


def export_bank(
    bank: QuestionBank, choice: BankChoice, folder: Path, *, actor: User | None, at: datetime
) -> BankExported:
    """Write the folder, and note who took it; ``actor`` is None on the command line.

    Raises ExportRefused where the form is off here, a folder holds something already, or the person may not see it.
    """
    if actor is not None:
        check_may_see_names(actor, Revision.objects.filter(bank=bank))
    check_form(choice.form)
    if choice.images and not _is_inside(choice.images):
        check_empty(Path(choice.images))
    is_latest = choice.wordings == Wordings.LATEST
    contents = BankContents(bank, choice.states, latest=is_latest, only_valid=choice.only_valid)
    with whole_folder(folder) as part:
        facts, written = _write_files(contents, choice, part)
        if choice.images:
            facts.written_images = _write_images(contents, facts, choice.images, part)
        _write_lines(part / "card.md", card_of(facts))
        with transaction.atomic():
            counts = facts.written_images, facts.stayed_back.total()
            done = BankExported(facts.n_questions, facts.n_changed, written.sha256, *counts)
            _note(contents, choice, done, actor=actor, at=at)
    return done


def export_bank_zip(
    bank: QuestionBank, choice: BankChoice, to: IO[bytes], *, actor: User | None, at: datetime
) -> BankExported:
    """The same folder as one ZIP file, written to ``to`` (seekable, left at its start). Raises ExportRefused."""
    with tempfile.TemporaryDirectory(prefix=WORKPLACE, dir=settings.TEMP_ROOT) as place:
        folder = Path(place) / bank.slug
        done = export_bank(bank, choice, folder, actor=actor, at=at)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(one for one in folder.rglob("*") if one.is_file()):
                name = zipfile.ZipInfo(path.relative_to(place).as_posix())  # of 1980: the same bytes every time
                name.compress_type, name.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    to.seek(0)
    return done


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears under its name only when all of it is written. Raises ExportRefused."""
    check_empty(folder)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        yield part
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_empty(folder: Path) -> None:
    """Raises ExportRefused for a folder that holds something, and for one that cannot be made."""
    if folder.is_dir() and any(folder.iterdir()):
        raise ExportRefused("not_empty", _("%s is not empty: name a new folder, or an empty one.") % folder, status=422)
    if folder.exists() and not folder.is_dir():
        raise ExportRefused("no_folder", _("%s is a file: name a new folder, or an empty one.") % folder, status=422)
    if not folder.parent.is_dir():
        sentence = _("%s is in a folder that does not exist: make it first, or name another one.") % folder
        raise ExportRefused("no_parent", sentence, status=422)


def _write_files(contents: BankContents, choice: BankChoice, part: Path) -> tuple[CardFacts, QuestionsWritten]:
    facts, changes = _facts_of_bank(contents, choice), list[RecordChange]()

    def counted() -> Iterator[BankQuestion]:
        for one in contents.questions():
            _count(facts, one)
            changes.extend(changes_of(one.stored.key, one.stored.imported, [*one.steps]))
            yield one

    written = write_questions(contents, counted(), choice.form, part)
    facts.n_not_given_back, facts.left_out = written.n_not_given_back, written.left_out
    facts.stayed_back = Counter(contents.by_state()) - facts.states
    facts.n_changed = len({one.id for one in changes})
    _count_images(facts, contents.bank)
    _count_outcomes(facts, contents)
    columns = [Column(name, Kind.TEXT, "") for name in CHANGE_COLUMNS]
    with (part / "changes.csv").open("wb") as file:
        write_table(file, columns, changes, Format.CSV, is_marked=True)
    _write_lines(part / "changes.md", markdown_of(contents.bank.name, changes))
    return facts, written


def _facts_of_bank(contents: BankContents, choice: BankChoice) -> CardFacts:
    bank = contents.bank
    edited = Edit.objects.filter(revision__bank=bank).aggregate(last=Max("made_at"))["last"]
    by_state = contents.by_state()
    times = [time for time in (edited, *(one.finished_at for one in contents.imports)) if time is not None]
    return CardFacts(
        bank.name,
        bank.simulated,
        choice.form.label,
        choice.wordings.label,
        chosen_states=choice.states,
        n_in_bank=sum(by_state.values()),
        gate=f"{contents.gate}: {', '.join(contents.gate.parts)}" if contents.gate else "",
        imports=[
            ImportedFile(
                *(one.file_name, one.file_sha256, _day(one.finished_at)),
                *(one.result.get(name, 0) for name in ("created", "updated", "unchanged", "rejected")),
            )
            for one in contents.imports
        ],
        newest=_day(max(times, default=None)),
    )


def _day(time: datetime | None) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d}" if time else ""


def _count(facts: CardFacts, one: BankQuestion) -> None:
    facts.states[str(one.question.state)] += 1
    facts.tasks[one.stored.written.task] += 1
    facts.difficulties[one.stored.written.difficulty] += 1
    facts.exams.add(one.question.exam_id)


def _count_images(facts: CardFacts, bank: QuestionBank) -> None:
    rows = Image.objects.filter(exam__bank=bank).order_by()
    values = rows.values_list("exam_id", "state", "simulated", "attribution", "licence")
    for exam_id, state, simulated, attribution, licence in values.iterator(chunk_size=10_000):
        if exam_id in facts.exams:
            facts.images[str(state)] += 1
            facts.n_simulated_images += simulated
            if attribution or licence:
                facts.credits[attribution, licence] += 1


def _count_outcomes(facts: CardFacts, contents: BankContents) -> None:
    """Of the whole bank: by what stays back, nothing would seem to have been rejected."""
    rows = Settlement.objects.filter(revision__bank=contents.bank).exclude(outcome=QuestionState.DISPUTED)
    decided = rows.order_by("pk").values_list("revision__question_id", "outcome", "rule")
    newest = {question_id: (str(outcome), rule) for question_id, outcome, rule in decided}
    facts.outcomes = Counter(outcome for outcome, _rule in newest.values())
    facts.rules = sorted({rule for _outcome, rule in newest.values()})


def _is_inside(named: str) -> bool:
    return Path(named).name == named


def _write_images(contents: BankContents, facts: CardFacts, named: str, part: Path) -> dict[str, int]:
    """Into a folder of the export, or whole into another one."""
    if _is_inside(named):
        (part / named).mkdir()
        return write_images(contents.bank, facts.exams, part / named)
    with whole_folder(Path(named)) as elsewhere:
        return write_images(contents.bank, facts.exams, elsewhere)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _note(contents: BankContents, choice: BankChoice, done: BankExported, *, actor: User | None, at: datetime) -> None:
    if actor is not None:
        note_seen_keys(actor, contents.chosen(), source=KeySource.BANK_EXPORT, subject=contents.bank, at=at)
    facts: dict[str, Any] = {"form": choice.form.value, "states": [*choice.states], "revisions": choice.wordings.value}
    facts |= {"questions": done.n_questions, "changed": done.n_changed, "sha256": done.sha256}
    facts |= {"gate": str(contents.gate)} if contents.gate else {}
    facts |= {"images": done.images.get("written", 0)} if choice.images else {}
    record("bank.exported", actor=actor, at=at, subject=contents.bank, facts=facts)


# --- images -------------------------------------------------------------------------------------------
IMAGES_AT_ONCE = 500


def write_images(bank: QuestionBank, exams: Collection[int], folder: Path) -> dict[str, int]:
    """Write every available image that is named by a path; how many were written, and how many not, by the reason."""
    counts = dict.fromkeys(("written", "in quarantine", "missing or removed", "without a path"), 0)
    paths = _paths_of(bank, exams)
    rows = Image.objects.filter(exam__bank=bank).order_by("pk").values_list("pk", "exam_id", "state")
    available: list[int] = []
    for pk, exam_id, state in rows.iterator(chunk_size=10_000):
        if exam_id not in exams:
            continue
        if state in (ImageState.QUARANTINED, ImageState.CHECKING):
            counts["in quarantine"] += 1
        elif state != ImageState.AVAILABLE:
            counts["missing or removed"] += 1
        elif pk not in paths:
            counts["without a path"] += 1
        else:
            available.append(pk)
    for start in range(0, len(available), IMAGES_AT_ONCE):
        some = available[start : start + IMAGES_AT_ONCE]
        renditions = Rendition.objects.filter(image__in=some, kind=RenditionKind.FULL).select_related("image")
        for rendition in renditions.order_by("image"):
            path = folder / paths[rendition.image_id]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png_of(rendition))
            counts["written"] += 1
    return counts


def _paths_of(bank: QuestionBank, exams: Collection[int]) -> dict[int, PurePosixPath]:
    """The first path by which each image was named."""
    rows = SourceIdentifier.objects.filter(bank=bank, kind=IdentifierKind.IMAGE_PATH).order_by("pk")
    found: dict[int, PurePosixPath] = {}
    for image_id, exam_id, value in rows.values_list("image_id", "exam_id", "value").iterator(chunk_size=10_000):
        if image_id is not None and exam_id in exams:
            found.setdefault(image_id, _inside(value))
    return found


def _inside(value: str) -> PurePosixPath:
    """Raises ExportRefused for a path that leaves the folder; none is stored so, and none is written so."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise ExportRefused("path_outside", f"The path of an image leaves the folder: {value[:80]!r}.", status=422)
    return path
