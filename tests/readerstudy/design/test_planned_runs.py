"""A plan names which run stands for a model: what it can say, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readerstudy.design.kernels.analysis_plan import AnalysisPlan, read_analysis, run_number, runs_of_text, text_of
from readerstudy.design.kernels.documents import DesignRefused
from readerstudy.design.kernels.plan import read_plan
from tests.refusals import refuses

PLANNED = AnalysisPlan(runs=(("Model A", "mean of all runs"), ("Model B 2", "run 12")))


def test_runs_come_back_from_json_and_from_lines_of_text() -> None:
    assert read_analysis(json.loads(json.dumps(PLANNED.as_json()))) == PLANNED
    assert runs_of_text(text_of(PLANNED.runs)) == PLANNED.runs
    assert runs_of_text("\n Model  A |Mean of  all runs\r\n\r\nModel B 2 | RUN 12 ") == PLANNED.runs
    assert [run_number(said) for _name, said in PLANNED.runs] == [None, 12]


def test_a_plan_without_runs_does_not_mention_them() -> None:
    assert "runs" not in AnalysisPlan().as_json()
    assert read_analysis({"runs": []}) == AnalysisPlan()


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ("Model A", "The runs are a list, each of two texts"),
        (None, "The runs are a list"),
        ([["A", "run 1"], "AB"], "Line 2: write the name of a model, one |, and “mean of all runs”, or “run 2”"),
        ([["A"]], "Line 1: write the name of a model"),
        ([["A", "run 1", "run 2"]], "Line 1: write the name of a model"),
        ([["A", "run 1"], ["", "run 1"]], "Line 2: a name is a text that is not empty."),
        ([[7, "run 1"]], "Line 1: a name is a text that is not empty."),
        ([["A|B", "run 1"]], "Line 1: a name has no |"),
        ([["Each model", "run 1"]], "Line 1: name one model, not “Each model”."),
        ([["A", "best run"]], "Line 1: “best run” is no run. Write “mean of all runs”, or “run 2” for the second."),
        ([["A", "run 0"]], "Line 1: “run 0” is no run."),
        ([["A", 2]], "Line 1: the run is missing. Write “mean of all runs”"),
        ([["A", "run 1"], ["B", "run 1"], [" a ", "run 2"]], "Line 3: “a” is on line 1 already."),
        ([[f"M{n}", "run 1"] for n in range(101)], "A plan names the runs of 100 models at the most; these are 101."),
    ],
)
def test_runs_that_cannot_be_say_which_and_what_would_do(runs: Any, sentence: str) -> None:
    with refuses(DesignRefused, "bad_runs") as refused:
        read_analysis({"runs": runs})
    assert (refused.value.field, str(refused.value).startswith(sentence)) == ("runs", True)
    with refuses(DesignRefused, "bad_runs") as in_plan:
        read_plan({"name": "Trial", "bank": "bank", "analysis": {"runs": runs}})
    assert in_plan.value.field == "analysis, runs"


def test_a_line_is_named_by_its_number_in_the_text() -> None:
    with pytest.raises(DesignRefused, match=r"^Line 4: “a” is on line 2 already"):
        runs_of_text("\nA | run 1\n\na | mean of all runs")
    with pytest.raises(DesignRefused, match=r"^Line 1: write the name of a model"):
        runs_of_text("Model A, run 2")
