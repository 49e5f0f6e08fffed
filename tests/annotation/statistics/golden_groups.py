"""Agreement of several raters against published tables and other software."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from annotation.statistics.kernels import groups
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.group_intervals import COEFFICIENTS, panel_agreement
from annotation.statistics.kernels.groups import RatingSums, coincidences, rating_counts
from annotation.statistics.kernels.pair_tables import Codes
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PANELS, PaperStudy

ALPHAS = {f"krippendorff_alpha_{metric}": metric for metric in ("nominal", "ordinal", "interval", "ratio")}


def number(value: Any) -> float | None:
    return None if isnan(value) else float(value)


def of_counts(given: Any) -> Found:
    counts = np.array(given["matrix"])
    sums = RatingSums.of_counts(counts)
    return {
        **{name: number(f(sums)) for name, f in COEFFICIENTS.items() if name != "conger_kappa"},
        "fleiss_kappa_se": groups.fleiss_kappa_se(counts),
        "gwet_ac1_se": groups.gwet_ac1_se(counts),
    }


def of_confusion(given: Any) -> Found:
    table = np.array(given["matrix"])
    first, second = np.nonzero(table)
    answers = np.repeat(np.array([first, second]), table[first, second], axis=1)
    return alphas(answers, len(table))


def of_ratings(given: Any) -> Found:
    labels = given["labels"]
    answers = np.array([[-1 if one is None else labels.index(one) for one in row] for row in given["matrix"]]).T
    values = np.array(labels, dtype=float) if given["numeric_labels"] else None
    return {
        **of_group(answers, len(labels)),
        **alphas(answers, len(labels), values),
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    members = {"readers": study.answers[: len(study.readers)], "models": study.answers[len(study.readers) :]}
    members["all"] = study.answers
    return {
        f"{group}, {panel}: {name}": value
        for group, answers in members.items()
        for panel in ["all", *PANELS]
        for name, value in of_group(answers[:, study.in_panel(panel)], 4).items()
    }


def of_group(answers: Codes, n_options: int) -> Found:
    everybody, nothing = np.ones(len(answers), dtype=bool), np.full(answers.shape, -1)
    units, counts = units_of(np.arange(answers.shape[1])), rating_counts(answers, n_options)
    found, means = panel_agreement(
        answers, nothing, nothing[0] - 9, everybody, n_options, units, seed=1, panel="", draws=1
    )
    return {
        **{name: result.value for name, result in found["all"].results.items()},
        "fleiss_kappa_se": groups.fleiss_kappa_se(counts),
        "gwet_ac1_se": groups.gwet_ac1_se(counts),
        "light_kappa": means.results["light_kappa_all"].value,
    }


def alphas(answers: Codes, n_options: int, values: Any = None) -> Found:
    sums = coincidences(rating_counts(answers, n_options)).sum(axis=0)
    return {name: number(groups.krippendorff_alpha(sums, metric, values)) for name, metric in ALPHAS.items()}


GOLDEN = Golden(
    {
        "fleiss_1971": of_counts,
        "kappa_cohen_1968": of_confusion,
        "kappa_fleiss_cohen_everitt_1969": of_confusion,
        "kappa_high_agreement_gwet": of_confusion,
        "kappa_ordinal_review_grades": of_confusion,
        "multi_krippendorff_2011_c": of_ratings,
        "multi_mcq_missing": of_ratings,
        "multi_single_ratings": of_ratings,
        "multi_unused_option": of_ratings,
        "paper_shaped_study": of_study,
    },
    {
        "counts": "(?!fleiss_kappa_(se_null|by_category)).*",
        "confusion": "krippendorff.*",
        "ratings": "(?!pairwise).*",
        "study": "(readers|models|all), .*",
    },
)
