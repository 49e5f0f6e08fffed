"""Records and question files for the tests of the bank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from annotation.questionbank.importing import ImportResult, import_questions, locate

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_record(number: int = 1, exam: int = 1, **changes: Any) -> dict[str, Any]:
    """One good record; a change to ``...`` takes the field out."""
    record: dict[str, Any] = {
        "study_id": f"study-{exam}",
        "task_name": "Presence Assessment",
        "question": f"Is there a pleural effusion, number {number}?",
        "options": ["A. Yes, on the left", "B. No", "C. Yes, on the right", "D. On both sides"],
        "correct_answer": "B",
        "correct_answer_explanation": "Both costophrenic angles are sharp on both views.",
        "category": "Pleural Effusion",
        "PatientID": f"patient-{exam}",
        "AccessionNumber": f"accession-{exam}",
        "StudyInstanceUid": f"1.2.{exam}",
        "PatientSex": "F",
        "PatientAge": "058Y",
        "Findings": "No effusion.",
        "Impression": None,
        "ImagePath": [f"{exam}/pa.png", f"{exam}/lateral.png"],
        "ImageViewPosition": ["PA", "LATERAL"],
    }
    record.update(changes)
    return {name: value for name, value in record.items() if value is not ...}


def write_file(folder: Path, records: Mapping[str, Any], name: str = "questions.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def run_import(path: Path, bank: str = "Bank", **options: Any) -> ImportResult:
    found = locate(path, difficulties=options.pop("difficulties", None), images_folder=options.pop("root", None))
    source = options.pop("source", found)
    options.setdefault("clock", lambda: NOON)
    return import_questions(source, bank_name=bank, actor=options.pop("actor", None), **options)
