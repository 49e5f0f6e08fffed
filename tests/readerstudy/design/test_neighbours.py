"""What one case does to the next must not fall on the same case for every reader: neighbours are as chance has them.

With few seeds here; ``make proof`` takes 1,000 (PROOF_SEEDS).
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.typing import NDArray

from readerstudy.design.kernels.ordering import draw_orders, most_side_by_side

N_SEEDS = int(os.environ.get("PROOF_SEEDS", "20"))
N_FREE = max(500, N_SEEDS)  # shuffles by which a rule is judged
MOST_RATIO = 1.2  # variance over mean of how often one case comes right before another; chance has 1.0
Orders = NDArray[np.int64]  # of shape (orders, cases), cases counted from 0

pytestmark = [pytest.mark.parametrize("n_readers", [3, 10, 20]), pytest.mark.parametrize("n_cases", [40, 200])]


def drawn(n_readers: int, n_cases: int, seed: int, rule: str) -> Orders:
    """The orders of one group, one for each reader."""
    orders = draw_orders(range(n_cases), n_orders=n_readers, group=n_readers, seed=seed, rule=rule)
    return np.array(orders, dtype=np.int64)


def most_by_chance(n_readers: int, n_cases: int) -> int:
    """The 99th percentile, over free shuffles, of for how many readers the commonest neighbours are neighbours."""
    random = np.random.default_rng(20261123)
    shuffles = (random.permuted(np.tile(np.arange(n_cases), (n_readers, 1)), axis=1) for _study in range(N_FREE))
    return int(np.percentile([most_side_by_side(orders) for orders in shuffles], 99, method="lower"))


def ratio_of(orders: Orders) -> float:
    """Variance over mean, over all ordered pairs of cases, of in how many orders one comes right before the other."""
    n_cases = orders.shape[1]
    counts = np.bincount((orders[:, :-1] * n_cases + orders[:, 1:]).ravel(), minlength=n_cases**2)
    pairs = counts.reshape(n_cases, n_cases)[~np.eye(n_cases, dtype=bool)]
    return float(pairs.var() / pairs.mean())


def test_neighbours_are_as_chance_has_them(n_readers: int, n_cases: int) -> None:
    """In every study: no ratio above the limit, no two cases side by side for more readers than in free shuffles."""
    studies = [drawn(n_readers, n_cases, seed, "latin-2") for seed in range(N_SEEDS)]
    assert max(ratio_of(orders) for orders in studies) < MOST_RATIO
    assert max(most_side_by_side(orders) for orders in studies) <= most_by_chance(n_readers, n_cases)


def test_places_are_as_balanced_as_by_the_rule_before(n_readers: int, n_cases: int) -> None:
    """The mean place of a case over the readers varies no more than by latin-1: a case visits every segment."""
    spread = {
        rule: np.mean(
            [np.argsort(drawn(n_readers, n_cases, seed, rule), axis=1).mean(axis=0).var() for seed in range(N_SEEDS)]
        )
        for rule in ("latin-1", "latin-2")
    }
    assert spread["latin-2"] < 1.1 * spread["latin-1"]
