"""From rows to arrays: what readers answered and what the named run of each model predicted, in one study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from annotation.models import AnswerKey
from annotation.timing.durations import TimeFlag, is_counted
from readerstudy.analysis.arrays import (
    LETTERS,
    MODEL,
    READER,
    STATE_OF,
    TASKS,
    Questions,
    Rater,
    State,
    StudyArrays,
    Times,
    Voided,
)
from readerstudy.design.drawn import cells_of
from readerstudy.design.rules import read_analysis, read_rules
from readerstudy.design.studies import StudyRefused
from readerstudy.enums import Block, PredictionState, RemarkKind
from readerstudy.models import (
    CaseSet,
    Enrolment,
    Prediction,
    PredictionRun,
    ReaderStudy,
    Remark,
    Response,
    StudyCase,
)

DISTURBING = frozenset({TimeFlag.QUIET, TimeFlag.BLURRED})
VOIDED_WHEN = {Voided.BEFORE_UNBLINDING: "before_unblinding", Voided.AFTER_UNBLINDING: "after_unblinding"}


@dataclass(frozen=True)
class _Cases:
    """The main block of a study, and where each case stands in the arrays."""

    rows: list[_Case]
    column: Mapping[int, int]  # by the id of the case
    questions: Questions
    excluded: list[Mapping[str, Any]]
    cluster_level: str


@dataclass
class _Sheet:
    """What is filled in row by row; of shape (raters, questions)."""

    state: NDArray[np.int8]
    option: NDArray[np.int8]
    position: NDArray[np.int32]
    confidence: NDArray[np.int8]
    slip: NDArray[np.int8]
    guess: NDArray[np.int8]
    active_ms: NDArray[np.float64]
    censored: NDArray[np.bool_]
    disturbed: NDArray[np.bool_]

    @classmethod
    def empty(cls, n_raters: int, n_questions: int) -> _Sheet:
        shape = (n_raters, n_questions)
        return cls(
            state=np.full(shape, State.NOT_ASSIGNED, dtype=np.int8),
            option=np.full(shape, -1, dtype=np.int8),
            position=np.zeros(shape, dtype=np.int32),
            confidence=np.zeros(shape, dtype=np.int8),
            slip=np.full(shape, -1, dtype=np.int8),
            guess=np.full(shape, -1, dtype=np.int8),
            active_ms=np.full(shape, np.nan),
            censored=np.zeros(shape, dtype=np.bool_),
            disturbed=np.zeros(shape, dtype=np.bool_),
        )


def gather(study: ReaderStudy) -> StudyArrays:
    """Eleven queries at the most, however many readers, models and questions.

    Readers who withdrew or were replaced, and those without an answer to the main block, are no raters; ``excluded``
    names them. Raises StudyRefused for a study with several arms.
    """
    if study.arms.count() != 1:
        raise StudyRefused("An analysis needs a study of one arm.")
    cases = _cases(study)
    readers, left_out = _readers(study)
    runs = _runs(study)
    sheet = _Sheet.empty(len(readers) + len(runs), len(cases.rows))
    row_of = {enrolment.pk: row for row, enrolment in enumerate(readers)}
    _assign(sheet, study, readers, cases)
    _fill_responses(sheet, study, row_of, cases.column)
    _fill_remarks(sheet, study, row_of, cases.column)
    _fill_predictions(sheet, runs, len(readers), cases)
    raters = [Rater(one.pseudonym, READER, _facts(one)) for one in readers]
    for run in runs:
        raters.append(_model(run, {one.name for one in raters}))
    return StudyArrays(
        study=study.name,
        slug=study.slug,
        protocol_sha256=study.protocol_sha256,
        simulated=study.simulated,
        plan=read_analysis(study.analysis).as_json(),
        cluster_level=cases.cluster_level,
        cells=[(cell.task, cell.difficulty, cell.n_pool) for cell in cells_of(study.draw)],
        raters=tuple(raters),
        questions=cases.questions,
        state=sheet.state,
        option=sheet.option,
        position=sheet.position,
        confidence=sheet.confidence,
        slip=sheet.slip,
        times=Times(sheet.active_ms, sheet.censored, sheet.disturbed),
        excluded=(*cases.excluded, *left_out),
        guess=sheet.guess if read_rules(study.rules).cannot_tell or (sheet.guess >= 0).any() else None,
    )


# --- questions ------------------------------------------------------------------------------------
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

    @property
    def voided(self) -> Voided:
        if self.before_unblinding is None:
            return Voided.NO
        return Voided.BEFORE_UNBLINDING if self.before_unblinding else Voided.AFTER_UNBLINDING


_CASE = (
    *("pk", "number", "public_id", "revision_id", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__question__number", "revision__question__exam__pseudonym"),
    *("revision__question__exam__patient_pseudonym", "voiding__reason", "voiding__before_unblinding"),
)


def _cases(study: ReaderStudy) -> _Cases:
    found = StudyCase.objects.filter(study=study, block=Block.MAIN).order_by("number").values_list(*_CASE)
    rows = [_Case._make(row) for row in found.iterator(chunk_size=5000)]  # no models: there may be 41,007
    revisions = study.cases.filter(block=Block.MAIN).values("revision")
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    clusters: dict[str, int] = {}
    questions = Questions(
        number=_array((case.number for case in rows), np.int32),
        question=_array((case.question for case in rows), np.int32),
        public_id=tuple(case.public_id for case in rows),
        key=_array((LETTERS.index(keys[case.revision_id]) for case in rows), np.int8),
        task=_array((TASKS.index(case.task) for case in rows), np.int8),
        category=tuple(case.category for case in rows),
        difficulty=tuple(case.difficulty for case in rows),
        cluster=_array(
            (clusters.setdefault(case.patient or f"exam {case.exam}", len(clusters)) for case in rows),
            np.int32,
        ),
        voided=_array((case.voided for case in rows), np.int8),
    )
    excluded = [_excluded_case(case) for case in rows if case.voided]
    known = {bool(case.patient) for case in rows}
    level = "patient where known, else exam" if len(known) > 1 else "patient" if known == {True} else "exam"
    return _Cases(rows, {case.pk: column for column, case in enumerate(rows)}, questions, excluded, level)


def _excluded_case(case: _Case) -> Mapping[str, Any]:
    return {
        "kind": "case",
        "case": case.number,
        "question": case.question,
        "case_id": case.public_id,
        "task": case.task,
        "decided": VOIDED_WHEN[case.voided],
        "reason": case.reason,
    }


# --- readers --------------------------------------------------------------------------------------
def _readers(study: ReaderStudy) -> tuple[list[Enrolment], list[Mapping[str, Any]]]:
    """Who counts, in the order of joining; and who does not, with the reason."""
    answers = Response.objects.filter(reading__enrolment=OuterRef("pk"), reading__case__block=Block.MAIN)
    enrolments = Enrolment.objects.filter(study=study).annotate(has_answers=Exists(answers)).order_by("pk")
    counted: list[Enrolment] = []
    excluded: list[Mapping[str, Any]] = []
    for one in enrolments:
        if one.withdrawn_at is not None:
            reason = "withdrawn"
        elif one.replaced_at is not None:
            reason = "replaced"
        elif not one.has_answers:
            reason = "no answers"
        else:
            counted.append(one)
            continue
        excluded.append({"kind": "reader", "reader": one.pseudonym, "reason": reason})
    return counted, excluded


def _facts(enrolment: Enrolment) -> Mapping[str, Any]:
    return {"imported": enrolment.reader_id is None, "finished": enrolment.finished_at is not None}


def _assign(sheet: _Sheet, study: ReaderStudy, readers: list[Enrolment], cases: _Cases) -> None:
    """A case of a reader's own set is missing until there is a response to it."""
    links = CaseSet.cases.through.objects.filter(caseset__study=study).values_list("caseset_id", "studycase_id")
    columns: dict[int, list[int]] = {}
    for set_id, case_id in links:
        if case_id in cases.column:
            columns.setdefault(set_id, []).append(cases.column[case_id])
    for row, enrolment in enumerate(readers):
        sheet.state[row, columns.get(enrolment.case_set_id, [])] = State.MISSING


