"""The short way of reading a record gives what the careful way gives, or leaves the record to it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.enums import Difficulty
from annotation.questionbank.kernels.records import QuestionRecord, RecordRules
from annotation.questionbank.kernels.rexvqa import RecordReader
from annotation.questionbank.kernels.strictjson import Entry, ObjectReader
from tests.annotation.questionbank.files import make_record

TEXTS = st.sampled_from(
    ["", " ", "A", "d", "A. ", "A. Yes", "B. No", "C.  no ", "D. x\ny", "x", "x y", "Straße", "STRASSE", "x" * 201]
) | st.text(max_size=30)
VALUES = (
    TEXTS
    | st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(TEXTS | st.integers(0, 3), max_size=5)
    | st.lists(TEXTS, min_size=4, max_size=4)
    | st.tuples(*[TEXTS.map(letter.__add__) for letter in ("A. ", "B. ", "C. ", "D. ")]).map(list)
)
NAMES = st.sampled_from(
    [*make_record(), "subcategory", "class", "difficulty", "validation_code", "image_path", "model_prediction"]
)
RULES = (
    RecordRules(),
    RecordRules("metadata", min_explanation=0),
    RecordRules(difficulties={"q1": Difficulty.HARD}),
)


def both_ways(records: list[tuple[str, dict[str, Any]]], rules: RecordRules) -> list[Any]:
    """What a file of these records gives with the short way, and what the careful way gives alone."""
    texts = [(key, json.dumps(record, ensure_ascii=place % 2 == 0)) for place, (key, record) in enumerate(records)]
    quick, careful = RecordReader(rules), RecordReader(rules)
    return [
        [(plain, []) if (plain := quick.read_plain(key, t)) else quick.read(entry_of(key, t)) for key, t in texts],
        [careful.read(entry_of(key, text)) for key, text in texts],
    ]


def entry_of(key: str, text: str) -> Entry:
    (entry,) = ObjectReader(io.BytesIO(f'{{"any": {text}}}'.encode("utf-8", "surrogatepass")))
    return entry._replace(key=key)


@given(
    changes=st.lists(st.dictionaries(NAMES, VALUES | st.just(...), max_size=3), min_size=1, max_size=4),
    key=st.sampled_from(["q1", "q2", "", "q" * 256]),
    rules=st.sampled_from(RULES),
    whole=st.booleans(),
)
def test_both_ways_give_the_same(changes: list[dict[str, Any]], key: str, rules: RecordRules, whole: bool) -> None:
    base = {"subcategory": "Small", "class": "Respiratory System"} if whole else {}
    records = [(key, make_record(**{**base, **change})) for change in changes]
    plain, careful = both_ways(records, rules)
    assert plain == careful


def test_true_is_not_one_in_further_fields() -> None:
    values: list[Any] = [1, True, 1.0, "1", 1]
    records = [(f"q{n}", make_record(**{"subcategory": "", "class": "", "code": one})) for n, one in enumerate(values)]
    plain, careful = both_ways(records, RecordRules())
    assert plain == careful
    assert [record.extra[-24:] for record, _problems in plain] == [record.extra[-24:] for record, _none in careful]


@pytest.mark.parametrize("options", [["A. a\nb", "B. c", "C. c", "D. d"], ["A. a", "B. a\n", "C. c", "D. d"]])
def test_lines_within_an_option_do_not_hide_its_double(options: list[str]) -> None:
    changes: dict[str, Any] = {"options": options, "subcategory": "", "class": ""}
    record = make_record(**changes)
    for ((read, problems),) in both_ways([("q1", record)], RecordRules()):
        assert read is None
        assert [problem.code for problem in problems] == ["duplicate_options"]


NAMES_OF_KIND: dict[str, Any] = {"subcategory": "Small", "class": "Respiratory System"}
USUAL = make_record(2, code=1, Indication="Cough", **NAMES_OF_KIND)
FIRST = {**USUAL, "Indication": '"Cough"; {fever}?'}


def read_text(text: str, *, quickly: bool) -> list[Any]:
    records = RecordReader(RecordRules())
    content = f'{{"q1": {json.dumps(USUAL)}, "q2": {text}, "q3": {json.dumps(USUAL)}}}'.encode()
    entries = ObjectReader(io.BytesIO(content), quick=records.read_plain if quickly else None)
    return [(one.value, []) if isinstance(one.value, QuestionRecord) else records.read(one) for one in entries]


@pytest.mark.parametrize("record", [USUAL, {**USUAL, "difficulty": "hard"}, {**USUAL, "difficulty": None}, FIRST])
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("separators", [None, (",", ":"), (" , ", "\n :\t")])
def test_a_usual_record_goes_the_short_way(
    record: dict[str, Any], escaped: bool, separators: tuple[str, str] | None
) -> None:
    text = json.dumps({**record, "category": "Épanchement"}, ensure_ascii=escaped, separators=separators)
    reader = RecordReader(RecordRules())
    first, _none = reader.read(entry_of("q1", text))  # tells it of the further fields
    assert first is not None
    assert reader.read_plain("q1", text) == first
    assert read_text(text, quickly=True) == read_text(text, quickly=False)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"question": ', '"question": "First?", "question": ', "duplicate_field"),
        ('"question": ', '"question" : "First?", "question": ', "duplicate_field"),
        ('"question": ', '"qu\\u0065stion": "First?", "question": ', "duplicate_field"),
        ('"Findings": ', '"Findings": null, "Findings": ', "duplicate_field"),
        ('"code": ', '"code": 1, "code": ', "duplicate_field"),
        ('"code": 1', '"code": {"x": 1, "x": 1}', "duplicate_field"),
        ('"code": 1', '"code": 1e999', "not_finite"),
        ('"code": 1', '"code": ' + 5000 * "9", "number_too_long"),
        ('"code": 1', '"code": [[[[[[[[[[1]]]]]]]]]]', "too_deep"),
        ("Cough", "Co\\u0000ugh", "nul_character"),
        ("Cough", "Co\\ud800ugh", "lone_surrogate"),
        ("Is there", "Is\\u0000there", "nul_character"),
        ("Is there", "\\udc00", "lone_surrogate"),
        ('"B"', '"E"', "key_outside_options"),
    ],
)
def test_a_fault_is_found_though_the_record_before_was_usual(old: str, new: str, code: str) -> None:
    usual = json.dumps(USUAL)
    assert old in usual
    first, (refused, problems), third = read_text(usual.replace(old, new, 1), quickly=True)
    assert refused is None
    assert [problem.code for problem in problems] == [code]
    assert first[0] is not None
    assert third[0] is not None
    assert read_text(usual.replace(old, new, 1), quickly=True) == read_text(usual.replace(old, new, 1), quickly=False)


@pytest.mark.parametrize("new", ["Cough \\\\", 'Co\\"ugh\\\\', "}, {", "\\ud83d\\ude00", "Co\\/ugh"])
def test_texts_that_look_like_json_change_nothing(new: str) -> None:
    text = json.dumps(USUAL).replace("Cough", new)
    assert read_text(text, quickly=True) == read_text(text, quickly=False)
    assert all(record for record, _problems in read_text(text, quickly=True))
