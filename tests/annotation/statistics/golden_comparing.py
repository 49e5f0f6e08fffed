"""Comparisons of raters against published tables and other software."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels.comparing import (
    DifferenceInterval,
    PairedTable,
    cluster_mcnemar_chi2,
    clustered_difference,
    cochran_q,
    difference,
    holm_adjusted,
    mcnemar_chi2,
    mcnemar_exact_p,
    mcnemar_midp,
    paired_table,
)
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PaperStudy


def of_table(table: PairedTable) -> Found:
    chi2 = mcnemar_chi2(table)
    return {
        "difference": difference(table).value,
        "mcnemar_exact_p": mcnemar_exact_p(table),
        "mcnemar_midp": mcnemar_midp(table),
        "mcnemar_chi2": chi2.chi2,
        "mcnemar_chi2_p": chi2.p,
        "tango_ci95": difference(table).ci95,
        "newcombe_ci95": difference(table, DifferenceInterval.NEWCOMBE).ci95,
    }


def of_paired(given: Any) -> Found:
    return of_table(PairedTable(**{name: given[name] for name in ("both", "first_only", "second_only", "neither")}))


def of_list(given: Any) -> Found:
    return {
        f"item {place}: {name}": value
        for place, cells in enumerate(given["items"])
        for name, value in of_table(PairedTable(*cells)).items()
    }


def of_p_values(given: Any) -> Found:
    return {"holm_adjusted": holm_adjusted(given["p"])}


def of_clusters(given: Any) -> Found:
    first, second = (np.concatenate(given[f"clusters_{which}"]) for which in ("first", "second"))
    cluster = np.repeat(np.arange(len(given["clusters_first"])), [len(one) for one in given["clusters_first"]])
    test, apart = cluster_mcnemar_chi2(first, second, cluster), clustered_difference(first, second, cluster)
    return {
        "cluster_mcnemar_chi2": test.chi2,
        "cluster_mcnemar_p": test.p,
        "difference": apart.difference.value,
        "difference_cluster_se": apart.difference_cluster_se,
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    row = dict(zip(study.raters, study.correct, strict=True))
    tables = {
        f"{model} vs {reader}": paired_table(row[model], row[reader])
        for model in study.models
        for reader in study.readers
    }
    found = {pair: of_table(table) for pair, table in tables.items()}
    adjusted = holm_adjusted([mcnemar_exact_p(table) for table in tables.values()])
    readers, everybody = (cochran_q(study.correct[:n]) for n in (len(study.readers), len(study.raters)))
    return {
        "paired tables model vs reader": {
            pair: [table.both, table.first_only, table.second_only, table.neither] for pair, table in tables.items()
        },
        "mcnemar_exact_p": {pair: one["mcnemar_exact_p"] for pair, one in found.items()},
        "mcnemar_midp": {pair: one["mcnemar_midp"] for pair, one in found.items()},
        "mcnemar_exact_p_holm24": dict(zip(tables, adjusted, strict=True)),
        "difference_newcombe_ci95": {pair: one["newcombe_ci95"] for pair, one in found.items()},
        "difference_tango_ci95": {pair: one["tango_ci95"] for pair, one in found.items()},
        "cochran_q readers": [readers.chi2, readers.p],
        "cochran_q all": [everybody.chi2, everybody.p],
    }


GOLDEN = Golden(
    {
        "paired_airway_2009": of_paired,
        "paired_approval": of_paired,
        "paired_edges": of_list,
        "holm_five": of_p_values,
        "cluster_mcnemar_obuchowski_1998": of_clusters,
        "paper_shaped_study": of_study,
    },
    {
        "paired": ".*",
        "paired_list": ".*",
        "pvalues": ".*",
        "clusterpair": ".*",
        "study": "paired tables.*|mcnemar.*|difference_.*_ci95|cochran_q.*",
    },
)
