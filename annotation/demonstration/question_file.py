"""The question file of the demonstration, in the ReXVQA form; some questions are made faulty on purpose, so that the
finished round has something to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annotation.demonstration.findings import absent_beside, report
from annotation.demonstration.questions import SEED, DemonstrationQuestion, questions_of
from annotation.demonstration.simulated_exams import EXAMS, VIEWS, DemonstrationExam
from annotation.enums import Flag

FAULTS: tuple[tuple[Flag, int], ...] = (
    (Flag.SEVERAL_VALID, 13),
    (Flag.NEEDS_PRIOR, 8),
    (Flag.UNSOUND, 6),
    (Flag.HALLUCINATED, 4),
)
"""How many questions of 120 get which fault: the counts of the expert review in the ReXVQA paper."""


def all_questions(exams: Sequence[DemonstrationExam] = EXAMS) -> list[DemonstrationQuestion]:
    """Every question in order, the planned faults built in."""
    return with_faults([question for exam in exams for question in questions_of(exam)])


def with_faults(sound: list[DemonstrationQuestion]) -> list[DemonstrationQuestion]:
    """The planned faults, put on questions chosen by chance among those that can carry them."""
    rng = np.random.default_rng((SEED, 999))
    questions = list(sound)
    order = [int(place) for place in rng.permutation(len(questions))]
    for fault, of_120 in FAULTS:
        wanted = round(of_120 * len(questions) / 120)
        for place in order:
            if wanted == 0:
                break
            faulty = _spoiled(questions[place], fault) if questions[place].fault is None else None
            if faulty is not None:
                questions[place] = faulty
                wanted -= 1
    return questions


def _spoiled(question: DemonstrationQuestion, fault: Flag) -> DemonstrationQuestion | None:
    """The question with that fault, or None where it would not be one."""
    if fault == Flag.SEVERAL_VALID:
        return _with_second_answer(question)
    if fault == Flag.NEEDS_PRIOR and question.task.startswith(("Presence", "Negation")):
        stem = f"Compared with the previous examination: {question.stem[0].lower()}{question.stem[1:]}"
        return replace(question, fault=fault, stem=stem)
    if fault == Flag.UNSOUND and question.task.startswith("Differential"):
        return replace(question, fault=fault, stem="Which treatment should be started on the basis of this radiograph?")
    if fault == Flag.HALLUCINATED and question.task.startswith("Presence"):
        claim = "The patient also had a fever of 39.4 degrees and a white cell count of 18."
        return replace(question, fault=fault, explanation=f"{question.explanation} {claim}")
    return None


def _with_second_answer(question: DemonstrationQuestion) -> DemonstrationQuestion | None:
    """One wrong option replaced by another right one."""
    spec, options = question.exam.spec, list(question.options)
    place = next(index for index in range(4) if index != question.answer)
    if question.stem.startswith("Which of the following is seen"):
        options[place] = "Both clavicles" if "Both clavicles" not in options else "The aortic knob"
    elif question.stem.startswith("Which of the following is absent"):
        spare = [finding.name for finding in absent_beside(spec) if finding.name not in options]
        options[place] = spare[0]
    else:
        return None
    return replace(question, fault=Flag.SEVERAL_VALID, options=tuple(options), also_valid=(place,))


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
