"""Each model minus the mean of the readers, and the planned pairs, as tables, figures and pages show them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from readerstudy.analysis.kernels.panel_result import ReaderDifference
from readerstudy.analysis.kernels.result import Comparison, StoredAnalysis, StoredRater
from readerstudy.results.kernels.inferences import Line, lines_of
from readerstudy.results.kernels.stored import (
    left_models,
    order_of,
    planned_comparisons,
    planned_pairs,
    post_hoc_comparisons,
    post_hoc_differences,
    post_hoc_models,
    runs_in_mean,
)


@dataclass(frozen=True)
class Planned:
    """One model minus the mean of the readers."""

    row: Comparison
    lines: list[Line]  # by the inference of the plan, by the two others, then the sensitivity analyses
    by_reader: list[ReaderDifference]  # minus each reader alone, in the order of the readers
    has_left: bool = False  # the run was taken out after results were seen; it was planned and stays
    n_runs: int = 0  # in the mean that represents the model; 0: one run does

    @property
    def planned(self) -> Line:
        return self.lines[0]

    @property
    def others(self) -> list[Line]:
        return self.lines[1:]


def planned_rows(result: StoredAnalysis) -> list[Planned]:
    return _by_inference(result, planned_comparisons(result))


def _by_inference(result: StoredAnalysis, comparisons: Sequence[Comparison]) -> list[Planned]:
    found = []
    left, runs = {one["name"] for one in left_models(result)}, runs_in_mean(result)
    for row in comparisons:
        model = result["mrmc"]["models"][row["first"]]
        first, *others = lines_of(model)
        planned = replace(first, value={**first.value, **row["difference"], "reason": first.value["reason"]})
        name, own = row["first"], model["difference_by_reader"]
        found.append(Planned(row, [planned, *others], own, name in left, runs.get(name, 0)))
    return found


@dataclass(frozen=True)
class OtherLine:
    """An interval beside the planned one, and the words beside it that its column does not say."""

    line: Line
    beside: str


@dataclass(frozen=True)
class OtherLines:
    """The lines beside the planned intervals: a column for each kind of line, a row for each model."""

    columns: list[tuple[str, str]]  # what the line is, and the words beside it in every row
    rows: list[tuple[Planned, list[OtherLine | None]]]


def other_lines(planned: Sequence[Planned]) -> OtherLines:
    """A column says once what all of its lines say; a model without such a line has none there."""
    kinds = list(dict.fromkeys(line.words for one in planned for line in one.others))
    asides = {kind: {line.beside for one in planned for line in one.others if line.words == kind} for kind in kinds}
    common = {kind: words.pop() if len(words) == 1 else "" for kind, words in asides.items()}
    rows = []
    for one in planned:
        own = {line.words: OtherLine(line, "" if common[line.words] else line.beside) for line in one.others}
        rows.append((one, [own.get(kind) for kind in kinds]))
    return OtherLines(list(common.items()), rows)


@dataclass(frozen=True)
class PostHoc:
    """What came or was chosen after somebody had seen a result: in no family, with raw p."""

    rows: list[tuple[Planned, StoredRater]]  # model minus the mean of the readers, and the model as ``raters`` has it
    pairs: list[Comparison]  # that the plan names, with such a model

    @property
    def planned(self) -> list[Planned]:
        return [one for one, _model in self.rows]


def post_hoc_table(result: StoredAnalysis) -> PostHoc | None:
    """Nothing where every model was there and named before unblinding."""
    models = {one["name"]: one for one in post_hoc_models(result)}
    rows = _by_inference(result, post_hoc_differences(result))
    pairs = [one for one in post_hoc_comparisons(result) if "table" in one]
    return PostHoc([(one, models[one.row["first"]]) for one in rows], pairs) if models else None


@dataclass(frozen=True)
class PlannedPairs:
    """The family of pairs that the plan names, one test for each."""

    rows: list[tuple[Comparison, tuple[int, int] | None]]  # with the places of the two in the order of raters
    n_tests: int  # over which p is adjusted

    @property
    def has_clusters(self) -> bool:
        return any("difference_cluster" in row for row, _places in self.rows)

    def of(self, first: str, second: str) -> Comparison | None:
        return next((row for row, _places in self.rows if {row["first"], row["second"]} == {first, second}), None)


def planned_pairs_table(result: StoredAnalysis) -> PlannedPairs | None:
    """Nothing where the plan names no pair."""
    found, place = planned_pairs(result), {name: row for row, name in enumerate(order_of(result))}
    rows = [(one, (place[one["first"]], place[one["second"]]) if one["table"] else None) for one in found]
    return PlannedPairs(rows, sum(one["p"]["value"] is not None for one in found)) if rows else None


@dataclass(frozen=True)
class Claims:
    """What the margin of the plan lets one say of each model against the mean of the readers."""

    margin: float
    reason: str
    rows: list[Comparison]
    n_tests: int  # over which the p of non-inferiority is adjusted


def claims_of(result: StoredAnalysis) -> Claims | None:
    """Nothing where the plan names no margin."""
    rows = [one for one in planned_comparisons(result) if one["noninferiority_p"]]
    margin = rows[0]["margin"] if rows else None
    if margin is None:
        return None
    tests = [test for one in rows if (test := one["noninferiority_p_holm"])]
    n_tests = sum(test["value"] is not None for test in tests)
    return Claims(margin, result["plan"].get("margin_reason", ""), rows, n_tests)
