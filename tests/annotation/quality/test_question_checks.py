"""Each rule: what makes it fire, where, and what does not.

The manual tells of every rule and of every identifier. The data of the rule for comparisons is whole.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.enums import FindingPlace
from annotation.models import Finding
from annotation.questionbank.kernels.identifiers import IDENTIFIERS, NOT_IN_TEXT
from annotation.questionbank.kernels.question_checks import check, prior_words
from annotation.questionbank.kernels.rules import BANKWIDE, CLASSIFIED, RULES, CheckedQuestion, Flaw
from annotation.questionbank.kernels.vocabulary import COMPARISON_PARTS, COMPARISONS
from tests.annotation.quality.comparison_lists import clean, comparing
from tests.architecture.source import ROOT

SOUND: dict[str, Any] = {
    "stem": "Which abnormality is seen on these chest radiographs?",
    "options": ("Left pleural effusion", "Pneumothorax on the right", "Cardiomegaly", "Rib fracture"),
    "key": 0,
    "explanation": "The left costophrenic angle is blunted on both views.",
    "report": "There is blunting of the left costophrenic angle. The heart is of usual size.",
}
COMPARED = (  # of the issue
    "The effusion has increased",
    "The consolidation has cleared",
    "Persistent opacity",
    "A pneumothorax is no longer seen",
    "Larger since yesterday",
    "Redemonstrated cardiomegaly",
    "The tube remains in place",
)


def sound(**changes: Any) -> CheckedQuestion:
    return CheckedQuestion(**{**SOUND, **changes})


def flaws_of(rule: str, **changes: Any) -> list[Flaw]:
    """What one rule finds in the sound question with these changes."""
    return [one for one in check(sound(**changes)) if one.rule == rule]


def places_of(rule: str, **changes: Any) -> list[str]:
    return [one.place.value for one in flaws_of(rule, **changes)]


def options(*texts: str) -> dict[str, Any]:
    return {"options": texts}


REPORT = "There is a small left pleural effusion with adjacent atelectasis of the lower lobe. No pneumothorax."

UPPER = options("Right upper lobe", "Right lower lobe", "Left upper lobe", "Left lower lobe")
FIRES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("duplicate_options", options("Effusion", "The effusion.", "Mass", "Nodule"), ["B"]),
    ("duplicate_options", options("Cardiomegaly", "Enlarged heart", "Mass", "Nodule"), ["B"]),
    ("duplicate_options", options("Pleural fluid", "Mass", "Nodule", "Hydrothorax"), ["D"]),
    (
        "duplicate_options",
        options("Left effusion", "Effusions on the left side", "Left-sided effusion", "Mass"),
        ["B", "C"],
    ),
    ("overlapping_options", options("Effusion", "Small effusion", "Mass", "Nodule"), ["B"]),
    ("overlapping_options", options("10-20 mm", "15-30 mm", "31-40 mm", "41-50 mm"), ["B"]),
    ("longest_is_key", options("A moderately large effusion of the left side", "Mass", "Nodule", "Fracture"), ["A"]),
    ("absolute_terms", options("Always malignant", "Mass", "Nodule", "Fracture"), ["A"]),
    ("all_of_the_above", options("Mass", "Nodule", "Fracture", "All of the above"), ["D"]),
    ("all_of_the_above", options("Mass", "Nodule", "Both A and B", "None of these"), ["C", "D"]),
    ("negative_stem", {"stem": "Which of these is not seen?"}, ["stem"]),
    ("negative_stem", {"stem": "All of these are seen except:"}, ["stem"]),
    ("negative_stem", {"stem": "Which of these isn't seen?"}, ["stem"]),
    ("mentions_prior", {"stem": "Compared to the previous radiograph, what has changed?"}, ["stem"]),
    ("mentions_prior", options("Unchanged effusion", "Mass", "Interval increase of the nodule", "Cyst"), ["A", "C"]),
    ("mentions_prior", {"explanation": "The effusion has worsened since the last exam."}, ["explanation"]),
    ("mentions_report", {"stem": "According to the report, what is seen?"}, ["stem"]),
    ("mentions_report", {"explanation": "It is so, as the radiologist reported it."}, ["explanation"]),
    ("key_in_stem", {"stem": "Beside the left pleural effusion, which finding is seen?"}, ["stem"]),
    ("key_in_stem", {"stem": "Where is the opacity of the right upper lobe?"} | UPPER, ["stem"]),
    ("key_in_stem", {"stem": "The effusion of this patient is called what?"}, ["stem"]),
    ("report_copied", {"stem": "A small left pleural effusion with adjacent what?", "report": REPORT}, ["stem"]),
    ("report_copied", {"explanation": f"We see: {REPORT}", "report": REPORT}, ["explanation"]),
    ("short_explanation", {"explanation": "It is blunted."}, ["explanation"]),
    ("short_explanation", {"explanation": ""}, ["explanation"]),
    ("options_differ_in_kind", options("12 mm", "15 mm", "Cardiomegaly", "20 mm"), ["C"]),
    ("options_differ_in_kind", options("Yes", "No", "Yes, on the left", "Both sides"), ["D"]),
    ("options_differ_in_kind", options("Mass", "Nodule", "The heart is enlarged", "Cyst"), ["C"]),
    ("identifier_name", {"stem": "What did Dr. Quillfeather see?"}, ["stem"]),
    ("identifier_record", {"report": "MRN 77410093. No effusion."}, ["report"]),
]

SILENT: list[tuple[str, dict[str, Any]]] = [
    ("duplicate_options", options("Left upper and right lower", "Right upper and left lower", "Mass", "Nodule")),
    ("overlapping_options", options("Effusion", "No effusion", "Mass", "Nodule")),
    ("overlapping_options", options("10-20 mm", "20-30 mm", "30-40 mm", "40-50 mm")),
    ("longest_is_key", options("Mass", "A moderately large effusion of the left side", "Nodule", "Fracture")),
    ("longest_is_key", {"key": None}),
    ("absolute_terms", options("Only the left lung", "Mass", "Nodule", "Fracture")),
    ("all_of_the_above", options("Opacities above the hilum", "Mass", "Nodule", "All lung zones")),
    ("negative_stem", {"stem": "Which of these is NOT seen?"}),
    ("negative_stem", {"stem": "Which of these is **not** seen?"}),
    ("negative_stem", {"stem": "Which finding is absent?"}),
    ("negative_stem", {"stem": "Which of at least two findings is seen?"}),
    ("mentions_prior", {"stem": "Compared to the previous radiograph, what has changed?", "has_prior": True}),
    ("mentions_prior", options("Prior sternotomy", "Mass", "Nodule", "Cyst")),
    ("mentions_report", {"stem": "A patient reports chest pain. What is seen?"}),
    ("key_in_stem", {"stem": "Is the fracture or the effusion on the left?"}),
    ("report_copied", {"stem": "What is seen in the left lower lobe?", "report": REPORT}),
    ("short_explanation", {"explanation": "x" * 20}),
    ("options_differ_in_kind", options("12 mm", "Mass", "Nodule", "20 mm")),
    ("options_differ_in_kind", options("No tube is visible", "A tube ends low", "A port is seen", "A line is seen")),
]


def test_a_sound_question_has_no_finding() -> None:
    assert check(sound()) == []


def test_a_rule_fires_at_its_place_or_is_silent() -> None:
    assert [(rule, changes, places_of(rule, **changes)) for rule, changes, _places in FIRES] == FIRES
    assert [(rule, flaws_of(rule, **changes)) for rule, changes in SILENT] == [(rule, []) for rule, _changes in SILENT]


def test_every_rule_of_one_question_has_a_case_that_fires() -> None:
    tried = {rule for rule, _changes, places in FIRES if places}
    assert {code for code in RULES if not code.startswith("identifier_")} - {*BANKWIDE, *CLASSIFIED} <= tried
    assert {rule for rule, _changes in SILENT} <= set(RULES)


def test_the_table_says_what_was_found_and_what_to_do() -> None:
    for code, rule in RULES.items():
        assert code == rule.code
        assert rule.version >= 1
        assert rule.label
        assert rule.advice.endswith(".")
        assert len(code) <= (Finding._meta.get_field("rule").max_length or 0)
    assert all(len(place) <= (Finding._meta.get_field("place").max_length or 0) for place in FindingPlace.values())


def test_a_finding_says_what_it_is_about() -> None:
    (found,) = flaws_of("overlapping_options", **options("Effusion", "Small effusion", "Mass", "Nodule"))
    assert found.detail == ("Option B holds all that option A says: both may be right. Make them exclude each other.")


def test_the_shortest_explanation_is_a_setting() -> None:
    assert [one.rule for one in check(sound(), min_explanation=80)] == ["short_explanation"]


def test_a_rule_and_a_place_come_once() -> None:
    found = check(sound(stem="Dr. Quillfeather and Dr. Okonjo saw MRN 77410093 and MRN 77410094: what is not seen?"))
    assert len({(one.rule, one.place) for one in found}) == len(found)


@pytest.mark.parametrize("changes", [{"options": ("", "", "", "")}, {"stem": "", "explanation": ""}])
def test_empty_parts_are_no_error(changes: dict[str, Any]) -> None:
    check(sound(**changes))


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


# --- comparisons in the words that reports use ---
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
