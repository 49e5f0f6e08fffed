"""Copies with planted defects: each with the defect that it names, the same every time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.validators.kernels.planted_defects import MEANT_FOR, Defect, PlantedQuestion, planted

QUESTION = PlantedQuestion(
    "Where is the effusion?",
    ("In the left pleural space", "In the right pleural space", "Behind the heart", "There is none"),
    "A",
    "The left angle is blunted. LEFT and right differ.",
)
SIDED = replace(QUESTION, options=("Left effusion", "Pneumothorax", "Nodule", "Cardiomegaly"))


def plant(defect: Defect, question: PlantedQuestion = QUESTION, seed: int = 1) -> PlantedQuestion:
    copy = planted(defect, question, seed=seed, name="7")
    assert copy is not None
    return copy


def test_nothing_is_planted_in_the_plain_copy() -> None:
    assert plant(Defect.NONE) == QUESTION


def test_the_key_is_swapped_and_nothing_else() -> None:
    copy = plant(Defect.KEY_SWAPPED)
    assert copy.key != QUESTION.key
    assert replace(copy, key="A") == QUESTION
    assert len({plant(Defect.KEY_SWAPPED, seed=seed).key for seed in range(30)}) == 3


def test_a_second_option_says_what_the_key_says() -> None:
    copy = plant(Defect.SECOND_TRUE)
    changed = [new for old, new in zip(QUESTION.options, copy.options, strict=True) if old != new]
    assert changed == ["Findings in keeping with: in the left pleural space"]
    assert (copy.key, copy.key_text) == ("A", QUESTION.key_text)


def test_an_earlier_exam_is_mentioned() -> None:
    assert plant(Defect.PRIOR_MENTIONED).stem == "Compared with the previous radiographs, where is the effusion?"
    assert "PA view" in plant(Defect.PRIOR_MENTIONED, replace(QUESTION, stem="PA view: what is seen?")).stem


def test_a_question_of_recall_takes_its_place() -> None:
    copy = plant(Defect.RECALL_ITEM)
    assert copy.stem != QUESTION.stem
    assert len(copy.options) == len(set(copy.options)) == 4


def test_the_side_is_swapped_in_key_and_explanation() -> None:
    copy = plant(Defect.SIDE_SWAPPED, SIDED)
    assert copy.options == ("Right effusion", *SIDED.options[1:])
    assert copy.explanation == "The right angle is blunted. Right and left differ."


@pytest.mark.parametrize("key", ["A", "C"])
def test_a_side_that_cannot_be_swapped(key: str) -> None:
    """The other side is an option already, or the key names none."""
    assert planted(Defect.SIDE_SWAPPED, replace(QUESTION, key=key), seed=1, name="7") is None


def test_the_same_seed_and_name_give_the_same_copy() -> None:
    for defect in Defect:
        assert planted(defect, SIDED, seed=3, name="9") == planted(defect, SIDED, seed=3, name="9")


def test_every_defect_is_meant_for_somebody() -> None:
    assert set(MEANT_FOR) == set(Defect) - {Defect.NONE}
