"""What a question file holds, and an example of it to fill in, in every form that is read."""

from __future__ import annotations

import csv
import io
import json
from typing import Any, NamedTuple

from annotation.questionbank.kernels.entries import OPTIONS
from annotation.questionbank.kernels.fields import split_options

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
