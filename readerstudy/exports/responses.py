"""The responses of readers and the predictions of models in a study, as tables."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from msgspec import Struct

from annotation.case.kernels.durations import part_cells
from annotation.hashes import keyed_pseudonym, shown_pseudonym
from annotation.models import AnswerKey
from annotation.tables.writing import Cell, Column
from readerstudy.enums import Block, PredictionState, RemarkKind
from readerstudy.exports.columns import (
    CASE,
    DAY,
    DIFFICULTY,
    LETTERS,
    OF_QUESTION,
    REAL,
    STUDY,
    TEXT,
    WHOLE,
    YES_NO,
    reader_cells,
    response_columns,
    study_cells,
    words,
)
from readerstudy.models import (
    READERS_DRAWN,
    Arm,
    Enrolment,
    Prediction,
    PredictionRun,
    PresentedCase,
    ReaderStudy,
    Reading,
    RefusedAnswer,
    Remark,
    Response,
    StudyCase,
)
from readerstudy.study.kernels.states import counted_state, is_correct, shown_letter

Cells = dict[str, Cell]
_OF_CASE = ("revision__question__exam", "voiding")  # what the cells of a case need


class _Place(Struct, frozen=True):
    """One case for one reader in one arm, read or not."""

    enrolment_id: int
    arm_id: int
    case_id: int
    position: int | None
    options_order: str
    reading: Reading | None


class _Answers(Struct, frozen=True):
    """What was answered: by the id of the reading, what was refused by enrolment, arm and case."""

    responses: Mapping[int, list[Response]]  # the one that counts last
    remarks: Mapping[int, dict[str, Remark]]  # the newest of each kind
    n_refused: Mapping[tuple[int, int, int], int]


def response_rows(study: ReaderStudy, *, with_key: bool) -> Iterator[list[Cell]]:
    """Rows by reader, then in the order of this reader; what was made elsewhere in the order of its file.

    What is in memory grows with the cases of a reader, not with the number of readers.
    """
    names = [column.name for column in response_columns(with_key=with_key)]
    cases = {case.pk: case for case in StudyCase.objects.filter(study=study).select_related(*_OF_CASE)}
    of_case = {pk: _case_cells(case) for pk, case in cases.items()}
    keys = _keys(cases) if with_key else {}
    arms = {arm.pk: arm for arm in Arm.objects.filter(study=study).order_by("number")}
    for enrolment in Enrolment.objects.filter(study=study).select_related("case_set").order_by(*READERS_DRAWN):
        fixed = {**study_cells(study), **reader_cells(enrolment)}
        of_reader = RefusedAnswer.objects.filter(presented__order__enrolment=enrolment)
        answers = _answers({"reading__enrolment": enrolment}, of_reader)
        for place in _places(enrolment, arms):
            cells = {
                **fixed,
                **_arm_cells(arms[place.arm_id]),
                **of_case[place.case_id],
                **_reading_cells(place, answers),
            }
            if with_key:
                cells |= _key_cells(cells, keys.get(place.case_id, ""))
            yield [cells[name] for name in names]


READ_WITH = ("enrolment__study", "enrolment__case_set", "arm", "presented", *(f"case__{one}" for one in _OF_CASE))


def rows_of_readings(readings: Sequence[Reading]) -> Iterator[list[Cell]]:
    """The same rows without the key, of these readings, which were read with READ_WITH; three queries."""
    names = [column.name for column in response_columns(with_key=False)]
    keys = [reading.pk for reading in readings]
    answers = _answers({"reading__in": keys}, RefusedAnswer.objects.filter(presented__reading__in=keys))
    for reading in readings:
        enrolment, seen = reading.enrolment, reading.presented
        position, options = (seen.position, seen.options) if seen else (reading.position, "")
        place = _Place(enrolment.pk, reading.arm_id, reading.case_id, position, options, reading)
        cells = {
            **study_cells(enrolment.study),
            **reader_cells(enrolment),
            **_arm_cells(reading.arm),
            **_case_cells(reading.case),
            **_reading_cells(place, answers),
        }
        yield [cells[name] for name in names]


def _arm_cells(arm: Arm) -> Cells:
    return {"arm": arm.number, "information": arm.information, "aid": arm.aid}


def _places(enrolment: Enrolment, arms: Mapping[int, Arm]) -> Iterator[_Place]:
    """The whole main block in this reader's order, read or not, and what was opened of the practice block."""
    readings = {
        (reading.arm_id, reading.case_id): reading
        for reading in Reading.objects.filter(enrolment=enrolment).order_by("pk")
    }
    presented = PresentedCase.objects.filter(order__enrolment=enrolment).order_by(
        "order__arm__number", "-block", "position"
    )
    for arm_id, case_id, block, position, options in presented.values_list(
        "order__arm", "case", "block", "position", "options"
    ):
        reading = readings.pop((arm_id, case_id), None)
        if reading is not None or block == Block.MAIN:
            yield _Place(enrolment.pk, arm_id, case_id, position, options, reading)
    for (arm_id, case_id), reading in readings.items():
        yield _Place(enrolment.pk, arm_id, case_id, reading.position, "", reading)
    if enrolment.reader_id is None and len(arms) == 1:
        read = {case_id for _arm, case_id in readings}
        for case_id in enrolment.case_set.cases.order_by("number").values_list("pk", flat=True):
            if case_id not in read:
                yield _Place(enrolment.pk, next(iter(arms)), case_id, None, "", None)


