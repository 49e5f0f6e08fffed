"""Shuffled options: what speaks of other options or of letters keeps its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.design.kernels.ordering import (
    keeps_its_place,
    names_letters,
    shown_order,
)

PLAIN = ["Pneumothorax", "Pleural effusion", "Cardiomegaly", "Both lungs are clear"]


@pytest.mark.parametrize(
    "text",
    [
        "None of the above",
        "All of the above.",
        "none of these",
        "None of the other options",
        "None of the listed findings",
        "Neither of the above",
        "Both of the above findings",
        "Any of the above",
        "More than one of the above",
        "None of the options is right",
        "Two of the above",
        "All the above",
        "The above statements are false",
        "None",
        "Cannot be determined",
    ],
)
def test_options_that_speak_of_others_keep_their_place(text: str) -> None:
    assert keeps_its_place(text)


@pytest.mark.parametrize(
    "text",
    [
        "Both lungs are clear",
        "Opacity above the left hemidiaphragm",
        "All lobes are involved",
        "None of the ribs is fractured",
        "Both costophrenic angles are blunted",
        "Air below the diaphragm",
        "The other lung is normal",
    ],
)
def test_findings_are_not_taken_for_references(text: str) -> None:
    assert not keeps_its_place(text)
    assert not names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "A and C",
        "Both A and B",
        "A, B and C",
        "Only B",
        "All but D",
        "Options A to C",
        "Which of the options (A)–(D) is right?",
        "Neither A nor B",
        "B",
        "(C)",
        "Answer A is right",
        "A/B",
        "B only",
    ],
)
def test_references_to_letters_are_found(text: str) -> None:
    assert names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "Kerley B lines",
        "A small pneumothorax on the right",
        "Type A dissection",
        "Is there a nodule? A lateral view is given.",
        "Vitamin D deficiency",
        "Which finding is absent?",
    ],
)
def test_letters_in_words_of_medicine_are_not_references(text: str) -> None:
    assert not names_letters(text)


@given(seed=st.integers(0, 2**63 - 1))
def test_plain_options_are_permuted(seed: int) -> None:
    assert sorted(shown_order("Which one?", PLAIN, seed)) == list("ABCD")


def test_every_order_of_plain_options_comes() -> None:
    assert len({shown_order("Which one?", PLAIN, seed) for seed in range(400)}) == 24


@given(seed=st.integers(0, 2**63 - 1), place=st.integers(0, 3))
def test_nothing_moves_across_what_speaks_of_the_above(seed: int, place: int) -> None:
    options = [*PLAIN[:place], "None of the above", *PLAIN[place:3]]
    shown = shown_order("Which one?", options, seed)
    letters = "ABCD"
    assert shown[place] == letters[place]
    assert set(shown[:place]) == set(letters[:place])


@given(seed=st.integers(0, 2**63 - 1))
def test_letters_in_the_question_keep_all_options_in_place(seed: int) -> None:
    assert shown_order("Which one?", [*PLAIN[:3], "A and C"], seed) == "ABCD"
    assert shown_order("Compare options A and B: which is right?", PLAIN, seed) == "ABCD"
