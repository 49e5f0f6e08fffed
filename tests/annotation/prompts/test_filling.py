"""Names in double braces are replaced once, and no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.model_calls.kernels.filling import fill, names_in, undeclared, unused


def test_names_are_found_once_each_in_their_order() -> None:
    assert names_in("{{ options }} {{question}} {{options}}") == ["options", "question"]


def test_a_value_is_never_looked_at_again() -> None:
    values = {"question": "What is {{options}} and {{question}}?", "options": "A. {{question}}"}
    filled = fill("{{question}}\n{{options}}", values)
    assert filled == "What is {{options}} and {{question}}?\nA. {{question}}"


def test_what_no_value_is_given_for_stays_as_it_stands() -> None:
    assert fill("{{question}} {{ report }} {key} {{Key}}", {"question": "Q"}) == "Q {{ report }} {key} {{Key}}"


@given(st.text(), st.text())
def test_any_two_values_stand_there_as_they_are(question: str, options: str) -> None:
    assert fill("<{{question}}|{{options}}>", {"question": question, "options": options}) == f"<{question}|{options}>"


def test_undeclared_names_also_those_that_no_variable_can_have() -> None:
    text = "{{question}} {{Question}} {{report}} {{the answer}} {{report}}"
    assert undeclared(text, ["question"]) == ["Question", "report", "the answer"]
    assert undeclared('{"a": {"b": 1}}', []) == []


def test_unused_names() -> None:
    assert unused("{{question}} {{Options}}", ["question", "options"]) == ["options"]
