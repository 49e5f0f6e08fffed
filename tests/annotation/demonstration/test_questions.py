"""The questions of the demonstration: keys follow from the chest, and only planned faults are in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import numpy as np
import pydicom
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from numpy.typing import NDArray
from pytest_django import Settings

from annotation.demonstration import building
from annotation.demonstration.kernels.phantom import patient_of, phantom_dicom
from annotation.demonstration.kernels.phantom_thorax import (
    D_AXIS,
    ChestSpec,
    Effusion,
    Nodule,
    Pneumothorax,
    build_of,
    half_width,
    heart_reach,
)
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
from annotation.demonstration.registry import all_accounts
from annotation.demonstration.rehearsing import FINISHED_ROUND, OPEN_ROUND, SHARED_ANSWERS
from annotation.demonstration.simulated_exams import EXAMS, VIEWS
from annotation.enums import AssignmentState, Flag, ImageState, RoundState
from annotation.models import (
    Assignment,
    Image,
    Question,
    QuestionBank,
    QuestionComment,
    QuestionTag,
    Review,
    ReviewRound,
    Revision,
    User,
)
from annotation.outcomes.agreement import own_agreement
from annotation.questionbank.kernels.rules import MIN_EXPLANATION
from annotation.review.calibrating import calibration_of, distances_of, uncalibrated
from annotation.review.onlookers import judged_questions

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


# --- the simulated radiographs ---
PLAIN = ChestSpec(seed=101)


def _displayed(data: bytes) -> NDArray[np.float64]:
    """Grey from 0 to 1 as a viewer shows it: the window, then the inversion of MONOCHROME1."""
    dataset = pydicom.dcmread(BytesIO(data))
    low = float(dataset.WindowCenter) - float(dataset.WindowWidth) / 2
    grey = np.clip((dataset.pixel_array.astype(float) - low) / float(dataset.WindowWidth), 0, 1)
    return 1 - grey if dataset.PhotometricInterpretation == "MONOCHROME1" else grey


@pytest.fixture(scope="module")
def plain_file() -> bytes:
    return phantom_dicom(PLAIN, "PA", modality="CR")


@pytest.fixture(scope="module")
def plain(plain_file: bytes) -> NDArray[np.float64]:
    return _displayed(plain_file)


def _at(image: NDArray[np.float64], x_mm: float, d_mm: float, size_mm: float = 12) -> float:
    """Mean grey of a square of the frontal view, in the patient's millimetres."""
    row, column, half = int((d_mm + 62) / 0.215), int((x_mm + 175) / 0.215), int(size_mm / 0.43)
    return float(image[row - half : row + half, column - half : column + half].mean())


@pytest.mark.parametrize("ratio", [0.40, 0.45, 0.58])
def test_the_widest_heart_over_the_widest_inner_thorax_is_the_ratio_described(ratio: float) -> None:
    spec = ChestSpec(seed=7, cardiothoracic_ratio=ratio)
    build = build_of(spec)
    right, left = heart_reach(spec, build)
    widest = right.max() + left.max()
    assert widest / (2 * half_width(D_AXIS, build).max()) == pytest.approx(ratio, abs=0.001)


def test_the_frontal_view_is_a_twelve_bit_radiograph_of_useful_size(plain_file: bytes) -> None:
    dataset = pydicom.dcmread(BytesIO(plain_file))
    assert (dataset.Rows, dataset.Columns) == (2000, 1632)
    assert dataset.BitsStored == 12
    assert dataset.Modality == "CR"
    assert dataset.ViewPosition == "PA"
    assert dataset.Manufacturer == "Simulated"
    assert dataset.pixel_array.max() <= 4095


def test_lungs_are_darker_than_the_heart_and_the_heart_than_the_abdomen(plain: NDArray[np.float64]) -> None:
    lung, heart, abdomen = _at(plain, -90, 150), _at(plain, 45, 215), _at(plain, -80, 330)
    assert lung + 0.1 < heart < abdomen


