"""How many pairs a trial needs, which are drawn, and the difference that they show; each counted by hand."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, product
from math import ceil, erfc, sqrt

import pytest

from annotation.enums import RoundState
from annotation.feedback.kernels.trial_pairs import (
    TrialAssumptions,
    TrialQuestion,
    draw_pairs,
    measured,
    pairs_needed,
    pairs_of,
)
from annotation.feedback.kernels.trial_states import (
    TRIAL_ACTS,
    TrialAct,
    TrialFacts,
    TrialState,
    state_of,
    why_not,
)
from annotation.statistics.kernels.intervals import share, tango


def assumed(**fields: float) -> TrialAssumptions:
    return TrialAssumptions(**{"issue_rate": 0.3, "difference": 0.1, "power": 0.8, **fields})


def test_pairs_are_those_of_connor() -> None:
    """30 % against 20 %: only the first 0.3 x 0.8 = 0.24, only the second 0.2 x 0.7 = 0.14; psi 0.38, delta 0.1."""
    z_alpha, z_power = 1.959963984540054, 0.8416212335729143
    pairs = (z_alpha * sqrt(0.38) + z_power * sqrt(0.38 - 0.01)) ** 2 / 0.01
    assert pairs_needed(assumed(), 1) == ceil(pairs) == 296
    assert pairs_needed(assumed(difference=-0.1, issue_rate=0.2), 1) == 296
    assert pairs_needed(assumed(correlation=0.5), 1) == 296
    assert pairs_needed(assumed(correlation=0.5), 3) == ceil(2 * pairs)
    assert pairs_needed(assumed(power=0.9), 1) > 296


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, ""),
        ({"issue_rate": 0.0}, "issue_rate"),
        ({"issue_rate": 1.0}, "issue_rate"),
        ({"issue_rate": float("nan")}, "issue_rate"),
        ({"difference": 0.0}, "difference"),
        ({"difference": 0.31}, "difference"),
        ({"difference": -0.71}, "difference"),
        ({"power": 0.4}, "power"),
        ({"power": 1.0}, "power"),
        ({"correlation": -0.1}, "correlation"),
        ({"correlation": 1.0}, "correlation"),
    ],
)
def test_assumptions_that_cannot_be_are_named(fields: dict[str, float], problem: str) -> None:
    assert assumed(**fields).problem() == problem


def questions(*exams: tuple[int, int]) -> list[TrialQuestion]:
    """Of each exam so many questions of the first and of the second version; the second were imported later."""
    found = [(exam, False) for exam, (n, _other) in enumerate(exams) for _one in range(n)]
    found += [(exam, True) for exam, (_other, n) in enumerate(exams) for _one in range(n)]
    return [TrialQuestion(number, 100 + number, *one) for number, one in enumerate(found, start=1)]


def test_every_exam_gives_equally_many_of_both() -> None:
    drawn = draw_pairs(questions((2, 1), (0, 3), (3, 3), (1, 0)), 100, seed=1)
    assert Counter((one.exam, one.is_second) for one in drawn) == {
        (0, False): 1,
        (0, True): 1,
        (2, False): 3,
        (2, True): 3,
    }
    assert [(first.exam, first.is_second, second.is_second) for first, second in pairs_of(drawn)].count(
        (2, False, True)
    ) == 3


def test_the_draw_takes_the_planned_number_and_hangs_on_the_seed_alone() -> None:
    made = questions(*[(2, 2)] * 20)
    drawn = draw_pairs(made, 15, seed=5)
    assert len(drawn) == 30
    assert len(pairs_of(drawn)) == 15
    mixed = random.Random(3).sample(made, len(made))
    assert draw_pairs(mixed, 15, seed=5) == drawn
    assert draw_pairs(made, 15, seed=6) != drawn


def test_the_two_versions_are_mixed() -> None:
    """In no stretch of the sample does the place tell the version: runs of one version stay short."""
    drawn = draw_pairs(questions(*[(1, 1)] * 200), 200, seed=1)
    first_half = sum(one.is_second for one in drawn[:200])
    assert 80 < first_half < 120
    followers = Counter(one.is_second == other.is_second for one, other in pairwise(drawn))
    assert 150 < followers[True] < 250


def test_one_pair_of_each_exam_is_compared_by_tango_and_mcnemar() -> None:
    """12 pairs: 5 only the first has an issue, 1 only the second, 2 both, 4 neither. p = 2 x (1 + 6)/64."""
    first = [True] * 5 + [False] + [True] * 2 + [False] * 4
    second = [False] * 5 + [True] + [True] * 2 + [False] * 4
    found = measured(first, second, range(12))
    assert (found.first, found.second) == (share(7, 12), share(3, 12))
    assert found.difference.value == pytest.approx(-4 / 12)
    assert found.difference.ci95 == tango(1, 5, 12)
    assert found.p == pytest.approx(14 / 64)
    assert (found.n_clusters, found.is_clustered) == (12, False)


def test_pairs_of_one_exam_are_compared_by_cluster() -> None:
    """12 exams of two pairs each; second minus first by exam: -1 in six, 0 in five, +1 in one.

    d = -5/24; e_g = d_g - 2 d; SE = sqrt(12/11 sum e_g^2)/24; chi2 = 11/12 x 25/7.
    """
    by_exam = [-1] * 6 + [0] * 5 + [1]
    first = [flag for d in by_exam for flag in (d == -1, False)]
    second = [flag for d in by_exam for flag in (d == 1, False)]
    found = measured(first, second, [exam for exam in range(12) for _pair in range(2)])
    d = -5 / 24
    error = sqrt(12 / 11 * sum((each - 2 * d) ** 2 for each in by_exam)) / 24
    assert found.is_clustered
    assert found.difference.value == pytest.approx(d)
    assert found.difference.low == pytest.approx(d - 2.200985 * error, abs=1e-6)
    assert found.difference.high == pytest.approx(d + 2.200985 * error, abs=1e-6)
    assert found.p == pytest.approx(erfc(sqrt(11 / 12 * 25 / 7 / 2)))


def test_nothing_reviewed_is_no_difference() -> None:
    found = measured([], [], [])
    assert (found.difference.value, found.p, found.n_clusters) == (None, None, 0)


# --- states ---
@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (TrialFacts(False, False, False, False), TrialState.PLANNED),
        (TrialFacts(True, False, False, False), TrialState.ASKING),
        (TrialFacts(True, True, False, False), TrialState.STOPPED),
        (TrialFacts(True, False, True, False), TrialState.MADE),
        (TrialFacts(True, False, True, True), TrialState.DRAWN),
        (TrialFacts(True, False, True, True, RoundState.DRAFT), TrialState.DRAWN),
        (TrialFacts(True, False, True, True, RoundState.OPEN), TrialState.REVIEWING),
        (TrialFacts(True, False, True, True, RoundState.COMPLETE), TrialState.REVIEWING),
        (TrialFacts(True, False, True, True, RoundState.ADJUDICATION), TrialState.REVIEWING),
        (TrialFacts(True, False, True, True, RoundState.CLOSED), TrialState.CLOSED),
    ],
)
def test_the_state_follows_from_the_rows(facts: TrialFacts, state: TrialState) -> None:
    assert state_of(facts) == state


@pytest.mark.parametrize(("act", "state"), list(product(TrialAct, TrialState)))
def test_an_act_is_allowed_by_the_table_and_refused_with_a_sentence(act: TrialAct, state: TrialState) -> None:
    refusal = why_not(act, state)
    assert (refusal is None) == (state in TRIAL_ACTS[act])
    assert refusal is None or refusal.sentence.endswith(".")
