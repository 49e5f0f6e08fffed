"""From rows to arrays: what readers answered and what the named run of each model predicted, in one study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Exists, OuterRef

from readerstudy.analysis.arrays import MODEL, READER, Rater, StudyArrays, Times
from readerstudy.analysis.cases import cases_of
from readerstudy.analysis.sheet import Sheet, assign, fill_predictions, fill_remarks, fill_responses
from readerstudy.design.drawn import cells_of
from readerstudy.design.rules import read_analysis, read_rules
from readerstudy.design.studies import StudyRefused
from readerstudy.enums import Block
from readerstudy.models import Enrolment, PredictionRun, ReaderStudy, Response


def gather(study: ReaderStudy) -> StudyArrays:
    """Eleven queries at the most, however many readers, models and questions.

    Readers who withdrew or were replaced, and those without an answer to the main block, are no raters; ``excluded``
    names them. Raises StudyRefused for a study with several arms.
    """
    if study.arms.count() != 1:
        raise StudyRefused("An analysis needs a study of one arm.")
    cases = cases_of(study)
    readers, left_out = _readers(study)
    runs = _runs(study)
    sheet = Sheet.empty(len(readers) + len(runs), len(cases.rows))
    row_of = {enrolment.pk: row for row, enrolment in enumerate(readers)}
    assign(sheet, study, readers, cases)
    fill_responses(sheet, study, row_of, cases.column)
    fill_remarks(sheet, study, row_of, cases.column)
    fill_predictions(sheet, runs, len(readers), cases)
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
