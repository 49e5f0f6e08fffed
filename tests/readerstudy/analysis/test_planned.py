"""Pairs of raters that the plan names: whom it means, and their family of exact tests beside the primary one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from readerstudy.analysis.kernels.arrays import Rater, Voided
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.analysis.kernels.scoring import PlannedPair, Settings, planned_pairs
from readerstudy.analysis.storing import as_text
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from tests.readerstudy.analysis.made import computed, make_arrays
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
        assert (one["table"], one["difference"], one["p"]) == (
            entry["table"],
            entry["difference"],
            entry["mcnemar_exact_p"],
        )
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
