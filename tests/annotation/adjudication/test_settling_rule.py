"""The settling rule, clause by clause."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotation.enums import Flag, Verdict
from annotation.review.kernels.settling import Against, Opinion, reasons_against

GOOD = Opinion(best="B", verdict="accept", flags=frozenset(), grades={"clinical_quality": 5, "image_alignment": 3})


def said(**fields: Any) -> Opinion:
    return replace(GOOD, **fields)


def codes(*opinions: Opinion, n_wanted: int = 2) -> list[tuple[str, str, int]]:
    return [(one["code"], one["word"], one["n"]) for one in reasons_against(opinions, "B", n_wanted)]


def test_agreement_on_a_good_question_settles_it() -> None:
    assert codes(GOOD, GOOD) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (said(best="C"), ("answers_differ", "", 2)),
        (said(verdict="revise"), ("verdict", "revise", 1)),
        (said(verdict="cannot_judge"), ("verdict", "cannot_judge", 1)),
        (said(flags=frozenset({"needs_prior"})), ("flag", "needs_prior", 1)),
        (said(grades={"clinical_quality": 2}), ("grade", "clinical_quality", 2)),
        (said(best=None), ("not_blind", "", 0)),
    ],
)
def test_each_clause_alone_keeps_a_question_open(other: Opinion, expected: tuple[str, str, int]) -> None:
    assert codes(GOOD, other) == [expected]
    assert codes(other, GOOD) == [expected]


def test_a_missing_review_keeps_it_open() -> None:
    assert codes(GOOD) == [("missing", "", 1)]
    assert codes(GOOD, n_wanted=1) == []


def test_the_same_wrong_answer_is_not_agreement_on_the_key() -> None:
    assert codes(said(best="C"), said(best="C")) == [("not_the_key", "C", 2)]
    assert codes(said(best=""), said(best="")) == [("not_the_key", "", 2)]


def test_a_three_settles_and_cannot_judge_is_no_low_grade() -> None:
    assert codes(GOOD, said(grades={"clinical_quality": 3, "image_alignment": "cannot_judge"})) == []


def test_all_reasons_are_named_in_order() -> None:
    bad = said(best="C", verdict="reject", flags=frozenset({Flag.OTHER, Flag.UNSOUND}), grades={"clinical_quality": 1})
    found = [code for code, _word, _n in codes(GOOD, bad, n_wanted=3)]
    assert found == ["missing", "answers_differ", "verdict", "grade", "flag", "flag"]
    assert [Against(code) for code in found]


@given(st.lists(st.sampled_from([GOOD, said(best="A"), said(verdict="revise"), said(best=None)]), max_size=5))
def test_it_settles_only_where_every_review_would_alone(opinions: list[Opinion]) -> None:
    alone = all(not reasons_against([one], "B", 1) for one in opinions)
    assert (not reasons_against(opinions, "B", len(opinions))) == alone
    assert set(Verdict.values()) >= {one.verdict for one in opinions}
