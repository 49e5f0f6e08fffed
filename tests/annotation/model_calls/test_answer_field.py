from __future__ import annotations

import pytest

from annotation.model_calls.kernels.extraction import answer_in, explanation_in, extract


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
