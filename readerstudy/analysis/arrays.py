"""What raters said in one study, as arrays: the only input of a computation, and what its hash covers. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.enums import Task
from readerstudy.design.protocol import canonical
from readerstudy.enums import ResponseState

TASKS: tuple[str, ...] = tuple(task.value for task in Task)
LETTERS = "ABCD"
N_OPTIONS = len(LETTERS)
NO_RATING, MISSING = -1, -2  # in answers
NOT_COUNTED = -1  # in correct


class State(IntEnum):
    """How one rater stands to one question. A number never changes its meaning: hashes of old analyses hold it."""

    NOT_ASSIGNED = 0  # of another case set
    MISSING = 1
    ANSWERED = 2
    UNCONFIRMED = 3
    DECLINED = 4
    TIMED_OUT = 5
    LATE = 6
    FAILED = 7  # a model gave no valid option


STATE_OF: Mapping[str, State] = {
    ResponseState.ANSWERED: State.ANSWERED,
    ResponseState.UNCONFIRMED: State.UNCONFIRMED,
    ResponseState.DECLINED: State.DECLINED,
    ResponseState.TIMED_OUT: State.TIMED_OUT,
    ResponseState.LATE: State.LATE,
    ResponseState.MISSING: State.MISSING,
}
CHOSEN = (State.ANSWERED, State.UNCONFIRMED)
WRONG = (State.DECLINED, State.TIMED_OUT, State.LATE)
READER, MODEL = "reader", "model"


class Voided(IntEnum):
    NO = 0
    BEFORE_UNBLINDING = 1
    AFTER_UNBLINDING = 2


@dataclass(frozen=True)
class Rater:
    """A reader under their pseudonym, or a model. Names are given once in a study."""

    name: str
    kind: str  # READER or MODEL
    facts: Mapping[str, Any]  # what tells this rater from others; enters the hash


@dataclass(frozen=True)
class Questions:
    """The questions of the main block, in the order of their numbers; every sequence has one entry for each."""

    number: NDArray[np.int32]  # of the case in the study
    question: NDArray[np.int32]  # number in the bank
    public_id: tuple[str, ...]  # of the case
    key: NDArray[np.int8]  # 0 to 3
    task: NDArray[np.int8]  # place in TASKS
    category: tuple[str, ...]
    difficulty: tuple[str, ...]
    cluster: NDArray[np.int32]  # patients, where known, else exams, counted from 0
    voided: NDArray[np.int8]  # Voided

    def __len__(self) -> int:
        return len(self.key)

    def only(self, kept: NDArray[np.bool_]) -> Questions:
        return Questions(
            number=self.number[kept],
            question=self.question[kept],
            public_id=_kept(self.public_id, kept),
            key=self.key[kept],
            task=self.task[kept],
            category=_kept(self.category, kept),
            difficulty=_kept(self.difficulty, kept),
            cluster=self.cluster[kept],
            voided=self.voided[kept],
        )


@dataclass(frozen=True)
class Times:
    """Active times of readers; of shape (raters, questions), and nan in the rows of models."""

    active_ms: NDArray[np.float64]  # nan: none, or one that an excluding flag leaves out
    censored: NDArray[np.bool_]  # ended at a limit
    disturbed: NDArray[np.bool_]  # a minute without input, or the window lost focus

    def only(self, kept: NDArray[np.bool_]) -> Times:
        return Times(self.active_ms[:, kept], self.censored[:, kept], self.disturbed[:, kept])


@dataclass(frozen=True)
class StudyArrays:
    """Everything that a computation reads of a study. Arrays have the shape (raters, questions)."""

    study: str  # its name
    slug: str
    protocol_sha256: str
    simulated: bool
    plan: Mapping[str, Any]  # readerstudy.design.rules.AnalysisPlan
    cluster_level: str  # of what questions share: patient, exam, or patient where known
    cells: Sequence[tuple[str, str, int]]  # of the draw: task, difficulty, questions in the pool; () for a list
    raters: tuple[Rater, ...]  # readers in the order of joining, then models by name
    questions: Questions
    state: NDArray[np.int8]  # State
    option: NDArray[np.int8]  # 0 to 3; -1: none
    position: NDArray[np.int32]  # in the order of this reader; 0: not known
    confidence: NDArray[np.int8]  # percent; 0: not said
    slip: NDArray[np.int8]  # the option that was meant; -1: no slip was reported
    times: Times
    excluded: tuple[Mapping[str, Any], ...]  # cases and raters that are left out, each with its reason
    guess: NDArray[np.int8] | None = None  # best guess beside "cannot tell", -1: none; None: nobody was asked for one

    def without(self, dropped: NDArray[np.bool_]) -> StudyArrays:
        """The same study without some questions."""
        kept = ~dropped
        return replace(
            self,
            questions=self.questions.only(kept),
            state=self.state[:, kept],
            option=self.option[:, kept],
            position=self.position[:, kept],
            confidence=self.confidence[:, kept],
            slip=self.slip[:, kept],
            times=self.times.only(kept),
            guess=None if self.guess is None else self.guess[:, kept],
        )

    @property
    def readers(self) -> NDArray[np.intp]:
        return np.array([row for row, rater in enumerate(self.raters) if rater.kind == READER], dtype=np.intp)

    @property
    def models(self) -> NDArray[np.intp]:
        return np.array([row for row, rater in enumerate(self.raters) if rater.kind == MODEL], dtype=np.intp)

    def sha256(self) -> str:
        """Over everything here: an answer, a voiding, a rater or the protocol changes it, nothing else does."""
        digest = hashlib.sha256()
        named = {
            "study": [self.study, self.slug, self.protocol_sha256, self.simulated, self.cluster_level],
            "plan": dict(self.plan),
            "cells": [list(cell) for cell in self.cells],
            "raters": [[rater.name, rater.kind, dict(rater.facts)] for rater in self.raters],
            "questions": [self.questions.public_id, self.questions.category, self.questions.difficulty],
            "excluded": [dict(one) for one in self.excluded],
        }
        digest.update(canonical(named).encode())
        about, times = self.questions, self.times
        for array in (
            *(about.number, about.question, about.key, about.task, about.cluster, about.voided),
            *(self.state, self.option, self.position, self.confidence, self.slip),
            *(times.active_ms, times.censored, times.disturbed),
            *(() if self.guess is None else (self.guess,)),
        ):
            digest.update(f"\n{array.dtype.str}{array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _kept(values: Sequence[str], kept: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(value for value, stays in zip(values, kept.tolist(), strict=True) if stays)
