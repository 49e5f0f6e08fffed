"""What a finding and a question must stand on."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.call_enums import Polarity
from annotation.generation.kernels.answer_forms import (
    RULES,
    QuoteSpan,
    WrittenBullet,
    WrittenOption,
    WrittenQuestion,
    fault_of,
    find_quote,
    ground_bullet,
)

REPORT = "Findings: The heart is\n  enlarged. No pleural effusion.\nImpression: Große Struma, cardiomegaly."
BULLETS = {1: Polarity.PRESENT, 2: Polarity.PRESENT, 3: Polarity.PRESENT, 4: Polarity.ABSENT, 5: Polarity.ABSENT}


def bullet(**changes: Any) -> WrittenBullet:
    given: dict[str, Any] = {
        "quote": "The heart is enlarged.",
        "statement": "Enlarged heart",
        "polarity": "present",
        "compares_with_prior": False,
    }
    return WrittenBullet(**given | changes)


def question(*stands_on: list[int], **changes: Any) -> WrittenQuestion:
    """The first option is the key."""
    given: dict[str, Any] = {
        "task": "negation",
        "stem": "Which finding is absent?",
        "options": [WrittenOption(text=f"Finding {n}", bullets=numbers) for n, numbers in enumerate(stands_on)],
        "key": "A",
        "explanation": "The report states that there is no pleural effusion.",
    }
    return WrittenQuestion(**given | changes)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The heart is enlarged.", "The heart is\n  enlarged."),
        ("  the HEART is\tenlarged ", "The heart is\n  enlarged"),
        ("grosse struma", "Große Struma"),  # one character becomes two, and the place still fits
        ("The heart is enlarged. No pleural", "The heart is\n  enlarged. No pleural"),
    ],
)
def test_white_space_and_case_count_for_nothing(quote: str, found: str) -> None:
    place = find_quote(quote, REPORT)
    assert place is not None
    assert REPORT[slice(*place)] == found


@pytest.mark.parametrize(
    "quote", ["The heart is enlarged", "The heart, enlarged.", "Heart is slightly enlarged", "enlarged … effusion", " "]
)
def test_everything_else_counts(quote: str) -> None:
    is_there = quote == "The heart is enlarged"
    assert (find_quote(quote, REPORT) is not None) is is_there


def test_a_grounded_finding_has_its_place() -> None:
    found = ground_bullet(bullet(), REPORT)
    assert (found.place, found.fault, found.polarity) == (QuoteSpan(10, 34), "", Polarity.PRESENT)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"quote": "A fracture of the left clavicle."}, "quote_not_found"),
        ({"compares_with_prior": True}, "compares_with_prior"),
        ({"statement": "The heart is larger than on the previous radiograph"}, "compares_with_prior"),
        ({"statement": "Unchanged cardiomegaly"}, "compares_with_prior"),
    ],
)
def test_a_finding_is_left_out_by_rule(changes: dict[str, Any], fault: str) -> None:
    assert ground_bullet(bullet(**changes), REPORT).fault == fault
    assert fault in RULES


def test_a_sound_negation_question_stands() -> None:
    assert fault_of(question([4], [1], [2], [3]), BULLETS) == ""


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        (question([1], [2], [3], [2]), "negation_key_not_absent"),
        (question([4, 1], [2], [3], [2]), "negation_key_not_absent"),
        (question([4], [1], [2], [5]), "negation_distractor_not_present"),
        (question([4], [1], [2], [5, 3]), "negation_distractor_not_present"),
        (question([4], [1], [2], []), "option_without_bullet"),
        (question([4], [1], [2], [9]), "unknown_bullet"),
        (question([4], [1], [2], [0]), "unknown_bullet"),
    ],
)
def test_a_question_is_not_made_where_its_options_stand_on_nothing(asked: WrittenQuestion, fault: str) -> None:
    assert fault_of(asked, BULLETS) == fault
    assert fault in RULES


def test_other_tasks_may_offer_what_is_absent() -> None:
    assert fault_of(question([1], [4], [5], [4], task="presence"), BULLETS) == ""


def test_no_two_options_say_the_same() -> None:
    options = [
        WrittenOption(text="Pleural effusion", bullets=[4]),
        WrittenOption(text="Enlarged heart", bullets=[1]),
        WrittenOption(text=" enlarged  HEART", bullets=[2]),
        WrittenOption(text="Nodule", bullets=[3]),
    ]
    assert fault_of(question(options=options), BULLETS) == "equal_options"


@pytest.mark.parametrize("words", ["Option B is wrong here.", "The answer is (C).", "Choice: d fits the images best."])
def test_no_text_names_a_letter_that_will_be_drawn(words: str) -> None:
    assert fault_of(question([4], [1], [2], [3], explanation=words), BULLETS) == "names_letter"
    assert fault_of(question([4], [1], [2], [3], stem=words), BULLETS) == "names_letter"


def test_vitamin_d_is_no_letter_of_an_option() -> None:
    words = "Vitamin D and hepatitis B say nothing; a finding in lobe A is not meant."
    assert fault_of(question([4], [1], [2], [3], explanation=words), BULLETS) == ""


def test_each_rule_has_a_version_and_a_sentence() -> None:
    assert all(rule.version >= 1 and rule.sentence.endswith(".") for rule in RULES.values())
