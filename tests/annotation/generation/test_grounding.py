"""What a finding and a question must stand on.

Planted faults: what the rules stop, and that the document says so.
"""

from __future__ import annotations

from collections import Counter
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
    ground_bullet,
    places_of_quote,
)
from tests.annotation.generation.planted_faults import cases
from tests.annotation.generation.planted_table import BEGIN, DOCUMENT, END, tables

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
        "explanation": "Both costophrenic angles are sharp.",
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
    place = next(places_of_quote(quote, REPORT), None)
    assert place is not None
    assert REPORT[slice(*place)] == found


@pytest.mark.parametrize(
    "quote", ["The heart is enlarged", "The heart, enlarged.", "Heart is slightly enlarged", "enlarged … effusion", " "]
)
def test_everything_else_counts(quote: str) -> None:
    is_there = quote == "The heart is enlarged"
    assert any(places_of_quote(quote, REPORT)) is is_there


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
        ({"quote": "is"}, "quote_too_short"),
        ({"quote": "heart"}, "quote_not_whole"),
        ({"statement": "Fracture of the clavicle"}, "statement_not_in_quote"),
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
    "Impression: 1. Cardiomegaly. 2. Rib fracture of the left side. The sternal wires are intact. The line does not "
    "reach the atrium. The trachea is not deviated. The lungs are free of masses. Pleural spaces: Clear. Cervical "
    "ribs: none."
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
        ("The sternal wires are intact.", "Sternal wires", "present", ""),  # what is called normal is there
        ("The sternal wires are intact.", "Sternal wires", "absent", "polarity_not_stated"),
        ("The line does not reach the atrium.", "Line", "absent", "polarity_not_stated"),
        ("The trachea is not deviated.", "Deviation of the trachea", "absent", ""),
        ("The lungs are free of masses.", "No mass", "absent", ""),
        ("Pleural spaces: Clear.", "Fluid in the pleural space", "present", "polarity_not_stated"),
        ("Cervical ribs: none.", "Cervical ribs", "present", "polarity_not_stated"),
        ("Cervical ribs: none.", "No cervical rib", "absent", ""),
        ("There is a small left pleural effusion", "Right effusion", "present", "contradicts_quote"),
        ("There is a small left pleural effusion", "Large left effusion", "present", "contradicts_quote"),
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


SEEN, LIKELY, WHERE = "Which finding is present?", "What is the most likely diagnosis?", "Where is the nodule?"


@pytest.mark.parametrize(
    ("task", "stem", "stands_on", "fault"),
    [
        ("presence", SEEN, ([1], [4], [5], [4]), ""),
        ("presence", SEEN, ([4], [1], [5], [4]), "key_not_present"),
        ("presence", SEEN, ([1, 4], [5], [5], [4]), "key_not_present"),
        ("presence", SEEN, ([1], [2], [5], [4]), "distractor_not_absent"),
        ("presence", SEEN, ([1], [2], [3], [3]), "distractor_not_absent"),
        ("presence", SEEN, ([1], [4, 2], [5], [4]), "distractor_not_absent"),
        ("presence", "Which finding is ABSENT?", ([4], [1], [2], [3]), "asks_for_absence"),
        ("presence", "Which of these is not seen?", ([4], [1], [2], [3]), "asks_for_absence"),
        ("location", "All of these are seen except", ([4], [1], [2], [3]), "asks_for_absence"),
        ("differential", "Which finding is ABSENT?", ([1], [4], [4], [5]), "asks_for_absence"),
        ("negation", SEEN, ([4], [1], [2], [3]), "asks_for_presence"),
        ("differential", LIKELY, ([1], [4], [5], [4]), ""),
        ("differential", LIKELY, ([1], [1], [1], [1]), ""),  # four readings of one finding
        ("differential", LIKELY, ([4], [1], [5], [2]), "key_not_present"),
        ("differential", LIKELY, ([1], [2], [3], [2]), "several_right"),
        ("differential", SEEN, ([1], [2], [5], [4]), "distractor_not_absent"),
        ("location", WHERE, ([2], [1], [3], [2]), ""),
        ("location", WHERE, ([4], [1], [3], [2]), "key_not_present"),
        ("geometric", SEEN, ([1], [2], [3], [3]), "distractor_not_absent"),
    ],
)
def test_one_option_alone_is_right_in_every_task(
    task: str, stem: str, stands_on: tuple[list[int], ...], fault: str
) -> None:
    assert fault_of(question(*stands_on, task=task, stem=stem), BULLETS) == fault
    assert not fault or fault in RULES


