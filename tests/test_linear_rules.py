"""Rules over text from outside: none goes over a text again and again, however it is made."""

from __future__ import annotations

import re
from typing import Any

import pytest

from annotation.endpoints.kernels.completions import is_refusal
from annotation.generation.kernels.sent_reports import parts_of_report
from annotation.imaging.kernels.codestreams import ImageRefused, read_jpeg_header
from annotation.model_calls.kernels.filling import names_in, undeclared
from annotation.questionbank.kernels.fields import read_age, read_view
from annotation.questionbank.kernels.identifiers import masked, spot_identifiers
from annotation.questionbank.kernels.question_checks import check
from annotation.questionbank.kernels.rules import CheckedQuestion
from annotation.validators.kernels.model_families import families_of
from readerstudy.design.kernels.ordering import keeps_its_place, names_letters
from tests.architecture.source import ROOT, python_files
from tests.linear_time import Rule, slow_shapes

BLANKS = [" ", "\n", " \n", "\t"]
SIGNS = ["1", "a", "A", "-", ".", "(", ")", "<", "*", "_", "'", "A-", "1.", "a ", "1 ", "A ", "é"]
IDENTIFIERS = [
    *(
        "A'",
        "AAAA'",
        "AAAA-AA",
        "AAA-A1",
        "A1-",
        "@",
        ":",
        "a@",
        "VIN ",
        "Dr ",
        "tel ",
        "tel:",
        "fax ",
        "ninety-",
        "age ",
    ),
    *(
        "hospital A-",
        "hospital Aa",
        "A^",
        "A-^",
        "QUILL A. ",
        "Quill ",
        "1 Aa ",
        "1.1.1.1.1.1.1",
        "12345678 ",
        "a:",
        "f::",
    ),
    *("MRN ", "www.", "a.com ", "jan ", "1 jan-", "lot ", "2024-", "555-0134 ", "patient: ", "medical record "),
]
OPTIONS = ("Pneumothorax", "Effusion", "Mass", "Nodule")


def checks(place: str) -> Rule:
    def rule(text: str) -> object:
        sent: dict[str, Any] = {"stem": "Which?", "options": OPTIONS, "key": 0, "explanation": "", "report": ""}
        sent[place] = (text, *OPTIONS[1:]) if place == "options" else text
        return check(CheckedQuestion(**sent))

    return rule


def jpeg(text: str) -> object:
    frame = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
    try:
        return read_jpeg_header(frame + text.encode("latin-1"))
    except ImageRefused:
        return None


RULES: dict[str, tuple[Rule, list[str]]] = {
    "identifiers of a text": (spot_identifiers, IDENTIFIERS),
    "identifiers after some": (lambda text: spot_identifiers(f"hospital plate ^ 1 {text}"), IDENTIFIERS),
    "identifiers that are masked": (masked, [*IDENTIFIERS, "Dr. A. ", "Dr Dr ", "[NAME] ", "signed by A ", "A, "]),
    "parts of a report": (parts_of_report, ["findings", "findings and ", "Impression: ", "clinical ", ". exam "]),
    "checks of a stem": (checks("stem"), ["not ", "n't", "old ", "prior ", "compared with "]),
    "checks of options": (checks("options"), ["11-", "1 to ", "1 %", "about ", "all of the ", "A and "]),
    "checks of a report": (checks("report"), [*IDENTIFIERS, "word other "]),
    "refusals": (is_refusal, ["I ", "sorry ", "as an ai ", "i cannot ", "answer ", "<think>", "A\n", "option", "A "]),
    "names of models": (families_of, ["qwen", "gpt-4", "o3", "a/", "phi1"]),
    "letters in options": (lambda text: names_letters(f"A{text}"), ["A ", "both ", "option ", "A,"]),
    "options of other options": (keeps_its_place, ["none ", "none of ", "all the ", "other "]),
    "other options, then blanks": (lambda text: keeps_its_place(f"none{text}"), []),
    "ages": (lambda text: read_age(f"1{text}"), ["Y"]),
    "view positions": (read_view, ["PA/", "LATERAL "]),
    "names in a prompt": (lambda text: (names_in(text), undeclared("{{" + text, ())), ["{{", "{{ ", "{{a", "{{a}} "]),
    "scans of a JPEG": (jpeg, ["\xff", "\xff\xff\x00", "\xff\x00", "\xff\xd0"]),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", RULES)
def test_the_time_of_a_rule_grows_with_the_text_alone(name: str) -> None:
    rule, parts = RULES[name]
    slow = slow_shapes(rule, [*BLANKS, *SIGNS, *parts])
    assert slow == [], f"{name}: bound the repetition, or make it possessive, so that no start reads the rest again"


def test_no_rule_is_read_otherwise_by_the_python_of_debian() -> None:
    """Before 3.11.5 a possessive group that can go back inside matches otherwise; possessive characters are right."""
    possessive = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in python_files("annotation", "readerstudy", "rexvqa_site")
        for line in path.read_text().splitlines()
        if possessive.search(line)
    ]
    assert found == [], "let the group end by a look ahead, or let what follows fail where it would go back"