def test_the_heart_and_the_gastric_bubble_are_on_the_patients_left(plain: NDArray[np.float64]) -> None:
    assert _at(plain, 66, 215) > _at(plain, -66, 215) + 0.1
    strip = plain[1480:1560]
    assert strip[:, 1060:1180].min() < strip[:, 450:570].min() - 0.1


@pytest.fixture(scope="module")
def ill() -> NDArray[np.float64]:
    """The same chest with an effusion on the right, and a nodule far above it."""
    effusions, nodules = (Effusion("right", 50),), (Nodule("right upper lobe", 14),)
    return _displayed(phantom_dicom(ChestSpec(seed=101, effusions=effusions, nodules=nodules), "PA"))


def test_an_effusion_whitens_its_costophrenic_angle_and_leaves_the_other(
    plain: NDArray[np.float64], ill: NDArray[np.float64]
) -> None:
    assert _at(ill, -132, 268, 8) > _at(plain, -132, 268, 8) + 0.15
    assert _at(ill, 132, 268, 8) == pytest.approx(_at(plain, 132, 268, 8), abs=0.06)


@pytest.mark.check
def test_a_pneumothorax_darkens_and_empties_the_space_around_the_lung(plain: NDArray[np.float64]) -> None:
    air = _displayed(phantom_dicom(ChestSpec(seed=101, pneumothorax=Pneumothorax("left", 36)), "PA"))
    assert _at(plain, 92, 66) == pytest.approx(_at(plain, -92, 66), abs=0.06)
    assert _at(air, 92, 66) < _at(air, -92, 66) - 0.1


def test_a_nodule_is_whiter_than_the_lung_around_it(ill: NDArray[np.float64]) -> None:
    assert _at(ill, -78, 78, 10) > _at(ill, -78, 104, 6) + 0.04


@pytest.mark.check
def test_the_lateral_view_has_its_spine_behind_and_looks_the_same_in_either_photometric_interpretation() -> None:
    one = _displayed(phantom_dicom(PLAIN, "LL", photometric="MONOCHROME1"))
    two = _displayed(phantom_dicom(PLAIN, "LL", photometric="MONOCHROME2"))
    assert np.abs(one - two).max() < 1e-9
    assert one.shape == (2000, 1488)
    assert one[1200, 250] < one[1200, 1000]


@pytest.mark.check
def test_the_same_description_gives_the_same_bytes_and_another_seed_others(plain_file: bytes) -> None:
    patient_of.cache_clear()
    assert phantom_dicom(PLAIN, "PA", modality="CR") == plain_file
    assert phantom_dicom(ChestSpec(seed=102), "PA", modality="CR") != plain_file


def test_the_side_marker_stands_on_its_own_side(plain: NDArray[np.float64]) -> None:
    left = _displayed(phantom_dicom(PLAIN, "PA", marker="L"))
    brighter = left[:400] - plain[:400]
    assert np.flatnonzero((brighter > 0.3).any(axis=0)).min() > 1232
    assert np.flatnonzero((brighter < -0.3).any(axis=0)).max() < 400


# --- the demonstration is built through the ordinary acts, once, and only in its own home ---
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def _build(folder: Path, heard: list[str] | None = None) -> bool:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total
        if heard is not None and words not in heard:
            heard.append(words)

    return building.build_demonstration(at=NOW, folder=folder, tell=tell, exams=EXAMS[1:4], processes=2)