def written(*options: tuple[str, int], **changes: Any) -> WrittenQuestion:
    return question(options=[WrittenOption(text=text, bullets=[number]) for text, number in options], **changes)


STATEMENTS = {
    1: "The heart is enlarged",
    2: "A nodule in the right upper lobe",
    3: "The left hilum is prominent",
    4: "No pleural effusion",
    5: "No pneumothorax",
}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ((("Right upper lobe", 2), ("Left hilum", 3), ("Behind the heart", 1), ("Lower lobe", 2)), ""),
        ((("Right upper lobe", 2), ("Prominent left hilum", 3), ("Lingula", 2), ("Lower lobe", 2)), "several_right"),
        ((("Right upper lobe", 2), ("No pleural effusion", 4), ("Lingula", 2), ("Lower lobe", 2)), "several_right"),
    ],
)
def test_a_distractor_that_states_a_finding_of_the_report_is_right(
    options: tuple[tuple[str, int], ...], fault: str
) -> None:
    assert fault_of(written(*options, task="location", stem=WHERE), BULLETS, STATEMENTS) == fault


def test_an_option_may_itself_deny() -> None:
    """“No pneumothorax” is right where it is absent, and wrong where it is there."""
    sound = (("Enlarged heart", 1), ("Pleural effusion", 4), ("Pneumothorax", 5), ("No nodule", 2))
    assert fault_of(written(*sound, task="presence", stem=SEEN), BULLETS) == ""
    twice = (("Enlarged heart", 1), ("Pleural effusion", 4), ("No pneumothorax", 5), ("No nodule", 2))
    assert fault_of(written(*twice, task="presence", stem=SEEN), BULLETS) == "distractor_not_absent"
    absent = (("No effusion", 4), ("Enlarged heart", 1), ("Nodule", 2), ("Prominent hilum", 3))
    assert fault_of(written(*absent), BULLETS) == "negation_key_not_absent"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pleural fluid", "Hydrothorax"),
        ("Cardiomegaly", "Enlarged heart"),
        ("Left-sided effusions", "Effusion on the left"),
        ("Pulmonary oedema", "Lung edema"),
        ("Chest drain", "Thoracostomy tube"),
        ("Lung oedema", "Pulmonary edema"),
        ("Lung masses", "Pulmonary mass"),
        ("Dilated bronchi", "Bronchiectasis"),
        ("Enlarged heart", " enlarged  HEART"),
    ],
)
def test_synonyms_are_equal_options(one: str, other: str) -> None:
    options = ((one, 4), ("Rib fracture", 1), (other, 2), ("Mass", 3))
    assert fault_of(written(*options), BULLETS) == "equal_options"


LETTERS = (
    "A is right, B and C are not.",
    "The first option fits the images best.",
    "Option B is wrong here.",
    "The answer is (C).",
    "Choice: d fits the images best.",
    "Unlike C, the key fits.",
    "It is not A.",
    "A: the angles are sharp.",
    "Options 1 and 2 are seen.",
    "The second is not seen.",
    "The last one would be round.",
    "a) is right.",
    "Number 3 is right.",
)
NO_LETTERS = (
    "Vitamin D and hepatitis B say nothing; a finding in lobe A is not meant.",
    "A small effusion is seen. A nodule lies above it.",
    "Kerley B lines are seen, and the first rib is broken.",
    "The answer is a pneumothorax, and the other options are not seen.",
    "The C spine and C7 are not seen; a D-dimer was not taken.",
)


