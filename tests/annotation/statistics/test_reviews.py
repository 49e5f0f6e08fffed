"""Agreement of reviewers, and how often experts choose the key."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.statistics.kernels.reviewers import expert_ceiling, issue_table, reviewer_agreement


def test_only_questions_that_both_reviewed_enter() -> None:
    first = {1: {"a"}, 2: {"a", "b"}, 3: (), 4: {"a"}}
    second = {1: {"a"}, 2: (), 3: {"a"}, 5: {"a"}}
    assert issue_table(first, second, "a").tolist() == [[1, 1], [1, 0]]


def test_a_rare_issue_has_specific_agreement_beside_its_kappa() -> None:
    found = reviewer_agreement(np.array([[3, 1], [1, 95]]), seed=1, issue="hallucinated", draws=400)
    positive, negative = found["specific_agreement_positive"], found["specific_agreement_negative"]
    assert [positive.value, negative.value] == pytest.approx([6 / 8, 190 / 192])
    assert all(result.n == 100 for result in found.values())
    low, high = negative.ci95 or (1, 0)
    assert low < 190 / 192 < high


def test_an_issue_that_nobody_flagged_is_undefined() -> None:
    found = reviewer_agreement(np.array([[0, 0], [0, 40]]), seed=1, issue="other", draws=100)
    assert found["specific_agreement_positive"].reason == "zero_trials"
    assert found["cohen_kappa"].reason == "expected_agreement_is_one"
    assert found["specific_agreement_negative"].value == found["percent_agreement"].value == 1


def test_the_ceiling_of_experts_allows_for_two_answers_to_one_question() -> None:
    key = np.arange(40) % 4
    blind = np.array([key, np.where(np.arange(40) < 30, key, 3 - key)])
    both, one = expert_ceiling(blind, key), expert_ceiling(blind[1:], key)
    assert (both.value, both.n, both.method) == (70 / 80, 80, "cluster_t")
    assert (one.value, one.n, one.method) == (30 / 40, 40, "wilson")
    unanswered = np.append(blind[1:], [[-1] * 40], axis=0)
    assert expert_ceiling(unanswered, key) == one
    assert expert_ceiling(np.full((2, 3), -1), key[:3]).reason == "zero_trials"