@pytest.mark.check
@pytest.mark.django_db(transaction=True)
@pytest.mark.logs("demonstration.built", "person.added")
def test_a_small_demonstration_is_complete_and_labelled_and_a_second_build_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.DEMO, settings.HOME = True, tmp_path
    heard: list[str] = []
    assert _build(tmp_path / "files", heard)
    assert len(heard) == 9

    bank = QuestionBank.objects.get(name="Demonstration (simulated)")
    assert bank.simulated
    assert Revision.objects.in_bank(bank).current().count() == 15
    assert all(one.simulated for one in QuestionBank.objects.all())
    images = Image.objects.filter(exam__bank=bank)
    assert {image.state for image in images} == {ImageState.AVAILABLE}
    assert len(images) == 6
    assert all(image.simulated and image.attribution == building.ATTRIBUTION for image in images)
    assert {image.photometric_interpretation for image in images} == {"MONOCHROME1", "MONOCHROME2"}
    assert not (tmp_path / "files").exists()

    finished = ReviewRound.objects.get(name=FINISHED_ROUND)
    assert finished.state == RoundState.CLOSED
    assert finished.simulated
    of_finished = Review.objects.filter(assignment__round=finished, simulated=True)
    assert of_finished.filter(assignment__repeats=None).count() == 30
    assert own_agreement(finished).n_people == 3  # each has reviewed a question twice without knowing
    _check_calibration(ReviewRound.objects.get(name=OPEN_ROUND))
    _check_what_was_said(bank)

    before = [(one, one._base_manager.count()) for one in (User, Review, Image, QuestionTag, QuestionComment)]
    assert not _build(tmp_path / "files")
    assert [(one, one._base_manager.count()) for one, _n in before] == before
    monkeypatch.setattr(building, "is_complete", lambda: False)
    assert _build(tmp_path / "files")  # takes up what is there
    assert [(one, one._base_manager.count()) for one, _n in before] == before


def _check_calibration(review_round: ReviewRound) -> None:
    """All have judged what the adjudicator judged before; the last did not pass and was let in."""
    assert review_round.state == RoundState.OPEN
    assert review_round.shared_answers is not None
    assert review_round.shared_answers.name == SHARED_ANSWERS
    assert review_round.shared_answers.state == RoundState.CLOSED
    assert uncalibrated(review_round) == []
    people = [User.objects.get(name=name) for name in ("Rita Okafor", "Remo Castelli", "Ruth Nakamura")]
    found = [one.result for one in calibration_of(review_round, people)]
    assert [one is not None and one.passed for one in found] == [True, True, False]
    assert found[2] is not None
    assert found[2].let_in_reason
    assert len(distances_of(review_round)) == 6
    cases = Review.objects.filter(assignment__round__calibrates=review_round)
    assert all(cases.values_list("simulated", flat=True))


def _check_what_was_said(bank: QuestionBank) -> None:
    """Tags; and two comments with a mention, one a to-do that waits, on questions that nobody judges at present."""
    assert set(QuestionTag.objects.values_list("word", flat=True)) >= {"calibration", "two right answers"}
    questions = all_questions(EXAMS[1:4])
    free = Question.objects.filter(bank=bank).exclude(pk__in=judged_questions()).values_list("number", flat=True)
    for fault, number in zip(building.COMMENTS, sorted(free), strict=False):  # so few questions may have none there
        questions[number - 1] = replace(questions[number - 1], fault=fault)
    for _again in range(2):
        building._comment(bank, questions, coordinator=User.objects.get(name="Cora Lindqvist"), at=NOW)
    comments = list(QuestionComment.objects.filter(question__bank=bank).order_by("pk"))
    assert [one.is_open for one in comments] == [True, False]
    assert all("imulated" in one.text and one.mentions.count() == 1 for one in comments)
    assert not [one for one in comments if one.question in judged_questions()]


@pytest.mark.check
@pytest.mark.django_db
def test_the_people_can_log_in_with_the_printed_passwords() -> None:
    building.add_people(at=NOW)
    building.add_people(at=NOW)
    assert User.objects.count() == len(all_accounts())
    for account in all_accounts():
        assert User.objects.get(email=account.email).check_password(account.password)


@pytest.mark.check
@pytest.mark.django_db
def test_nothing_is_built_where_no_demonstration_lives(settings: Settings) -> None:
    settings.DEMO = False
    with pytest.raises(CommandError, match="not the home of a demonstration") as refused:
        call_command("build_demonstration")
    assert refused.value.returncode == 2
    assert not User.objects.exists()
    assert not Assignment.objects.filter(state=AssignmentState.WAITING).exists()