def _fill_responses(sheet: _Sheet, study: ReaderStudy, row_of: Mapping[int, int], column_of: Mapping[int, int]) -> None:
    """A confirmed response stands before an unconfirmed one: it came later and takes its place."""
    stored = Response.objects.filter(reading__enrolment__study=study, reading__case__block=Block.MAIN).order_by()
    names = ("reading__enrolment_id", "reading__case_id", "reading__position", "is_confirmed", "state", "option")
    found = stored.values_list(*names, "active_ms", "limit_ms", "time_flags").iterator(chunk_size=5000)
    rows = [one for one in found if one[0] in row_of]
    rows.sort(key=lambda one: one[3])  # the last one stays
    at = (
        _array((row_of[one[0]] for one in rows), np.int32),
        _array((column_of[one[1]] for one in rows), np.int32),
    )
    sheet.position[at] = _array((one[2] or 0 for one in rows), np.int32)
    sheet.state[at] = _array((STATE_OF[one[4]] for one in rows), np.int8)
    sheet.option[at] = _array((LETTERS.index(one[5]) if one[5] else -1 for one in rows), np.int8)
    sheet.active_ms[at] = np.fromiter((one[6] if _is_timed(one[6], one[8]) else np.nan for one in rows), np.float64)
    sheet.censored[at] = np.fromiter((one[7] is not None for one in rows), np.bool_)
    sheet.disturbed[at] = np.fromiter((bool(DISTURBING.intersection(one[8])) for one in rows), np.bool_)


