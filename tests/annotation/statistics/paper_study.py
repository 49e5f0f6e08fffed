"""The study of the file ``paper_shaped_study``: 200 questions, two of them voided, three readers and eight models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PANELS = ["negation", "presence", "differential", "location", "geometric"]


class PaperStudy:
    """Its arrays, without the voided questions: ``answers`` and ``correct`` have shape (raters, questions).

    No answer is a failed extraction: no rating for agreement, wrong for accuracy.
    """

    def __init__(self, given: Any) -> None:
        questions = given["questions"]
        kept = [place for place, question in enumerate(questions) if not question["voided"]]
        labels = given["labels"]
        self.readers, self.models = given["readers"], given["models"]
        self.raters: list[str] = self.readers + self.models
        self.answers = np.array(
            [
                [-1 if (one := given["answers"][rater][place]) is None else labels.index(one) for place in kept]
                for rater in self.raters
            ],
            dtype=np.int8,
        )
        self.key = np.array([labels.index(questions[place]["gold"]) for place in kept], dtype=np.int8)
        self.correct = (self.answers == self.key).astype(np.int8)
        self.panel = np.array([PANELS.index(questions[place]["task"]) for place in kept])
        exams = [questions[place]["study"] for place in kept]
        self.cluster = np.unique(exams, return_inverse=True)[1]

    def in_panel(self, panel: str) -> NDArray[np.bool_]:
        return np.ones(len(self.panel), dtype=bool) if panel == "all" else self.panel == PANELS.index(panel)
