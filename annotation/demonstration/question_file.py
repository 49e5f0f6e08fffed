"""The question file of the demonstration, in the ReXVQA form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.demonstration.findings import report
from annotation.demonstration.questions import DemonstrationQuestion
from annotation.demonstration.simulated_exams import VIEWS

LETTERS = "ABCD"


def records_of(questions: Sequence[DemonstrationQuestion]) -> dict[str, dict[str, Any]]:
    """The questions in the ReXVQA form: question id to record."""
    return {question.key: _record(question) for question in questions}


def _record(question: DemonstrationQuestion) -> dict[str, Any]:
    exam = question.exam
    findings, impression = report(exam.spec)
    return {
        "study_id": question.key.rsplit("_", 1)[0],
        "task_name": question.task,
        "question": question.stem,
        "options": [f"{letter}. {text}" for letter, text in zip(LETTERS, question.options, strict=True)],
        "correct_answer": LETTERS[question.answer],
        "correct_answer_explanation": question.explanation,
        "category": question.category,
        "subcategory": question.subcategory,
        "class": "Clinical Assessment",
        "difficulty": question.difficulty,
        "PatientID": exam.patient_number,
        "AccessionNumber": exam.accession_number,
        "StudyInstanceUid": exam.study_uid,
        "PatientSex": exam.spec.sex,
        "PatientAge": f"{exam.spec.age:03d}Y",
        "StudyDate": "20260101",
        "StudyDescription": "SIMULATED CHEST 2 VIEWS",
        "Manufacturer": "Simulated",
        "Indication": exam.indication,
        "Comparison": None,
        "Findings": findings,
        "Impression": impression,
        "ImagePath": [exam.path_of(view) for view in VIEWS],
        "ImageViewPosition": list(VIEWS),
        "ImageModality": [exam.modality] * len(VIEWS),
        "ImageBodyPart": ["CHEST"] * len(VIEWS),
    }
