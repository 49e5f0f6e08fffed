"""Agreement of two raters against published tables and other software."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.pair_intervals import pair_statistics
from annotation.statistics.kernels.pair_tables import (
    OTHER_WRONG,
    SAME_WRONG,
    Codes,
    outcome_tables,
    pair_tables,
    rater_pairs,
    valid_only,
)
from annotation.statistics.kernels.pairs import (
    brennan_prediger,
    cohen_kappa,
    cohen_kappa_se,
    error_consistency,
    expected_agreement,
    gwet_ac1,
    percent_agreement,
    result_of,
    same_wrong_option,
    scott_pi,
)
from tests.annotation.statistics.coverage import large_sample_kappa
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PANELS, PaperStudy

Matrix = list[list[float | None]]


def of_confusion(given: Any) -> Found:
    table = np.array(given["matrix"])
    found: Found = {
        "n": int(table.sum()),
        "percent_agreement": percent_agreement(table),
        "expected_agreement": expected_agreement(table),
        "cohen_kappa_se": cohen_kappa_se(table),
        "scott_pi": scott_pi(table),
        "gwet_ac1": gwet_ac1(table),
        "brennan_prediger": brennan_prediger(table),
    }
    result = large_sample_kappa(table)
    found |= {"cohen_kappa": result.value, "cohen_kappa_ci95": result.ci95}
    if (weights := custom_weights(given)) is not None:
        found |= {
            "cohen_kappa_custom": float(cohen_kappa(table, weights)),
            "cohen_kappa_custom_se": cohen_kappa_se(table, weights),
        }
    return found


def custom_weights(given: Any) -> NDArray[np.float64] | None:
    if "custom_agreement_weights" in given:
        return np.array(given["custom_agreement_weights"])
    if "custom_disagreement_weights" in given:
        apart = np.array(given["custom_disagreement_weights"], dtype=float)
        return np.asarray(1 - apart / apart.max())
    return None


def of_pairs(given: Any) -> Found:
    """Per item: n, percent agreement and kappa of two lists of answers."""
    found = {}
    for item in given["items"]:
        table = pair_tables(codes_of([item["a"], item["b"]], given["labels"]), len(given["labels"]))[0, 0]
        agreed = result_of(float(percent_agreement(table)), table, ci95=None, method="none")
        found[item["id"]] = {
            "n": agreed.n,
            "percent_agreement": agreed.value,
            "cohen_kappa": large_sample_kappa(table).value,
        }
    return found


def of_ratings(given: Any) -> Found:
    answers = codes_of(np.array(given["matrix"], dtype=object).T.tolist(), given["labels"])
    tables = pair_tables(answers, len(given["labels"]))[:, 0]
    rated = (answers >= 0).sum(axis=1).tolist()
    return {
        "pairwise_n": as_matrix([int(table.sum()) for table in tables], rated),
        "pairwise_cohen_kappa": kappas(tables),
    }


def of_edges(given: Any) -> Found:
    """Of square tables: by Wilson, and kappa with its bootstrap."""
    found: Found = {}
    for item in given["items"]:
        table = np.array(item["matrix"])
        [pair] = statistics_of(np.repeat(np.array(np.nonzero(table)), table[np.nonzero(table)], axis=1), len(table))
        agreed, chance, kappa = (pair[name] for name in ("percent_agreement", "brennan_prediger", "cohen_kappa"))
        assert agreed.flags == chance.flags
        flags = None if kappa.value is None else sorted({*kappa.flags} - {"constant_rater"})
        for name, value in {
            "n": agreed.n,
            "percent_agreement": agreed.value,
            "percent_agreement_ci95": agreed.ci95,
            "brennan_prediger": chance.value,
            "brennan_prediger_ci95": chance.ci95,
            "flags": sorted(agreed.flags),
            "cohen_kappa": kappa.value,
            "cohen_kappa_flags": flags,
        }.items():
            found.setdefault(name, []).append(value)
    return found


def of_excess(given: Any) -> Found:
    """Of square tables of counts of a pair; the first option is the key."""
    found: Found = {}
    for item in given["items"]:
        table = np.array(item["matrix"])
        answers = np.repeat(np.array(np.nonzero(table)), table[np.nonzero(table)], axis=1)
        [pair] = statistics_of(answers, len(table))
        excess, outcome = pair["excess_agreement"], outcome_tables(answers, np.zeros(answers.shape[1], int))[0, 0]
        assert (excess.ci95 is None) == ("few_common_errors" in excess.flags)
        for name, value in {
            "excess_agreement": excess.value,
            "n_both_wrong": int(outcome[[SAME_WRONG, OTHER_WRONG]].sum()),
            "interval_given": excess.ci95 is not None,
        }.items():
            found.setdefault(name, []).append(value)
    return found


def statistics_of(
    answers: Codes, n_options: int, key: Codes | None = None, n_valid: int | None = None
) -> list[dict[str, Estimate]]:
    key = np.zeros(answers.shape[1], dtype=np.int64) if key is None else key
    units, correct = units_of(np.arange(answers.shape[1])), np.asarray(answers == key, dtype=np.int64)
    given: Any = {"n_valid": n_valid, "seed": 1, "panel": "", "draws": 100}
    return [one.results for one in pair_statistics(answers, correct, key, n_options, units, **given)]


def of_states(given: Any) -> Found:
    """A pair under both rules for failed extractions."""
    labels = given["labels"]
    found: Found = {}
    key, first, second = (
        [labels.index(one) if one in labels else (len(labels) if one == given["failed"] else -1) for one in given[who]]
        for who in ("key", "first", "second")
    )
    answers, q = np.array([first, second]), len(labels)
    valid = np.where(answers < q, answers, -1)
    for rule, codes, n_options in (("no_rating", valid, q), ("own_category", answers, q + 1)):
        [pair] = statistics_of(codes, n_options, np.array(key), q)
        same = same_wrong_option(outcome_tables(valid_only(codes, q), np.array(key))[0, 0])
        found |= {f"{rule}: {name}": result.value for name, result in pair.items()}
        found[f"{rule}: n"] = pair["percent_agreement"].n
        found[f"{rule}: same_wrong_option"] = [round((same.value or 0) * same.n), same.n]
    return found


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    by_panel = pair_tables(study.answers, 4, group=study.panel, n_groups=len(PANELS))
    found: Found = {}
    for panel, tables in zip(["all", *PANELS], [by_panel.sum(axis=1), *by_panel.swapaxes(0, 1)], strict=True):
        rated = (study.answers[:, study.in_panel(panel)] >= 0).sum(axis=1).tolist()
        found[f"kappa {panel}"] = kappas(tables)
        found[f"kappa_n {panel}"] = as_matrix([int(table.sum()) for table in tables], rated)
    errors = cohen_kappa_se(by_panel.sum(axis=1)).tolist()
    found["kappa_se all"] = as_matrix(errors, [None] * len(study.raters))
    failed_is_an_option = np.where(study.answers < 0, 4, study.answers)
    found["kappa_failed_extraction_as_category all"] = kappas(pair_tables(failed_is_an_option, 5)[:, 0])
    consistent = error_consistency(pair_tables(study.correct, 2)[:, 0]).tolist()
    found["error_consistency all"] = as_matrix(consistent, [1.0] * len(study.raters))
    outcomes = outcome_tables(study.answers, study.key)[:, 0]
    found["same_wrong_option_of_both_wrong"] = {
        f"{study.raters[i]} | {study.raters[j]}": [round((result.value or 0) * result.n), result.n]
        for (i, j), result in zip(rater_pairs(len(study.raters)), map(same_wrong_option, outcomes), strict=True)
    }
    return found


def kappas(tables: NDArray[np.integer]) -> Matrix:
    n_raters = next(n for n in range(2, 99) if len(rater_pairs(n)) == len(tables))
    return as_matrix([large_sample_kappa(table).value for table in tables], [1.0] * n_raters)


def as_matrix(of_pair: list[Any], diagonal: list[Any]) -> Matrix:
    matrix = [[diagonal[i] if i == j else None for j in range(len(diagonal))] for i in range(len(diagonal))]
    for (i, j), value in zip(combinations(range(len(diagonal)), 2), of_pair, strict=True):
        matrix[i][j] = matrix[j][i] = value
    return matrix


def codes_of(answers: list[list[Any]], labels: list[Any]) -> Codes:
    return np.array([[-1 if one is None else labels.index(one) for one in row] for row in answers], dtype=np.int8)


GOLDEN = Golden(
    {
        "kappa_cohen_1968": of_confusion,
        "kappa_fleiss_cohen_everitt_1969": of_confusion,
        "kappa_high_agreement_gwet": of_confusion,
        "kappa_ordinal_review_grades": of_confusion,
        "kappa_degenerate": of_pairs,
        "multi_krippendorff_2011_c": of_ratings,
        "multi_mcq_missing": of_ratings,
        "multi_single_ratings": of_ratings,
        "agreement_edges": of_edges,
        "excess_edges": of_excess,
        "failed_as_category": of_states,
        "multi_unused_option": of_ratings,
        "paper_shaped_study": of_study,
    },
    {
        "confusion": "n|(percent|expected)_agreement|cohen_kappa(_custom)?(_se|_ci95)?"
        "|scott_pi|gwet_ac1|brennan_prediger",
        "degenerate": ".*",
        "ratings": "pairwise_.*",
        "agreement_edges": ".*",
        "excess_edges": ".*",
        "pair_states": ".*",
        "study": "kappa.*|error_consistency.*|same_wrong_option.*",
    },
)