def test_no_text_names_a_letter_or_place_that_will_be_drawn() -> None:
    """Other letters and articles name no option."""
    sound: tuple[list[int], ...] = ([4], [1], [2], [3])
    for words in LETTERS:
        assert fault_of(question(*sound, explanation=words), BULLETS) == "names_letter", words
        assert fault_of(question(*sound, stem=f"Which is absent? {words}"), BULLETS) == "names_letter", words
    for words in NO_LETTERS:
        assert fault_of(question(*sound, explanation=words), BULLETS) == "", words


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("According to the report the angles are sharp.", "mentions_report"),
        ("The report states it.", "mentions_report"),
        ("The findings describe sharp angles, as the reporting physician wrote.", "mentions_report"),
        ("Per the impression the angles are sharp.", "mentions_report"),
        ("Ring 030 4567 8812 for the sharp angles.", "identifier"),
        ("The oedema has receded.", "mentions_prior"),
        ("The angles are more blunted than they were.", "mentions_prior"),
        ("As described in the radiology report, it is clear.", "mentions_report"),
        ("Finding number 4 says so.", "mentions_report"),
        ("Dr. Quillfeather saw sharp angles.", "identifier"),
        ("Zora Quillfeather has sharp angles.", "identifier"),
        ("The angles were sharp on 03.02.2024.", "identifier"),
        ("Call 617 555 0134 for the sharp angles.", "identifier"),
        ("The angles of MRN 77410093 are sharp.", "identifier"),
        ("The effusion has cleared.", "mentions_prior"),
        ("The angles remain in place, which is persistent.", "mentions_prior"),
    ],
)
def test_what_no_text_of_a_model_may_say(words: str, fault: str) -> None:
    assert fault_of(question([4], [1], [2], [3], explanation=words), BULLETS) == fault
    assert fault_of(question([4], [1], [2], [3], stem=f"Which finding is absent? {words}"), BULLETS) == fault
    assert fault in RULES


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"stem": "Given the enlarged heart, which finding is present?"}, "key_in_stem"),
        ({"stem": "The cardiac silhouette is large. Which is present: cardiomegaly?"}, "key_in_stem"),
        ({"stem": "Which finding is present in this 3 cm lesion?"}, "number_not_stated"),
        ({"explanation": "The ratio is high, and the tube ends 4 cm above the carina."}, "number_not_stated"),
        ({"explanation": "More than 50 % of the chest is heart."}, ""),
    ],
)
def test_stem_and_explanation_of_a_question_of_presence(changes: dict[str, str], fault: str) -> None:
    options = (("Enlarged heart", 1), ("Pleural effusion", 4), ("Pneumothorax", 5), ("Effusion of both sides", 4))
    asked = written(*options, **{"task": "presence", "stem": SEEN} | changes)
    assert fault_of(asked, BULLETS, STATEMENTS) == fault


def test_options_agree_with_their_findings_and_refer_to_no_others() -> None:
    sides = (("Right hilum", 3), ("Left hilum", 3), ("Left apex", 3), ("Right base", 3))
    asked = written(*sides, task="location", stem="Where is the prominence?")
    assert fault_of(asked, BULLETS, STATEMENTS) == "contradicts_finding", "the key is on the side of its finding"
    other = (("Enlarged heart", 1), ("Pleural effusion", 5), ("Pneumothorax", 4), ("Pleural fluid of the left", 4))
    assert fault_of(written(*other, task="presence", stem=SEEN), BULLETS, STATEMENTS) == "another_finding"
    both = (("Pleural effusion", 4), ("Enlarged heart", 1), ("Nodule", 2), ("Both of these", 3))
    assert fault_of(written(*both), BULLETS) == "refers_to_options"


def test_no_label_holds_a_number_of_a_person() -> None:
    sound = question([4], [1], [2], [3], category="Heart and Great Vessels", subcategory="Pleural Effusion")
    assert fault_of(sound, BULLETS) == ""
    assert fault_of(question([4], [1], [2], [3], question_class="MRN 77410093"), BULLETS) == "identifier"


def test_each_rule_has_a_version_and_a_sentence() -> None:
    assert all(rule.version >= 1 and rule.sentence.endswith(".") for rule in RULES.values())


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
