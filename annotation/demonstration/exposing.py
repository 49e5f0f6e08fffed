"""The DICOM files of the demonstration, made by several processes. Pure: a child imports this module and no Django."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from annotation.demonstration.simulated_exams import VIEWS, DemonstrationExam


class Stage(Protocol):
    """Is told what is being done, how much of it is done and how much there is."""

    def __call__(self, words: str, done: int, total: int, /) -> None: ...


def expose_all(exams: Sequence[DemonstrationExam], folder: Path, *, tell: Stage, processes: int) -> None:
    """Write the files of all exams under ``folder``, several exams at a time; with one process without any child."""
    words = "Making the radiographs"
    tell(words, 0, len(exams))
    if processes == 1:
        for done, exam in enumerate(exams, 1):
            expose_exam(exam, folder)
            tell(words, done, len(exams))
        return
    with ProcessPoolExecutor(min(processes, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for done, _ in enumerate(pool.map(expose_exam, exams, [folder] * len(exams)), 1):
            tell(words, done, len(exams))


def expose_exam(exam: DemonstrationExam, folder: Path) -> None:
    """Write both views of one exam."""
    for view in VIEWS:
        path = folder / exam.path_of(view)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(exam.dicom_of(view))
