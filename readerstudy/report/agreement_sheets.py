"""Pairs, groups, models against the mean of the readers and planned pairs, as sheets. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotation.exports.tables import Cell, Column
from readerstudy.report.sheets import (
    PANEL,
    REAL,
    STATISTIC,
    TEST,
    TEXT,
    UNDEFINED_DRAWS,
    VALUE,
    WHOLE,
    YES_NO,
    Sheet,
    count_cells,
    value_cells,
    values_of,
)
from readerstudy.results.stored import ALL_TASKS, INFERENCES, PLANNED_PAIRS, Json

OF_READERS = "mean of the readers"
TEST_NAMES = ("df", "p", "bootstrap_undefined_fraction")


def agreement_sheets(result: Json) -> list[Sheet]:
    return [
        Sheet(
            "pairs",
            "every pair of raters in every panel: kappas, the 2x2 table of right and wrong, differences",
            (
                PANEL,
                Column("first", TEXT, "First rater; of a model and a reader the model."),
                Column("second", TEXT, "Second rater."),
                Column("first_kind", TEXT, "Kind of the first.", "reader, model"),
                Column("second_kind", TEXT, "Kind of the second.", "reader, model"),
                STATISTIC,
                *VALUE,
                *TEST,
                UNDEFINED_DRAWS,
            ),
            list(_pair_rows(result)),
        ),
        Sheet(
            "groups",
            "agreement within the readers, the models and all raters, and the means of the kappas of their pairs",
            (
                PANEL,
                Column("group", TEXT, "Whose agreement.", "readers, models, all"),
                Column("n_raters", WHOLE, "Raters of the group."),
                STATISTIC,
                *VALUE,
                Column("se", REAL, "Standard error of the value, where one is computed."),
                *TEST,
                UNDEFINED_DRAWS,
            ),
            list(_group_rows(result)),
        ),
        Sheet(
            "comparison",
            "mean of the readers, each model minus it (the planned family, then by task), and planned pairs",
            COMPARISON,
            [*_comparison_rows(result)],
        ),
    ]


def _pair_rows(result: Json) -> Iterator[Sequence[Cell]]:
    for panel, found in result["panels"].items():
        for pair in found["pairs"]:
            who: list[Cell] = [panel, pair["first"], pair["second"], *pair["kinds"]]
            for name, one in values_of(pair).items():
                yield [*who, name, *value_cells(one), *(one.get(test) for test in TEST_NAMES)]
            n = sum(pair["table"].values())
            for name, count in pair["table"].items():
                yield [*who, f"table_{name}", *count_cells(count, n), None, None, None]


def _group_rows(result: Json) -> Iterator[Sequence[Cell]]:
    for panel, found in result["panels"].items():
        for group, entry in found["groups"].items():
            for name, one in values_of(entry).items():
                tests = [one.get(test) for test in ("se", *TEST_NAMES)]
                yield [panel, group, entry["n_raters"], name, *value_cells(one), *tests]


COMPARISON = (
    Column("family", TEXT, "Comparisons that are adjusted together; empty: the mean of the readers itself."),
    Column("planned", YES_NO, "Whether the frozen plan names this comparison; otherwise it is post hoc."),
    PANEL,
    Column("first", TEXT, "The model; or the mean of the readers; or the first of a planned pair."),
    Column("second", TEXT, "What is taken away from it; empty: nothing."),
    Column(
        "inference",
        TEXT,
        "What stands for a population: readers, questions or both; empty: of a planned pair.",
        ", ".join(INFERENCES),
    ),
    Column("primary", YES_NO, "Whether this is the inference of the plan; of a planned pair: the exact test."),
    *VALUE,
    Column("n_readers", WHOLE, "Readers."),
    Column("n_dropped", WHOLE, "Questions left out because they do not count for every rater concerned."),
    Column("se", REAL, "Standard error."),
    Column("df", REAL, "Degrees of freedom of the t distribution."),
    Column("low90", REAL, "Lower limit of the 90 % interval, for equivalence."),
    Column("high90", REAL, "Upper limit of the 90 % interval."),
    Column(
        "p",
        REAL,
        "Two-sided p, not adjusted: t test; of a planned pair exact McNemar test, by cluster Obuchowski's (1998).",
    ),
    Column("p_holm", REAL, "p of the primary row, adjusted by Holm within the family."),
    Column("margin", REAL, "Margin of the plan; missing: none."),
    Column("superior", YES_NO, "Lower limit above 0."),
    Column("non_inferior", YES_NO, "Lower limit above minus the margin; missing: no margin."),
    Column("equivalent", YES_NO, "90 % interval within the margin; missing: no margin."),
)


def _comparison_rows(result: Json) -> Iterator[Sequence[Cell]]:
    """The mean of the readers in every panel, then every comparison; each by the three inferences. Then the pairs."""
    mrmc: Mapping[str, Json] = {ALL_TASKS: result["mrmc"], **result["mrmc"]["tasks"]}
    for panel, found in mrmc.items():
        yield from _by_inference(found["readers"], ["", None, panel, OF_READERS, ""], None)
    for one in result["comparisons"]:
        head: list[Cell] = [one["family"], one["planned"], one["panel"], one["first"], one["second"]]
        if one["family"] == PLANNED_PAIRS:
            yield from _of_pair(one, head)
        else:
            yield from _by_inference(mrmc[one["panel"]]["models"][one["first"]], head, one)


def _of_pair(one: Json, head: list[Cell]) -> Iterator[Sequence[Cell]]:
    """The exact test; and by cluster, where patients or exams share questions."""
    difference, none = one["difference"], [None] * 4
    flags = list(dict.fromkeys([*difference["flags"], *one["p"]["flags"]]))
    tests: list[Cell] = [one["p"]["value"], one["p_holm"]["value"]]
    yield [*head, "", True, *value_cells({**difference, "flags": flags}), None, None, *none, *tests, *none]
    if "difference_cluster" in one:
        by = one["difference_cluster"]
        errors: list[Cell] = [by["difference_cluster_se"], None, None, None]
        p = one["cluster_mcnemar_chi2"]["p"]
        yield [*head, "", False, *value_cells(by), None, None, *errors, p, None, *none]


def _by_inference(found: Json, head: list[Cell], one: Json | None) -> Iterator[Sequence[Cell]]:
    for name in INFERENCES:
        by, primary = found[name], found["method"] == name
        flags = one["difference"]["flags"] if one and primary else list(dict.fromkeys(found["flags"] + by["flags"]))
        value = {**by, "value": found["value"], "n": found["n"], "method": name, "flags": flags}
        low90, high90 = by["ci90"] or (None, None)
        yield [
            *head,
            name,
            primary,
            *value_cells(value),
            *(found[count] for count in ("n_readers", "n_dropped")),
            by["se"],
            by["df"],
            low90,
            high90,
            by["p"],
            *_verdicts(one, primary=primary),
        ]


def _verdicts(one: Json | None, *, primary: bool) -> list[Cell]:
    if one is None or not primary:
        return [None] * 5
    return [one["p_holm"]["value"], *(one[name] for name in ("margin", "superior", "non_inferior", "equivalent"))]
