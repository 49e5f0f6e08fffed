"""The two answers: their schemas, and what is read of answers that keep to them or do not.

The key falls on a drawn letter, and a question becomes the record of a file.

What is denied, possible or called normal: the published examples, and sentences of chest reports.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from annotation.generation.kernels.answer_forms import (
    BULLETS_SCHEMA,
    HISTORY,
    MOST_QUESTIONS,
    QUESTIONS_SCHEMA,
    NotInForm,
    WrittenBullet,
    WrittenOption,
    WrittenQuestion,
    drawn_place,
    file_of,
    make,
    read_bullets,
    read_questions,
    record_of_made,
    sent_text,
    texts_without_letters,
    turned,
)
from annotation.generation.kernels.negation import Stated, how_stated, sentences, stated_words
from tests.annotation.generation.test_grounding import question

BULLET = {
    "quote": "No effusion.",
    "statement": "No pleural effusion",
    "polarity": "absent",
    "compares_with_prior": False,
    "location": "",
}
QUESTION = {
    "task": "negation",
    "stem": "Which finding is absent?",
    "options": [{"text": f"Finding {n}", "bullets": [n]} for n in (1, 2, 3, 4)],
    "key": "C",
    "explanation": "Both costophrenic angles are sharp.",
    "category": "Pleura",
    "subcategory": "",
    "question_class": "Detection",
    "difficulty": "easy",
}


def test_what_is_asked_for_is_read() -> None:
    (bullet,) = read_bullets(json.dumps({"bullets": [BULLET]}))
    assert (bullet.quote, bullet.polarity) == ("No effusion.", "absent")
    (question,) = read_questions(json.dumps({"questions": [QUESTION]}))
    assert question.options[question.key_place].bullets == [3]


def test_what_stands_around_the_object_is_left_out_and_an_empty_list_is_an_answer() -> None:
    for wrapped in ("```json\n{}\n```", "<think>{{maybe}}</think>{}", "Here you are:\n{}\nGood luck!"):
        assert len(read_bullets(wrapped.replace("{}", json.dumps({"bullets": [BULLET]})))) == 1, wrapped
    assert read_bullets('{"bullets": []}') == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I cannot help with that.",
        "[1, 2]",
        '{"bullets": [',
        '{"bullets": {}}',
        '{"findings": []}',
        json.dumps({"bullets": [{**BULLET, "polarity": "maybe"}]}),
        json.dumps({"bullets": [{**BULLET, "quote": ""}]}),
        json.dumps({"bullets": [{**BULLET, "quote": "No\0 effusion"}]}),
        json.dumps({"bullets": [{**BULLET, "compares_with_prior": "no"}]}),
        '{"bullets": [{"quote": "\\ud800", "statement": "x", "polarity": "absent", "compares_with_prior": false}]}',
        "{" * 100_000 + "}",
    ],
)
def test_another_form_is_refused(answer: str) -> None:
    with pytest.raises(NotInForm):
        read_bullets(answer)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": QUESTION["options"][:3]},
        {"options": [*QUESTION["options"], {"text": "Fifth", "bullets": [1]}]},
        {"options": [{"text": "Finding", "bullets": ["1"]}] * 4},
        {"key": "E"},
        {"key": 2},
        {"task": "essay"},
        {"stem": ""},
        {"category": "x" * 201},
        {"difficulty": "very hard"},
    ],
)
def test_a_question_of_another_form_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(NotInForm):
        read_questions(json.dumps({"questions": [{**QUESTION, **changes}]}))


def test_the_schemas_ask_for_what_is_read_in_its_order() -> None:
    bullets = json.loads(BULLETS_SCHEMA)["properties"]["bullets"]
    assert tuple(bullets["items"]["properties"]) == WrittenBullet.__struct_fields__
    assert bullets["maxItems"] == 40
    questions = json.loads(QUESTIONS_SCHEMA)["properties"]["questions"]
    assert tuple(questions["items"]["properties"]) == WrittenQuestion.__struct_fields__
    options = questions["items"]["properties"]["options"]
    assert tuple(options["items"]["properties"]) == WrittenOption.__struct_fields__
    assert questions["maxItems"] == MOST_QUESTIONS


@pytest.mark.parametrize("schema", [BULLETS_SCHEMA, QUESTIONS_SCHEMA])
def test_every_object_of_a_schema_is_closed_and_asks_for_all(schema: str) -> None:
    """As endpoints that are strict about schemas want it."""

    def check(part: Any) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False
                assert part["required"] == list(part["properties"])
            for member in part.values():
                check(member)

    check(json.loads(schema))


SOUND = question([4], [1], [2], [3])


def test_the_same_seed_and_name_draw_the_same_letter() -> None:
    assert [drawn_place(7, f"{n}") for n in range(12)] == [3, 2, 3, 0, 3, 3, 1, 0, 2, 3, 0, 1]  # of letter-1, for good
    assert [drawn_place(7, f"{n}") for n in range(50)] != [drawn_place(8, f"{n}") for n in range(50)]


def test_all_letters_are_drawn_alike() -> None:
    counts = Counter(drawn_place(1, f"report {n}") for n in range(4000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(900 < n < 1100 for n in counts.values())


def test_options_are_turned_until_the_key_stands_there() -> None:
    for key in range(4):
        for place in range(4):
            options = turned(SOUND.options, key, place)
            assert options[place] is SOUND.options[key]
            assert sorted(one.text for one in options) == sorted(one.text for one in SOUND.options)


def test_a_record_holds_the_question_and_its_history() -> None:
    made = make(SOUND, seed=7, name="one")
    record = record_of_made(made, {"study_id": "s1", "ImagePath": ["a.png"]}, {"model": "m"})
    place = "ABCD".index(record["correct_answer"])
    assert record["options"][place] == f"{record['correct_answer']}. {SOUND.options[0].text}"
    assert record[HISTORY]["options"][place] == [4]
    assert record["task_name"] == "Negation Assessment"
    assert record["study_id"] == "s1"


def test_letters_of_the_model_are_taken_off() -> None:
    letters = [WrittenOption(text=f"{letter}) Finding {letter}", bullets=[1]) for letter in "ABCD"]
    found = texts_without_letters(question(options=letters))
    assert found is not None
    assert [one.text for one in found.options] == ["Finding A", "Finding B", "Finding C", "Finding D"]
    assert texts_without_letters(question(options=[*letters[:2], *SOUND.options[:2]])) is None


def test_equal_records_give_equal_bytes() -> None:
    records = {"one": {"b": 1, "a": "ä"}, "two": {}}
    assert file_of(records) == file_of(dict(records))
    assert file_of(records).endswith(b"}\n")


def test_only_findings_and_impression_are_sent() -> None:
    assert sent_text(" Clear lungs.\n", "Normal.") == "Findings: Clear lungs.\nImpression: Normal."
    assert sent_text("", " ") == ""


# Of NegExAlgorithmDescription.md and rsAnnotations-1-120-random.txt, https://github.com/chapmanbe/negex (Apache-2.0),
# and of the tests of negspacy, https://github.com/jenojp/negspacy (MIT). The condition stands in capitals.
PUBLISHED = (
    ("The patient denies CHEST PAIN and has no shortness of breath.", Stated.ABSENT),
    ("The patient denies chest pain and has no SHORTNESS OF BREATH.", Stated.ABSENT),
    ("The patient denies CHEST PAIN but has experienced some shortness of breath", Stated.ABSENT),
    ("The patient denies chest pain but has experienced some SHORTNESS OF BREATH", Stated.PRESENT),
    ("She is TUMOR free.", Stated.ABSENT),
    ("No increase in TUMOR size.", Stated.PRESENT),
    ("Extremities reveal no peripheral cyanosis or EDEMA.", Stated.ABSENT),
    ("No abdominal pain, nausea, VOMITING or diarrhea.", Stated.ABSENT),
    ("Heart - Regular rate and rhythm, no MURMURS, gallops, or rubs.", Stated.ABSENT),
    ("The lungs are clear to auscultation bilaterally, no wheezes or RALES.", Stated.ABSENT),
    ("CHEST PAIN, rule out myocardial infarction.", Stated.PRESENT),
    ("chest pain, rule out MYOCARDIAL INFARCTION.", Stated.POSSIBLE),
    ("Small PERICARDIAL EFFUSION seen.", Stated.PRESENT),
    ("No PERICARDIAL EFFUSION.", Stated.ABSENT),
    ("Impression: TINY RIGHT PLEURAL EFFUSION, otherwise the lungs are clear.", Stated.PRESENT),
    ("The ekg shows normal sinus rhythm with no acute ISCHEMIC CHANGES.", Stated.ABSENT),
    ("There is TRACE MITRAL REGURGITATION.", Stated.PRESENT),
    ("ALCOHOLISM unlikely.", Stated.ABSENT),
    ("SMOKING not ruled out.", Stated.POSSIBLE),
    ("No history of headaches, smoking, acid reflux, or GERD.", Stated.ABSENT),
)
OURS = (
    ("PNEUMOTHORAX is not seen.", Stated.ABSENT),
    ("Pleural EFFUSION and pneumothorax are not seen.", Stated.ABSENT),
    ("No pneumothorax, and the heart is ENLARGED.", Stated.PRESENT),
    ("No effusion, consolidation, or PNEUMOTHORAX is seen.", Stated.ABSENT),
    ("No PNEUMOTHORAX; there is a small effusion.", Stated.ABSENT),
    ("No pneumothorax; there is a small EFFUSION.", Stated.PRESENT),
    ("No pneumothorax, there is a small EFFUSION.", Stated.PRESENT),
    ("There is no evidence of PNEUMONIA.", Stated.ABSENT),
    ("Opacity may represent ATELECTASIS.", Stated.POSSIBLE),
    ("PNEUMONIA cannot be excluded.", Stated.POSSIBLE),
    ("Cannot exclude a small EFFUSION.", Stated.POSSIBLE),
    ("The HEART is normal in size.", Stated.NORMAL),
    ("The COSTOPHRENIC ANGLES are sharp.", Stated.NORMAL),
    ("Lungs are clear with a small EFFUSION.", Stated.PRESENT),
    ("The heart is ENLARGED without effusion.", Stated.PRESENT),
    ("The heart is enlarged without EFFUSION.", Stated.ABSENT),
    ("The EFFUSION has resolved.", Stated.ABSENT),
    ("Neither EFFUSION nor pneumothorax.", Stated.ABSENT),
    ("Neither effusion nor PNEUMOTHORAX.", Stated.ABSENT),
    ("PLEURAL EFFUSION: None.", Stated.ABSENT),
    ("LYMPHADENOPATHY: absent.", Stated.ABSENT),
    ("PNEUMOTHORAX: No.", Stated.ABSENT),
    ("Impression: no PNEUMOTHORAX.", Stated.ABSENT),
    ("PLEURA: Normal.", Stated.NORMAL),
    ("The CANNULA projects over the midline.", Stated.PRESENT),
    ("The TRACHEA is midline.", Stated.NORMAL),
    ("Nil EFFUSION.", Stated.ABSENT),
    ("MEDIASTINAL WIDENING ruled out.", Stated.ABSENT),
    ("PNEUMOTHORAX excluded.", Stated.ABSENT),
    ("Nothing to suggest PNEUMONIA.", Stated.ABSENT),
    ("Probable small EFFUSION.", Stated.POSSIBLE),
    ("Small NODULE?", Stated.POSSIBLE),
    ("If PNEUMONIA is suspected, a scan is advised.", Stated.POSSIBLE),
    ("The PACEMAKER was removed.", Stated.ABSENT),
    ("The CATHETER does not reach the right atrium.", Stated.UNCLEAR),
    ("The trachea is not DEVIATED.", Stated.ABSENT),
)


def stated_in(text: str) -> Stated:
    """How the words in capitals are stated."""
    return how_stated([one for one in stated_words(text) if text[one.start : one.end].isupper()])


def test_the_published_examples_come_out_as_published_and_statements_of_chest_reports_as_meant() -> None:
    assert [(text, stated_in(text)) for text, _stated in PUBLISHED] == [*PUBLISHED]
    assert [(text, stated_in(text)) for text, _stated in OURS] == [*OURS]


def test_sentences_end_at_full_stops_lists_and_headings() -> None:
    text = "Findings: A nodule of\n  2.5 cm. No mass.\nImpression: 1. Nodule.\n2. Normal heart"
    found = [" ".join(text[start:end].split()) for start, end in sentences(text)]
    assert found == ["Findings: A nodule of 2.5 cm.", "No mass.", "Impression: 1.", "Nodule.", "2.", "Normal heart"]
