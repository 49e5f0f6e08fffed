"""Accuracy and its intervals against published limits and other software."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.proportions import (
    ShareInterval,
    accuracy,
    accuracy_bank_mix,
    accuracy_task_mean,
    clustered_accuracy,
    proportion,
)
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PANELS, PaperStudy


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


def right_of(k: Sequence[int], n: Sequence[int]) -> tuple[Any, Any]:
    """Questions with so many right of each group, and the group of each."""
    right = [[1] * some + [0] * (of - some) for some, of in zip(k, n, strict=True)]
    return np.array([one for group in right for one in group], dtype=int), np.repeat(np.arange(len(n)), n)


def of_task_means(given: Any) -> Found:
    found = [accuracy_task_mean(*right_of(one["k"], one["n"]), len(one["n"])) for one in given["items"]]
    return {
        "accuracy_task_mean": [one.value for one in found],
        "accuracy_task_mean_ci95": [one.ci95 for one in found],
        "flags": [[*one.flags, *([one.reason] if one.reason else [])] for one in found],
    }


def of_bank_mixes(given: Any) -> Found:
    found = []
    for item in given["items"]:
        n_of, n, k, tasks = zip(*((one["N"], one["n"], one["k"], one["task"]) for one in item["strata"]), strict=True)
        found.append(accuracy_bank_mix(*right_of(k, n), np.array(n_of), tasks))
    results: list[Estimate] = [one.accuracy for one in found]
    return {
        "accuracy_bank_mix": [one.value for one in results],
        "accuracy_bank_mix_n_eff": [one.n_effective for one in found],
        "accuracy_bank_mix_ci95": [one.ci95 for one in results],
        "merged_tasks": [list(one.merged_tasks) for one in found],
        "reason": [one.reason for one in results],
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    rows = dict(zip(study.raters, study.correct, strict=True))
    overall = {rater: accuracy(row) for rater, row in rows.items()}
    task_means = {rater: accuracy_task_mean(row, study.panel, len(PANELS)) for rater, row in rows.items()}
    return {
        "scored_questions": len(study.key),
        "n_correct": {rater: int(row.sum()) for rater, row in rows.items()},
        "accuracy": {rater: result.value for rater, result in overall.items()},
        "accuracy_wilson_ci95": {rater: result.ci95 for rater, result in overall.items()},
        "accuracy_cluster_se": {
            rater: clustered_accuracy(row, study.cluster).accuracy_cluster_se for rater, row in rows.items()
        },
        "accuracy_task_mean": {rater: result.value for rater, result in task_means.items()},
        "accuracy_task_mean_ci95": {rater: result.ci95 for rater, result in task_means.items()},
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
        "task_mean": of_task_means,
        "bank_mix": of_bank_mixes,
    },
    {
        "proportions": ".*",
        "cluster": ".*",
        "task_mean": ".*",
        "bank_mix": ".*",
        "study": "scored_questions|n_correct|accuracy.*|task_n|rater_order",
    },
)
