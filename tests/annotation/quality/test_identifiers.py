"""The 18 identifiers: the table, what each rule finds, how many planted ones are found, and how many false alarms.

Identifiers planted in made-up questions: what the rules find, and what they miss.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from annotation.questionbank.kernels.identifiers import IDENTIFIERS, NOT_IN_TEXT, marked, masked, spot_identifiers
from tests.annotation.quality.planted_identifiers import CARRIERS, FORMS, found_of, planted_texts
from tests.architecture.source import ROOT

NO_TEXT = ("BITMAP", "PIXELS", "GPSInfo")  # what stands in pixels, and the name of a block of numbers
SENTENCE = "The exam of {token} shows an opacity. Which finding explains it?"

EXAMPLES = {
    "A": [
        *("seen by Dr. Quillfeather", "Patient name: Zora", "QUILLFEATHER", "Quillfeather^Zora"),
        *("for Zora Quillfeather", "Dr Jones", "seen in Grace Hill", "seen in Ines García", "O'BRIEN"),
    ],
    "B": [
        *("14 Larkspur Mews", "Penhollow General Infirmary", "lives in Penhollow"),
        *("MA 02139", "02139-4307", "52.37052, 9.73322"),
    ],
    "C": [
        *("03.02.2024", "2024-02-03", "2024-02-03.", "20240203", "27 January 2020", "March 3, 2024", "03/2021"),
        *("2021-03", "summer 2021", "94-year-old", "094Y", "aged 91", "91 y.o.", "ninety-four-year-old"),
        *("in her nineties",),
    ],
    "D": ["555-0134", "(617) 555-0134", "(617) 555 0134", "617 555 0134", "+49 511 5550134", "pager 5567"],
    "E": ["fax 617 5550134", "Fax: +49 511 555"],
    "F": ["zora.quillfeather@example.org"],
    "G": ["900-55-0199", "SSN 900550199"],
    "H": ["MRN-77410093", "MRN: 7741", "patient id 88213", "hospital number 882134", "medical record 88213"],
    "I": ["HPBN-3390127", "insurance number 3390127", "policy no. AB3390"],
    "J": ["ACC-55120987", "accession number 55120987"],
    "K": ["license 443322", "NPI 1234567890", "licence no. D443322", "passport number 1234567"],
    "L": ["1HGCM82633A004352", "license plate AB 12 CDE"],
    "M": ["SN-XR-0049913", "serial number 49913", "PHGI-XR-ROOM7", "PENHOLLOW_PACS1"],
    "N": ["https://portal.penhollow.example.org/pt/77410093", "www.example.org/x", "portal.example.com/x"],
    "O": ["192.0.2.17", "2001:db8:0:0:1:2:3:4", "2001:db8::1", "fe80::1"],
    "R": ["1.2.826.0.1.3680043.8.498", "7741009319310417", "PAT00412X", "patient 9e37879b"],
}
ORDINARY = (
    "A 58-year-old man with COVID-19 and COPD has a 2.5 cm nodule at T4/T5. What is the most likely diagnosis?",
    "The PICC ends 3-4 cm above the carina; the PA and lateral views show Kerley B lines. ARDS is less likely.",
    "Which of the following is NOT seen? The ratio is 0.52, grade 1/2, ribs 5-7, L1-L2, 10%.",
    "Swan-Ganz catheter, Port-a-Cath and ECMO cannula are in place.",
    "THE HEART IS ENLARGED. THERE IS A SMALL LEFT PLEURAL EFFUSION.",
    "She may walk. In March of the year the patient was well. 15 days.",
    "Size 3 x 4 cm at T12, post-op day 2, BP 120/80, day 3/7, may 3 options be right? A marker 2 cm, decreased 3 mm.",
    "patient: Male, 89 years old. The name: Atelectasis. WHICH is it, the Silhouette Sign or Sail Sign, HIGH or not?",
    "Hill Sachs lesion, Bence Jones protein, Carpentier Edwards valve, Hamman Rich, Turner Syndrome; case 2, visit 2.",
)


def letters_in(text: str) -> set[str]:
    return {one.identifier.letter for one in spot_identifiers(text)}


def test_the_table_holds_the_18_of_safe_harbor() -> None:
    assert [one.letter for one in IDENTIFIERS] == list("ABCDEFGHIJKLMNOPQR")
    assert len({one.code for one in IDENTIFIERS}) == 18


def test_each_has_a_rule_or_says_why_it_has_none() -> None:
    for one in IDENTIFIERS:
        assert bool(one.patterns) != one.rule.startswith(f"{NOT_IN_TEXT}: "), one.letter
    assert {one.letter for one in IDENTIFIERS if one.patterns} == set(EXAMPLES)


@pytest.mark.parametrize("letter", EXAMPLES)
def test_an_identifier_is_found_for_what_it_is_and_masked(letter: str) -> None:
    for text in EXAMPLES[letter]:
        assert letter in letters_in(text), text
        assert letter in letters_in(f"A sentence before {text} and some words after"), text
        left = masked(SENTENCE.format(token=text))
        assert (spot_identifiers(left), "[" in left) == ([], True), left


def test_ordinary_words_of_radiology_are_none() -> None:
    for text in ORDINARY:
        assert [text[one.start : one.end] for one in spot_identifiers(text)] == []


def planted(shared_data: Path) -> list[dict[str, str]]:
    """Each planted identifier that is text, once."""
    with (shared_data / "hostile" / "PHI_TOKENS.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["token"]: row for row in csv.DictReader(file)}
    return [row for token, row in rows.items() if row["hipaa_category"] != "label" and not token.startswith(NO_TEXT)]


def is_found_whole(token: str, text: str) -> bool:
    """A name of two words, or an address, counts where nothing of it is left beside what was found."""
    left = text
    for one in reversed(spot_identifiers(text)):
        left = left[: one.start] + " " + left[one.end :]
    return not any(part in left for part in re.findall(r"[\w@.-]{4,}", token))


def test_every_planted_identifier_is_found_as_it_was_planted(shared_data: Path) -> None:
    rows = planted(shared_data)
    assert len(rows) == 21
    missed = [row["token"] for row in rows if not spot_identifiers(SENTENCE.format(token=row["token"]))]
    assert missed == []
    in_part = [row["token"] for row in rows if not is_found_whole(row["token"], SENTENCE.format(token=row["token"]))]
    assert in_part == []


def test_names_in_ordinary_letters_are_missed_where_they_stand_alone(shared_data: Path) -> None:
    """What the manual says of the rules: without a title or a first name, a name looks like any other word."""
    names = [row["token"].title() for row in planted(shared_data) if row["hipaa_category"].startswith("A")]
    assert [name for name in names if spot_identifiers(SENTENCE.format(token=name))] == []
    assert all(spot_identifiers(SENTENCE.format(token=f"Dr. {name}")) for name in names)


def test_false_alarms_in_the_sample(shared_data: Path) -> None:
    """The numbers of docs/question-banks.md: in the questions themselves, and in the reports beside them."""
    records = json.loads((shared_data / "rexvqa_sample.json").read_text(encoding="utf-8")).values()
    questions = [(one["question"], *(text[3:] for text in one["options"])) for one in records]
    alarms = [texts for texts in questions if any(map(spot_identifiers, texts))]
    explained = [one for one in records if spot_identifiers(one["correct_answer_explanation"])]
    assert (len(questions), len(alarms), len(explained)) == (124, 0, 0)


# --- places, marked or masked ---
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Seen by Dr. Miller. The heart is enlarged.", "Seen by [NAME]. The heart is enlarged."),
        ("Dictated by: Dr. J. Smith, MD. No effusion.", "[NAME]. No effusion."),
        ("Signed by John Fitzgerald Smith on 12/03/2024 at 5 pm.", "[NAME] on [DATE] at 5 pm."),
        ("patient: MILLER, JOHN. Heart normal.", "[NAME]. Heart normal."),
        ("Read by Dr. Smith Impression: none.", "[NAME] Impression: none."),
        ("Told Dr. Anna-Maria Lopez, tel. 555 1234. Lungs clear.", "Told [NAME], [PHONE]. Lungs clear."),
        ("MRN: 1234567. Lives in Springfield.", "[RECORD]. [PLACE]."),
        ("SSN 123-45-6789, then a@b.org.", "[SOCIAL SECURITY], then [EMAIL]."),
        ("Hill Sachs lesion; Kerley B lines.", "Hill Sachs lesion; Kerley B lines."),
        ("", ""),
    ],
)
def test_masked_keeps_the_sentence_and_nothing_of_the_place(text: str, left: str) -> None:
    assert masked(text) == left
    assert masked(left) == left
    assert spot_identifiers(left) == []
    assert "".join(part.text for part in marked(text)) == text


def test_marked_says_what_each_place_looks_like() -> None:
    parts = marked("Seen by Dr. Miller on 12/03/2024.")
    found = [(part.text, part.identifier.code if part.identifier else "") for part in parts]
    marks = [("Dr. Miller", "identifier_name"), (" on ", ""), ("12/03/2024", "identifier_date")]
    assert found == [("Seen by ", ""), *marks, (".", "")]


# No rule can know them from other words or numbers.
MISSED = {("A", "surname alone"), ("B", "town alone"), ("H", "digits without a word")}
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
