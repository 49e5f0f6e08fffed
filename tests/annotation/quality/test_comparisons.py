"""Comparisons in the words that reports use: what the rule finds, what it leaves alone, and that its data is whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from annotation.questionbank.kernels.question_checks import prior_words
from annotation.questionbank.kernels.vocabulary import COMPARISON_PARTS, COMPARISONS
from tests.annotation.quality.comparison_lists import clean, comparing
from tests.annotation.quality.test_question_checks import options, places_of

COMPARED = (  # of the issue
    "The effusion has increased",
    "The consolidation has cleared",
    "Persistent opacity",
    "A pneumothorax is no longer seen",
    "Larger since yesterday",
    "Redemonstrated cardiomegaly",
    "The tube remains in place",
)


def test_all_phrases_are_found() -> None:
    assert len(comparing()) == 200
    assert [one for one in comparing() if not prior_words(one)] == []


def test_few_clean_sentences_raise_an_alarm() -> None:
    texts = clean()
    alarms = [one for one in texts if prior_words(one)]
    assert len(texts) > 500
    assert len(alarms) < 0.02 * len(texts), alarms


@pytest.mark.parametrize("words", COMPARED)
def test_stem_option_and_explanation_are_looked_at(words: str) -> None:
    assert places_of("mentions_prior", stem=f"{words}. What is it?") == ["stem"]
    assert places_of("mentions_prior", **options("Mass", words, "Nodule", "Cyst")) == ["B"]
    assert places_of("mentions_prior", explanation=f"It is so, for this is plain to see. {words}.") == ["explanation"]


def test_lines_and_capitals_count_for_nothing() -> None:
    assert prior_words("The effusion HAS\n   INCREASED.") == "HAS INCREASED"
    assert prior_words("Nothing. Unchanged heart, which has grown.") == "Unchanged"


def test_each_part_is_named_and_there() -> None:
    named = set(re.findall(r"<([A-Z]+\d?)>", COMPARISONS + "".join(COMPARISON_PARTS.values())))
    assert named == set(COMPARISON_PARTS)


def test_the_sample_has_few(shared_data: Path) -> None:
    """Six of its 744 texts, and each names another day or what is new."""
    records = json.loads((shared_data / "rexvqa_sample.json").read_text(encoding="utf-8")).values()
    texts = [t for one in records for t in (one["question"], *one["options"], one["correct_answer_explanation"])]
    found = [words for text in texts if (words := prior_words(text))]
    assert (len(texts), sorted(map(str.lower, found))) == (744, ["earlier pa image", "later image", *["new"] * 4])