def _answers(chosen: Mapping[str, Any], refused: QuerySet[RefusedAnswer]) -> _Answers:
    """``chosen``: which responses and remarks."""
    responses: dict[int, list[Response]] = defaultdict(list)
    for response in Response.objects.filter(**chosen).order_by("is_confirmed", "pk"):
        responses[response.reading_id].append(response)
    remarks: dict[int, dict[str, Remark]] = defaultdict(dict)
    for remark in Remark.objects.filter(**chosen).order_by("pk"):
        remarks[remark.reading_id][remark.kind] = remark
    order = "presented__order"
    places = refused.order_by().values_list(f"{order}__enrolment", f"{order}__arm", "presented__case")
    return _Answers(responses, remarks, Counter(places))


def _keys(cases: Mapping[int, StudyCase]) -> dict[int, str]:
    """The key of each case, by the id of the case."""
    stored = AnswerKey.objects.filter(revision__in=[case.revision_id for case in cases.values()])
    of_revision = dict(stored.values_list("revision_id", "key"))
    return {pk: of_revision.get(case.revision_id, "") for pk, case in cases.items()}


def _case_cells(case: StudyCase) -> Cells:
    revision, exam = case.revision, case.revision.question.exam
    return {
        "block": case.block,
        "case": revision.question.number,
        "case_id": case.public_id,
        "revision": revision.number,
        "exam": shown_pseudonym(exam.pseudonym),
        "patient": shown_pseudonym(exam.patient_pseudonym),
        "task": revision.task,
        "category": revision.category,
        "subcategory": revision.subcategory,
        "question_class": revision.question_class,
        "difficulty": revision.difficulty,
        "voided": voided_cell(case),
    }


def voided_cell(case: StudyCase) -> str:
    voiding = getattr(case, "voiding", None)
    if voiding is None:
        return ""
    return "before_unblinding" if voiding.before_unblinding else "after_unblinding"


