"""An exam with planted defects: copies of questions of the bank are asked about, and stored nowhere."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from annotation.models import AnswerKey, Revision
from annotation.validators.asked_about import AskedAbout
from annotation.validators.kernels.planted_defects import PLANTING_RULE, Defect, PlantedQuestion, planted

DEFECT = "defect"  # in the values of a call: which one is planted
MOST_PLANTED = 1_000  # questions of one exam


def drawn(asked: Sequence[AskedAbout], n: int, *, seed: int) -> list[AskedAbout]:
    """So many of these questions, or all where they are fewer, by number."""
    by_number = sorted(asked, key=lambda one: one.number)
    random.Random(f"{PLANTING_RULE} {seed}").shuffle(by_number)  # noqa: S311 - a draw that can be repeated
    return sorted(by_number[:n], key=lambda one: one.number)


def planted_calls(asked: Sequence[AskedAbout], *, seed: int) -> list[tuple[AskedAbout, int, dict[str, Any]]]:
    """Of each question one call as it is, and one for each defect that it can have."""
    ids = [one.revision for one in asked]
    revisions = Revision.objects.in_bulk(ids)
    keys = AnswerKey.objects.defer("extra").in_bulk(ids)
    return [
        (one, place, {DEFECT: defect.value})
        for one in asked
        for place, defect in enumerate(Defect)
        if copy_with(defect, revisions[one.revision], keys[one.revision], seed=seed) is not None
    ]


def copy_with(defect: str, revision: Revision, truth: AnswerKey, *, seed: int) -> PlantedQuestion | None:
    """The same each time; None where the question cannot have the defect."""
    asked = PlantedQuestion(revision.stem, tuple(revision.options), truth.key, truth.explanation)
    return planted(defect, asked, seed=seed, name=str(revision.pk))
