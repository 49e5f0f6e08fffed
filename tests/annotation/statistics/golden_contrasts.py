"""Whether readers agree more with each other than with models: means over pairs, and all resamples of six questions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import percentiles, units_of
from annotation.statistics.kernels.group_intervals import Kinds, contrasts, measures_of_sums, panel_agreement
from annotation.statistics.kernels.pair_tables import PairColumns
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PaperStudy


def of_answers(given: Any) -> Found:
    labels, away = given["labels"], given.get("not_assigned")
    rows = [given["answers"][name] for name in given["readers"] + given["models"]]
    answers = np.array([[labels.index(one) if one in labels else -1 for one in row] for row in rows])
    assigned = np.array([[one != away or away is None for one in row] for row in rows])
    key = np.array([labels.index(one) for one in given["key"]])
    correct = np.where(assigned, answers == key, -1)
    is_reader = np.arange(len(rows)) < len(given["readers"])
    return means(answers, correct, key, is_reader, assigned, len(labels)) | (
        resampled(PairColumns(answers, correct, key, len(labels), len(labels)), Kinds.of(is_reader, assigned))
        if len(key) == 6
        else {}
    )


def means(answers: Any, correct: Any, key: Any, is_reader: Any, assigned: Any, n_options: int) -> Found:
    units = units_of(np.arange(len(key)))
    given: Any = {"assigned": assigned, "seed": 1, "panel": "", "draws": 100}
    _groups, found = panel_agreement(answers, correct, key, is_reader, n_options, units, **given)
    counts = {"n_pairs_readers": found.n_pairs_readers, "n_pairs_reader_model": found.n_pairs_reader_model}
    return {name: one.value for name, one in found.results.items()} | counts


def resampled(columns: PairColumns, kinds: Kinds) -> Found:
    """Every way to draw six of six questions, each as likely as any other."""
    drawn = np.array(list(product(range(6), repeat=6)))
    counts: NDArray[np.int64] = (drawn[:, :, np.newaxis] == np.arange(6)).sum(axis=1)
    measures = measures_of_sums(columns, [counts @ part.T.astype(float) for part in columns.parts()])
    found: Found = {}
    for one in contrasts(kinds):
        if not one.reason:
            replicates = one.of(measures[one.measure])[:, np.newaxis]
            found[f"{one.name} bootstrap_undefined_fraction"] = float(np.isnan(replicates).mean())
            found[f"{one.name} bootstrap_percentiles_2.5_97.5"] = percentiles(replicates)[:, 0].tolist()
    return found


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    is_reader = np.arange(len(study.raters)) < len(study.readers)
    assigned = np.ones(study.answers.shape, dtype=np.bool_)
    found = means(study.answers, study.correct, study.key, is_reader, assigned, 4)
    return {f"{name} all": value for name, value in found.items()}


GOLDEN = Golden(
    {"mean_contrasts": of_answers, "mean_contrasts_sets": of_answers, "paper_shaped_study": of_study},
    {"contrasts": ".*", "study": "mean_.*(readers|reader_model|difference) all"},
)
