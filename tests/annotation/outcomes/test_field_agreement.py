"""Agreement on the fields of the form: the numbers of the proved kernels, whatever the number of reviewers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.outcomes.kernels.field_agreement import FieldRatings, FieldScale, field_agreement
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.reviewers import grade_agreement
from tests.annotation.statistics.goldencases import read

DRAWS = 400
OF_TWO = ("percent_agreement", "cohen_kappa", "gwet_ac1", "brennan_prediger")


def of(scale: FieldScale, codes: Any, n_values: int, clusters: Any = None) -> Any:
    ratings = FieldRatings(scale, np.asarray(codes), n_values)
    cluster = np.arange(ratings.codes.shape[1]) if clusters is None else np.asarray(clusters)
    [found] = field_agreement([ratings], units_of(cluster), seed=1, draws=DRAWS)
    return found


def codes_of_table(table: list[list[int]]) -> NDArray[np.int64]:
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _each in range(n)]
    return np.array(cells).T


def test_two_reviewers_who_grade_have_the_printed_weighted_kappa() -> None:
    case = read("kappa_ordinal_review_grades")
    codes = codes_of_table(case["input"]["matrix"])
    found = of(FieldScale.GRADES, codes, 5)
    assert (found.n_questions, found.n_pairs) == (90, 90)
    for name in ("percent_agreement", "cohen_kappa_quadratic"):
        assert found.results[name].value == pytest.approx(case["expected"][name]["value"], abs=1e-9)
    proved = grade_agreement(codes, 5, units_of(np.arange(90)), seed=1, panel="reviews", draws=10_000)
    alpha = found.results["krippendorff_alpha_ordinal"]
    assert alpha.value == pytest.approx(proved["krippendorff_alpha_ordinal"].value)
    assert alpha.ci95 == pytest.approx(proved["krippendorff_alpha_ordinal"].ci95, abs=0.04)
    assert found.results["percent_agreement"].method == "wilson"


def test_two_reviewers_who_flag_have_the_numbers_of_the_golden_records() -> None:
    case = read("review_outcomes_two_reviewers")
    flagged: dict[str, dict[str, list[str]]] = {"E1": {}, "E2": {}}
    for record in case["input"]["records"]:
        flagged[record["reviewer"]][record["question"]] = record["issues"]
    questions = sorted({record["question"] for record in case["input"]["records"]})
    for issue in ("multiple_valid_answers", "comparison_content", "clinical_validity", "hallucinated"):
        codes = [[int(issue not in one[q]) if q in one else -1 for q in questions] for one in flagged.values()]
        found = of(FieldScale.FLAG, codes, 2)
        expected = {name: case["expected"][f"{issue}: {name}"]["value"] for name in OF_TWO}
        for which, value in case["expected"][f"{issue}: specific_agreement"]["value"].items():
            expected[f"specific_agreement_{which}"] = value
        assert found.results.keys() == expected.keys()
        assert {one.n for one in found.results.values()} == {case["expected"]["questions_seen_by_both"]["value"]}
        for name, one in found.results.items():
            assert one.value == pytest.approx(expected[name], abs=1e-6)


def test_a_flag_that_nobody_set_is_undefined() -> None:
    found = of(FieldScale.FLAG, [[1] * 40] * 2, 2).results
    assert found["specific_agreement_positive"].reason == "zero_trials"
    assert found["cohen_kappa"].reason == "expected_agreement_is_one"
    assert found["specific_agreement_negative"].value == found["percent_agreement"].value == 1


def test_more_observers_have_the_published_alpha() -> None:
    case = read("multi_krippendorff_2011_c")
    codes = np.array([[-1 if one is None else one - 1 for one in row] for row in case["input"]["matrix"]]).T
    nominal, ordinal = of(FieldScale.CHOICE, codes, 5), of(FieldScale.GRADES, codes, 5)
    expected = {name: one["value"] for name, one in case["expected"].items()}
    for name in ("percent_agreement", "fleiss_kappa", "gwet_ac1", "brennan_prediger", "krippendorff_alpha_nominal"):
        assert nominal.results[name].value == pytest.approx(expected[name], abs=1e-6)
    alpha = ordinal.results["krippendorff_alpha_ordinal"]
    assert alpha.value == pytest.approx(expected["krippendorff_alpha_ordinal"], abs=1e-6)
    assert "cohen_kappa_quadratic" not in ordinal.results
    assert (nominal.n_questions, nominal.n_pairs) == (11, 8 * 6 + 3 + 3 + 1)


def test_judges_who_grade_everything_have_the_published_correlation() -> None:
    case = read("icc_shrout_fleiss_1979")
    codes = np.array(case["input"]["matrix"]).T - 1
    found = of(FieldScale.GRADES, codes, 10).results["icc2_1"]
    assert found.value == pytest.approx(case["expected"]["icc2_1"]["value"], abs=1e-6)
    assert found.ci95 == pytest.approx(case["expected"]["icc2_1_ci95"]["value"], abs=1e-5)


def test_specific_agreement_of_three_is_that_of_all_their_pairs() -> None:
    codes = (np.random.default_rng(3).random((3, 60)) > 0.3).astype(np.int64)
    found = of(FieldScale.FLAG, codes, 2)
    table = np.zeros((2, 2))
    for i, j in combinations(range(3), 2):
        for first, second in zip(codes[i], codes[j], strict=True):
            table[first, second] += 1
    (a, b), (c, d) = table
    assert found.n_pairs == 180
    assert found.results["specific_agreement_positive"].value == pytest.approx(2 * a / (2 * a + b + c))
    assert found.results["specific_agreement_negative"].value == pytest.approx(2 * d / (2 * d + b + c))
    assert found.results["specific_agreement_positive"].ci95 is not None


def test_clusters_are_drawn_together_and_the_correlation_says_that_it_takes_none() -> None:
    codes = np.random.default_rng(5).integers(5, size=(2, 60))
    alone, together = of(FieldScale.GRADES, codes, 5), of(FieldScale.GRADES, codes, 5, np.arange(60) // 3)
    assert alone.results["percent_agreement"].method == "wilson"
    assert together.results["percent_agreement"].method == "bootstrap_clusters"
    assert "clusters_ignored" in together.results["icc2_1"].flags
    assert "clusters_ignored" not in alone.results["icc2_1"].flags


@pytest.mark.parametrize("n_reviewers", [2, 3])
def test_what_is_not_defined_says_why(n_reviewers: int) -> None:
    nobody = of(FieldScale.FLAG, np.ones((n_reviewers, 12), dtype=np.int64), 2).results
    assert nobody["percent_agreement"].value == 1
    assert nobody["specific_agreement_positive"].reason == "zero_trials"
    assert nobody["gwet_ac1"].value == 1
    kappa = nobody["cohen_kappa" if n_reviewers == 2 else "fleiss_kappa"]
    assert kappa.reason == "expected_agreement_is_one"
    never = of(FieldScale.GRADES, np.full((n_reviewers, 4), -1), 5)
    assert (never.n_questions, never.n_pairs) == (0, 0)
    assert {one.reason for one in never.results.values()} <= {"no_common_questions", "too_few"}
    same = of(FieldScale.CHOICE, np.zeros((n_reviewers, 12), dtype=np.int64), 3).results
    assert same["krippendorff_alpha_nominal"].reason == "no_variation"
