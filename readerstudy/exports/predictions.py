"""The predictions of a study as a table: one row per run and case; and the runs, with what is known of each model."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from annotation.enums import Difficulty, Task
from annotation.exports.tables import Cell, Column
from annotation.models import AnswerKey
from readerstudy.enums import Block, PredictionState
from readerstudy.exports.columns import CASE, LETTERS, REAL, STUDY, TEXT, TIME, WHOLE, YES_NO, study_cells, words
from readerstudy.exports.responses import voided_cell
from readerstudy.models import Prediction, PredictionRun, ReaderStudy, StudyCase

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
    Column("exam", TEXT, "Keyed pseudonym of the exam; questions with the same value share their images."),
    Column("patient", TEXT, "Keyed pseudonym of the patient; empty: not known."),
    Column("task", TEXT, "Task of the question.", words(Task)),
    Column("category", TEXT, "Category of the question as imported."),
    Column("difficulty", TEXT, "Difficulty stated by the bank.", words(Difficulty)),
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
    Column("duplicates", TEXT, "Which of several answers to a question counts.", "first, last"),
    Column("n_read", WHOLE, "Answers in the file."),
    Column("n_matched", WHOLE, "Answers that belong to a question."),
    Column("n_failed", WHOLE, "Answers from which no option could be taken."),
    Column("n_missing", WHOLE, "Questions without an answer."),
    Column("n_duplicate", WHOLE, "Questions with several answers."),
    Column("n_unknown", WHOLE, "Answers to questions that are not in the study."),
    Column("named_before_unblinding", YES_NO, "Whether it became the main run before anybody had seen a result."),
    Column("imported_at", TIME, "When it was stored."),
)


def live_runs(study: ReaderStudy) -> list[PredictionRun]:
    """All that are not withdrawn, named or not, by model and number; and withdrawn ones that an analysis keeps."""
    kept = Q(withdrawn_at__isnull=True) | Q(was_planned=True)
    rows = PredictionRun.objects.filter(kept, study=study).select_related("entry")
    return list(rows.order_by("entry__name", "entry__version", "entry", "number"))


def prediction_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    """Rows by run, then by number of the case; a case without an answer has a row too. The main block only."""
    fixed = study_cells(study)
    cases = list(
        StudyCase.objects.filter(study=study, block=Block.MAIN)
        .select_related("revision__question__exam", "voiding")
        .order_by("number")
    )
    keys = dict(AnswerKey.objects.filter(revision__in=[one.revision_id for one in cases]).values_list("pk", "key"))
    of_case = [(one.revision_id, _case_cells(one), keys.get(one.revision_id, "")) for one in cases]
    for run in live_runs(study):
        of_run: list[Cell] = [fixed["study"], fixed["protocol_sha256"], *_run_cells(run)]
        answers = {one.revision_id: one for one in Prediction.objects.filter(run=run).order_by()}
        for revision, about, key in of_case:
            yield [*of_run, *about, *_answer_cells(answers.get(revision), key)]


def run_rows(study: ReaderStudy) -> Iterator[list[Cell]]:
    fixed = study_cells(study)
    plain = ("prompt", "decoding", "link")
    counts = ("n_read", "n_matched", "n_failed", "n_missing", "n_duplicate", "n_unknown")
    for run in live_runs(study):
        entry = run.entry
        yield [
            *(fixed["study"], fixed["protocol_sha256"], *_run_cells(run), entry.name, entry.version),
            entry.dated_on.isoformat() if entry.dated_on else "",
            *(getattr(entry, name) for name in plain),
            *(run.form, run.file_sha256, run.rule, run.duplicates),
            *(getattr(run, name) for name in counts),
            *(run.named_before_unblinding, run.imported_at),
        ]


def _run_cells(run: PredictionRun) -> list[Cell]:
    return [str(run.entry), run.public_id, run.number, run.is_named]


def _case_cells(case: StudyCase) -> list[Cell]:
    revision, exam = case.revision, case.revision.question.exam
    return [
        *(revision.question.number, case.public_id, revision.number, exam.pseudonym, exam.patient_pseudonym),
        *(revision.task, revision.category, revision.difficulty, voided_cell(case)),
    ]


def _answer_cells(one: Prediction | None, key: str) -> list[Cell]:
    if one is None:
        return [MISSING, "", key, None, "", "", None, None]
    return [one.state, one.option, key, one.option == key, one.raw, one.explanation, one.row, one.confidence]
