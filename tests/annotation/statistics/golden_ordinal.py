"""Agreement on ordered grades against published tables and other software."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels.pairs import cohen_kappa, cohen_kappa_se
from annotation.statistics.kernels.reviewers import (
    intraclass_correlations,
    linear_weights,
    quadratic_weights,
    weighted_agreement,
)
from tests.annotation.statistics.goldencases import Found, Golden


def of_confusion(given: Any) -> Found:
    table = np.array(given["matrix"])
    linear, quadratic = linear_weights(len(table)), quadratic_weights(len(table))
    return {
        "cohen_kappa_linear": cohen_kappa(table, linear),
        "cohen_kappa_linear_se": cohen_kappa_se(table, linear),
        "cohen_kappa_quadratic": cohen_kappa(table, quadratic),
        "cohen_kappa_quadratic_se": cohen_kappa_se(table, quadratic),
    }


def of_icc(given: Any) -> Found:
    results = intraclass_correlations(np.array(given["matrix"], dtype=float))
    return {name: result.value for name, result in results.items()} | {"icc2_1_ci95": results["icc2_1"].ci95}


def of_iccs(given: Any) -> Found:
    return {
        f"item {place}: {name}": value
        for place, item in enumerate(given["items"])
        for name, value in of_icc(item).items()
    }


def of_grades(given: Any) -> Found:
    found: Found = {}
    for place, item in enumerate(given["items"]):
        code = {grade: number for number, grade in enumerate(item["labels"])}
        grades = np.array([[code.get(grade, -1) for grade in row] for row in item["matrix"]]).T
        for name, weights in (("linear", linear_weights), ("quadratic", quadratic_weights)):
            one = weighted_agreement(grades, weights(len(code)))
            values = {
                "percent_agreement_weighted": one.percent_agreement_weighted.value,
                "gwet_ac2": one.gwet_ac2.value,
                "gwet_ac2_se": one.gwet_ac2_se,
            }
            found |= {f"item {place}: {name} {what}": value for what, value in values.items()}
    return found


GOLDEN = Golden(
    {
        "kappa_cohen_1968": of_confusion,
        "kappa_fleiss_cohen_everitt_1969": of_confusion,
        "kappa_ordinal_review_grades": of_confusion,
        "icc_shrout_fleiss_1979": of_icc,
        "icc_edges": of_iccs,
        "ac2": of_grades,
    },
    {"confusion": "cohen_kappa_(linear|quadratic).*", "icc": ".*", "icc_list": ".*", "ordinal_ratings": ".*"},
)
