"""Nobody can choose after seeing: a model that comes after unblinding stands apart and changes no other number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from readerstudy.analysis.kernels.arrays import Rater, StudyArrays
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.analysis.kernels.scoring import PlannedPair, planned_pairs
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.analysis.test_computing import KEY, MODELS, QUICK, READERS

TASKS = ["presence", "negation"] * 6
PAIRS = (("M1", "each reader"), ("each model", "R1"), ("Keyed", "R2"))


def study(models: dict[str, str], *, late: tuple[str, ...] = (), **fields: Any) -> StudyArrays:
    plan = AnalysisPlan(margin=0.2, pairs=PAIRS).as_json()
    arrays = make_arrays(READERS, models, KEY, **{"tasks": TASKS, "plan": plan, **fields})
    raters = [replace(one, facts={"post_hoc": one.name in late} if one.kind == MODEL else {}) for one in arrays.raters]
    return replace(arrays, raters=tuple(raters))


def without(result: dict[str, Any], name: str) -> dict[str, Any]:
    """The numbers of a result that are not about one model."""
    panels = {
        panel: {
            "raters": [one for one in found["raters"] if one["name"] != name],
            "pairs": [one for one in found["pairs"] if name not in (one["first"], one["second"])],
            "groups": found["groups"],
        }
        for panel, found in result["panels"].items()
    }
    return {
        "panels": panels,
        "comparisons": [one for one in result["comparisons"] if one["first"] != name],
        "readers": result["mrmc"]["readers"],
        "models": {model: one for model, one in result["mrmc"]["models"].items() if model != name},
    }


def of_family(result: dict[str, Any], family: str) -> list[dict[str, Any]]:
    return [one for one in result["comparisons"] if one["family"] == family]


def test_a_model_made_from_the_key_after_unblinding_changes_no_number_of_the_others() -> None:
    before = computed(study(MODELS), QUICK)
    after = computed(study({**MODELS, "Keyed": KEY}, late=("Keyed",)), QUICK)
    named = [one for one in before["comparisons"] if one["first"] == "Keyed"]
    assert [one["p"]["reason"] for one in named] == ["no_such_rater"]  # the plan names it, and it was not there
    assert without(after, "Keyed") == without(before, "Keyed")


def test_it_is_in_no_family_has_its_raw_p_alone_and_is_flagged_wherever_it_stands() -> None:
    result = computed(study({**MODELS, "Keyed": KEY}, late=("Keyed",)), QUICK)
    late = of_family(result, "post hoc")
    assert [(one["panel"], one["first"], one["second"]) for one in late] == [
        ("All tasks", "Keyed", "mean of the readers"),
        ("presence", "Keyed", "mean of the readers"),
        ("negation", "Keyed", "mean of the readers"),
        ("All tasks", "Keyed", "R1"),  # each model
        ("All tasks", "Keyed", "R2"),
    ]
    for one in late:
        assert not one["planned"]
        assert not {"p_holm", "superior", "non_inferior", "equivalent"} & one.keys()
        assert "post_hoc" in one["p"]["flags"]
        assert "post_hoc" in one["difference"]["flags"]
    for panel in result["panels"].values():
        [row] = [one for one in panel["raters"] if one["name"] == "Keyed"]
        pairs = [one for one in panel["pairs"] if "Keyed" in (one["first"], one["second"])]
        assert len(pairs) == len(READERS) + len(MODELS)
        for entry in (row, *pairs):
            values = [one for one in entry.values() if isinstance(one, dict) and "flags" in one]
            assert values
            assert all("post_hoc" in one["flags"] for one in values)
    assert [one["post_hoc"] for one in result["raters"] if one["kind"] == MODEL] == [False, False, True]
    for row in result["tables"]["categories"]:
        assert [name for name, one in row["accuracy"].items() if "post_hoc" in one["flags"]] == ["Keyed"]


def test_the_groups_that_readers_are_held_against_are_the_planned_ones() -> None:
    result = computed(study({**MODELS, "Keyed": KEY}, late=("Keyed",)), QUICK)
    groups = result["panels"]["All tasks"]["groups"]
    assert {name: one["n_raters"] for name, one in groups.items()} == {"readers": 3, "models": 2, "all": 5}


def test_with_late_models_only_nothing_is_planned() -> None:
    result = computed(study(MODELS, late=tuple(MODELS)), QUICK)
    assert not of_family(result, "primary")
    assert not of_family(result, "exploratory, by task")
    assert len([one for one in of_family(result, "post hoc") if one["second"] == "mean of the readers"]) == 6
    groups = result["panels"]["All tasks"]["groups"]
    assert groups["models"]["n_raters"] == 0
    assert groups["all"]["mean_kappa_difference"]["reason"] == "one_rater"


# --- names ----------------------------------------------------------------------------------------
def test_a_late_version_takes_the_name_from_nobody() -> None:
    raters = [
        Rater("R1", READER, {}),
        Rater("Alpha", MODEL, {"version": "2"}),
        Rater("Alpha 1", MODEL, {"version": "1", "post_hoc": True}),
    ]
    plan = AnalysisPlan(pairs=(("Alpha", "R1"), ("Alpha 1", "R1"))).as_json()
    assert planned_pairs(plan, raters) == [
        PlannedPair("Alpha", "R1"),
        PlannedPair("Alpha 1", "R1", "", is_post_hoc=True, is_counted=False),
    ]


# --- a plan that was made when the readings were there ------------------------------------------
@pytest.mark.parametrize(
    ("imported", "expected"), [((True, True, True), True), ((True, False, True), False), ((False,) * 3, False)]
)
def test_the_plan_of_a_study_read_elsewhere_was_made_after_the_readings(
    imported: tuple[bool, ...], expected: bool
) -> None:
    arrays = make_arrays(READERS, MODELS, KEY)
    readers = [replace(one, facts={"imported": came}) for one, came in zip(arrays.raters[:3], imported, strict=True)]
    plan = computed(replace(arrays, raters=(*readers, *arrays.raters[3:])), QUICK)["plan"]
    assert (plan["made_after_readings"], plan["is_planned"]) == (expected, True)


def test_without_readers_there_are_no_readings_to_come_after() -> None:
    assert not computed(make_arrays({}, MODELS, KEY), QUICK)["plan"]["made_after_readings"]
