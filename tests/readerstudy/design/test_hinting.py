"""Which words of an indication set an option apart."""

from __future__ import annotations

import pytest

from readerstudy.design.kernels.ordering import marked, shared_words

OPTIONS = ["Pneumothorax", "Pleural effusion on the left", "Pleural thickening on the right", "None of the above"]


@pytest.mark.parametrize(
    ("indication", "found"),
    [
        ("Cough for two weeks", [[], [], [], []]),
        ("Rule out PNEUMOTHORAX.", [["pneumothorax"], [], [], []]),
        ("Effusions? Left-sided pain", [[], ["effusion", "left"], [], []]),
        ("pleural disease", [[], ["pleural"], ["pleural"], []]),
        ("none; see above", [[], [], [], []]),
        ("hemopneumothorax", [[], [], [], []]),
        ("", [[], [], [], []]),
    ],
)
def test_whole_words_that_only_some_options_have(indication: str, found: list[list[str]]) -> None:
    assert shared_words(indication, OPTIONS) == found


def test_a_word_of_all_options_tells_nothing() -> None:
    options = ["Left pleural effusion", "Right pleural effusion", "Pleural effusion on both sides"]
    assert shared_words("pleural effusion, known", options) == [[], [], []]


def test_words_of_other_alphabets() -> None:
    assert shared_words("Verdacht auf Erguß", ["ERGUSS links", "Pneumothorax"]) == [["erguss"], []]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Effusions? Left-sided.", [("Effusions", True), ("? Left-sided.", False)]),
        ("hemopneumothorax", [("hemopneumothorax", False)]),
        (
            "Verdacht auf ERGUSS und Erguß",
            [("Verdacht auf ", False), ("ERGUSS", True), (" und ", False), ("Erguß", True)],
        ),
        ("", []),
    ],
)
def test_a_text_in_pieces_marks_the_words_however_they_are_written(text: str, pieces: list[tuple[str, bool]]) -> None:
    assert marked(text, ["effusion", "erguss"]) == pieces
