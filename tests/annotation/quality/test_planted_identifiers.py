"""Identifiers planted in made-up questions: what the rules find, and what they miss."""

from __future__ import annotations

from annotation.questionbank.kernels.identifiers import IDENTIFIERS, spot_identifiers
from tests.annotation.quality.planted_identifiers import CARRIERS, FORMS, found_of, planted_texts
from tests.architecture.source import ROOT

MISSED = {  # no rule can know them from other words or numbers
    ("A", "surname alone"),
    ("B", "town alone"),
    ("H", "digits without a word"),
}
IN_PART = {("A", "surname in capitals")}  # three letters, such as KIM, look like an acronym


def test_every_rule_has_a_form_that_stands_where_it_is_said_to_stand() -> None:
    assert {form.letter for form in FORMS} == {one.letter for one in IDENTIFIERS if one.patterns}
    for form in FORMS:
        before, _planted = form.written.split("<")
        for text, start, end in planted_texts(form, n=20, seed=3):
            assert text[start - len(before) : start] == before
            assert text[start:end].strip() == text[start:end] != ""


def test_no_rule_fires_without_anything_planted() -> None:
    assert [one for one in CARRIERS if spot_identifiers(one.format("as shown"))] == []


def test_what_is_found_and_what_is_missed_is_what_the_manual_says() -> None:
    found = {(form.letter, form.label): found_of(form, n=100, seed=1).count or 0 for form in FORMS}
    assert {name for name, n in found.items() if n == 0} == MISSED
    assert {name for name, n in found.items() if 0 < n < 100} == IN_PART
    manual = " ".join((ROOT / "docs" / "question-banks.md").read_text(encoding="utf-8").split())
    assert f"Identifiers of {len(FORMS)} ways of writing" in manual
    assert f"surnames in capitals in {found['A', 'surname in capitals']} %" in manual
