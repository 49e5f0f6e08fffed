"""A synthetic question file in the ReXVQA release form, of any size: the same seed gives the same bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

N_QUESTIONS = 572_419  # of the published training file
QUESTIONS_PER_EXAM = 4.37  # about 131,000 exams

TASKS = {
    "Presence Assessment": 0.36,
    "Negation Assessment": 0.28,
    "Location and Distribution Assessment": 0.16,
    "Differential Diagnosis": 0.15,
    "Geometric Information Assessment": 0.05,
}
CATEGORIES = {
    "Lung and Pleural Opacity": ("Airspace Opacity", "Respiratory System"),
    "Pleural Effusion": ("Small Effusion", "Respiratory System"),
    "Heart": ("Cardiac Size", "Cardiovascular System"),
    "Aorta": ("Thoracic Aorta", "Cardiovascular System"),
    "Bone": ("Ribs", "Musculoskeletal System"),
    "Clavicle": ("Fracture", "Musculoskeletal System"),
    "Implanted Devices": ("Cardiac Devices", "Medical Devices"),
    "Diaphragm": ("Position", "Respiratory System"),
    "Hila": ("Lymph Nodes", "Respiratory System"),
    "Abdomen": ("Free Air", "Digestive System"),
}
FINDINGS = (
    "The cardiomediastinal silhouette is within normal limits.",
    "There is a small left pleural effusion with adjacent atelectasis.",
    "No pneumothorax is seen on either side.",
    "Patchy opacity in the right lower lobe, which may represent pneumonia in the right setting.",
    "Degenerative changes of the thoracic spine.",
    "A left chest wall pacemaker is in place with leads over the right atrium and right ventricle.",
    "The aorta is tortuous and calcified.",
    "Low lung volumes with bibasilar atelectasis.",
    "Sternotomy wires are intact.",
    "No displaced rib fracture is identified.",
)
SIGNS = ("opacity", "effusion", "nodule", "fracture", "device", "atelectasis", "cardiomegaly", "pneumothorax")
PLACES = ("right upper zone", "left lower zone", "right hilum", "left apex", "costophrenic angle", "retrocardiac area")
VIEWS = (("PA", "LATERAL"), ("AP",), ("PA",), ("AP", None), ("POSTERO_ANTERIOR", "LL"), (None,), ("UNKNOWN", "LAT"))


def write_question_file(path: Path, n_questions: int = N_QUESTIONS, *, seed: int = 1) -> int:
    """Write ``n_questions`` records as one JSON object; the number of exams."""
    source = random.Random(seed)
    n_written = n_exams = 0
    with path.open("w", encoding="utf-8") as file:
        while n_written < n_questions:
            n_exams += 1
            n_here = min(n_questions - n_written, 1 + int(source.random() * (2 * QUESTIONS_PER_EXAM - 1)))
            for key, record in _exam(n_exams, n_here, source):
                file.write(("{" if n_written == 0 else ",\n") + json.dumps(key) + ": " + json.dumps(record))
                n_written += 1
        file.write("}\n")
    return n_exams


def _exam(number: int, n_questions: int, source: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    patient, accession = f"GRDN{number * 7919 % 10**12:012X}", f"GRDN{number * 104729 % 10**14:014X}"
    uid = f"1.2.826.0.1.3680043.8.498.{number * 2654435761 % 10**20:020d}{number:012d}"
    study = f"p{patient}_a{accession}_s{uid}"
    views = source.choice(VIEWS)
    folder = f"../deid_png/{patient}/{accession}/studies/{uid}/series"
    shared = {
        "PatientID": patient,
        "AccessionNumber": accession,
        "StudyInstanceUid": uid,
        "PatientSex": source.choice(("M", "F", None)),
        "PatientAge": source.choice((f"{source.randrange(18, 99):03}Y", "007Y", None)),
        "StudyDate": 20200101 + source.randrange(28),
        "StudyDescription": f"XR CHEST {len(views)} VIEWS",
        "Manufacturer": "FUJIFILM Corporation",
        "Indication": "Shortness of breath and cough.",
        "Comparison": source.choice(("None.", "Radiograph of last year.", None)),
        "Findings": " ".join(source.sample(FINDINGS, 5)),
        "Impression": source.choice(FINDINGS),
        "ImagePath": [f"{folder}/{uid}.{i}/instances/{uid}.{i}.1.png" for i in range(len(views))],
        "ImageViewPosition": list(views),
        "ImageModality": ["CR"] * len(views),
        "ImageBodyPart": ["CHEST"] * len(views),
        "ImageShape": [[512 + source.randrange(200), 420 + source.randrange(200)] for _view in views],
    }
    for i in range(n_questions):
        yield f"{study}_{i + 1}", {"study_id": study, **_question(source), **shared}


def _question(source: random.Random) -> dict[str, Any]:
    sign, place = source.choice(SIGNS), source.choice(PLACES)
    category = source.choice(tuple(CATEGORIES))
    subcategory, class_name = CATEGORIES[category]
    options = [f"{letter}. The {sign} lies in the {place}, option {i}" for i, letter in enumerate("ABCD")]
    return {
        "task_name": source.choices(tuple(TASKS), tuple(TASKS.values()))[0],
        "question": f"Which statement about the {sign} in the {place} is best supported by this chest radiograph?",
        "options": options,
        "correct_answer": source.choice("ABCD"),
        "correct_answer_explanation": (
            f"The {sign} is seen in the {place}; its borders are clear and no other finding explains it, "
            "so that the other three statements do not hold on these images."
        ),
        "category": category,
        "subcategory": subcategory,
        "class": class_name,
        "validation_code": source.randrange(2),
    }
