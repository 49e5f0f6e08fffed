"""A number never travels alone: it carries its interval, its n, how it was made, and why it is undefined. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, NotRequired, TypedDict

# Why there is no value.
ZERO_TRIALS = "zero_trials"
STRATUM_TOO_SMALL = "stratum_too_small"
NO_COMMON_QUESTIONS = "no_common_questions"
EXPECTED_AGREEMENT_IS_ONE = "expected_agreement_is_one"
ONE_RATER = "one_rater"
TOO_FEW = "too_few"  # n below what the statistic needs
OUTSIDE_RANGE = "outside_range"
CENSORED = "censored"
INCONSISTENT_ASSUMPTIONS = "inconsistent_assumptions"
NOT_ASKED = "not_asked"  # beside zero_trials: no form asked for it, which is another thing than never
WHOLE_BANK = "whole_bank"  # every question of the bank was looked at, so that there is no interval
WHOLE_FRAME = "whole_frame"  # every question of a part of the bank that the sample was drawn from
# Cautions that leave the value as it is; some of them are reasons, too.
SMALL_N = "small_n"
FEW_CLUSTERS = "few_clusters"
NO_VARIATION = "no_variation"
STRATA_MERGED = "strata_merged"
CONSTANT_RATER = "constant_rater"
UNSTABLE_BOOTSTRAP = "unstable_bootstrap"
FEW_READERS = "few_readers"
FEW_COMMON_ERRORS = "few_common_errors"  # of an excess: fewer than 5 questions that both had wrong
FEW_ERRORS = "few_errors"  # of a Brier score: fewer than 5 answers right or fewer than 5 wrong
FEW_DISAGREEMENTS = "few_disagreements"  # of an agreement: fewer than 5 of the n questions
READERS_DROPPED = "readers_dropped"
QUESTIONS_DROPPED = "questions_dropped"
ANSWERS_MISSING = "answers_missing"
CLUSTERS_IGNORED = "clusters_ignored"  # takes questions of one patient or exam as independent
POST_HOC = "post_hoc"  # what no frozen plan named before unblinding
SETTINGS_DIFFER = "settings_differ"  # of an analysis by other settings than those of the plan
SEEN_BEFORE = "seen_before"  # made after a result over the same readings had been seen

FEWEST_ERRORS = 5  # below it what rests on errors has no interval
SMALL_AGREEMENT_N = 30  # below it the intervals of kappa cover less than they say: flagged
FEWEST_FOR_INTERVAL = 10  # below it an agreement has no interval
NO_WIDTH = 1e-12  # an interval narrower than this would say that nothing is uncertain: it is left out

Interval = tuple[float, float]


class Value(TypedDict):
    """An estimate as it is stored and exported: plain numbers, lists and null, in full precision."""

    value: Annotated[float | None, "null where it is undefined"]
    ci95: Annotated[list[float] | None, "95 % limits; null: none"]
    n: Annotated[int, "what it was computed over"]
    method: Annotated[str, "how the interval was made, or the value where it has none"]
    flags: Annotated[list[str], "cautions that do not change the value"]
    reason: Annotated[str | None, "why there is no value"]


class DrawnValue(Value):
    """Its limits come from a bootstrap, where one was drawn."""

    bootstrap_undefined_fraction: Annotated[float | None, "share of the draws without a value; null: nothing was drawn"]


class DrawnValueWithError(DrawnValue):
    se: Annotated[float | None, "large-sample standard error"]


class ValueWithError(Value):
    se: Annotated[float | None, "standard error"]


class SlopeValue(ValueWithError):
    df: Annotated[int, "degrees of freedom"]


class ClusteredAccuracyValue(Value):
    accuracy_cluster_se: Annotated[float | None, "standard error by patient or exam"]
    design_effect: Annotated[float | None, "variance by patient or exam over that of single questions"]
    n_clusters: Annotated[int, "patients or exams"]


class MergedValue(Value):
    merged_tasks: Annotated[list[str], "tasks whose difficulties were taken together"]


class BankMixValue(Value):
    n_effective: Annotated[float | None, "questions of a simple sample with the same variance"]
    merged_tasks: Annotated[list[str], "tasks whose difficulties were taken together"]


class ClusteredDifferenceValue(Value):
    difference_cluster_se: Annotated[float | None, "standard error by patient or exam"]
    n_clusters: Annotated[int, "patients or exams"]


class TestValue(Value):
    df: Annotated[int, "degrees of freedom"]
    p: Annotated[float | None, "p, not adjusted"]


class InferenceValue(TypedDict):
    """One inference: whom and what the interval is about."""

    se: Annotated[float | None, "standard error"]
    df: Annotated[float | None, "degrees of freedom of t"]
    ci95: Annotated[list[float] | None, "95 % limits"]
    ci90: Annotated[list[float] | None, "90 % limits, for equivalence"]
    p: Annotated[float | None, "two-sided p"]
    flags: Annotated[list[str], "cautions"]
    reason: Annotated[str | None, "why there are no limits"]


class UnitValue(TypedDict):
    """The three inferences by one unit: the question, or the patient or exam with all of its questions."""

    n_units: Annotated[int, "questions, patients or exams"]
    reader_part: Annotated[float | None, "what readers add to the variance"]
    case_part: Annotated[float | None, "what questions, patients or exams add to it"]
    random_readers_random_questions: InferenceValue
    fixed_readers_random_questions: InferenceValue
    random_readers_fixed_questions: InferenceValue
    mover_ci95: Annotated[list[float] | None, "limits of both parts combined, for few readers"]
    mover_ci90: NotRequired[Annotated[list[float] | None, "the same at 90 %"]]
    mover_p: NotRequired[Annotated[float | None, "two-sided p by the same rule; null: of a mean"]]


@dataclass(frozen=True)
class Estimate:
    """One number.

    Parameters
    ----------
    value : float or None
        None where it is undefined; ``reason`` then says why. Never NaN or infinite.
    ci95 : (low, high) or None
        95 % limits, made by ``method``. None where there can be none: a flag or the reason says why.
    n : int
        What the value was computed over.
    method : str
        How the interval was made, or the value where it has none.
    flags : tuple of str
        Cautions that do not change the value, such as ``small_n``.
    count : int or None
        For a share: how many of the n.

    Raises ValueError for a value that is no number, an undefined one without reason, and limits in the wrong order.
    """

    value: float | None
    ci95: Interval | None
    n: int
    method: str
    flags: tuple[str, ...] = ()
    reason: str | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError("an estimate has a value, or a reason why it has none")
        if self.value is not None and not isfinite(self.value):
            raise ValueError("an undefined estimate is None with a reason, not NaN")
        if self.ci95 is not None and (self.value is None or not self.ci95[0] <= self.ci95[1]):
            raise ValueError("an interval needs a value, and its lower limit first")

    @property
    def low(self) -> float | None:
        return self.ci95[0] if self.ci95 else None

    @property
    def high(self) -> float | None:
        return self.ci95[1] if self.ci95 else None

    def as_json(self) -> Value:
        return {
            "value": None if self.value is None else float(self.value),
            "ci95": None if self.ci95 is None else [float(limit) for limit in self.ci95],
            "n": int(self.n),
            "method": self.method,
            "flags": list(self.flags),
            "reason": self.reason,
        }


def undefined(reason: str, *, n: int, method: str, flags: tuple[str, ...] = ()) -> Estimate:
    return Estimate(None, None, n, method, flags, reason)


def plain_value(one: Value) -> Value:
    """Only the six names of a value."""
    return {
        "value": one["value"],
        "ci95": one["ci95"],
        "n": one["n"],
        "method": one["method"],
        "flags": one["flags"],
        "reason": one["reason"],
    }
