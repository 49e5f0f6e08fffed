from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import QuestionBank
from tests.annotation.questionbank.files import make_record, run_import, write_file

TWICE = "Which of the tubes and lines on this frontal radiograph is not placed as it should be?"


def records() -> dict[str, dict[str, object]]:
    """Five questions: a sound one, one with an identifier, two of the same wording, one with the longest key."""
    long_key = ["A. A left pleural effusion with blunted angle", "B. Rib fracture", "C. Cardiomegaly", "D. Lung mass"]
    kinds = ["A. Endotracheal tube", "B. Chest drain", "C. Feeding tube", "D. Central venous catheter"]
    return {
        "q1": make_record(1, options=["A. Left side", "B. Neither side", "C. Right side", "D. Both sides"]),
        "q2": make_record(2, exam=2, correct_answer_explanation="The angle of MRN-77410093 is sharp on both views."),
        "q3": make_record(3, exam=3, question=TWICE, options=kinds),
        "q4": make_record(4, exam=4, question=TWICE, options=kinds),
        "q5": make_record(5, exam=5, options=long_key, correct_answer="A"),
    }


@pytest.fixture
def bank(db: None, tmp_path: Path) -> QuestionBank:
    run_import(write_file(tmp_path, records()))
    return QuestionBank.objects.get()
