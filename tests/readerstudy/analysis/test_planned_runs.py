"""What the plan names: pairs of raters with their family of exact tests, and the run that stands for a model."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from annotation.site.sentences import prose
from annotation.statistics.kernels.multireader import Design, model_minus_readers
from readerstudy.analysis.gathering import gather, mark_of
from readerstudy.analysis.kernels.arrays import Rater, Repeats, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.analysis.kernels.scoring import PlannedPair, Settings, planned_pairs
from readerstudy.analysis.storing import as_text
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.looks import unblind
from readerstudy.results.kernels.stored import runs_in_mean
from readerstudy.results.wording import came
from tests.readerstudy.analysis.made import computed, make_arrays, predict
from tests.readerstudy.analysis.test_computing import KEY, MODELS, READERS, pair_of

QUICK = Settings(seed=7, draws=100)
RATERS = (
    Rater("R1", READER, {}),
    Rater("R2", READER, {}),
    Rater("Alpha", MODEL, {"version": "1"}),
    Rater("Alpha 2", MODEL, {"version": "2"}),
    Rater("Beta", MODEL, {"version": ""}),
)


def planned(*pairs: tuple[str, str]) -> Any:
    return AnalysisPlan(pairs=pairs).as_json()


def meant(*pairs: tuple[str, str]) -> list[tuple[str, str, str]]:
    return [(one.first, one.second, one.reason) for one in planned_pairs(planned(*pairs), RATERS)]


def family_of(result: Any) -> list[Any]:
    return [one for one in result["comparisons"] if one["family"] == "planned pairs"]


def test_a_name_is_that_of_a_rater_or_stands_for_all_of_a_kind() -> None:
    assert meant(("Beta", "r1")) == [("Beta", "R1", "")]
    assert meant(("Beta", "each reader")) == [("Beta", "R1", ""), ("Beta", "R2", "")]
    assert len(meant(("each model", "each reader"))) == 6
    assert meant(("each reader", "each reader")) == [("R1", "R2", "")]
    assert meant() == []
    assert planned_pairs({}, RATERS) == []


def test_a_name_that_several_versions_have_needs_the_version() -> None:
    assert meant(("Alpha", "R1")) == [("Alpha", "R1", "several_raters")]
    assert meant(("Alpha 1", "R1"), ("alpha  2", "R1")) == [("Alpha", "R1", ""), ("Alpha 2", "R1", "")]
    alone = [one for one in RATERS if one.name != "Alpha"]
    assert planned_pairs(planned(("Alpha", "R1")), alone) == [PlannedPair("Alpha 2", "R1")]


def test_whom_nobody_is_called_is_listed_last_with_the_reason() -> None:
    assert meant(("R3", "Beta"), ("R1", "R2"), ("Alpha 1", "Gamma")) == [
        ("R1", "R2", ""),
        ("R3", "Beta", "no_such_rater"),
        ("Alpha 1", "Gamma", "no_such_rater"),
    ]
    readers = [one for one in RATERS if one.kind == READER][:1]
    for pair, reason in (
        (("each model", "R1"), "no_such_rater"),
        (("each reader", "each reader"), "one_rater"),
        (("each reader", "R1"), "one_rater"),
    ):
        assert planned_pairs(planned(pair), readers) == [PlannedPair(*pair, reason)]


def test_a_pair_that_is_named_in_two_ways_stands_once() -> None:
    assert meant(("R1", "Beta"), ("each model", "each reader"))[0] == ("R1", "Beta", "")
    assert len(meant(("R1", "Beta"), ("each model", "each reader"))) == 6


# --- the family -----------------------------------------------------------------------------------
def test_planned_pairs_are_tested_exactly_and_adjusted_among_themselves() -> None:
    pairs = (("M1", "each reader"), ("R1", "R3"), ("R9", "M2"))
    result = computed(make_arrays(READERS, MODELS, KEY, plan=planned(*pairs)), QUICK)
    family = family_of(result)
    assert [(one["first"], one["second"]) for one in family] == [
        *(("M1", name) for name in READERS),
        ("R1", "R3"),
        ("R9", "M2"),
    ]
    whole = result["panels"]["All tasks"]
    for one in family[:4]:
        entry = pair_of(whole, one["first"], one["second"])
        assert (one["table"], one["difference"]) == (entry["table"], entry["difference"])
        assert one["p"] == entry["mcnemar_exact_p"]
        table = [[entry["table"][name] for name in row] for row in (("both", "first_only"), ("second_only", "neither"))]
        assert one["p"]["value"] == pytest.approx(mcnemar(table, exact=True).pvalue, abs=1e-12)
        assert (one["planned"], one["panel"], one["p"]["flags"]) == (True, "All tasks", [])
        assert (one["difference"]["method"], one["p"]["method"]) == ("tango", "mcnemar_exact")
    assert family[4]["p"] == {
        "value": None,
        "ci95": None,
        "n": 0,
        "method": "mcnemar_exact",
        "flags": [],
        "reason": "no_such_rater",
    }
    adjusted = multipletests([one["p"]["value"] for one in family[:4]], method="holm")[1]
    assert [one["p_holm"]["value"] for one in family[:4]] == pytest.approx(adjusted.tolist(), abs=1e-12)
    assert {one["p_holm"]["method"] for one in family} == {"holm over 4"}  # who is not there is no member
    assert family[4]["p_holm"]["value"] is None


def test_what_the_plan_does_not_name_stays_post_hoc() -> None:
    tasks = ["presence"] * 8 + ["location"] * 4
    result = computed(make_arrays(READERS, MODELS, KEY, tasks=tasks, plan=planned(("R1", "M1"))), QUICK)
    for name, panel in result["panels"].items():
        for pair in panel["pairs"]:
            is_planned = (name, pair["first"], pair["second"]) == ("All tasks", "M1", "R1")
            assert pair["mcnemar_exact_p"]["flags"] == ([] if is_planned else ["post_hoc"])
            assert pair["mcnemar_midp"]["flags"] == pair["mcnemar_chi2"]["flags"] == ["post_hoc"]
    assert [one["planned"] for one in result["comparisons"] if one["family"] == "primary"] == [True, True]
    assert "holm over the planned ones" in result["settings"]["p"]


def test_where_questions_share_exams_the_test_by_cluster_stands_beside() -> None:
    clusters = [place // 2 for place in range(12)]
    arrays = make_arrays(READERS, MODELS, KEY, clusters=clusters, plan=planned(("M1", "R1"), ("M3", "R1")))
    known, nobody = family_of(computed(arrays, QUICK))
    entry = pair_of(computed(arrays, QUICK)["panels"]["All tasks"], "M1", "R1")
    assert known["p"]["flags"] == known["p_holm"]["flags"] == ["clusters_ignored"]
    assert known["cluster_mcnemar_chi2"] == entry["cluster_mcnemar_chi2"]
    assert (known["cluster_mcnemar_chi2"]["flags"], known["difference_cluster"]["n_clusters"]) == ([], 6)
    assert "cluster_mcnemar_chi2" not in nobody


def test_a_variant_has_the_family_too() -> None:
    arrays = make_arrays(READERS, MODELS, KEY, voided={3: Voided.AFTER_UNBLINDING}, plan=planned(("M1", "R2")))
    result = computed(arrays, QUICK)
    [one], [other] = family_of(result), family_of(result["variants"]["without_all_voided"])
    assert (one["difference"]["n"], other["difference"]["n"]) == (12, 11)


def test_raters_without_a_common_question_have_no_p() -> None:
    readers = {"R1": "ABCD........", "R2": "....ABCDABCD", "R3": "ABCDABCDABCD"}
    family = family_of(computed(make_arrays(readers, {}, KEY, plan=planned(("each reader", "each reader"))), QUICK))
    reasons = {(one["first"], one["second"]): one["p"]["reason"] for one in family}
    assert reasons == {("R1", "R2"): "no_common_questions", ("R1", "R3"): None, ("R2", "R3"): None}
    assert {one["p_holm"]["method"] for one in family} == {"holm over 2"}


def test_without_pairs_in_the_plan_nothing_of_a_result_is_another() -> None:
    """So that the rule of the analysis keeps its name."""
    arrays = make_arrays(READERS, MODELS, KEY)
    text = as_text(computed(arrays, QUICK))
    assert '"mcnemar exact for pairs, never planned; t test' in text
    assert "planned pairs" not in text
    with_pairs = replace(arrays, plan=planned(("M1", "R1")))
    assert with_pairs.sha256() != arrays.sha256()
    result, other = computed(arrays, QUICK), computed(with_pairs, QUICK)
    assert [one for one in other["comparisons"] if one["family"] != "planned pairs"] == result["comparisons"]


# --- runs that stand for a model -------------------------------------------------------------------
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
RUNS_KEY = "ABCDABCDABCDABCD"
RUNS_READERS = {"R1": "ABCDABCDABAACCCC", "R2": "ABCDABCAABCCABCA", "R3": "ABCDABBBABCDDDDD"}
RUNS = ("ABCDDDDDABCDABCD", "ABCDABDDAAAAABCx", "ABxDABCDDDDDA.CD")


def of_runs(mean_of: list[int] | None, clusters: list[int] | None = None) -> StudyArrays:
    """M with three runs, the first of which is named."""
    arrays = make_arrays(RUNS_READERS, {"M": RUNS[0]}, RUNS_KEY, clusters=clusters)
    others = make_arrays({}, dict(zip("ab", RUNS[1:], strict=True)), RUNS_KEY)
    said = {"number": 1, "planned_run": MEAN, "planned_run_met": True, "mean_of_runs": mean_of} if mean_of else {}
    raters = [replace(one, facts=said or {"number": 1} if one.kind == MODEL else {}) for one in arrays.raters]
    repeats = Repeats(((3, 2), (3, 3)), others.state, others.option)
    planned = AnalysisPlan(runs=(("M", MEAN),)).as_json()
    return replace(arrays, raters=tuple(raters), repeats=repeats, plan=planned)


def shares() -> np.ndarray[Any, Any]:
    """By hand: an extraction that failed is wrong, a missing answer does not count."""
    right = [[None if a == "." else a == key for a, key in zip(run, RUNS_KEY, strict=True)] for run in RUNS]
    by_question = [[one for one in column if one is not None] for column in zip(*right, strict=True)]
    return np.array([sum(one) / len(one) for one in by_question])


def test_right_or_wrong_of_the_model_is_the_share_of_its_runs_that_are_right() -> None:
    arrays = of_runs([1, 2, 3])
    result, alone = computed(arrays, QUICK), computed(of_runs(None), QUICK)
    found = result["mrmc"]["models"]["M"]
    readers = np.array(
        [[a == b for a, b in zip(said, RUNS_KEY, strict=True)] for said in RUNS_READERS.values()], dtype=np.int8
    )
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
    apart = shares() - np.array([a == b for a, b in zip(RUNS_READERS["R1"], RUNS_KEY, strict=True)])
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
