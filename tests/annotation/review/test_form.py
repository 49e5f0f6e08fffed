"""The rules of the form, without a database."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from annotation.enums import Degree, Difficulty, Flag, GradeName, Verdict
from annotation.review.kernels.form import (
    TEXT_LIMIT,
    Blind,
    Ground,
    Judgement,
    check_blind,
    check_judgement,
    flags_set,
    following_flags,
    make_blind,
    needs_reasoning,
    parse_blind,
    parse_judgement,
    stored_disagreement,
)
from annotation.review.kernels.form_design import (
    CHOSEN,
    DIFFICULTY_ANCHORS,
    FOLLOWING,
    GRADE_ANCHORS,
    NEEDS_IMAGE_ANCHORS,
    PAPER,
    RELEVANT_ANCHORS,
    anchor_of,
)
from tests.annotation.review.cases import as_post, good_judgement


def ground(best: str = "B", *further: str, key: str = "B", report_opened: bool = False) -> Ground:
    return Ground(blind=make_blind(best, further, "easy"), key=key, report_opened=report_opened)


OPEN_ROUND = Ground(blind=None, key="B", report_opened=False)


def codes(judgement: Any, where: Ground) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in check_judgement(judgement, where)]


# --- step 1 ---------------------------------------------------------------------------------------
def test_the_best_option_is_defensible_without_saying_so_twice() -> None:
    assert make_blind("C", ["B"], "easy") == make_blind("C", ["C", "B", "B"], "easy")
    assert make_blind("C", ["B"], "easy").defensible == ("B", "C")


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
@pytest.mark.parametrize(("best", "defensible"), [("A", ()), ("D", ("A", "B", "C")), ("", ())])
def test_complete_blind_answers(best: str, defensible: tuple[str, ...], difficulty: str) -> None:
    assert check_blind(make_blind(best, defensible, difficulty)) == []


@pytest.mark.parametrize(
    ("blind", "code"),
    [
        (make_blind("E", (), "easy"), "unknown_option"),
        (make_blind("a", (), "easy"), "unknown_option"),
        (make_blind("A", ("Z",), "easy"), "unknown_option"),
        (make_blind("", ("A",), "easy"), "no_best"),
        (make_blind("A", (), ""), "missing"),
        (make_blind("A", (), "very hard"), "missing"),
    ],
)
def test_incomplete_blind_answers(blind: Blind, code: str) -> None:
    assert [problem.code for problem in check_blind(blind)] == [code]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, [("best", "missing"), ("difficulty", "missing")]),
        ({"difficulty": ["easy"]}, [("best", "missing")]),  # nothing is preselected, so none has to be said
        ({"best": ["none"], "defensible": ["A"], "difficulty": ["easy"]}, [("best", "no_best")]),
        ({"best": ["none"], "difficulty": ["easy"]}, []),
    ],
)
def test_what_step_one_lacks(sent: dict[str, list[str]], expected: list[tuple[str, str]]) -> None:
    blind, problems = parse_blind(sent)
    assert [(one.field, one.code) for one in problems] == expected
    if not expected:
        assert (blind.best, blind.defensible) == ("", ())


# --- what follows ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("best", "further", "disagreement", "flags"),
    [
        ("B", "", "", ()),
        ("B", "D", "", (Flag.SEVERAL_VALID,)),
        ("A", "", "", ()),  # who answers otherwise is asked; nothing is set for them
        ("A", "C", "", ()),
        ("A", "", "key_wrong", (Flag.KEY_WRONG,)),
        ("A", "C", "key_wrong", (Flag.SEVERAL_VALID, Flag.KEY_WRONG)),
        ("A", "C", "own_error", ()),
        ("A", "", "both", (Flag.SEVERAL_VALID,)),
        ("A", "B", "both", (Flag.SEVERAL_VALID,)),  # another is better, but the key is defensible
        ("", "", "key_wrong", (Flag.NO_VALID_OPTION,)),
        ("", "", "own_error", ()),
    ],
)
def test_flags_that_follow_from_step_one_and_what_is_said_of_it(
    best: str, further: str, disagreement: str, flags: tuple[Flag, ...]
) -> None:
    assert following_flags(make_blind(best, further, "easy"), "B", disagreement) == flags


def test_following_flags_stand_unless_withdrawn_and_the_order_is_that_of_the_vocabulary() -> None:
    assert following_flags(None, "B") == ()  # where no blind answer was asked
    judgement = good_judgement(flags=("other", "needs_prior"))
    assert flags_set(judgement, ground("B", "C")) == ["several_valid", "needs_prior", "other"]
    judgement = good_judgement(withdrawn_flags=("several_valid",), comment="why")
    assert flags_set(judgement, ground("B", "C")) == []
    assert set(FOLLOWING) | set(CHOSEN) == set(Flag)


# --- steps 2 and 3 --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"flags": ("ugly",)}, [("flags", "unknown_flag")]),
        *(({"verdict": verdict}, [("verdict", "missing")]) for verdict in ("", "maybe", "Accept")),
        ({"comment": "x" * (TEXT_LIMIT + 1)}, [("comment", "too_long")]),
        ({"category": "x" * 201}, [("category", "too_long")]),
        ({"grades": {**good_judgement().grades, "beauty": 5}}, [("grades", "unknown_grade")]),
    ],
)
def test_a_judgement_that_is_complete_and_what_the_form_does_not_know(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert codes(good_judgement(**changes), ground()) == expected


@pytest.mark.parametrize("name", PAPER.grades)
def test_every_grade_is_required_and_cannot_judge_is_a_grade(name: str) -> None:
    grades = dict(good_judgement().grades)
    del grades[name]
    assert codes(good_judgement(grades=grades), ground()) == [(name, "missing")]
    assert codes(good_judgement(grades={**grades, name: "cannot_judge"}), ground()) == []


@pytest.mark.parametrize("grade", [0, 6, "3", "", True, 4.0, "cannot judge"])
def test_a_grade_is_one_of_five_numbers_or_cannot_judge(grade: object) -> None:
    grades = {**good_judgement().grades, "image_alignment": grade}
    assert codes(good_judgement(grades=grades), ground()) == [("image_alignment", "unknown_grade")]


@pytest.mark.parametrize("name", ["needs_image", "relevant"])
def test_both_choices_are_required(name: str) -> None:
    assert codes(good_judgement(**{name: ""}), ground()) == [(name, "missing")]
    assert codes(good_judgement(**{name: "maybe"}), ground()) == [(name, "unknown_choice")]
    assert codes(good_judgement(**{name: "cannot_judge"}), ground()) == []


@pytest.mark.parametrize("grade", [1, 2, 3])
def test_a_low_grade_needs_a_flag_or_a_comment(grade: int) -> None:
    grades = {**good_judgement().grades, "explanation_clarity": grade}
    assert codes(good_judgement(grades=grades), ground()) == [("comment", "low_grade")]
    assert codes(good_judgement(grades=grades, comment="restates the key"), ground()) == []
    assert codes(good_judgement(grades=grades, flags=("unsound",)), ground()) == []
    assert codes(good_judgement(grades=grades), ground("B", "D")) == []  # a flag that follows is one
    assert codes(good_judgement(grades=dict.fromkeys(PAPER.grades, "cannot_judge")), ground()) == []


@pytest.mark.parametrize("flag", FOLLOWING)
def test_a_flag_that_follows_is_not_set_by_hand(flag: Flag) -> None:
    assert codes(good_judgement(flags=(flag,)), ground())[0] == ("flags", "follows")
    there = good_judgement(flags=(flag,), verdict="revise", reasoning="why")
    assert codes(there, OPEN_ROUND) == []  # nothing follows there


def test_who_answered_otherwise_says_once_what_was_wrong() -> None:
    good = {"reasoning": "the line is plain"}
    assert codes(good_judgement(**good), ground("A")) == [("disagreement", "missing")]
    assert codes(good_judgement(disagreement="maybe", **good), ground("A")) == [("disagreement", "unknown_choice")]
    assert codes(good_judgement(disagreement="own_error", **good), ground("A")) == []
    assert codes(good_judgement(disagreement="both", **good), ground("A")) == []
    assert codes(good_judgement(disagreement="both", **good), ground(""))[0] == ("disagreement", "unknown_choice")
    assert codes(good_judgement(disagreement="own_error"), ground()) == [("disagreement", "does_not_follow")]
    assert codes(good_judgement(disagreement="own_error"), OPEN_ROUND) == [("disagreement", "does_not_follow")]


@pytest.mark.parametrize(
    ("judgement", "where"),
    [
        (good_judgement(disagreement="key_wrong", reasoning="x"), ground("A")),
        (good_judgement(disagreement="key_wrong", reasoning="x"), ground("")),
        (good_judgement(flags=("key_wrong",)), OPEN_ROUND),
        (good_judgement(flags=("no_valid_option",)), OPEN_ROUND),
    ],
)
def test_no_question_with_a_wrong_key_is_accepted(judgement: Judgement, where: Ground) -> None:
    assert codes(judgement, where) == [("verdict", "key_wrong")]
    assert codes(replace(judgement, verdict="revise", reasoning="x"), where) == []


def test_an_older_version_says_what_its_flags_said() -> None:
    assert stored_disagreement("", ["key_wrong"], []) == "key_wrong"
    assert stored_disagreement("", [], ["key_wrong"]) == "own_error"
    assert stored_disagreement("", ["several_valid"], []) == "both"
    assert stored_disagreement("", [], []) == ""
    assert stored_disagreement("own_error", ["key_wrong"], []) == "own_error"


def test_withdrawing_needs_a_flag_that_follows_and_a_comment() -> None:
    where = ground("B", "D")
    assert codes(good_judgement(withdrawn_flags=("several_valid",)), where) == [("comment", "withdrawn")]
    assert codes(good_judgement(withdrawn_flags=("several_valid",), comment="weak"), where) == []
    assert codes(good_judgement(withdrawn_flags=("key_wrong",), comment="x"), where) == [("flags", "does_not_follow")]


def test_cannot_judge_needs_a_reason_and_what_is_not_in_the_report_needs_the_report() -> None:
    hallucinated = good_judgement(flags=("hallucinated",))
    assert codes(hallucinated, ground()) == [("flags", "report_first")]
    assert codes(hallucinated, ground(report_opened=True)) == []
    judgement = good_judgement(verdict="cannot_judge")
    assert codes(judgement, ground()) == [("verdict_reason", "missing"), ("reasoning", "missing")]
    assert codes(replace(judgement, verdict_reason="r", reasoning="w"), ground()) == []


@pytest.mark.parametrize(
    ("verdict", "where", "due"),
    [
        ("accept", ground("B"), False),
        ("accept", ground("B", "C"), False),
        ("accept", ground("A", "B"), True),
        ("accept", ground(""), True),
        ("revise", ground("B"), True),
        ("reject", ground("B"), True),
        ("accept", OPEN_ROUND, False),
        ("revise", OPEN_ROUND, True),
    ],
)
def test_when_clinical_reasoning_is_due(verdict: str, where: Ground, due: bool) -> None:
    assert needs_reasoning(good_judgement(verdict=verdict), where) is due
    found = codes(good_judgement(verdict=verdict), where)
    assert (("reasoning", "missing") in found) is due


def test_problems_come_in_the_order_of_the_form_and_say_what_to_do() -> None:
    problems = check_judgement(parse_judgement({}), ground())
    assert [p.field for p in problems] == [*PAPER.grades, "needs_image", "relevant", "verdict"]
    assert all(p.message.endswith(".") for p in problems)


# --- parsing --------------------------------------------------------------------------------------
def test_what_the_page_sends_is_read_back_as_it_was_meant() -> None:
    judgement = good_judgement(
        grades={**good_judgement().grades, "image_alignment": "cannot_judge"},
        flags=("needs_prior", "other"),
        comment="one\ntwo",
        category="Pleura",
    )
    sent = {name: value if isinstance(value, list) else [value] for name, value in as_post(judgement).items()}
    assert parse_judgement(sent) == judgement


def test_parsing_is_calm_about_anything() -> None:
    judgement = parse_judgement(
        {
            "clinical_quality": ["9"],
            "comment": ["  a\r\nb\x00 "],
            "category": ["  two   words "],
            "flags": ["other", "other"],
            "verdict": ["accept", "revise"],
            "__class__": ["x"],
        }
    )
    assert judgement.grades == {"clinical_quality": "9"}
    assert (judgement.comment, judgement.category) == ("a\nb", "two words")
    assert (judgement.flags, judgement.verdict) == (("other",), "revise")


# --- anchors --------------------------------------------------------------------------------------
def test_every_grade_has_an_anchor_from_one_to_five() -> None:
    assert set(GRADE_ANCHORS) == set(GradeName)
    assert all(anchor_of(name, grade) for name in GradeName for grade in range(1, 6))


def test_every_choice_has_an_anchor() -> None:
    choices = {Degree.YES, Degree.PARTLY, Degree.NO}
    assert set(NEEDS_IMAGE_ANCHORS) == set(RELEVANT_ANCHORS) == choices
    assert set(DIFFICULTY_ANCHORS) == set(Difficulty.values()) - {""}
    assert set(Verdict.values()) == {"accept", "revise", "reject", "cannot_judge"}
