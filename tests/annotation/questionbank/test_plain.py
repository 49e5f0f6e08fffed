"""The short way of reading a record gives what the careful way gives, or leaves the record to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.enums import Difficulty
from annotation.questionbank.records import RecordRules
from annotation.questionbank.rexvqa import RecordReader
from annotation.questionbank.strictjson import Entry
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
    readers = RecordReader(rules), RecordReader(rules, plain=False)
    return [[reader.read(Entry(key, record, ())) for key, record in records] for reader in readers]


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
