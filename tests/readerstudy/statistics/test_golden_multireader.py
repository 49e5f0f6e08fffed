"""Multi-reader analyses against public reader data and other software."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from readerstudy.statistics.multireader import MultiReader, mean_of_readers, model_minus_readers, paired_difference
from tests.readerstudy.statistics.goldencases import Found, Golden
from tests.readerstudy.statistics.paper_study import PaperStudy

INFERENCES = {
    "random_readers_random_cases": "random_readers_random_questions",
    "fixed_readers_random_cases": "fixed_readers_random_questions",
    "random_readers_fixed_cases": "random_readers_fixed_questions",
}


def values(prefix: str, found: MultiReader) -> Found:
    one: Found = {
        "mean": found.mean,
        "ms_reader": found.ms_reader,
        "ms_case": found.ms_question,
        "ms_reader_case": found.ms_residual,
    }
    for theirs, ours in INFERENCES.items():
        inference = getattr(found, ours)
        one |= {f"{name}_{theirs}": getattr(inference, name) for name in ("se", "df", "ci95", "p")}
    return {f"{prefix} {name}": value for name, value in one.items()}


def of_ratings(given: Any) -> Found:
    truth = np.array(given["truth"]) == 1
    first, second = (
        ((np.array(given[f"ratings_modality_{which}"]) >= given["positive_at"]) == truth).astype(np.int8)
        for which in (1, 2)
    )
    return {
        **values("modality_1", mean_of_readers(first)),
        **values("modality_2", mean_of_readers(second)),
        **values("difference_1_minus_2", paired_difference(first, second)),
        "reader_accuracy_modality_1": first.mean(axis=1).tolist(),
        "reader_accuracy_modality_2": second.mean(axis=1).tolist(),
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    readers = study.correct[: len(study.readers)]
    found = values("mean of readers", mean_of_readers(readers))
    for model, row in zip(study.models, study.correct[len(study.readers) :], strict=True):
        found |= values(f"{model} minus mean of readers", model_minus_readers(row, readers))
    return found


GOLDEN = Golden(
    {"mrmc_vandyke_accuracy": of_ratings, "paper_shaped_study": of_study},
    {"mrmc": ".*", "study": ".*mean of readers .*"},
)


@pytest.mark.parametrize(("file", "name"), GOLDEN.parameters())
def test_golden(file: str, name: str) -> None:
    GOLDEN.check(file, name)
