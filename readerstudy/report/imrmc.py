"""Right and wrong in the input form of iMRMC, the multi-reader multi-case software of the FDA. Pure.

The form and the way in which it takes binary outcomes are those of its documentation (github.com/DIDSR/iMRMC, pages
"4.1.1 Study Raw Data" and "MRMC analysis of binary data"): the cases of the study are the cases with disease, score 1
is right and 0 wrong; N_FAKE cases without disease, which nobody has read, get 0.5 everywhere. What the software then
calls area under the curve is the share that is right. Modality 1 are the readers themselves; in the modality of a model
each reader has the answer of that model, so that modality minus modality 1 is the model minus the mean of the readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from annotation.exports.tables import Cell, Column
from readerstudy.analysis.kernels.arrays import StudyArrays, Voided
from readerstudy.analysis.kernels.scoring import score
from readerstudy.analysis.kernels.settings import Settings
from readerstudy.report.sheets import TEXT, WHOLE

HEAD = "readerID,caseID,modalityID,score"
TRUTH_READER, TRUTH_MODALITY = -1, 0
READERS_MODALITY = 1
N_FAKE = 5
KEY_COLUMNS = (
    Column("what", TEXT, "Which id of imrmc.csv and study.imrmc is explained.", "readerID, modalityID"),
    Column("id", WHOLE, "The id. Reader -1 and modality 0 are rows of truth; caseID is the number of the case."),
    Column("name", TEXT, "Pseudonym of the reader; name of the model; modality 1: the readers themselves."),
)


def imrmc_csv(arrays: StudyArrays, settings: Settings) -> str:
    """With a header, as R reads it. Without a reader there are rows of truth only."""
    return "\n".join(chain([HEAD], _rows(_Scores(arrays, settings)))) + "\n"


def imrmc_input(arrays: StudyArrays, settings: Settings) -> str:
    """The same rows as the program of iMRMC reads them: a description, the sizes, BEGIN DATA."""
    scores = _Scores(arrays, settings)
    sizes = [f"N0: {N_FAKE}", f"N1: {len(scores.case)}", f"NR: {len(scores.readers)}", f"NM: {1 + len(scores.models)}"]
    told = "Right (1) and wrong (0) answers of a reader study; see README.txt."
    simulated = ["Simulated data."] if arrays.simulated else []
    return "\n".join(chain([told, *simulated, *sizes, "BEGIN DATA:"], _rows(scores))) + "\n"


def key_rows(arrays: StudyArrays) -> list[list[Cell]]:
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


def _rows(scores: _Scores) -> Iterator[str]:
    """Truth of every case, then the scores by reader and modality; what does not count for a rater has no row."""
    last = max(scores.case, default=0)
    fake = range(last + 1, last + 1 + N_FAKE)
    yield from (f"{TRUTH_READER},{case},{TRUTH_MODALITY},0" for case in fake)
    yield from (f"{TRUTH_READER},{case},{TRUTH_MODALITY},1" for case in scores.case)
    for reader, own in enumerate(scores.readers, 1):
        for modality, said in enumerate([own, *scores.models], READERS_MODALITY):
            yield from (f"{reader},{case},{modality},0.5" for case in fake)
            yield from (
                f"{reader},{case},{modality},{right}"
                for case, right in zip(scores.case, said, strict=True)
                if right >= 0
            )