def _reading_cells(place: _Place, answers: _Answers) -> Cells:
    reading = place.reading
    responses = answers.responses.get(reading.pk, []) if reading else []
    remarks = answers.remarks.get(reading.pk, {}) if reading else {}
    guess, confidence = remarks.get(RemarkKind.GUESS), remarks.get(RemarkKind.CONFIDENCE)
    slip, fault = remarks.get(RemarkKind.SLIP), remarks.get(RemarkKind.FAULT)
    return {
        "position": place.position,
        "options_order": place.options_order,
        "reading_id": reading_key(reading.public_id) if reading else "",
        "opened_at": reading.opened_at if reading else None,
        "painted_at": reading.painted_at if reading else None,
        "closed_by_time": any(not response.is_confirmed for response in responses),
        "replaced": "|".join(_ended(response) for response in responses[:-1]),
        "refused_answers": answers.n_refused.get((place.enrolment_id, place.arm_id, place.case_id), 0),
        "best_guess": guess.value if guess else "",
        "confidence": int(confidence.value) if confidence and confidence.value.isdigit() else None,
        "slip_option": slip.value if slip else "",
        "faulty": fault is not None,
        "faulty_text": fault.text if fault else "",
        **_response_cells(responses[-1] if responses else None, place.options_order),
    }


def reading_key(name: str) -> str:
    """Tells rows of tables apart, and is not the name that the reading has here."""
    return shown_pseudonym(keyed_pseudonym(settings.PSEUDONYM_KEY.encode(), "reading", name))


def _ended(response: Response) -> str:
    return f"{response.state}:{response.option}" if response.option else response.state


def _response_cells(response: Response | None, options_order: str) -> Cells:
    """The response that counts: the confirmed one where there is one, else the newest."""
    stored = response or Response(state="")
    return {
        "state": stored.state,
        "counted": counted_state(stored.state),
        "option": stored.option,
        "shown_option": shown_letter(options_order, stored.option),
        "is_confirmed": response.is_confirmed if response else None,
        "delivered_late": response.delivered_late if response else None,
        "limit_ms": stored.limit_ms,
        "source": stored.source,
        "committed_at": stored.committed_at,
        "stored_at": stored.stored_at,
        "active_ms": stored.active_ms,
        "elapsed_ms": stored.elapsed_ms,
        "sittings": stored.n_sittings,
        "time_rule": stored.time_rule,
        "time_flags": "|".join(stored.time_flags),
        **part_cells(stored.time_parts),
        "unreadable": "|".join(stored.unreadable),
        "viewport": json.dumps(stored.viewport, sort_keys=True) if stored.viewport else "",
    }


def _key_cells(cells: Cells, key: str) -> Cells:
    return {"key": key, "correct": is_correct(counted_state(str(cells["counted"])), str(cells["option"]), key)}


MISSING = "missing"
_RUN = (
    Column("model", TEXT, "Name and version of the model."),
    Column("run_id", TEXT, "Random id of the run: one file of predictions of one model."),
    Column("run", WHOLE, "Number of the run of this model on this study."),
    Column(
        "is_named",
        YES_NO,
        "Whether this is the main run, which represents the model in tables and figures unless the plan says else.",
    ),
)
PREDICTION_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    *_RUN,
    *CASE,
    Column("revision", WHOLE, "Which wording of the question; 1 is the first that was imported."),
    *OF_QUESTION,
    DIFFICULTY,
    Column("voided", TEXT, "As in the responses.", "before_unblinding, after_unblinding"),
    Column(
        "state",
        TEXT,
        "answered; failed: no option could be taken from the answer, counts as wrong unless the settings say else; "
        "missing: the file has no answer, counts as nothing.",
        f"{words(PredictionState)}, {MISSING}",
    ),
    Column("option", TEXT, "The answer as canonical option; empty: none.", LETTERS),
    Column("key", TEXT, "The key of this wording.", LETTERS),
    Column("correct", YES_NO, "Whether the option is the key; a failed extraction is not; missing: no answer."),
    Column("raw", TEXT, "The answer as it is in the file."),
    Column("explanation", TEXT, "Explanation of the model."),
    Column("row", WHOLE, "Row or record of the file."),
    Column("confidence", REAL, "Chance of being right that the model stated, in percent; missing: none."),
)
RUN_COLUMNS: tuple[Column, ...] = (
    *STUDY,
    *_RUN,
    Column("name", TEXT, "Name of the model."),
    Column("version", TEXT, "Version of the model; empty: not reported."),
    Column("dated_on", TEXT, "Date of the version; empty: not reported."),
    Column("prompt", TEXT, "What the model was asked; empty: not reported."),
    Column("decoding", TEXT, "Decoding settings; empty: not reported."),
    Column("link", TEXT, "Link to the model; empty: not reported."),
    Column("form", TEXT, "Form of the file."),
    Column("file_sha256", TEXT, "Hash of the file."),
    Column("rule", TEXT, "Version of the rule that takes options from answers."),
    Column("duplicates", TEXT, "Which of several answers to a question counts.", "first, last, voted"),
    Column("n_read", WHOLE, "Answers in the file."),
    Column("n_matched", WHOLE, "Answers that belong to a question."),
    Column("n_failed", WHOLE, "Answers from which no option could be taken."),
    Column("n_two_answers", WHOLE, "Those of them that name two options; missing: the rule did not tell."),
    Column("n_missing", WHOLE, "Questions without an answer."),
    Column("n_duplicate", WHOLE, "Questions with several answers."),
    Column("n_unknown", WHOLE, "Answers to questions that are not in the study."),
    Column("named_before_unblinding", YES_NO, "Whether it became the main run before anybody had seen a result."),
    Column("imported_at", DAY, "Day on which it was stored."),
)


