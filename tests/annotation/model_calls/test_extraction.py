"""Which option an answer names: rule extract-2, sentence by sentence, and the rules before it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from annotation.model_calls.kernels import extraction, letter_1
from annotation.model_calls.kernels.extraction import (
    RULE,
    RULES,
    answer_in,
    canonical,
    explanation_in,
    extract,
    names_two,
    question_values,
    rotated,
)
from annotation.model_calls.request_bodies import SwappableExam, swapped
from tests.linear_time import slow_shapes

Rule = Callable[[str, Sequence[str]], str]
OPTIONS = ("An aortic knob", "Pneumothorax", "Visible ribs on both sides", "A gastric air bubble")
NAMED = {
    "A": ("A", " A ", "The best answer is A.", "Answer A", "The answer is A, not B", "A is correct.", "A)"),
    "B": (
        *("B.", "**B**", "(b)", "[B]", "'B'", "$B$", "Ｂ", "B - left", "B: left", "B.Pneumothorax", "Answer:B"),
        "Answer B",
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

BOTH = pytest.mark.parametrize("rule", [extract, letter_1.extract])


@BOTH
@pytest.mark.parametrize(("raw", "letter"), [(raw, letter) for letter, raws in NAMED.items() for raw in raws])
def test_an_answer_that_names_an_option(raw: str, letter: str, rule: Rule) -> None:
    assert rule(raw, ()) == letter


@BOTH
@pytest.mark.parametrize("raw", NOTHING)
def test_an_answer_that_names_none_or_two(raw: str, rule: Rule) -> None:
    assert rule(raw, ()) == ""


@BOTH
def test_the_wording_of_one_option_is_that_option(rule: Rule) -> None:
    assert rule("pneumothorax.", OPTIONS) == "B"
    assert rule("None of the above", OPTIONS) == ""
    assert rule("Rib", ("Rib", "rib", "Gas", "Mass")) == ""


@BOTH
def test_a_letter_beyond_the_options_is_none(rule: Rule) -> None:
    assert (rule("D", OPTIONS[:3]), rule("C", OPTIONS[:3])) == ("", "C")


@pytest.mark.parametrize("name", ["extract-2", "letter-1"])
def test_every_expected_letter_of_the_sample_files(shared_data: Path, name: str) -> None:
    with (shared_data / "predictions/expected_extraction.csv").open() as file:
        rows = list(csv.DictReader(file))
    wrong = [row for row in rows if RULES[name](row["response"], ()) != row["expected_letter"]]
    assert (len(rows), wrong) == (374, [])


def test_the_answers_that_were_read_wrong(shared_data: Path) -> None:
    rows = [json.loads(line) for line in (shared_data.parent / "cases/answers/answers.jsonl").open()]
    read = [(one["text"], one["gold"], extract(one["text"], one["options"])) for one in rows]
    assert [one for one in read if one[2] not in ("", one[1])] == [], "another letter than the model's"
    missed = [one for one in read if one[1] != one[2]]
    assert len(missed) <= 0.03 * len(read), missed


# --- what extract-2 reads that the rule before did not, by kind; all name B ---
KINDS = {
    "thoughts": (
        *("perhaps A\n</think>\n\nB", "<thought>The answer is A</thought>B", "◁think▷The answer is A◁/think▷B"),
        "<reasoning>The answer is A.</reasoning><answer>B</answer>",
        "[THINK]The answer is A.[/THINK]The answer is B",
        *("<seed:think>The answer is A</seed:think>B", "<unused94>thought\nThe answer is C.<unused95>It is **B**."),
        "<|channel|>analysis<|message|>Is it A?<|end|><|start|>assistant<|channel|>final<|message|>The answer is B.",
        "analysisThe person asks. The answer is A? No.assistantfinalB",
        "<|begin_of_thought|>The answer is A<|end_of_thought|>\n<|begin_of_solution|>B<|end_of_solution|>",
        *("## Thinking\n\nThe answer is A?\n\n## Final Response\n\nB", "<think>A</think>The answer is B.<think>A"),
    ),
    "marks of a turn, and what nobody sees": (
        *("B<|im_end|>", "Answer: B</s>", "B<end_of_turn>", "B<|eot_id|>", "B\u200b", "\ufeffB", "assistant\nB", "Ⓑ"),
        "✅ B",
    ),
    "a text that goes on": (
        *("Answer: B\n\nQuestion: What is seen?\nAnswer: C", "B\nUser: Why?\nAssistant: A", "B.\nQ: another\nA: C"),
        "The answer is B.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd A? Answer: A",
        "Question: Which finding?\nA. an aortic knob\nB. pneumothorax\nAnswer: B",
    ),
    "wordings": (
        *("The answer is Pneumothorax.", "Final answer: pneumothorax", "<answer>Pneumothorax</answer>"),
        *(r"\boxed{\text{Pneumothorax}}", '{"answer": "Pneumothorax"}', 'The answer is "Pneumothorax" (B)'),
        *("B Pneumothorax", "The lung edge is seen, so the correct answer is **Pneumothorax**."),
    ),
    "fields of JSON": (
        *('{"final_answer": "B"}', '{"answer": {"letter": "B"}}', '{"selected_option": "B"}'),
        '{"Answer": "B. Pneumothorax"}',
        '```json\n{"explanation": "The answer is not A: clear", "answer": "B"}\n```',
        '{"explanation": "he wrote \\"answer\\": \\"A\\"", "answer": "B", "more": "cut',
    ),
    "everyday words": (
        *("Ans: B", "Answer -> B", "Answer → B", "I'd choose B.", "It must be B.", "Select B.", "Thus, B."),
        "Probably B.",
        *("The answer is likely B.", "The correct option appears to be (B).", "My answer would most likely be B."),
        *("- B. Pneumothorax", "* **B** - Pneumothorax", "B (confidence: 85%)", "B, 85%", "<answer>B"),
        "B = Pneumothorax",
        *("Selection: B", "Diagnosis: B", "### Response: B", "B is most likely.", "Option B best describes it."),
        "B\nB\nB",
        *("Between option A and option B, option B is better.", "The answer is not A but B.", "Correct answer - B"),
        "A: incorrect, it is clear.\nB: correct, an edge is seen.\nC: incorrect.\nD: incorrect.",
        "(A) is ruled out, (C) is ruled out, (D) is ruled out. So (B).",
    ),
    "a tag that names no letter": ("<answer>see above</answer> The answer is B.", r"\boxed{} The answer is B"),
    "other languages": (
        *("La bonne réponse est la B.", "La respuesta correcta es B", "A resposta correta é a B"),
        "La risposta corretta è B",
        *("Die richtige Antwort lautet B.", "Rätt svar är B", "Правильный ответ — B", "Đáp án: B", "الإجابة: B"),
        *("正确答案为B", "故选B。", "选B", "答えはBです。", "正解：B", "정답은 B입니다", "정답: B"),
    ),
    "self-correction": (
        *("Answer: A\nWait, I made an error.\nAnswer: B", "The answer is A. Actually, the answer is B."),
        *("\\boxed{A}\nLet me reconsider.\n\\boxed{B}", "At first the answer is A. Final answer: B"),
    ),
}


@pytest.mark.parametrize(("kind", "raw"), [(kind, raw) for kind, raws in KINDS.items() for raw in raws])
def test_an_answer_as_models_write_it(kind: str, raw: str) -> None:
    assert extract(raw, OPTIONS) == "B", f"{kind}: say in docs/models-at-work.md where the rule stops"


@pytest.mark.parametrize(
    "raw",
    [
        *("<think>Let me think. The answer is B", "<unused94>thought\nThe answer is A"),
        "<think>The answer is B</think>",
        *("Answer: hepatitis B", "The answer is Visible", "The finding is a D-dimer", "Line A is in place.", "None"),
        "AB",
        *("As an AI, I cannot interpret images.", '{"answer": ""}', '{"answer": "E"}', "Type B dissection"),
        "It is not B.",
    ],
)
def test_an_answer_that_is_none(raw: str) -> None:
    assert (extract(raw, OPTIONS), names_two(raw, OPTIONS)) == ("", False)


@pytest.mark.parametrize(
    "raw",
    [
        *("A or C", "The answer is A. The answer is B.", r"\boxed{A} or \boxed{B}", '{"answer": "A or B"}'),
        "A: 60%, B: 40%",
        *("Both A and B are correct.", "Answer: An aortic knob (B)", "I am torn between (A) and (C)"),
    ],
)
def test_an_answer_that_names_two(raw: str) -> None:
    assert (extract(raw, OPTIONS), names_two(raw, OPTIONS)) == ("", True)


def test_the_longest_wording_that_fits_is_meant() -> None:
    options = ("Pneumonia", "Pneumonia with effusion", "Edema", "Not applicable")
    found = [
        extract(f"The answer is {text}.", options) for text in ("pneumonia", "pneumonia with effusion", "pneumonitis")
    ]
    assert found == ["A", "B", ""]


PARTS = [
    *("answer is ", "answer: ", "answer (", "answer () ", "final answer ", "final answer is the ", "option "),
    "option a ",
    *("i choose ", "it is ", "not ", "a is not ", "A is the best ", "a or ", "a, ", "a, b", "o, ", "y\n", "e/", "A, "),
    "B) ",
    *("(B) ", "(b)", "B - ", "(", ")", "[", "{", "{}", '"', "'", "“", "*", "**", "_", "`", "$", ",", ". ", "& ", "!"),
    "-",
    *("<answer>", "<answer>B", "</answer>", "<think>", "<think></think>", "<think>x</think>\n", r"\boxed{"),
    r"\boxed{{}",
    *(r"\text{", " ", "\n", "\t", " \n", "\x1f", "\u00a0", "1", "é ", "答案", "ответ ", "Pneumothorax ", "a"),
]
BEFORE = ["", "option a, b", "final answer", "The answer is ", "A", "final answer<think></think>"]


@pytest.mark.sweep
@pytest.mark.parametrize("before", BEFORE)
def test_the_time_of_an_answer_grows_with_its_length_alone(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "HALF", 10**6)  # the budget of an answer would hide what a pattern costs
    monkeypatch.setattr(extraction, "LONGEST_WORDING", 10**6)
    long_options = ("Pneumothorax " * 2_000, *OPTIONS[1:])

    slow = slow_shapes(lambda text: extract(before + text, long_options), PARTS)
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
        ("*_* _. **pneumothorax** ._*", "B"),
    ],
)
def test_a_long_answer_has_the_letter_that_it_always_had(raw: str, letter: str) -> None:
    assert extract(raw, OPTIONS) == letter


@pytest.mark.parametrize(
    ("raw", "letter"),
    [
        *((raw, "B") for raw in ("B", "(b)", "**B**", "<answer>B</answer>", "So: \\boxed{B}", "<think>A</think> B.")),
        *(
            (raw, "")
            for raw in ("The answer is B.", "B. Pneumothorax", "Option B", "x", "E", "<answer>A or B</answer>")
        ),
    ],
)
def test_no_letter_is_taken_out_of_words_by_whole_1(raw: str, letter: str) -> None:
    assert RULES["whole-1"](raw, list("wxyz")) == letter


def test_each_rule_has_its_name() -> None:
    assert (RULE, list(RULES)) == ("extract-2", ["extract-2", "letter-1", "whole-1"])


def test_an_explanation_before_the_answer_may_name_other_options() -> None:
    said = '{"explanation": "The answer is not A, since option B shows no line.", "answer": "C"}'
    assert answer_in(said) == "C"
    assert explanation_in(said) == "The answer is not A, since option B shows no line."
    assert extract(answer_in(said), ["one", "two", "three", "four"]) == "C"


@pytest.mark.parametrize(
    "said", ["B. Pneumothorax", "", '{"answer": 3}', '{"option": "B"}', "{broken", "[1]", "{" * 99]
)
def test_any_other_text_is_the_answer_itself(said: str) -> None:
    assert answer_in(said) == said
    assert explanation_in(said) == ""


TWO, ONE = ("LL", "PA"), ("AP",)


def exams() -> list[SwappableExam]:
    """20 patients with two exams of two views each, and one of another kind."""
    found = [SwappableExam(10 * patient + n, f"p{patient}", TWO) for patient in range(1, 21) for n in (1, 2)]
    return [*found, SwappableExam(999, "p99", ONE)]


def test_every_exam_gets_one_of_another_patient_with_the_same_views() -> None:
    known = exams()
    found = swapped(known, [one.exam for one in known], seed=1)
    patients = {one.exam: one.patient for one in known}
    assert set(found) == {one.exam for one in known} - {999}
    assert all(patients[exam] != patients[other] for exam, other in found.items())
    assert max(Counter(found.values()).values()) <= 2


def test_it_follows_the_seed_and_not_the_order_in_which_exams_come() -> None:
    known = exams()
    wanted = [one.exam for one in known]
    assert swapped(known, wanted, seed=1) == swapped(reversed(known), wanted, seed=1)
    assert swapped(known, wanted, seed=1) != swapped(known, wanted, seed=2)


def test_an_exam_of_a_patient_whom_nobody_knows_is_swapped_with_none() -> None:
    known = [SwappableExam(1, "", TWO), SwappableExam(2, "a", TWO), SwappableExam(3, "b", TWO)]
    assert swapped(known, [1, 2, 3], seed=1) == {2: 3, 3: 2}
    assert swapped(known[:2], [1, 2], seed=1) == {}


SAID_OPTIONS = ["one", "two", "three", "four"]


def test_the_letter_of_a_rotation_leads_back_to_the_option_of_the_bank() -> None:
    for rotation in range(4):
        for place, letter in enumerate("ABCD"):
            found = canonical(letter, rotation)
            assert SAID_OPTIONS["ABCD".index(found)] == rotated(SAID_OPTIONS, rotation)[place]
    assert canonical("", 3) == ""


def test_each_option_stands_once_in_each_place_over_the_four_rotations() -> None:
    shown = [rotated(SAID_OPTIONS, rotation) for rotation in range(4)]
    assert shown[1] == ["two", "three", "four", "one"]
    assert all({row[place] for row in shown} == set(SAID_OPTIONS) for place in range(4))
    found = question_values("Which?", SAID_OPTIONS, 3)
    assert (found["question"], found["options"]) == ("Which?", "A. four\nB. one\nC. two\nD. three")
    assert [found[f"option_{letter}"] for letter in "abcd"] == ["four", "one", "two", "three"]
