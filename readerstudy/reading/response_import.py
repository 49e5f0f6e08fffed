"""Take in readings that were made elsewhere. All rows of a file or none; the same rows again change nothing."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.models import User
from annotation.site.sorted_tables import analyze
from readerstudy.design.kernels.documents import DesignRefused, parse_voidings
from readerstudy.design.questions import find_cases
from readerstudy.design.voiding import CheckedVoidings, check_declared, declare_voidings
from readerstudy.enrolment.joining import as_spoken
from readerstudy.enums import Block, RemarkKind, StudyState
from readerstudy.models import Arm, CaseSet, Enrolment, ReaderStudy, Reading, Remark, Response
from readerstudy.reading.case_opening import make_reading, make_response
from readerstudy.reading.kernels.response_file import ResponseProblem, ResponseRow, read_response_file
from readerstudy.reading.prefetched import ReadingRefused
from readerstudy.study.permissions import StudyRefused

TIME_RULE = "elsewhere"
MOST_LISTED = 10_000  # problems; more are counted, not listed
_AT_ONCE = 500


class ResponsesImported(Struct):
    """What an import did, or would do; ``as_json`` is the result that the command hands out."""

    study: str
    file: str
    sha256: str
    sent_sha256: str  # of the file with the voidings that came with it
    dry_run: bool
    read: int = 0
    created: int = 0
    unchanged: int = 0
    readers: list[str] = field(default_factory=list)  # that this file brings
    problems: list[ResponseProblem] = field(default_factory=list)
    voided: int = 0  # cases that are declared as voided in the original study
    voiding_problems: list[tuple[int, str]] = field(default_factory=list)  # rows of that file; 0: of the whole
    stored: bool = False

    @property
    def is_refused(self) -> bool:
        return bool(self.problems or self.voiding_problems)

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "file": self.file,
            "sha256": self.sha256,
            "dry_run": self.dry_run,
            "read": self.read,
            "created": 0 if self.is_refused else self.created,
            "unchanged": self.unchanged,
            "rejected": len({problem.row for problem in self.problems}),
            "readers": self.readers,
            "errors": [problem._asdict() for problem in self.problems[:MOST_LISTED]],
            "voided": 0 if self.is_refused else self.voided,
            "voiding_errors": [{"row": row, "message": why} for row, why in self.voiding_problems[:MOST_LISTED]],
            "stored": self.stored,
        }


class DeclaredFile(Struct, frozen=True):
    """Voidings of which somebody says that they were decided in the original study, sent with its readings."""

    name: str
    content: bytes

    @property
    def source(self) -> str:
        return f"{self.name[:100]} sha256:{hashlib.sha256(self.content).hexdigest()}"


def hash_of(content: bytes, declared: DeclaredFile | None) -> str:
    """Of the file of readings, and of the voidings that are sent with it."""
    return hashlib.sha256(content + b"\0" + declared.content if declared else content).hexdigest()


@transaction.atomic
def import_responses(
    study: ReaderStudy,
    *,
    name: str,
    content: bytes,
    actor: User | None,
    at: datetime,
    dry_run: bool = False,
    declared: DeclaredFile | None = None,
) -> ResponsesImported:
    """Store the readings of a file in the study; its readers need no account.

    One problem anywhere and nothing is stored: ``problems`` names each with its row. A row that is stored already is
    ``unchanged``; one that says something else of the same reader and case is a problem, since a stored answer is
    final. The study is at least frozen. With the first readings come the voidings of the study in which they were made,
    if ``declared``: in one act with them, before anybody can have seen a result.
    """
    locked = ReaderStudy.objects.select_for_update(of=("self",)).get(pk=study.pk)
    sha256 = hashlib.sha256(content).hexdigest()
    result = ResponsesImported(locked.slug, name, sha256, hash_of(content, declared), dry_run)
    try:
        arm = _arm_of(locked)
    except ReadingRefused as refusal:
        result.problems = [ResponseProblem(0, "", refusal.sentence)]
        return result
    read = read_response_file(content)
    result.read, result.problems = read.n_rows, list(read.problems)
    if not read.n_rows:
        return result
    placed = _Placed(locked, read.answers)
    new = placed.compared()
    result.problems = sorted([*read.problems, *placed.problems])
    result.unchanged = len(read.answers) - len(new) - len(placed.refused)
    result.created, result.readers = len(new), sorted({a.reader for a in new} - placed.stored.keys())
    voidings = _voidings(locked, declared, result) if declared else None
    if result.is_refused or dry_run:
        return result
    if declared and voidings:
        declare_voidings(locked, voidings, source=declared.source, actor=actor, at=at)
    if new:
        _store(locked, arm, new, placed, source=f"{name[:100]} sha256:{result.sha256}", at=at)
        facts = {"file": name, "sha256": result.sha256, "created": len(new), "unchanged": result.unchanged}
        record("study.responses_imported", actor=actor, at=at, subject=locked, facts=facts)
    result.stored = True
    return result


def _voidings(study: ReaderStudy, declared: DeclaredFile, result: ResponsesImported) -> CheckedVoidings | None:
    """What of them can be stored; None, with the problems in the result, where one cannot."""
    try:
        rows, unreadable = parse_voidings(declared.content)
        checked = check_declared(study, rows, unreadable)
    except (DesignRefused, StudyRefused) as refusal:
        result.voiding_problems = refusal.facts.get("rows") or [(0, str(refusal))]
        return None
    result.voided = len(checked.fresh)
    return checked


def _arm_of(study: ReaderStudy) -> Arm:
    if study.state == StudyState.DRAFT:
        sentence = "The study is a draft. Freeze it first: its cases must be fixed before readings come in."
        raise ReadingRefused("draft", sentence)
    arms = list(study.arms.all()[:2])
    if len(arms) != 1:
        raise ReadingRefused("several_arms", "The study has several arms; a file of readings does not say which.")
    return arms[0]


class _Placed:
    """The answers of a file beside the study: which case each means, and what is stored of its reader already."""

    def __init__(self, study: ReaderStudy, answers: Iterable[ResponseRow]) -> None:
        self.answers = list(answers)
        self.problems: list[ResponseProblem] = []
        self.refused: set[int] = set()  # rows
        in_file = {answer.reader for answer in self.answers}
        readers = {one.pseudonym: one for one in Enrolment.objects.filter(study=study)}
        self.stored = {name: one for name, one in readers.items() if name in in_file}
        self.spelled = {as_spoken(name): name for name in readers}
        named = find_cases(study, {answer.case for answer in self.answers})
        self.cases = {name: case for name, case in named.items() if case.block == Block.MAIN}
        self.sets: dict[str, CaseSet] = {}
        self._place()
        self._choose_sets(study)

    def _place(self) -> None:
        seen: dict[tuple[str, int], int] = {}
        for answer in self.answers:
            case = self.cases.get(answer.case)
            if case is None:
                self._refuse(answer, "case", f"The study has no case {answer.case!r} in its main block.")
                continue
            n_options = len(case.revision.options)
            for column, letter in (("option", answer.option), ("best_guess", answer.best_guess)):
                if letter and "ABCD".index(letter) >= n_options:
                    self._refuse(answer, column, f"The question has {n_options} options; {letter} is none.")
            first = seen.setdefault((answer.reader, case.pk), answer.row)
            if first != answer.row:
                self._refuse(answer, "case", f"{answer.reader} has this case in row {first} already.")
            spelled = self.spelled.setdefault(as_spoken(answer.reader), answer.reader)
            if spelled != answer.reader:
                self._refuse(answer, "reader", f"There is a reader {spelled}. Use one spelling for each reader.")
            enrolment = self.stored.get(answer.reader)
            if enrolment is not None and enrolment.reader_id is not None:
                self._refuse(answer, "reader", f"{answer.reader} reads in this study here. Name this reader otherwise.")

    def _refuse(self, answer: ResponseRow, column: str, message: str) -> None:
        self.refused.add(answer.row)
        self.problems.append(ResponseProblem(answer.row, column, message))

    def _choose_sets(self, study: ReaderStudy) -> None:
        """A new reader gets the smallest set that holds all of the cases that the file has."""
        read: dict[str, set[int]] = defaultdict(set)
        first: dict[str, ResponseRow] = {}
        for answer in self.answers:
            if answer.row not in self.refused:
                read[answer.reader].add(self.cases[answer.case].pk)
                first.setdefault(answer.reader, answer)
        sets = {one: set(one.cases.values_list("pk", flat=True)) for one in CaseSet.objects.filter(study=study)}
        for reader, cases in read.items():
            known = self.stored.get(reader)
            open_to = [one for one in sets if known is None or known.case_set_id == one.pk]
            fitting = [one for one in open_to if cases <= sets[one]]
            if fitting:
                self.sets[reader] = min(fitting, key=lambda one: (len(sets[one]), one.number))
            else:
                self._refuse(first[reader], "reader", f"No case set of the study holds all cases of {reader}.")

    def compared(self) -> list[ResponseRow]:
        """The answers that are not stored yet; a problem: another one than is stored, or at its place."""
        readings = _stored_answers(self.stored.values())
        taken = {(reader, position) for (reader, _case), (*_rest, position) in readings.items() if position is not None}
        new = []
        for answer in self.answers:
            if answer.row in self.refused:
                continue
            stored = readings.get((answer.reader, self.cases[answer.case].pk))
            if stored is None and (answer.reader, answer.position) in taken:
                sentence = f"A stored reading of {answer.reader} has position {answer.position} already."
                self._refuse(answer, "position", sentence)
            elif stored is None:
                new.append(answer)
            elif stored != _content(answer):
                self._refuse(answer, "option", "Another answer of this reader to this case is stored; it is final.")
        return new


Content = tuple[str, str, str, int | None, int | None, int | None]


def _content(answer: ResponseRow) -> Content:
    remarks = answer.best_guess, answer.confidence
    return answer.state, answer.option, *remarks, answer.active_ms, answer.position


def _stored_answers(enrolments: Iterable[Enrolment]) -> dict[tuple[str, int], Content]:
    """By reader and case: what is stored of readers whose readings were made elsewhere."""
    imported = {"reading__enrolment__in": [e for e in enrolments if e.reader_id is None]}
    found = Remark.objects.filter(**imported).values_list("kind", "reading", "value")
    remarks = {(kind, reading): value for kind, reading, value in found}

    def confidence(reading: int) -> int | None:
        value = remarks.get((RemarkKind.CONFIDENCE, reading))
        return int(value) if value else None

    columns = ("reading__enrolment__pseudonym", "reading__case", "reading", "state", "option", "active_ms")
    rows = Response.objects.filter(**imported).order_by().values_list(*columns, "reading__position")
    return {
        (reader, case): (
            *(state, option, remarks.get((RemarkKind.GUESS, reading), "")),
            *(confidence(reading), active_ms, position),
        )
        for reader, case, reading, state, option, active_ms, position in rows.iterator(chunk_size=2000)
    }


def _store(
    study: ReaderStudy, arm: Arm, answers: list[ResponseRow], placed: _Placed, *, source: str, at: datetime
) -> None:
    enrolments = _enrolments(study, answers, placed, source=source, at=at)
    readings = Reading.objects.bulk_create(
        [
            make_reading(
                *(enrolments[answer.reader], placed.cases[answer.case].pk, arm.pk, answer.position),
                choice=answer.option,
                closed_at=at,
            )
            for answer in answers
        ],
        batch_size=_AT_ONCE,
    )
    pairs = list(zip(readings, answers, strict=True))
    Response.objects.bulk_create(
        [_response(reading, answer, source=source, at=at) for reading, answer in pairs], batch_size=_AT_ONCE
    )
    Remark.objects.bulk_create(
        [
            Remark(reading=reading, kind=kind, value=value, key=f"{TIME_RULE} {kind}", at=at)
            for reading, answer in pairs
            for kind, value in _remarks(answer)
        ],
        batch_size=_AT_ONCE,
    )
    analyze(len(pairs), Reading, Response, Remark)


def _remarks(answer: ResponseRow) -> Iterable[tuple[RemarkKind, str]]:
    if answer.best_guess:
        yield RemarkKind.GUESS, answer.best_guess
    if answer.confidence is not None:
        yield RemarkKind.CONFIDENCE, str(answer.confidence)


def _enrolments(
    study: ReaderStudy, answers: list[ResponseRow], placed: _Placed, *, source: str, at: datetime
) -> Mapping[str, Enrolment]:
    """The readers of the answers, new ones in the order in which the file names them."""
    known = dict(placed.stored)
    for reader in dict.fromkeys(answer.reader for answer in answers):
        if reader not in known:
            known[reader] = Enrolment.objects.create(
                study=study, case_set=placed.sets[reader], pseudonym=reader, source=source, enrolled_at=at
            )
    return known


def _response(reading: Reading, answer: ResponseRow, *, source: str, at: datetime) -> Response:
    return make_response(
        reading=reading,
        state=answer.state,
        option=answer.option,
        source=f"{source} row {answer.row}",
        stored_at=at,
        active_ms=answer.active_ms,
        time_rule="" if answer.active_ms is None else TIME_RULE,
    )
