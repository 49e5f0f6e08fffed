"""The main block of a study as arrays: one column for each case; and what readers answered and models predicted, filled
in by row and column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from annotation.case.kernels.durations import TimeFlag, is_counted
from annotation.models import AnswerKey, Assignment
from annotation.review.outcomes import blind_answers
from readerstudy.analysis.kernels.arrays import STATE_OF, TASKS, Experts, Questions, Repeats, State, Voided
from readerstudy.analysis.kernels.result import DECLARED, LETTERS
from readerstudy.design.kernels.documents import read_rules
from readerstudy.design.shown import patients_shown
from readerstudy.enums import Block, PredictionState, RemarkKind
from readerstudy.models import CaseSet, Enrolment, Prediction, PredictionRun, ReaderStudy, Remark, Response, StudyCase
from readerstudy.predictions.runs import came_late


class _Case(NamedTuple):
    """One case of the main block; the fields are read in the order of ``_CASE``."""

    pk: int
    number: int
    public_id: str
    revision_id: int
    task: str
    category: str
    difficulty: str
    question: int  # number in the bank
    exam: str  # its pseudonym
    patient: str  # "": not known
    reason: str | None  # of the voiding; None: not voided
    before_unblinding: bool | None
    declared: bool | None
    voided_at: datetime | None

    def voided(self, seen_at: datetime | None) -> Voided:
        """``seen_at``: when a result over the readings was seen in another study."""
        if self.voided_at is None:
            return Voided.NO
        is_late = not self.before_unblinding or (seen_at is not None and self.voided_at > seen_at)
        return Voided.AFTER_UNBLINDING if is_late else Voided.BEFORE_UNBLINDING


_CASE = (
    *("pk", "number", "public_id", "revision_id", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__question__number", "revision__question__exam__pseudonym"),
    *("revision__question__exam__patient_pseudonym", "voiding__reason"),
    *("voiding__before_unblinding", "voiding__declared", "voiding__at"),
)


@dataclass(frozen=True)
class Cases:
    """The main block of a study, and the place of each case in the arrays."""

    rows: list[_Case]
    column: Mapping[int, int]  # by the id of the case
    questions: Questions
    excluded: list[Mapping[str, Any]]
    cluster_level: str


def cases_of(study: ReaderStudy, seen_at: datetime | None = None) -> Cases:
    """A voiding after ``seen_at``, when a result over the same readings was first seen elsewhere, is late."""
    found = StudyCase.objects.filter(study=study, block=Block.MAIN).order_by("number").values_list(*_CASE)
    rows = [_Case._make(row) for row in found.iterator(chunk_size=5000)]  # no models: there may be 41,007
    revisions = study.cases.filter(block=Block.MAIN).values("revision")
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    cluster, level = patients_shown(study).clusters([(case.patient, case.exam) for case in rows])
    questions = Questions(
        number=array_of((case.number for case in rows), np.int32),
        question=array_of((case.question for case in rows), np.int32),
        public_id=tuple(case.public_id for case in rows),
        key=array_of((LETTERS.index(keys[case.revision_id]) for case in rows), np.int8),
        task=array_of((TASKS.index(case.task) for case in rows), np.int8),
        category=tuple(case.category for case in rows),
        difficulty=tuple(case.difficulty for case in rows),
        cluster=array_of(cluster, np.int32),
        voided=array_of((case.voided(seen_at) for case in rows), np.int8),
    )
    excluded = [_excluded_case(case, voided) for case in rows if (voided := case.voided(seen_at))]
    return Cases(rows, {case.pk: column for column, case in enumerate(rows)}, questions, excluded, level)


def experts_of(study: ReaderStudy, cases: Cases) -> Experts | None:
    """What reviewers answered blind; who reads a study is a reviewer of none of its questions."""
    column = {case.revision_id: place for place, case in enumerate(cases.rows)}
    n, right = np.zeros((2, len(cases.rows)), dtype=np.int32)
    for revision, best in expert_answers(study).values_list("revision_id", "blind_answer__best"):
        place = column[revision]
        n[place] += 1
        right[place] += best == LETTERS[cases.questions.key[place]]
    return Experts(n, right) if n.any() else None


def expert_answers(study: ReaderStudy) -> QuerySet[Assignment]:
    return blind_answers(study.cases.filter(block=Block.MAIN).values("revision"))


def _excluded_case(case: _Case, voided: Voided) -> Mapping[str, Any]:
    return {
        "kind": "case",
        "case": case.number,
        "question": case.question,
        "case_id": case.public_id,
        "task": case.task,
        "decided": DECLARED if case.declared and voided == Voided.BEFORE_UNBLINDING else voided.name.lower(),
        "reason": case.reason,
    }


def array_of(values: Iterable[int], kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    return np.fromiter(values, dtype=kind)


# --- What readers answered and models predicted, filled in by row and column ----------------------
ENDED = (State.UNCONFIRMED, State.TIMED_OUT, State.LATE)  # at a limit
DISTURBING = frozenset({TimeFlag.QUIET, TimeFlag.BLURRED})


class AnswerSheet:
    """What is filled in row by row; of shape (raters, questions)."""

    def __init__(self, n_raters: int, n_questions: int) -> None:
        shape = (n_raters, n_questions)
        self.state = np.full(shape, State.NOT_ASSIGNED, dtype=np.int8)
        self.option = np.full(shape, -1, dtype=np.int8)
        self.position = np.zeros(shape, dtype=np.int32)
        self.confidence = np.zeros(shape, dtype=np.int8)
        self.slip = np.full(shape, -1, dtype=np.int8)
        self.guess = np.full(shape, -1, dtype=np.int8)
        self.active_ms = np.full(shape, np.nan, dtype=np.float64)
        self.censored = np.zeros(shape, dtype=np.bool_)
        self.disturbed = np.zeros(shape, dtype=np.bool_)
        self.doubted = np.zeros(shape, dtype=np.bool_)
        self.model_confidence = np.full(shape, np.nan, dtype=np.float64)


def assign(sheet: AnswerSheet, study: ReaderStudy, readers: list[Enrolment], cases: Cases) -> None:
    """A case of a reader's own set is missing until there is a response to it."""
    links = CaseSet.cases.through.objects.filter(caseset__study=study).values_list("caseset_id", "studycase_id")
    columns: dict[int, list[int]] = {}
    for set_id, case_id in links:
        if case_id in cases.column:
            columns.setdefault(set_id, []).append(cases.column[case_id])
    for row, enrolment in enumerate(readers):
        sheet.state[row, columns.get(enrolment.case_set_id, [])] = State.MISSING


