"""The plan names which run stands for a model, or the mean of its runs; what is chosen after seeing changes neither."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from annotation.site.sentences import prose
from annotation.statistics.kernels.multireader import Design, model_minus_readers
from readerstudy.analysis.gathering import gather, mark_of
from readerstudy.analysis.kernels.arrays import Repeats, State, StudyArrays
from readerstudy.analysis.kernels.result import MODEL
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.looks import unblind
from readerstudy.results.kernels.stored import runs_in_mean
from readerstudy.results.wording import came
from tests.readerstudy.analysis.made import computed, make_arrays, predict

QUICK = Settings(seed=7, draws=100)
MEAN = "mean of all runs"


# --- which run stands -----------------------------------------------------------------------------
def plan(study: ReaderStudy, *runs: tuple[str, str]) -> ReaderStudy:
    study.analysis = AnalysisPlan(runs=runs).as_json()
    ReaderStudy.objects.filter(pk=study.pk).update(analysis=study.analysis)
    return study


def seen(study: ReaderStudy, noon: datetime) -> None:
    unblind(study, actor=None, at=noon, because="results")


def facts(study: ReaderStudy) -> list[Any]:
    return [dict(one.facts) for one in gather(study).raters if one.kind == MODEL]


def of_alpha(study: ReaderStudy, noon: datetime) -> list[PredictionRun]:
    named = predict(study, "Alpha", "AAAAAAAA", noon)
    return [named, *(predict(study, "Alpha", letter * 8, noon, is_named=False) for letter in "BC")]


def test_a_named_number_stands_for_the_model_instead_of_the_run_for_the_figures(
    study: ReaderStudy, noon: datetime
) -> None:
    of_alpha(study, noon)
    arrays = gather(plan(study, ("ALPHA", "run 2")))
    [model] = facts(study)
    assert (model["number"], model["post_hoc"], model["planned_run_met"]) == (2, False, True)
    assert arrays.option[1].tolist() == [1] * 8
    assert arrays.repeats is not None
    assert [number for _row, number in arrays.repeats.of] == [1, 3]


def test_the_planned_run_stays_planned_whatever_becomes_of_it_after_unblinding(
    study: ReaderStudy, noon: datetime
) -> None:
    runs = of_alpha(study, noon)
    plan(study, ("Alpha", "run 2"))
    seen(study, noon)
    PredictionRun.objects.filter(pk=runs[1].pk).update(withdrawn_at=noon, withdrawn_because="no good")
    [model] = facts(study)
    assert (model["number"], model["post_hoc"]) == (2, False)
    assert model["left_because"] == "run withdrawn: no good"


@pytest.mark.parametrize("imported_later", [True, False])
def test_where_the_planned_run_was_not_there_the_named_one_stands_post_hoc(
    study: ReaderStudy, noon: datetime, imported_later: bool
) -> None:
    of_alpha(study, noon)
    plan(study, ("Alpha", "run 4"))
    seen(study, noon)
    if imported_later:
        predict(study, "Alpha", "DDDDDDDD", noon, is_named=False)
    [model] = facts(study)
    assert (model["number"], model["post_hoc"], model["was_planned"]) == (1, True, False)
    assert (model["planned_run"], model["planned_run_met"]) == ("run 4", False)


def test_the_mean_is_over_the_runs_that_were_there_before_anybody_saw_a_result(
    study: ReaderStudy, noon: datetime
) -> None:
    runs = of_alpha(study, noon)
    before = mark_of(study)
    plan(study, ("Alpha", MEAN))
    assert mark_of(study) != before
    assert facts(study)[0]["mean_of_runs"] == [1, 2, 3]
    seen(study, noon)
    predict(study, "Alpha", "DDDDDDDD", noon, is_named=False)
    PredictionRun.objects.filter(pk=runs[0].pk).update(is_named=False, withdrawn_at=noon, withdrawn_because="no good")
    PredictionRun.objects.filter(pk=runs[2].pk).update(is_named=True, named_at=noon)
    [model] = facts(study)
    assert (model["number"], model["mean_of_runs"], model["post_hoc"]) == (1, [1, 2, 3], False)
    assert model["left_because"] == "run withdrawn: no good"


def test_a_mean_of_one_run_is_that_run_and_one_of_late_runs_is_post_hoc(study: ReaderStudy, noon: datetime) -> None:
    predict(study, "Alpha", "AAAAAAAA", noon)
    plan(study, ("Alpha", MEAN), ("Beta", MEAN))
    seen(study, noon)
    late = [predict(study, "Beta", "BBBBBBBB", noon), predict(study, "Beta", "CCCCCCCC", noon, is_named=False)]
    PredictionRun.objects.filter(pk__in=[one.pk for one in late]).update(named_before_unblinding=False)
    alpha, beta = facts(study)
    assert ("mean_of_runs" in alpha, alpha["post_hoc"]) == (False, False)
    assert ("mean_of_runs" in beta, beta["post_hoc"], beta["number"]) == (False, True, 1)


def test_a_line_of_no_model_or_of_several_says_so_and_changes_no_model(study: ReaderStudy, noon: datetime) -> None:
    of_alpha(study, noon)
    bare = facts(study)
    ModelEntry.objects.create(name="Alpha", version="2", created_at=noon)
    newer = predict(study, "Beta", "AAAAAAAA", noon)
    ModelEntry.objects.filter(pk=newer.entry_id).update(name="Alpha", version="3")
    arrays = gather(plan(study, ("Alpha", "run 2"), ("Gamma", MEAN)))
    assert facts(study)[0] == bare[0]
    assert list(arrays.plan_meets_nobody) == [("Alpha", "run 2"), ("Gamma", MEAN)]
    assert computed(arrays, QUICK)["plan"]["runs_of_nobody"] == [["Alpha", "run 2"], ["Gamma", MEAN]]


# --- the mean of runs against the readers ---------------------------------------------------------
KEY = "ABCDABCDABCDABCD"
READERS = {"R1": "ABCDABCDABAACCCC", "R2": "ABCDABCAABCCABCA", "R3": "ABCDABBBABCDDDDD"}
RUNS = ("ABCDDDDDABCDABCD", "ABCDABDDAAAAABCx", "ABxDABCDDDDDA.CD")


def of_runs(mean_of: list[int] | None, clusters: list[int] | None = None) -> StudyArrays:
    """M with three runs, the first of which is named."""
    arrays = make_arrays(READERS, {"M": RUNS[0]}, KEY, clusters=clusters)
    others = make_arrays({}, dict(zip("ab", RUNS[1:], strict=True)), KEY)
    said = {"number": 1, "planned_run": MEAN, "planned_run_met": True, "mean_of_runs": mean_of} if mean_of else {}
    raters = [replace(one, facts=said or {"number": 1} if one.kind == MODEL else {}) for one in arrays.raters]
    repeats = Repeats(((3, 2), (3, 3)), others.state, others.option)
    planned = AnalysisPlan(runs=(("M", MEAN),)).as_json()
    return replace(arrays, raters=tuple(raters), repeats=repeats, plan=planned)


def shares() -> np.ndarray[Any, Any]:
    """By hand: an extraction that failed is wrong, a missing answer does not count."""
    right = [[None if a == "." else a == key for a, key in zip(run, KEY, strict=True)] for run in RUNS]
    by_question = [[one for one in column if one is not None] for column in zip(*right, strict=True)]
    return np.array([sum(one) / len(one) for one in by_question])


def test_right_or_wrong_of_the_model_is_the_share_of_its_runs_that_are_right() -> None:
    arrays = of_runs([1, 2, 3])
    result, alone = computed(arrays, QUICK), computed(of_runs(None), QUICK)
    found = result["mrmc"]["models"]["M"]
    readers = np.array([[a == b for a, b in zip(said, KEY, strict=True)] for said in READERS.values()], dtype=np.int8)
    by_hand = model_minus_readers(shares(), readers, Design(assigned=arrays.state[:3] != State.NOT_ASSIGNED))
    assert found["value"] == pytest.approx(shares().mean() - readers.mean()) == by_hand.mean
    assert found["model_accuracy"] == pytest.approx(shares().mean())
    assert found["by_question"]["fixed_readers_random_questions"]["se"] == pytest.approx(
        by_hand.by_question.fixed_readers_random_questions.se
    )
    assert found["method"] == "by_question random_readers_random_questions, MOVER, mean of 3 runs"
    [primary] = [one for one in result["comparisons"] if one["panel"] == "All tasks"]
    assert primary["difference"]["value"] == found["value"] != alone["mrmc"]["models"]["M"]["value"]
    assert result["panels"] == alone["panels"]  # accuracy and agreement stay those of the run for the figures


def test_each_reader_alone_has_a_t_interval_over_questions_or_clusters() -> None:
    own = computed(of_runs([1, 2, 3]), QUICK)["mrmc"]["models"]["M"]["difference_by_reader"][0]
    apart = shares() - np.array([a == b for a, b in zip(READERS["R1"], KEY, strict=True)])
    half = 2.131449545559323 * apart.std(ddof=1) / 4  # t of 15 degrees, 16 questions
    assert (own["reader"], own["method"], own["n"]) == ("R1", "question_t", 16)
    assert own["ci95"] == pytest.approx([apart.mean() - half, apart.mean() + half])
    clustered = computed(of_runs([1, 2, 3], [*range(8), *range(8)]), QUICK)
    own = clustered["mrmc"]["models"]["M"]["difference_by_reader"][0]
    assert (own["method"], own["flags"], own["ci95"]) == ("cluster_t", ["few_clusters"], None)


def test_only_the_runs_that_count_in_the_mean_move_it() -> None:
    two, three = (computed(of_runs(runs), QUICK)["mrmc"]["models"]["M"] for runs in ([1, 2], [1, 2, 3]))
    assert two["value"] != three["value"]
    assert two["method"].endswith("mean of 2 runs")
    assert of_runs([1, 2]).sha256() != of_runs([1, 2, 3]).sha256()


def said_of_runs(result: Any) -> str:
    missed = [one for one in result["raters"] if one.get("planned_run_met") is False]
    facts = {"plan": result["plan"], "runs_in_mean": runs_in_mean(result), "missed": missed}
    return " ".join(prose("readerstudy/report/_runs.txt", **facts))


def test_methods_say_what_the_plan_names_and_what_came_of_it() -> None:
    result = computed(of_runs([1, 2, 3]), QUICK)
    text = said_of_runs(result)
    assert "The plan names the runs that represent models: M: mean of all runs." in text
    assert "For M (mean of 3 runs) right or wrong in the comparison with the readers is the share" in text
    model = result["raters"][-1]
    model |= {"post_hoc": True, "planned_run": "run 4", "planned_run_met": False, "was_planned": False}
    del model["mean_of_runs"]
    result["plan"]["runs_of_nobody"] = [["Gamma", "run 2"]]
    text = said_of_runs(result)
    assert "The named run was not there, and another one is used, post hoc: M (run 4)." in text
    assert "has this name: Gamma (run 2)." in text
    assert came(model | {"imported_at": "2027-01-01", "named_at": ""}) == "the plan names run 4, which was not there"
