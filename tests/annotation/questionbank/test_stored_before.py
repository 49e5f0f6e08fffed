"""What earlier versions stored stays known: their hashes and digests of a small file, written down once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.enums import IdentifierKind, ImportState
from annotation.models import AnswerKey, BankImport, Exam, Question, QuestionBank, Report, Revision, SourceIdentifier
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file

pytestmark = pytest.mark.django_db

RENAMED = ("ImagePath", "Findings", "Impression", "ImageViewPosition")
ANSWERS = ("correct_answer", "correct_answer_explanation", "category")
PRIVATE: dict[str, Any] = {
    **dict.fromkeys((*RENAMED, *ANSWERS), ...),
    "image_path": ["4/pa.png"],
    "section_findings": "Effusion.",
    "section_impression": None,
    "frontal_lateral": ["AP"],
    "context": "Cough.",
}
FURTHER: dict[str, Any] = {"subcategory": "Small", "class": "Lung", "difficulty": "hard", "validation_code": 1}
LETTERED: dict[str, Any] = {"task_name": "negation_assessment", "options": ["A) a", "B) b", "C) c", "D) d"]}
OLD: dict[str, Any] = {"PatientAge": "097Y", "StudyDate": 20200102, "ImageShape": [[512, 420.5]], "correct_answer": 1}
NESTED: dict[str, Any] = {"nested": {"b": [True, 1, 1.0, None], "a": 'q"\\\n'}, "model_prediction": "C"}
RECORDS = {
    "study-1_1": make_record(1),
    "study-1_2": make_record(2, **FURTHER),
    "study-2_1": make_record(3, exam=2, prior_study="study-1", Findings="Épanchement «放射» \U0001fac1", **OLD),
    "study-3_1": make_record(4, exam=3, ImagePath=["../deid_png/3/pa.png"], **LETTERED),
    "study-4_1": make_record(5, exam=4, **PRIVATE),
    "study-5_1": make_record(6, exam=5, study_id=..., PatientID=17, **NESTED),
}
STORED = {  # digest of the key, hash of the content
    "study-1_1": (-685190427630031603, "430433d1c249a092e69794c5855fa90375f416504d9bbe8215677b318e77dd01"),
    "study-1_2": (-685190771676139003, "8fbe10ed3cb59f8619c5873e38c8c7ab483878a59258446e76844fa90b8c52c8"),
    "study-2_1": (-8846138338778735165, "3edcdb480c3c61ad47d08b43ac6084575b6d5d760e21ad7c84b7f6682b33873b"),
    "study-3_1": (-9205604363451488357, "0abf2df4642d5f9a0aff0ea94e2af6dc0d5b43cdbb3efa68e4af8161f5783944"),
    "study-4_1": (-6365336467999226402, "92f77ee71930af2de8eca2aa53fffe77e0b4dbdd692b6f05d74d029f6a6cc0ea"),
    "study-5_1": (-6174269019940291157, "146b3b5cf3a281dfb025fbbe94939b00941eefd2ae1e3cb2400b46a45c639e5f"),
}
EXAMS = {
    "study-1": -685190601679661597,
    "study-2": -8846137884169712382,
    "study-3": -9205604519698740430,
    "study-4": -6365335757253891673,
    "1.2.5": 746877951448842503,
}
REPORTS = {
    "No effusion.": "fb797bd4ada4209d01352521458613b22a37384f5d0fe84eb1ba5a541d68777f",
    "Épanchement «放射» \U0001fac1": "1e89581146062abe9583600ece3fdf6537adc0bc8e5c5f722b5c093953ca0f53",
    "Effusion.": "fae9a653e1e354074b5dd65a97af81320f5a850c2d6e2f5f314a3eb191077d3d",
}
EXTRA = {  # of the exam, further fields, form
    "study-1_2": (
        {"ImageViewPosition": ["PA", "LATERAL"], "PatientAge": "058Y", "PatientSex": "F"},
        {"validation_code": 1},
        {},
    ),
    "study-3_1": (
        {"ImageViewPosition": ["PA", "LATERAL"], "PatientAge": "058Y", "PatientSex": "F", "folder": "metadata"},
        {},
        {"options": ") ", "task_name": "negation_assessment"},
    ),
}


def digests_of(kind: IdentifierKind) -> dict[str, int]:
    return dict(SourceIdentifier.objects.filter(kind=kind).values_list("value", "digest"))


def test_hashes_and_digests_are_those_of_earlier_versions(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, RECORDS))
    named = SourceIdentifier.objects.filter(kind=IdentifierKind.QUESTION_KEY)
    key_of = dict(named.values_list("question_id", "value"))
    content = {key_of[row.question_id]: row.content_sha256 for row in Revision.objects.all()}
    digests = digests_of(IdentifierKind.QUESTION_KEY)
    assert {key: (digests[key], content[key]) for key in content} == STORED
    assert digests_of(IdentifierKind.EXAM_KEY) == EXAMS
    assert digests_of(IdentifierKind.PRIOR_EXAM) == {"study-1": EXAMS["study-1"]}
    assert dict(Report.objects.values_list("findings", "content_sha256")) == REPORTS
    rows = AnswerKey.objects.select_related("revision")
    kept = {key_of[row.revision.question_id]: row.extra for row in rows}
    for key, (exam, fields, form) in EXTRA.items():
        text = json.dumps({"exam": exam, "fields": fields, "form": form}, separators=(",", ":"))
        hashed, _comma, beside = kept[key].partition(',"source":')  # how it was written, which is not hashed
        assert hashed + "}" == text
        assert beside


def test_a_file_that_an_earlier_version_imported_is_unchanged(tmp_path: Path) -> None:
    bank = QuestionBank.objects.create(name="Bank", slug="bank", created_at=NOON)
    earlier = BankImport.objects.create(bank=bank, state=ImportState.PUBLISHED, started_at=NOON, heartbeat_at=NOON)
    exam = Exam.objects.create(bank=bank, bank_import=earlier)
    for number, (key, (digest, content)) in enumerate(STORED.items(), start=1):
        question = Question.objects.create(bank=bank, number=number, exam=exam)
        level = RECORDS[key].get("difficulty", "")
        Revision.objects.create(
            question=question, bank=bank, bank_import=earlier, options=[], content_sha256=content, difficulty=level
        )
        SourceIdentifier.objects.create(
            digest=digest, kind=IdentifierKind.QUESTION_KEY, value=key, bank=bank, question_id=question.pk
        )
    result = run_import(write_file(tmp_path, RECORDS))
    assert (result.counts.unchanged, result.counts.created, result.counts.updated) == (len(RECORDS), 0, 0)
