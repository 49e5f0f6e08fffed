from __future__ import annotations

import numpy as np
import pytest

from tests.readerstudy.leaderboard.attacks import ATTACKS, exact_scores, gain_of
from tests.readerstudy.leaderboard.gains import OPTIONS


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_that_is_told_nothing_gains_nothing(name: str) -> None:
    rng, n = np.random.default_rng(3), 5_000
    key = rng.integers(OPTIONS, size=n)
    cells = {"all": np.ones(n, dtype=bool)}
    file = ATTACKS[name](cells, 20, 3, lambda files: [{} for _one in files], rng)
    assert abs(gain_of(file, key)) < 2.5, "four standard errors of a guess"


def test_exact_scores_for_the_asking_give_the_keys_away() -> None:
    """The control: 600 submissions on 200 questions."""
    rng, n = np.random.default_rng(4), 200
    cells = {"all": np.ones(n, dtype=bool)}
    gains = []
    for _run in range(10):
        key = rng.integers(OPTIONS, size=n)
        gains.append(gain_of(ATTACKS["random votes"](cells, 600, 1, exact_scores(key, cells), rng), key))
    assert np.mean(gains) >= 30


@pytest.mark.parametrize(("name", "least"), [("best of many", 3), ("hill climbing", 5), ("block probing", 5)])
def test_every_attack_learns_from_exact_scores(name: str, least: float) -> None:
    rng, n = np.random.default_rng(5), 400
    cells = {"all": np.ones(n, dtype=bool)}
    gains = []
    for _run in range(10):
        key = rng.integers(OPTIONS, size=n)
        gains.append(gain_of(ATTACKS[name](cells, 20, 10, exact_scores(key, cells), rng), key))
    assert np.mean(gains) > least
