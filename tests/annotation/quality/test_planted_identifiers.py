"""Identifiers planted in made-up questions: where they stand, that they can be repeated, and what the rules miss."""

from __future__ import annotations

import pytest

from annotation.quality.kernels.identifiers import IDENTIFIERS
from annotation.quality.kernels.planted_identifiers import (
    FORMS,
    PlantedForm,
    examine_planted,
    false_alarms_of_carriers,
    planted_texts,
)
from tests.architecture.source import ROOT

MISSED = {  # no rule can know them from other words or numbers
    ("A", "surname alone"),
    ("B", "town alone"),
    ("H", "digits without a word"),
}
IN_PART = {("A", "surname in capitals")}  # three letters, such as KIM, look like an acronym


def test_every_rule_has_a_form() -> None:
    assert {form.letter for form in FORMS} == {one.letter for one in IDENTIFIERS if one.patterns}
    assert len({(form.letter, form.label) for form in FORMS}) == len(FORMS)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.letter} {form.label}")
def test_it_stands_where_it_is_said_to_stand(form: PlantedForm) -> None:
    texts = planted_texts(form, n=20, seed=3)
    words = form.frame.partition("{")[0]
    for text, start, end in texts:
        assert 0 < start < end < len(text)
        assert text[start - len(words) : start] == words
        assert text[start:end].strip() == text[start:end]
    assert texts == planted_texts(form, n=20, seed=3)
    assert texts != planted_texts(form, n=20, seed=4)


def test_no_rule_fires_without_anything_planted() -> None:
    assert false_alarms_of_carriers() == []


def test_what_is_found_and_what_is_missed() -> None:
    found = {(one.letter, one.label): one for one in examine_planted(n=40, seed=1)}
    assert {name for name, one in found.items() if one.found == 0} == MISSED
    assert {name for name, one in found.items() if 0 < one.found < one.n} == IN_PART
    assert all(one.by_own <= one.found <= one.n == 40 for one in found.values())


def test_the_manual_says_how_many_ways_there_are_and_what_is_found() -> None:
    manual = " ".join((ROOT / "docs" / "question-banks.md").read_text(encoding="utf-8").split())
    found = {(one.letter, one.label): one.found for one in examine_planted(n=100, seed=1)}
    assert f"Identifiers of {len(FORMS)} ways of writing" in manual
    assert f"surnames in capitals in {found['A', 'surname in capitals']} %" in manual
    assert {name for name, n in found.items() if n < 100} == MISSED | IN_PART
