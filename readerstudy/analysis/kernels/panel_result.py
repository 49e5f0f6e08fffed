"""What an analysis stores of one panel: raters, pairs, groups, and models against the mean of the readers. Pure.

See ``result`` for the whole. Also what a comparison of models on a bank stores.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from annotation.statistics.kernels.estimate import (
    BankMixValue,
    ClusteredAccuracyValue,
    ClusteredDifferenceValue,
    DrawnValue,
    DrawnValueWithError,
    TestValue,
    UnitValue,
    Value,
)


# --- one panel ------------------------------------------------------------------------------------
class AccuracyOfRun(Value):
    number: Annotated[int, "number of the run"]


class Runs(TypedDict):
    """Every run of a model on these questions that is not withdrawn."""

    n_runs: Annotated[int, "runs that were there before results were seen"]
    accuracy_of_runs: Annotated[list[AccuracyOfRun], "of each run"]
    accuracy_run_mean: Annotated[Value, "mean over the runs"]
    accuracy_run_sd: Annotated[Value, "standard deviation over the runs (runs minus one)"]


class RaterEntry(TypedDict):
    """One rater on the questions of one panel."""

    name: Annotated[str, "pseudonym of a reader, name of a model"]
    kind: Annotated[str, "reader or model"]
    n: Annotated[int, "questions that count"]
    n_correct: Annotated[int, "right answers"]
    n_answered: Annotated[int, "answers with an option, confirmed"]
    n_declined: Annotated[int, "“cannot tell”"]
    n_timed_out: Annotated[int, "time ended without a choice"]
    n_late: Annotated[int, "after the limit"]
    n_unconfirmed: Annotated[int, "time ended, the choice was saved"]
    n_failed: Annotated[int, "failed extractions"]
    n_missing: Annotated[int, "missing"]
    accuracy: Value
    accuracy_clopper_pearson: Value
    accuracy_missing_wrong: NotRequired[Value]
    accuracy_missing_right: NotRequired[Value]
    n_guessed: NotRequired[Annotated[int, "“cannot tell” with a best guess, where guesses are asked"]]
    accuracy_best_guess: NotRequired[Value]
    accuracy_cluster: NotRequired[ClusteredAccuracyValue]
    accuracy_task_mean: NotRequired[Value]
    accuracy_bank_mix: NotRequired[BankMixValue]
    runs: NotRequired[Annotated[Runs, "of a model, over all tasks"]]


class PairTable(TypedDict):
    """Questions that count for both of a pair."""

    both: Annotated[int, "both right"]
    first_only: Annotated[int, "only the first right"]
    second_only: Annotated[int, "only the second right"]
    neither: Annotated[int, "both wrong"]


class PairEntry(TypedDict):
    """Two raters on the questions of one panel; of a model and a reader the model is ``first``."""

    first: Annotated[str, "name of the first"]
    second: Annotated[str, "name of the second"]
    kinds: Annotated[list[str], "reader or model, of both"]
    percent_agreement: DrawnValue
    expected_agreement: DrawnValue
    cohen_kappa: DrawnValue
    scott_pi: DrawnValue
    gwet_ac1: DrawnValue
    brennan_prediger: DrawnValue
    error_consistency: DrawnValue
    phi: NotRequired[DrawnValue]  # earlier versions of the program did not store it
    agreement_if_independent: DrawnValue
    excess_agreement: DrawnValue
    cohen_kappa_se: Value
    same_wrong_option: Value
    table: Annotated[PairTable, "right and wrong of both"]
    difference: Value
    difference_newcombe: Value
    mcnemar_exact_p: Value
    mcnemar_midp: Value
    mcnemar_chi2: TestValue
    difference_cluster: NotRequired[ClusteredDifferenceValue]
    cluster_mcnemar_chi2: NotRequired[TestValue]


class GroupEntry(TypedDict):
    """Agreement within the readers, the models, or all raters that are counted, on the questions of one panel."""

    n_raters: Annotated[int, "raters of the group"]
    percent_agreement: DrawnValue
    fleiss_kappa: DrawnValueWithError
    gwet_ac1: DrawnValueWithError
    brennan_prediger: DrawnValue
    conger_kappa: DrawnValue
    krippendorff_alpha_nominal: DrawnValue
    cochran_q: TestValue
    light_kappa: DrawnValue
    mean_kappa_readers: NotRequired[DrawnValue]
    mean_excess_readers: NotRequired[DrawnValue]
    mean_error_consistency_readers: NotRequired[DrawnValue]
    mean_kappa_reader_model: NotRequired[DrawnValue]
    mean_kappa_difference: NotRequired[DrawnValue]
    mean_excess_reader_model: NotRequired[DrawnValue]
    mean_excess_difference: NotRequired[DrawnValue]
    mean_error_consistency_reader_model: NotRequired[DrawnValue]
    mean_error_consistency_difference: NotRequired[DrawnValue]
    n_pairs_readers: NotRequired[Annotated[int, "pairs of readers that share an assigned question (of all raters)"]]
    n_pairs_reader_model: NotRequired[Annotated[int, "pairs of a reader and a model that do (of all raters)"]]


class Groups(TypedDict):
    readers: GroupEntry
    models: GroupEntry
    all: GroupEntry


class Panel(TypedDict):
    """The questions of one task, or of all tasks."""

    n: Annotated[int, "scored questions"]
    n_clusters: Annotated[int, "patients or exams"]
    unit: Annotated[str, "what the bootstrap draws: question or cluster"]
    raters: list[RaterEntry]
    expert_ceiling: NotRequired[Value]
    expert_ceiling_cluster: NotRequired[ClusteredAccuracyValue]
    pairs: list[PairEntry]
    groups: Groups


# --- models against the mean of the readers -------------------------------------------------------
class MultiReaderFigures(Value):
    """A mean of the readers, or a model minus it; value, limits and method are those of the planned inference."""

    unit: Annotated[str, "by_question or by_cluster: the planned one"]
    inference: Annotated[str, "the planned one"]
    n_readers: Annotated[int, "readers with an answer in it"]
    n_readers_dropped: Annotated[int, "readers of the plan without one"]
    n_questions: Annotated[int, "questions with an answer"]
    n_questions_dropped: Annotated[int, "scored questions without one"]
    n_cells: Annotated[int, "answers"]
    n_missing: Annotated[int, "assigned answers that are missing"]
    by_question: UnitValue
    by_cluster: UnitValue | None


class MultiReaderValue(MultiReaderFigures):
    """The same, and what it would be over other questions or answers."""

    complete_rows: Annotated[MultiReaderFigures | None, "over the questions that no reader missed"]
    missing_wrong: NotRequired[Annotated[MultiReaderFigures, "with what readers missed wrong, where they did"]]
    missing_right: NotRequired[Annotated[MultiReaderFigures, "with what readers missed right"]]


class ReaderDifference(Value):
    reader: Annotated[str, "pseudonym"]


class ModelDifference(MultiReaderValue):
    model_accuracy: Annotated[float | None, "over the same questions"]
    difference_by_reader: Annotated[list[ReaderDifference], "the model minus each reader alone"]


class MultiReaderPanel(TypedDict):
    readers: Annotated[MultiReaderValue, "the mean of the readers"]
    models: Annotated[dict[str, ModelDifference], "by name, each minus the mean of the readers"]


class MultiReaderResult(MultiReaderPanel):
    """Over all tasks, and by task."""

    tasks: Annotated[dict[str, MultiReaderPanel], "by task"]


class ComparedModel(TypedDict):
    """One model with its main run on the bank."""

    name: str
    model: str
    version: str
    run: str
    number: int
    rule: str
    file_sha256: str
    n_elsewhere: int
    n_failed: int
    n_missing: int
    n_not_asked: NotRequired[int]  # of rule comparison-4 on: before it they counted as missing
    n_earlier: NotRequired[int]
    rank: NotRequired[dict[str, int]]
    accuracy: Value
    accuracy_task_mean: Value
    tasks: list[Value]
    categories: list[Value]
    accuracy_cluster: NotRequired[ClusteredAccuracyValue]


class TaskSize(TypedDict):
    task: str
    n: int


class CategorySize(TypedDict):
    category: str
    n: int


class StoredComparison(TypedDict):
    """The JSON of a comparison; see docs/predictions.md."""

    format: str
    bank: str
    slug: str
    simulated: bool
    rules: dict[str, Any]
    n: int
    n_clusters: int
    n_without_key: int
    clustered: bool
    tasks: list[TaskSize]
    categories: list[CategorySize]
    models: list[ComparedModel]
    pairs: list[dict[str, Any]]
