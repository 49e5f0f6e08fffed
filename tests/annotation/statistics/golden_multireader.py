"""Multi-reader analyses against public reader data and other software."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.statistics.kernels.comparing import (
    Mover,
    holm_adjusted,
    is_non_inferior,
    noninferiority_p,
    t_test_p,
)
from annotation.statistics.kernels.multireader import (
    ByUnit,
    Design,
    MultiReader,
    mean_of_readers,
    mean_squares,
    model_minus_readers,
)
from tests.annotation.statistics.goldencases import Found, Golden
from tests.annotation.statistics.paper_study import PaperStudy
from tests.annotation.statistics.test_multireader import paired_difference

INFERENCES = {
    "random_readers_random_cases": "random_readers_random_questions",
    "fixed_readers_random_cases": "fixed_readers_random_questions",
    "random_readers_fixed_cases": "random_readers_fixed_questions",
}


def inferences(found: ByUnit) -> Found:
    values: Found = {}
    for theirs, ours in INFERENCES.items():
        inference = getattr(found, ours)
        values |= {f"{name}_{theirs}": getattr(inference, name) for name in ("se", "df", "ci95", "p", "reason")}
    return values


def of_unit(found: ByUnit) -> Found:
    random = found.random_readers_random_questions
    return {
        **inferences(found),
        **{name: getattr(found, name) for name in ("reader_part", "case_part", "mover_ci95")},
        "n_clusters": found.n_units,
        "as_fixed_readers": "yes" if "as_fixed_readers" in random.flags else "no",
    }


def values(prefix: str, found: MultiReader, y: NDArray[np.integer]) -> Found:
    """Of a complete design, with the mean squares that the parts of its variance are made of."""
    squares = mean_squares(y.astype(float))
    assert squares is not None
    parts = (squares.rows / y.size, (squares.columns - squares.rest) / y.size)
    assert (found.by_question.reader_part, found.by_question.case_part) == pytest.approx(parts, abs=1e-12)
    one: Found = {
        "mean": found.mean,
        "ms_reader": squares.rows,
        "ms_case": squares.columns,
        "ms_reader_case": squares.rest,
        **inferences(found.by_question),
        **{f"by_question {name}": value for name, value in of_unit(found.by_question).items()},
    }
    if found.by_cluster is not None:
        one |= {f"by_cluster {name}": value for name, value in of_unit(found.by_cluster).items()}
    return {f"{prefix} {name}": value for name, value in one.items()}


def of_general(given: Any) -> Found:
    """Any design: null is no answer of a reader or of the model."""
    readers, model = (
        np.array([[-1 if one is None else one for one in row] for row in rows])
        for rows in (given["correct_readers"], [given["correct_model"]])
    )
    cluster = np.array(given["clusters"]) if "clusters" in given else None
    found = model_minus_readers(model[0], readers, Design(cluster))
    random = found.by_question.random_readers_random_questions
    values: Found = {
        **{name: getattr(found, name) for name in ("n_readers", "n_questions", "n_questions_dropped", "n_cells")},
        **{name: getattr(found, name) for name in ("mean", "reason", "model_accuracy")},
        "difference_by_reader": list(found.difference_by_reader),
        "flags": sorted({*found.flags, *(flag for flag in random.flags if flag == "few_readers")}),
    }
    for unit in ("by_question", "by_cluster"):
        one: ByUnit | None = getattr(found, unit)
        if one is not None:
            values |= {f"{unit} {name}": value for name, value in of_unit(one).items()}
            fixed = one.fixed_readers_random_questions
            planned = fixed if random.se is None else one.random_readers_random_questions
            if given.get("margin") and found.mean is not None and planned.se and planned.df:
                p = noninferiority_p(found.mean, planned.se, planned.df, given["margin"])
                values[f"{unit} noninferiority_p"] = p
    return values


def of_general_list(given: Any) -> Found:
    return {
        f"item {place}: {name}": value
        for place, item in enumerate(given["items"])
        for name, value in of_general(item).items()
    }


def of_margin(given: Any) -> Found:
    known = [one for one in given["items"] if one["se"] is not None]

    def placed(values: list[Any]) -> list[Any]:
        left = iter(values)
        return [None if one["se"] is None else next(left) for one in given["items"]]

    sided = placed([noninferiority_p(one["difference"], one["se"], one["df"], given["margin"]) for one in known])
    tested = placed([t_test_p(one["difference"], one["se"], one["df"]) for one in known])
    adjusted = holm_adjusted(sided)
    return {
        "noninferiority_p": sided,
        "noninferiority_p_holm": adjusted,
        "noninferior": [None if p is None else "yes" if is_non_inferior(p) else "no" for p in adjusted],
        "superiority_p": tested,
        "superiority_p_holm": holm_adjusted(tested),
    }


def of_few_readers(given: Any) -> Found:
    found: Found = {}
    for place, item in enumerate(given["items"]):
        readers = np.array(item["correct_readers"])
        one = model_minus_readers(np.array(item["correct_model"]), readers)
        unit = one.by_question
        assert one.mean is not None
        assert unit.reader_part is not None
        assert unit.case_part is not None
        mover = Mover(one.mean, unit.reader_part, unit.case_part, len(readers))
        values = {
            "estimate": one.mean,
            **{name: getattr(unit, name) for name in ("reader_part", "case_part")},
            **{name: getattr(unit, name) for name in ("mover_ci95", "mover_ci90", "mover_p")},
            "mover_noninferiority_p": mover.noninferiority_p(item["margin"]),
            "mover_equivalence_p": mover.equivalence_p(item["margin"]),
        }
        found |= {f"item {place}: {name}": value for name, value in values.items()}
    return found


def of_ratings(given: Any) -> Found:
    truth = np.array(given["truth"]) == 1
    first, second = (
        ((np.array(given[f"ratings_modality_{which}"]) >= given["positive_at"]) == truth).astype(np.int8)
        for which in (1, 2)
    )
    return {
        **values("modality_1", mean_of_readers(first), first),
        **values("modality_2", mean_of_readers(second), second),
        **values("difference_1_minus_2", paired_difference(first, second), first - second),
        "reader_accuracy_modality_1": first.mean(axis=1).tolist(),
        "reader_accuracy_modality_2": second.mean(axis=1).tolist(),
    }


def of_study(given: Any) -> Found:
    study = PaperStudy(given)
    readers = study.correct[: len(study.readers)]
    design = Design(study.cluster)
    found = values("mean of readers", mean_of_readers(readers, design), readers)
    for model, row in zip(study.models, study.correct[len(study.readers) :], strict=True):
        found |= values(f"{model} minus mean of readers", model_minus_readers(row, readers, design), row - readers)
    return found


GOLDEN = Golden(
    {
        "mrmc_vandyke_accuracy": of_ratings,
        "mrmc_clustered": of_general,
        "mrmc_sets": of_general,
        "mrmc_edges": of_general_list,
        "noninferiority": of_margin,
        "few_readers": of_few_readers,
        "paper_shaped_study": of_study,
    },
    {
        "mrmc": ".*",
        "mrmc_general": ".*",
        "mrmc_general_list": ".*",
        "noninferiority": ".*",
        "few_readers": ".*",
        "study": ".*mean of readers .*",
    },
)
