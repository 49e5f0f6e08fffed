"""A plan names pairs of raters before anybody knows who they are, and which run stands for a model: what it can say,
what it refuses, and what a study does with it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.design.checking import notes_of
from readerstudy.design.creating import copy_study, create_study, plan_of
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import (
    GROUPS,
    AnalysisPlan,
    Pair,
    folded,
    pairs_of_text,
    read_analysis,
    run_number,
    runs_of_text,
    text_of,
)
from readerstudy.design.kernels.documents import DesignRefused, canonical
from readerstudy.design.kernels.plan import plan_document, read_plan
from readerstudy.enums import EntryState
from readerstudy.models import ModelEntry, ReaderStudy
from tests.conftest import NOON
from tests.readerstudy.design.made import make_questions, plan_for
from tests.refusals import refuses

PLANNED = AnalysisPlan(pairs=(("Model A", "each reader"), ("R1", "R2")))
LETTERS = st.characters(categories=["L", "N", "P", "S"], exclude_characters="|")
RATERS = st.one_of(st.sampled_from(["each reader", "each model", "R1"]), st.text(LETTERS, min_size=1, max_size=20))


def one_each(pairs: list[Pair]) -> tuple[Pair, ...]:
    """Those that a plan may name: not the same twice, and no name beside itself."""
    found = {frozenset(map(folded, pair)): pair for pair in pairs if folded(pair[0]) != folded(pair[1])}
    return tuple(found.values())


PAIRS = st.lists(st.tuples(RATERS, RATERS), max_size=5).map(one_each)


@given(pairs=PAIRS)
def test_pairs_come_back_from_json_and_from_lines_of_text(pairs: tuple[Pair, ...]) -> None:
    plan = AnalysisPlan(pairs=pairs)
    assert read_analysis(json.loads(json.dumps(plan.as_json()))) == plan
    assert pairs_of_text(text_of(pairs)) == pairs


def test_spaces_and_letters_do_not_matter_where_they_tell_nothing() -> None:
    text = "\n  Model  A |Each Reader\r\n\r\nEACH MODEL | each model\n"
    assert pairs_of_text(text) == (("Model A", "each reader"), ("each model", "each model"))
    assert read_analysis({"pairs": []}) == AnalysisPlan()


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ("Model A", "The pairs are a list, each of two names"),
        ({"Model A": "R1"}, "The pairs are a list"),
        (None, "The pairs are a list"),
        ([["A", "R1"], "AB"], "Pair 2: two names are expected."),
        ([["A"]], "Pair 1: two names are expected."),
        ([["A", "B", "C"]], "Pair 1: two names are expected."),
        ([["A", 7]], "Pair 1: a name is a text that is not empty."),
        ([["A", " "]], "Pair 1: a name is a text that is not empty."),
        ([["A", "R" * 302]], "Pair 1: a name has 301 characters at the most."),
        ([["A", "B|C"]], "Pair 1: a name has no | and no sign that cannot be seen."),
        ([["A", "B\0"]], "Pair 1: a name has no |"),
        ([["A", "R1"], ["b", " B "]], "Pair 2 has the same name on both sides."),
        ([["A", "R1"], ["A", "R2"], ["r1", "a"]], "Pair 3 is the same as pair 1."),
        ([[f"M{n}", "R1"] for n in range(101)], "A plan names 100 pairs at the most; these are 101."),
    ],
)
def test_pairs_that_cannot_be_say_which_and_why(pairs: Any, sentence: str) -> None:
    with refuses(DesignRefused, "bad_pairs") as refused:
        read_analysis({"pairs": pairs})
    assert (refused.value.field, str(refused.value).startswith(sentence)) == ("pairs", True)
    with refuses(DesignRefused, "bad_pairs") as in_plan:
        read_plan({"name": "Trial", "bank": "bank", "analysis": {"pairs": pairs}})
    assert in_plan.value.field == "analysis, pairs"


def test_a_line_without_two_names_is_refused() -> None:
    for text in ("A | B\n\nModel A and R1", "A | B\nA | B | C"):
        with pytest.raises(
            DesignRefused, match=r"Pair 2: two names are expected on the line, with one \| between them"
        ):
            pairs_of_text(text)
    with pytest.raises(DesignRefused, match="Pair 1: a name is a text that is not empty"):
        pairs_of_text("A |")


def test_a_plan_without_pairs_has_the_text_that_it_had_before_there_could_be_any() -> None:
    """What was frozen then has the same hash when it is frozen again, and its analysis the same inputs."""
    before = (
        '{"family":"Holm over the models","inference":"random readers, random questions","late_answers":"counted '
        'wrong","margin":null,"notes":"","primary":"each model minus the mean of the readers, all tasks",'
        '"voids":"left out when decided before unblinding, a sensitivity line afterwards"}'
    )
    assert canonical(AnalysisPlan().as_json()) == before
    assert read_analysis(json.loads(before)) == AnalysisPlan()


# --- in a study -----------------------------------------------------------------------------------
@pytest.fixture
def draft(db: None) -> ReaderStudy:
    return create_study(plan_for(make_questions(4), 4, analysis=PLANNED), actor=None, at=NOON)


def test_the_protocol_its_plan_and_a_copy_name_the_pairs(draft: ReaderStudy) -> None:
    study = freeze_study(draft, actor=None, at=NOON, salt="salt")
    written = [["Model A", "each reader"], ["R1", "R2"]]
    assert json.loads(study.protocol)["analysis"]["pairs"] == written
    document = json.loads(json.dumps(plan_document(plan_of(study))))
    assert document["analysis"]["pairs"] == written
    assert read_plan(document).analysis == PLANNED
    again = freeze_study(copy_study(study, actor=None, at=NOON), actor=None, at=NOON, salt="salt")
    assert json.loads(again.protocol)["analysis"] == json.loads(study.protocol)["analysis"]


def test_names_that_no_listed_model_has_are_worth_a_look(draft: ReaderStudy) -> None:
    def noted() -> list[str]:
        return [note for note in notes_of(draft, at=NOON) if "planned pairs" in note]

    [note] = noted()
    assert "so far: Model A. A name that" in note  # neither "each reader" nor what readers are called
    entry = ModelEntry.objects.create(name="Model", version="a", created_at=NOON)
    assert noted() == []
    entry.state = EntryState.WITHDRAWN
    entry.save()
    assert len(noted()) == 1
    draft.analysis = {"pairs": "nonsense"}
    assert noted() == []  # the problems name it
    assert set(GROUPS) == {"each reader", "each model"}


RUNS_PLANNED = AnalysisPlan(runs=(("Model A", "mean of all runs"), ("Model B 2", "run 12")))


def test_runs_come_back_from_json_and_from_lines_of_text() -> None:
    assert read_analysis(json.loads(json.dumps(RUNS_PLANNED.as_json()))) == RUNS_PLANNED
    assert runs_of_text(text_of(RUNS_PLANNED.runs)) == RUNS_PLANNED.runs
    assert runs_of_text("\n Model  A |Mean of  all runs\r\n\r\nModel B 2 | RUN 12 ") == RUNS_PLANNED.runs
    assert [run_number(said) for _name, said in RUNS_PLANNED.runs] == [None, 12]


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
