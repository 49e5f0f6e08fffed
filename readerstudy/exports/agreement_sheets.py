"""Pairs, groups, models against the mean of the readers and planned pairs, as sheets. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotation.statistics.kernels.estimate import POST_HOC, Value
from annotation.tables.kernels.table import ESTIMATE, REAL, TEXT, WHOLE, YES_NO, Cell, Column, Table, TableCell, counted
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.kernels.panel_result import ModelDifference, MultiReaderPanel, MultiReaderValue
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    BY_CLUSTER,
    BY_QUESTION,
    EXPLORATORY,
    INFERENCES,
    MOVER,
    OTHER_ANSWERS,
    Comparison,
    StoredAnalysis,
    n_in,
    plain,
    unit_in,
    values_of,
)
from readerstudy.exports.sheets import PANEL, STATISTIC, TEST, UNDEFINED_DRAWS
from readerstudy.results.kernels.inferences import lines_of
from readerstudy.results.kernels.stored import raters_of
from readerstudy.results.wording import OF_ALL

OF_READERS, ONE_READER = "mean of the readers", "one_reader"
UNITS = {BY_QUESTION: "question", BY_CLUSTER: "cluster"}
TEST_NAMES = ("df", "p", "bootstrap_undefined_fraction")


def agreement_sheets(result: StoredAnalysis) -> list[Table]:
    return [
        Table(
            "pairs",
            "every pair of raters in every panel: kappas, the 2x2 table of right and wrong, differences",
            (
                PANEL,
                Column("first", TEXT, "First rater; of a model and a reader the model."),
                Column("second", TEXT, "Second rater."),
                Column("first_kind", TEXT, "Kind of the first.", "reader, model"),
                Column("second_kind", TEXT, "Kind of the second.", "reader, model"),
                STATISTIC,
                ESTIMATE,
                *TEST,
                UNDEFINED_DRAWS,
            ),
            list(_pair_rows(result)),
        ),
        Table(
            "groups",
            "agreement within the readers, the models and all raters, and the means over their pairs",
            (
                PANEL,
                Column("group", TEXT, "Whose agreement.", "readers, models, all"),
                Column("n_raters", WHOLE, "Raters of the group."),
                STATISTIC,
                ESTIMATE,
                Column("se", REAL, "Standard error of the value, where one is computed."),
                *TEST,
                UNDEFINED_DRAWS,
            ),
            list(_group_rows(result)),
        ),
        Table(
            "comparison",
            "mean of the readers, each model minus it (the planned family, then by task), planned pairs, post hoc ones",
            COMPARISON,
            [*_comparison_rows(result)],
        ),
    ]


def _pair_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    for panel, found in result["panels"].items():
        for pair in found["pairs"]:
            who: list[Cell] = [panel, pair["first"], pair["second"], *pair["kinds"]]
            for name, one in values_of(pair):
                yield [*who, name, one, *(plain(one).get(test) for test in TEST_NAMES)]
            table = pair["table"]
            n = n_in(table)
            for name in ("both", "first_only", "second_only", "neither"):
                yield [*who, f"table_{name}", _counted(plain(table)[name], n, pair["difference"]), None, None, None]


def _group_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    for panel, found in result["panels"].items():
        groups = found["groups"]
        for group, entry in (("readers", groups["readers"]), ("models", groups["models"]), ("all", groups["all"])):
            who: list[Cell] = [panel, group, entry["n_raters"]]
            for name, one in values_of(entry):
                yield [*who, name, one, *(plain(one).get(test) for test in ("se", *TEST_NAMES))]
            for name in ("n_pairs_readers", "n_pairs_reader_model"):
                if name in entry:
                    yield [*who, name, _counted(plain(entry)[name], found["n"], entry["fleiss_kappa"]), *[None] * 4]


def _counted(value: int, n: int, beside: Value) -> Value:
    """With what is said of the number beside it: post hoc, or of an analysis that is not planned."""
    return {**counted(value, n), "flags": [one for one in beside["flags"] if one in (POST_HOC, *OF_ALL)]}


COMPARISON = (
    Column(
        "family",
        TEXT,
        "Comparisons that are adjusted together; post hoc: of a model that came or was chosen after unblinding, "
        "adjusted with nothing; empty: the mean of the readers itself.",
    ),
    Column("planned", YES_NO, "Whether the frozen plan names this comparison; otherwise it is post hoc."),
    PANEL,
    Column("first", TEXT, "The model; or the mean of the readers; or the first of a planned pair."),
    Column("second", TEXT, "What is taken away from it; empty: nothing."),
    Column(
        "inference",
        TEXT,
        "What is a sample of a population: readers, questions or both. random_readers_random_questions: other readers "
        "and other questions; fixed_readers_random_questions: these readers, other questions, says nothing about "
        "other readers; random_readers_fixed_questions: other readers, these questions; one_reader: the model minus "
        "one reader alone; empty: of a planned pair.",
        ", ".join([*INFERENCES, ONE_READER]),
    ),
    Column("unit", TEXT, "What is drawn again: a question, or the patient or exam with all of its questions."),
    Column(
        "line",
        TEXT,
        "planned: the inference of the plan (of a planned pair: the exact test); post_hoc: the same of what the plan "
        "did not name while blind; exploratory: of one task; other: another inference; the rest are sensitivity "
        "analyses. by_question: questions taken as independent; complete_rows: only questions that no reader missed; "
        "missing_wrong, missing_right: with every answer that a reader missed wrong, or right; mover_ci95: of analyses "
        "by earlier rules, limits by each part of the variance (MOVER). Of fewer than five random readers the limits "
        "and p are by MOVER, and the method says so.",
        f"planned, post_hoc, exploratory, other, {MOVER}, {BY_QUESTION}, {', '.join(OTHER_ANSWERS)}",
    ),
    ESTIMATE,
    Column("n_readers", WHOLE, "Readers with an answer in it."),
    Column("n_readers_dropped", WHOLE, "Readers of the plan without one."),
    Column("n_questions_dropped", WHOLE, "Scored questions without one, of n and these."),
    Column("n_cells", WHOLE, "Answers: a reader on a question that count, with the model where there is one."),
    Column("n_missing", WHOLE, "Assigned answers that are missing."),
    Column("reader_part", REAL, "What readers add to the variance."),
    Column("case_part", REAL, "What questions, patients or exams add to the variance; below 0 it counts as 0."),
    Column("se", REAL, "Standard error."),
    Column(
        "df", REAL, "Degrees of freedom of the t distribution; where the method is MOVER no number is made with them."
    ),
    Column("low90", REAL, "Lower limit of the 90 % interval."),
    Column("high90", REAL, "Upper limit of the 90 % interval."),
    Column(
        "p",
        REAL,
        "Two-sided p, not adjusted: of the planned inference, by t, of fewer than five random readers by MOVER; of a "
        "planned pair exact McNemar test, by cluster Obuchowski's (1998). Other inferences have intervals only.",
    ),
    Column("p_holm", REAL, "p adjusted by Holm within the family."),
    Column("margin", REAL, "Margin of the plan; missing: none."),
    Column("superior", YES_NO, "Lower limit above 0."),
    Column(
        "noninferiority_p", REAL, "One-sided p that the difference is minus the margin or less; missing: no margin."
    ),
    Column("noninferiority_p_holm", REAL, "The same adjusted by Holm, a family of its own."),
    Column("non_inferior", YES_NO, "noninferiority_p_holm is 0.025 or less; missing: no margin."),
    Column("equivalence_p", REAL, "Larger one-sided p that the difference is the margin or more to either side."),
    Column("equivalence_p_holm", REAL, "The same adjusted by Holm, a family of its own."),
    Column("equivalent", YES_NO, "equivalence_p_holm is 0.05 or less; missing: no margin."),
)


def _comparison_rows(result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    """The mean of the readers in every panel, then every comparison, each by all of its lines; then the pairs."""
    mrmc: dict[str, MultiReaderPanel] = {ALL_TASKS: result["mrmc"], **result["mrmc"]["tasks"]}
    for panel, of in mrmc.items():
        standing = "planned" if result["plan"]["is_planned"] else POST_HOC
        yield from _lines(of["readers"], ["", None, panel, OF_READERS, ""], None, standing)
    for one in result["comparisons"]:
        head: list[Cell] = [one["family"], one["planned"], one["panel"], one["first"], one["second"]]
        if "table" in one:
            yield from _of_pair(one, head)
        else:
            found = mrmc[one["panel"]]["models"][one["first"]]
            yield from _lines(found, head, one, _standing(one))
            yield from _own(found, head)


NO_COUNTS: list[Cell] = [None] * 7
NO_VERDICTS: list[Cell] = [None] * 10


def _of_pair(one: Comparison, head: list[Cell]) -> Iterator[Sequence[TableCell]]:
    """The exact test; and by cluster, where patients or exams share questions."""
    difference, none = one["difference"], [None] * 4
    flags = list(dict.fromkeys([*difference["flags"], *one["p"]["flags"]]))
    tests: list[Cell] = [one["p"]["value"], _adjusted(one.get("p_holm")), *NO_VERDICTS[2:]]
    yield [*head, "", "question", _standing(one), {**difference, "flags": flags}, *NO_COUNTS, *none, *tests]
    if "difference_cluster" in one:
        by = one["difference_cluster"]
        errors: list[Cell] = [by["difference_cluster_se"], None, None, None]
        p = one["cluster_mcnemar_chi2"]["p"]
        yield [*head, "", "cluster", "other", by, *NO_COUNTS, *errors, p, *NO_VERDICTS[1:]]


def _lines(
    found: MultiReaderValue, head: list[Cell], one: Comparison | None, standing: str
) -> Iterator[Sequence[TableCell]]:
    for line in lines_of(found):
        value, is_planned = line.value, line.is_planned
        if one and is_planned:
            value = {**value, "flags": one["difference"]["flags"]}
        other = plain(found)[line.sensitivity] if line.sensitivity in OTHER_ANSWERS else found
        parts = unit_in(other, line.unit)
        low90, high90 = value["ci90"] or (None, None)
        yield [
            *head,
            line.inference,
            UNITS[line.unit],
            line.sensitivity or (standing if is_planned else "other"),
            value,
            *(value["n_readers"], value["n_readers_dropped"], value["n_questions_dropped"]),
            *(value["n_cells"], value["n_missing"]),
            *(parts["reader_part"], parts["case_part"], value["se"], value["df"]),
            low90,
            high90,
            *(_verdicts(one) if one and is_planned else NO_VERDICTS),
        ]


def _standing(one: Comparison) -> str:
    """Of the line by the inference of the plan."""
    return "planned" if one["planned"] else "exploratory" if one["family"] == EXPLORATORY else POST_HOC


def _own(found: ModelDifference, head: list[Cell]) -> Iterator[Sequence[TableCell]]:
    """The model minus each reader alone."""
    unit = UNITS[found["unit"]]
    for own in found["difference_by_reader"]:
        who = [*head[:-1], own["reader"]]
        yield [*who, ONE_READER, unit, "other", own, *NO_COUNTS, None, None, None, None, *NO_VERDICTS]


def _verdicts(one: Comparison) -> list[Cell]:
    below = one.get("noninferiority_p")
    return [
        *(one["p"]["value"], _adjusted(one.get("p_holm")), one.get("margin"), one.get("superior")),
        *(_adjusted(below), _adjusted(one.get("noninferiority_p_holm"))),
        one.get("non_inferior"),
        *(_adjusted(one.get("equivalence_p")), _adjusted(one.get("equivalence_p_holm")), one.get("equivalent")),
    ]


def _adjusted(test: Value | None) -> float | None:
    """Nothing of what is post hoc: it is in no family."""
    return test["value"] if test else None


SENSITIVITY = (
    Column("analysis", TEXT, "Id of the sensitivity analysis, as its address has it."),
    Column("differs", TEXT, "What differs from the settings of the plan."),
    Column(
        "statistic",
        TEXT,
        "Accuracy over all tasks; or a comparison, by the inference of the plan.",
        "accuracy, difference",
    ),
    PANEL,
    Column("first", TEXT, "The rater; of a difference the model, or the first of a planned pair."),
    Column("second", TEXT, "What is taken away from it; empty: nothing."),
    ESTIMATE,
)


def sensitivity_sheets(beside: Mapping[str, StoredAnalysis]) -> list[Table]:
    """``beside``: the sensitivity analyses of the same inputs, by their ids. No table where there are none."""
    about = "accuracies and comparisons by settings other than the plan's: nothing of it is planned"
    rows = [row for name, result in beside.items() for row in _sensitivity_rows(name, result)]
    return [Table("sensitivity", about, SENSITIVITY, rows)] if rows else []


def _sensitivity_rows(name: str, result: StoredAnalysis) -> Iterator[Sequence[TableCell]]:
    which = [name, sensitivity_words(result["settings"])]
    for rater, entry in raters_of(result["panels"][ALL_TASKS]).items():
        yield [*which, "accuracy", ALL_TASKS, rater, "", entry["accuracy"]]
    for one in result["comparisons"]:
        yield [*which, "difference", one["panel"], one["first"], one["second"], one["difference"]]
