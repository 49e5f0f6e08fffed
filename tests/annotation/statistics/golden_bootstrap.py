"""The bootstrap against all 256 resamples of four questions, drawn as tables and as units."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import generator, percentiles, resampled_tables, resampled_totals
from annotation.statistics.kernels.pair_tables import Tables, pair_tables
from annotation.statistics.kernels.pairs import cohen_kappa
from tests.annotation.statistics.goldencases import Found, Golden, read

DRAWS = 20_000
NOTED = {"bootstrap_mean": 0.01, "bootstrap_sd": 0.01, "bootstrap_undefined_fraction": 0.005}  # of its notes
NAME = "bootstrap_enumerated_four"
CASE = read(NAME)


def tables_drawn(given: Any) -> NDArray[np.floating]:
    return resampled_tables(tables(given).sum(axis=0), generator(1, "golden", "tables"), DRAWS).astype(np.float64)


def units_drawn(given: Any) -> NDArray[np.floating]:
    return resampled_totals(tables(given), generator(1, "golden", "units"), DRAWS)


def all_resamples(given: Any) -> NDArray[np.floating]:
    """Every way to draw four of four questions, each as likely as any other."""
    one_each = tables(given)
    return np.array([one_each[list(drawn)].sum(axis=0) for drawn in product(range(4), repeat=4)], dtype=np.float64)


def tables(given: Any) -> Tables:
    """One table for each question."""
    codes = np.array([[given["labels"].index(one) for one in pair] for pair in given["pairs"]]).T
    found: Tables = pair_tables(codes, len(given["labels"]), group=np.arange(4), n_groups=4)[0]
    return found


def found_from(given: Any, drawn: NDArray[np.floating]) -> Found:
    kappas = cohen_kappa(drawn)
    return {
        "cohen_kappa": float(cohen_kappa(tables(given).sum(axis=0))),
        "bootstrap_undefined_fraction": float(np.isnan(kappas).mean()),
        "bootstrap_mean": float(np.nanmean(kappas)),
        "bootstrap_sd": float(np.nanstd(kappas)),
        "bootstrap_percentiles_2.5_97.5": percentiles(kappas[:, np.newaxis])[:, 0].tolist(),
    }


GOLDEN = Golden({NAME: lambda given: found_from(given, all_resamples(given))}, {"bootenum": ".*"})
