"""Accuracy and its intervals against published limits and other software."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from readerstudy.statistics.proportions import ShareInterval, accuracy, clustered_accuracy, proportion
from tests.readerstudy.statistics.goldencases import Found, Golden
from tests.readerstudy.statistics.paper_study import PANELS, PaperStudy


def of_items(given: Any) -> Found:
    return {
        "proportion": [proportion(k, n).value for k, n in given["items"]],
        "wilson_ci95": [proportion(k, n).ci95 for k, n in given["items"]],
        "clopper_pearson_ci95": [proportion(k, n, ShareInterval.CLOPPER_PEARSON).ci95 for k, n in given["items"]],
    }


def of_clusters(given: Any) -> Found:
    correct = np.array([one for cluster in given["clusters"] for one in cluster])
    cluster = np.repeat(np.arange(len(given["clusters"])), [len(cluster) for cluster in given["clusters"]])
    found = clustered_accuracy(correct, cluster)
    return {
        "accuracy": found.accuracy.value,
        "accuracy_cluster_se": found.accuracy_cluster_se,
        "design_effect": found.design_effect,
        "accuracy_cluster_ci95": found.accuracy.ci95,
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    rows = dict(zip(study.raters, study.correct, strict=True))
    overall = {rater: accuracy(row) for rater, row in rows.items()}
    return {
        "scored_questions": len(study.key),
        "n_correct": {rater: int(row.sum()) for rater, row in rows.items()},
        "accuracy": {rater: result.value for rater, result in overall.items()},
        "accuracy_wilson_ci95": {rater: result.ci95 for rater, result in overall.items()},
        "accuracy_cluster_se": {
            rater: clustered_accuracy(row, study.cluster).accuracy_cluster_se for rater, row in rows.items()
        },
        "task_n": {panel: int(study.in_panel(panel).sum()) for panel in PANELS},
        "accuracy_by_task": {
            panel: {rater: counts(accuracy(row[study.in_panel(panel)])) for rater, row in rows.items()}
            for panel in PANELS
        },
        "rater_order": study.raters,
    }


def counts(result: Any) -> list[int]:
    return [round(result.value * result.n), result.n]


GOLDEN = Golden(
    {
        "proportion_newcombe_1998": of_items,
        "proportion_reader_study": of_items,
        "cluster_accuracy": of_clusters,
        "paper_shaped_study": of_study,
    },
    {
        "proportions": ".*",
        "cluster": ".*",
        "study": "scored_questions|n_correct|accuracy.*|task_n|rater_order",
    },
)


@pytest.mark.parametrize(("file", "name"), GOLDEN.parameters())
def test_golden(file: str, name: str) -> None:
    GOLDEN.check(file, name)