def _is_timed(active_ms: int | None, flags: list[str]) -> bool:
    return active_ms is not None and active_ms > 0 and is_counted(active_ms, flags)


def _fill_remarks(sheet: _Sheet, study: ReaderStudy, row_of: Mapping[int, int], column_of: Mapping[int, int]) -> None:
    """The newest remark of a kind counts."""
    rows = Remark.objects.filter(
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
            said = sheet.guess if kind == RemarkKind.GUESS else sheet.slip
            said[row, column_of[case]] = LETTERS.index(value)


# --- models ---------------------------------------------------------------------------------------
def _runs(study: ReaderStudy) -> list[PredictionRun]:
    """The run of each model that was named for the figures, by the name of the model."""
    return list(PredictionRun.objects.for_figures(study))


def _model(run: PredictionRun, taken: Collection[str]) -> Rater:
    """A model under its name; with its version, and then the number of its entry, where a name is taken already."""
    entry = run.entry
    names = (entry.name, str(entry), f"{entry} (model {entry.pk})")
    facts = {
        "model": entry.public_id,
        "version": entry.version,
        "run": run.public_id,
        "number": run.number,
        "rule": run.rule,
        "file_sha256": run.file_sha256,
        "named_before_unblinding": run.named_before_unblinding,
    }
    return Rater(next(name for name in names if name not in taken), MODEL, facts)


def _fill_predictions(sheet: _Sheet, runs: Sequence[PredictionRun], first: int, cases: _Cases) -> None:
    """Row ``first`` and those below it. A question that a run has no prediction for is missing."""
    sheet.state[first:] = State.MISSING
    row_of = {run.pk: first + place for place, run in enumerate(runs)}
    column_of = {case.revision_id: column for column, case in enumerate(cases.rows)}
    found = Prediction.objects.filter(run__in=list(row_of)).order_by()
    rows = [
        one
        for one in found.values_list("run_id", "revision_id", "state", "option").iterator(chunk_size=5000)
        if one[1] in column_of
    ]
    at = (
        _array((row_of[one[0]] for one in rows), np.int32),
        _array((column_of[one[1]] for one in rows), np.int32),
    )
    answered = [one[2] == PredictionState.ANSWERED for one in rows]
    sheet.state[at] = _array((State.ANSWERED if one else State.FAILED for one in answered), np.int8)
    sheet.option[at] = _array((LETTERS.index(one[3]) if one[3] else -1 for one in rows), np.int8)


def _array(values: Iterable[int], kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    return np.fromiter(values, dtype=kind)
