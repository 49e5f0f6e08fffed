"""What every table of the report shares: a value as cells in full precision, and a sheet that can be written. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.exports.tables import Cell, Column, Kind
from readerstudy.results.kernels.stored import Json

TEXT, WHOLE, REAL, YES_NO = Kind.TEXT, Kind.WHOLE, Kind.REAL, Kind.YES_NO
RATER = Column("rater", TEXT, "Pseudonym of the reader, or name of the model.")
KIND = Column("kind", TEXT, "Who answered.", "reader, model")
PANEL = Column("panel", TEXT, "All tasks, or the task of the questions.")
STATISTIC = Column(
    "statistic",
    TEXT,
    "What the value is, as analysis.json names it. percent_agreement: share with the same option; "
    "expected_agreement: that by chance, from how often each option was chosen; cohen_kappa, scott_pi, gwet_ac1, "
    "brennan_prediger, fleiss_kappa, conger_kappa, krippendorff_alpha_nominal: agreement beyond chance; light_kappa: "
    "mean of cohen_kappa over all pairs of the group; mean_kappa_*, mean_excess_*, mean_error_consistency_*: means of "
    "cohen_kappa, excess_agreement and error_consistency over pairs that share an assigned question, of two readers "
    "(*_readers), of a reader and a model (*_reader_model), the first minus the second (*_difference); n_pairs_*: how "
    "many pairs these are; agreement_if_independent: share of the same option that two raters of these accuracies "
    "would have who err independently; excess_agreement: percent_agreement minus that; error_consistency: "
    "cohen_kappa of right and wrong; same_wrong_option: share with the same wrong option where both are wrong; "
    "difference, difference_newcombe, difference_cluster: share right of the first minus that of the second, by "
    "three intervals; mcnemar_*_p, mcnemar_midp: p; mcnemar_chi2, cluster_mcnemar_chi2, cochran_q: the test "
    "statistic; table_*: questions that both, the first only, the second only or neither had right; *_se: standard "
    "error.",
)
TIME_STATISTIC = Column(
    "statistic",
    TEXT,
    "median, q1, q3, p5 and p95 (5th and 95th percentile), geometric_mean: seconds. log_slope_per_position: change of "
    "the natural logarithm of seconds "
    "from one place in the order to the next; pooled_log_slope_adjusted: the same of all readers, reader and case "
    "as fixed factors; percent_per_ten: that change in percent per ten places; spearman_time_vs_position: rank "
    "correlation, -1 to 1; log_time_variance_*: parts of the variance of the logarithm of seconds.",
)
VALUE = (
    Column("value", REAL, "The value in full precision; shares from 0 to 1. Missing: undefined, reason says why."),
    Column("low", REAL, "Lower limit of the 95 % interval; missing: no interval."),
    Column("high", REAL, "Upper limit of the 95 % interval."),
    Column("n", WHOLE, "How many questions (of times: cases) the value rests on."),
    Column("method", TEXT, "How the interval was made; for a value without one, how the value was made."),
    Column(
        "flags",
        TEXT,
        "What to be careful about, joined by |. small_n: accuracy below 10, agreement below 30; few_clusters: fewer "
        "than 10 patients or exams, no_variation: nothing varies, unstable_bootstrap: more than 5 % of the "
        "draws have no value, all three without an interval; few_disagreements: fewer than 5 of the n questions, the "
        "interval may be too narrow; few_readers: fewer than 5, between-reader variance is imprecise; "
        "as_fixed_readers: readers do not differ, the limits are those of these readers; constant_rater: one rater "
        "always gave the same answer; stratum_too_small: too few questions of a task or stratum for an interval; "
        "strata_merged: difficulties of a task taken together; readers_dropped: a planned reader has no answer in "
        "it; questions_dropped: more than 5 % of the scored questions have no answer in it; answers_missing: more "
        "than 5 % of the assigned answers are missing; censored: some times ended at the limit; clusters_ignored: "
        "takes questions of one patient or exam as independent; post_hoc: not named by the plan before unblinding.",
    ),
    Column(
        "reason",
        TEXT,
        "Why there is no value; empty where there is one. no_common_questions: no question that both answered; "
        "expected_agreement_is_one: both always gave the same answer; no_variation: nothing varies; one_rater: "
        "nobody to compare with; zero_trials: nothing to count; stratum_too_small: too few questions of a task or "
        "stratum; too_few: n is below what the statistic needs; outside_range: not a value that it can have; "
        "censored: times that ended at the limit leave it open; inconsistent_assumptions: the assumptions contradict "
        "each other; no_such_rater, several_raters: the plan names nobody, or more than one, of the raters.",
    ),
)
TEST = (
    Column("df", REAL, "Degrees of freedom of a test statistic."),
    Column("p", REAL, "p of a test statistic, not adjusted."),
)
UNDEFINED_DRAWS = Column("bootstrap_undefined_fraction", REAL, "Share of bootstrap draws without a value.")


@dataclass(frozen=True)
class Sheet:
    """One table: its file name without ending, its columns and its rows."""

    name: str
    about: str  # one line for the README
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def value_cells(one: Json) -> list[Cell]:
    """The cells of VALUE; ``one`` has value, ci95, n, method, flags and reason."""
    low, high = one["ci95"] or (None, None)
    return [one["value"], low, high, one["n"], one["method"], "|".join(one["flags"]), one["reason"] or ""]


def count_cells(n: int, of: int) -> list[Cell]:
    """A plain count in the columns of VALUE."""
    return [float(n), None, None, of, "count", "", ""]


def values_of(entry: Json) -> Mapping[str, Any]:
    """The named values of an entry; names and counts beside them are left out."""
    return {name: one for name, one in entry.items() if isinstance(one, Mapping) and "ci95" in one}
