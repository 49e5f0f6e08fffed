"""The declared shape of a stored analysis is that of every analysis, and docs/analysis.md lists it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from annotation.statistics.kernels.catalogue import CATALOGUE, ShownOn, shown_at
from annotation.statistics.kernels.cautions import FLAGS, METHODS, REASONS
from readerstudy.analysis.kernels.result import StoredAnalysis, values_of
from tests.readerstudy.analysis import result_page
from tests.readerstudy.analysis.made import computed
from tests.readerstudy.analysis.test_stored_bytes import WRITTEN
from tests.readerstudy.report.random_studies import random_study
from tests.sweeps import share

SEEDS = range(1, 40)


def stored(seed: int) -> Any:
    return json.loads(json.dumps(computed(*random_study(seed))))


@pytest.fixture(scope="module")
def analyses() -> list[Any]:
    then = [json.loads(line) for line in gzip.decompress(WRITTEN.read_bytes()).decode().splitlines()]
    return [*then, *map(stored, share(SEEDS))]


@pytest.mark.sweep
def test_an_analysis_holds_what_is_declared_and_nothing_else(analyses: list[Any]) -> None:
    """What is not declared would be lost on the way, and what is not there refused."""
    for one in analyses:
        assert msgspec.convert(one, StoredAnalysis) == one


@pytest.mark.sweep
def test_every_value_is_in_the_catalogue_with_its_cautions_and_its_method(analyses: list[Any]) -> None:
    """Nothing reaches a page, a codebook or a table without a name, a meaning and a rule."""
    for one in analyses:
        for about, entry in entries_of(one):
            for name, value in values_of(entry):
                known = CATALOGUE.get((about, name)) or (about == "group" and name.startswith("mean_"))
                assert known, f"{about} {name}"
                assert value["reason"] is None or value["reason"] in REASONS, value
                assert set(value["flags"]) <= FLAGS.keys(), value
                assert value["method"] in METHODS or about == "group" or value["method"].startswith("mcnemar"), value


def entries_of(result: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("calibration", one) for one in result["tables"].get("calibration", ())]
    for panel in result["panels"].values():
        found += [("rater", one) for one in panel["raters"]] + [("panel", panel)]
        found += [("pair", one) for one in panel["pairs"]] + [("group", one) for one in panel["groups"].values()]
    return [*found, *(("time", one) for one in (*result["time"]["readers"], result["time"]["all"]))]


def test_what_is_shown_is_computed(analyses: list[Any]) -> None:
    pair = next(pair for one in reversed(analyses) for pair in one["panels"]["All tasks"]["pairs"])
    for place in (ShownOn.PAIR, ShownOn.PAIRS, ShownOn.PRINTED_PAIRS, ShownOn.HEATMAP):
        assert {one.name for one in shown_at(place)} <= pair.keys()


def test_docs_list_the_shape_and_the_statistics() -> None:
    page = Path(result_page.PAGE).read_text(encoding="utf-8")
    assert page == result_page.written(page), "run python -m tests.readerstudy.analysis.result_page"
