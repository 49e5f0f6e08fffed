"""Files with columns of their own: a department's sheet, and rows in the shape of VQA-RAD and SLAKE."""

from __future__ import annotations

import json
from typing import Any

from annotation.questionbank.kernels.column_matching import TEXT, Matching

SHEET = b"""\
no.,study,Stem,Choices,answer,rationale,type,files,age,level,Room,StudyDate
d-1,7,Which finding is present?,Pneumothorax; Left effusion; Cardiomegaly; Fracture,left effusion,\
The left angle is blunted on both views.,Presence,7/pa.png;7/lat.png,58,,4,20200101
d-2,8,Where is the opacity?,"Right upper, or lower; Left upper; Left lower; Both",Both,\
It hides the left diaphragm on this view.,Location,8/pa.png,063Y,hard,,
"""
SHEET_MATCHING = Matching(
    "sheet",
    {"id": "no.", "study_id": "study", "question": "Stem", "options": "Choices", "correct_answer": "answer"}
    | {"correct_answer_explanation": "rationale", "task_name": "type", "ImagePath": "files"}
    | {"difficulty": "level", "PatientAge": "age"},
    {"category": "Chest"},
    key_form=TEXT,
    separator=";",
)
YES_NO: dict[str, Any] = {
    "qid": 9,
    "img": "1.png",
    "question": "Is there an effusion?",
    "choices": ["Yes", "No"],
    "answer": "Yes",
    "why": "The angle is blunted on this view.",
}
SLAKE: list[dict[str, Any]] = [
    YES_NO | {"img_id": 1, "choices": ["Lung", "Heart", "Liver", "Spleen"], "answer": "A", "content_type": "Organ"}
]


def as_list(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows, indent=1).encode()


RAD = as_list(
    [
        {
            "qid": 1,
            "image_name": "synpic1.jpg",
            "image_organ": "CHEST",
            "question_type": "PRES",
            "question": "Is there a pleural effusion?",
            "answer": "Yes",
            "answer_type": "CLOSED",
        },
        {
            "qid": 2,
            "image_name": "synpic1.jpg",
            "question_type": "POS",
            "question": "Where is the opacity?",
            "answer": "left lower lobe",
            "answer_type": "OPEN",
        },
    ]
)
