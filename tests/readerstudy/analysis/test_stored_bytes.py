"""What this version stores is, number by number and name by name, what the version that first had the rule stored.

``analysis_4.jsonl.gz`` holds the analyses that it wrote of five made-up studies: two in which everything occurs, by
cluster and by question, and three random ones, one of them with a post hoc model and planned pairs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from readerstudy.analysis.kernels.arrays import StudyArrays
from readerstudy.analysis.kernels.computing import RULE
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.storing import as_text
from tests.readerstudy.analysis.made import computed
from tests.readerstudy.report.random_studies import random_study
from tests.readerstudy.report.test_recompute import QUICK, lively

WRITTEN = Path(__file__).with_name("analysis_4.jsonl.gz")
ADDED = frozenset[str]()  # statistics that came since: they stand beside what was there and change nothing of it
STUDIES = ("clustered", "not clustered", "random 117", "random 5", "random 33")


def made(name: str) -> tuple[StudyArrays, Settings]:
    if name.startswith("random"):
        return random_study(int(name.removeprefix("random ")))
    return lively(20, shared_exams=name == "clustered", n_readers=2, n_models=1), QUICK


def written() -> dict[str, str]:
    return dict(zip(STUDIES, gzip.decompress(WRITTEN.read_bytes()).decode().splitlines(), strict=True))


@pytest.mark.parametrize("name", STUDIES)
def test_an_analysis_is_stored_as_it_always_was(name: str) -> None:
    """The names, their order, the words and the whole numbers to the letter; other numbers to 1e-12 of their size:
    another processor may add them up in another order."""
    assert RULE == "analysis-4"
    now = list(leaves(json.loads(as_text(computed(*made(name))))))
    then = list(leaves(json.loads(written()[name])))
    assert [place for place, _one in now] == [place for place, _one in then]
    different = [(place, one, was) for (place, one), (_, was) in zip(now, then, strict=True) if not is_same(one, was)]
    assert different == []


def is_same(one: Any, was: Any) -> bool:
    if isinstance(one, float) and isinstance(was, float):
        return isclose(one, was, rel_tol=1e-12, abs_tol=1e-15)
    return type(one) is type(was) and bool(one == was)


def leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every single value with its place, in the order of the file."""
    if isinstance(tree, dict):
        for name, one in tree.items():
            if name not in ADDED:
                yield from leaves(one, f"{place}.{name}")
    elif isinstance(tree, list):
        yield f"{place}.length", len(tree)
        for number, one in enumerate(tree):
            yield from leaves(one, f"{place}[{number}]")
    else:
        yield place, tree
