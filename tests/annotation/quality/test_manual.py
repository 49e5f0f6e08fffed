"""The manual tells of every rule and of every identifier."""

from __future__ import annotations

import re

from annotation.questionbank.kernels.identifiers import IDENTIFIERS, NOT_IN_TEXT
from annotation.questionbank.kernels.rules import RULES
from tests.architecture.source import ROOT

MANUAL = (ROOT / "docs" / "question-banks.md").read_text(encoding="utf-8")


def test_each_rule_has_a_line() -> None:
    told = set(re.findall(r"^\| `([a-z_]+)` \|", MANUAL.partition("## Checks of the wording")[2], re.MULTILINE))
    assert {code for code in RULES if not code.startswith("identifier_")} == told & set(RULES)


def test_each_identifier_has_a_line() -> None:
    lines = re.findall(r"^\| ([A-R](?:, [A-R])*) \| (.*) \|$", MANUAL, re.MULTILINE)
    letters = {letter: words for named, words in lines for letter in named.split(", ")}
    assert sorted(letters) == [one.letter for one in IDENTIFIERS]
    assert {letter for letter, words in letters.items() if NOT_IN_TEXT in words} == {
        one.letter for one in IDENTIFIERS if not one.patterns
    }
