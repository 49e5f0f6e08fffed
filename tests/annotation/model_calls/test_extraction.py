"""Which option an answer names: rule letter-1, sentence by sentence."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from annotation.model_calls.kernels import extraction
from annotation.model_calls.kernels.extraction import RULE, RULES, extract, extract_whole
from tests.linear_time import slow_shapes

OPTIONS = ("An aortic knob", "Pneumothorax", "Visible ribs on both sides", "A gastric air bubble")
NAMED = {
    "A": ("A", " A ", "The best answer is A.", "Answer A", "The answer is A, not B", "A is correct.", "A)"),
    "B": (
        *(
            "B.",
            "**B**",
            "(b)",
            "[B]",
            "'B'",
            "$B$",
            "Ｂ",
            "B - left",
            "B: left",
            "B.Pneumothorax",
            "Answer:B",
            "Answer B",
        ),
        *("The answer is B", "**Answer:** B", "**Final Answer**: **B**", "### Answer\nB", "Let me think.\n\nB"),
        *("<answer> B. Pneumothorax </answer>", "<think>The answer is A</think>\nB", "The answer is $B$."),
        *("Option A is wrong. Option B is right.", "I choose B over A", "The correct answer is (b) because it fits"),
        *("La réponse est B", "Die Antwort ist B.", "答案：B", "A) no B) yes. The answer is B."),
    ),
    "C": (
        *("C, although D is also possible", r"\boxed{\text{C}}", '{"answer": "C"}', "{'answer': 'C', 'why': 'A rib'}"),
        *("Choice (C)", "Correct Answer: C. Effusion", "The correct option is C because the device is seen."),
    ),
    "D": ("It is not (a), it is (d)", "D is the correct answer", "The correct option is: D) Cardiomegaly", "Option D"),
}
NOTHING = (
    *("", "   ", "?", "1", "E", "Answer: E", "Z", "AB", "I", "As an AI model I cannot give medical advice."),
    *("A or C", "A, C", "A and C", "A/B", "A. B.", "Both A and B are right", "(A) yes (B) no", "A. no\nB. yes"),
    *("The answer is either A or B.", "Answer: (B) and (C)", r"\boxed{A} or \boxed{B}", "The answer is E. A is wrong."),
    *("The answer is not B.", "The answer cannot be B", "It isn't option B", "Answer: none of A, B, C or D"),
    *("A pneumothorax is present.", "The answer is a pneumothorax", "Answer a question", "A is seen"),
    *("Kerley B lines are visible", "Vitamin D deficiency", "C7 fracture", "Hepatitis B is likely"),
)


@pytest.mark.parametrize(("raw", "letter"), [(raw, letter) for letter, raws in NAMED.items() for raw in raws])
def test_an_answer_that_names_an_option(raw: str, letter: str) -> None:
    assert extract(raw) == letter


@pytest.mark.parametrize("raw", NOTHING)
def test_an_answer_that_names_none_or_two(raw: str) -> None:
    assert extract(raw) == ""


def test_the_wording_of_one_option_is_that_option() -> None:
    assert extract("pneumothorax.", OPTIONS) == "B"
    assert extract("None of the above", OPTIONS) == ""
    assert extract("Rib", ("Rib", "rib", "Gas", "Mass")) == ""


def test_a_letter_beyond_the_options_is_none() -> None:
    assert (extract("D", OPTIONS[:3]), extract("C", OPTIONS[:3])) == ("", "C")


def test_every_expected_letter_of_the_sample_files(shared_data: Path) -> None:
    with (shared_data / "predictions/expected_extraction.csv").open() as file:
        rows = list(csv.DictReader(file))
    wrong = [row for row in rows if extract(row["response"]) != row["expected_letter"]]
    assert (RULE, len(rows), wrong) == ("letter-1", 374, [])


PARTS = [
    *(
        "answer is ",
        "answer: ",
        "answer (",
        "answer () ",
        "final answer ",
        "final answer is the ",
        "option ",
        "option a ",
    ),
    *(
        "i choose ",
        "it is ",
        "not ",
        "a is not ",
        "A is the best ",
        "a or ",
        "a, ",
        "a, b",
        "o, ",
        "y\n",
        "e/",
        "A, ",
        "B) ",
    ),
    *(
        "(B) ",
        "(b)",
        "B - ",
        "(",
        ")",
        "[",
        "{",
        "{}",
        '"',
        "'",
        "“",
        "*",
        "**",
        "_",
        "`",
        "$",
        ",",
        ". ",
        "& ",
        "!",
        "-",
    ),
    *(
        "<answer>",
        "<answer>B",
        "</answer>",
        "<think>",
        "<think></think>",
        "<think>x</think>\n",
        r"\boxed{",
        r"\boxed{{}",
    ),
    *(r"\text{", " ", "\n", "\t", " \n", "\x1f", "\u00a0", "1", "é ", "答案", "ответ ", "Pneumothorax ", "a"),
]
BEFORE = ["", "option a, b", "final answer", "The answer is ", "A", "final answer<think></think>"]


@pytest.mark.parametrize("before", BEFORE)
def test_the_time_of_an_answer_grows_with_its_length_alone(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "HALF", 10**6)  # the budget of an answer would hide what a pattern costs
    monkeypatch.setattr(extraction, "LONGEST_WORDING", 10**6)
    extraction._letter_of.cache_clear()
    long_options = ("Pneumothorax " * 2_000, *OPTIONS[1:])

    def letter(text: str) -> str:
        extraction._letter_of.cache_clear()
        return extract(before + text, long_options)

    slow = slow_shapes(letter, PARTS)
    assert slow == [], "these texts are gone over again and again: make the pattern possessive, or stop earlier"


def test_no_more_of_an_answer_is_read_than_its_budget() -> None:
    middle = " The answer is C." * 5_000
    assert extract(f"The answer is B. {'x' * 10_000}{middle}{'x' * 10_000}") == "B"


@pytest.mark.parametrize(
    ("raw", "letter"),
    [
        ("option a, b" + ")" * 200, ""),
        ("y\n" * 300 + "B", ""),
        ("(b) " * 300, "B"),
        ("final answer" + "`" * 300 + "c" + "`" * 300, "C"),
        ("It is not (b). " + "(b) " * 20, "B"),
        ("(A) " + "(b) " * 20, "A"),
        ("Not" + "<think></think>" * 30 + "(a)", ""),
        ("Not" + "<think></think>" * 100 + "(a)", "A"),
        ("*_* _. **pneumothorax** ._*", "B"),
    ],
)
def test_a_long_answer_has_the_letter_that_it_always_had(raw: str, letter: str) -> None:
    assert extract(raw, OPTIONS) == letter


# --- the rule whole-1 -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "raw", ["B", "(b)", "**B**", "<answer>B</answer>", "So: \\boxed{B}", "<think>A or C</think> B."]
)
def test_an_answer_that_is_a_letter_alone(raw: str) -> None:
    assert extract_whole(raw, list("wxyz")) == extract(raw, list("wxyz")) == "B"


@pytest.mark.parametrize(
    "raw", ["The answer is B.", "B. Pneumothorax", "Option B", "x", "E", "<answer>A or B</answer>"]
)
def test_no_letter_is_taken_out_of_words(raw: str) -> None:
    assert extract_whole(raw, list("wxyz")) == ""


def test_each_rule_has_its_name() -> None:
    assert {"letter-1": extract, "whole-1": extract_whole} == RULES
