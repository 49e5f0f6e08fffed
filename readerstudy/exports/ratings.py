"""The ratings of a study as one CSV: a row for each rater and case, all that a recomputation reads. Pure.

The form is a contract with recompute.py of the report: a column keeps its place, its name and its values.

Right and wrong also go out in the input form of iMRMC, the multi-reader multi-case software of the FDA. Form and
treatment of binary outcomes are those of its documentation (github.com/DIDSR/iMRMC, pages "4.1.1 Study Raw Data" and
"MRMC analysis of binary data"): the cases of the study are the cases with disease, score 1 is right and 0 wrong; N_FAKE
cases without disease, which nobody has read, get 0.5 everywhere. What the software then calls area under the curve is
the share that is right. Modality 1 are the readers themselves; in the modality of a model each reader has the answer of
that model, so that modality minus modality 1 is the model minus the mean of the readers.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from math import isnan

import numpy as np
from numpy.typing import NDArray

from annotation.tables.kernels.table import REAL, TEXT, WHOLE, Cell, Column
from annotation.tables.writing import Format, write_table
from readerstudy.analysis.kernels.arrays import TASKS, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.analysis.kernels.scoring import Settings, score

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
    Column("confidence", WHOLE, "Stated chance of being right, in percent; empty: not stated."),
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


DOUBTED = Column(
    "doubted",
    WHOLE,
    "1: the times by the page and by the server part by more than travelling explains. The answer may have been too "
    "late; a sensitivity analysis counts it so.",
    "0, 1",
)
MODEL_CONFIDENCE = Column(
    "model_confidence",
    REAL,
    "Chance of being right that a model stated, in percent, where one of them stated any; empty: none.",
)
IMRMC_HEAD = "readerID,caseID,modalityID,score"
TRUTH_IN_R = "truth", "truth"  # reader and modality of the truth rows, as doIMRMC of the R package (2.1.2) asks
TRUTH_IN_JAVA = "-1", "0"  # the same as the documentation of the program writes them
READERS_MODALITY = 1
N_FAKE = 5
IMRMC_KEY = (
    Column("what", TEXT, "Which id of imrmc.csv and study.imrmc is explained.", "readerID, modalityID"),
    Column(
        "id",
        WHOLE,
        "The id. In rows of truth both are the word truth in imrmc.csv, -1 (reader) and 0 (modality) in study.imrmc; "
        "caseID is the number of the case.",
    ),
    Column("name", TEXT, "Pseudonym of the reader; name of the model; modality 1: the readers themselves."),
)


def ratings_columns(arrays: StudyArrays) -> tuple[Column, ...]:
    of_some = ((GUESS, arrays.guess), (MODEL_CONFIDENCE, arrays.model_confidence), (DOUBTED, arrays.doubted))
    return (*COLUMNS, *(column for column, found in of_some if found is not None))


def ratings_csv(arrays: StudyArrays, settings: Settings) -> str:
    """Raters in the order of the analysis, the cases of each by number.

    Text that a program could take for something else has one apostrophe in front, as in every CSV of this program;
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
    Column("run", WHOLE, "Number of the run; the run that represents the model is in the ratings."),
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
    if arrays.doubted is not None:
        for cells, doubted in zip(found, arrays.doubted[row].tolist(), strict=True):
            cells.append(int(doubted))
    return found


def _cases(arrays: StudyArrays) -> list[tuple[list[Cell], str]]:
    """What is the same for every rater: the columns from case to key, and when the case was voided."""
    about = arrays.questions
    when = {one.value: "" if one == Voided.NO else one.name.lower() for one in Voided}
    return [
        ([number, case_id, question, cluster, TASKS[task], category, difficulty, LETTERS[key]], when[voided])
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


def _letter(place: int) -> str:
    return LETTERS[place] if place >= 0 else ""


def imrmc_csv(arrays: StudyArrays, settings: Settings) -> str:
    """With a header, as R reads it. Without a reader there are rows of truth only."""
    return "\n".join(chain([IMRMC_HEAD], _score_rows(_Scores(arrays, settings), TRUTH_IN_R))) + "\n"


def imrmc_input(arrays: StudyArrays, settings: Settings) -> str:
    """The same rows as the program of iMRMC reads them: a description, the sizes, BEGIN DATA; truth as its numbers."""
    scores = _Scores(arrays, settings)
    sizes = [f"N0: {N_FAKE}", f"N1: {len(scores.case)}", f"NR: {len(scores.readers)}", f"NM: {1 + len(scores.models)}"]
    about = "Right (1) and wrong (0) answers of a reader study; see README.txt."
    simulated = ["Simulated data."] if arrays.simulated else []
    return "\n".join(chain([about, *simulated, *sizes, "BEGIN DATA:"], _score_rows(scores, TRUTH_IN_JAVA))) + "\n"


def imrmc_key_rows(arrays: StudyArrays) -> list[list[Cell]]:
    readers: list[list[Cell]] = [["readerID", n, arrays.raters[row].name] for n, row in enumerate(arrays.readers, 1)]
    models: list[list[Cell]] = [
        ["modalityID", n, arrays.raters[row].name + (" (post hoc)" if arrays.raters[row].is_post_hoc else "")]
        for n, row in enumerate(arrays.models, READERS_MODALITY + 1)
    ]
    return [*readers, ["modalityID", READERS_MODALITY, "the readers themselves"], *models]


class _Scores:
    """Of the cases that count in the primary result."""

    def __init__(self, arrays: StudyArrays, settings: Settings) -> None:
        kept = arrays.without(arrays.questions.voided == Voided.BEFORE_UNBLINDING)
        correct: NDArray[np.int8] = score(kept, settings).correct
        self.case: list[int] = kept.questions.number.tolist()
        self.readers: list[list[int]] = correct[kept.readers].tolist()
        self.models: list[list[int]] = correct[kept.models].tolist()


def _score_rows(scores: _Scores, truth: tuple[str, str]) -> Iterator[str]:
    """Truth of every case, then the scores by reader and modality; what does not count for a rater has no row."""
    last = max(scores.case, default=0)
    fake = range(last + 1, last + 1 + N_FAKE)
    reader_of_truth, modality_of_truth = truth
    yield from (f"{reader_of_truth},{case},{modality_of_truth},0" for case in fake)
    yield from (f"{reader_of_truth},{case},{modality_of_truth},1" for case in scores.case)
    for reader, own in enumerate(scores.readers, 1):
        for modality, correct in enumerate([own, *scores.models], READERS_MODALITY):
            yield from (f"{reader},{case},{modality},0.5" for case in fake)
            yield from (
                f"{reader},{case},{modality},{right}"
                for case, right in zip(scores.case, correct, strict=True)
                if right >= 0
            )
