"""Every pair of many raters at once is what the kernels of one pair say, also where some questions do not count."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from annotation.statistics.kernels.comparing import cluster_mcnemar_chi2, clustered_difference
from annotation.statistics.kernels.ranking import ranked_pairs


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pairs_by_cluster_are_those_of_each_pair(missing: float) -> None:
    rng = np.random.default_rng(7)
    cluster = rng.integers(0, 60, 240)
    correct = (rng.random((6, 240)) < np.linspace(0.5, 0.8, 6)[:, None]).astype(np.int8)
    correct[rng.random(correct.shape) < missing] = -1
    pairs = ranked_pairs(correct, cluster, clustered=True)
    assert [(one.first, one.second) for one in pairs] == list(combinations(range(6), 2))
    for one in pairs:
        rows = correct[one.first], correct[one.second], cluster
        assert one.difference == clustered_difference(*rows).difference
        assert one.p == cluster_mcnemar_chi2(*rows).p


def test_a_pair_without_a_common_question_is_open() -> None:
    correct = np.array([[1] * 20 + [-1] * 20, [-1] * 20 + [1] * 20], dtype=np.int8)
    (pair,) = ranked_pairs(correct, np.arange(40) // 2, clustered=True)
    assert (pair.p, pair.better, pair.difference.value) == (None, None, None)
