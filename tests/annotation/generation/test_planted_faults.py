"""Planted faults: what the rules stop, and that the document says so."""

from __future__ import annotations

from collections import Counter

from annotation.generation.kernels.answer_forms import RULES
from tests.annotation.generation.planted_faults import cases
from tests.annotation.generation.planted_table import BEGIN, DOCUMENT, END, tables


def test_there_are_60_faults_in_12_kinds_and_as_many_without() -> None:
    counts = Counter(one.kind for one in cases() if one.rule)
    assert (len(counts), set(counts.values())) == (12, {5})
    assert sum(not one.rule for one in cases()) == 60
    assert {one.rule for one in cases()} - {""} <= set(RULES)


def test_every_fault_is_stopped_and_nothing_else() -> None:
    assert [one for one in cases() if bool(one.rule) is not bool(one.found)] == []


def test_the_document_says_what_was_measured() -> None:
    written = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written == tables(), "python -m tests.annotation.generation.planted_table --write"
