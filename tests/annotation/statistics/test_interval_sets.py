"""The intervals of all pairs and of groups in a panel: what they are drawn from, and what they do not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import Units, units_of
from annotation.statistics.kernels.group_intervals import GroupStatistics, Means, panel_agreement
from annotation.statistics.kernels.groups import fleiss_kappa_se, rating_counts
from annotation.statistics.kernels.pair_intervals import PairStatistics, pair_statistics
from annotation.statistics.kernels.pair_tables import pair_tables
from annotation.statistics.kernels.pairs import cohen_kappa, cohen_kappa_se

N, Q, DRAWS = 198, 4, 400
NAMES = {
    "percent_agreement",
    "expected_agreement",
    "cohen_kappa",
    "scott_pi",
    "gwet_ac1",
    "brennan_prediger",
    "agreement_if_independent",
    "excess_agreement",
    "error_consistency",
    "phi",
}
RIGHT_WRONG = {"error_consistency", "phi"}
QUESTIONS = units_of(np.arange(N))
KEY = np.random.default_rng(1).integers(Q, size=N)


def answers_of(*accuracies: float) -> NDArray[np.int8]:
    """Raters who know the answer or guess."""
    rng = np.random.default_rng(2)
    known = (np.array(accuracies)[:, np.newaxis] - 1 / Q) * Q / (Q - 1)
    shape = (len(accuracies), N)
    return np.where(rng.random(shape) < known, KEY, rng.integers(Q, size=shape)).astype(np.int8)


def of_pairs(answers: NDArray[np.int8], units: Units = QUESTIONS, draws: int = DRAWS) -> list[PairStatistics]:
    correct = (answers == KEY).astype(np.int8)
    return pair_statistics(answers, correct, KEY, Q, units, seed=1, panel="All tasks", draws=draws)


def of_means(answers: NDArray[np.int8], n_readers: int, assigned: NDArray[np.bool_] | None = None) -> Means:
    correct, is_reader = (answers == KEY).astype(np.int8), np.arange(len(answers)) < n_readers
    given: Any = {"assigned": assigned, "seed": 1, "panel": "All tasks", "draws": DRAWS}
    return panel_agreement(answers, correct, KEY, is_reader, Q, QUESTIONS, **given)[1]


def of_group(answers: NDArray[np.int8], draws: int = DRAWS) -> GroupStatistics:
    key, everybody = KEY[: answers.shape[1]], np.ones(len(answers), dtype=np.bool_)
    correct, units = (answers == key).astype(np.int8), units_of(np.arange(len(key)))
    given: Any = {"seed": 1, "panel": "All tasks", "draws": draws}
    return panel_agreement(answers, correct, key, everybody, Q, units, **given)[0]["all"]


def test_the_interval_of_kappa_is_about_as_wide_as_its_standard_error_says() -> None:
    answers = answers_of(0.7, 0.8)
    error = float(cohen_kappa_se(pair_tables(answers, Q)[0, 0]))
    for units in (QUESTIONS, units_of(np.maximum(np.arange(N), 1))):
        found = of_pairs(answers, units, 2000)[0].results["cohen_kappa"]
        low, high = found.ci95 or (0, 0)
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.08)
        assert found.n == N


def test_all_statistics_of_a_pair_have_an_interval_around_them() -> None:
    (pair,) = of_pairs(answers_of(0.7, 0.8))
    assert pair.results.keys() == pair.bootstrap_undefined_fraction.keys() == NAMES
    for result in pair.results.values():
        low, high = result.ci95 or (1, 0)
        assert low < (result.value or 0) < high


def test_two_who_always_agree_have_no_interval_without_a_width() -> None:
    same, other = np.repeat(answers_of(0.7), 2, axis=0), (3 - KEY)[np.newaxis].astype(np.int8)
    for units in (QUESTIONS, units_of(np.arange(N) // 2)):
        (pair,) = of_pairs(same, units)
        assert {name for name, one in pair.results.items() if one.ci95 is not None} == (
            set() if units.clustered else {"percent_agreement", "brennan_prediger"}
        )
        assert pair.results["cohen_kappa"].flags == ("no_variation", "few_disagreements")
        (apart,) = of_pairs(np.vstack([KEY[np.newaxis].astype(np.int8), other]), units)
        assert apart.results["scott_pi"].ci95 is None
        assert "no_variation" in apart.results["scott_pi"].flags
        assert "few_disagreements" not in apart.results["scott_pi"].flags


def test_few_disagreements_are_flagged() -> None:
    answers = np.repeat(answers_of(0.7), 2, axis=0)
    for n, flagged in ((4, True), (5, False)):
        other = answers.copy()
        other[1, :n] = (other[1, :n] + 1) % Q
        (pair,) = of_pairs(other)
        found = {name for name, one in pair.results.items() if "few_disagreements" in one.flags}
        assert found >= NAMES - RIGHT_WRONG if flagged else not found - RIGHT_WRONG


def test_a_pair_does_not_depend_on_who_else_is_there() -> None:
    three = answers_of(0.6, 0.7, 0.8)
    for units in (QUESTIONS, units_of(np.arange(N) // 3)):
        assert of_pairs(three, units)[2].results == of_pairs(three[1:], units)[0].results


def test_questions_that_repeat_in_their_cluster_widen_the_interval() -> None:
    """Each question three times says no more than once."""
    thrice = np.repeat(answers_of(0.6, 0.8)[:, : N // 3], 3, axis=1)
    widths = []
    for units in (QUESTIONS, units_of(np.arange(N) // 3)):
        low, high = of_pairs(thrice, units)[0].results["cohen_kappa"].ci95 or (0, 0)
        widths.append(high - low)
    assert widths[1] / widths[0] == pytest.approx(3**0.5, rel=0.15)


def test_the_clusters_of_a_pair_are_those_that_it_answered() -> None:
    answers, exams = answers_of(0.6, 0.7, 0.8), units_of(np.arange(N) // 3)
    answers[2, 27:] = -1  # nine exams are left
    first, second, _third = of_pairs(answers, exams)
    assert first.results["cohen_kappa"].ci95 is not None
    assert second.results["cohen_kappa"].ci95 is None
    assert second.results["cohen_kappa"].flags == ("few_clusters", "small_n")
    assert second.results["error_consistency"].ci95 is not None  # a failed answer is wrong, and counts


@pytest.mark.parametrize("units", [QUESTIONS, units_of(np.arange(N) // 3)])
def test_phi_has_an_interval_unless_one_of_the_two_has_all_right(units: Units) -> None:
    answers = answers_of(0.5, 0.7, 1.0)
    right = (answers[:2] == KEY).astype(float)
    first, second, _third = of_pairs(answers, units)
    found = first.results["phi"]
    assert found.value == pytest.approx(np.corrcoef(right)[0, 1])
    low, high = found.ci95 or (0.0, 0.0)
    assert low < (found.value or 0) < high
    assert high - low == pytest.approx(3.92 / N**0.5, rel=0.25)  # the error of a correlation of 0 is 1/sqrt(n)
    undefined = second.results["phi"]
    assert (undefined.value, undefined.reason, undefined.n) == (None, "no_variation", N)
    assert second.bootstrap_undefined_fraction["phi"] == 1


def test_pairs_that_share_no_question_or_option_say_why() -> None:
    answers = np.zeros((3, N), dtype=np.int8)
    answers[2] = -1
    same, apart, _other = of_pairs(answers)
    assert same.results["cohen_kappa"].reason == "expected_agreement_is_one"
    assert same.bootstrap_undefined_fraction["cohen_kappa"] == 1
    assert (same.results["percent_agreement"].value, same.results["percent_agreement"].method) == (1, "wilson")
    assert apart.results["excess_agreement"].reason == "no_common_questions"
    assert of_pairs(answers[:1]) == []


def test_differences_of_kappas_share_their_draws() -> None:
    """A model that answers as the first reader: the difference is (kappa - 1)/2 in every draw, so are its limits."""
    two = answers_of(0.6, 0.8)
    found = of_means(np.append(two, two[:1], axis=0), n_readers=2).results
    readers, difference = found["mean_kappa_readers"], found["mean_kappa_difference"]
    assert difference.value == pytest.approx(((readers.value or 0) - 1) / 2)
    assert difference.ci95 == pytest.approx([(limit - 1) / 2 for limit in readers.ci95 or ()])


def test_means_are_those_of_their_pairs() -> None:
    answers = answers_of(0.6, 0.7, 0.8, 0.5)
    kappas = dict(zip(["01", "02", "03", "12", "13", "23"], cohen_kappa(pair_tables(answers, Q)[:, 0]), strict=True))
    found = of_means(answers, n_readers=2).results
    assert found["mean_kappa_readers"].value == pytest.approx(kappas["01"])
    assert found["light_kappa_models"].value == pytest.approx(kappas["23"])
    mixed = [kappas[pair] for pair in ("02", "03", "12", "13")]
    assert found["mean_kappa_reader_model"].value == pytest.approx(np.mean(mixed))
    assert found["light_kappa_all"].value == pytest.approx(np.mean(list(kappas.values())))


def test_pairs_that_share_no_assigned_question_are_left_out() -> None:
    """Two case sets: the second reader of each set has no common question with the readers of the other."""
    answers, first = answers_of(0.6, 0.7, 0.6, 0.7, 0.8), np.arange(N) < N // 2
    assigned = np.vstack([first, first, ~first, ~first, first | True])
    cut = np.where(assigned, answers, -2).astype(np.int8)
    found = of_means(cut, 4, assigned)
    kappas = cohen_kappa(pair_tables(cut, Q)[:, 0])  # 01 02 03 04 12 13 14 23 24 34
    assert (found.n_pairs_readers, found.n_pairs_reader_model) == (2, 4)
    assert found.results["mean_kappa_readers"].value == pytest.approx((kappas[0] + kappas[7]) / 2)
    assert found.results["light_kappa_readers"].reason == "no_common_questions"
    apart = of_means(cut[[0, 2, 4]], 2, assigned[[0, 2, 4]]).results
    assert apart["mean_excess_readers"].reason == "no_common_questions"
    assert apart["mean_excess_difference"].reason == "no_common_questions"
    assert apart["mean_excess_reader_model"].value is not None
    missing = of_means(cut[[0, 2, 4]], 2).results  # assigned, and never answered
    assert missing["mean_kappa_readers"].reason == "no_common_questions"


def test_a_mean_with_an_undefined_pair_is_undefined() -> None:
    answers = answers_of(0.6, 0.7, 0.8)
    answers[:2] = 0
    found = of_means(answers, n_readers=2).results
    assert found["mean_kappa_readers"].reason == "expected_agreement_is_one"
    assert found["mean_kappa_difference"].reason == "expected_agreement_is_one"
    assert found["light_kappa_models"].reason == "one_rater"
    assert found["mean_kappa_reader_model"].value == 0


def test_a_group_has_intervals_about_as_wide_as_its_standard_error_says() -> None:
    answers = answers_of(0.6, 0.7, 0.8)
    found = of_group(answers, 2000).results
    error = fleiss_kappa_se(rating_counts(answers, Q)) or 0
    low, high = found["fleiss_kappa"].ci95 or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.08)
    assert {result.n for result in found.values()} == {N}
    assert all(result.ci95 for result in found.values())


def test_a_group_of_one_and_one_without_common_questions_say_why() -> None:
    answers = answers_of(0.6, 0.7)
    apart = np.where(np.arange(N) % 2 == np.array([[0], [1]]), answers, -1)
    for group, reason in ((answers[:1], "one_rater"), (apart, "no_common_questions")):
        found = of_group(group)
        assert {result.reason for result in found.results.values()} == {reason}
        assert set(found.bootstrap_undefined_fraction.values()) == {None}


def test_a_small_group_panel_is_flagged_and_a_tiny_one_has_no_interval() -> None:
    answers = answers_of(0.6, 0.7, 0.8)
    for n in (9, 12):
        found = of_group(answers[:, :n]).results["fleiss_kappa"]
        assert found.flags == ("small_n",)
        assert (found.ci95 is None) == (n < 10)


@pytest.mark.parametrize(("raters", "questions"), [(0, 5), (1, 5), (3, 0)])
def test_panels_without_raters_or_questions_are_undefined(raters: int, questions: int) -> None:
    answers, units = np.zeros((raters, questions), dtype=np.int8), units_of(np.arange(questions))
    correct, key = answers + 1, np.zeros(questions, dtype=np.int8)
    given: Any = {"seed": 1, "draws": 10}
    everybody = np.ones(raters, dtype=np.bool_)
    groups, means = panel_agreement(answers, correct, key, everybody, Q, units, **given, panel="p")
    group = groups["all"]
    pairs = pair_statistics(answers, correct, key, Q, units, **given, panel="p")
    results = [
        *group.results.values(),
        *means.results.values(),
        *(one for pair in pairs for one in pair.results.values()),
    ]
    assert {result.reason for result in results} <= {"one_rater", "no_common_questions"}
    assert len(pairs) == raters * (raters - 1) // 2
