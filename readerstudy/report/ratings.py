"""The ratings of a study as one CSV: a row for each rater and case, all that a recomputation reads. Pure.

The form is a contract with recompute.py of the report: a column keeps its place, its name and its values.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from math import isnan

from annotation.exports.tables import Cell, Column, Format, Kind, write_table
from readerstudy.analysis.kernels.arrays import TASKS, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.analysis.kernels.scoring import score
from readerstudy.analysis.kernels.settings import Settings

TEXT, WHOLE, REAL = Kind.TEXT, Kind.WHOLE, Kind.REAL
OPTIONS = "A, B, C, D"
STATES = ", ".join(state.name.lower() for state in State if state != State.NOT_ASSIGNED)

COLUMNS: tuple[Column, ...] = (
    Column("rater", TEXT, "Pseudonym of the reader, or name of the model; the order is that of the analysis."),
    Column("kind", TEXT, "Who answered.", "reader, model"),
    Column("case", WHOLE, "Number of the case in the study."),
    Column("case_id", TEXT, "Random id of the case in the study."),
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("cluster", WHOLE, "Cases with the same number share a patient (or an exam where no patient is known)."),
    Column("task", TEXT, "Task of the question.", ", ".join(TASKS)),
    Column("category", TEXT, "Category of the question as imported."),
    Column("difficulty", TEXT, "Difficulty stated by the bank; empty: not known.", "easy, medium, hard"),
    Column("key", TEXT, "The right option.", OPTIONS),
    Column("state", TEXT, "What became of the case; cases of another set of cases have no row.", STATES),
    Column("option", TEXT, "The option chosen, as imported, whatever its place on the screen; empty: none.", OPTIONS),
    Column("correct", WHOLE, "1 right, 0 wrong, empty: not counted, by the rule of the analysis.", "0, 1"),
    Column("slip", TEXT, "The option that was meant, where the reader reported a slip; else empty.", OPTIONS),
    Column("confidence", WHOLE, "Stated chance of being right, in percent; empty: not said."),
    Column("position", WHOLE, "Place in the order of this reader, from 1; empty: not known."),
    Column(
        "active_ms",
        WHOLE,
        "Active time in ms, of a case that ended at a limit that limit; empty: none, or one that a flag leaves out of "
        "summaries.",
    ),
    Column("censored", WHOLE, "1: ended at a limit, so that the time is known to be no shorter.", "0, 1"),
    Column("disturbed", WHOLE, "1: a minute without input, or the window lost focus.", "0, 1"),
    Column("voided", TEXT, "When the case was voided; empty: never.", "before_unblinding, after_unblinding"),
)
GUESS = Column(
    "best_guess",
    TEXT,
    "Best guess after “cannot tell”, in studies that ask for it; it counts where the state is declined; empty: none.",
    OPTIONS,
)


MODEL_CONFIDENCE = Column(
    "model_confidence",
    REAL,
    "Chance of being right that a model stated, in percent, where one of them stated any; empty: none.",
)


def ratings_columns(arrays: StudyArrays) -> tuple[Column, ...]:
    guess = () if arrays.guess is None else (GUESS,)
    return (*COLUMNS, *guess, *(() if arrays.model_confidence is None else (MODEL_CONFIDENCE,)))


def ratings_csv(arrays: StudyArrays, settings: Settings) -> str:
    """Raters in the order of the analysis, the cases of each by number.

    Text that a spreadsheet could take for a formula has one apostrophe in front, as in every CSV of this program;
    whoever reads the file takes one leading apostrophe away.
    """
    file = io.BytesIO()
    write_table(file, ratings_columns(arrays), _rows(arrays, settings), Format.CSV)
    return file.getvalue().decode()


def _rows(arrays: StudyArrays, settings: Settings) -> Iterator[list[Cell]]:
    correct = score(arrays, settings).correct
    cases = _cases(arrays)
    for row, rater in enumerate(arrays.raters):
        names: list[Cell] = [rater.name, rater.kind]
        columns = zip(
            cases,
            *(array[row].tolist() for array in (arrays.state, arrays.option, correct, arrays.slip)),
            *(array[row].tolist() for array in (arrays.confidence, arrays.position)),
            *(array[row].tolist() for array in (arrays.times.active_ms, arrays.times.censored, arrays.times.disturbed)),
            _asked(arrays, row),
            strict=True,
        )
        for (about, voided), state, option, right, slip, sure, position, active, censored, disturbed, asked in columns:
            if state == State.NOT_ASSIGNED:
                continue
            yield [
                *names,
                *about,
                State(state).name.lower(),
                _letter(option),
                right if right >= 0 else None,
                _letter(slip),
                sure or None,
                position or None,
                None if isnan(active) else int(active),
                int(censored),
                int(disturbed),
                voided,
                *asked,
            ]


RUN_COLUMNS: tuple[Column, ...] = (
    Column("model", TEXT, "Name of the model, as in the ratings."),
    Column("run", WHOLE, "Number of the run; the run that stands for the model is in the ratings."),
    Column("case", WHOLE, "Number of the case in the study."),
    Column("state", TEXT, "What became of the case.", "answered, failed, missing"),
    Column("option", TEXT, "The option chosen, as imported; empty: none.", OPTIONS),
)


def runs_csv(arrays: StudyArrays) -> str:
    """The further runs of the models, which show how far a model repeats itself: all that a recomputation reads."""
    file = io.BytesIO()
    write_table(file, RUN_COLUMNS, _run_rows(arrays), Format.CSV)
    return file.getvalue().decode()


EXPERT_COLUMNS: tuple[Column, ...] = (
    Column("case", WHOLE, "Number of the case in the study."),
    Column("n", WHOLE, "Blind answers of reviewers to this wording of the question."),
    Column("right", WHOLE, "How many of them are the key."),
)


def experts_csv(arrays: StudyArrays) -> str:
    """Blind answers of reviewers, case by case."""
    file, experts = io.BytesIO(), arrays.experts
    counts = [] if experts is None else zip(experts.n.tolist(), experts.right.tolist(), strict=True)
    rows = [[number, *of] for number, of in zip(arrays.questions.number.tolist(), counts, strict=True)]
    write_table(file, EXPERT_COLUMNS, rows, Format.CSV)
    return file.getvalue().decode()


def _run_rows(arrays: StudyArrays) -> Iterator[list[Cell]]:
    if arrays.repeats is None:
        return
    numbers = arrays.questions.number.tolist()
    for (row, run), states, options in zip(
        arrays.repeats.of, arrays.repeats.state.tolist(), arrays.repeats.option.tolist(), strict=True
    ):
        name = arrays.raters[row].name
        for number, state, option in zip(numbers, states, options, strict=True):
            yield [name, run, number, State(state).name.lower(), _letter(option)]


def _asked(arrays: StudyArrays, row: int) -> list[list[Cell]]:
    """Of each case the cells of the columns that only some studies have."""
    found: list[list[Cell]] = [[] for _case in range(len(arrays.questions))]
    if arrays.guess is not None:
        for cells, guess in zip(found, arrays.guess[row].tolist(), strict=True):
            cells.append(_letter(guess))
    if arrays.model_confidence is not None:
        for cells, stated in zip(found, arrays.model_confidence[row].tolist(), strict=True):
            cells.append(None if isnan(stated) else stated)
    return found


def _cases(arrays: StudyArrays) -> list[tuple[list[Cell], str]]:
    """What is the same for every rater: the columns from case to key, and when the case was voided."""
    about = arrays.questions
    return [
        ([number, case_id, question, cluster, TASKS[task], category, difficulty, LETTERS[key]], _when(voided))
        for number, case_id, question, cluster, task, category, difficulty, key, voided in zip(
            about.number.tolist(),
            about.public_id,
            about.question.tolist(),
            about.cluster.tolist(),
            about.task.tolist(),
            about.category,
            about.difficulty,
            about.key.tolist(),
            about.voided.tolist(),
            strict=True,
        )
    ]


def _when(voided: int) -> str:
    return Voided(voided).name.lower() if voided != Voided.NO else ""


def _letter(place: int) -> str:
    return LETTERS[place] if place >= 0 else ""
