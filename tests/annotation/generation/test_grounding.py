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
        ({"quote": "heart"}, "quote_too_short"),
        ({"quote": "No pleural effusion.", "statement": "Pleural effusion"}, "polarity_not_stated"),
        ({"quote": "pleural effusion", "statement": "Pleural effusion"}, "quote_not_whole"),
        ({"quote": "pleural effusion", "statement": "Pleural effusion", "polarity": "absent"}, "quote_not_whole"),
        ({"polarity": "absent"}, "polarity_not_stated"),
    ],
)
def test_a_finding_is_left_out_by_rule(changes: dict[str, Any], fault: str) -> None:
    assert ground_bullet(bullet(**changes), REPORT).fault == fault
    assert fault in RULES


STATED = (
    "Findings: There is a small left pleural effusion with atelectasis, and the right lung is clear. No pneumothorax "
    "or rib fracture. Possible nodule in the left apex. The mediastinum is normal. Pneumonia cannot be excluded. The "
    "abnormal heart border is blurred; the trachea is midline.\n"
    "Impression: 1. Cardiomegaly. 2. Rib fracture of the left side."
)


@pytest.mark.parametrize(
    ("quote", "statement", "polarity", "fault"),
    [
        ("There is a small left pleural effusion", "Left effusion", "present", ""),
        ("small left pleural effusion", "Left effusion", "present", ""),  # fillers alone are left out
        ("effusion", "Effusion", "present", "quote_not_whole"),
        ("the right lung is clear", "Clear right lung", "present", ""),
        ("the right lung is clear", "Consolidation of the right lung", "absent", ""),
        ("the right lung is clear", "Consolidation of the right lung", "present", "polarity_not_stated"),
        ("No pneumothorax or rib fracture.", "No pneumothorax", "absent", ""),
        ("No pneumothorax", "Pneumothorax", "absent", ""),
        ("No pneumothorax", "Pneumothorax", "present", "polarity_not_stated"),
        ("pneumothorax", "Pneumothorax", "present", "quote_not_whole"),
        ("normal heart", "Normal heart", "present", "quote_not_found"),  # inside “abnormal heart border”
        ("rib fracture", "Rib fracture", "present", "polarity_not_stated"),
        ("rib fracture", "Rib fracture", "absent", "polarity_not_stated"),  # without its “no”
        ("Rib fracture of the left side.", "Rib fracture", "present", ""),
        ("Possible nodule in the left apex.", "Nodule of the left apex", "present", "only_possible"),
        ("Pneumonia cannot be excluded.", "Pneumonia", "present", "only_possible"),
        ("The mediastinum is normal.", "Widened mediastinum", "present", "polarity_not_stated"),
        ("The mediastinum is normal.", "Widened mediastinum", "absent", ""),
        ("The mediastinum is normal.", "Normal mediastinum", "absent", "polarity_not_stated"),
        ("Cardiomegaly.", "Enlarged heart", "present", ""),
        ("There is a small left pleural effusion", "Right effusion", "present", "other_side"),
    ],
)
def test_a_quote_is_a_whole_statement_and_carries_its_polarity(
    quote: str, statement: str, polarity: str, fault: str
) -> None:
    found = ground_bullet(bullet(quote=quote, statement=statement, polarity=polarity), STATED)
    assert found.fault == fault
    assert not fault or fault in RULES


def test_of_several_places_the_one_counts_that_states_it() -> None:
    report = "Findings: No cardiomegaly. Impression: Cardiomegaly."
    found = ground_bullet(bullet(quote="cardiomegaly.", statement="Cardiomegaly"), report)
    assert (found.fault, found.place) == ("", QuoteSpan(39, 52))


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
