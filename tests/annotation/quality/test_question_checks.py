"""Each rule: what makes it fire, where, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.enums import FindingPlace
from annotation.models import Finding
from annotation.questionbank.kernels.question_checks import check
from annotation.questionbank.kernels.rules import BANKWIDE, CLASSIFIED, RULES, CheckedQuestion, Flaw

SOUND: dict[str, Any] = {
    "stem": "Which abnormality is seen on these chest radiographs?",
    "options": ("Left pleural effusion", "Pneumothorax on the right", "Cardiomegaly", "Rib fracture"),
    "key": 0,
    "explanation": "The left costophrenic angle is blunted on both views.",
    "report": "There is blunting of the left costophrenic angle. The heart is of usual size.",
}


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


@pytest.mark.parametrize(("rule", "changes", "places"), FIRES)
def test_a_rule_fires_at_its_place(rule: str, changes: dict[str, Any], places: list[str]) -> None:
    assert places_of(rule, **changes) == places


@pytest.mark.parametrize(("rule", "changes"), SILENT)
def test_a_rule_is_silent(rule: str, changes: dict[str, Any]) -> None:
    assert flaws_of(rule, **changes) == []


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
