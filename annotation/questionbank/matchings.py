"""Columns of a foreign question file, matched to fields: offered again for a later file, kept under a name, and used
by the check of a file that waits for it. Before it, a file of our columns to fill in, in every form that is read.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import ImageState, KeySource, RenditionKind
from annotation.files.kernels.strictjson import NO_TEXT, FileRefused
from annotation.models import ColumnMatching, Job, Question, QuestionBank, Rendition, Upload, User
from annotation.models.fields import AsRead
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.archives import place_of_picture
from annotation.questionbank.kernels.column_matching import (
    COUNTS_BY,
    KEY,
    NUMBER,
    Matching,
    RowReader,
    counts_from,
    faults_of,
    guess_matching,
)
from annotation.questionbank.kernels.entries import OPTIONS, BankRefused
from annotation.questionbank.kernels.fields import LETTERS, split_options
from annotation.questionbank.kernels.foreign_rows import SHOWN_ROWS, FileColumns, columns_to_match
from annotation.questionbank.kernels.records import Batch, QuestionRecord, RecordProblem, RecordRules, read_batches
from annotation.questionbank.priors import exams_with_keys, images_at, questions_with_keys, roots_of
from annotation.questionbank.uploads import (
    FILES,
    QuestionFileParams,
    begin_check,
    first_batches,
    folder_here,
    source_of,
)

LONGEST_NAME = 200  # of a matching


class ShownPicture(NamedTuple):
    path: str
    name: str
    is_held: bool  # by the site


class FirstQuestion(NamedTuple):
    """A row as it would be read: the question with its options as (letter, text, whether it is the key), or why not.

    ``pictures``: of its images, the path and what can be shown: a file in the folder of the upload, or a preview.
    """

    question: QuestionRecord | None
    options: list[tuple[str, str, bool]]
    problems: list[RecordProblem]
    pictures: Sequence[ShownPicture] = ()


def columns_of(upload: Upload) -> FileColumns:
    """The columns of a file that waits for its matching, or whose import has not begun. Raises BankRefused."""
    if FILES.store_job(upload) is not None:
        raise BankRefused(
            "stored", _("The import of this file has begun: send it again to match its columns otherwise.")
        )
    if upload.job is not None and upload.job.is_unfinished:
        raise BankRefused("being_checked", _("The file is being checked. Wait for its end to match its columns anew."))
    found = None
    try:
        if upload.asked:  # nothing is, of a file sent to an earlier version
            with source_of(upload, upload.asked).path.open("rb") as stream:
                found = columns_to_match(stream)
    except OSError:
        raise BankRefused("no_file", _("The file is not here any more. Send it again.")) from None
    if found is None:
        raise BankRefused("own_columns", _("This file has the columns of a question file: there is nothing to match."))
    return found


def offer_matching(upload: Upload, columns: FileColumns) -> tuple[Matching, ColumnMatching | None]:
    """What to begin with: the newest kept matching of a file with these columns, then one whose columns are all here,
    and otherwise a guess by the names of the columns. Where the numbers of keys count from, the whole file says, else
    what was kept; where neither does, the form of the key is "" and a person has to say it.
    """
    offered, kept = _begin_with(columns, upload.asked["name"].rpartition(".")[0] or upload.asked["name"])
    if offered.key_form in (NUMBER, *COUNTS_BY.values()):
        said = _counted(upload, offered.columns.get(KEY, ""))
        offered = replace(offered, key_form=said or (offered.key_form if kept else ""))
    return offered, kept


def _counted(upload: Upload, column: str) -> str:
    try:
        with source_of(upload, upload.asked).path.open("rb") as stream:
            return counts_from(stream, column)
    except FileRefused:
        return ""  # the check says why


def _begin_with(columns: FileColumns, name: str) -> tuple[Matching, ColumnMatching | None]:
    found = set(columns.names)
    kept = list(ColumnMatching.objects.all())
    same = [one for one in kept if set(one.columns) == found]
    usable = [one for one in kept if found.issuperset(one.matching["columns"].values())]
    for one in (*same, *usable):
        return Matching(**one.matching), one
    return guess_matching(columns.names, columns.rows, name), None


@transaction.atomic
def rename_matching(kept: ColumnMatching, name: str, *, actor: User, at: datetime) -> None:
    """Imports that used it keep their copy under the old name. Refused: no name, a long one, that of another."""
    text = " ".join(name.replace("\x00", "").split())
    if not text or len(text) > LONGEST_NAME:
        sentence = _("Give a name, of at most %(n)s characters.") % {"n": LONGEST_NAME}
        raise BankRefused("no_name", sentence, status=422, field="name")
    locked = ColumnMatching.objects.select_for_update().get(pk=kept.pk)
    before = locked.name
    if ColumnMatching.objects.filter(name=text).exclude(pk=kept.pk).exists():
        sentence = _("Another matching is named “%s”. Give this one another name.") % text
        raise BankRefused("name_taken", sentence, status=422, field="name")
    if text != before:
        locked.name, locked.matching = text, locked.matching | {"name": text}
        locked.save(update_fields=["name", "matching"])
        record("matching.renamed", actor=actor, at=at, subject=locked, facts={"name": text, "before": before})


@transaction.atomic
def delete_matching(kept: ColumnMatching, *, actor: User, at: datetime) -> None:
    """It is offered no longer; imports that used it keep their copy."""
    record("matching.deleted", actor=actor, at=at, subject=kept, facts={"name": kept.name})
    kept.delete()


def named_matching(name: str) -> Matching:
    """Raises BankRefused, with the names that there are."""
    kept = ColumnMatching.objects.filter(name=name).first()
    if kept is None:
        names = ", ".join(ColumnMatching.objects.order_by(AsRead("name")).values_list("name", flat=True)) or _("none")
        sentence = _("There is no matching of columns named “%(name)s”. Kept so far: %(names)s.")
        raise BankRefused("no_matching", sentence % {"name": name, "names": names}, status=422)
    return Matching(**kept.matching)


def first_questions(
    upload: Upload, columns: FileColumns, matching: Matching, *, person: User, at: datetime
) -> list[FirstQuestion]:
    """The first rows as they would be read; none while the matching has a fault.

    Whoever sees these rows sees keys: noted of the questions that the bank has already.
    """
    reader = RowReader(matching, columns.names)
    _note_keys(upload, [reader.read(row).key for row in columns.rows], person=person, at=at)
    if faults_of(matching):
        return []
    source = source_of(upload, upload.asked)
    with source.path.open("rb") as stream:
        batches = read_batches(stream, RecordRules(source.folder, matching=matching), size=1)
        return [_first_of(batch) for batch in islice(batches, SHOWN_ROWS) if batch.n_read]


def previewed(upload: Upload, params: QuestionFileParams, *, person: User, at: datetime) -> list[FirstQuestion]:
    """The first questions of a checked file, whole, for who sent it. Whoever sees these sees keys, as above."""
    found = [_first_of(batch) for batch in first_batches(upload, params)]
    questions = [one.question for one in found if one.question]
    _note_keys(upload, [one.key for one in questions], person=person, at=at)
    paths = [image.path for question in questions for image in question.exam.images]
    folder = folder_here(upload, params)
    kept = {path: place_of_picture(folder, path) for path in paths}
    pictures = {path: ShownPicture(path, place.stem, is_held=False) for path, place in kept.items() if place.exists()}
    held = _held_previews(upload, questions)
    pictures |= {path: ShownPicture(path, name, is_held=True) for path, name in held.items()}
    return [one._replace(pictures=_of_question(pictures, one.question)) for one in found]


def _of_question(pictures: dict[str, ShownPicture], question: QuestionRecord | None) -> list[ShownPicture]:
    return [pictures[image.path] for image in question.exam.images if image.path in pictures] if question else []


def _held_previews(upload: Upload, questions: Sequence[QuestionRecord]) -> dict[str, str]:
    """By path: the preview of each image of these questions that the bank holds and shows."""
    bank = QuestionBank.objects.filter(name=upload.asked["bank"]).first()
    if bank is None:
        return {}
    exams = exams_with_keys(bank.pk, {one.exam.key for one in questions})
    named = {
        (exams[one.exam.key], image.path) for one in questions for image in one.exam.images if one.exam.key in exams
    }
    images = images_at(named, roots_of(bank.pk, f"/uploaded/{bank.name}"))
    shown = Rendition.objects.filter(image__state=ImageState.AVAILABLE, kind=RenditionKind.PREVIEW)
    previews = dict(shown.filter(image__public_id__in=images.values()).values_list("image__public_id", "name"))
    return {path: previews[image] for (_exam, path), image in images.items() if image in previews}


def _first_of(batch: Batch) -> FirstQuestion:
    question = next(iter(batch.questions), None)
    options = zip(LETTERS, question.options, strict=True) if question else ()
    shown = [(letter, text, question is not None and letter == question.answer) for letter, text in options]
    return FirstQuestion(question, shown, batch.problems)


def _note_keys(upload: Upload, ids: Sequence[str], *, person: User, at: datetime) -> None:
    bank = QuestionBank.objects.filter(name=upload.asked["bank"]).first()
    if bank is not None:
        known = questions_with_keys(bank.pk, [one for one in ids if not NO_TEXT.search(one)])
        seen = Question.objects.filter(pk__in=known.values())
        note_seen_keys(person, seen, source=KeySource.QUESTION_FILE, subject=upload, at=at)


@transaction.atomic
def check_matched(upload: Upload, columns: FileColumns, matching: Matching, *, actor: User, at: datetime) -> Job:
    """Keep the matching and start the check of the file by it. Raises BankRefused for a matching with a fault, and
    for a name that a matching of other columns has.
    """
    if faults := faults_of(matching):
        raise BankRefused("matching", " ".join(fault.message for fault in faults), status=422)
    upload = Upload.objects.select_for_update(of=("self",)).select_related("job").get(pk=upload.pk)
    columns_of(upload)  # its state, now that nobody else changes it
    _keep(matching, columns, actor=actor, at=at)
    upload.job = begin_check(upload.asked | {"matching": matching.as_json()}, actor=actor, at=at)
    upload.save(update_fields=["job"])
    return upload.job


def _keep(matching: Matching, columns: FileColumns, *, actor: User, at: datetime) -> None:
    values = {"columns": columns.names, "matching": matching.as_json(), "changed_at": at}
    kept, is_new = ColumnMatching.objects.select_for_update().get_or_create(
        name=matching.name, defaults=values | {"created_by": actor, "created_at": at}
    )
    if set(kept.columns) != set(columns.names) and not set(columns.names).issuperset(kept.matching["columns"].values()):
        sentence = _("A matching of other columns is named “%s”. Give this one another name.") % matching.name
        raise BankRefused("name_taken", sentence, status=422, field="name")
    if is_new or kept.matching != values["matching"]:
        ColumnMatching.objects.filter(pk=kept.pk).update(**values)
        facts = {"name": matching.name, "columns": len(columns.names), "fields": sorted(matching.columns)}
        record("matching.kept", actor=actor, at=at, subject=kept, facts=facts)


TEMPLATE_FORMS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/x-ndjson; charset=utf-8",
    "json": "application/json",
}


class TemplateColumn(NamedTuple):
    """One column of a table; in JSON ``option_a`` to ``option_d`` are the list ``options``, and ``id`` is the name."""

    name: str
    is_needed: bool
    meaning: str


COLUMNS = (
    TemplateColumn("id", True, "Your own id of the question; each once in the file. Later files update it by this id."),
    TemplateColumn("study_id", True, "The exam. Questions with the same value share their images and their report."),
    TemplateColumn("question", True, "The stem."),
    *(TemplateColumn(name, True, f"Option {name[-1].upper()}, without its letter.") for name in OPTIONS),
    TemplateColumn("correct_answer", True, "The key: A, B, C or D."),
    TemplateColumn("correct_answer_explanation", True, "Why the key is right; 20 characters or more."),
    TemplateColumn(
        "task_name",
        True,
        "Presence Assessment, Negation Assessment, Differential Diagnosis, Location and Distribution Assessment, or "
        "Geometric Information Assessment.",
    ),
    TemplateColumn("category", True, "What the question is about, such as Pleural Effusion."),
    TemplateColumn("ImagePath", True, "Path of each image, as it is uploaded: several with | between them."),
    TemplateColumn("ImageViewPosition", False, "PA, AP, LL, RL or LATERAL for each image, in the same order."),
    TemplateColumn(
        "prior_study", False, "The study_id of an earlier exam in the bank, shown beside this one as prior."
    ),
    TemplateColumn("difficulty", False, "easy, medium or hard."),
    TemplateColumn("subcategory", False, "A finer category."),
    TemplateColumn("class", False, "The class of the taxonomy."),
    TemplateColumn("PatientID", False, "Groups the exams of a patient. Kept apart, shown to nobody."),
    TemplateColumn("PatientAge", False, "Years, such as 58 or 058Y; 90 and older become 90."),
    TemplateColumn("PatientSex", False, "F, M or O."),
    TemplateColumn("Indication", False, "The indication of the report."),
    TemplateColumn("Comparison", False, "The comparison of the report."),
    TemplateColumn("Findings", False, "The findings of the report."),
    TemplateColumn("Impression", False, "The impression of the report."),
)
_EXAM = {
    "study_id": "exam-001",
    "ImagePath": ["exam-001/pa.png", "exam-001/lateral.png"],
    "ImageViewPosition": ["PA", "LATERAL"],
    "PatientID": "patient-001",
    "PatientAge": "58",
    "PatientSex": "F",
    "Indication": "Cough.",
    "Findings": "Blunting of the left costophrenic angle. The heart is of normal size.",
    "Impression": "Small left pleural effusion.",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "q-001": {
        **_EXAM,
        "question": "Which finding is present on these radiographs?",
        "options": ["A. Left pleural effusion", "B. Pneumothorax", "C. Cardiomegaly", "D. Rib fracture"],
        "correct_answer": "A",
        "correct_answer_explanation": "The left costophrenic angle is blunted on both views.",
        "task_name": "Presence Assessment",
        "category": "Pleural Effusion",
        "difficulty": "easy",
    },
    "q-002": {
        **_EXAM,
        "question": "Which of these is not seen on these radiographs?",
        "options": ["A. A blunted costophrenic angle", "B. A normal heart", "C. Free air", "D. Both hemidiaphragms"],
        "correct_answer": "C",
        "correct_answer_explanation": "No lucency lies below either hemidiaphragm.",
        "task_name": "Negation Assessment",
        "category": "Pneumoperitoneum",
        "difficulty": "medium",
    },
}


def template_file(form: str) -> bytes:
    """The example as a file of one of TEMPLATE_FORMS."""
    if form == "json":
        return json.dumps(EXAMPLES, indent=1, ensure_ascii=False).encode()
    if form == "jsonl":
        lines = [json.dumps({"id": key, **record}, ensure_ascii=False) for key, record in EXAMPLES.items()]
        return ("\n".join(lines) + "\n").encode()
    rows = [[column.name for column in COLUMNS], *(_cells(key, record) for key, record in EXAMPLES.items())]
    return _xlsx(rows) if form == "xlsx" else _csv(rows)


def _cells(key: str, record: dict[str, Any]) -> list[str]:
    options, _form = split_options(record["options"])
    cells = {**record, "id": key, **dict(zip(OPTIONS, options, strict=True))}
    values = [cells.get(column.name, "") for column in COLUMNS]
    return ["|".join(value) if isinstance(value, list) else value for value in values]


def _csv(rows: list[list[str]]) -> bytes:
    """With a byte order mark, by which spreadsheets know that it is UTF-8."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def _xlsx(rows: list[list[str]]) -> bytes:
    """Questions on the first sheet, which is the one that is read; what the columns mean on the second."""
    from openpyxl import Workbook  # here, since every start of the program would wait for it
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    book = Workbook()
    questions = book.worksheets[0]
    questions.title = "questions"
    for row in rows:
        questions.append(row)
    columns = book.create_sheet("columns")
    columns.append(["column", "needed", "meaning"])
    for column in COLUMNS:
        columns.append([column.name, "yes" if column.is_needed else "no", column.meaning])
    for sheet in book.worksheets:
        sheet.freeze_panes = "A2"
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        for number, cells in enumerate(sheet.columns, start=1):
            widest = max(len(str(cell.value or "")) for cell in cells)
            sheet.column_dimensions[get_column_letter(number)].width = min(max(widest + 2, 12), 48)
            for cell in cells[1:]:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
