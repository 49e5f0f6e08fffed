"""Accuracy by category, difficulty, confidence and position, and the questions one by one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.calibration import Calibration, calibration
from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.items import discrimination, missed_by_all
from annotation.statistics.kernels.proportions import accuracy
from readerstudy.analysis.kernels.arrays import CHOSEN, TASKS, Rater, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import (
    LETTERS,
    READER,
    AccuracyTables,
    ByConfidence,
    ByPosition,
    CalibrationEntry,
    CaseColumns,
    OrderBlock,
)
from readerstudy.analysis.kernels.scoring import Scored
from readerstudy.design.kernels.rules import CHANCES

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
