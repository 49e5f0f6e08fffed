from __future__ import annotations

from annotation.model_calls.kernels.extraction import canonical, question_values, rotated

OPTIONS = ["one", "two", "three", "four"]


def test_each_option_stands_once_in_each_place_over_the_four_rotations() -> None:
    shown = [rotated(OPTIONS, rotation) for rotation in range(4)]
    assert shown[1] == ["two", "three", "four", "one"]
    assert all({row[place] for row in shown} == set(OPTIONS) for place in range(4))


def test_the_letter_of_a_rotation_leads_back_to_the_option_of_the_bank() -> None:
    for rotation in range(4):
        for place, letter in enumerate("ABCD"):
            found = canonical(letter, rotation)
            assert OPTIONS["ABCD".index(found)] == rotated(OPTIONS, rotation)[place]
    assert canonical("", 3) == ""


def test_the_variables_of_a_question() -> None:
    found = question_values("Which?", OPTIONS, 3)
    assert found["question"] == "Which?"
    assert found["options"] == "A. four\nB. one\nC. two\nD. three"
    assert [found[f"option_{letter}"] for letter in "abcd"] == ["four", "one", "two", "three"]