def fill_responses(
    sheet: AnswerSheet,
    study: ReaderStudy,
    row_of: Mapping[int, int],
    column_of: Mapping[int, int],
    in_part: Collection[int] = (),
) -> None:
    """A confirmed response goes before unconfirmed ones, of these the newest: what comes later takes the place.

    Of the readers ``in_part`` only those count that were there when results were seen.
    """
    counts = _counts("stored_at", study, in_part)
    found = Response.objects.filter(counts, reading__enrolment__study=study, reading__case__block=Block.MAIN)
    names = ("reading__enrolment_id", "reading__case_id", "reading__position", "is_confirmed", "state", "option")
    stored = found.order_by("pk").values_list(*names, "active_ms", "limit_ms", "time_flags")
    rows = [one for one in stored.iterator(chunk_size=5000) if one[0] in row_of]
    rows.sort(key=lambda one: one[3])  # the last one stays
    at = (array_of((row_of[one[0]] for one in rows), np.int32), array_of((column_of[one[1]] for one in rows), np.int32))
    sheet.position[at] = array_of((one[2] or 0 for one in rows), np.int32)
    sheet.state[at] = array_of((STATE_OF[one[4]] for one in rows), np.int8)
    sheet.option[at] = array_of((LETTERS.index(one[5]) if one[5] else -1 for one in rows), np.int8)
    limit_s = read_rules(study.rules).time_limit_s
    times = [_time_of(state, active_ms, limit_ms, flags, limit_s) for *_, state, _, active_ms, limit_ms, flags in rows]
    sheet.active_ms[at] = np.fromiter((ms for ms, _is_censored in times), np.float64)
    sheet.censored[at] = np.fromiter((is_censored for _ms, is_censored in times), np.bool_)
    sheet.disturbed[at] = np.fromiter((bool(DISTURBING.intersection(one[8])) for one in rows), np.bool_)
    sheet.doubted[at] = np.fromiter((TimeFlag.APART in one[8] for one in rows), np.bool_)


