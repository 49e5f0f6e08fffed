"""What a number of a study is, beside what it says: post hoc, or of a sensitivity analysis. Pure.

Labels are set here, once, on the values of a result; pages, tables, figures and texts only repeat them. What is true of
a whole analysis (``headings``) is said once wherever a part of it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, cast

from annotation.statistics.kernels.estimate import POST_HOC
from readerstudy.analysis.kernels.panel_result import MultiReaderPanel, MultiReaderResult, Panel
from readerstudy.analysis.kernels.result import AccuracyTables, Comparison, ResultPart, StoredAnalysis

WORDS = {
    ("failed_in_accuracy", "wrong"): "failed extractions counted as wrong",
    ("failed_in_accuracy", "exclude"): "failed extractions left out of accuracy",
    ("failed_in_agreement", "no_rating"): "failed extractions no rating in agreement",
    ("failed_in_agreement", "own_category"): "failed extractions an option of their own in agreement",
}
# why a reader is left out
CAME_LATE = "came after results had been seen: counted in a variant only"
WITHDRAWN, REPLACED, ANSWERED_NOTHING = "withdrawn", "replaced", "no answers"
CLAIMS = ("superior", "non_inferior", "equivalent")


def sensitivity_words(settings: Mapping[str, Any]) -> str:
    """What differs from the settings of the plan: "failed extractions left out of accuracy; 200 bootstrap draws".

    Empty for the study's own analysis. ``settings``: as an analysis stores them.
    """
    shown = {"draws": "{:,} bootstrap draws", "seed": "seed {}"}
    found = (
        shown[name].format(settings[name]) if name in shown else WORDS[name, settings[name]]
        for name in settings.get("differs", ())
    )
    return "; ".join(found)


def headings(result: StoredAnalysis) -> list[str]:
    """What is said wherever a part of the analysis stands: on page, table, figure, in the methods."""
    words = sensitivity_words(result["settings"])
    seen = [
        f"Made or changed after its readings were seen in {one['study']} on {one['on']}"
        for one in result["plan"].get("seen_before", ())
    ]
    return [*([f"Sensitivity analysis, not planned: {words}"] if words else []), *seen]


def flag_post_hoc(
    panels: Mapping[str, Panel], mrmc: MultiReaderResult, tables: AccuracyTables, names: Set[str]
) -> None:
    """Flag every value of these raters, in place."""
    for panel in panels.values():
        flag_values([one for one in panel["raters"] if one["name"] in names], POST_HOC)
        flag_values([one for one in panel["pairs"] if one["first"] in names or one["second"] in names], POST_HOC)
    every: list[MultiReaderPanel] = [mrmc, *mrmc["tasks"].values()]
    for found in every:
        flag_values([found["models"][name] for name in names], POST_HOC)
    rows = cast("Mapping[str, list[dict[str, Any]]]", tables).values()
    for row in (row for table in rows for row in table):
        if "name" in row:
            flag_values([row for _one in names & {row["name"]}], POST_HOC)
        else:  # it holds the accuracy of every rater
            flag_values([row["accuracy"][name] for name in names], POST_HOC)


def flag_unplanned(part: ResultPart, flag: str) -> None:
    """Flag every value, of other settings than the plan's or chosen after results were seen; nothing of it is planned,
    adjusted or claimed."""
    for one in part["comparisons"]:
        _without_claims(one, flag)
    flag_values(part, flag)


def _without_claims(one: Comparison, reason: str) -> None:
    row = cast("dict[str, Any]", one)
    row["planned"] = False
    for name, value in row.items():
        if name.endswith("p_holm") and value is not None:
            row[name] = {**value, "value": None, "reason": reason}
        elif name in CLAIMS:
            row[name] = None


def flag_values(part: Any, flag: str) -> None:
    """Every value in it, at any depth."""
    if isinstance(part, dict):
        if flag not in part.get("flags", [flag]):
            part["flags"] = [*part["flags"], flag]
        flag_values(list(part.values()), flag)
    elif isinstance(part, list):
        for one in part:
            flag_values(one, flag)
