"""The key falls on a drawn letter, and a question becomes the record of a file."""

from __future__ import annotations

from collections import Counter

from annotation.generation.kernels.answer_forms import (
    HISTORY,
    WrittenOption,
    drawn_place,
    file_of,
    make,
    record_of_made,
    sent_text,
    texts_without_letters,
    turned,
)
from tests.annotation.generation.test_grounding import question

SOUND = question([4], [1], [2], [3])


def test_the_same_seed_and_name_draw_the_same_letter() -> None:
    assert [drawn_place(7, f"{n}") for n in range(12)] == [3, 2, 3, 0, 3, 3, 1, 0, 2, 3, 0, 1]  # of letter-1, for good
    assert [drawn_place(7, f"{n}") for n in range(50)] != [drawn_place(8, f"{n}") for n in range(50)]


def test_all_letters_are_drawn_alike() -> None:
    counts = Counter(drawn_place(1, f"report {n}") for n in range(4000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(900 < n < 1100 for n in counts.values())


def test_options_are_turned_until_the_key_stands_there() -> None:
    for key in range(4):
        for place in range(4):
            options = turned(SOUND.options, key, place)
            assert options[place] is SOUND.options[key]
            assert sorted(one.text for one in options) == sorted(one.text for one in SOUND.options)


def test_a_record_holds_the_question_and_its_history() -> None:
    made = make(SOUND, seed=7, name="one")
    record = record_of_made(made, {"study_id": "s1", "ImagePath": ["a.png"]}, {"model": "m"})
    place = "ABCD".index(record["correct_answer"])
    assert record["options"][place] == f"{record['correct_answer']}. {SOUND.options[0].text}"
    assert record[HISTORY]["options"][place] == [4]
    assert record["task_name"] == "Negation Assessment"
    assert record["study_id"] == "s1"


def test_letters_of_the_model_are_taken_off() -> None:
    letters = [WrittenOption(text=f"{letter}) Finding {letter}", bullets=[1]) for letter in "ABCD"]
    found = texts_without_letters(question(options=letters))
    assert found is not None
    assert [one.text for one in found.options] == ["Finding A", "Finding B", "Finding C", "Finding D"]
    assert texts_without_letters(question(options=[*letters[:2], *SOUND.options[:2]])) is None


def test_equal_records_give_equal_bytes() -> None:
    records = {"one": {"b": 1, "a": "ä"}, "two": {}}
    assert file_of(records) == file_of(dict(records))
    assert file_of(records).endswith(b"}\n")


def test_only_findings_and_impression_are_sent() -> None:
    assert sent_text(" Clear lungs.\n", "Normal.") == "Findings: Clear lungs.\nImpression: Normal."
    assert sent_text("", " ") == ""
