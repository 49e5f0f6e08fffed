"""From rows to arrays: what readers answered and what the main run of each model predicted, in one study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Max, Min, Q
from msgspec.structs import replace

from annotation import VERSION
from annotation.statistics.kernels.estimate import POST_HOC
from readerstudy.analysis.kernels.arrays import CAME_LATE, LEFT_BECAUSE, MeasuredTimes, Rater, StudyArrays
from readerstudy.analysis.kernels.computing import RULE
from readerstudy.analysis.kernels.labels import ANSWERED_NOTHING, REPLACED, WITHDRAWN
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.analysis.main_block import (
    AnswerSheet,
    assign,
    cases_of,
    expert_answers,
    experts_of,
    fill_predictions,
    fill_remarks,
    fill_responses,
)
from readerstudy.analysis.seen_before import NEVER, Came, SeenElsewhere, seen_elsewhere
from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.documents import canonical, read_rules, sha256_of
from readerstudy.design.kernels.drawing import cells_of
from readerstudy.enums import Block
from readerstudy.models import (
    READERS_DRAWN,
    Enrolment,
    InputsMark,
    PredictionRun,
    ReaderStudy,
    Remark,
    Response,
    Voiding,
)
from readerstudy.predictions.entries import names_at
from readerstudy.predictions.runs import StudyRun, StudyRuns, is_renamed, runs_of_study, withdrawn_among
from readerstudy.study.permissions import StudyRefused


def gather(study: ReaderStudy) -> StudyArrays:
    """Fourteen queries at the most, however many readers, models and questions; more where another study that was seen
    has the same questions.

    Readers who withdrew or were replaced, and those without an answer to the main block, are no raters; ``excluded``
    names them. Raises StudyRefused for a study with several arms.
    """
    if study.arms.count() != 1:
        raise StudyRefused("several_arms", "An analysis needs a study of one arm.")
    came_in, left_out = _readers(study)
    readers = [one.enrolment for one in came_in]
    standings, others = _runs(study)
    runs = [one.run for one in standings.rows]
    raters = [Rater(one.enrolment.pseudonym, READER, one.facts) for one in came_in]
    for row in standings.rows:
        raters.append(_model(row, raters, [run for run in others if run.entry_id == row.run.entry_id]))
    frozen_at = study.frozen_at or study.created_at
    came = [
        *((one.enrolment.pk, one.came_at or frozen_at) for one in came_in),
        *((run.pk, run.imported_at) for run in runs),
    ]
    rows = [(pk, Came(one.name, max(frozen_at, at))) for one, (pk, at) in zip(raters, came, strict=True)]
    seen, seen_runs = seen_elsewhere(study, dict(rows[: len(readers)]), dict(rows[len(readers) :]))
    cases = cases_of(study, min((one.at for one in seen), default=None))
    sheet = AnswerSheet(len(readers) + len(runs), len(cases.rows))
    row_of = {enrolment.pk: row for row, enrolment in enumerate(readers)}
    assign(sheet, study, readers, cases)
    in_part = [one.enrolment.pk for one in came_in if one.is_in_part]
    fill_responses(sheet, study, row_of, cases.column, in_part)
    fill_remarks(sheet, study, row_of, cases.column, in_part)
    repeats = fill_predictions(sheet, runs, others, len(readers), cases)
    return StudyArrays(
        study=study.name,
        slug=study.slug,
        protocol_sha256=study.protocol_sha256,
        simulated=study.simulated,
        plan={**read_analysis(study.analysis).as_json(), **_before(seen_before=seen, runs_seen_before=seen_runs)},
        cluster_level=cases.cluster_level,
        cells=[(cell.task, cell.difficulty, cell.n_pool) for cell in cells_of(study.draw)],
        raters=tuple(raters),
        questions=cases.questions,
        state=sheet.state,
        option=sheet.option,
        position=sheet.position,
        confidence=sheet.confidence,
        slip=sheet.slip,
        times=MeasuredTimes(sheet.active_ms, sheet.censored, sheet.disturbed),
        excluded=(*cases.excluded, *left_out),
        guess=sheet.guess if read_rules(study.rules).cannot_tell or (sheet.guess >= 0).any() else None,
        model_confidence=None if np.isnan(sheet.model_confidence).all() else sheet.model_confidence,
        repeats=repeats,
        experts=experts_of(study, cases),
        doubted=sheet.doubted if sheet.doubted.any() else None,
        plan_meets_nobody=standings.nobody,
    )


# --- readers --------------------------------------------------------------------------------------
class _Reader(NamedTuple):
    enrolment: Enrolment
    came_at: datetime | None  # when the last of the answers that count was there, of those made elsewhere
    is_in_part: bool  # more of them came after results had been seen
    facts: Mapping[str, Any]


def _readers(study: ReaderStudy) -> tuple[list[_Reader], list[Mapping[str, Any]]]:
    """Who counts, by pseudonym; and who does not, with the reason.

    After results were seen nobody leaves what was planned, and of those who were there no further answers come to it
    that were made elsewhere.
    """
    stored, seen_at = "readings__responses__stored_at", study.unblinded_at or NEVER
    main, late = Q(readings__case__block=Block.MAIN), Q(**{f"{stored}__gt": seen_at})
    rows = Enrolment.objects.filter(study=study).annotate(
        first_at=Min(stored, filter=main),
        came_at=Max(stored, filter=main & Q(reader__isnull=True) & ~late),
        n_late=Count(stored, filter=main & Q(reader__isnull=True) & late),
    )
    counted: list[_Reader] = []
    excluded: list[Mapping[str, Any]] = []
    for one in rows.order_by(*READERS_DRAWN):
        is_elsewhere = one.reader_id is None
        came_late = one.enrolled_at > seen_at or bool(is_elsewhere and one.first_at and one.first_at > seen_at)
        left_at = min(filter(None, (one.withdrawn_at, one.replaced_at)), default=None)
        left = WITHDRAWN if one.withdrawn_at else REPLACED if left_at else ""
        left_late = left_at is not None and left_at > seen_at and not came_late
        reason = "" if left_late else left
        if reason or not one.first_at:
            why = reason or (WITHDRAWN if one.withdrawn_at else ANSWERED_NOTHING)
            reason = f"came after results had been seen: {why}" if came_late else why
            excluded.append({"kind": "reader", "reader": one.pseudonym, "reason": reason})
            continue
        is_in_part = one.n_late > 0 and not came_late
        if is_in_part:
            reason = f"{one.n_late} answer{'s' * (one.n_late > 1)} came after results had been seen: not counted"
            excluded.append({"kind": "reader", "reader": one.pseudonym, "reason": reason})
        facts = {
            "imported": is_elsewhere,
            "finished": one.finished_at is not None,
            **({CAME_LATE: True} if came_late else {}),
            **({LEFT_BECAUSE: f"{left} on {left_at.date().isoformat()}"} if left_at and left_late else {}),
        }
        counted.append(_Reader(one, one.came_at, is_in_part, facts))
    return counted, excluded


def _before(**seen: Sequence[SeenElsewhere]) -> Mapping[str, Any]:
    """What was seen before the plan was frozen, or before the readings or the answers of a model came in."""
    found = {name: [one.as_json() for one in rows if one.is_before] for name, rows in seen.items()}
    return {name: rows for name, rows in found.items() if rows}


# --- models ---------------------------------------------------------------------------------------
def _runs(study: ReaderStudy) -> tuple[StudyRuns, list[PredictionRun]]:
    """What represents each model, by the name of the model; and its other runs.

    What was there when somebody first saw a result stays. Those that are post hoc come last: the others are called
    what they were called before.
    """
    found = list(PredictionRun.objects.for_analysis(study))
    standings = runs_of_study(study, found)
    rows = sorted(standings.rows, key=lambda row: row.is_post_hoc)
    named = [row.run for row in rows]
    models = {run.entry_id for run in named}
    return replace(standings, rows=rows), [run for run in found if run not in named and run.entry_id in models]


def _model(study_run: StudyRun, raters: Sequence[Rater], further: Sequence[PredictionRun]) -> Rater:
    """A model under its name; with its version, and then the number of its entry, where a name is taken already.

    A second run of a model that is there goes by its number.
    """
    run = study_run.run
    entry, taken = run.entry, {one.name for one in raters}
    is_second = any(one.facts.get("model") == entry.public_id for one in raters)
    last = f"{entry} (run {run.number})" if is_second else f"{entry} (model {entry.pk})"
    names = (last,) if is_second else (entry.name, str(entry), last)
    facts = {
        "model": entry.public_id,
        "version": entry.version,
        "run": run.public_id,
        "number": run.number,
        "rule": run.rule,
        "file_sha256": run.file_sha256,
        "imported_at": run.imported_at.isoformat(),
        "named_at": run.named_at.isoformat() if run.named_at else "",
        POST_HOC: study_run.is_post_hoc,
        "was_planned": study_run.is_planned and study_run.is_post_hoc,  # of others it goes without saying
        LEFT_BECAUSE: study_run.left_because or (withdrawn_among(further) if study_run.is_planned else ""),
        **_of_plan(study_run),
        **_old_names(run),
    }
    return Rater(next((name for name in names if name not in taken), f"{last} of {entry.pk}"), MODEL, facts)


def _of_plan(study_run: StudyRun) -> dict[str, Any]:
    """What the plan says of the runs of this model; nothing of most, so that their hash stays what it was."""
    if not study_run.planned_as:
        return {}
    mean = {"mean_of_runs": study_run.mean_numbers} if study_run.mean_numbers else {}
    return {"planned_run": study_run.planned_as, "planned_run_met": study_run.is_met, **mean}


def _old_names(run: PredictionRun) -> dict[str, list[str]]:
    """What the plan can have called a model that was renamed since."""
    if not run.was_planned or not is_renamed(run) or run.study is None or run.study.unblinded_at is None:
        return {}
    return {"planned_as": names_at(run.entry, run.study.unblinded_at)}


READER_FACTS = ("pk", "pseudonym", "case_set_id", "reader_id", "withdrawn_at", "replaced_at", "finished_at")
RUN_FACTS = (
    *("pk", "public_id", "number", "rule", "file_sha256", "n_matched"),
    *("named_before_unblinding", "named_at", "imported_at", "is_named"),
    *("withdrawn_at", "entry__state", "entry__withdrawn_because", "entry__replaced_by_id"),
    *("entry_id", "entry__public_id", "entry__name", "entry__version", "entry__renamed_at"),
)


def mark_of(study: ReaderStudy) -> str:
    """A hash over how far the tables have grown, and over the few rows of them that can change: a mark of the inputs of
    an analysis, made without reading them, in nine queries, however many answers there are.

    The same mark means the same inputs, because of what can change in a study that is no draft:

    - cases, sets, arms, the design, keys and wording: nothing changes, by triggers; task, category and difficulty of a
      revision and the pseudonyms of exams are written once;
    - answers, remarks and voidings: rows are only added, by triggers. Each has a number of its own, and a later one
      may be stored before an earlier one, so the mark has their count beside the highest number;
    - blind answers of reviewers: final once stored, and counted from the submission of the review on;
    - predictions: written with their run and never afterwards. Which runs count is read in full, as are the readers;
    - whether a result over the readings was seen elsewhere: another study that is seen for the first time changes it.

    Another mark means nothing yet: a practice answer makes one too. Then the inputs are read and hashed.
    """
    added = (
        Response.objects.filter(reading__enrolment__study=study),
        Remark.objects.filter(reading__enrolment__study=study),
        Voiding.objects.filter(case__study=study),
        expert_answers(study),
    )
    seen = ReaderStudy.everywhere.filter(unblinded_at__isnull=False).exclude(pk=study.pk)
    parts: dict[str, Any] = {
        "program": [VERSION, RULE],
        "study": [study.name, study.slug, study.protocol_sha256, study.simulated, study.analysis, study.draw],
        "arms": study.arms.count(),
        "asks_guesses": read_rules(study.rules).cannot_tell,
        "added": [rows.order_by().aggregate(n=Count("pk"), last=Max("pk")) for rows in added],
        "seen": _texts([[seen.aggregate(n=Count("pk"), last=Max("unblinded_at"))]]),
        "readers": _texts(Enrolment.objects.filter(study=study).order_by("pk").values_list(*READER_FACTS)),
        "runs": _texts(PredictionRun.objects.for_analysis(study).values_list(*RUN_FACTS)),
    }
    return sha256_of(canonical(parts))


def _texts(rows: Any) -> list[list[str]]:
    return [[str(value) for value in row] for row in rows]


def gathered(study: ReaderStudy) -> tuple[StudyArrays, str]:
    """The inputs and their hash, which is kept with the mark where nothing was stored while they were read."""
    before = mark_of(study)
    arrays = gather(study)
    inputs = arrays.sha256()
    if mark_of(study) == before:
        marked = {"mark_sha256": before, "inputs_sha256": inputs}
        InputsMark.objects.update_or_create(study=study, defaults=marked)
    return arrays, inputs


def kept_inputs(study: ReaderStudy) -> str | None:
    """The hash of the inputs, where it was taken at the mark at which the tables stand now."""
    kept = InputsMark.objects.filter(study=study, mark_sha256=mark_of(study))
    return kept.values_list("inputs_sha256", flat=True).first()
