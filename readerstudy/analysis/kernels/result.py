"""What an analysis stores: the shape of its JSON (with ``panel_result``), from which docs/analysis.md is made. Pure.

Everything that computes, shows, prints or exports an analysis takes its types from here. A name that came after a rule
was first stored is NotRequired: analyses of then have no value under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NotRequired, TypedDict, cast

from annotation.statistics.kernels.estimate import (
    FEW_READERS,
    ClusteredDifferenceValue,
    InferenceValue,
    SlopeValue,
    TestValue,
    UnitValue,
    Value,
    ValueWithError,
)
from readerstudy.analysis.kernels.panel_result import (
    GroupEntry,
    MultiReaderFigures,
    MultiReaderResult,
    PairEntry,
    PairTable,
    Panel,
    RaterEntry,
)

ALL_TASKS = "All tasks"
READER, MODEL = "reader", "model"
LETTERS = "ABCD"
N_OPTIONS = len(LETTERS)
DECLARED = (
    "declared_with_readings"  # of a voided case: decided in an older study, declared with the import of its readings
)
PRIMARY, EXPLORATORY, PLANNED_PAIRS = "primary", "exploratory, by task", "planned pairs"  # families of comparisons
AFTER_UNBLINDING = "post hoc"  # comparisons in no family
RANDOM, FIXED = "random_readers_random_questions", "fixed_readers_random_questions"
FIXED_QUESTIONS = "random_readers_fixed_questions"
INFERENCES = (RANDOM, FIXED, FIXED_QUESTIONS)
BY_QUESTION, BY_CLUSTER, COMPLETE_ROWS, MOVER = "by_question", "by_cluster", "complete_rows", "mover_ci95"
MISSING_WRONG, MISSING_RIGHT = "missing_wrong", "missing_right"
OTHER_ANSWERS = (COMPLETE_ROWS, MISSING_WRONG, MISSING_RIGHT)  # the same over other questions or answers
BY_MOVER = ", MOVER"  # in a method


class Comparison(TypedDict):
    """A model minus the mean of the readers, or a planned pair."""

    family: Annotated[str, "those that are adjusted together"]
    planned: Annotated[bool, "whether the frozen plan names it"]
    panel: str
    first: str
    second: Annotated[str, "what is taken away: the mean of the readers, or the second of a pair"]
    difference: Value
    p: Value
    p_holm: NotRequired[Annotated[Value, "adjusted by Holm within the family; of what is post hoc none"]]
    ci90: NotRequired[list[float] | None]
    margin: NotRequired[Annotated[float | None, "of the plan"]]
    noninferiority_p: NotRequired[Annotated[Value | None, "one-sided; null: no margin"]]
    noninferiority_p_holm: NotRequired[Annotated[Value | None, "adjusted by Holm, a family of its own"]]
    superior: NotRequired[Annotated[bool | None, "lower limit above 0"]]
    non_inferior: NotRequired[Annotated[bool | None, "noninferiority_p_holm of 0.025 or less"]]
    equivalence_p: NotRequired[Annotated[Value | None, "larger one-sided p; null: no margin"]]
    equivalence_p_holm: NotRequired[Annotated[Value | None, "adjusted by Holm, a family of its own"]]
    equivalent: NotRequired[Annotated[bool | None, "equivalence_p_holm of 0.05 or less"]]
    kinds: NotRequired[Annotated[list[str], "of a pair"]]
    table: NotRequired[Annotated[PairTable | None, "of a pair; null: the plan names nobody, or several"]]
    difference_cluster: NotRequired[Annotated[ClusteredDifferenceValue, "of a pair"]]
    cluster_mcnemar_chi2: NotRequired[Annotated[TestValue, "of a pair"]]


# --- times, tables, cases -------------------------------------------------------------------------
class Times(TypedDict):
    """Seconds per case."""

    median: Value
    q1: Value
    q3: Value
    p5: NotRequired[Value]
    p95: NotRequired[Value]
    geometric_mean: Value
    n_censored: Annotated[int, "times that ended at a limit"]


class ReaderTimes(Times):
    name: str
    log_slope_per_position: Value
    percent_per_ten: Value
    spearman_time_vs_position: Value


class VarianceParts(TypedDict):
    """Variance of the logarithm of seconds, of the questions with an exact time of every reader."""

    reader: float | None
    question: float | None
    residual: float | None
    n_readers: int
    n: Annotated[int, "questions"]
    method: str
    flags: list[str]
    reason: str | None


class AllTimes(Times):
    pooled_log_slope_adjusted: SlopeValue
    percent_per_ten: Value
    log_time_variance_components: VarianceParts


class TimeSensitivity(TypedDict):
    winsorised: Annotated[Times, "the longest times cut"]
    without_quiet_or_blurred: Annotated[Times, "without cases of a quiet minute or a lost focus"]


class TimeResult(TypedDict):
    rule: Annotated[str, "which times count, in words"]
    unit: str
    readers: list[ReaderTimes]
    all: AllTimes
    sensitivity: TimeSensitivity


class Breakdown(TypedDict):
    n: Annotated[int, "scored questions"]
    accuracy: Annotated[dict[str, Value], "of each rater by name"]
    category: NotRequired[str]
    difficulty: NotRequired[str]


class ByConfidence(TypedDict):
    name: str
    accuracy: Annotated[dict[str, Value], "by the stated chance of being right, in percent"]


class ReliabilityBin(TypedDict):
    mean_stated: Annotated[float, "mean stated chance, 0 to 1"]
    right: Annotated[Value, "share right"]


class CalibrationEntry(TypedDict):
    name: str
    kind: str
    n: Annotated[int, "answers with a stated chance"]
    brier_score: ValueWithError
    brier_reference: Value
    mean_stated: Value
    mean_right: Value
    stated_minus_right: ValueWithError
    reliability_bins: list[ReliabilityBin]


OrderBlock = TypedDict(
    "OrderBlock",
    {
        "from": Annotated[int, "first place of the block in the order of this reader"],
        "to": Annotated[int, "last place"],
        "accuracy": Value,
    },
)


class ByPosition(TypedDict):
    name: str
    blocks: Annotated[list[OrderBlock], "ten, as equal as they can be"]


class AccuracyTables(TypedDict):
    categories: Annotated[list[Breakdown], "by category, the largest first"]
    difficulties: Annotated[list[Breakdown], "by difficulty"]
    confidence: Annotated[list[ByConfidence], "of each reader by the stated chance of being right"]
    calibration: NotRequired[Annotated[list[CalibrationEntry], "of each rater who stated a chance of being right"]]
    positions: Annotated[list[ByPosition], "of each reader along the order"]


class CaseColumns(TypedDict):
    """The cases as columns, the voided ones too."""

    case: Annotated[list[int], "number in the study"]
    question: Annotated[list[int], "number in the bank"]
    case_id: Annotated[list[str], "random id"]
    cluster: Annotated[list[int], "patient or exam"]
    task: list[str]
    category: list[str]
    difficulty: list[str]
    voided: Annotated[list[str], "empty, before or after: unblinding"]
    key: Annotated[str, "one letter for each case"]
    answers: Annotated[
        dict[str, str],
        "by rater, one sign for each case: A to D the option that counts, a to d that of a late answer, x failed "
        "extraction, ? declined, t time ended, . missing, a space: not in the set of this reader",
    ]
    n_right: list[int]
    n_counted: list[int]
    discrimination: list[float | None]
    missed_by_all: Annotated[list[int], "places in these columns"]


# --- the whole ------------------------------------------------------------------------------------
class ResultPart(TypedDict):
    """Everything that is computed over one set of questions."""

    panels: Annotated[dict[str, Panel], "all tasks, then each task with a question"]
    comparisons: Annotated[list[Comparison], "models minus the mean of the readers, planned pairs, what is post hoc"]
    mrmc: Annotated[MultiReaderResult, "models against the mean of the readers"]
    time: Annotated[TimeResult, "seconds per case"]
    tables: Annotated[AccuracyTables, "accuracy by properties of questions and answers"]


class Variant(ResultPart):
    label: Annotated[str, "the rule in words"]
    n: Annotated[int, "questions"]


class StoredSettings(TypedDict):
    """Every choice that changes a number, then the rules in words."""

    seed: int
    draws: Annotated[int, "of the bootstrap"]
    failed_in_accuracy: Annotated[str, "wrong or exclude"]
    failed_in_agreement: Annotated[str, "no_rating or own_category"]
    differs: NotRequired[Annotated[list[str], "those that are not the plan's: it is a sensitivity analysis"]]
    accuracy: str
    accuracy_best_guess: NotRequired[str]
    agreement: str
    interval: str
    cluster: Annotated[str, "what questions share: patient, exam, or patient where known"]
    difference: str
    p: str
    inference: str
    small_n: str


class SeenBefore(TypedDict):
    """A result over the same readings, or the same answers of models, was shown before."""

    study: Annotated[str, "name of the other study"]
    on: Annotated[str, "day on which it was first shown"]
    names: Annotated[list[str], "raters of this study"]


class StoredPlan(TypedDict):
    """The frozen plan of the analysis, and what it is worth."""

    primary: str
    inference: str
    margin: float | None
    family: str
    late_answers: str
    voids: str
    notes: str
    pairs: NotRequired[Annotated[list[list[str]], "planned pairs"]]
    runs: NotRequired[Annotated[list[list[str]], "model, and the run or the mean of runs that represents it"]]
    margin_reason: NotRequired[str]
    assumptions: NotRequired[Annotated[dict[str, Any], "of the forecast"]]
    late_readers: NotRequired[Annotated[list[str], "who came after results had been seen; earlier rules"]]
    seen_before: NotRequired[Annotated[list[SeenBefore], "studies that had shown a result over the same readings"]]
    runs_seen_before: NotRequired[Annotated[list[SeenBefore], "the same of runs of models"]]
    is_planned: Annotated[bool, "whether the plan names what is computed"]
    made_after_readings: Annotated[bool, "whether all readings came from files"]
    runs_of_nobody: NotRequired[Annotated[list[list[str]], "lines of the plan on runs that mean no model, or several"]]


class StoredRater(TypedDict):
    """What is known of a rater."""

    name: str
    kind: str
    imported: NotRequired[Annotated[bool, "of a reader: read elsewhere"]]
    finished: NotRequired[Annotated[bool, "of a reader"]]
    model: NotRequired[Annotated[str, "public id of its entry"]]
    version: NotRequired[str]
    run: NotRequired[Annotated[str, "public id of the run that represents it"]]
    number: NotRequired[Annotated[int, "of that run"]]
    rule: NotRequired[Annotated[str, "how options were taken from its answers"]]
    file_sha256: NotRequired[str]
    imported_at: NotRequired[str]
    named_at: NotRequired[str]
    post_hoc: NotRequired[Annotated[bool, "came or was chosen after unblinding"]]
    was_planned: NotRequired[Annotated[bool, "of one that is post hoc: was planned under another name"]]
    left_because: NotRequired[Annotated[str, "taken out after results were seen, and why"]]
    planned_run: NotRequired[Annotated[str, "what the plan says of its runs"]]
    planned_run_met: NotRequired[bool]
    mean_of_runs: NotRequired[Annotated[list[int], "numbers of the runs whose mean represents it"]]
    planned_as: NotRequired[Annotated[list[str], "what the plan can have called it"]]


class Stratum(TypedDict):
    task: str
    difficulty: str
    n_pool: Annotated[int, "questions that could be drawn"]


class QuestionCounts(TypedDict):
    n_cases: int
    n_scored: int
    n_voided_before_unblinding: int
    n_voided_declared: NotRequired[Annotated[int, "of these declared with the import of older readings"]]
    n_voided_after_unblinding: int


class Excluded(TypedDict):
    kind: Annotated[str, "case or reader"]
    case: NotRequired[int]
    question: NotRequired[int]
    case_id: NotRequired[str]
    task: NotRequired[str]
    decided: NotRequired[Annotated[str, "before_unblinding, after_unblinding or declared_with_readings"]]
    reader: NotRequired[str]
    reason: NotRequired[str]


class StoredAnalysis(ResultPart):
    """The whole JSON of an analysis. Everything beside ``variants`` is the primary result."""

    format: str
    study: Annotated[str, "name of the study"]
    slug: str
    protocol_sha256: str
    simulated: Annotated[bool, "whether readings and answers are made up"]
    settings: StoredSettings
    plan: StoredPlan
    raters: Annotated[list[StoredRater], "readers by their pseudonyms, then models"]
    strata: NotRequired[Annotated[list[Stratum], "of the draw; empty for a list of cases"]]
    order: Annotated[list[str], "readers, then models by accuracy, then those that are post hoc: the rows of tables"]
    questions: QuestionCounts
    excluded: Annotated[list[Excluded], "voided cases, and readers who are no raters"]
    variants: Annotated[dict[str, Variant], "the same under other rules"]
    items: Annotated[CaseColumns, "the cases"]
    inputs_sha256: NotRequired[Annotated[str, "hash of all that was read"]]
    software: NotRequired[Annotated[dict[str, str], "versions, and the rule of the program"]]


# --- by name --------------------------------------------------------------------------------------
def value_named(entry: RaterEntry | PairEntry | GroupEntry | ReaderTimes, name: str) -> Value | None:
    """The value of a statistic by its name; None where an analysis does not hold it."""
    return plain(entry).get(name)


def values_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """The named values of an entry in the order of the JSON; names and counts beside them are left out."""
    return ((name, cast("Value", one)) for name, one in entry.items() if isinstance(one, Mapping) and "ci95" in one)


def unit_in(found: MultiReaderFigures, unit: str) -> UnitValue:
    """By question or by cluster; raises KeyError where nothing was computed by cluster."""
    by_unit = found["by_cluster"] if unit == BY_CLUSTER else found["by_question"]
    if by_unit is None:
        raise KeyError(unit)
    return by_unit


def inference_in(by_unit: UnitValue, inference: str) -> InferenceValue:
    """With the limits and p that stand for it: by MOVER where other readers are judged from fewer than five."""
    found = cast("Mapping[str, InferenceValue]", by_unit)[inference]
    if not is_by_mover(by_unit, inference):
        return found
    return {**found, "ci95": by_unit["mover_ci95"], "ci90": by_unit["mover_ci90"], "p": by_unit["mover_p"]}


def is_by_mover(by_unit: UnitValue, inference: str) -> bool:
    """Of analyses by earlier rules nothing is: they had t limits, and MOVER's beside them."""
    few = FEW_READERS in by_unit["random_readers_random_questions"]["flags"]
    return inference == RANDOM and few and by_unit.get("mover_ci90") is not None


def method_in(by_unit: UnitValue, unit: str, inference: str) -> str:
    return f"{unit} {inference}{BY_MOVER if is_by_mover(by_unit, inference) else ''}"


def plain(entry: Mapping[str, object]) -> Mapping[str, Any]:
    """An entry as a plain mapping, for tables whose columns name what they take of it."""
    return cast("Mapping[str, Any]", entry)


def n_in(table: PairTable) -> int:
    return table["both"] + table["first_only"] + table["second_only"] + table["neither"]
