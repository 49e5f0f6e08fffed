"""Accuracy by category, difficulty, confidence and position; the questions one by one; and times per case. Pure.

Times: of each reader, of all readers, and the lines that show how much the rules matter, in seconds of active time.
docs/analysis.md defines which times count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels import timing
from annotation.statistics.kernels.calibration import Calibration, calibration
from annotation.statistics.kernels.estimate import CENSORED, ONE_RATER, TOO_FEW, ZERO_TRIALS, Estimate, Value, undefined
from annotation.statistics.kernels.items import discrimination, missed_by_all
from annotation.statistics.kernels.proportions import accuracy
from readerstudy.analysis.kernels.arrays import CHOSEN, TASKS, Rater, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import (
    LETTERS,
    READER,
    AccuracyTables,
    AllTimes,
    ByConfidence,
    ByPosition,
    CalibrationEntry,
    CaseColumns,
    OrderBlock,
    ReaderTimes,
    TimeResult,
    Times,
    VarianceParts,
)
from readerstudy.analysis.kernels.scoring import Scored
from readerstudy.design.kernels.documents import CHANCES

BLOCKS = 10  # of the order of a reader
OTHER_SIGNS = {
    State.NOT_ASSIGNED: " ",
    State.MISSING: ".",
    State.DECLINED: "?",
    State.TIMED_OUT: "t",
    State.FAILED: "x",
}
VOIDED_WORDS = {Voided.NO: "", Voided.BEFORE_UNBLINDING: "before", Voided.AFTER_UNBLINDING: "after"}


def tables_of(arrays: StudyArrays, scored: Scored) -> AccuracyTables:
    """Each table is a list of rows: what it is about, n, and the accuracy of each rater by name."""
    about = arrays.questions
    return {
        "categories": [
            {"category": name, "n": n, "accuracy": of} for name, n, of in _by(arrays, scored, about.category)
        ],
        "difficulties": [
            {"difficulty": name, "n": n, "accuracy": of} for name, n, of in _by(arrays, scored, about.difficulty)
        ],
        "confidence": _by_confidence(arrays, scored),
        "calibration": _calibrations(arrays, scored),
        "positions": _by_position(arrays, scored),
    }


def _by(arrays: StudyArrays, scored: Scored, values: Sequence[str]) -> list[tuple[str, int, dict[str, Value]]]:
    """Each value with its questions and the accuracy of each rater; by the number of questions, most first."""
    texts, place = np.unique(np.array(values, dtype=object).astype(str), return_inverse=True)
    size = np.bincount(place, minlength=len(texts))
    order = np.lexsort((np.arange(len(texts)), -size))
    return [
        (str(texts[each]), int(size[each]), _accuracies(arrays, scored.correct, place == each))
        for each in order.tolist()
    ]


def _accuracies(arrays: StudyArrays, correct: NDArray[np.int8], chosen: NDArray[np.bool_]) -> dict[str, Value]:
    return {rater.name: accuracy(row[chosen]).as_json() for rater, row in zip(arrays.raters, correct, strict=True)}


def _by_confidence(arrays: StudyArrays, scored: Scored) -> list[ByConfidence]:
    """Of each reader, what was right of the answers given with each chance of being right; of a guess, the guess."""
    correct = scored.correct if scored.guessed is None else scored.guessed
    found: list[ByConfidence] = []
    for row, rater in enumerate(arrays.raters):
        stated = arrays.confidence[row]
        if rater.kind == READER and stated.any():
            steps = {str(chance): accuracy(correct[row][stated == chance]).as_json() for chance in CHANCES}
            found.append({"name": rater.name, "accuracy": steps})
    return found


def _calibrations(arrays: StudyArrays, scored: Scored) -> list[CalibrationEntry]:
    """Of each rater who stated a chance of being right, over all tasks; of a guess, the guess."""
    correct = scored.correct if scored.guessed is None else scored.guessed
    found = []
    for row, rater in enumerate(arrays.raters):
        stated, levels = stated_chances(arrays, row)
        if not np.isnan(stated).all():
            one = calibration(stated, correct[row], arrays.questions.cluster, levels)
            found.append(_calibration(rater, one))
    return found


def stated_chances(arrays: StudyArrays, row: int) -> tuple[NDArray[np.float64], Sequence[int]]:
    """Percent, nan: none; and the steps that readers choose from, while models say what they like."""
    if arrays.raters[row].kind == READER:
        stated = arrays.confidence[row].astype(np.float64)
        return np.where(stated > 0, stated, np.nan), CHANCES
    none = np.full(len(arrays.questions), np.nan)
    return none if arrays.model_confidence is None else arrays.model_confidence[row], ()


def _calibration(rater: Rater, found: Calibration) -> CalibrationEntry:
    return {
        "name": rater.name,
        "kind": rater.kind,
        "n": found.brier_score.n,
        "brier_score": {**found.brier_score.as_json(), "se": found.brier_score_se},
        "brier_reference": found.brier_reference.as_json(),
        "mean_stated": found.mean_stated.as_json(),
        "mean_right": found.mean_right.as_json(),
        "stated_minus_right": {**found.stated_minus_right.as_json(), "se": found.stated_minus_right_se},
        "reliability_bins": [
            {"mean_stated": one.mean_stated, "right": one.right.as_json()} for one in found.reliability_bins
        ],
    }


def _by_position(arrays: StudyArrays, scored: Scored) -> list[ByPosition]:
    """Of each reader, ten blocks of the order in which the questions came, as equal as they can be."""
    found: list[ByPosition] = []
    for row, rater in enumerate(arrays.raters):
        place = np.flatnonzero(arrays.position[row] > 0)
        if rater.kind != READER or not len(place):
            continue
        place = place[np.argsort(arrays.position[row][place], kind="stable")]
        found.append({"name": rater.name, "blocks": [_block(arrays, scored, row, part) for part in _parts(place)]})
    return found


def _parts(place: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [part for part in np.array_split(place, BLOCKS) if len(part)]


def _block(arrays: StudyArrays, scored: Scored, row: int, part: NDArray[np.intp]) -> OrderBlock:
    position = arrays.position[row][part]
    return {
        "from": int(position[0]),
        "to": int(position[-1]),
        "accuracy": accuracy(scored.correct[row][part]).as_json(),
    }


def items_of(arrays: StudyArrays, scored: Scored) -> CaseColumns:
    """All questions as columns, the voided ones too; answers as one letter for each question.

    Discrimination is computed with the scored questions only: those voided before unblinding are in no rest score.
    A to D: the option that counts; lower case: the option of a late answer; x: failed extraction; ?: declined; t: time
    ended; a full stop: missing; a space: not in the set of this reader.
    """
    about = arrays.questions
    found = discrimination(scored.correct, about.voided != Voided.BEFORE_UNBLINDING)
    return {
        "case": about.number.tolist(),
        "question": about.question.tolist(),
        "case_id": list(about.public_id),
        "cluster": about.cluster.tolist(),
        "task": [TASKS[place] for place in about.task.tolist()],
        "category": list(about.category),
        "difficulty": list(about.difficulty),
        "voided": [VOIDED_WORDS[Voided(word)] for word in about.voided.tolist()],
        "key": "".join(LETTERS[place] for place in about.key.tolist()),
        "answers": {rater.name: _signs(arrays, row) for row, rater in enumerate(arrays.raters)},
        "n_right": (scored.correct == 1).sum(axis=0).tolist(),
        "n_counted": (scored.correct >= 0).sum(axis=0).tolist(),
        "discrimination": [value if np.isfinite(value) else None for value in found.tolist()],
        "missed_by_all": np.flatnonzero(missed_by_all(scored.correct)).tolist(),
    }


def _signs(arrays: StudyArrays, row: int) -> str:
    signs: bytes = _SIGNS[arrays.state[row], arrays.option[row]].tobytes()
    return signs.decode("ascii")


def _table_of_signs() -> NDArray[np.uint8]:
    """The sign of each state and option, as ASCII codes; the last column is that of no option."""
    table = np.zeros((len(State), len(LETTERS) + 1), dtype=np.uint8)
    for state in State:
        if state in CHOSEN:
            signs = LETTERS + "?"
        elif state == State.LATE:
            signs = LETTERS.lower() + "t"
        else:
            signs = OTHER_SIGNS[state] * (len(LETTERS) + 1)
        table[state] = list(signs.encode("ascii"))
    return table


_SIGNS = _table_of_signs()


# --- Times per case: of each reader, of all readers, and the lines that show how much -------------
RULE = (
    "active time of answered and declined cases; a case that ended at a limit stands in the order at that limit and "
    "has no exact time; none with an excluding flag; voided cases left out; nothing trimmed"
)
TIMED = (State.ANSWERED, State.DECLINED)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seconds:
    """Times of readers; arrays of shape (readers, questions), NaN: none."""

    all: Floats  # those that ended at a limit stand at that limit
    censored: NDArray[np.bool_]

    @property
    def exact(self) -> Floats:
        return np.where(self.censored, np.nan, self.all)

    def at(self, kept: NDArray[np.bool_] | int) -> Seconds:
        """Those of one reader, or only some of them."""
        if isinstance(kept, int):
            return Seconds(self.all[kept], self.censored[kept])
        return Seconds(np.where(kept, self.all, np.nan), self.censored & kept)

    @property
    def n_censored(self) -> int:
        return int(self.censored.sum())


def time_results(arrays: StudyArrays) -> TimeResult:
    """``rule``, ``readers`` (one entry each), ``all`` and the sensitivity analyses; n is 0 where no time was kept."""
    readers = arrays.readers
    times = _times_of(arrays)
    position = arrays.position[readers].astype(float)
    return {
        "rule": RULE,
        "unit": "s",
        "readers": [
            _of_reader(arrays.raters[row].name, times.at(place), position[place])
            for place, row in enumerate(readers.tolist())
        ],
        "all": _of_all(times, position),
        "sensitivity": {
            "winsorised": _middle(_winsorised(times)),
            "without_quiet_or_blurred": _middle(times.at(~arrays.times.disturbed[readers])),
        },
    }


def _times_of(arrays: StudyArrays) -> Seconds:
    times, readers = arrays.times, arrays.readers
    known = ~np.isnan(times.active_ms)
    censored = (times.censored & known)[readers]
    counted = (np.isin(arrays.state, TIMED) & known)[readers] | censored
    return Seconds(np.where(counted, times.active_ms[readers] / 1000, np.nan), censored)


def _winsorised(times: Seconds) -> Seconds:
    """Only the mean depends on the longest times, and it is not known where one is censored: then as they are."""
    if times.n_censored:
        return times
    seconds = times.all.copy()
    seconds[~np.isnan(seconds)] = timing.winsorised(seconds[~np.isnan(seconds)])
    return Seconds(seconds, times.censored)


def _of_reader(name: str, times: Seconds, position: Floats) -> ReaderTimes:
    placed = times.at(position > 0)
    exact = ~np.isnan(placed.exact)
    of_order = placed.exact[exact], position[exact].astype(np.int64), placed.n_censored
    slope = timing.log_slope_per_position(*of_order)
    return {
        "name": name,
        **_middle(times),
        "log_slope_per_position": slope.as_json(),
        "percent_per_ten": timing.percent_per_ten(slope).as_json(),
        "spearman_time_vs_position": timing.spearman_time_vs_position(*of_order).as_json(),
    }


def _of_all(times: Seconds, position: Floats) -> AllTimes:
    placed = times.at(position > 0)
    pooled = timing.pooled_log_slope_adjusted(placed.exact, position, placed.n_censored)
    return {
        **_middle(times),
        "pooled_log_slope_adjusted": {**pooled.slope.as_json(), "se": pooled.se, "df": pooled.df},
        "percent_per_ten": timing.percent_per_ten(pooled.slope).as_json(),
        "log_time_variance_components": _components(times),
    }


def _components(times: Seconds) -> VarianceParts:
    """Of the questions with an exact time of every reader."""
    n_readers, n_exact = len(times.all), int((~np.isnan(times.exact)).sum())
    too_censored = timing.is_too_censored(n_exact, times.n_censored)
    parts = timing.log_time_variance_components(times.exact) if n_readers and not too_censored else None
    reason = CENSORED if too_censored else ONE_RATER if n_readers < 2 else TOO_FEW
    return {
        "reader": parts.reader if parts else None,
        "question": parts.question if parts else None,
        "residual": parts.residual if parts else None,
        "n_readers": n_readers,
        "n": int((~np.isnan(times.exact)).all(axis=0).sum()) if n_readers else 0,
        "method": "two-way mean squares of log seconds",
        "flags": list(timing.censored_flag(times.n_censored)) if parts else [],
        "reason": None if parts else reason,
    }


def _middle(times: Seconds) -> Times:
    """Quartiles, outer percentiles and geometric mean, each with its n; and how many times ended at a limit."""
    timed = ~np.isnan(times.all)
    seconds, censored = times.all[timed], times.censored[timed]
    found = timing.quartiles(seconds, censored)
    return {
        "median": _quantile(found, "median").as_json(),
        "q1": _quantile(found, "q1").as_json(),
        "q3": _quantile(found, "q3").as_json(),
        "p5": _quantile(found, "p5").as_json(),
        "p95": _quantile(found, "p95").as_json(),
        "geometric_mean": timing.geometric_mean(seconds, times.n_censored).as_json(),
        "n_censored": times.n_censored,
    }


def _quantile(found: timing.Quartiles | None, name: str) -> Estimate:
    if found is None:
        return undefined(ZERO_TRIALS, n=0, method="type_7")
    value = getattr(found, name)
    if value is None:
        return undefined(CENSORED, n=found.n, method="type_7")
    return Estimate(value, None, found.n, "type_7")
