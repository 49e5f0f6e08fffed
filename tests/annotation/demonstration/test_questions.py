"""The questions of the demonstration: keys follow from the chest, and only planned faults are in them."""

from __future__ import annotations

import re
from collections import Counter

from annotation.demonstration.questions import (
    LARGE_HEART,
    SHOWS,
    STRUCTURES,
    DemonstrationQuestion,
    all_questions,
    leading,
    present,
    records_of,
)
from annotation.demonstration.simulated_exams import EXAMS, VIEWS
from annotation.enums import Flag
from annotation.questionbank.kernels.rules import MIN_EXPLANATION

QUESTIONS = all_questions()


def _right_by_itself(question: DemonstrationQuestion, option: str) -> bool:
    """Whether the option is true of the chest, asked of the description and not of the question."""
    seen = option in STRUCTURES or (option in SHOWS and SHOWS[option](question.exam.spec))
    return seen if "seen on these" in question.stem else not seen


def _of(pattern: str) -> list[DemonstrationQuestion]:
    return [question for question in QUESTIONS if re.search(pattern, question.stem)]


def test_there_are_24_exams_and_120_questions_of_all_five_tasks() -> None:
    assert len(EXAMS) == 24
    assert len(QUESTIONS) == 120
    assert len({question.key for question in QUESTIONS}) == 120
    assert len({question.task for question in QUESTIONS}) == 5
    assert {question.difficulty for question in QUESTIONS} == {"easy", "medium", "hard"}


def test_half_of_the_exams_store_bones_dark() -> None:
    assert Counter(exam.photometric for exam in EXAMS) == {"MONOCHROME1": 12, "MONOCHROME2": 12}
    assert len({exam.spec.seed for exam in EXAMS}) == 24


def test_options_differ_and_no_letter_is_favoured() -> None:
    assert all(len(set(question.options)) == 4 for question in QUESTIONS)
    letters = Counter(question.answer for question in QUESTIONS)
    assert min(letters.values()) >= 20


def test_of_what_is_seen_or_absent_only_the_key_is_right_beside_planned_faults() -> None:
    for question in _of("(seen|absent) on these"):
        right = [place for place, option in enumerate(question.options) if _right_by_itself(question, option)]
        assert right == sorted([question.answer, *question.also_valid]), question.key


def test_heart_size_follows_the_cardiothoracic_ratio() -> None:
    for question in _of("size of the heart"):
        enlarged = question.options[question.answer] == "The heart is enlarged"
        assert enlarged == (question.exam.spec.cardiothoracic_ratio > LARGE_HEART)


def test_the_printed_ratio_is_the_one_described_and_the_others_are_far() -> None:
    for question in _of("cardiothoracic ratio"):
        ratio = question.exam.spec.cardiothoracic_ratio
        assert question.options[question.answer] == f"{ratio:.2f}"
        others = [float(text) for place, text in enumerate(question.options) if place != question.answer]
        assert min(abs(other - ratio) for other in others) > 0.09


def test_no_heart_is_of_disputable_size() -> None:
    assert not [exam.number for exam in EXAMS if 0.48 <= exam.spec.cardiothoracic_ratio <= 0.55]
    assert (leading(EXAMS[0].spec), present(EXAMS[0].spec)) == (None, []), "a normal chest has no finding"


def test_the_lobe_asked_for_is_the_one_described() -> None:
    for question in _of("Where does the (nodule|consolidation)"):
        spec = question.exam.spec
        assert question.options[question.answer].lower() == (spec.consolidation or spec.nodules[0].lobe)


def test_the_pleura_is_answered_from_effusions_and_pneumothorax() -> None:
    for question in _of("pleural spaces"):
        spec, key = question.exam.spec, question.options[question.answer]
        assert ("neither" in key) == (not spec.effusions and spec.pneumothorax is None)


def test_the_planned_faults_have_the_counts_of_the_paper() -> None:
    counts = Counter(question.fault for question in QUESTIONS if question.fault)
    assert counts == {Flag.SEVERAL_VALID: 13, Flag.NEEDS_PRIOR: 8, Flag.UNSOUND: 6, Flag.HALLUCINATED: 4}


def test_records_name_two_images_and_explain_at_length() -> None:
    records = records_of(QUESTIONS)
    for record in records.values():
        assert len(record["ImagePath"]) == len(VIEWS) == len(set(record["ImagePath"]))
        assert len(record["correct_answer_explanation"]) >= MIN_EXPLANATION
        assert record["correct_answer"] in "ABCD"


def test_the_exam_with_a_prior_is_of_the_same_patient_later() -> None:
    records = records_of(all_questions(EXAMS)).values()
    by_exam = {one["study_id"]: one for one in records}
    later = [one for one in by_exam.values() if "prior_study" in one]
    assert len(later) == 1, "a demonstration without a prior shows nobody how priors look"
    before = by_exam[later[0]["prior_study"]]
    assert before["PatientID"] == later[0]["PatientID"]
    assert before["PatientAge"] <= later[0]["PatientAge"]
