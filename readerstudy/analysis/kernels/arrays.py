"""What raters answered in one study, as arrays: the only input of a computation, and what its hash covers. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.enums import Task
from annotation.statistics.kernels.estimate import POST_HOC
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.design.kernels.documents import canonical
from readerstudy.enums import ResponseState

TASKS: tuple[str, ...] = tuple(task.value for task in Task)
NO_RATING, MISSING = -1, -2  # in answers
NOT_COUNTED = -1  # in correct
CAME_LATE, LEFT_BECAUSE = "came_late", "left_because"  # facts of a reader; the second of a model, too


class State(IntEnum):
    """What one rater did with one question. A number never changes its meaning: hashes of old analyses hold it."""

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

    @property
    def is_post_hoc(self) -> bool:
        """A model whose run came in or was named, or whose name was changed, after unblinding."""
        return bool(self.facts.get(POST_HOC))

    @property
    def is_counted(self) -> bool:
        """Whether other numbers depend on it: families of Holm and groups are those of the plan, whatever comes later.

        A model that was planned is counted under its new name, too.
        """
        return not self.is_post_hoc or bool(self.facts.get("was_planned"))


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
class MeasuredTimes:
    """Active times of readers; of shape (raters, questions), and nan in the rows of models."""

    active_ms: NDArray[np.float64]  # nan: none, or one that an excluding flag leaves out; censored: the limit
    censored: NDArray[np.bool_]  # ended at a limit that is known
    disturbed: NDArray[np.bool_]  # a minute without input, or the window lost focus

    def only(self, kept: NDArray[np.bool_]) -> MeasuredTimes:
        return MeasuredTimes(self.active_ms[:, kept], self.censored[:, kept], self.disturbed[:, kept])


@dataclass(frozen=True)
class Repeats:
    """Further runs of the models, which show how far one repeats itself; arrays have the shape (runs, questions)."""

    of: tuple[tuple[int, int], ...]  # row of the model among the raters, number of the run
    state: NDArray[np.int8]  # State
    option: NDArray[np.int8]  # 0 to 3; -1: none
    late: frozenset[int] = frozenset()  # places of those that came in after results had been seen

    def only(self, kept: NDArray[np.bool_]) -> Repeats:
        return replace(self, state=self.state[:, kept], option=self.option[:, kept])

    def late_of(self, row: int) -> set[int]:
        """The numbers of the runs of a model that came late."""
        return {number for place, (of, number) in enumerate(self.of) if of == row and place in self.late}


@dataclass(frozen=True)
class Experts:
    """Blind answers of reviewers to the same wordings, of shape (questions,): how many, and how many are the key."""

    n: NDArray[np.int32]
    right: NDArray[np.int32]

    def only(self, kept: NDArray[np.bool_]) -> Experts:
        return Experts(self.n[kept], self.right[kept])


@dataclass(frozen=True)
class StudyArrays:
    """Everything that a computation reads of a study. Arrays have the shape (raters, questions)."""

    study: str  # its name
    slug: str
    protocol_sha256: str
    simulated: bool
    plan: Mapping[str, Any]  # readerstudy.design.kernels.documents.AnalysisPlan
    cluster_level: str  # of what questions share: patient, exam, or patient where known
    cells: Sequence[tuple[str, str, int]]  # of the draw: task, difficulty, questions in the pool; () for a list
    raters: tuple[Rater, ...]  # readers by pseudonym, then models by name
    questions: Questions
    state: NDArray[np.int8]  # State
    option: NDArray[np.int8]  # 0 to 3; -1: none
    position: NDArray[np.int32]  # in the order of this reader; 0: not known
    confidence: NDArray[np.int8]  # percent; 0: not stated
    slip: NDArray[np.int8]  # the option that was meant; -1: no slip was reported
    times: MeasuredTimes
    excluded: tuple[Mapping[str, Any], ...]  # cases and raters that are left out, each with its reason
    guess: NDArray[np.int8] | None = None  # best guess beside "cannot tell", -1: none; None: nobody was asked for one
    model_confidence: NDArray[np.float64] | None = None  # percent, nan: not stated; None: no model stated one
    repeats: Repeats | None = None  # None: no model has a second run
    experts: Experts | None = None  # None: no reviewer answered one of the questions blind
    doubted: NDArray[np.bool_] | None = None  # page and server part about the time; None: of no answer
    plan_meets_nobody: Sequence[tuple[str, str]] = ()  # lines of the plan on runs that mean no model, or several

    @property
    def came_late(self) -> frozenset[str]:
        """The names of the readers who enrolled, or whose readings came in, after results had been seen."""
        return frozenset(rater.name for rater in self.raters if rater.kind == READER and rater.facts.get(CAME_LATE))

    @property
    def left_late(self) -> frozenset[str]:
        """The names of the readers who left after results had been seen: what was planned keeps them."""
        return frozenset(one.name for one in self.raters if one.kind == READER and one.facts.get(LEFT_BECAUSE))

    def without_raters(self, names: Set[str]) -> StudyArrays:
        """The same study without some raters; of models none, since their repeats are counted by rows."""
        kept = np.array([rater.name not in names for rater in self.raters], dtype=np.bool_)
        if kept.all():
            return self
        place, times, repeats = np.cumsum(kept) - 1, self.times, self.repeats
        return replace(
            self,
            raters=tuple(rater for rater in self.raters if rater.name not in names),
            state=self.state[kept],
            option=self.option[kept],
            position=self.position[kept],
            confidence=self.confidence[kept],
            slip=self.slip[kept],
            times=MeasuredTimes(times.active_ms[kept], times.censored[kept], times.disturbed[kept]),
            guess=None if self.guess is None else self.guess[kept],
            model_confidence=None if self.model_confidence is None else self.model_confidence[kept],
            doubted=None if self.doubted is None else self.doubted[kept],
            repeats=repeats and replace(repeats, of=tuple((int(place[row]), number) for row, number in repeats.of)),
        )

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
            model_confidence=None if self.model_confidence is None else self.model_confidence[:, kept],
            repeats=self.repeats and self.repeats.only(kept),
            experts=self.experts and self.experts.only(kept),
            doubted=None if self.doubted is None else self.doubted[:, kept],
        )

    @property
    def readers(self) -> NDArray[np.intp]:
        return np.array([row for row, rater in enumerate(self.raters) if rater.kind == READER], dtype=np.intp)

    @property
    def models(self) -> NDArray[np.intp]:
        return np.array([row for row, rater in enumerate(self.raters) if rater.kind == MODEL], dtype=np.intp)

    @property
    def post_hoc(self) -> frozenset[str]:
        """The names of the models that nobody can have planned."""
        return frozenset(rater.name for rater in self.raters if rater.is_post_hoc)

    @property
    def uncounted(self) -> frozenset[str]:
        """Those of them on which no other number depends."""
        return frozenset(rater.name for rater in self.raters if not rater.is_counted)

    @property
    def made_elsewhere(self) -> bool:
        """Whether all readings came from files, so that the plan was made after them as far as anybody can know."""
        readers = [rater for rater in self.raters if rater.kind == READER]
        return bool(readers) and all(rater.facts.get("imported") for rater in readers)

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
            **({"late_runs": sorted(self.repeats.late)} if self.repeats and self.repeats.late else {}),
            **({"plan_meets_nobody": list(self.plan_meets_nobody)} if self.plan_meets_nobody else {}),
        }
        digest.update(canonical(named).encode())
        about, times, repeats, experts = self.questions, self.times, self.repeats, self.experts
        for array in (
            *(about.number, about.question, about.key, about.task, about.cluster, about.voided),
            *(self.state, self.option, self.position, self.confidence, self.slip),
            *(times.active_ms, times.censored, times.disturbed),
            *(() if self.guess is None else (self.guess,)),
            *(() if self.model_confidence is None else (self.model_confidence,)),
            *(() if experts is None else (experts.n, experts.right)),
            *(() if self.doubted is None else (self.doubted,)),
            *(() if repeats is None else (np.array(repeats.of, dtype=np.int32), repeats.state, repeats.option)),
        ):
            digest.update(f"\n{array.dtype.str}{array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _kept(values: Sequence[str], kept: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(value for value, stays in zip(values, kept.tolist(), strict=True) if stays)


def strata_of(arrays: StudyArrays) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]] | None:
    """The cell of the draw of each question; how many questions each cell has in the pool, and its task.

    None where the cases were listed, or a question is in no cell of the draw by now.
    """
    place = {(task, difficulty): row for row, (task, difficulty, _n) in enumerate(arrays.cells)}
    about = arrays.questions
    cells = [(TASKS[task], level) for task, level in zip(about.task.tolist(), about.difficulty, strict=True)]
    if not place or not place.keys() >= set(cells):
        return None
    stratum = [place[cell] for cell in cells]
    tasks, _difficulties, sizes = zip(*arrays.cells, strict=True)
    return np.array(stratum, dtype=np.int64), np.array(sizes, dtype=np.int64), list(tasks)