def _time_of(
    state: str, active_ms: int | None, limit_ms: int | None, flags: list[str], limit_s: int | None
) -> tuple[float, bool]:
    """The time that counts, nan: none; and whether it ended at a limit, where the limit is taken for it.

    The limit is stored with what was read here; of readings made elsewhere it is that of the rules (``limit_s``), or
    where these know none the time that came with the file.
    """
    is_censored = STATE_OF[state] in ENDED
    if is_censored and limit_ms is not None:
        active_ms = limit_ms
    elif is_censored and limit_s is not None:
        active_ms = limit_s * 1000
    if active_ms is None or active_ms <= 0 or not is_counted(active_ms, flags):
        return np.nan, False
    return active_ms, is_censored


def _counts(at: str, study: ReaderStudy, in_part: Collection[int]) -> Q:
    late = {"reading__enrolment__in": in_part, f"{at}__gt": study.unblinded_at}
    return ~Q(**late) if in_part else Q()


def fill_remarks(
    sheet: AnswerSheet,
    study: ReaderStudy,
    row_of: Mapping[int, int],
    column_of: Mapping[int, int],
    in_part: Collection[int] = (),
) -> None:
    """The newest remark of a kind counts."""
    rows = Remark.objects.filter(
        _counts("at", study, in_part),
        reading__enrolment__study=study,
        reading__case__block=Block.MAIN,
        kind__in=[RemarkKind.GUESS, RemarkKind.CONFIDENCE, RemarkKind.SLIP],
    ).order_by("pk")
    for enrolment, case, kind, value in rows.values_list(
        "reading__enrolment_id", "reading__case_id", "kind", "value"
    ).iterator(chunk_size=5000):
        row = row_of.get(enrolment)
        if row is None:
            continue
        if kind == RemarkKind.CONFIDENCE and value.isdigit():
            sheet.confidence[row, column_of[case]] = int(value)
        elif kind in (RemarkKind.GUESS, RemarkKind.SLIP) and value in LETTERS:
            options = sheet.guess if kind == RemarkKind.GUESS else sheet.slip
            options[row, column_of[case]] = LETTERS.index(value)


def fill_predictions(
    sheet: AnswerSheet, named: Sequence[PredictionRun], others: Sequence[PredictionRun], first: int, cases: Cases
) -> Repeats | None:
    """The ``named`` runs as row ``first`` and those below it; the ``others`` apart, by the row of their model.

    A question that a run has no prediction for is missing.
    """
    row_of = {run.entry_id: first + place for place, run in enumerate(named)}
    shape = (len(named) + len(others), len(cases.rows))
    state, option = np.full(shape, State.MISSING, dtype=np.int8), np.full(shape, -1, dtype=np.int8)
    line_of = {run.pk: place for place, run in enumerate((*named, *others))}
    column_of = {case.revision_id: column for column, case in enumerate(cases.rows)}
    found = Prediction.objects.filter(run__in=list(line_of)).order_by()
    rows = [
        one
        for one in found.values_list("run_id", "revision_id", "state", "option", "confidence").iterator(chunk_size=5000)
        if one[1] in column_of
    ]
    at = (
        array_of((line_of[one[0]] for one in rows), np.int32),
        array_of((column_of[one[1]] for one in rows), np.int32),
    )
    answered = [one[2] == PredictionState.ANSWERED for one in rows]
    state[at] = array_of((State.ANSWERED if one else State.FAILED for one in answered), np.int8)
    option[at] = array_of((LETTERS.index(one[3]) if one[3] else -1 for one in rows), np.int8)
    stated = np.full(shape, np.nan)
    stated[at] = np.fromiter((np.nan if one[4] is None else one[4] for one in rows), np.float64)
    n = len(named)
    late = frozenset(place for place, run in enumerate(others) if came_late(run))
    sheet.state[first:], sheet.option[first:], sheet.model_confidence[first:] = state[:n], option[:n], stated[:n]
    return (
        Repeats(tuple((row_of[run.entry_id], run.number) for run in others), state[n:], option[n:], late)
        if others
        else None
    )