def live_runs(study: ReaderStudy) -> list[PredictionRun]:
    """All that are not withdrawn, named or not, by model and number; and withdrawn ones that an analysis keeps."""
    kept = Q(withdrawn_at__isnull=True) | Q(was_planned=True)
    rows = PredictionRun.objects.filter(kept, study=study).select_related("entry")
    return list(rows.order_by("entry__name", "entry__version", "entry", "number"))


def prediction_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by run, then by number of the case; a case without an answer has a row too. The main block only."""
    of_study = (study.slug, study.protocol_sha256)
    cases = list(
        StudyCase.objects.filter(study=study, block=Block.MAIN)
        .select_related("revision__question__exam", "voiding")
        .order_by("number")
    )
    keys = dict(AnswerKey.objects.filter(revision__in=[one.revision_id for one in cases]).values_list("pk", "key"))
    of_case = [(one.revision_id, _predicted_case(one), keys.get(one.revision_id, "")) for one in cases]
    for run in live_runs(study):
        of_run: list[Cell] = [*of_study, *_run_cells(run)]
        answers = {one.revision_id: one for one in Prediction.objects.filter(run=run).order_by()}
        for revision, about, key in of_case:
            yield [*of_run, *about, *_answer_cells(answers.get(revision), key)]


def run_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    of_study = (study.slug, study.protocol_sha256)
    plain = ("prompt", "decoding", "link")
    before, after = ("n_read", "n_matched", "n_failed"), ("n_missing", "n_duplicate", "n_unknown")
    for run in live_runs(study):
        entry = run.entry
        yield [
            *(*of_study, *_run_cells(run), entry.name, entry.version),
            entry.dated_on.isoformat() if entry.dated_on else "",
            *(getattr(entry, name) for name in plain),
            *(run.form, run.file_sha256, run.rule, run.duplicates),
            *(getattr(run, name) for name in before),
            run.report.get("two_answers"),
            *(getattr(run, name) for name in after),
            *(run.named_before_unblinding, run.imported_at),
        ]


def _run_cells(run: PredictionRun) -> list[Cell]:
    return [str(run.entry), run.public_id, run.number, run.is_named]


def _predicted_case(case: StudyCase) -> list[Cell]:
    revision, exam = case.revision, case.revision.question.exam
    return [
        *(revision.question.number, case.public_id, revision.number),
        *(shown_pseudonym(exam.pseudonym), shown_pseudonym(exam.patient_pseudonym)),
        *(revision.task, revision.category, revision.difficulty, voided_cell(case)),
    ]


def _answer_cells(one: Prediction | None, key: str) -> list[Cell]:
    if one is None:
        return [MISSING, "", key, None, "", "", None, None]
    return [one.state, one.option, key, one.option == key, one.raw, one.explanation, one.row, one.confidence]
