"""The ratings as one CSV: columns in their order, empty cells where nothing is known, no formulas."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np

from readerstudy.analysis.kernels.arrays import MeasuredTimes, State, StudyArrays, Voided
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.exports.ratings import ratings_columns, ratings_csv
from tests.readerstudy.analysis.made import make_arrays

SETTINGS = Settings(seed=7)
HEAD = (
    "rater,kind,case,case_id,question,cluster,task,category,difficulty,key,state,option,correct,slip,"
    "confidence,position,active_ms,censored,disturbed,voided"
)


def rows_of(arrays: StudyArrays, settings: Settings = SETTINGS) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ratings_csv(arrays, settings), newline="")))


def small() -> StudyArrays:
    return make_arrays({"R1": "AB?"}, {"M": "Ax."}, "ABC", clusters=[0, 0, 1], voided={1: Voided.AFTER_UNBLINDING})


def test_the_columns_keep_their_order() -> None:
    assert ratings_csv(small(), SETTINGS).split("\r\n")[0] == HEAD


def test_a_row_for_each_rater_and_case() -> None:
    rows = rows_of(small())
    assert [(one["rater"], one["case"]) for one in rows] == [(name, case) for name in ("R1", "M") for case in "123"]
    assert [one["state"] for one in rows] == ["answered", "answered", "declined", "answered", "failed", "missing"]
    assert [one["option"] for one in rows] == ["A", "B", "", "A", "", ""]
    assert [one["correct"] for one in rows] == ["1", "1", "0", "1", "0", ""]
    assert [one["voided"] for one in rows] == ["", "after_unblinding", ""] * 2
    assert [one["cluster"] for one in rows] == ["0", "0", "1"] * 2
    assert {one["slip"] + one["confidence"] + one["position"] + one["active_ms"] for one in rows} == {""}


def test_correct_follows_the_switch_of_the_analysis() -> None:
    rows = rows_of(small(), Settings(seed=7, failed_in_accuracy="exclude"))
    assert rows[4]["state"] == "failed"
    assert rows[4]["correct"] == ""


def test_times_confidence_slips_and_places() -> None:
    arrays = small()
    active = np.full((2, 3), np.nan)
    active[0] = [1500, 2500, np.nan]
    censored, disturbed = np.zeros((2, 3), dtype=bool), np.zeros((2, 3), dtype=bool)
    censored[0, 1] = disturbed[0, 0] = True
    arrays.slip[0, 1], arrays.confidence[0, 0], arrays.position[0] = 2, 60, [3, 1, 2]
    rows = rows_of(replace(arrays, times=MeasuredTimes(active, censored, disturbed)))[:3]
    assert [one["active_ms"] for one in rows] == ["1500", "2500", ""]
    assert [one["censored"] + one["disturbed"] for one in rows] == ["01", "10", "00"]
    assert [one["slip"] for one in rows] == ["", "C", ""]
    assert [one["confidence"] for one in rows] == ["60", "", ""]
    assert [one["position"] for one in rows] == ["3", "1", "2"]


def test_best_guesses_have_a_column_where_somebody_was_asked() -> None:
    arrays = replace(small(), guess=np.array([[-1, -1, 2], [-1, -1, -1]], dtype=np.int8))
    assert ratings_csv(arrays, SETTINGS).split("\r\n")[0] == f"{HEAD},best_guess"
    rows = rows_of(arrays)
    assert [one["best_guess"] for one in rows] == ["", "", "C", "", "", ""]
    assert [one["correct"] for one in rows] == ["1", "1", "0", "1", "0", ""]  # declined stays wrong
    assert [column.name for column in ratings_columns(arrays)] == [*HEAD.split(","), "best_guess"]


def test_cases_of_another_set_have_no_row() -> None:
    arrays = small()
    arrays.state[0, 0] = State.NOT_ASSIGNED
    assert [one["case"] for one in rows_of(arrays)] == ["2", "3", "1", "2", "3"]


def test_no_cell_is_a_formula() -> None:
    arrays = make_arrays({"=cmd()": "AB"}, {"@sum": "AB"}, "AB")
    arrays = replace(arrays, questions=replace(arrays.questions, category=("+1", "-2")))
    rows = rows_of(arrays)
    assert {one["rater"] for one in rows} == {"'=cmd()", "'@sum"}
    assert {one["category"] for one in rows} == {"'+1", "'-2"}


def test_the_same_arrays_give_the_same_text() -> None:
    assert ratings_csv(small(), SETTINGS) == ratings_csv(small(), SETTINGS)
